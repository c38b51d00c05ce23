//! Reading and running scenarios.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use dovetail_experiment::compare::{Settings, compare};

use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::scenario::Scenario;
use dovetail_experiment::summary::Summary;
use dovetail_sched::Spec;
use dovetail_sim::Workload;
use serde_json::Value;

/// A CPU and a 200 Mbps link, and a class of plain packets: 10 us on the CPU, and on the link what their length takes.
pub const CPU_AND_LINK: &str = r#"
[[resource]]
name = "cpu"

[[resource]]
name = "link"
rate = "200 Mbps"

[[class]]
name = "plain"
cost = { cpu = "10 us" }
"#;

#[track_caller]
pub fn read(text: &str) -> Scenario {
    read_with(text, &[])
}

#[track_caller]
pub fn read_with(text: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    Scenario::parse("s.toml", text, &overrides, PathBuf::new()).unwrap_or_else(|e| panic!("{e}"))
}

/// What is said about a scenario that cannot be used.
#[track_caller]
pub fn refusal(text: &str) -> String {
    Scenario::parse("s.toml", text, &[], PathBuf::new()).map(|_| "it is accepted").unwrap_err().to_string()
}

/// [`CPU_AND_LINK`] with one group of flows.
#[track_caller]
pub fn with_flows(keys: &str) -> Scenario {
    read(&format!("{CPU_AND_LINK}\n[[flows]]\nclass = \"plain\"\n{keys}\n"))
}

/// The workload over two resources.
pub fn workload(scenario: &Scenario) -> Workload<2> {
    scenario.workload::<2>()
}

/// One run, with the ways of its first packets.
#[track_caller]
pub fn run(scenario: &Scenario, scheduler: &str) -> Recorded {
    run_all(scenario, &[scheduler]).remove(0)
}

/// One run under each of these schedulers, as `run`.
#[track_caller]
pub fn run_all(scenario: &Scenario, schedulers: &[&str]) -> Vec<Recorded> {
    let specs: Vec<Spec> = schedulers.iter().map(|spec| spec.parse().unwrap()).collect();
    let (cancel, progress) = (AtomicBool::new(false), |_: u64| {});
    let settings = Settings { threads: 1, cancel: &cancel, progress: &progress, packet_log: 1000 };
    compare(scenario, &specs, &settings).unwrap_or_else(|e| panic!("{e}"))
}

/// Makespan of a run in microseconds.
#[track_caller]
pub fn makespan_us(scenario: &Scenario, scheduler: &str) -> f64 {
    run(scenario, scheduler).outcome.makespan().unwrap().as_nanos() as f64 / 1e3
}

/// The JSON summary of one run.
#[track_caller]
pub fn summary(scenario: &Scenario, scheduler: &str) -> Value {
    serde_json::to_value(Summary::new(scenario, &[run(scenario, scheduler)])).unwrap()
}
