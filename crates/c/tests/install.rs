//! `make c` and `make install-c`, with something in place of cargo that only puts files where cargo would.

use std::path::Path;
use std::process::Command;

/// As cargo: what is built goes where an argument says, or the environment, or else into `target`.
const CARGO: &str = r#"#!/bin/sh
to=${CARGO_TARGET_DIR:-target}
while [ $# -gt 0 ]; do
  [ "$1" = --target-dir ] && to=$2
  shift
done
mkdir -p "$to/release"
echo archive > "$to/release/libdovetail.a"
echo library > "$to/release/libdovetail.so"
"#;

/// Who installs is often root, who has neither the cargo nor the environment of who builds.
#[test]
fn what_make_c_builds_is_installed_wherever_cargo_puts_other_things() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let checkout = tempfile::tempdir().unwrap();
    let at = |name: &str| checkout.path().join(name);
    std::fs::create_dir_all(at("crates/c/include")).unwrap();
    for file in ["Makefile", "crates/c/include/dovetail.h", "crates/c/dovetail.pc.in"] {
        std::fs::copy(root.join(file), at(file)).unwrap();
    }
    let cargo = at("cargo");
    std::fs::write(&cargo, CARGO).unwrap();
    std::fs::set_permissions(&cargo, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();

    let make = |arguments: &[&str]| {
        let mut command = Command::new("make");
        // Not what a make that runs the tests is told.
        command.current_dir(checkout.path()).args(arguments).env_remove("CARGO_TARGET_DIR");
        ["MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES"].iter().for_each(|name| _ = command.env_remove(name));
        command
    };
    let build = make(&["c", &format!("CARGO={}", cargo.display())]).env("CARGO_TARGET_DIR", at("elsewhere")).output();
    assert!(build.as_ref().unwrap().status.success(), "{build:?}");
    let install = make(&["install-c", "CARGO=nothing", "PREFIX=/usr", "DESTDIR=into"]).output();
    assert!(install.as_ref().unwrap().status.success(), "{install:?}");

    let installed = |name: &str| std::fs::read_to_string(at("into/usr").join(name)).unwrap();
    assert_eq!(installed("lib/libdovetail.a"), "archive\n");
    assert_eq!(installed("lib/libdovetail.so"), "library\n");
    assert!(installed("include/dovetail.h").contains("dovetail_new"));
    assert!(installed("lib/pkgconfig/dovetail.pc").contains("prefix=/usr\n"));
}
