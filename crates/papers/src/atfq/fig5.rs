//! Fig. 5: the data rates of four flows, one of which comes later, and whose packets exchange their times on CPU and
//! link.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::{MEMORYLESS, STRICT, atfq, in_loops, name, under};
use dovetail_experiment::recorded::{Interval, Recorded};
use dovetail_experiment::scenario::Scenario;
use dovetail_figure::{Level, LineChart, LinePanel, Quantity, Series, lines};

const SCENARIO: &str = include_str!("../../../../scenarios/papers/atfq/fig5.toml");

/// The flows of the scenario, in its order.
const FLOWS: [&str; 4] = ["IPSE", "SM", "BF", "RE"];
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

/// What each flow has alone: its dominant service per second before and after the exchange. These are its anticipated
/// rates, in parts of a packet per dominant time.
pub struct Anticipated(Vec<[f64; 2]>);

impl Anticipated {
    /// Run each flow of the scenario by itself, under ATFQ-1.
    pub fn measure(bench: &Bench<'_>, overrides: &[String]) -> Result<Self, ReproduceError> {
        let alone = |flow: usize| {
            // The others come after the end.
            let absent = (0..FLOWS.len())
                .filter(|&other| other != flow)
                .flat_map(|other| [0, 1].map(|packets| format!("flows.{}.list.{packets}.at=\"1000 s\"", FLOWS[other])));
            let scenario = scenario(bench, &[overrides.to_vec(), absent.collect()].concat())?;
            let runs = bench.run_with(&scenario, &[atfq(1)?], 0)?;
            let own: Vec<&Interval> = runs.first().into_iter().flat_map(|run| &run.intervals).collect();
            let rate = |span: std::ops::Range<usize>| {
                let rates = own.get(span).unwrap_or_default().iter().map(|i| {
                    i.shares.iter().filter(|s| s.flow as usize == flow).map(|s| s.service).sum::<f64>() / i.length
                });
                let rates: Vec<f64> = rates.collect();
                rates.iter().sum::<f64>() / rates.len() as f64
            };
            Ok([rate(1..4), rate(20..30)])
        };
        Ok(Self((0..FLOWS.len()).map(alone).collect::<Result<_, ReproduceError>>()?))
    }
}

/// The scenario's runs against the figure.
pub fn compare(runs: &[Recorded], alone: &Anticipated) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    if let (Some(strict), Some(memoryless)) = (under(runs, STRICT), under(runs, MEMORYLESS)) {
        before(&mut findings, "drfq", strict, alone);
        let (_, worst) = furthest(&after(strict, alone), FOUR);
        let note = format!("memoryless DRFQ: {:.2} points", furthest(&after(memoryless, alone), FOUR).1);
        findings.noted("drfq-jitter", worst, note);
        findings.found("drfq-recovers", recovery_s(strict, alone));
    }
    if let Some(strict) = in_loops(runs, 1) {
        before(&mut findings, "atfq", strict, alone);
        findings.found("atfq-after", furthest(&after(strict, alone), FOUR).0);
    }
    findings.picture("atfq-fig5.svg", picture(runs, alone)?);
    Ok(findings)
}

/// The flows' rates with three and with four flows. The exchange comes after a number of packets, so that it may be a
/// little early: the interval before it is left out.
fn before(findings: &mut Findings, key: &str, run: &Recorded, alone: &Anticipated) {
    for (part, span, level) in
        [("three", 0.0..FOURTH, THREE), ("four", FOURTH..EXCHANGE - run.interval.as_secs_f64(), FOUR)]
    {
        let means: Vec<f64> = (0..run.flows.len())
            .map(|flow| {
                let own = rates(run, flow, alone).filter(|(i, _)| span.contains(&i.start));
                let own: Vec<f64> = own.map(|(_, rate)| rate).collect();
                own.iter().sum::<f64>() / own.len() as f64
            })
            .filter(|mean| mean.is_finite())
            .collect();
        let texts: Vec<String> = means.iter().map(|m| format!("{m:.2}")).collect();
        findings.noted(format!("{key}-{part}"), furthest(&means, level).0, format!("{} %", texts.join(", ")));
    }
}

/// A flow's rate in each interval, in per cent of its anticipated rate.
fn rates<'a>(run: &'a Recorded, flow: usize, alone: &Anticipated) -> impl Iterator<Item = (&'a Interval, f64)> {
    let own = move |i: &Interval| i.shares.iter().find(|s| s.flow as usize == flow).map(|s| s.service);
    let [first, then] = alone.0.get(flow).copied().unwrap_or([f64::NAN; 2]);
    let anticipated = move |i: &Interval| if i.start < EXCHANGE { first } else { then };
    run.intervals.iter().filter_map(move |i| Some((i, 100.0 * own(i)? / i.length / anticipated(i))))
}

/// All flows' rates in all intervals after the exchange.
fn after(run: &Recorded, alone: &Anticipated) -> Vec<f64> {
    let all = (0..run.flows.len()).flat_map(|f| rates(run, f, alone));
    all.filter(|(i, _)| i.start >= EXCHANGE).map(|(_, r)| r).collect()
}

/// The value furthest from `level`, and how far it is.
fn furthest(values: &[f64], level: f64) -> (f64, f64) {
    let distance = |v: &f64| (v - level).abs();
    let worst = values.iter().copied().max_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(f64::NAN);
    (worst, distance(&worst))
}

/// When the last flow comes back to its level.
fn recovery_s(run: &Recorded, alone: &Anticipated) -> f64 {
    let late = (0..run.flows.len()).flat_map(|f| rates(run, f, alone));
    let off = late.filter(|(i, rate)| i.start >= EXCHANGE && (rate - FOUR).abs() > BACK);
    off.map(|(i, _)| i.start + i.length).fold(EXCHANGE, f64::max)
}

fn picture(runs: &[Recorded], alone: &Anticipated) -> Result<String, ReproduceError> {
    let line = |run: &Recorded, flow: usize| Series {
        name: run.flows[flow].name.to_string(),
        points: rates(run, flow, alone).map(|(i, rate)| (i.start + i.length / 2.0, rate)).collect(),
    };
    let panel = |run: &Recorded| LinePanel {
        heading: name(run),
        lines: (0..run.flows.len()).map(|flow| line(run, flow)).collect(),
    };
    Ok(lines(&LineChart {
        levels: [THREE, FOUR].map(|at| Level { at, name: format!("the paper: {at} %") }).into(),
        title: "Fig. 5: data rates of four flows".into(),
        x: Quantity { label: "Time (s)".into(), factor: 1.0 },
        y: Quantity { label: "Rate (% of the anticipated rate)".into(), factor: 1.0 },
        panels: runs.iter().map(panel).collect(),
    })?)
}
