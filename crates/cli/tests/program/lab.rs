//! Labs from the command line. Making one needs root; without it the tests say that they are skipped.

use std::process::Command;

use crate::support::Folder;

fn may_run() -> bool {
    let root = Command::new("id").arg("-u").output().unwrap().stdout.trim_ascii() == b"0";
    if !root {
        eprintln!("skipped: needs root");
    }
    root
}

/// A name that no other run of the tests uses.
fn name(what: &str) -> String {
    format!("{what}-{}", std::process::id())
}

#[test]
fn a_lab_goes_up_and_down() {
    if !may_run() {
        return;
    }
    let (folder, lab) = (Folder::new(), name("cli"));
    let said = folder.dovetail(&["lab", "up", &lab]).succeeds().out;
    assert!(said.contains(&format!("dovetail-{lab}-box")) && said.contains("10.99.0.2"), "{said}");
    folder.dovetail(&["lab", "up", &lab]).fails(2, &["there is a lab", "already", "dovetail lab down"]);
    let ping = ["netns", "exec", &format!("dovetail-{lab}-client"), "cat", "/proc/sys/net/ipv4/tcp_ecn"];
    assert_eq!(Command::new("ip").args(ping).output().unwrap().stdout, b"1\n");
    let said = folder.dovetail(&["lab", "down", &lab]).succeeds().out;
    assert_eq!(said.lines().filter(|line| line.starts_with("removed namespace dovetail-")).count(), 3, "{said}");
    let said = folder.dovetail(&["lab", "down", &lab]).succeeds().out;
    assert_eq!(said, format!("there is no lab {lab:?}\n"));
}

#[test]
fn wrong_words_about_labs_are_refused() {
    let folder = Folder::new();
    folder.dovetail(&["lab", "up", "My_Lab"]).fails(2, &["no lab can be called \"My_Lab\"", "a-z"]);
    folder.dovetail(&["lab", "down", "../x"]).fails(2, &["no lab can be called"]);
    folder.dovetail(&["lab", "up", "--mtu", "1000"]).fails(2, &["1280"]);
    folder.dovetail(&["lab", "down", "x", "--all"]).fails(2, &["cannot be used with"]);
    if may_run() {
        folder.dovetail(&["lab", "up", &name("x"), "--congestion-control", "vegass"]).fails(2, &["vegass", "reno"]);
    }
}

#[test]
fn without_root_a_lab_says_so() {
    let folder = Folder::new();
    // A user other than root runs a copy of the program, where it may be read by everybody.
    let said = if may_run() {
        let program = folder.path("dovetail");
        std::fs::copy(env!("CARGO_BIN_EXE_dovetail"), &program).unwrap();
        let script = "chmod 755 . dovetail && exec setpriv --reuid 65534 --clear-groups ./dovetail lab up nobody";
        folder.shell(script)
    } else {
        folder.dovetail(&["lab", "up", "nobody"])
    };
    said.fails(2, &["needs root"]);
}
