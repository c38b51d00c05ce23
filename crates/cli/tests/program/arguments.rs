//! What is wrong on the command line itself: exit code 2, and nothing is run.

use serde_json::Value;

use crate::support::{Folder, SCENARIO};

#[track_caller]
fn refused(arguments: &[&str], words: &[&str]) {
    Folder::with_scenario().dovetail(arguments).fails(2, words);
}

#[test]
fn numbers() {
    refused(&["run", "s.toml", "--seed", "abc"], &["'abc'", "--seed", "whole number"]);
    refused(&["run", "s.toml", "--seed", "-1"], &["'-1'", "--seed", "whole number"]);
    refused(&["run", "s.toml", "--threads", "0"], &["'0'", "--threads", "a whole number from 1 to 1024"]);
    refused(&["run", "s.toml", "--threads", "99999"], &["'99999'", "from 1 to 1024"]);
    refused(&["run", "s.toml", "--threads", "two"], &["'two'", "--threads", "a whole number from 1 to 1024"]);
    refused(&["run", "s.toml", "--threads", "-1"], &["'-1'", "--threads", "a whole number from 1 to 1024"]);
    refused(&["trace", "info", "t.pcap", "--top", "-1"], &["'-1'", "--top", "a whole number from 0 to"]);
    refused(&["trace", "synth", "t.pcap", "--packets", "0"], &["'0'", "a whole number from 1 to 100000000"]);
    refused(&["trace", "synth", "t.pcap", "--packets", "1k"], &["'1k'", "--packets", "a whole number from 1 to"]);
    refused(&["trace", "synth", "t.pcap", "--packets", "1000"], &["1000 packets of 3600 flows", "one for each flow"]);
    refused(&["trace", "synth", "t.pcap", "--flows", "-3"], &["'-3'", "--flows", "a whole number from 1 to 1000000"]);
    refused(&["trace", "synth", "t.pcap", "--flows", "0"], &["'0'", "a whole number from 1 to"]);
    refused(&["lab", "up", "--mtu", "-1"], &["'-1'", "a whole number from 1280 to 1906"]);
    refused(&["lab", "predict", "--step", "-1"], &["'-1'", "a whole number from 1 to"]);
    refused(&["calibrate", "--samples", "-1"], &["'-1'", "a whole number from 10 to 100000"]);
    refused(&["trace", "synth", "t.pcap", "--duration", "10"], &["--duration", "the unit is missing"]);
    refused(&["trace", "synth", "t.pcap", "--rate=-1 Mbps"], &["--rate", "it is negative"]);
    refused(&["trace", "synth", "t.pcap", "--rate", "-1 Mbps"], &["'-1 Mbps'", "--rate", "it is negative"]);
    refused(&["trace", "synth", "t.pcap", "--duration", "-1 s"], &["'-1 s'", "--duration", "it is negative"]);
    refused(&["live", "box.toml", "--for", "-1 s"], &["'-1 s'", "--for", "it is negative"]);
    refused(&["top", "--every", "-1 s"], &["'-1 s'", "--every", "it is negative"]);
    refused(&["advise", "s.toml", "--target", "-5 %"], &["'-5 %'", "--target"]);
    refused(&["reproduce", "tradeoff-fig1", "--load", "-1"], &["'-1'", "--load", "a number from 0.01 to 100"]);
    let deep = format!("{}=1", ["a"; 20_000].join("."));
    refused(&["run", "s.toml", "--set", &deep], &["--set a.a.", "the key has 20000 parts", "at most 32"]);
}

