//! Fig. 10: the part of the time for which each flow occupies CPU and link.

use super::super::ReproduceError;
use super::super::expected::Findings;
use super::seconds::{CPU, LINK, least};
use super::twenty::{LOOP, Twenty, completions};
use super::{STRICT, in_loops, name, under};
use dovetail_experiment::recorded::Recorded;
use dovetail_figure::{Bar, BarChart, BarSeries, STANDARD_DEVIATION, bars_with_error};

pub fn reproduce(Twenty { runs, times }: &Twenty) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let (Some(strict), Some(efficient)) = (under(runs, STRICT), in_loops(runs, LOOP)) else { return Ok(findings) };
    let (before, after) = (occupancies(strict, times), occupancies(efficient, times));
    let pairs = || before.iter().zip(&after);
    let ratios: Vec<f64> = pairs().flat_map(|(b, a)| [a[CPU] / b[CPU], a[LINK] / b[LINK]]).collect();
    findings.found("higher", least(&ratios));
    let mut most_needed = Vec::new();
    for ((before, after), time) in pairs().zip(times) {
        let gain = [CPU, LINK].map(|r| after[r] - before[r]);
        let (own, other) = if time[CPU] >= time[LINK] { (CPU, LINK) } else { (LINK, CPU) };
        most_needed.push(gain[own] - gain[other]);
    }
    findings.found("bottleneck", least(&most_needed));
    for (part, label, resource) in [("a", "CPU", CPU), ("b", "link", LINK)] {
        let series = [(strict, &before), (efficient, &after)].map(|(run, all)| BarSeries {
            name: name(run),
            values: all.iter().map(|o| Some(Bar { mean: o[resource], std: 0.0 })).collect(),
            ..Default::default()
        });
        findings.picture(&format!("atfq-fig10{part}.svg"), picture(strict, label, series.into())?);
    }
    Ok(findings)
}

/// Per flow, its processing time on CPU and link in per cent of the time until the last of all packets is complete.
fn occupancies(run: &Recorded, times: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let end_s = run.outcome.last_departure.map_or(f64::NAN, |end| end.as_secs_f64());
    let of_flow = |(flow, time): (usize, &[f64; 2])| {
        time.map(|seconds| 100.0 * seconds * completions(run, flow).len() as f64 / end_s)
    };
    times.iter().enumerate().map(of_flow).collect()
}

fn picture(run: &Recorded, label: &str, series: Vec<BarSeries>) -> Result<String, ReproduceError> {
    Ok(bars_with_error(&BarChart {
        whiskers: STANDARD_DEVIATION,
        title: format!("Fig. 10: occupancy of the {label}"),
        x_label: "Flow".into(),
        y_label: format!("Occupancy of the {label} (%)"),
        categories: run.flows.iter().map(|f| f.name.text().trim_start_matches("flow ").to_string()).collect(),
        series,
        log: false,
        ..Default::default()
    })?)
}
