//! Fig. 7: the delay between a flow's adjacent packets.

use super::super::ReproduceError;
use super::super::expected::Findings;
use super::seconds::{least, most};
use super::twenty::{LOOP, SHOWN, Twenty, completions};
use super::{STRICT, in_loops, name, under};
use dovetail_experiment::recorded::Recorded;
use dovetail_figure::{Cdf, LineChart, LinePanel, Quantity, Series, lines};

/// Points of a distribution's line.
const POINTS: usize = 400;

pub fn reproduce(Twenty { runs, .. }: &Twenty) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let (Some(strict), Some(efficient)) = (under(runs, STRICT), in_loops(runs, LOOP)) else { return Ok(findings) };
    let means = |run: &Recorded| -> Vec<f64> { (0..run.flows.len()).map(|flow| mean_us(run, flow)).collect() };
    let (before, after) = (means(strict), means(efficient));
    let ratios: Vec<f64> = after.iter().zip(&before).map(|(after, before)| after / before).collect();
    let note = format!("from {:.4} to {:.4} over the 20 flows", least(&ratios), most(&ratios));
    findings.noted("shorter", most(&ratios), note);
    let saved = |flow: &usize| before[*flow] - after[*flow];
    let others: Vec<f64> = SHOWN[1..].iter().map(saved).collect();
    let texts: Vec<String> = SHOWN.iter().map(|f| format!("{:.0}", saved(f))).collect();
    let note = format!("{} us shorter for flows 3, 8, 13, 18", texts.join(", "));
    findings.noted("flow-3", saved(&SHOWN[0]) - most(&others), note);
    findings.picture("atfq-fig7.svg", picture(&[strict, efficient])?);
    Ok(findings)
}

/// Times between the starts of adjacent packets, in seconds.
fn delays_s(run: &Recorded, flow: usize) -> Vec<f64> {
    completions(run, flow).windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect()
}

fn mean_us(run: &Recorded, flow: usize) -> f64 {
    let delays = delays_s(run, flow);
    1e6 * delays.iter().sum::<f64>() / delays.len() as f64
}

fn picture(runs: &[&Recorded]) -> Result<String, ReproduceError> {
    let line = |run: &Recorded, flow: usize| Series {
        name: name(run),
        points: Cdf::from_latencies("", None, &delays_s(run, flow), POINTS).points,
    };
    let panel = |&flow: &usize| LinePanel {
        heading: runs.first().map_or_else(String::new, |run| run.flows[flow].name.to_string()),
        lines: runs.iter().map(|run| line(run, flow)).collect(),
    };
    Ok(lines(&LineChart {
        title: "Fig. 7: delay between adjacent packets of a flow".into(),
        x: Quantity { label: "Delay (ms)".into(), factor: 1e3 },
        y: Quantity { label: "Packets up to this delay (%)".into(), factor: 100.0 },
        panels: SHOWN.iter().map(panel).collect(),
        ..Default::default()
    })?)
}
