//! CBCS, Table 5 and Figs. 8 and 9: the network processor's sixteen flows.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::{Findings, papers_values};
use super::delays::{STATISTICS, apart, deviation, panel};
use super::prediction::{self, Kind};
use super::stats::{mean, members};
use super::under;
use dovetail_experiment::recorded::{LatencySummary, Recorded};
use dovetail_experiment::scenario::Scenario;
use dovetail_experiment::statistics::Estimate;
use dovetail_figure::{UtilizationPanel, over_time};

const SCENARIO: &str = include_str!("../../../../scenarios/papers/cbcs/ixp2400.toml");
/// Independent runs.
pub const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;
/// What every packet takes on a scheduler's own engine: from nothing to a ninth more than the mean packet takes on the
/// link, 13.5 us, so that the last is the bottleneck under any seed.
const STAGES_US: [f64; 6] = [0.0, 5.0, 10.0, 12.0, 13.6, 15.0];
/// The same for every scheduler: a little less, and a little more, than the mean packet takes on the link.
const EVERY_US: [f64; 2] = [12.0, 15.0];
/// By class of the scenario: the mean time on an engine.
const ENGINE_US: [f64; 5] = [5.0, 0.176667, 2.5, 0.176667, 5.0];
/// The kinds of header traffic, by CPU, each with its classes.
const KINDS: [(&str, &[&str]); 3] = [
    ("high-cpu", &["high CPU, low bandwidth", "high CPU, high bandwidth"]),
    ("medium-cpu", &["medium CPU, medium bandwidth"]),
    ("low-cpu", &["low CPU, low bandwidth", "low CPU, high bandwidth"]),
];
/// Packets whose ways are kept of the first seed.
const PACKETS: usize = 2_000_000;
/// Single runs whose ratios differ by more points than that decide nothing between the paper's ratio and ours; in Table
/// 2 no tolerance is wider.
const UNDECIDED: f64 = 15.0;
/// Names and keys of the schedulers.
const SCHEMES: [(&str, &str); 2] = [("cbcs", "cbcs"), ("drr+drr", "drr")];
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
            let of_group = run.latencies.of_flows(members(run, group)).summary();
            of_group.as_ref().map(value).ok_or_else(|| ReproduceError::Expected(format!("no packets of {group}")))
        };
        self.0.iter().map(delay).collect()
    }

    /// The statistic under CBCS in per cent of that under separate DRR, how far 95 % of single runs are from it at
    /// most, and all in words.
    fn ratio(&self, group: &str, value: fn(&LatencySummary) -> f64) -> Result<(Estimate, f64, String), ReproduceError> {
        let (cbcs, drr) = (self.delays_s("cbcs", group, value)?, self.delays_s("drr+drr", group, value)?);
        let ratios = percent(&cbcs, &drr);
        let ms = |delays: &[f64]| Estimate::of(&delays.iter().map(|s| 1e3 * s).collect::<Vec<f64>>());
        let ratio = Estimate::of(&ratios);
        let (half, seeds) = (ratio.half(), ratios.len());
        let single = 1.96 * deviation(&ratios);
        let note = format!(
            "+- {half:.1}; {} ms under cbcs, {} ms under drr+drr; {seeds} seeds, single runs +- {single:.0}",
            ms(&cbcs),
            ms(&drr)
        );
        Ok((ratio, single, note))
    }

    /// Delays of the five groups under CBCS in per cent of those under separate DRR, and how many groups' are surely
    /// shorter.
    pub fn table(&self) -> Result<Findings, ReproduceError> {
        let mut findings = Findings::default();
        let mut shorter = [0.0; STATISTICS.len()];
        for (group, key) in GROUPS {
            for ((name, value), shorter) in STATISTICS.into_iter().zip(&mut shorter) {
                let key = format!("{key}-{name}");
                let (ratio, single, note) = self.ratio(group, value)?;
                let printed = papers_values("cbcs-table5", std::slice::from_ref(&key))?;
                match printed.first().copied().flatten() {
                    Some(paper) if single > UNDECIDED && (ratio.mean - paper).abs() <= single => {
                        findings.missing(key, format!("{:.0} {note}, among which is the paper's", ratio.mean));
                    }
                    _ => findings.noted(key, ratio.mean, note),
                }
                *shorter += if ratio.most() < 100.0 { 1.0 } else { 0.0 };
            }
        }
        for ((name, _), shorter) in STATISTICS.into_iter().zip(shorter) {
            findings.found(format!("shorter-{name}"), shorter);
        }
        Ok(findings)
    }

    /// How many seeds were run.
    pub fn seeds(&self) -> usize {
        self.0.len()
    }

    /// In how many groups the mean delay under CBCS is surely shorter than in `separate`, runs of the same packets
    /// under this other scheduler.
    fn groups_shorter(&self, separate: &Self, scheduler: &str) -> Result<f64, ReproduceError> {
        let shorter = |(group, _): (&str, &str)| {
            let (cbcs, theirs) =
                (self.delays_s("cbcs", group, |l| l.mean)?, separate.delays_s(scheduler, group, |l| l.mean)?);
            Ok(if Estimate::of(&percent(&cbcs, &theirs)).most() < 100.0 { 1.0 } else { 0.0 })
        };
        GROUPS.into_iter().map(shorter).sum()
    }

    /// The mean delay of the group's flow that is furthest from the mean of them, relative to it.
    fn apart(&self, scheduler: &str, group: &str) -> Result<f64, ReproduceError> {
        let each: Result<Vec<f64>, ReproduceError> =
            self.0.iter().map(|runs| Ok(apart(under(runs, scheduler)?, group))).collect();
        Ok(mean(&each?))
    }

    /// The delays of one flow of the group.
    pub fn figure(&self, id: &str, group: &str) -> Result<Findings, ReproduceError> {
        let mut findings = Findings::default();
        for (name, key) in SCHEMES {
            findings.found(format!("alike-{key}"), self.apart(name, group)?);
            if id == "cbcs-fig8" {
                // One sentence, about the groups of both figures and all others.
                for (group, of) in GROUPS {
                    findings.found(format!("{of}-alike-{key}"), self.apart(name, group)?);
                }
            }
        }
        let panels: Vec<UtilizationPanel> = self.0.first().into_iter().flatten().map(|run| panel(run, group)).collect();
        let number = id.rsplit("fig").next().unwrap_or_default();
        let title = format!("Fig. {number}: delay of a flow with {group}");
        findings.picture(&format!("{id}.svg"), over_time(&title, "Delay (s)", &panels)?);
        Ok(findings)
    }
}

