//! Fig. 1: two flows, `<4, 4>` and `<2, 1>` time units on CPU and link, one by one as DRFQ serves them and in larger
//! groups.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::super::wrong::order_of_arrival;
use super::seconds::{CPU, LINK, full, spread, used};
use super::{STRICT, in_loops, name, under};
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::report;
use dovetail_figure::{Schedule, gantt};

const SCENARIO: &str = include_str!("../../../../scenarios/papers/atfq/fig1.toml");

/// Time units of the picture.
const SHOWN: f64 = 60.0;
/// Periods of 18 time units, for longer than the scenario lasts.
const PERIODS: u32 = 110;
/// Time units per second in the scenario.
const UNITS: f64 = 1000.0;

pub fn reproduce(bench: &Bench<'_>) -> Result<Findings, ReproduceError> {
    let scenario = bench.scenario("atfq/fig1.toml", SCENARIO, &[])?;
    let runs = bench.run_with(&scenario, &scenario.schedulers(), usize::MAX)?;
    let mut findings = Findings::default();
    let [cpu, link] = in_order(bench)?;
    findings.found("order-cpu", cpu);
    findings.found("order-link", link);
    let larger = in_loops(&runs, 6).map(steady).unwrap_or_default();
    let note =
        format!("loops of 6 packets, whose order changes from loop to loop: {:.1} and {:.1} %", larger[0], larger[1]);
    for (part, run, note) in [("a", under(&runs, STRICT), ""), ("b", in_loops(&runs, 3), note.as_str())] {
        let Some(run) = run else { continue };
        let used = steady(run);
        findings.noted(format!("{part}-cpu"), used[CPU], note);
        findings.found(format!("{part}-link"), used[LINK]);
    }
    let schedules: Vec<Schedule> = runs.iter().map(beginning).collect();
    findings.picture("atfq-fig1.svg", gantt("Fig. 1: strict and relaxed fairness", "time units", &schedules)?);
    Ok(findings)
}

/// Utilisation of packets in the order of the figure, two of U and four of V again and again, whatever serves them.
fn in_order(bench: &Bench<'_>) -> Result<[f64; 2], ReproduceError> {
    let list = |count: u32, after: u32| {
        let packets = (0..PERIODS).map(|k| format!("{{at='{} us', size='1 B', count={count}}}", 2 * k + after));
        packets.collect::<Vec<_>>().join(", ")
    };
    let overrides = [format!("flows.U.list=[{}]", list(2, 0)), format!("flows.V.list=[{}]", list(4, 1))];
    let runs = bench.run_with(&bench.scenario("atfq/fig1.toml", SCENARIO, &overrides)?, &[order_of_arrival()], 0)?;
    Ok(runs.first().map(steady).unwrap_or_default())
}

/// Utilisation of CPU and link in per cent after the first interval, in which the pipeline fills. An interval is a
/// whole number of periods of both schedules.
fn steady(run: &Recorded) -> [f64; 2] {
    [CPU, LINK].map(|resource| spread(&used(full(run).skip(1), resource)).mean)
}

fn beginning(run: &Recorded) -> Schedule {
    let mut schedule = Schedule { scheduler: name(run), ..report::schedule(run, UNITS) };
    for row in &mut schedule.rows {
        row.services.retain(|service| service.end <= SHOWN);
        for service in &mut row.services {
            // u and v, as in the figure.
            service.label = format!("{}{}", service.flow.to_lowercase(), &service.label[1..]);
        }
    }
    schedule
}
