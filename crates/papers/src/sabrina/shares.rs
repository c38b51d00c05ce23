//! PCFQ, Table 5: what flows that are always backlogged receive of each resource, against what they have reserved.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::delays::{self, Delays};
use super::{CPU, GROUPS, LINK};
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::statistics::Estimate;

/// More than three halves of what the flows have reserved, and by group not in proportion to it: a scheduler that
/// serves in order of arrival gives them these parts.
const RATES: [&str; 3] = ["6.8 pps", "24 pps", "8.1 pps"];

/// PCFQ and separate WFQ as printed, and charged as measured.
pub const PRINTED: &str = "schedulers=['pcfq:clock=paper,charge=estimated', 'wfq+wfq:charge=estimated']";
/// See [`PRINTED`].
const MEASURED: &str = "schedulers=['pcfq:clock=tags', 'wfq+wfq']";

/// The flows of the delay runs, all backlogged, under these schedulers.
pub fn run(
    bench: &Bench<'_>,
    schedulers: &str,
    overrides: &[String],
    seeds: std::ops::RangeInclusive<u64>,
) -> Result<Delays, ReproduceError> {
    let mut all = vec![schedulers.to_string()];
    for (group, rate) in GROUPS.into_iter().zip(RATES) {
        all.push(format!("flows.{group}.rate=\"{rate}\""));
        all.push(format!("flows.{group}.queue=\"1 s to 2 s of cpu\""));
    }
    Delays::run(bench, &delays::scenario(bench, &[&all[..], overrides].concat())?, seeds)
}

/// How far flows are from their reservations under PCFQ, and how much further than under separate WFQ.
pub fn table(
    bench: &Bench<'_>,
    overrides: &[String],
    seeds: std::ops::RangeInclusive<u64>,
) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    for (prefix, schedulers) in [("", PRINTED), ("measured-", MEASURED)] {
        let backlogged = run(bench, schedulers, overrides, seeds.clone())?;
        for (resource, key) in [(CPU, "cpu"), (LINK, "link")] {
            let furthest = |scheduler| backlogged.each(scheduler, |run| furthest_percent(run, resource));
            let (pcfq, wfq) = (furthest("pcfq")?, furthest("wfq+wfq")?);
            let more: Vec<f64> = pcfq.iter().zip(&wfq).map(|(pcfq, wfq)| pcfq - wfq).collect();
            let (pcfq, wfq, more) = (Estimate::of(&pcfq), Estimate::of(&wfq), Estimate::of(&more));
            findings.noted(format!("{prefix}{key}"), pcfq.mean, format!("{pcfq} %; {wfq} % under wfq+wfq"));
            findings.noted(format!("{prefix}{key}-more"), more.mean, format!("{more} points"));
        }
    }
    Ok(findings)
}

/// By how much the flow that is furthest from its part by weight is above or below it, in per cent of it.
pub(super) fn furthest_percent(run: &Recorded, resource: usize) -> f64 {
    let received: f64 = run.flows.iter().map(|f| f.service[resource]).sum();
    let reserved: f64 = run.flows.iter().map(|f| f.weight_on(resource)).sum();
    let off = |flow: &dovetail_experiment::recorded::FlowTotal| {
        100.0 * (flow.service[resource] / received / (flow.weight_on(resource) / reserved) - 1.0).abs()
    };
    run.flows.iter().map(off).fold(0.0, f64::max)
}