/// Value by value.
fn percent(of: &[f64], by: &[f64]) -> Vec<f64> {
    of.iter().zip(by).map(|(of, by)| 100.0 * of / by).collect()
}

/// The scenario with the engines of schedulers in the pipeline, each a stage that takes every packet this long.
struct Stages {
    scheduler: &'static str,
    /// In front of the link, in the order of the pipeline.
    resources: &'static [&'static str],
    /// What the first scheduler is told that a packet takes on its own engine: as much as on `engines`, since this is
    /// all that it shares by; or next to nothing, since it counts `engines` besides.
    told_engines: bool,
}

/// Separate schedulers of which the second one's engine counts, between engines and link.
const FURTHER: Stages = Stages {
    scheduler: "drr+fifo+drr:full=hold,buffer=8,charge=estimated",
    resources: &["engines", "second"],
    told_engines: false,
};
/// CBCS behind its engine.
const ONE: Stages =
    Stages { scheduler: "cbcs:charge=estimated,newcomers=free", resources: &["first", "engines"], told_engines: false };
/// Separate schedulers, each behind its own.
const TWO: Stages = Stages {
    scheduler: "drr+fifo+fifo+drr:full=hold,buffer=8,charge=estimated",
    resources: &["first", "engines", "second"],
    told_engines: true,
};

impl Stages {
    /// Run with stages of so many microseconds.
    fn run(&self, bench: &Bench<'_>, us: f64, runs: usize, overrides: &[String]) -> Result<Ixp, ReproduceError> {
        let resource = |name: &&str| match *name {
            "engines" => "{name='engines', servers=4}, ".to_string(),
            stage => format!("{{name='{stage}'}}, "),
        };
        let before: String = self.resources.iter().map(resource).collect();
        let mut all = vec![
            format!("resource=[{before}{{name='link', rate='50 Mbps', buffer='128 packets'}}]"),
            format!("schedulers=['{}']", self.scheduler),
        ];
        for (class, engine) in ENGINE_US.into_iter().enumerate() {
            for stage in self.resources.iter().filter(|&&name| name != "engines") {
                all.push(format!("class.{class}.cost.{stage}='{us} us'"));
            }
            if self.resources.contains(&"first") {
                let told_us = if self.told_engines { engine } else { 0.001 };
                all.push(format!("class.{class}.estimate.first='{told_us} us'"));
            }
        }
        let scenario = scenario(bench, &[&all[..], overrides].concat())?;
        Ixp::run(bench, &scenario, 1..=runs as u64)
    }
}

