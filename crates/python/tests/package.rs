//! The tests of the Python package, `python/tests`, with the extension module that cargo has built, laid out as an
//! installation would be.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where cargo puts what it builds: tests are one folder below.
fn built() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().parent().unwrap().to_path_buf()
}

/// The package's sources with the extension module among them.
fn installed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("dovetail");
    std::fs::create_dir(&package).unwrap();
    for entry in std::fs::read_dir(root().join("python/dovetail")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && path.extension().is_none_or(|ending| ending != "so") {
            std::fs::copy(&path, package.join(path.file_name().unwrap())).unwrap();
        }
    }
    let name = format!("{}dovetail_native{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let module = built().join("deps").join(name);
    std::os::unix::fs::symlink(&module, package.join("_native.abi3.so")).unwrap();
    folder
}

#[test]
#[cfg_attr(no_python, ignore = "there is no python3 of version 3.10 or newer")]
fn the_python_tests_pass() {
    let package = installed();
    let program = built().join(format!("dovetail{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "the tests compare with {}: cargo build -p dovetail-cli", program.display());
    let output = Command::new("python3")
        .args(["-m", "unittest", "discover", "--start-directory", "python/tests", "--verbose"])
        .current_dir(root())
        .env("PYTHONPATH", package.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("DOVETAIL_PROGRAM", program)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // Past what keeps the words of a test that passes: `make test` counts what was left out.
    let mut out = std::io::stdout().lock();
    said.lines().filter(|line| line.contains(" ... skipped ")).for_each(|line| writeln!(out, "{line}").unwrap());
    println!("{said}");
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("Ran 0 tests"), "{said}");
}
