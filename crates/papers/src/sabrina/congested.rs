//! CBCS, Table 3 and Figs. 2 and 3: thirty flows, all backlogged for 300 s.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::stats::{extent, mean, of_group};
use super::{CPU, GROUPS, LINK, stretch, under};
use dovetail_experiment::recorded::{FlowTotal, Recorded};
use dovetail_experiment::scenario::Scenario;
use dovetail_figure::{Bar, BarChart, BarSeries, STANDARD_DEVIATION, bars_with_error};

const SCENARIO: &str = include_str!("../../../../scenarios/papers/cbcs/congested.toml");

/// The scenario, changed by these overrides.
pub fn scenario(bench: &Bench<'_>, overrides: &[String]) -> Result<Scenario, ReproduceError> {
    bench.scenario("cbcs/congested.toml", SCENARIO, overrides)
}

/// Packets of a flow that left the CPU: delivered, or lost in front of the link.
fn processed(flow: &FlowTotal) -> f64 {
    (flow.delivered + flow.losses().dropped) as f64
}

/// Link time of what the CPU handed over: what was sent, and what was lost in front of the link.
fn demanded_s(flow: &FlowTotal) -> f64 {
    flow.service[LINK] + flow.losses().service[LINK]
}

/// A resource's time used by all flows together, in per cent of the run.
fn percent(run: &Recorded, time_s: impl Fn(&FlowTotal) -> f64) -> f64 {
    100.0 * run.flows.iter().map(time_s).sum::<f64>() / run.nonempty.as_secs_f64()
}

/// Packets of the encryption flows, and the load.
pub fn table3(runs: &[Recorded]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    for (run, key) in [(under(runs, "cbcs")?, "cbcs"), (under(runs, "drr+drr")?, "drr")] {
        let done = of_group(run, GROUPS[2], processed);
        let received = of_group(run, GROUPS[2], |f| f.delivered as f64);
        let (least, most) = extent(&done);
        findings.noted(format!("{key}-processed"), mean(&done), format!("{least} to {most} over the ten flows"));
        findings.found(format!("{key}-received"), mean(&received));
        findings.found(format!("{key}-cpu"), 100.0 * run.resources[CPU].utilization);
        findings.found(format!("{key}-link"), 100.0 * run.resources[LINK].utilization);
    }
    let drr = under(runs, "drr+drr")?;
    let lost =
        1.0 - mean(&of_group(drr, GROUPS[2], |f| f.delivered as f64)) / mean(&of_group(drr, GROUPS[2], processed));
    findings.found("drr-lost", 100.0 * lost);
    findings.found("drr-demand", percent(drr, demanded_s));
    Ok(findings)
}

/// Within Table 1's ranges: a KB of 1024 bytes, and decryption that takes from 1 to 2.7 ms.
const VARIED: [(&str, &str, &str, &str); 3] = [
    ("mpeg2", "1.30208333 us/B + 8 ms", "1536 B to 24576 B", "cpu"),
    ("decryption", "0.13834635 us/B + 0.43333333 ms", "4096 B to 16384 B", "cpu"),
    ("encryption", "0.27901786 us/B + 0.71428571 ms", "1024 B to 8192 B", "cpu"),
];

/// CBCS charged as measured, and by a reading of Table 1 that was varied until both numbers came out: packets of the
/// encryption flows, CPU and link used, and how far total times are apart.
pub fn other_readings(findings: &mut Findings, bench: &Bench<'_>, overrides: &[String]) -> Result<(), ReproduceError> {
    let mut varied = Vec::new();
    for (name, cost, size, resource) in VARIED {
        varied.push(format!("class.{name}.cost.{resource}='{cost}'"));
        varied.push(format!("flows.{name}.size='{size}'"));
    }
    let printed = "cbcs:charge=estimated,newcomers=free";
    for (key, scheduler, changes) in [
        ("measured", "cbcs:newcomers=free", &[][..]),
        ("varied", "cbcs:newcomers=free", &varied),
        ("varied-printed", printed, &varied),
    ] {
        let specs = stretch::specs(&[scheduler])?;
        let runs = bench.run_with(&scenario(bench, &[changes, overrides].concat())?, &specs, 0)?;
        let run = under(&runs, "cbcs")?;
        let [cpu, link] = [CPU, LINK].map(|r| 100.0 * run.resources[r].utilization);
        let note = format!("CPU {cpu:.1} %, link {link:.1} %, total times {:.1} % apart", spread_percent(&totals(run)));
        findings.noted(format!("{key}-processed"), mean(&of_group(run, GROUPS[2], processed)), note);
        findings.found(format!("{key}-link"), link);
        findings.found(format!("{key}-total-spread"), spread_percent(&totals(run)));
    }
    Ok(())
}

