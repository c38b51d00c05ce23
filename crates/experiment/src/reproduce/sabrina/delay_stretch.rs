//! The delay guarantees (16) and (17) of the PCFQ paper in a run, with exact and with predicted times: PCFQ, Table 2.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::stretch::{MODELS, SPREADS, known_lengths, specs};
use super::{GROUPS, delays, prediction};
use crate::bounds::delay;
use crate::figure::{Bar, BarChart, BarSeries, STANDARD_DEVIATION, bars_with_error};

/// PCFQ as it pays what was measured, and what was predicted; separate WFQs.
const SCHEDULERS: [&str; 3] = ["pcfq", "pcfq:charge=estimated", "wfq+wfq:buffer=none"];
/// Half of the rates of the delay runs, in random order: what a flow sends takes 97 % of a server that has its shares of CPU and link, one after the
/// other, as the expected arrival counts. At the full rates that falls behind without end, and a packet is never late.
const RATES: [&str; 3] = ["1.13447 pps", "8.0415 pps", "2.027645 pps"];
/// Packets of a run whose ways are kept: all.
const PACKETS: usize = 200_000;

/// What a run with predicted times comes to.
struct Point {
    /// What the picture calls it.
    name: String,
    /// The worst delay over what is allowed for it, by scheduler.
    ratios: Vec<f64>,
}

/// With exact times; then predicted from nothing, and the resize factor as it is learnt; then by a line that starts from the model, around which true
/// times are spread, with known lengths.
pub fn add(findings: &mut Findings, bench: &Bench<'_>) -> Result<(), ReproduceError> {
    let mut points = vec![
        point(bench, "exact", "0 %", |_| "\"oracle\"".into())?,
        point(bench, "cold start", "0 %", |_| "\"fit\"".into())?,
    ];
    for spread in SPREADS {
        points.push(point(bench, "", spread, |class| known_lengths(MODELS[class]))?);
    }
    for (scheduler, [exact_key, predicted_key]) in
        [(0, ["delay17", "delay17-measured"]), (1, ["", "delay17-estimated"]), (2, ["delay16", "delay16-predicted"])]
    {
        let ratio = |p: &Point| p.ratios.get(scheduler).copied().unwrap_or(f64::NAN);
        let told: Vec<String> = points.iter().map(|p| format!("{:.3} ({})", ratio(p), p.name)).collect();
        let told = format!("by prediction error: {}", told.join(", "));
        if !exact_key.is_empty() {
            findings.noted(exact_key, points.first().map_or(f64::NAN, ratio), told.clone());
        }
        findings.noted(predicted_key, points.iter().skip(2).map(ratio).fold(f64::NAN, f64::max), told);
    }
    findings.picture("pcfq-table2-delay.svg", picture(&points)?);
    Ok(())
}

/// Two flows by hand: fifty packets of the first are on the CPU, on the link and in front of it when the second's only one comes.
const OVERLAP: &str = include_str!("../../../../../scenarios/papers/pcfq/overlap.toml");

/// How far (17) is from where packets overlap on CPU and link.
pub fn overlap(findings: &mut Findings, bench: &Bench<'_>) -> Result<(), ReproduceError> {
    let scenario = bench.scenario("pcfq/overlap.toml", OVERLAP, &[])?;
    let runs = bench.run_with(&scenario, &scenario.schedulers(), PACKETS)?;
    let worst = runs.first().and_then(delay);
    let note = worst.map_or(String::new(), |w| format!("{:.0} us, allowed {:.0} us", 1e6 * w.seen_s, 1e6 * w.bound_s));
    findings.noted("delay17-overlap", worst.map_or(f64::NAN, |w| w.seen_s / w.bound_s), note);
    Ok(())
}

fn point(
    bench: &Bench<'_>,
    name: &str,
    spread: &str,
    estimate: impl Fn(usize) -> String,
) -> Result<Point, ReproduceError> {
    let mut overrides = Vec::new();
    for (k, class) in GROUPS.into_iter().enumerate() {
        overrides.push(format!("flows.{class}.rate=\"{}\"", RATES[k]));
        overrides.push(format!("flows.{class}.arrivals=\"poisson\""));
        overrides.push(format!("class.{class}.estimate={}", estimate(k)));
        overrides.push(format!("class.{class}.spread={{ cpu = \"{spread}\" }}"));
    }
    let runs = bench.run_with(&delays::scenario(bench, &overrides)?, &specs(&SCHEDULERS)?, PACKETS)?;
    let error = runs.first().and_then(prediction::error_of_all).unwrap_or(0.0);
    let name = if name.is_empty() { format!("{:.1} %", 100.0 * error) } else { name.to_string() };
    let ratio = |run| delay(run).map_or(f64::NAN, |worst| worst.seen_s / worst.bound_s);
    Ok(Point { name, ratios: runs.iter().map(ratio).collect() })
}

fn picture(points: &[Point]) -> Result<String, ReproduceError> {
    let bars = |s: usize| points.iter().map(|p| Some(Bar { mean: *p.ratios.get(s)?, std: 0.0 })).collect();
    Ok(bars_with_error(&BarChart {
        whiskers: STANDARD_DEVIATION,
        title: "Delay after the expected arrival over its guarantee, (17) and (16)".into(),
        x_label: "Sum of the errors of the predicted CPU times over their sum".into(),
        y_label: "Worst packet / guarantee".into(),
        categories: points.iter().map(|p| p.name.clone()).collect(),
        series: SCHEDULERS
            .iter()
            .enumerate()
            .map(|(s, n)| BarSeries { name: n.to_string(), values: bars(s) })
            .collect(),
        log: false,
    })?)
}
