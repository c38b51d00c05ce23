//! Fig. 9: mean latency of each flow by its size, CPU-bound traffic, with and without the tradeoff.

use dovetail_sched::Spec;

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::seconds::mean_latency_s;
use super::trace::{Pattern, Traffic};
use dovetail_experiment::recorded::Recorded;
use dovetail_figure::{Scatter, Series, scatter_loglog};

/// Enough synthesised packets for the first 20 seconds at this load.
const PACKETS: u32 = 1_200_000;
const FLOWS: u32 = 3_600;
/// A flow with so many packets in that time is not small.
const SMALL: u64 = 100;
/// A latency that changes by less is not counted as changed.
const CHANGED: f64 = 0.05;

/// The first 20 seconds of the packets to replay.
pub fn traffic(bench: &Bench<'_>) -> Result<Traffic, ReproduceError> {
    Traffic::open(bench, PACKETS, FLOWS, &["until=\"20 s\""])
}

/// An assignment of each pattern at full and at 80 % fairness, the CPU-bound one by sizes.
pub fn compare(bench: &Bench<'_>, traffic: &Traffic) -> Result<Findings, ReproduceError> {
    let drawn = traffic.draw(bench, [1; 3])?;
    let mut findings = Findings::default();
    let levels: Vec<Spec> = ["1", "0.8"].map(level).into();
    for (pattern, found) in Pattern::ALL.into_iter().zip(&drawn.found) {
        let by_size = pattern == Pattern::CpuBound;
        let small = if by_size { "small".into() } else { format!("{}-small", pattern.name()) };
        let runs = match found.first() {
            Some(&draw) => bench.run_with(&traffic.assignment(draw)?, &levels, 0)?,
            None => Vec::new(),
        };
        if let [fair, relaxed] = runs.as_slice() {
            of_small(&mut findings, &small, fair, relaxed);
            if by_size {
                of_large(&mut findings, fair, relaxed);
            }
        } else {
            let none = format!("no assignment of flows to modules makes this traffic {}", pattern.name());
            for key in
                [small.as_str()].into_iter().chain(by_size.then_some(["longer", "shorter"]).into_iter().flatten())
            {
                findings.missing(key, none.clone());
            }
        }
        if by_size {
            findings.picture("tradeoff-fig9.svg", picture(&runs)?);
        }
    }
    Ok(findings)
}

fn level(alpha: &str) -> Spec {
    let published = [("alpha", alpha), ("tolerance", "0")].map(|(name, value)| (name.into(), value.into()));
    Spec { name: "tradeoff".into(), parameters: published.into() }
}

/// The flows that sent something, and are small or not.
fn flows(run: &Recorded, small: bool) -> Vec<usize> {
    let sent = |&f: &usize| run.flows[f].offered > 0 && (run.flows[f].offered < SMALL) == small;
    (0..run.flows.len()).filter(sent).collect()
}

fn of_small(findings: &mut Findings, key: &str, fair: &Recorded, relaxed: &Recorded) {
    let small = flows(fair, true);
    let (before, after) = (mean_latency_s(fair, &small), mean_latency_s(relaxed, &small));
    let note = format!("{} flows; {:.2} ms at alpha = 1, {:.2} ms at 0.8", small.len(), 1e3 * before, 1e3 * after);
    findings.noted(key, after / before, note);
}

fn of_large(findings: &mut Findings, fair: &Recorded, relaxed: &Recorded) {
    let large = flows(fair, false);
    let mean = |run: &Recorded, flow: usize| run.flows[flow].latency.map(|l| l.mean);
    let ratios: Vec<f64> = large.iter().filter_map(|&f| Some(mean(relaxed, f)? / mean(fair, f)?)).collect();
    let part =
        |fits: &dyn Fn(f64) -> bool| 100.0 * ratios.iter().filter(|r| fits(**r)).count() as f64 / ratios.len() as f64;
    let note = format!("of {} flows with {SMALL} packets or more", ratios.len());
    findings.noted("longer", part(&|r| r > 1.0 + CHANGED), note);
    findings.found("shorter", part(&|r| r < 1.0 - CHANGED));
}

fn picture(runs: &[Recorded]) -> Result<String, ReproduceError> {
    let point = |f: &dovetail_experiment::recorded::FlowTotal| Some((f.offered as f64, 1e3 * f.latency?.mean));
    let series = |run: &Recorded| Series {
        name: run.scheduler.to_string(),
        points: run.flows.iter().filter_map(point).collect(),
    };
    Ok(scatter_loglog(&Scatter {
        title: "Fig. 9: latency by flow size, first 20 s, CPU-bound traffic".into(),
        x_label: "Packets of the flow".into(),
        y_label: "Mean latency (ms)".into(),
        series: runs.iter().map(series).collect(),
    })?)
}