/// In how many groups CBCS has the shorter mean delay, by the time that every packet takes on the engine of a
/// scheduler: of the second one under separate schedulers only, and of every scheduler.
pub fn further_stage(
    findings: &mut Findings,
    bench: &Bench<'_>,
    composite: &Ixp,
    overrides: &[String],
) -> Result<(), ReproduceError> {
    let runs = composite.seeds();
    let (mut further, mut every) = (Vec::new(), Vec::new());
    for us in STAGES_US {
        let separate = FURTHER.run(bench, us, runs, overrides)?;
        further.push(composite.groups_shorter(&separate, "drr+fifo+drr")?);
    }
    for us in EVERY_US {
        let (one, two) = (ONE.run(bench, us, runs, overrides)?, TWO.run(bench, us, runs, overrides)?);
        every.push(one.groups_shorter(&two, "drr+fifo+fifo+drr")?);
    }
    let told = |stages: &[f64], counts: &[f64]| {
        let each: Vec<String> = stages.iter().zip(counts).map(|(us, n)| format!("{n} at {us} us")).collect();
        each.join(", ")
    };
    let of_further = told(&STAGES_US, &further);
    findings.noted("no-stage", further.first().copied().unwrap_or(f64::NAN), of_further.clone());
    findings.noted("further-stage", further.last().copied().unwrap_or(f64::NAN), of_further.clone());
    let least = STAGES_US.iter().zip(&further).find(|(_, n)| **n >= GROUPS.len() as f64);
    findings.noted("least-stage", least.map_or(f64::NAN, |(us, _)| *us), of_further);
    findings.noted("every-stage", every.iter().copied().fold(f64::NAN, f64::max), told(&EVERY_US, &every));
    Ok(())
}

/// Of every flow as many bytes, together twice what the link passes: packets per second by class of the scenario.
const CONGESTED_PPS: [f64; 5] = [17361.1, 6325.91, 9300.6, 17361.1, 6325.91];
/// Queues in front of the link are as long as those in front of the engines, and processing waits while a flow's is
/// full.
const SECOND_QUEUES: &str = "drr+drr:full=hold,buffer=200,charge=estimated";

/// In how many groups CBCS has the shorter mean delay if every flow always waits, and separate schedulers have queues
/// of their own in front of the link.
pub fn congested(
    findings: &mut Findings,
    bench: &Bench<'_>,
    seeds: usize,
    overrides: &[String],
) -> Result<(), ReproduceError> {
    let run = |scheduler: &str, buffer: &str| {
        let mut all = vec!["until='500 ms'".into(), "interval='50 ms'".into(), format!("schedulers=['{scheduler}']")];
        all.push(format!("resource.link.buffer='{buffer}'"));
        all.extend(CONGESTED_PPS.iter().enumerate().map(|(k, pps)| format!("flows.{k}.rate='{pps} pps'")));
        Ixp::run(bench, &scenario(bench, &[&all[..], overrides].concat())?, 1..=seeds as u64)
    };
    let (composite, separate) =
        (run("cbcs:charge=estimated,newcomers=free", "128 packets")?, run(SECOND_QUEUES, "unlimited")?);
    let shorter = composite.groups_shorter(&separate, "drr+drr")?;
    let of_group = |(group, _): (&str, &str)| {
        let (ours, theirs) =
            (composite.delays_s("cbcs", group, |l| l.mean)?, separate.delays_s("drr+drr", group, |l| l.mean)?);
        Ok(format!("{group} {:.0} %", Estimate::of(&percent(&ours, &theirs)).mean))
    };
    let told: Vec<String> = GROUPS.into_iter().map(of_group).collect::<Result<_, ReproduceError>>()?;
    findings.noted("congested", shorter, told.join(", "));
    Ok(())
}

/// The prediction error of header traffic by alpha.
pub fn smoothing(findings: &mut Findings, bench: &Bench<'_>, overrides: &[String]) -> Result<(), ReproduceError> {
    let run = |alpha: &str| {
        let estimate = |k| format!("class.{k}.estimate={{engines='ses:alpha={alpha}', link='0.05 us/B'}}");
        let mut all: Vec<String> = (0..ENGINE_US.len()).map(estimate).collect();
        all.push("schedulers=['cbcs:charge=estimated,newcomers=free']".into());
        all.extend_from_slice(overrides);
        under(&bench.run(&scenario(bench, &all)?)?, "cbcs").cloned()
    };
    let kinds = KINDS.map(|(kind, classes)| Kind { name: kind, key: format!("{kind}-alpha"), groups: classes });
    prediction::by_alpha(findings, &kinds, run, "cbcs-table5-alpha.svg")
}
