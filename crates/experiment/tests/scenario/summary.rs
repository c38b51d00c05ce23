//! The JSON summary: what it holds, and that its numbers add up.

use std::sync::atomic::AtomicBool;

use dovetail_experiment::compare::{Kept, Settings, compare_each};
use dovetail_experiment::summary::{Summary, Told};
use dovetail_sched::Spec;
use serde_json::Value;

use crate::support::{read, summary};

/// Packets of every fate: delivered, refused by packets and by bytes, lost after processing, still there at the end.
const ALL_FATES: &str = r#"
until = "300 ms"
interval = "20 ms"

[[resource]]
name = "cpu"
servers = 2

[[resource]]
name = "link"
rate = "100 Mbps"
buffer = "5 packets"
overflow = "drop"

[[class]]
name = "light"
cost = { cpu = "20 us" }

[[class]]
name = "heavy"
cost = { cpu = "0.015 us/B + 84.5 us" }

[[flows]]
class = "light"
count = 3
size = "200 B to 1400 B"
arrivals = "poisson"
rate = "10 kpps"
queue = "10 packets"

[[flows]]
class = "heavy"
count = 2
weight = 3
size = "200 B to 1400 B"
arrivals = "on-off"
on = "10 ms"
off = "5 ms"
rate = "20 kpps"
queue = "8 kB"

[[flows]]
name = "silent"
class = "light"
size = "100 B"
rate = "1 pps"
start = "1 h"
stop = "2 h"
"#;

const SCHEDULERS: [&str; 4] = ["fifo", "drfq", "drfq:mode=dovetail", "tradeoff:alpha=0.5"];

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no number {key:?} in {value}"))
}

