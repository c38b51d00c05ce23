//! Results appear whole or not at all.

use crate::support::{Folder, SCENARIO};

#[test]
fn a_full_disk_leaves_nothing() {
    // No file may grow beyond 2 or 4 KiB, by the shell's unit; the packets' table is larger.
    let run = "trap '' XFSZ; ulimit -f 4; exec $dovetail run s.toml --out";
    let folder = Folder::with_scenario();
    folder.shell(&format!("{run} new/out")).fails(1, &["cannot write", "new/out/", "too large"]);
    assert_eq!(folder.list("."), ["s.toml"], "folders that were made for it are gone again");

    std::fs::create_dir(folder.path("old")).unwrap();
    folder.write("old/summary.json", "from yesterday");
    folder.shell(&format!("{run} old")).fails(1, &["cannot write", "old/"]);
    assert_eq!(folder.list("old"), ["summary.json"]);
    assert_eq!(std::fs::read_to_string(folder.path("old/summary.json")).unwrap(), "from yesterday");
}

#[test]
fn a_full_disk_leaves_no_capture() {
    let folder = Folder::new();
    folder.shell("trap '' XFSZ; ulimit -f 4; exec $dovetail trace synth t.pcap").fails(1, &["cannot write", "t.pcap"]);
    assert!(folder.list(".").is_empty());
}

#[test]
fn a_capture_replaces_files_only() {
    let folder = Folder::new();
    folder.shell("mkfifo pipe && mkdir folder && echo old > t.pcap").succeeds();
    let synth = |name: &str| folder.dovetail(&["trace", "synth", name, "--packets", "50", "--flows", "5"]);
    for name in ["pipe", "folder"] {
        synth(name).fails(1, &[name, "no regular file"]);
    }
    assert_eq!(folder.list("."), ["folder", "pipe", "t.pcap"]);
    synth("t.pcap").succeeds();
    folder.shell("$dovetail trace synth - --packets 50 --flows 5 > piped.pcap").succeeds();
    let read = |name| std::fs::read(folder.path(name)).unwrap();
    assert!(read("piped.pcap") == read("t.pcap"), "- is standard output");
}

#[test]
fn a_folder_that_cannot_be_written_is_found_before_the_run() {
    let folder = Folder::new();
    // Years of work, were it begun.
    folder.write("s.toml", SCENARIO.replace("50 ms", "1000 h"));
    let refused = |out: &str, words: &[&str]| folder.dovetail(&["run", "s.toml", "--out", out]).fails(1, words);
    refused("s.toml", &["s.toml", "not a directory"]);
    refused("s.toml/deeper", &["s.toml/deeper"]);
    refused("/proc/nowhere", &["/proc/nowhere"]);
    folder.dovetail(&["trace", "synth", "/proc/t.pcap"]).fails(1, &["/proc"]);
    assert_eq!(folder.list("."), ["s.toml"]);
}

#[test]
fn standard_output_that_is_full() {
    let folder = Folder::with_scenario();
    folder.shell("$dovetail run s.toml > /dev/full").fails(1, &["standard output", "No space left"]);
    folder.shell("$dovetail schedulers > /dev/full").fails(1, &["standard output"]);
}

#[test]
fn everything_asked_for_is_there() {
    let folder = Folder::with_scenario();
    let said = folder.dovetail(&["run", "s.toml", "--out", "out"]).succeeds();
    let names = folder.list("out");
    for name in &names {
        assert!(said.err.contains(&format!("wrote out/{name}\n")), "{name}: {}", said.err);
        assert!(!name.starts_with('.'), "{name}");
    }
    assert!(names.contains(&"summary.json".to_string()), "{names:?}");
    for ending in [".svg", ".parquet"] {
        assert!(names.iter().any(|n| n.ends_with(ending)), "{names:?}");
    }
    let printed = folder.dovetail(&["run", "s.toml", "--json"]).succeeds().out;
    assert_eq!(std::fs::read_to_string(folder.path("out/summary.json")).unwrap().trim(), printed.trim());
}