#[test]
fn schedulers() {
    refused(&["run", "s.toml", "-s", "traedoff"], &["\"traedoff\"", "did you mean \"tradeoff\"?"]);
    refused(&["run", "s.toml", "-s", "tradeoff:alpha=2"], &["scheduler tradeoff:alpha=2", "from 0"]);
    refused(&["run", "s.toml", "-s", "tradeoff:alpha=0,85"], &["decimal point", "alpha=0.85"]);
    refused(&["run", "s.toml", "-s", "fifo,drfq"], &["once for each scheduler"]);
    refused(&["run", "s.toml", "-s", "drr", "-s", "fifo", "-s", "drr"], &["scheduler drr: it is named twice"]);
    refused(&["run", "s.toml", "-s", "drr+drr+drr"], &["scheduler drr+drr+drr: has a discipline for each of 3 "]);
    let spelt = ["run", "s.toml", "-s", "tradeoff", "-s", "tradeoff:alpha=0.85"];
    // s.toml may name what the command line names, too: it is not to blame.
    refused(&spelt, &["scheduler tradeoff:alpha=0.85: it is the same as tradeoff, and would give the same twice"]);
    refused(&["run", "s.toml", "-s", ""], &["--scheduler", "name:key=value"]);
    refused(&["run", "s.toml", "-s", "drfq:mode=fast"], &["mode=fast", "memoryless or dovetail"]);
    refused(&["run", "s.toml", "-s", "drfq:window=0"], &["window=0", "at least 1"]);
    refused(&["run", "s.toml", "-s", "drfq:window=99999999999"], &["window=99999999999", "at most 4294967295"]);
    let protect = "tradeoff:protect=ipsec 0 s";
    refused(
        &["run", "s.toml", "-s", protect],
        &["protect=ipsec 0 s: expected one of the classes ipsec, and a time above"],
    );
    let target = "tradeoff:target=cpu 200 %";
    refused(&["run", "s.toml", "-s", target], &["target=cpu 200 %: expected one of the resources cpu, link, and how"]);
    refused(&["run", "s.toml", "-s", "drr+drrr"], &["\"drrr\"", "did you mean \"drr\"?"]);
    refused(&["run", "s.toml", "-s", "drr+drr:bufer=4"], &["\"bufer\"", "did you mean \"buffer\"?"]);
    refused(&["advise", "s.toml", "--today", "fiof"], &["\"fiof\"", "did you mean \"fifo\"?"]);
    refused(&["advise", "s.toml", "--today", "tradeoff:alpha=2"], &["scheduler tradeoff:alpha=2", "from 0"]);
    refused(&["schedulers", "traedoff"], &["\"traedoff\"", "did you mean \"tradeoff\"?"]);
    refused(&["run", "s.toml", "-s", "drr+"], &["drr+", "name is missing after the last plus sign"]);
    refused(&["schedulers", "drr+drfq"], &["drfq decides for all resources of a pipeline"]);
    refused(&["schedulers", "drr+drfq", "--json"], &["drfq decides for all resources of a pipeline"]);
    refused(&["schedulers", "drr:resource=0"], &["a name without parameters is wanted", "\"drr\""]);
    refused(&["schedulers", ""], &["error: there is no scheduler \"\"; there are fifo, ", ", red, drq"]);
    refused(&["schedulers", " "], &["error: there is no scheduler \" \"; there are fifo, "]);
    refused(&["schedulers", ":"], &["error: a name without parameters is wanted here, such as \"drr\""]);
    refused(&["schedulers", "unheard-of"], &["\"unheard-of\"", "there are fifo, ", ", red, drq"]);
    refused(&["schedulers", "rde"], &["no scheduler \"rde\"", "did you mean \"red\"?"]);
    refused(&["schedulers", "drr+rde"], &["no scheduler \"rde\"", "did you mean \"red\"?"]);
    refused(&["schedulers", "red+drfq"], &["drfq decides for all resources of a pipeline"]);
}

#[test]
fn schedulers_tells_of_compositions() {
    let folder = Folder::new();
    assert!(folder.dovetail(&["schedulers"]).succeeds().out.contains("drr+drr"));
    let json = folder.dovetail(&["schedulers", "drr+wf2q+", "--json"]).succeeds().out;
    for word in ["\"name\": \"drr+wf2q+\"", "\"name\": \"drr\"", "\"name\": \"wf2q+\"", "\"name\": \"buffer\""] {
        assert!(json.contains(word), "{word}: {json}");
    }
    let about = folder.dovetail(&["schedulers", "drr+wf2q+"]).succeeds().out;
    for word in ["resource 0: drr", "resource 1: wf2q+", "buffer = ", "full = drop or hold", "quantum = "] {
        assert!(about.contains(word), "{word}: {about}");
    }
}

