//! Fig. 6: the largest difference of the active times that flows have received.

use super::super::ReproduceError;
use super::super::expected::Findings;
use super::twenty::{Twenty, active_s, completions};
use super::{MEMORYLESS, STRICT, in_loops, name, under};
use crate::compare::Recorded;
use crate::figure::{LineChart, LinePanel, Quantity, Series, lines};

/// Length of the spans of time of which the picture shows the largest difference, in nanoseconds.
const SPAN_NS: u64 = 200_000_000;

pub fn reproduce(Twenty { runs, times }: &Twenty) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let worst_us = |run: &Recorded| 1e6 * differences(run, times).iter().map(|p| p.1).fold(0.0, f64::max);
    if let (Some(strict), Some(memoryless)) = (under(runs, STRICT), under(runs, MEMORYLESS)) {
        findings.noted("drfq", worst_us(strict), format!("memoryless DRFQ: {:.1} us", worst_us(memoryless)));
    }
    for packets in [1, 10, 20] {
        if let Some(run) = in_loops(runs, packets) {
            findings.found(format!("atfq-{packets}"), worst_us(run));
        }
    }
    let larger: Vec<f64> = [20, 50, 100].iter().filter_map(|&packets| in_loops(runs, packets)).map(worst_us).collect();
    let steps = larger.windows(2).map(|w| w[1] - w[0]).fold(f64::INFINITY, f64::min);
    let texts: Vec<String> = larger.iter().map(|w| format!("{w:.0}")).collect();
    findings.noted("grows", steps, format!("{} us with 20, 50, 100 packets", texts.join(", ")));
    let line = |run: &Recorded| Series { name: name(run), points: differences(run, times) };
    findings.picture(
        "atfq-fig6.svg",
        lines(&LineChart {
            title: "Fig. 6: largest difference of the flows' active times".into(),
            x: Quantity { label: "Time (s)".into(), factor: 1.0 },
            y: Quantity { label: "Largest difference in 0.2 s (us)".into(), factor: 1e6 },
            panels: vec![LinePanel { heading: String::new(), lines: runs.iter().map(line).collect() }],
        })?,
    );
    Ok(findings)
}

/// The largest difference in each span of time: its middle and the difference, both in seconds. A packet counts when it is complete.
fn differences(run: &Recorded, times: &[[f64; 2]]) -> Vec<(f64, f64)> {
    let flows = 0..times.len();
    let mut events: Vec<(u64, usize)> =
        flows.clone().flat_map(|flow| completions(run, flow).iter().map(move |&end| (end, flow))).collect();
    events.sort_unstable();
    let active: Vec<f64> = times.iter().map(active_s).collect();
    let mut received = vec![0.0; flows.len()];
    let mut largest: Vec<f64> = Vec::new();
    for (end, flow) in events {
        received[flow] += active[flow];
        let (least, most) =
            received.iter().fold((f64::INFINITY, 0.0), |(lo, hi): (f64, f64), &r| (lo.min(r), hi.max(r)));
        let span = (end / SPAN_NS) as usize;
        largest.resize(largest.len().max(span + 1), 0.0);
        largest[span] = largest[span].max(most - least);
    }
    let middle = |span: usize| (span as f64 + 0.5) * SPAN_NS as f64 / 1e9;
    largest.into_iter().enumerate().map(|(span, most)| (middle(span), most)).collect()
}
