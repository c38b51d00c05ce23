//! Arguments that are nearly right: the message names what was probably meant.

use crate::support::{Folder, SCENARIO};

/// The header of a capture in pcap.
const HEADER: [u8; 24] = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0];

#[track_caller]
fn says(arguments: &[&str], words: &[&str]) {
    let folder = Folder::with_scenario();
    folder.write("monday.pcap", HEADER);
    folder.dovetail(arguments).fails(2, words);
}

#[test]
fn a_capture_where_something_else_belongs() {
    says(&["live", "monday.pcap"], &["monday.pcap", "it is a capture", "dovetail run monday.pcap"]);
    says(&["trace", "monday.pcap"], &["monday.pcap", "dovetail trace info monday.pcap"]);
    says(&["monday.pcap"], &["dovetail run monday.pcap"]);
}

#[test]
fn a_file_with_a_wrong_ending() {
    let folder = Folder::with_scenario();
    for (name, near) in [("monday.pcap", HEADER.as_slice()), ("mondays", b""), ("se", b"")] {
        folder.write(name, near);
    }
    for (wrong, right) in [("s.tml", "s.toml"), ("monday.pcpa", "monday.pcap")] {
        folder.dovetail(&["run", wrong]).fails(2, &[wrong, &format!("did you mean {right:?}?")]);
    }
}

#[test]
fn an_interface_where_a_configuration_belongs() {
    says(&["live", "lo"], &["it is an interface", "in = \"packet:lo\""]);
    says(&["live", "lo", "eth9"], &["in = \"packet:lo\", out = \"packet:eth9\""]);
}

#[test]
fn a_schedulers_parameter_as_an_option() {
    says(&["run", "s.toml", "--alpha", "0.9"], &["--alpha", "--scheduler tradeoff:alpha=0.9"]);
    says(&["run", "s.toml", "--alpha=0.9"], &["--scheduler tradeoff:alpha=0.9"]);
    says(&["advise", "s.toml", "--alpha", "0.9"], &["--today tradeoff:alpha=0.9"]);
    says(&["live", "s.toml", "--alpha", "0.9"], &["--set scheduler=tradeoff:alpha=0.9"]);
    says(&["run", "s.toml", "--quantum", "5 us"], &["--quantum", "a scheduler's parameter"]);
    says(&["advise", "s.toml", "-s", "drr"], &["--today drr"]);
    says(&["live", "ctl", "alpha=0.9"], &["dovetail live ctl set alpha=0.9"]);
    says(&["live", "ctl", "set", "alpha", "0.9"], &["one word: alpha=0.9"]);
    says(&["live", "ctl", "weight", "backup", "0.2"], &["one word: backup=0.2"]);
    says(&["live", "ctl", "set", "alpha=0.9", "target=cpu 95 %"], &["one change at a time"]);
    says(&["run", "s.toml", "-s", "tradeoff:0.85"], &["0.85", "did you mean tradeoff:alpha=0.85?"]);
    says(&["run", "s.toml", "-s", "fifo", "drfq"], &["once for each scheduler: --scheduler drfq"]);
    says(&["run", "s.toml", "-s", "fifo drfq"], &["'fifo drfq'", "give --scheduler once for each scheduler"]);
    says(&["run", "s.toml", "-s", "drr:0.85"], &["not of the form key=value"]);
}

#[test]
fn a_scheduler_of_a_box_as_an_option() {
    says(&["live", "s.toml", "-s", "drfq"], &["--set scheduler=drfq"]);
    says(&["live", "s.toml", "--scheduler=drfq"], &["--set scheduler=drfq"]);
}

#[test]
fn an_equals_sign_where_a_colon_belongs() {
    says(&["run", "s.toml", "-s", "tradeoff=0.85"], &["'tradeoff=0.85'", "did you mean tradeoff:alpha=0.85?"]);
    says(&["run", "s.toml", "-s", "alpha=0.85"], &["'alpha=0.85'", "did you mean tradeoff:alpha=0.85?"]);
    says(&["run", "s.toml", "-s", "drr=3"], &["there is no scheduler \"drr=3\"", "did you mean \"drr\"?"]);
    let folder = Folder::new();
    folder.write("s.toml", SCENARIO.replace("tradeoff:alpha=0.85", "tradeoff=0.85"));
    folder.dovetail(&["run", "s.toml"]).fails(2, &["s.toml:3:", "did you mean tradeoff:alpha=0.85?"]);
}

