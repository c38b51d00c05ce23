//! Arguments that are nearly right: the message names what was probably meant.

use crate::support::Folder;

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
}

#[test]
fn a_scenario_of_the_repository_elsewhere() {
    says(&["run", "scenarios/first.toml"], &["a folder of Dovetail's repository"]);
}

#[test]
fn an_option_of_another_command() {
    says(&["run", "s.toml", "--rate", "500 Mbps"], &["--set resource.link.rate='\"500 Mbps\"'"]);
    says(&["report", "out", "--page", "p.html"], &["--out p.html"]);
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
