//! Fig. 9: mean latency of each flow by its size, CPU-bound traffic, with and without the tradeoff.

use dovetail_sched::Spec;

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::seconds::mean_latency_s;
use super::trace::{Pattern, Traffic};
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::statistics::Estimate;
use dovetail_figure::{Scatter, Series, scatter_loglog};

/// Enough synthesised packets for the first 20 seconds at this load.
const PACKETS: u32 = 1_200_000;
const FLOWS: u32 = 3_600;
/// A flow with so many packets in that time is not small.
const SMALL: u64 = 100;
/// A latency that changes by less is not counted as changed.
const CHANGED: f64 = 0.05;
/// Of each pattern.
pub const ASSIGNMENTS: usize = 5;

/// The first 20 seconds of the packets to replay.
pub fn traffic(bench: &Bench<'_>) -> Result<Traffic, ReproduceError> {
    Traffic::open(bench, PACKETS, FLOWS, &["until=\"20 s\""])
}

/// Some assignments of each pattern at full and at 80 % fairness, the CPU-bound ones by sizes.
pub fn compare(bench: &Bench<'_>, traffic: &Traffic, assignments: usize) -> Result<Findings, ReproduceError> {
    let drawn = traffic.draw(bench, [assignments; 3])?;
    let mut findings = Findings::default();
    let levels: Vec<Spec> = ["1", "0.8"].map(level).into();
    for (pattern, found) in Pattern::ALL.into_iter().zip(&drawn.found) {
        let by_size = pattern == Pattern::CpuBound;
        let small = if by_size { "small".into() } else { format!("{}-small", pattern.name()) };
        let keys = [small.as_str()].into_iter().chain(by_size.then_some(["longer", "shorter"]).into_iter().flatten());
        let mut seen = Vec::new();
        for (k, &draw) in found.iter().take(assignments).enumerate() {
            let runs = bench.run_with(&traffic.assignment(draw)?, &levels, 0)?;
            if by_size && k == 0 {
                findings.picture("tradeoff-fig9.svg", picture(&runs)?);
            }
            if let [fair, relaxed] = runs.as_slice() {
                seen.push(Seen::of(fair, relaxed));
            }
        }
        if seen.is_empty() {
            let none = format!("no assignment of flows to modules makes this traffic {}", pattern.name());
            keys.for_each(|key| findings.missing(key, none.clone()));
            if by_size {
                findings.picture("tradeoff-fig9.svg", picture(&[])?);
            }
            continue;
        }
        let over = |value: &dyn Fn(&Seen) -> f64| Estimate::of(&seen.iter().map(value).collect::<Vec<f64>>());
        let (ratio, [before, after]) =
            (over(&|s| s.small_s[1] / s.small_s[0]), [0, 1].map(|k| over(&|s| s.small_s[k])));
        let note = format!(
            "{ratio}; {:.2} ms at alpha = 1, {:.2} ms at 0.8; {} assignments, of the first {} small flows",
            1e3 * before.mean,
            1e3 * after.mean,
            seen.len(),
            seen.first().map_or(0, |s| s.flows)
        );
        findings.noted(small.as_str(), ratio.mean, note);
        if by_size {
            let (longer, shorter) = (over(&|s| s.longer), over(&|s| s.shorter));
            findings.noted("longer", longer.mean, format!("{longer} %, of flows with {SMALL} packets or more"));
            findings.noted("shorter", shorter.mean, format!("{shorter} %"));
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

/// What one assignment shows.
struct Seen {
    /// Mean latency of small flows at full and at 80 % fairness.
    small_s: [f64; 2],
    /// How many they are.
    flows: usize,
    /// Of the other flows, in per cent, those whose mean latency gets longer.
    longer: f64,
    /// And shorter.
    shorter: f64,
}

impl Seen {
    fn of(fair: &Recorded, relaxed: &Recorded) -> Self {
        let (small, large) = (flows(fair, true), flows(fair, false));
        let mean = |run: &Recorded, flow: usize| run.latency(flow).map(|l| l.mean);
        let ratios: Vec<f64> = large.iter().filter_map(|&f| Some(mean(relaxed, f)? / mean(fair, f)?)).collect();
        let part = |fits: &dyn Fn(f64) -> bool| {
            100.0 * ratios.iter().filter(|r| fits(**r)).count() as f64 / ratios.len() as f64
        };
        Self {
            small_s: [fair, relaxed].map(|run| mean_latency_s(run, &small)),
            flows: small.len(),
            longer: part(&|r| r > 1.0 + CHANGED),
            shorter: part(&|r| r < 1.0 - CHANGED),
        }
    }
}

fn picture(runs: &[Recorded]) -> Result<String, ReproduceError> {
    let point = |run: &Recorded, flow: usize| Some((run.flows[flow].offered as f64, 1e3 * run.latency(flow)?.mean));
    let series = |run: &Recorded| Series {
        name: run.scheduler.to_string(),
        points: (0..run.flows.len()).filter_map(|flow| point(run, flow)).collect(),
    };
    Ok(scatter_loglog(&Scatter {
        title: "Fig. 9: latency by flow size, first 20 s, CPU-bound traffic".into(),
        x_label: "Packets of the flow".into(),
        y_label: "Mean latency (ms)".into(),
        series: runs.iter().map(series).collect(),
    })?)
}
