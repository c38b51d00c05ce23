//! CBCS, Table 5 and Figs. 8 and 9: the network processor's sixteen flows.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::delays::{STATISTICS, panel};
use super::stats::{Estimated, estimated, members};
use super::under;
use crate::compare::{LatencySummary, Recorded};
use crate::figure::{UtilizationPanel, over_time};
use crate::scenario::Scenario;

const SCENARIO: &str = include_str!("../../../../../scenarios/papers/cbcs/ixp2400.toml");
/// Independent runs.
pub const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;
/// Packets whose ways are kept of the first seed.
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

/// The runs under both schedulers, seed by seed.
pub struct Ixp(Vec<Vec<Recorded>>);

impl Ixp {
    /// Run the scenario under these seeds.
    pub fn run(
        bench: &Bench<'_>,
        scenario: &Scenario,
        seeds: std::ops::RangeInclusive<u64>,
    ) -> Result<Self, ReproduceError> {
        let mut runs = Vec::new();
        for seed in seeds {
            let scenario = scenario.clone().with_seed(seed)?;
            let log = if runs.is_empty() { PACKETS } else { 0 };
            runs.push(bench.run_with(&scenario, &scenario.schedulers(), log)?);
        }
        Ok(Self(runs))
    }

    /// A statistic of the group's delays in every run, in seconds.
    fn delays_s(
        &self,
        scheduler: &str,
        group: &str,
        value: fn(&LatencySummary) -> f64,
    ) -> Result<Vec<f64>, ReproduceError> {
        let delay = |runs: &Vec<Recorded>| {
            let run = under(runs, scheduler)?;
            let of_group = LatencySummary::of_sorted(&run.latencies.of_flows(members(run, group)));
            of_group.as_ref().map(value).ok_or_else(|| ReproduceError::Expected(format!("no packets of {group}")))
        };
        self.0.iter().map(delay).collect()
    }

    /// The statistic under CBCS in per cent of that under separate DRR, and both in words.
    fn ratio(&self, group: &str, value: fn(&LatencySummary) -> f64) -> Result<(Estimated, String), ReproduceError> {
        let (cbcs, drr) = (self.delays_s("cbcs", group, value)?, self.delays_s("drr+drr", group, value)?);
        let ratios: Vec<f64> = cbcs.iter().zip(&drr).map(|(ours, theirs)| 100.0 * ours / theirs).collect();
        let ms = |delays: &[f64]| estimated(&delays.iter().map(|s| 1e3 * s).collect::<Vec<f64>>());
        let ratio = estimated(&ratios);
        let (half, seeds) = (ratio.half, ratios.len());
        let note = format!("+- {half:.1}; {} ms under cbcs, {} ms under drr+drr; {seeds} seeds", ms(&cbcs), ms(&drr));
        Ok((ratio, note))
    }

    /// Delays of the five groups under CBCS in per cent of those under separate DRR, and how many groups' are surely shorter.
    pub fn table(&self) -> Result<Findings, ReproduceError> {
        let mut findings = Findings::default();
        let mut shorter = [0.0; STATISTICS.len()];
        for (group, key) in GROUPS {
            for ((name, value), shorter) in STATISTICS.into_iter().zip(&mut shorter) {
                let (ratio, note) = self.ratio(group, value)?;
                findings.noted(format!("{key}-{name}"), ratio.mean, note);
                *shorter += if ratio.most() < 100.0 { 1.0 } else { 0.0 };
            }
        }
        for ((name, _), shorter) in STATISTICS.into_iter().zip(shorter) {
            findings.found(format!("shorter-{name}"), shorter);
        }
        Ok(findings)
    }

    /// The delays of one flow of the group.
    pub fn figure(&self, id: &str, group: &str) -> Result<Findings, ReproduceError> {
        let mut findings = Findings::default();
        let (ratio, note) = self.ratio(group, |l| l.mean)?;
        findings.noted("mean", ratio.mean, note);
        let panels: Vec<UtilizationPanel> = self.0.first().into_iter().flatten().map(|run| panel(run, group)).collect();
        let number = id.rsplit("fig").next().unwrap_or_default();
        let title = format!("Fig. {number}: delay of a flow with {group}");
        findings.picture(&format!("{id}.svg"), over_time(&title, "Delay (s)", &panels)?);
        Ok(findings)
    }
}
