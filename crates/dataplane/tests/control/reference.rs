//! What the reference says of requests and snapshots.

use dovetail_dataplane::control::protocol::{Answer, Request};
use dovetail_units::Time;

use crate::support::{with_modules, with_traffic};

#[test]
fn the_examples_of_the_reference_are_understood() {
    let reference = include_str!("../../../../docs/reference/control.md");
    let lines = reference.lines().filter(|line| line.starts_with("{\"version\""));
    let (requests, answers): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.contains("\"request\""));
    for line in &requests {
        Request::from_line(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    for line in &answers {
        Answer::from_line(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    assert_eq!((requests.len(), answers.len()), (9, 3));
}

#[test]
fn the_schema_lists_what_a_snapshot_has() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/reference/control.schema.json")).unwrap();
    let snapshot = with_traffic(1).snapshot(Time::from_nanos(1_000_050_000));
    let snapshot = serde_json::to_value(&snapshot).unwrap();
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<String>>();
    let required = |names: &[&str]| {
        let listed = names.iter().flat_map(|name| schema.pointer(name).unwrap()["required"].as_array().unwrap());
        let mut listed: Vec<String> = listed.map(|key| key.as_str().unwrap().to_string()).collect();
        listed.sort();
        listed
    };
    let frames = "/$defs/frames";
    assert_eq!(keys(&snapshot), required(&["/$defs/snapshot"]));
    assert_eq!(keys(&snapshot["total"]), required(&[frames]));
    let [class, flow] = ["classes", "flows"].map(|list| format!("/$defs/snapshot/properties/{list}/items"));
    assert_eq!(keys(&snapshot["classes"][0]), required(&[frames, &class]));
    assert_eq!(keys(&snapshot["flows"][0]), required(&[frames, &flow]));
    assert_eq!(keys(&snapshot["late_s"]), required(&["/$defs/snapshot/properties/late_s"]));
    assert_eq!(keys(&snapshot["resources"]["cpu"]), required(&["/$defs/resource"]));
    let snapshot = with_modules().snapshot(Time::from_nanos(1_001_000_000));
    let seen = serde_json::to_value(&snapshot.modules[1]).unwrap();
    let module = "/$defs/snapshot/properties/modules/items";
    assert_eq!(keys(&seen), required(&[module]));
    assert_eq!(keys(&seen["heavy"][0]), required(&[&format!("{module}/properties/heavy/items")]));
}

#[test]
fn a_snapshot_has_what_modules_have_counted() {
    let middlebox = with_modules();
    let now = Time::from_nanos(1_001_000_000);
    let [ids, seen, headers] = <[_; 3]>::try_from(middlebox.snapshot(now).modules).unwrap();
    assert_eq!((ids.module.as_str(), ids.kind.as_str()), ("ids", "match"));
    // Each frame has 758 zeros behind its headers, and some within that of UDP.
    assert_eq!(ids.counters["alerts"], 3);
    assert!(ids.counters["matches"] >= 3 * 758);
    assert_eq!((seen.counters["packets"], seen.counters["bytes"], seen.counters["flows"]), (3, 2400, 1));
    let [flow, prefix] = <[_; 2]>::try_from(seen.heavy).unwrap();
    assert!(flow.name.contains("10.0.1.1") && flow.bytes == 2400, "{flow:?}");
    assert_eq!((prefix.name.as_str(), prefix.bytes), ("10.0.0.0/24", 2400));
    assert!(headers.counters.is_empty());
    // To find the heaviest it takes a look at all: not where nobody asks for flows.
    assert!(middlebox.snapshot_of(now, 0).modules.iter().all(|module| module.heavy.is_empty()));
    assert_eq!(middlebox.snapshot_of(now, 0).modules[1].counters, seen.counters);
}
