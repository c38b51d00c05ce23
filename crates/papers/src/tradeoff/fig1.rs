//! Fig. 1: two flows, `<2, 3>` and `<9, 1>` time units on CPU and link, under strict fairness and under efficiency
//! alone.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::level;
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::report;
use dovetail_figure::{Schedule, gantt};

const SCENARIO: &str = include_str!("../../../../scenarios/papers/tradeoff/fig1.toml");

/// Time units of the pictures.
const SHOWN: f64 = 75.0;
/// Time units per second in the scenario.
const UNITS: f64 = 1000.0;
/// Dominant times of the two flows' packets, in time units: on the link, on the CPU.
const DOMINANT: [f64; 2] = [3.0, 9.0];

pub fn reproduce(bench: &Bench<'_>) -> Result<Findings, ReproduceError> {
    let scenario = bench.scenario("tradeoff/fig1.toml", SCENARIO, &[])?;
    let runs = bench.run_with(&scenario, &scenario.schedulers(), usize::MAX)?;
    let mut findings = Findings::default();
    for (part, run) in ["a", "b"].iter().zip(&runs) {
        let steady = Steady::of(run);
        findings.found(format!("{part}-packets-ratio"), steady.packets_ratio());
        findings.found(format!("{part}-cpu"), steady.utilization[0]);
        findings.found(format!("{part}-link"), steady.utilization[1]);
        findings.found(format!("{part}-share-1"), steady.shares[0]);
        findings.found(format!("{part}-share-2"), steady.shares[1]);
    }
    let schedules: Vec<Schedule> = runs.iter().map(beginning).collect();
    let title = "Fig. 1: two flows, fair (alpha = 1) and efficient (alpha = 0)";
    findings.picture("tradeoff-fig1.svg", gantt(title, "time units", &schedules)?);
    Ok(findings)
}

/// Means over the intervals after the first, in which the pipeline fills. An interval is a whole number of periods of
/// both schedules.
struct Steady {
    utilization: [f64; 2],
    shares: [f64; 2],
}

impl Steady {
    fn of(run: &Recorded) -> Self {
        let mut steady = Self { utilization: [0.0; 2], shares: [0.0; 2] };
        let intervals = run.intervals.get(1..).unwrap_or_default();
        for interval in intervals {
            let weight = 1.0 / intervals.len() as f64;
            for (sum, used) in steady.utilization.iter_mut().zip(&interval.utilization) {
                *sum += weight * used;
            }
            for share in &interval.shares {
                if let Some(sum) = steady.shares.get_mut(share.flow as usize) {
                    *sum += weight * share.service / interval.length;
                }
            }
        }
        steady
    }

    /// Packets of flow 1 for each packet of flow 2.
    fn packets_ratio(&self) -> f64 {
        (self.shares[0] / DOMINANT[0]) / (self.shares[1] / DOMINANT[1])
    }
}

fn beginning(run: &Recorded) -> Schedule {
    let mut schedule = Schedule { scheduler: level(run), ..report::schedule(run, UNITS) };
    for row in &mut schedule.rows {
        row.services.retain(|service| service.end <= SHOWN);
    }
    schedule
}
