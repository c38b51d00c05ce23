//! Crates that are no part of the workspace, each built as somebody else's would be: offline, with the libraries that
//! the workspace is locked to.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use dovetail_sched::catalog::Listed;
use tempfile::TempDir;

/// The example, compiled with the tests, so that a change that it does not follow is noticed at once.
#[path = "../../../examples/discipline/src/lib.rs"]
mod least;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

/// A folder outside the workspace with this manifest, in which our crates stand as `../../crates/NAME`, and its lock.
fn outside(manifest: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let manifest = manifest.replace("../../crates", workspace().join("crates").to_str().unwrap());
    std::fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    std::fs::copy(workspace().join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    folder
}

fn cargo(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).arg("--offline").current_dir(folder);
    // Where libraries are that the workspace has built already, for the most part.
    command.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()).output().unwrap()
}

#[test]
fn the_discipline_of_another_crate_follows_the_contract() {
    let entry = <least::Least as Listed>::ENTRY;
    assert_eq!((entry.name, entry.parameters.len()), ("least", 0));
}

#[test]
#[ignore = "builds the program once more: make example"]
fn a_discipline_of_another_crate_passes_the_suite_and_runs_everywhere() {
    let example = workspace().join("examples/discipline");
    let folder = outside(&std::fs::read_to_string(example.join("Cargo.toml")).unwrap());
    for part in ["src", "tests"] {
        std::os::unix::fs::symlink(example.join(part), folder.path().join(part)).unwrap();
    }
    let output = cargo(folder.path(), &["test"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("test it_passes_the_suite ... ok"), "{said}");
}

/// A program without a standard library needs a panic handler of its own, and with one there would be two.
#[test]
fn what_is_no_std_is_linked_without_the_standard_library() {
    const CRATES: [&str; 5] = ["units", "sched", "pipeline", "wire", "tcp"];
    let dependencies: String =
        CRATES.iter().map(|name| format!("dovetail-{name} = {{ path = \"../../crates/{name}\" }}\n")).collect();
    let folder = outside(&format!(
        "[package]\nname = \"bare\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n[lib]\npath = \"lib.rs\"\n\
         crate-type = [\"staticlib\"]\n[profile.dev]\npanic = \"abort\"\n[dependencies]\n{dependencies}"
    ));
    let used: String = CRATES.iter().map(|name| format!("use dovetail_{name} as _;\n")).collect();
    let program = format!(
        "#![no_std]\n{used}\
         struct Nothing;\n\
         unsafe impl core::alloc::GlobalAlloc for Nothing {{\n\
             unsafe fn alloc(&self, _: core::alloc::Layout) -> *mut u8 {{ core::ptr::null_mut() }}\n\
             unsafe fn dealloc(&self, _: *mut u8, _: core::alloc::Layout) {{}}\n\
         }}\n\
         #[global_allocator]\nstatic NOTHING: Nothing = Nothing;\n\
         #[panic_handler]\nfn panic(_: &core::panic::PanicInfo<'_>) -> ! {{ loop {{}} }}\n"
    );
    let build = |program: &str, more: &[&str]| {
        std::fs::write(folder.path().join("lib.rs"), program).unwrap();
        let output = cargo(folder.path(), &[&["build"], more].concat());
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (built, said) = build(&program, &[]);
    assert!(built, "{said}");
    // So it would be noticed.
    let (built, said) = build(&format!("{program}extern crate std;\n"), &[]);
    assert!(!built && said.contains("panic_impl"), "{said}");
    for target in without_std() {
        let (built, said) = build(&program, &["--target", &target]);
        assert!(built, "{target}: {said}");
    }
}

/// Installed targets that have no standard library.
fn without_std() -> Vec<String> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let libraries = Path::new(String::from_utf8(output.stdout).unwrap().trim()).join("lib/rustlib");
    let targets = std::fs::read_dir(libraries).unwrap().map(|entry| entry.unwrap().path());
    let has = |target: &Path, library: &str| {
        let all = std::fs::read_dir(target.join("lib")).into_iter().flatten().flatten();
        all.into_iter().any(|file| file.file_name().to_string_lossy().starts_with(library))
    };
    let bare = targets.filter(|target| has(target, "libcore-") && !has(target, "libstd-"));
    bare.map(|target| target.file_name().unwrap().to_string_lossy().into_owned()).collect()
}
