//! Fig. 2 and the text beside it: a flow whose dominant resource shifts, beside one whose resources are used alike.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::{MEMORYLESS, STRICT, in_loops, name, under};
use dovetail_experiment::recorded::Recorded;
use dovetail_figure::{LineChart, LinePanel, Quantity, Series, lines};

const SCENARIO: &str = include_str!("../../../../scenarios/papers/atfq/fig2.toml");
const EXTREME: &str = include_str!("../../../../scenarios/papers/atfq/fig2-extreme.toml");

/// Flow W comes first in the scenarios.
const W: u32 = 0;
/// Packets of flow W before the shift. As many later it is complete: flow W has used both resources alike.
const BEFORE: usize = 100;

pub fn reproduce(bench: &Bench<'_>) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let mut panels = Vec::new();
    for (key, file, text, heading) in [
        ("", "atfq/fig2.toml", SCENARIO, "W takes 2 and 1, then 1 and 2; X takes 2 and 2"),
        ("extreme-", "atfq/fig2-extreme.toml", EXTREME, "W takes 10 and 1, then 1 and 10; X takes 10 and 10"),
    ] {
        let scenario = bench.scenario(file, text, &[])?;
        let runs = bench.run_with(&scenario, &scenario.schedulers(), usize::MAX)?;
        let memoryless = under(&runs, MEMORYLESS).map_or(f64::NAN, |run| per_packet_of_x(run, BEFORE));
        if let Some(strict) = under(&runs, STRICT) {
            let note = format!("memoryless DRFQ: {memoryless:.2}");
            findings.found(format!("{key}drfq-before"), per_packet_of_x(strict, 0));
            findings.noted(format!("{key}drfq-shift"), per_packet_of_x(strict, BEFORE), note);
            findings.found(format!("{key}drfq-after"), per_packet_of_x(strict, 2 * BEFORE));
        }
        if let Some(strict) = in_loops(&runs, 1) {
            findings.found(format!("{key}atfq-shift"), per_packet_of_x(strict, BEFORE));
        }
        panels.push(LinePanel { heading: heading.into(), lines: runs.iter().map(line).collect() });
    }
    findings.picture("atfq-fig2.svg", picture(panels)?);
    Ok(findings)
}

/// When each packet of flow W (or X) started on the CPU, in nanoseconds.
fn starts(run: &Recorded, of_w: bool) -> Vec<u64> {
    let own = (0..run.packets.len()).filter(|&k| (run.packets[k].flow == W) == of_w);
    own.filter_map(|k| Some(run.service(k, 0)?.start.as_nanos())).collect()
}

/// Packets of flow W for each packet of flow X, while flow W starts [`BEFORE`] packets from its `first` on; flow X has
/// packets throughout.
fn per_packet_of_x(run: &Recorded, first: usize) -> f64 {
    let (w, x) = (starts(run, true), starts(run, false));
    let Some(from) = w.get(first) else { return f64::NAN };
    let until = w.get(first + BEFORE).copied().unwrap_or_else(|| w.last().map_or(0, |last| last + 1));
    let count = |all: &[u64]| all.iter().filter(|start| (*from..until).contains(start)).count() as f64;
    count(&w) / count(&x)
}

/// Packets of flow W by packets of flow X.
fn line(run: &Recorded) -> Series {
    let (w, x) = (starts(run, true), starts(run, false));
    let served = |(k, start): (usize, &u64)| (k as f64, w.partition_point(|w| w < start) as f64);
    Series { name: name(run), points: x.iter().enumerate().map(served).collect() }
}

fn picture(panels: Vec<LinePanel>) -> Result<String, ReproduceError> {
    let quantity = |label: &str| Quantity { label: label.into(), factor: 1.0 };
    Ok(lines(&LineChart {
        title: "Fig. 2: the dominant resource of flow W shifts".into(),
        x: quantity("Packets of flow X"),
        y: quantity("Packets of flow W"),
        panels,
        ..Default::default()
    })?)
}
