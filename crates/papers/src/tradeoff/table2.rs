//! Table 2: makespan of 1.2 million packets at seven fairness levels, packet by packet and in the fluid.

use dovetail_model::fluid::{Input, Policy, run as run_fluid};
use dovetail_model::{Ties, Tradeoff};
use dovetail_sim::{Cost, Generator, Pattern, Size, Source, Workload};
use dovetail_units::Duration;

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::{Findings, papers_values};
use super::{alpha, at, baselines};
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::scenario::Scenario;
use dovetail_figure::{Bar, BarChart, BarSeries, STANDARD_DEVIATION, bars_with_error};

pub(super) const SCENARIO: &str = include_str!("../../../../scenarios/papers/tradeoff/table2.toml");

/// The scenario, changed by these overrides.
pub(super) fn scenario(bench: &Bench<'_>, overrides: &[String]) -> Result<Scenario, ReproduceError> {
    bench.scenario("tradeoff/table2.toml", SCENARIO, overrides)
}

/// The runs of the scenario, its fluid, and the table.
pub fn compare(bench: &Bench<'_>, scenario: &Scenario, runs: &[Recorded]) -> Result<Findings, ReproduceError> {
    let fluid = fluid_input(&scenario.workload())?;
    let mut findings = Findings::default();
    let makespan_at = |level| at(runs, level).and_then(makespan_s).unwrap_or(f64::NAN);
    let levels: Vec<f64> = runs.iter().map(alpha).collect();
    let fluids = bench.parallel(&levels, |&level| fluid_makespan_s(&fluid, level))?;
    for (run, &fluid_makespan) in runs.iter().zip(&fluids) {
        let level = alpha(run);
        let makespan = makespan_s(run).unwrap_or(f64::NAN);
        let packets = run.outcome.tally.delivered;
        findings.noted(format!("makespan-{level:.2}"), makespan, format!("{packets} packets"));
        findings.found(format!("fluid-{level:.2}"), fluid_makespan);
    }
    let gains: Vec<f64> = levels.windows(2).map(|w| per_step(makespan_at(w[0]) - makespan_at(w[1]), w)).collect();
    let growth = gains.windows(2).map(|w| w[1] - w[0]).fold(f64::NAN, f64::max);
    let told: Vec<String> = gains.iter().map(|gain| format!("{gain:.2}")).collect();
    findings.noted("marginal", growth, format!("{} s", told.join(", ")));
    let (fair, relaxed) = (makespan_at(1.0), makespan_at(0.85));
    findings.found("shorter", 100.0 * (1.0 - relaxed / fair));
    findings.found("throughput", 100.0 * (fair / relaxed - 1.0));
    baselines::table2(&mut findings, bench, scenario, at(runs, 1.0))?;
    findings.picture("tradeoff-table2.svg", picture(runs, &fluids)?);
    Ok(findings)
}

/// A gain between two levels, per 0.05.
fn per_step(gain: f64, levels: &[f64]) -> f64 {
    gain * 0.05 / (levels[0] - levels[1])
}

/// From the first arrival to the last departure.
pub(super) fn makespan_s(run: &Recorded) -> Option<f64> {
    run.outcome.makespan().map(Duration::as_secs_f64)
}

/// The makespan of the fluid schedule at this fairness level.
pub(super) fn fluid_makespan_s(input: &Input, alpha: f64) -> Result<f64, ReproduceError> {
    let policy = Policy::Tradeoff(Tradeoff::new(alpha, Ties::Rotate)?);
    Ok(run_fluid(input, &policy)?.makespan_s())
}

/// The same packets for the fluid: flows that send packets of one size at a constant rate.
pub(super) fn fluid_input(workload: &Workload<2>) -> Result<Input, ReproduceError> {
    let mut input = Input::new(2)?;
    for (flow, source) in workload.flows.iter().zip(&workload.sources) {
        let index = input.add_flow(flow.weight.as_f64())?;
        let Source::Generator(Generator {
            pattern: Pattern::Constant(rate), size: Size::Fixed(size), start, stop, ..
        }) = source
        else {
            return Err(ReproduceError::Expected("Table 2: expected constant rates and sizes".into()));
        };
        let times_s = flow.cost.map(|cost| time_s(&cost, *size));
        let duration = stop.map_or(Duration::ZERO, |stop| stop.since(*start));
        for due in (0..).map(|k| rate.due(k)).take_while(|due| *due < duration) {
            input.push(index, (*start + due).as_secs_f64(), &times_s)?;
        }
    }
    Ok(input)
}

fn time_s(cost: &Cost, size: u32) -> f64 {
    match cost {
        Cost::Linear(linear) => linear.time(u64::from(size)).as_secs_f64(),
        Cost::Link(rate) => f64::from(size) * 8.0 / rate.as_bps() as f64,
        Cost::PerPacket => 0.0,
    }
}

fn picture(runs: &[Recorded], fluids: &[f64]) -> Result<String, ReproduceError> {
    let bars = |values: Vec<f64>| values.into_iter().map(|mean| Some(Bar { mean, std: 0.0 })).collect();
    let packets = runs.iter().map(|run| makespan_s(run).unwrap_or(f64::NAN)).collect();
    let keys = |kind: &str| -> Vec<String> { runs.iter().map(|run| format!("{kind}-{:.2}", alpha(run))).collect() };
    let paper = |kind| papers_values("tradeoff-table2", &keys(kind));
    Ok(bars_with_error(&BarChart {
        whiskers: STANDARD_DEVIATION,
        title: "Table 2: makespan".into(),
        x_label: "Fairness level alpha".into(),
        y_label: "Makespan (s)".into(),
        categories: runs.iter().map(|run| format!("{:.2}", alpha(run))).collect(),
        series: vec![
            BarSeries { paper: paper("makespan")?, name: "packets".into(), values: bars(packets) },
            BarSeries { paper: paper("fluid")?, name: "fluid".into(), values: bars(fluids.to_vec()) },
        ],
        log: false,
        ..Default::default()
    })?)
}
