//! The examples of A. Ghodsi, V. Sekar, M. Zaharia, I. Stoica, "Multi-Resource Fair Queueing for Packet Processing"
//! (SIGCOMM 2012): how single-resource, per-resource and bottleneck fairness fail, and what DRFQ gives instead.

use super::ReproduceError;
use super::bench::Bench;
use super::expected::Findings;
use super::seconds::{full, least, most};
use dovetail_experiment::recorded::{Interval, Recorded};
use dovetail_experiment::report;
use dovetail_figure::{SharePanel, dominant_shares};

const BOTTLENECK: [&str; 2] = [
    include_str!("../../../scenarios/strawmen/bottleneck.toml"),
    include_str!("../../../scenarios/strawmen/bottleneck-lie.toml"),
];
const OSCILLATION: &str = include_str!("../../../scenarios/strawmen/oscillation.toml");
const ONE_RESOURCE: &str = include_str!("../../../scenarios/strawmen/one-resource.toml");
const PER_RESOURCE: [&str; 2] = [
    include_str!("../../../scenarios/strawmen/per-resource.toml"),
    include_str!("../../../scenarios/strawmen/per-resource-lie.toml"),
];
const FIG4: &str = include_str!("../../../scenarios/papers/drfq/fig4.toml");
const FIG9: &str = include_str!("../../../scenarios/papers/drfq/fig9.toml");
const FIG12: &str = include_str!("../../../scenarios/papers/drfq/fig12.toml");

/// The flow that switches in Fig. 12 asks for more.
const SWITCHED: &str = "class.switching.cost.r2=\"110 us\"";

/// Compute the figure of this id, one of those that are done.
pub fn reproduce(id: &str, bench: &Bench<'_>) -> Result<Findings, ReproduceError> {
    match id {
        "drfq-fig3" => fig3(bench),
        "drfq-fig4" => fig4(bench),
        "drfq-fig5" => fig5(bench),
        "drfq-fig9" => fig9(bench),
        "drfq-fig11" => fig11(bench),
        "drfq-fig12" => fig12(bench),
        "drfq-lie" => lie(bench),
        other => Err(ReproduceError::Id(format!("{other} is not reproduced yet"))),
    }
}

fn fig3(bench: &Bench<'_>) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let [truth, lie] = BOTTLENECK.map(|text| run(bench, text, &[], &["bf", "drfq"]));
    let (truth, lie) = (truth?, lie?);
    findings.found("true", share(&truth[0], 0));
    findings.found("lie", share(&lie[0], 0));
    findings.found("drfq-gain", share(&lie[1], 0) - share(&truth[1], 0));
    Ok(findings)
}

fn fig4(bench: &Bench<'_>) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let runs = run(bench, FIG4, &[], &["drfq"])?;
    findings.found("share", furthest([share(&runs[0], 0), share(&runs[0], 1)], 75.0));
    Ok(findings)
}

fn fig5(bench: &Bench<'_>) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let runs = run(bench, OSCILLATION, &[], &["bf:interval=1 s", "drfq"])?;
    // In the first second the pipeline is empty at the beginning.
    let first: Vec<f64> = full(&runs[0]).skip(1).map(|i| of_interval(i, 0)).collect();
    findings.found("low", least(&first));
    findings.found("high", most(&first));
    let all: Vec<bool> = full(&runs[0]).map(|i| of_interval(i, 0) > 50.0).collect();
    findings.found("flips", all.windows(2).filter(|w| w[0] != w[1]).count() as f64);
    let fair = full(&runs[1]).skip(1).flat_map(|i| (0..3).map(|flow| of_interval(i, flow)));
    findings.found("drfq", furthest(fair, 46.15));
    findings.picture("drfq-fig5.svg", picture("Fig. 5: dominant shares, bottleneck fairness and DRFQ", &runs)?);
    Ok(findings)
}

