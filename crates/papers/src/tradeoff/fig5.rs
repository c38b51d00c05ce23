//! Fig. 5: the flows of Table 2 with queues of 200 packets.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::{Findings, papers_values};
use super::baselines::{self, MR3};
use super::seconds::{CPU, LINK, flows_of, full, least, mean_latency_s, spread, used};
use super::{alpha, at, level};
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::report;
use dovetail_experiment::scenario::Scenario;
use dovetail_figure::{Bar, BarChart, BarSeries, Cdf, STANDARD_DEVIATION, SharePanel, bars_with_error, latency_cdf};

const SCENARIO: &str = include_str!("../../../../scenarios/papers/tradeoff/fig5.toml");

/// What `make budget` counts, which runs them under valgrind.
const COUNTED: &str = include_str!("../../../bench/budgets.txt");
/// What `make bench` has clocked, in a table of nanoseconds by backlogged flows.
const CLOCKED: &str = include_str!("../../../../docs/benchmarks.md");
/// The clock of the paper's machine, section 6.1.
const CYCLES_PER_S: f64 = 3e9;

const CPU_BOUND: &[&str] = &["ipsec"];
const LINK_BOUND: &[&str] = &["checking", "monitoring"];

/// The scenario, changed by these overrides.
pub fn scenario(bench: &Bench<'_>, overrides: &[String]) -> Result<Scenario, ReproduceError> {
    bench.scenario("tradeoff/fig5.toml", SCENARIO, overrides)
}

/// The scenario's runs against the figure.
pub fn compare(bench: &Bench<'_>, scenario: &Scenario) -> Result<Findings, ReproduceError> {
    let runs = bench.run(scenario)?;
    let mut findings = Findings::default();
    if let (Some(fair), Some(relaxed)) = (at(&runs, 1.0), at(&runs, 0.85)) {
        for (name, run) in [("1.00", fair), ("0.85", relaxed)] {
            let cpu = spread(&used(full(run), CPU));
            findings.noted(format!("cpu-{name}"), cpu.mean, format!("standard deviation {:.2} points", cpu.std));
            let link = spread(&used(full(run), LINK));
            findings.noted(format!("link-{name}"), link.mean, format!("standard deviation {:.2} points", link.std));
        }
        overhead(&mut findings, fair);
        baselines::fig5(&mut findings, bench, scenario, fair)?;
        shares(&mut findings, fair, relaxed);
        latencies(&mut findings, fair, relaxed);
    }
    if let (Some(relaxed), Some(more)) = (at(&runs, 0.85), at(&runs, 0.5)) {
        let gain = |resource| spread(&used(full(more), resource)).mean - spread(&used(full(relaxed), resource)).mean;
        findings.found("further-cpu", gain(CPU));
    }
    findings.picture("tradeoff-fig5a.svg", utilization_picture(&runs)?);
    let panel = |run: &Recorded| SharePanel { scheduler: level(run), ..report::share_panel(run) };
    let panels: Vec<_> = runs.iter().map(panel).collect();
    findings.picture(
        "tradeoff-fig5b.svg",
        dovetail_figure::dominant_shares("Fig. 5b: dominant share per second", &panels)?,
    );
    let cdf = |run: &Recorded| Cdf { scheduler: level(run), ..report::cdf(run) };
    let cdfs: Vec<_> = runs.iter().map(cdf).collect();
    findings.picture("tradeoff-fig5c.svg", latency_cdf("Fig. 5c: latency", &cdfs)?);
    Ok(findings)
}

/// What was clocked of this scheduler with so many backlogged flows, in nanoseconds.
fn clocked_ns(scheduler: &str, flows: &str) -> Option<f64> {
    let rows =
        CLOCKED.lines().skip_while(|line| !line.starts_with("| backlogged flows |")).take_while(|l| !l.is_empty());
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim);
    let mut rows = rows.map(|line| cells(line).collect::<Vec<_>>());
    let column = rows.next()?.iter().position(|cell| *cell == flows)?;
    let row = rows.find(|row| row.first() == Some(&scheduler))?;
    row.get(column)?.split(' ').next()?.parse().ok()
}

