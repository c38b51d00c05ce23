//! `least` passes the suite, and is a scheduler like any other in scenarios, on captures, in `bounds` and in a live
//! box.

use std::path::Path;
use std::process::Command;

use dovetail_experiment::bounds::Guarantees;
use dovetail_sched::catalog::{Addition, Entry, NotRegistered, find, register};
use least::Least;

/// Once, whichever test is the first.
fn registered() -> &'static Entry {
    assert!(matches!(register(&[Addition::of::<Least>()]), Ok(()) | Err(NotRegistered::TooLate)));
    find("least").expect("least is in the catalogue")
}

#[test]
fn it_passes_the_suite() {
    assert!(registered().fact::<Guarantees>().is_some());
    if let Err(wrong) = dovetail_testkit::suite::check("least") {
        panic!("{wrong}");
    }
}

#[test]
fn a_name_that_is_taken_is_refused() {
    registered();
    assert_eq!(register(&[Addition::of::<Least>()]), Err(NotRegistered::TooLate));
}

/// What this program prints.
fn least(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_least")).args(arguments).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

const SCENARIO: &str = r#"
seed = 1
schedulers = ["least", "fifo"]
[[resource]]
name = "cpu"
[[resource]]
name = "link"
[[class]]
name = "heavy"
cost = { cpu = "30 us", link = "10 us" }
[[class]]
name = "light"
cost = { cpu = "2 us", link = "5 us" }
[[flows]]
class = "heavy"
count = 9
size = "400 B"
arrivals = "poisson"
rate = "20000 pps"
stop = "20 ms"
[[flows]]
class = "light"
size = "400 B"
arrivals = "poisson"
rate = "20000 pps"
stop = "20 ms"
"#;

const LIVE: &str = r#"
scheduler = "least"
[ports]
in = "pcap:traffic.pcap"
out = "pcap:>out.pcap"
[link]
rate = "20 Mbps"
[[class]]
name = "all"
cost = "1 us"
"#;

/// The number behind this word in the row of a table.
fn row<'a>(table: &'a str, scheduler: &str) -> Vec<&'a str> {
    let row = table.lines().find(|line| line.starts_with(scheduler));
    row.unwrap_or_else(|| panic!("no row {scheduler}: {table}")).split_whitespace().collect()
}

#[test]
fn it_runs_wherever_a_scheduler_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("scenario.toml"), SCENARIO).unwrap();
    let table = least(here, &["run", "scenario.toml"]);
    assert!(row(&table, "least").len() == row(&table, "fifo").len(), "{table}");
    let bounds = least(here, &["bounds", "scenario.toml"]);
    assert!(bounds.contains("two flows' difference of dominant service / weight"), "{bounds}");
    assert!(least(here, &["schedulers", "least"]).contains("Self-clocked fair queueing of dominant times"));

    least(here, &["trace", "synth", "traffic.pcap", "--packets", "2000", "--flows", "20", "--duration", "1s"]);
    let table = least(here, &["run", "traffic.pcap", "--scheduler", "least"]);
    row(&table, "least");

    std::fs::write(here.join("box.toml"), LIVE).unwrap();
    let report: serde_json::Value = serde_json::from_str(&least(here, &["live", "box.toml", "--json"])).unwrap();
    assert_eq!(report["forward"]["scheduler"], "least", "{report:#}");
    assert!(here.join("out.pcap").metadata().unwrap().len() > 0);
}
