//! CBCS, Table 5 and Figs. 8 and 9: the network processor's sixteen flows.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::delays::panel;
use super::stats::members;
use super::under;
use crate::compare::{LatencySummary, Recorded};
use crate::figure::{UtilizationPanel, over_time};
use crate::scenario::Scenario;

const SCENARIO: &str = include_str!("../../../../../scenarios/papers/cbcs/ixp2400.toml");
/// Packets whose ways are kept.
const PACKETS: usize = 2_000_000;
/// The scenario's groups, as the table has them, and their keys.
const GROUPS: [(&str, &str); 5] = [
    ("high CPU, high bandwidth", "high-high"),
    ("high CPU, low bandwidth", "high-low"),
    ("low CPU, high bandwidth", "low-high"),
    ("low CPU, low bandwidth", "low-low"),
    ("medium CPU, medium bandwidth", "medium"),
];

/// The scenario, changed by these overrides.
pub fn scenario(bench: &Bench<'_>, overrides: &[String]) -> Result<Scenario, ReproduceError> {
    bench.scenario("cbcs/ixp2400.toml", SCENARIO, overrides)
}

/// The runs under both schedulers.
pub struct Ixp(Vec<Recorded>);

impl Ixp {
    /// Run the scenario.
    pub fn run(bench: &Bench<'_>, scenario: &Scenario) -> Result<Self, ReproduceError> {
        Ok(Self(bench.run_with(scenario, &scenario.schedulers(), PACKETS)?))
    }

    fn latency(&self, scheduler: &str, group: &str) -> Result<LatencySummary, ReproduceError> {
        let run = under(&self.0, scheduler)?;
        let of_group = LatencySummary::of_sorted(&run.latencies.of_flows(members(run, group)));
        of_group.ok_or_else(|| ReproduceError::Expected(format!("no packets of {group}")))
    }

    /// Delays of the five groups under CBCS in per cent of those under separate DRR.
    pub fn table(&self) -> Result<Findings, ReproduceError> {
        let mut findings = Findings::default();
        for (group, key) in GROUPS {
            let (cbcs, drr) = (self.latency("cbcs", group)?, self.latency("drr+drr", group)?);
            let ms = |s: f64| 1e3 * s;
            for (name, ours, theirs) in
                [("max", cbcs.max, drr.max), ("mean", cbcs.mean, drr.mean), ("std", cbcs.std, drr.std)]
            {
                let note = format!("{:.2} ms under cbcs, {:.2} ms under drr+drr", ms(ours), ms(theirs));
                findings.noted(format!("{key}-{name}"), 100.0 * ours / theirs, note);
            }
        }
        Ok(findings)
    }

    /// The delays of one flow of the group.
    pub fn figure(&self, id: &str, group: &str) -> Result<Findings, ReproduceError> {
        let mut findings = Findings::default();
        let (cbcs, drr) = (self.latency("cbcs", group)?, self.latency("drr+drr", group)?);
        findings.found("mean", 100.0 * cbcs.mean / drr.mean);
        let panels: Vec<UtilizationPanel> = self.0.iter().map(|run| panel(run, group)).collect();
        let title = format!("Delay of a flow with {group}");
        findings.picture(&format!("{id}.svg"), over_time(&title, "Delay (s)", &panels)?);
        Ok(findings)
    }
}
