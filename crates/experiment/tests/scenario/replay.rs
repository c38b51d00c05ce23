//! Captures: flows, classes, speed, and every packet accounted for.

use std::path::Path;

use dovetail_experiment::scenario::Scenario;
use dovetail_trace::{Mixture, Pace};
use dovetail_units::Duration;

use crate::support::{run, summary};

const PACKETS: u32 = 3000;
const RECORDED_S: f64 = 10.0;

/// A folder with a synthetic capture `t.pcap`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let pace = Pace::Duration(Duration::from_secs(RECORDED_S as u64));
    let synthetic = Mixture { packets: PACKETS, flows: 150, pace, seed: 1 }.generate().unwrap();
    synthetic.write_pcap(std::fs::File::create(folder.path().join("t.pcap")).unwrap()).unwrap();
    folder
}

const PIPELINE: &str = r#"
[[resource]]
name = "cpu"

[[resource]]
name = "link"
rate = "200 Mbps"

[[class]]
name = "tcp"
cost = { cpu = "20 us" }

[[class]]
name = "other"
cost = { cpu = "10 us" }

[trace]
file = "t.pcap"
"#;

#[track_caller]
fn replay(folder: &Path, keys: &str) -> Scenario {
    let text = format!("{PIPELINE}{keys}\n");
    Scenario::parse("s.toml", &text, &[], folder.to_path_buf()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_record_of_the_capture_is_offered() {
    let folder = folder();
    let json = summary(&replay(folder.path(), "load = 1.5"), "drfq");
    let capture = &json["scenario"]["capture"];
    assert_eq!(capture["records"], PACKETS);
    let sum = capture["flow_packets"].as_u64().unwrap() + capture["no_flow_packets"].as_u64().unwrap();
    assert_eq!(sum, u64::from(PACKETS));
    assert_eq!(json["runs"][0]["packets"]["offered"], PACKETS);
}

#[test]
fn the_first_rule_that_fits_gives_the_class() {
    let folder = folder();
    let rules = "rule = [{ protocol = \"tcp\", class = \"tcp\" }]\nclass = \"other\"\nno_flow = \"other\"";
    let record = run(&replay(folder.path(), rules), "fifo");
    let groups: std::collections::BTreeSet<&str> = record.flows.iter().map(|f| f.group.as_str()).collect();
    assert!(groups.contains("tcp") && groups.contains("other"), "{groups:?}");
    for flow in &record.flows {
        assert_eq!(flow.group == "tcp", flow.name.contains("tcp"), "{} is {}", flow.name, flow.group);
    }
    let port = record.flows.iter().find_map(|f| f.name.rsplit(':').next()?.parse::<u16>().ok()).unwrap();
    let rules = format!("rule = [{{ port = {port}, class = \"tcp\" }}]\nclass = \"other\"");
    let ruled = run(&replay(folder.path(), &rules), "fifo");
    assert!(ruled.flows.iter().any(|f| f.group == "tcp"), "port {port}");
    for flow in ruled.flows.iter().filter(|f| f.group == "tcp") {
        assert!(flow.name.contains(&format!(":{port}")), "{} has not the port {port}", flow.name);
    }
}

#[test]
fn without_rules_classes_are_drawn_by_the_seed() {
    let folder = folder();
    let groups = |seed| {
        let scenario = replay(folder.path(), "").with_seed(seed).unwrap();
        run(&scenario, "fifo").flows.into_iter().map(|f| f.group).collect::<Vec<_>>()
    };
    assert_eq!(groups(1), groups(1));
    assert_ne!(groups(1), groups(2));
    let one = run(&replay(folder.path(), "class = \"other\""), "fifo");
    assert!(one.flows.iter().all(|f| f.group != "tcp"), "a class for all overrules the draw");
}

#[test]
fn speed_and_load_scale_time() {
    let folder = folder();
    let arrivals = |keys: &str| {
        let scenario = replay(folder.path(), &format!("class = \"other\"\n{keys}"));
        let record = run(&scenario, "fifo");
        (scenario.replay_speed().unwrap(), record.packets.iter().map(|p| p.arrival.as_secs_f64()).collect::<Vec<_>>())
    };
    let (speed, recorded) = arrivals("");
    assert_eq!(speed, 1.0);
    let (speed, twice) = arrivals("speed = 2");
    assert_eq!(speed, 2.0);
    for (slow, fast) in recorded.iter().zip(&twice) {
        // Arrivals are whole nanoseconds.
        assert!((slow / 2.0 - fast).abs() <= 1e-9, "{slow} {fast}");
    }
    // The busiest resource is offered 0.5 of what it can do: its work lasts half as long as the replay.
    let scenario = replay(folder.path(), "class = \"other\"\nload = 0.5");
    let record = run(&scenario, "fifo");
    let busiest = record.resources.iter().map(|r| r.busy.as_secs_f64()).fold(0.0, f64::max);
    let replayed = RECORDED_S / scenario.replay_speed().unwrap();
    assert!((busiest / replayed - 0.5).abs() < 1e-3, "{busiest} of {replayed}");
}

#[test]
fn keys_of_flows() {
    let folder = folder();
    let flows = |key: &str| run(&replay(folder.path(), &format!("key = \"{key}\"")), "fifo").flows.len();
    assert_eq!(flows("5-tuple"), run(&replay(folder.path(), ""), "fifo").flows.len());
    assert!(flows("prefix+port") <= flows("5-tuple"));
    assert!(flows("prefix+port:8/32") <= flows("prefix+port"));
}