#[test]
fn schedulers_tells_of_queue_management() {
    let folder = Folder::new();
    let json = |arguments: &[&str]| -> Value {
        let said = folder.dovetail(&[&["schedulers"], arguments, &["--json"]].concat()).succeeds();
        serde_json::from_str(&said.out).unwrap()
    };
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_string()).collect()
    };
    let drq = json(&["drq"]);
    assert_eq!(names(&drq["schedulers"]), ["drq"]);
    assert_eq!(names(&drq["schedulers"][0]["parameters"]), ["min", "max", "max_p", "weight", "mean_packet"]);
    let mixed = json(&["drr+red"]);
    assert_eq!(names(&mixed["schedulers"]), ["drr", "red"]);
    let parameters = names(&mixed["composition"]["parameters"]);
    assert!(
        ["quantum", "weight", "gentle", "rules"].iter().all(|p| parameters.iter().any(|q| q == p)),
        "{parameters:?}"
    );
    assert!(!parameters.contains(&"resource".to_string()), "{parameters:?}");
    let family = names(&json(&[])["schedulers"]);
    assert!(family.contains(&"red".to_string()) && family.contains(&"drq".to_string()), "{family:?}");
    let about = folder.dovetail(&["schedulers", "drr+red"]).succeeds().out;
    for word in ["CPUs  drr", "links red", "gentle = yes or no", "default: 0.002"] {
        assert!(about.contains(word), "{word}: {about}");
    }
}

#[test]
fn words_that_are_no_arguments() {
    refused(&["rum", "s.toml"], &["'rum'", "'run'"]);
    refused(&["run", "s.toml", "--outt", "x"], &["'--outt'", "'--out'"]);
    refused(&["run"], &["<FILE|CAPTURE>"]);
    refused(&["s.toml"], &["'s.toml'", "tip: to run it: dovetail run s.toml"]);
    refused(&["run", "s.toml", "s.toml"], &["unexpected argument 's.toml'"]);
    refused(&["reproduce", "tradeof-fig1"], &["tradeof-fig1", "tradeoff-fig1"]);
    refused(&["reproduce", "--list", "tradeof"], &["tradeof", "tradeoff"]);
    refused(&["reproduce", "--list", "--out", "x"], &["--list", "--out"]);
    refused(&["live", "box.toml", "--dry-run", "--json"], &["--dry-run", "--json"]);
    refused(&["completions", "cmd"], &["'cmd'", "bash"]);
    refused(&["lab", "accelerator"], &["tip: to run it: dovetail lab run accelerator"]);
    refused(&["lab", "up", "--name", "two"], &["tip: the name is a word of its own: dovetail lab up two"]);
    refused(&["live", "box.toml", "--in", "eth0"], &["--set ports.in=packet:eth0"]);
    refused(&["live", "box.toml", "--set", "ports.in", "packet:eth0"], &["one word: --set ports.in=packet:eth0"]);
}

#[test]
fn a_list_of_some_tables_and_figures() {
    let folder = Folder::new();
    let said = folder.dovetail(&["reproduce", "--list", "atfq", "tradeoff-fig1"]).succeeds().out;
    let ids: Vec<&str> = said.lines().filter_map(|line| line.split_whitespace().next()).skip(2).collect();
    assert!(ids.contains(&"tradeoff-fig1") && ids.len() > 5, "{said}");
    assert!(ids.iter().all(|id| *id == "tradeoff-fig1" || id.starts_with("atfq-")), "{said}");
}

