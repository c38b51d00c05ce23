//! Fig. 7: utilisation at five fairness levels for three patterns of traffic.

use super::super::ReproduceError;
use super::super::expected::Findings;
use super::baselines;
use super::seconds::{CPU, LINK, Spread, spread};
use super::trace::{Pattern, PatternRuns, Patterns, Run};
use dovetail_experiment::statistics::Estimate;
use dovetail_figure::{Bar, BarChart, BarSeries, STANDARD_DEVIATION, bars_with_error};

pub fn reproduce(patterns: &Patterns) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    for runs in &patterns.0 {
        gains(&mut findings, runs);
        baselines::trace_driven(&mut findings, runs);
    }
    let gain = |pattern| patterns.0.iter().find(|p| p.pattern == pattern).and_then(|p| total(p, 1.0, 0.8));
    let least_incentive = match (gain(Pattern::Balanced), gain(Pattern::CpuBound), gain(Pattern::LinkBound)) {
        (Some(balanced), Some(cpu), Some(link)) => Ok(balanced - cpu.min(link)),
        _ => Err("not every pattern occurs".to_string()),
    };
    findings.missing("balanced-least", "it hangs on the load, which the paper does not state");
    findings.either("least-at-load", least_incentive);
    findings.picture("tradeoff-fig7.svg", picture(patterns)?);
    Ok(findings)
}

/// What the levels between 1 and 0.8 gain, in points of both resources: of what is to grow the lower end of the 95 %
/// interval over the assignments.
fn gains(findings: &mut Findings, runs: &PatternRuns) {
    let name = runs.pattern.name();
    let (Some(first), Some(second)) = (total(runs, 1.0, 0.9), total(runs, 0.9, 0.8)) else {
        for key in ["cpu", "link", "marginal", "beyond"] {
            let reason = format!("no assignment of flows to modules makes this traffic {name}");
            findings.missing(format!("{name}-{key}"), reason);
        }
        return;
    };
    for (resource, label) in [(CPU, "cpu"), (LINK, "link")] {
        let gain = Estimate::of(&each(runs, 1.0, 0.8, |run| run.utilization[resource]));
        let fair = at(runs, 1.0, resource).map_or(f64::NAN, |fair| fair.mean);
        let note = format!("{gain} points, from {fair:.1} %; {}", runs.note);
        findings.noted(format!("{name}-{label}"), gain.least(), note);
    }
    findings.found(format!("{name}-marginal"), second - first);
    let beyond = Estimate::of(&each(runs, 0.85, 0.8, |run| run.utilization.iter().sum()));
    findings.noted(format!("{name}-beyond"), beyond.least(), format!("{beyond} points"));
}

/// What each assignment gains from one level to another.
fn each(runs: &PatternRuns, from: f64, to: f64, value: impl Fn(&Run) -> f64) -> Vec<f64> {
    let at = |levels: &[Run], level: f64| levels.iter().find(|run| run.alpha == level).map(&value);
    runs.runs.iter().filter_map(|levels| Some(at(levels, to)? - at(levels, from)?)).collect()
}

/// Utilisation at a level over the runs.
fn at(runs: &PatternRuns, level: f64, resource: usize) -> Option<Spread> {
    let at_level = runs.runs.iter().flatten().filter(|run| run.alpha == level);
    let values: Vec<f64> = at_level.map(|run| run.utilization[resource]).collect();
    (!values.is_empty()).then(|| spread(&values))
}

/// Gain of both resources together from one level to another, in points.
fn total(runs: &PatternRuns, from: f64, to: f64) -> Option<f64> {
    let both = |level| Some(at(runs, level, CPU)?.mean + at(runs, level, LINK)?.mean);
    Some(both(to)? - both(from)?)
}

fn picture(patterns: &Patterns) -> Result<String, ReproduceError> {
    let levels: Vec<f64> =
        patterns.0.iter().flat_map(|p| p.runs.first()).next().into_iter().flatten().map(|r| r.alpha).collect();
    let series = patterns.0.iter().flat_map(|p| {
        [("CPU", CPU), ("link", LINK)].map(|(label, resource)| BarSeries {
            name: format!("{}, {label}", p.pattern.name()),
            values: (levels.iter())
                .map(|&level| at(p, level, resource).map(|s| Bar { mean: s.mean, std: s.std }))
                .collect(),
            ..Default::default()
        })
    });
    Ok(bars_with_error(&BarChart {
        whiskers: STANDARD_DEVIATION,
        title: "Fig. 7: utilisation, trace-driven".into(),
        x_label: "Fairness level alpha".into(),
        y_label: "Utilisation (%)".into(),
        categories: levels.iter().map(|level| format!("{level:.2}")).collect(),
        series: series.collect(),
        log: false,
        ..Default::default()
    })?)
}