fn fig9(bench: &Bench<'_>) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let runs = run(bench, FIG9, &[], &["drfq"])?;
    // Whole seconds in which these flows send, but for the first after a change: until then the queue of a flow that
    // has stopped runs empty.
    let during = |spans: &[(f64, f64)], flows: u32| -> Vec<f64> {
        let within = |i: &&Interval| spans.iter().any(|&(from, until)| (from + 1.0..until).contains(&i.start));
        full(&runs[0]).filter(within).flat_map(|i| (0..flows).map(|flow| of_interval(i, flow))).collect()
    };
    findings.found("alone", least(&during(&[(0.0, 5.0), (30.0, 34.0)], 1)));
    findings.found("two", furthest(during(&[(5.0, 10.0), (15.0, 30.0)], 2), 71.4));
    findings.found("three", furthest(during(&[(10.0, 15.0)], 3), 41.7));
    findings.picture("drfq-fig9.svg", picture("Fig. 9: dominant shares while flows come and go", &runs)?);
    Ok(findings)
}

fn fig11(bench: &Bench<'_>) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let runs = run(bench, ONE_RESOURCE, &[], &["sfq:resource=0", "drfq"])?;
    findings.found("light", share(&runs[0], 0));
    findings.found("drfq", furthest([share(&runs[1], 0), share(&runs[1], 1)], 50.0));
    Ok(findings)
}

fn fig12(bench: &Bench<'_>) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let schedulers = ["sfq+sfq:full=hold,buffer=4", "drfq"];
    let before = run(bench, FIG12, &[], &schedulers)?;
    let after = run(bench, FIG12, &[SWITCHED.to_string()], &schedulers)?;
    let gain = |k: usize| share(&after[k], 0) - share(&before[k], 0);
    findings.found("per-resource", share(&after[0], 0));
    findings.found("per-resource-gain", gain(0));
    findings.found("drfq-gain", gain(1));
    Ok(findings)
}

fn lie(bench: &Bench<'_>) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let [truth, lie] = PER_RESOURCE.map(|text| run(bench, text, &[], &["sfq+sfq:full=hold,buffer=4", "drfq"]));
    let (truth, lie) = (truth?, lie?);
    let both = |run: &Recorded| [share(run, 0), share(run, 1)];
    findings.found("true-client", share(&truth[0], 0));
    findings.found("true-other", share(&truth[0], 1));
    findings.found("lie-client", furthest(both(&lie[0]), 66.7));
    findings.found("drfq", furthest(both(&truth[1]), 66.7));
    Ok(findings)
}

/// The scenario under these schedulers, in their order.
fn run(
    bench: &Bench<'_>,
    text: &str,
    overrides: &[String],
    schedulers: &[&str],
) -> Result<Vec<Recorded>, ReproduceError> {
    let spec = |text: &&str| text.parse().map_err(|e| ReproduceError::Expected(format!("{text}: {e}")));
    let specs = schedulers.iter().map(spec).collect::<Result<Vec<_>, _>>()?;
    bench.run_with(&bench.scenario("drfq", text, overrides)?, &specs, 0)
}

/// A flow's dominant share of all time, in per cent.
fn share(run: &Recorded, flow: u32) -> f64 {
    let (mut service, mut time) = (0.0, 0.0);
    for interval in &run.intervals {
        service += interval.shares.iter().filter(|s| s.flow == flow).map(|s| s.service).sum::<f64>();
        time += interval.length;
    }
    100.0 * service / time
}

/// The same in an interval.
fn of_interval(interval: &Interval, flow: u32) -> f64 {
    100.0 * interval.shares.iter().filter(|s| s.flow == flow).map(|s| s.service).sum::<f64>() / interval.length
}

fn furthest(values: impl IntoIterator<Item = f64>, from: f64) -> f64 {
    let distance = |value: &f64| (value - from).abs();
    values.into_iter().max_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(f64::NAN)
}

fn picture(title: &str, runs: &[Recorded]) -> Result<String, ReproduceError> {
    let panels: Vec<SharePanel> = runs.iter().map(report::share_panel).collect();
    Ok(dominant_shares(title, &panels)?)
}
