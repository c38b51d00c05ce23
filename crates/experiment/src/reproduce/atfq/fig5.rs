//! Fig. 5: the data rates of four flows, one of which comes later, and whose packets exchange their times on CPU and
//! link.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::{MEMORYLESS, STRICT, in_loops, name, under};
use crate::compare::{Interval, Recorded};
use crate::figure::{LineChart, LinePanel, Quantity, Series, lines};
use crate::scenario::Scenario;

const SCENARIO: &str = include_str!("../../../../../scenarios/papers/atfq/fig5.toml");

/// When the fourth flow comes, seconds.
const FOURTH: f64 = 2.0;
/// When times are exchanged, seconds.
const EXCHANGE: f64 = 4.0;
/// Per cent of the anticipated rate that the paper has for three and for four flows.
const THREE: f64 = 34.4;
/// For four flows.
const FOUR: f64 = 21.6;
/// A flow is back at its level when it stays as near as this, in points: the tolerance of the level itself.
const BACK: f64 = 0.5;

/// The scenario, changed by these overrides.
pub fn scenario(bench: &Bench<'_>, overrides: &[String]) -> Result<Scenario, ReproduceError> {
    bench.scenario("atfq/fig5.toml", SCENARIO, overrides)
}

/// The scenario's runs against the figure.
pub fn compare(runs: &[Recorded]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    if let (Some(strict), Some(memoryless)) = (under(runs, STRICT), under(runs, MEMORYLESS)) {
        before(&mut findings, "drfq", strict);
        let (_, worst) = furthest(&after(strict), FOUR);
        let note = format!("memoryless DRFQ: {:.2} points", furthest(&after(memoryless), FOUR).1);
        findings.noted("drfq-jitter", worst, note);
        findings.found("drfq-recovers", recovery_s(strict));
    }
    if let Some(strict) = in_loops(runs, 1) {
        before(&mut findings, "atfq", strict);
        findings.found("atfq-after", furthest(&after(strict), FOUR).0);
    }
    findings.picture("atfq-fig5.svg", picture(runs)?);
    Ok(findings)
}

/// The flows' rates with three and with four flows. The exchange comes after a number of packets, so that it may be a
/// little early: the interval before it is left out.
fn before(findings: &mut Findings, key: &str, run: &Recorded) {
    for (part, span, level) in
        [("three", 0.0..FOURTH, THREE), ("four", FOURTH..EXCHANGE - run.interval.as_secs_f64(), FOUR)]
    {
        let means: Vec<f64> = (0..run.flows.len())
            .map(|flow| {
                let own: Vec<f64> = rates(run, flow).filter(|(i, _)| span.contains(&i.start)).map(|(_, r)| r).collect();
                own.iter().sum::<f64>() / own.len() as f64
            })
            .filter(|mean| mean.is_finite())
            .collect();
        let texts: Vec<String> = means.iter().map(|m| format!("{m:.2}")).collect();
        findings.noted(format!("{key}-{part}"), furthest(&means, level).0, format!("{} %", texts.join(", ")));
    }
}

/// A flow's rate in each interval, in per cent of its anticipated rate: alone it would keep its dominant resource busy
/// (its packets are alike, so that in a pipeline without waiting one starts per dominant time).
fn rates(run: &Recorded, flow: usize) -> impl Iterator<Item = (&Interval, f64)> {
    let own = move |i: &Interval| i.shares.iter().find(|s| s.flow as usize == flow).map(|s| s.service);
    run.intervals.iter().filter_map(move |i| Some((i, 100.0 * own(i)? / i.length)))
}

/// All flows' rates in all intervals after the exchange.
fn after(run: &Recorded) -> Vec<f64> {
    (0..run.flows.len()).flat_map(|f| rates(run, f)).filter(|(i, _)| i.start >= EXCHANGE).map(|(_, r)| r).collect()
}

/// The value furthest from `level`, and how far it is.
fn furthest(values: &[f64], level: f64) -> (f64, f64) {
    let distance = |v: &f64| (v - level).abs();
    let worst = values.iter().copied().max_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(f64::NAN);
    (worst, distance(&worst))
}

/// When the last flow comes back to its level.
fn recovery_s(run: &Recorded) -> f64 {
    let late = (0..run.flows.len()).flat_map(|f| rates(run, f));
    let off = late.filter(|(i, rate)| i.start >= EXCHANGE && (rate - FOUR).abs() > BACK);
    off.map(|(i, _)| i.start + i.length).fold(EXCHANGE, f64::max)
}

fn picture(runs: &[Recorded]) -> Result<String, ReproduceError> {
    let line = |run: &Recorded, flow: usize| Series {
        name: run.flows[flow].name.clone(),
        points: rates(run, flow).map(|(i, rate)| (i.start + i.length / 2.0, rate)).collect(),
    };
    let panel = |run: &Recorded| LinePanel {
        heading: name(run),
        lines: (0..run.flows.len()).map(|flow| line(run, flow)).collect(),
    };
    Ok(lines(&LineChart {
        title: "Fig. 5: data rates of four flows".into(),
        x: Quantity { label: "Time (s)".into(), factor: 1.0 },
        y: Quantity { label: "Rate (% of the anticipated rate)".into(), factor: 1.0 },
        panels: runs.iter().map(panel).collect(),
    })?)
}