fn lost(packets: &Value) -> u64 {
    packets["dropped"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum()
}

#[track_caller]
fn adds_up(packets: &Value) {
    let count = |key: &str| packets[key].as_u64().unwrap();
    assert_eq!(count("offered"), count("delivered") + lost(packets) + count("unfinished"), "{packets}");
}

#[test]
fn every_packet_is_accounted_for() {
    for scheduler in SCHEDULERS {
        let json = summary(&read(ALL_FATES), scheduler);
        let run = &json["runs"][0];
        let (flows, groups) = (run["flows"].as_array().unwrap(), run["groups"].as_array().unwrap());
        flows.iter().chain(groups).chain([&run["packets"]]).for_each(adds_up);
        for key in ["offered", "delivered", "unfinished"] {
            let sum = |of: &[Value]| of.iter().map(|f| f[key].as_u64().unwrap()).sum::<u64>();
            assert_eq!(sum(flows), sum(groups), "{scheduler}, {key}");
            assert_eq!(sum(flows), run["packets"][key].as_u64().unwrap(), "{scheduler}, {key}");
        }
        let dropped = &run["packets"]["dropped"];
        for reason in ["queue-packets", "queue-bytes", "after-processing"] {
            let sum: u64 = flows.iter().map(|f| f["dropped"][reason].as_u64().unwrap()).sum();
            assert_eq!(dropped[reason], sum, "{scheduler}, {reason}");
            assert!(sum > 0, "{scheduler}: the scenario shows {reason}");
        }
        assert!(run["packets"]["unfinished"].as_u64().unwrap() > 0, "{scheduler}");
        assert_eq!(run["end"], "horizon");
    }
}

#[test]
fn resources_were_busy_for_their_part_of_the_time() {
    for scheduler in SCHEDULERS {
        let json = summary(&read(ALL_FATES), scheduler);
        let run = &json["runs"][0];
        for (name, servers) in [("cpu", 2.0), ("link", 1.0)] {
            let resource = &run["resources"][name];
            assert_eq!(number(resource, "servers"), servers);
            let part = number(resource, "busy_s") / (servers * number(run, "nonempty_s"));
            assert!((number(resource, "utilization") - part).abs() < 1e-12, "{scheduler}: {resource}");
            assert!((0.0..=1.0 + 1e-12).contains(&part), "{scheduler}: {resource}");
        }
    }
}

/// Packets of 187.5 ms on the link come ten a second, and two flows share it.
const CUT_OFF: &str = r#"
until = "300 ms"

[[resource]]
name = "cpu"

[[resource]]
name = "link"
rate = "64 kbps"

[[class]]
name = "a"
cost = { cpu = "10 us" }

[[flows]]
class = "a"
count = 2
size = "1500 B"
rate = "10 pps"
"#;

#[test]
fn a_run_that_is_cut_off_lasts_to_the_cut() {
    // The link is busy from 10 us on; the last departure is at 187.51 ms, or never.
    for until_ms in [100.0, 300.0] {
        let scenario = read(&CUT_OFF.replace("300 ms", &format!("{until_ms} ms")));
        let json = summary(&scenario, "fifo");
        let run = &json["runs"][0];
        assert_eq!(run["makespan_s"].is_null(), until_ms < 187.0, "{run}");
        let sum = |of: &Value| of.as_array().unwrap().iter().map(|f| number(f, "dominant_share")).sum::<f64>();
        let expected = 1.0 - 0.01 / until_ms;
        assert!((sum(&run["flows"]) - expected).abs() < 1e-9, "{run}");
        assert!((2.0 * sum(&run["groups"]) - expected).abs() < 1e-9, "{run}");
    }
}

#[test]
fn latencies_and_fairness_are_in_order() {
    for scheduler in SCHEDULERS {
        let json = summary(&read(ALL_FATES), scheduler);
        let run = &json["runs"][0];
        let latencies = run["flows"].as_array().unwrap().iter().chain([run]).map(|f| &f["latency_s"]);
        for latency in latencies.filter(|l| !l.is_null()) {
            let row = ["p50", "p90", "p99", "max"].map(|key| number(latency, key));
            assert!(row.is_sorted(), "{scheduler}: {latency}");
            assert!(number(latency, "mean") <= row[3] && number(latency, "std") >= 0.0, "{scheduler}: {latency}");
        }
        let fairness = &run["fairness"];
        assert!((0.2..=1.0).contains(&number(fairness, "jain")), "five flows: at least 1/5; {fairness}");
        assert!((0.0..1.0).contains(&number(fairness, "gini")), "{fairness}");
        assert!(number(fairness, "relative_fairness_bound") >= 0.0, "{fairness}");
    }
}

#[test]
fn throughput_is_delivered_bits_over_the_makespan() {
    let list = "list = [{ at = \"0 s\", size = \"500 B\", count = 10 }]";
    let flows =
        format!("[[flows]]\nclass = \"plain\"\n{list}\n[[flows]]\nname = \"other\"\nclass = \"plain\"\n{list}\n");
    let json = summary(&read(&[crate::support::CPU_AND_LINK, &flows].concat()), "fifo");
    let run = &json["runs"][0];
    for flow in run["flows"].as_array().unwrap() {
        let bits = 10.0 * 500.0 * 8.0;
        assert!((number(flow, "throughput_bps") - bits / number(run, "makespan_s")).abs() < 1e-3, "{flow}");
    }
}

#[test]
fn a_flow_that_never_sent_has_no_latency() {
    let json = summary(&read(ALL_FATES), "drfq");
    let silent = json["runs"][0]["flows"].as_array().unwrap().iter().find(|f| f["flow"] == "silent").unwrap();
    assert_eq!((&silent["offered"], &silent["latency_s"]), (&Value::from(0), &Value::Null));
    assert_eq!(number(silent, "dominant_share"), 0.0);
}

#[test]
fn a_run_without_packets_has_neither_makespan_nor_fairness() {
    let flows = "[[flows]]\nclass = \"plain\"\nsize = \"1 B\"\nrate = \"1 pps\"\nstart = \"2 s\"\n";
    let json = summary(&read(&["until = \"1 s\"\n", crate::support::CPU_AND_LINK, flows].concat()), "fifo");
    let run = &json["runs"][0];
    for key in ["makespan_s", "latency_s", "fairness"] {
        assert!(run[key].is_null(), "{key}: {}", run[key]);
    }
}

#[test]
fn the_documents_head_says_what_came_in() {
    let json = summary(&read(&format!("title = \"All fates\"\nseed = 5\n{ALL_FATES}")), "fifo");
    assert_eq!(json["schema"], 2);
    let scenario = &json["scenario"];
    assert_eq!((&scenario["title"], &scenario["seed"]), (&Value::from("All fates"), &Value::from(5)));
    assert_eq!(scenario["resources"], serde_json::json!(["cpu", "link"]));
    assert_eq!((number(scenario, "interval_s"), &scenario["capture"]), (0.02, &Value::Null));
    let weights: Vec<f64> = json["runs"][0]["flows"].as_array().unwrap().iter().map(|f| number(f, "weight")).collect();
    assert_eq!(weights, [1.0, 1.0, 1.0, 3.0, 3.0, 1.0]);
}

/// What is said of runs under these schedulers of which this is kept.
fn told(schedulers: &[&str], kept: Kept, threads: usize) -> Value {
    let scenario = read(ALL_FATES);
    let specs: Vec<Spec> = schedulers.iter().map(|spec| spec.parse().unwrap()).collect();
    let settings = Settings { threads, cancel: &AtomicBool::new(false), progress: &|_| {}, packet_log: 0 };
    let tell = |run| Told::new(&run, kept != Kept::Little);
    let runs = compare_each(&scenario, &specs, &settings, kept, tell).unwrap_or_else(|e| panic!("{e}"));
    serde_json::to_value(Summary::of(&scenario, runs)).unwrap()
}

#[test]
fn threads_change_nothing_be_there_one_for_each_run_or_more_or_fewer() {
    for schedulers in [&SCHEDULERS[..1], &SCHEDULERS[3..], &SCHEDULERS] {
        let one = told(schedulers, Kept::All, 1);
        for threads in [2, 3, 9] {
            assert!(told(schedulers, Kept::All, threads) == one, "{schedulers:?} on {threads} threads");
        }
    }
}

#[test]
fn whoever_keeps_little_does_without_flows_and_the_gini_index_only() {
    let all = told(&SCHEDULERS, Kept::All, 2);
    assert!(told(&SCHEDULERS, Kept::Flows, 2) == all);
    let mut without = all;
    for run in without["runs"].as_array_mut().unwrap() {
        run["flows"] = Value::Array(Vec::new());
        for name in ["cpu", "link"] {
            let gini = run["resources"][name]["gini_s"].take();
            assert!(number(&gini, "max") > 0.0, "{gini}");
        }
    }
    assert_eq!(told(&SCHEDULERS, Kept::Little, 2), without);
}