#[test]
fn a_schedulers_parameter_as_a_key_of_the_file() {
    says(
        &["run", "s.toml", "--set", "alpha=0.5"],
        &["unknown key `alpha`", "a scheduler's parameter, as in tradeoff:alpha=0.5", "`alpha` is a key of each [["],
    );
    let folder = Folder::new();
    folder.write("box.toml", "scheduler = \"drfq\"\n[ports]\nin = \"pcap:a.pcap\"\nout = \"pcap:>b.pcap\"\n");
    let refused = folder.dovetail(&["live", "box.toml", "--set", "alpha=0.5"]);
    refused.fails(2, &["a scheduler's parameter: --set scheduler=tradeoff:alpha=0.5", "key of each [[class]]"]);
    says(&["run", "s.toml", "--set", "window=4"], &["a scheduler's parameter, as in drfq:window=4"]);
}

#[test]
fn a_command_of_a_box_that_is_like_no_other() {
    says(&["live", "ctl", "FROB"], &["'FROB'", "there are show, watch, set, weight"]);
    says(&["lab", "FROB"], &["'FROB'", "there are up, run"]);
}

#[test]
fn a_second_input() {
    says(&["run", "s.toml", "monday.pcap"], &["'monday.pcap'", "one scenario or capture at a time"]);
    says(&["advise", "fifo", "monday.pcap"], &["'monday.pcap'", "one scenario or capture at a time"]);
    says(&["trace", "info", "s.toml", "monday.pcap"], &["'monday.pcap'", "one capture at a time"]);
}

#[test]
fn a_file_for_what_is_printed() {
    says(&["run", "s.toml", "--json", "out.json"], &["'out.json'", "--json prints", "--json > out.json"]);
}

#[test]
fn words_of_a_box_in_another_place() {
    says(&["live", "show"], &["cannot be read", "dovetail live ctl show"]);
    says(&["ctl", "show"], &["dovetail live ctl"]);
    says(&["live", "s.tom"], &["did you mean \"s.toml\"?"]);
    says(&["simulate", "s.toml"], &["dovetail run"]);
    says(&["live", "box.toml", "ports.in=packet:lo"], &["--set ports.in=packet:lo"]);
}

#[test]
fn a_goal_without_its_percent() {
    says(&["advise", "s.toml", "--target", "cpu 95"], &["did you mean \"cpu 95 %\"?"]);
}

#[test]
fn a_capture_that_is_there_is_not_replaced() {
    let folder = Folder::with_scenario();
    folder.write("monday.pcap", HEADER);
    folder.dovetail(&["trace", "synth", "monday.pcap"]).fails(2, &["monday.pcap", "--force replaces it"]);
    assert_eq!(std::fs::read(folder.path("monday.pcap")).unwrap(), HEADER);
    folder.dovetail(&["trace", "synth", "monday.pcap", "--force", "--packets", "10", "--flows", "2"]).succeeds();
    says(&["trace", "synth", "t.pcap", "--packets", "10"], &["--flows"]);
}

#[test]
fn a_scenario_of_the_repository_elsewhere() {
    says(&["run", "scenarios/first.toml"], &["a folder of Dovetail's repository"]);
}

#[test]
fn an_option_of_another_command() {
    says(&["run", "s.toml", "--rate", "500 Mbps"], &["--set resource.link.rate='\"500 Mbps\"'"]);
    says(&["run", "s.toml", "--link", "1Gbps"], &["--set resource.link.rate='\"1Gbps\"'"]);
    says(&["run", "monday.pcap", "--speed", "1"], &["--set trace.speed=1"]);
    says(&["advise", "monday.pcap", "--load=1.5"], &["--set trace.load=1.5"]);
    says(&["run", "s.toml", "-o", "results"], &["--out results"]);
    says(&["report", "out", "--page", "p.html"], &["--out p.html"]);
}

/// No command takes a value that begins with a dash.
#[test]
fn an_option_that_means_nothing_gets_no_tip() {
    let refused = Folder::with_scenario().dovetail(&["live", "--config", "s.toml"]);
    refused.fails(2, &["unexpected argument '--config'"]);
    assert!(!refused.err.contains("as a value"), "{}", refused.err);
}

#[test]
fn a_blank_where_a_colon_belongs() {
    says(&["run", "s.toml", "-s", "tradeoff alpha=0.9"], &["a colon", "tradeoff:alpha=0.9"]);
}

#[test]
fn the_name_of_a_resource_where_a_key_belongs() {
    says(
        &["run", "s.toml", "--set", "link.rate=\"5 Mbps\""],
        &["--set link.rate", "did you mean `resource.link.rate`?"],
    );
}

#[test]
fn a_slip_in_a_command_of_commands() {
    says(&["rnu", "s.toml"], &["similar subcommand exists: 'run'"]);
    says(&["lab", "rnu"], &["similar subcommand exists: 'run'"]);
    says(&["help", "rnu"], &["similar subcommand exists: 'run'"]);
    says(&["help", "lab", "dwn"], &["similar subcommand exists: 'down'"]);
}

#[test]
fn a_folder_where_a_capture_belongs() {
    says(&["trace", "info", "."], &["error: . is a folder: expected a pcap or pcapng capture"]);
}
