//! The same input gives the same bytes, however often and on however many threads.

use std::collections::BTreeMap;

use crate::support::Folder;

/// Random arrivals, sizes, on and off times, a change of alpha and queues that overflow.
const SCENARIO: &str = r#"seed = 7
interval = "20 ms"
schedulers = ["drfq:mode=dovetail", "tradeoff:alpha=0.5"]

[[resource]]
name = "cpu"

[[resource]]
name = "link"
rate = "200 Mbps"

[[class]]
name = "monitoring"
cost = { cpu = "0.0008 us/B + 12.1 us" }

[[class]]
name = "ipsec"
cost = { cpu = "0.015 us/B + 84.5 us" }
estimate = { cpu = "0.02 us/B + 70 us" }

[[flows]]
class = "monitoring"
count = 5
size = "200 B to 1400 B"
arrivals = "poisson"
rate = "4000 pps"
queue = "20 packets"
stop = "200 ms"

[[flows]]
class = "ipsec"
count = 5
weight = 2
size = "200 B to 1400 B"
arrivals = "on-off"
on = "10 ms"
off = "10 ms"
rate = "4000 pps"
stop = "200 ms"

[[change]]
at = "100 ms"
set = "alpha=0.5"
"#;

/// Everything that a run leaves: what it prints, and its files by name.
fn results(folder: &Folder, input: &str, extra: &[&str]) -> (String, BTreeMap<String, Vec<u8>>) {
    let arguments = [&["run", input, "--json", "--out", "out"], extra].concat();
    let printed = folder.dovetail(&arguments).succeeds().out;
    // The command that it was made with is another one each time.
    let files = folder.list("out").into_iter().filter(|name| name != "command.json");
    let files = files.map(|name| (name.clone(), std::fs::read(folder.path("out").join(name)).unwrap())).collect();
    std::fs::remove_dir_all(folder.path("out")).unwrap();
    (printed, files)
}

fn same_every_time(folder: &Folder, input: &str) {
    let (printed, files) = results(folder, input, &["--threads", "1"]);
    assert!(files.len() >= 5, "{:?}", files.keys());
    for extra in [&["--threads", "1"][..], &["--threads", "2"], &["--threads", "9"], &[]] {
        let again = results(folder, input, extra);
        assert!(again.0 == printed, "the printed document differs with {extra:?}");
        assert!(again.1.keys().eq(files.keys()), "{:?}", again.1.keys());
        for (name, bytes) in &files {
            assert!(again.1[name] == *bytes, "{name} differs with {extra:?}");
        }
    }
    let (other, _) = results(folder, input, &["--seed", "8"]);
    assert!(other != printed, "another seed is another input");
}

#[test]
fn a_scenario_under_every_scheduler() {
    let folder = Folder::new();
    let all: String = dovetail_sched::catalog().iter().map(|e| format!("{:?}, ", e.name)).collect();
    folder.write("s.toml", SCENARIO.replace("schedulers = [", &format!("schedulers = [{all}")));
    same_every_time(&folder, "s.toml");
}

#[test]
fn a_capture() {
    let folder = Folder::new();
    folder.dovetail(&["trace", "synth", "t.pcap", "--packets", "2000", "--flows", "100"]).succeeds();
    same_every_time(&folder, "t.pcap");
}

#[test]
fn a_synthetic_capture() {
    let folder = Folder::new();
    for name in ["a.pcap", "b.pcap"] {
        folder.dovetail(&["trace", "synth", name, "--packets", "2000", "--flows", "100", "--seed", "3"]).succeeds();
    }
    let read = |name| std::fs::read(folder.path(name)).unwrap();
    assert!(read("a.pcap") == read("b.pcap"));
    folder
        .dovetail(&["trace", "synth", "b.pcap", "--packets", "2000", "--flows", "100", "--seed", "4", "--force"])
        .succeeds();
    assert!(read("a.pcap") != read("b.pcap"));
}