/// What strict fairness needs for a packet beyond MR3, of the CPU time of a packet in the mean over the modules: in
/// instructions, one at a time and with more flows than here, in cycles of the paper's machine; and by the clock, with
/// about as many flows as here and with the most.
fn overhead(findings: &mut Findings, fair: &Recorded) {
    findings.missing("overhead", "by the clock it is less, and by instructions, at a cycle for each, it is more");
    let counted = |name: &str| {
        let mut lines = COUNTED.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        lines.find_map(|line| match line[..] {
            [found, "1", instructions, ..] if found == name => instructions.parse::<f64>().ok(),
            _ => None,
        })
    };
    let (Some(ours), Some(mr3)) = (counted("tradeoff:alpha=1"), counted(MR3)) else {
        for key in ["overhead-counted", "overhead-clocked", "overhead-most-flows"] {
            findings.missing(key, "nothing was counted");
        }
        return;
    };
    let flows = [CPU_BOUND, LINK_BOUND].map(|groups| flows_of(fair, groups)).concat();
    let each = |&flow: &usize| fair.flows[flow].service[CPU] / fair.flows[flow].delivered as f64;
    let packet_s = flows.iter().map(each).sum::<f64>() / flows.len() as f64;
    let note = format!(
        "{ours} and {mr3} instructions per packet (`make budget`, 32,768 flows), beside {:.1} us in the mean over the \
         flows",
        1e6 * packet_s
    );
    findings.noted("overhead-counted", 100.0 * (ours - mr3) / (packet_s * CYCLES_PER_S), note);
    for (key, flows) in [("overhead-clocked", "64"), ("overhead-most-flows", "131,072")] {
        match clocked_ns("tradeoff:alpha=1", flows).zip(clocked_ns(MR3, flows)) {
            Some((ours, mr3)) => {
                let note = format!("{ours} and {mr3} ns per packet with {flows} flows (`make bench`)");
                findings.noted(key, 100.0 * (ours - mr3) / (1e9 * packet_s), note);
            }
            None => findings.missing(key, "nothing was clocked"),
        }
    }
}

fn shares(findings: &mut Findings, fair: &Recorded, relaxed: &Recorded) {
    let mean = |run: &Recorded| {
        let all: Vec<f64> = flows_of(run, CPU_BOUND).into_iter().map(|flow| over_fair(run, flow)).collect();
        spread(&all).mean
    };
    findings.found("cpu-bound-gain", mean(relaxed) / mean(fair));
    let others: Vec<f64> = flows_of(relaxed, LINK_BOUND).into_iter().map(|flow| over_fair(relaxed, flow)).collect();
    findings.found("others-least", least(&others));
}

/// A flow's dominant service in the full seconds, relative to the fair one.
fn over_fair(run: &Recorded, flow: usize) -> f64 {
    let (mut service, mut fair) = (0.0, 0.0);
    for interval in full(run) {
        fair += interval.fair;
        service += interval.shares.iter().filter(|s| s.flow as usize == flow).map(|s| s.service).sum::<f64>();
    }
    service / fair
}

fn latencies(findings: &mut Findings, fair: &Recorded, relaxed: &Recorded) {
    let p99 = |run: &Recorded| {
        let all = run.latencies.of_all();
        if all.is_empty() { f64::NAN } else { all.nth(all.len() * 99 / 100) as f64 / 1e9 }
    };
    let note = format!("{:.0} ms and {:.0} ms", 1e3 * p99(fair), 1e3 * p99(relaxed));
    findings.noted("tail", p99(relaxed) / p99(fair), note);
    for (key, groups) in [("traded-latency", LINK_BOUND), ("favoured-latency", CPU_BOUND)] {
        let mean = |run: &Recorded| mean_latency_s(run, &flows_of(run, groups));
        let note = format!("{:.0} ms and {:.0} ms", 1e3 * mean(fair), 1e3 * mean(relaxed));
        findings.noted(key, mean(relaxed) / mean(fair), note);
    }
}

fn utilization_picture(runs: &[Recorded]) -> Result<String, ReproduceError> {
    let keys: Vec<String> = runs.iter().map(|run| format!("cpu-{:.2}", alpha(run))).collect();
    let paper = papers_values("tradeoff-fig5", &keys)?;
    let series = |(name, resource): (&str, usize)| BarSeries {
        paper: if resource == CPU { paper.clone() } else { Vec::new() },
        name: name.into(),
        values: (runs.iter())
            .map(|run| spread(&used(full(run), resource)))
            .map(|s| Some(Bar { mean: s.mean, std: s.std }))
            .collect(),
    };
    Ok(bars_with_error(&BarChart {
        whiskers: STANDARD_DEVIATION,
        title: "Fig. 5a: utilisation, queues of 200 packets".into(),
        x_label: "Fairness level alpha".into(),
        y_label: "Utilisation per second (%)".into(),
        categories: runs.iter().map(|run| format!("{:.2}", alpha(run))).collect(),
        series: [("CPU", CPU), ("link", LINK)].map(series).into(),
        log: false,
        ..Default::default()
    })?)
}
