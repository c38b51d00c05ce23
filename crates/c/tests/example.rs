//! Programs in C with the library that cargo has built.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where cargo puts the library: beside the tests.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

/// The program that this compiler makes of a source.
fn compiled(compiler: &[&str], source: &Path, folder: &TempDir) -> PathBuf {
    let program = folder.path().join("program");
    let output = Command::new(compiler[0])
        .args(&compiler[1..])
        .args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-o"])
        .arg(&program)
        .arg(source)
        .args(["-I", concat!(env!("CARGO_MANIFEST_DIR"), "/include"), "-L"])
        .arg(libraries())
        .arg("-ldovetail")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn run(program: &Path, arguments: &[&str]) -> Output {
    // By its own name, which only an installed library has a link for.
    let wanted = libraries().join("libdovetail.so.0");
    if !wanted.exists() {
        let _ = std::os::unix::fs::symlink("libdovetail.so", &wanted);
    }
    Command::new(program).args(arguments).env("LD_LIBRARY_PATH", libraries()).output().unwrap()
}

#[test]
fn the_example_shares_as_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&["cc", "-std=c99"], &root().join("examples/c/share.c"), &folder);
    let page = std::fs::read_to_string(root().join("docs/how-to/c.md")).unwrap();
    for scheduler in ["fifo", "drfq", "tradeoff:alpha=0.85"] {
        let output = run(&program, &[scheduler]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && page.contains(said.trim()), "{scheduler}:\n{said}");
    }
    let refused = run(&program, &["drqf"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && said.starts_with("there is no scheduler \"drqf\""), "{said}");
}

/// The program says itself whether every packet was freed once.
#[test]
fn the_worker_frees_what_it_takes() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&["cc", "-std=c99"], &root().join("examples/c/bursts.c"), &folder);
    for scheduler in ["fifo", "drfq", "tradeoff:alpha=0.85", "codel", "fq_codel"] {
        let output = run(&program, &[scheduler]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{scheduler}:\n{said}");
        let page = std::fs::read_to_string(root().join("docs/how-to/c.md")).unwrap();
        assert!(scheduler != "fq_codel" || page.contains(said.trim()), "{said}");
    }
}

#[test]
#[ignore = "needs a C++ compiler"]
fn the_header_is_for_cpp_too() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("program.cpp");
    let text = r#"
        #include <dovetail.h>
        int main() {
            dovetail_scheduler *scheduler = dovetail_new("mr3", 3, 0, nullptr);
            dovetail_counts counts = dovetail_stats(scheduler);
            dovetail_free(scheduler, nullptr, nullptr);
            return static_cast<int>(counts.offered);
        }"#;
    std::fs::write(&source, text).unwrap();
    assert!(run(&compiled(&["c++"], &source, &folder), &[]).status.success());
}