#[test]
fn help_tells_of_every_command_and_exit_code() {
    let folder = Folder::new();
    let help = folder.dovetail(&["--help"]).succeeds().out;
    for word in ["run", "schedulers", "trace", "reproduce", "bounds", "completions", "man", "Exit codes"] {
        assert!(help.contains(word), "{help}");
    }
    assert_eq!(folder.dovetail(&["-h"]).out, help);
    assert_eq!(folder.dovetail(&["--version"]).out, concat!("dovetail ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn the_examples_of_the_help_work() {
    let folder = Folder::with_scenario();
    folder.dovetail(&["trace", "synth", "capture.pcap", "--packets", "300", "--flows", "20"]).succeeds();
    std::fs::rename(folder.path("s.toml"), folder.path("scenario.toml")).unwrap();
    let help = folder.dovetail(&["run", "--help"]).succeeds().out;
    let examples: Vec<&str> = help.lines().filter(|l| l.starts_with("  dovetail ")).collect();
    folder.write("network.toml", include_str!("../../../../scenarios/tcp.toml"));
    assert_eq!(examples.len(), 4, "{help}");
    for example in examples {
        folder.shell(&example.trim().replacen("dovetail", "$dovetail", 1)).succeeds();
    }
}

/// As a variable of the shell that is not set.
#[test]
fn an_empty_name_of_a_file_is_refused_as_that() {
    let folder = Folder::new();
    for command in ["run", "advise", "bounds"] {
        folder.dovetail(&[command, ""]).fails(2, &["a value is required for '<FILE|CAPTURE>' but none was supplied"]);
    }
    folder.dovetail(&["live", ""]).fails(2, &["a value is required for '<CONFIG>' but none was supplied"]);
}

#[test]
fn bytes_that_are_no_text() {
    let folder = Folder::with_scenario();
    for command in ["run '", "advise '", "schedulers '", "run s.toml -s '", "run s.toml --set '", "calibrate '"] {
        let words = ["invalid UTF-8 was detected in one or more arguments"];
        folder.shell(&format!("$dovetail {command}'$(printf '\\377')")).fails(2, &words);
    }
}

#[test]
fn a_text_without_end_is_refused() {
    let folder = Folder::with_scenario();
    folder.dovetail(&["trace", "synth", "c.pcap", "--packets", "10", "--flows", "2"]).succeeds();
    let words = ["standard input: cannot be read: it is longer than 64 MiB"];
    for command in ["run -", "sweep - --out o"] {
        folder.shell(&format!("yes '# a comment' | $dovetail {command}")).fails(2, &words);
    }
    let words = ["/dev/zero", "it is longer than 64 MiB"];
    folder.dovetail(&["sweep", "/dev/zero"]).fails(2, &words);
    folder.dovetail(&["run", "c.pcap", "--profile", "/dev/zero"]).fails(2, &words);
}

#[test]
fn a_name_that_is_too_long_for_a_file_is_refused_before_the_work() {
    let (folder, name) = (Folder::with_scenario(), "n".repeat(300));
    folder.dovetail(&["trace", "synth", &name]).fails(2, &["cannot write nnn", "File name too long"]);
    folder.dovetail(&["run", "s.toml", "--page", &name]).fails(2, &["cannot write nnn", "File name too long"]);
}

/// Before it is made, and not by the end of the program.
#[test]
fn what_does_not_fit_into_the_memory_that_is_allowed_is_refused() {
    let folder = Folder::new();
    let many = SCENARIO.replace("count = 3", "count = 1000000").replace("4000 pps", "1 pps");
    folder.write("many.toml", many);
    folder.dovetail(&["trace", "synth", "many.pcap", "--packets", "400000", "--flows", "400000"]).succeeds();
    let within = |kilobytes: u32, command: &str| folder.shell(&format!("ulimit -v {kilobytes}; $dovetail {command}"));
    for command in ["run", "bounds", "advise"] {
        let words = ["many.toml:16:1", "these 1000000 flows take some 550.0 MB of memory, and ", " are free"];
        within(200_000, &format!("{command} many.toml")).fails(2, &words);
    }
    let words = ["20000000 packets of 3600 flows take some 520.4 MB of memory, and "];
    within(200_000, "trace synth made.pcap --packets 20000000").fails(2, &words);
    let words = ["many.pcap: the ", " flows of its first ", " of memory that are free", "--key prefix"];
    within(100_000, "trace info many.pcap").fails(2, &words);
    within(100_000, "run many.pcap").fails(2, &["packets of the capture, of ", " of memory that are free"]);
    within(300_000, "trace info many.pcap").succeeds();
    assert_eq!(folder.list("."), ["many.pcap", "many.toml"]);
}