/// Of every flow, the times on CPU and link together.
fn totals(run: &Recorded) -> Vec<f64> {
    run.flows.iter().map(|f| f.service[CPU] + f.service[LINK]).collect()
}

/// How far the values are apart, in per cent of their mean.
fn spread_percent(values: &[f64]) -> f64 {
    let (least, most) = extent(values);
    100.0 * (most - least) / mean(values)
}

/// CPU allocated and link time then demanded, per flow.
pub fn fig2(runs: &[Recorded]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let (cbcs, drr) = (under(runs, "cbcs")?, under(runs, "drr+drr")?);
    findings.found("cbcs-demand", percent(cbcs, demanded_s));
    let backlogged = [GROUPS[0], GROUPS[1]].map(|group| of_group(drr, group, |f| f.service[CPU])).concat();
    let fewest = mean(&of_group(drr, GROUPS[2], |f| f.service[CPU])) / mean(&backlogged);
    let note = format!("flows 1 to 20; flows 21 to 30 ask for {:.0} % of that", 100.0 * fewest);
    findings.noted("drr-cpu-spread", spread_percent(&backlogged), note);
    let packets = |group| mean(&of_group(drr, group, processed));
    findings.found("drr-fewer", packets(GROUPS[0]) / f64::min(packets(GROUPS[1]), packets(GROUPS[2])));
    let demand = |group| mean(&of_group(drr, group, demanded_s));
    findings.found("drr-demand-ratio", f64::min(demand(GROUPS[1]), demand(GROUPS[2])) / demand(GROUPS[0]));
    for (run, part) in [(cbcs, "a"), (drr, "b")] {
        let title = format!("Fig. 2{part}: CPU allocated and link time demanded, {}", super::name(run));
        findings.picture(&format!("cbcs-fig2{part}.svg"), picture(run, title, "link, demanded", demanded_s)?);
    }
    Ok(findings)
}

/// CPU and link received per flow.
pub fn fig3(bench: &Bench<'_>, runs: &[Recorded]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let (cbcs, drr) = (under(runs, "cbcs")?, under(runs, "drr+drr")?);
    findings.found("cbcs-total-spread", spread_percent(&totals(cbcs)));
    let unmet = |flow: &FlowTotal| 100.0 * (1.0 - flow.service[LINK] / demanded_s(flow));
    findings.found("cbcs-unmet", cbcs.flows.iter().map(unmet).fold(0.0, f64::max));
    let of = |run, group, resource: usize| mean(&of_group(run, group, |f| f.service[resource]));
    findings.found("cbcs-cpu-ratio", of(cbcs, GROUPS[0], CPU) / of(cbcs, GROUPS[1], CPU).max(of(cbcs, GROUPS[2], CPU)));
    let link = |group| of(cbcs, group, LINK);
    findings.found("cbcs-link-ratio", f64::min(link(GROUPS[1]), link(GROUPS[2])) / link(GROUPS[0]));
    findings.found("drr-link-ratio", of(drr, GROUPS[2], LINK) / of(drr, GROUPS[1], LINK));
    let asked: Vec<f64> = of_group(drr, GROUPS[0], demanded_s);
    findings.found("drr-below-share", extent(&asked).1 * drr.flows.len() as f64 / drr.nonempty.as_secs_f64());
    stretch::cbcs(&mut findings, bench)?;
    for (run, part) in [(cbcs, "a"), (drr, "b")] {
        let title = format!("Fig. 3{part}: CPU and link received, {}", super::name(run));
        findings.picture(&format!("cbcs-fig3{part}.svg"), picture(run, title, "link", |f| f.service[LINK])?);
    }
    Ok(findings)
}

fn picture(
    run: &Recorded,
    title: String,
    link: &str,
    link_s: impl Fn(&FlowTotal) -> f64,
) -> Result<String, ReproduceError> {
    let bars = |time_s: &dyn Fn(&FlowTotal) -> f64| {
        let bar = |flow| Some(Bar { mean: 100.0 * time_s(flow) / run.nonempty.as_secs_f64(), std: 0.0 });
        run.flows.iter().map(bar).collect()
    };
    Ok(bars_with_error(&BarChart {
        whiskers: STANDARD_DEVIATION,
        title,
        x_label: "Flow".into(),
        y_label: "Part of the resource's time (%)".into(),
        categories: (1..=run.flows.len()).map(|flow| flow.to_string()).collect(),
        series: vec![
            BarSeries { name: "CPU".into(), values: bars(&|f| f.service[CPU]), ..Default::default() },
            BarSeries { name: link.into(), values: bars(&link_s), ..Default::default() },
        ],
        log: false,
        ..Default::default()
    })?)
}
