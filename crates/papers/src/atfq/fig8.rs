//! Fig. 8: when the packets of flow 1 are complete.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::seconds::{least, most};
use super::twenty::{self, LOOP, ORDERS, Twenty, completions};
use super::{MEMORYLESS, STRICT, atfq, in_loops, name, spec, under};
use dovetail_experiment::recorded::Recorded;
use dovetail_figure::{LineChart, LinePanel, Quantity, Series, lines};

/// The flow of the figure.
const FLOW: usize = 0;
/// So many of its packets are timed.
pub const PACKETS: usize = 10_000;
/// So long its packets are counted, in nanoseconds.
const COUNTED_NS: u64 = 18_000_000_000;

pub fn reproduce(Twenty { runs, .. }: &Twenty) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    if let (Some(strict), Some(efficient)) = (under(runs, STRICT), in_loops(runs, LOOP)) {
        let times = [completion_s(strict, FLOW, PACKETS), completion_s(efficient, FLOW, PACKETS)];
        let or_reason = |time: Option<f64>| time.ok_or_else(|| "the run ends before".to_string());
        let memoryless = under(runs, MEMORYLESS).and_then(|run| completion_s(run, FLOW, PACKETS));
        let note = format!("memoryless DRFQ: {:.2} s", memoryless.unwrap_or(f64::NAN));
        findings.noted("drfq-time", times[0].unwrap_or(f64::NAN), note);
        findings.either("atfq-time", or_reason(times[1]));
        let saving = times[0].zip(times[1]).map(|(before, after)| 100.0 * (1.0 - after / before));
        findings.either("saving", or_reason(saving));
        findings.found("drfq-packets", counted(strict));
        findings.found("atfq-packets", counted(efficient));
        let savings = savings(strict, efficient);
        let note = format!("from {:.2} to {:.2} % earlier", least(&savings), most(&savings));
        findings.noted("alike", most(&savings) - least(&savings), note);
    }
    let shown: Vec<&Recorded> = runs.iter().filter(|run| run.scheduler.to_string() != MEMORYLESS).collect();
    findings.picture("atfq-fig8.svg", picture(&shown)?);
    Ok(findings)
}

/// How far the completion time depends on the order in which the flows stand, which the paper does not give. `packets`
/// are all that are timed.
pub fn by_order(
    findings: &mut Findings,
    bench: &Bench<'_>,
    packets: usize,
    overrides: &[String],
) -> Result<(), ReproduceError> {
    let names = [("strict", spec(STRICT)?), ("memoryless", spec(MEMORYLESS)?), ("atfq-20", atfq(LOOP)?)];
    let schedulers = names.clone().map(|(_, spec)| spec);
    let mut found = vec![Vec::new(); names.len()];
    for order in 0..ORDERS {
        let mut all = twenty::in_order(order);
        all.push("until=\"19 s\"".into());
        let scenario = twenty::scenario(bench, &[&all[..], overrides].concat())?;
        let flow = twenty::place(order, FLOW);
        for (run, found) in bench.run_with(&scenario, &schedulers, 0)?.iter().zip(&mut found) {
            found.push(completion_s(run, flow, packets).unwrap_or(f64::NAN));
        }
    }
    for ((key, _), found) in names.iter().zip(&found) {
        let (first, last) = (least(found), most(found));
        let note = format!("{first:.3} to {last:.3} s over {ORDERS} orders of the flows");
        findings.noted(format!("order-{key}"), last - first, note);
    }
    Ok(())
}

/// When so many packets of the flow are complete.
fn completion_s(run: &Recorded, flow: usize, packets: usize) -> Option<f64> {
    Some(*completions(run, flow).get(packets.checked_sub(1)?)? as f64 / 1e9)
}

fn counted(run: &Recorded) -> f64 {
    completions(run, FLOW).partition_point(|&end| end <= COUNTED_NS) as f64
}

/// By how many per cent earlier each flow has completed as many packets as it has at the end of the run under strict
/// fairness.
fn savings(strict: &Recorded, efficient: &Recorded) -> Vec<f64> {
    let saving = |flow: usize| {
        let packets = completions(strict, flow).len();
        let (before, after) = (completion_s(strict, flow, packets)?, completion_s(efficient, flow, packets)?);
        Some(100.0 * (1.0 - after / before))
    };
    (0..strict.flows.len()).filter_map(saving).collect()
}

fn picture(runs: &[&Recorded]) -> Result<String, ReproduceError> {
    let line = |run: &Recorded| Series {
        name: name(run),
        points: completions(run, FLOW).iter().enumerate().map(|(k, &end)| (k as f64 + 1.0, end as f64 / 1e9)).collect(),
    };
    Ok(lines(&LineChart {
        title: "Fig. 8: completion time of flow 1's packets".into(),
        x: Quantity { label: "Packets of flow 1 (thousands)".into(), factor: 1e-3 },
        y: Quantity { label: "Completion time (s)".into(), factor: 1.0 },
        panels: vec![LinePanel { heading: String::new(), lines: runs.iter().map(|run| line(run)).collect() }],
        ..Default::default()
    })?)
}
