//! Data on standard output, words on standard error, nothing more than was asked for.

use std::process::Stdio;

use serde_json::Value;

use crate::support::Folder;

#[test]
fn json_is_one_document_and_nothing_else() {
    let folder = Folder::with_scenario();
    folder.dovetail(&["trace", "synth", "t.pcap", "--packets", "300", "--flows", "20"]).succeeds();
    let commands: [&[&str]; 8] = [
        &["run", "s.toml", "--json"],
        &["run", "s.toml", "--json", "--out", "out"],
        &["run", "t.pcap", "--json"],
        &["bounds", "s.toml", "--json"],
        &["trace", "info", "t.pcap", "--json"],
        &["reproduce", "--list", "--json"],
        &["schedulers", "--json"],
        &["schedulers", "drfq", "--json"],
    ];
    for command in commands {
        let said = folder.dovetail(command).succeeds();
        let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{command:?}: {e}"));
        assert!(document["schema"].as_u64().is_some(), "{command:?} has no schema version");
    }
}

#[test]
fn nothing_is_said_when_there_is_nothing_to_say() {
    let folder = Folder::with_scenario();
    for command in [&["run", "s.toml"][..], &["run", "s.toml", "--json"], &["bounds", "s.toml"], &["schedulers"]] {
        assert_eq!(folder.dovetail(command).succeeds().err, "", "{command:?}: no progress without a terminal");
    }
}

#[test]
fn a_capture_alone_runs_with_the_defaults_and_says_which() {
    let folder = Folder::new();
    folder.dovetail(&["trace", "synth", "t.pcap", "--packets", "300", "--flows", "20"]).succeeds();
    let said = folder.dovetail(&["run", "t.pcap"]).succeeds();
    assert!(said.err.contains("profile firewall-ids (the default): one CPU and a 500 Mbps link"), "{}", said.err);
    let changed = folder.dovetail(&["run", "t.pcap", "--set", "resource.link.rate=1 Gbps"]).succeeds();
    let words = "the rest is forwarded; changed by --set resource.link.rate=1 Gbps";
    assert!(changed.err.split_whitespace().collect::<Vec<_>>().join(" ").contains(words), "{}", changed.err);
    let pace = "as fast as recorded, to load the busiest resource to 1.2 times its capacity";
    let in_a_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(in_a_line(&said.err).contains(pace), "{}", said.err);
    let faster = folder.dovetail(&["run", "t.pcap", "--set", "resource.link.rate=1 Gbps", "--json"]).succeeds();
    assert_ne!(said.out, faster.out);
    let own = folder.dovetail(&["run", "t.pcap", "--set", "trace.speed=2"]).succeeds();
    assert!(
        in_a_line(&own.err).contains("replayed 2.000 times as fast as recorded"),
        "in place of the load: {}",
        own.err
    );
    assert!(!own.err.contains("to offer"), "{}", own.err);
    let slow = folder.dovetail(&["run", "t.pcap", "--set", "trace.speed=0.0004"]).succeeds();
    assert!(in_a_line(&slow.err).contains("replayed 0.000400 times as fast as recorded"), "{}", slow.err);
    let half = folder.dovetail(&["run", "t.pcap", "--set", "trace.load=0.5"]).succeeds();
    assert!(in_a_line(&half.err).contains("the busiest resource to 0.5 times"), "{}", half.err);
    let both = ["run", "t.pcap", "--set", "trace.speed=2", "--set", "trace.load=0.5"];
    folder.dovetail(&both).fails(2, &["give speed or load, not both"]);
}

#[test]
fn a_reader_that_stops_reading_is_no_error() {
    let folder = Folder::with_scenario();
    for command in [&["schedulers"][..], &["run", "s.toml"], &["run", "s.toml", "--json"], &["completions", "bash"]] {
        let mut child = folder.command(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{command:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{command:?}");
    }
}

#[test]
fn errors_that_nobody_hears_keep_their_exit_code() {
    let folder = Folder::with_scenario();
    assert_eq!(folder.shell("$dovetail run nowhere.toml 2> /dev/full").code, Some(2));
    assert_eq!(folder.shell("$dovetail run s.toml --out out 2> /dev/full").code, Some(0));
    let mut child = folder.command(&["run", "nowhere.toml"]).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn what_a_terminal_obeys_is_not_repeated_from_arguments() {
    let folder = Folder::with_scenario();
    let commands: [&[&str]; 5] = [
        &["run", "s.toml", "--\u{1b}[31mred"],
        &["run", "s.toml", "--scheduler", "\u{1b}[31mred"],
        &["run", "s.toml", "--seed", "\u{1b}]0;title\u{7}"],
        &["run", "s.toml", "more\u{1b}[2J"],
        &["\u{1b}[31mrun"],
    ];
    for command in commands {
        let said = folder.dovetail(command);
        assert!(!said.err.contains(['\u{1b}', '\u{7}']), "{command:?}: {:?}", said.err);
        said.fails(2, &["u001b"]);
    }
}

#[test]
fn json_is_valid_whatever_a_file_is_called() {
    let folder = Folder::with_scenario();
    let name = "\u{1b}[31m\u{7f}\u{9b}\"é.toml";
    std::fs::copy(folder.path("s.toml"), folder.path(name)).unwrap();
    let said = folder.dovetail(&["run", name, "--json"]).succeeds().out;
    assert!(!said.contains(|c: char| c.is_control() && c != '\n'), "{said:?}");
    let summary: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(summary["scenario"]["name"], name);
}

#[test]
fn tables_fit_the_width_that_a_pipe_gets() {
    let folder = Folder::with_scenario();
    for command in [&["run", "s.toml"][..], &["schedulers"], &["bounds", "s.toml"]] {
        let text = folder.dovetail(command).succeeds().out;
        let table = text.lines().take_while(|l| !l.is_empty());
        assert!(table.clone().count() > 2, "{text}");
        for line in table {
            assert!(line.chars().count() <= 120, "{line}");
        }
    }
}

#[test]
fn completions_and_man_pages_cover_the_commands() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.dovetail(&["completions", shell]).succeeds().out;
        assert!(script.contains("scheduler") && script.contains("synth"), "{shell}");
        // Values of arguments: of elvish and powershell there are none.
        let values = ["drfq", "tradeoff-fig9"].iter().all(|value| script.contains(value));
        assert!(values || matches!(shell, "elvish" | "powershell"), "{shell}");
    }
    folder.dovetail(&["man", "man1"]).succeeds();
    let pages = folder.list("man1");
    for page in ["dovetail.1", "dovetail-run.1", "dovetail-trace-synth.1", "dovetail-reproduce.1"] {
        assert!(pages.contains(&page.to_string()), "{pages:?}");
    }
}
