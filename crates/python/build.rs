//! Finds out whether the package's tests can run: they need Python 3.10 or newer.

use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(no_python)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PATH");
    let version = Command::new("python3").args(["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]).status();
    if !version.is_ok_and(|status| status.success()) {
        println!("cargo::rustc-cfg=no_python");
    }
}
