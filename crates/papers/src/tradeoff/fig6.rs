//! Fig. 6: three elephant flows and three mice.

use std::borrow::Cow;

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::seconds::{least, most};
use super::{at, level};
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::scenario::Scenario;
use dovetail_figure::{Bar, BarChart, BarSeries, STANDARD_DEVIATION, bars_with_error};

const SCENARIO: &str = include_str!("../../../../scenarios/papers/tradeoff/fig6.toml");

/// The scenario's groups begin with one of these.
const KINDS: [&str; 2] = ["elephant", "mouse"];

/// The scenario, changed by these overrides.
pub fn scenario(bench: &Bench<'_>, overrides: &[String]) -> Result<Scenario, ReproduceError> {
    bench.scenario("tradeoff/fig6.toml", SCENARIO, overrides)
}

/// The scenario's runs against the figure.
pub fn compare(bench: &Bench<'_>, scenario: &Scenario) -> Result<Findings, ReproduceError> {
    let runs = bench.run(scenario)?;
    let mut findings = Findings::default();
    let ratios: Vec<f64> = runs.iter().map(|run| kind_mean_s(run, KINDS[0]) / kind_mean_s(run, KINDS[1])).collect();
    findings.noted("ratio", least(&ratios), format!("from {:.0} to {:.0}", least(&ratios), most(&ratios)));
    if let Some(fair) = at(&runs, 1.0) {
        let before = kind_mean_s(fair, KINDS[1]);
        let change: Vec<f64> = runs.iter().map(|run| 1e6 * (kind_mean_s(run, KINDS[1]) - before)).collect();
        findings.noted("mice-change", most(&change), format!("{:.0} us at alpha = 1", 1e6 * before));
        let elephants: Vec<f64> = runs.iter().flat_map(|run| changes(fair, run)).collect();
        findings.found("elephants-change", most(&elephants));
    }
    let mice: Vec<f64> = runs.iter().flat_map(|run| means_s(run, KINDS[1])).map(|(_, mean, _)| 1e3 * mean).collect();
    findings.found("mice-worst", most(&mice));
    for (kind, name, part) in [(KINDS[0], "Elephant flows", "a"), (KINDS[1], "Mice flows", "b")] {
        findings.picture(&format!("tradeoff-fig6{part}.svg"), picture(&runs, kind, &format!("Fig. 6{part}: {name}"))?);
    }
    Ok(findings)
}

/// Name, mean and standard deviation of the latency in seconds of each flow of a kind.
fn means_s<'a>(run: &'a Recorded, kind: &'a str) -> impl Iterator<Item = (Cow<'a, str>, f64, f64)> {
    let flows = run.flows.iter().enumerate().filter(move |(_, flow)| flow.name.text().starts_with(kind));
    flows.map(|(index, flow)| {
        let (mean, std) = run.latency(index).map_or((f64::NAN, f64::NAN), |l| (l.mean, l.std));
        (flow.name.text(), mean, std)
    })
}

/// Mean over the flows of a kind.
fn kind_mean_s(run: &Recorded, kind: &str) -> f64 {
    let means: Vec<f64> = means_s(run, kind).map(|(_, mean, _)| mean).collect();
    means.iter().sum::<f64>() / means.len() as f64
}

/// By how many per cent each elephant's mean latency changes.
fn changes(fair: &Recorded, run: &Recorded) -> Vec<f64> {
    let pairs = means_s(fair, KINDS[0]).zip(means_s(run, KINDS[0]));
    pairs.map(|((_, before, _), (_, after, _))| 100.0 * (after / before - 1.0).abs()).collect()
}

fn picture(runs: &[Recorded], kind: &str, title: &str) -> Result<String, ReproduceError> {
    let series = runs.iter().map(|run| BarSeries {
        name: level(run),
        values: means_s(run, kind).map(|(_, mean, std)| Some(Bar { mean: 1e3 * mean, std: 1e3 * std })).collect(),
        ..Default::default()
    });
    Ok(bars_with_error(&BarChart {
        whiskers: STANDARD_DEVIATION,
        title: title.into(),
        x_label: "Flow".into(),
        y_label: "Latency per packet (ms)".into(),
        categories: runs
            .first()
            .map(|run| means_s(run, kind).map(|(name, ..)| name.to_string()).collect())
            .unwrap_or_default(),
        series: series.collect(),
        log: false,
        ..Default::default()
    })?)
}
