//! The thirty flows at 97 % of the CPU and 96 % of the link: CBCS, Table 2; PCFQ, Table 4 and Figs. 2 to 4.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::stats::{extent, mean, members};
use super::{CPU, GROUPS, LINK, sessions, under};
use dovetail_experiment::recorded::{LatencySummary, Recorded};
use dovetail_experiment::scenario::Scenario;
use dovetail_experiment::statistics::Estimate;
use dovetail_figure::{Series, UtilizationPanel, over_time};

const SCENARIO: &str = include_str!("../../../../scenarios/papers/pcfq/delays.toml");
/// Independent runs.
pub const SEEDS: std::ops::RangeInclusive<u64> = 1..=8;
/// Packets whose ways are recorded, and kept of the first seed: all of them.
const PACKETS: usize = 150_000;

/// The scenario, changed by these overrides.
pub fn scenario(bench: &Bench<'_>, overrides: &[String]) -> Result<Scenario, ReproduceError> {
    bench.scenario("pcfq/delays.toml", SCENARIO, overrides)
}

/// The same with the same weight for all flows on both resources.
pub fn of_equal_weights(bench: &Bench<'_>, overrides: &[String]) -> Result<Scenario, ReproduceError> {
    let weights = GROUPS.map(|group| format!("flows.{group}.weight=1"));
    scenario(bench, &[&weights[..], overrides].concat())
}

/// The schedulers of the scenario, but corrected by what was measured, and PCFQ with virtual time read off the tags.
const AS_MEASURED: &str = "schedulers=['cbcs:newcomers=free', 'drr+drr:buffer=none', 'pcfq:clock=tags', \
                           'wfq+wfq:buffer=none']";

/// The same under schedulers that charge what was measured in the end, which the papers' do not.
pub fn as_measured(bench: &Bench<'_>, overrides: &[String]) -> Result<Scenario, ReproduceError> {
    scenario(bench, &[&[AS_MEASURED.to_string()], overrides].concat())
}

/// CBCS and separate DRR of these, with quanta as the CBCS paper has them (section 2.2): the longest packet's for the
/// flow with the smallest weight, and others by their weights. 40 ms on the CPU by the weight of 8.11 there; on the
/// link, where 25.6 ms by 5.44 would do, it is 5 % more than that.
const WITH_QUANTUM: &str = "schedulers=[\"cbcs:charge=estimated,newcomers=free\", \
                            \"drr+drr:buffer=none,charge=estimated,quantum=4.9322 ms\"]";

/// The same under CBCS and separate DRR with quanta as in the CBCS paper.
pub fn with_quantum(bench: &Bench<'_>, overrides: &[String]) -> Result<Scenario, ReproduceError> {
    scenario(bench, &[&[WITH_QUANTUM.to_string()], overrides].concat())
}

/// By group: 1.2 times the rate at which each flow asks for about the same part of what it needs most (4.5 % of the
/// CPU, 4.6 % of the link), with 97 and 96 % of both in all; and what it asks for on CPU and link there, in
/// thousandths, which are its weights.
const CONGESTED: [(f64, f64, f64); 3] = [(2.1734, 45.28, 4.34), (27.1675, 45.28, 45.28), (3.865, 6.44, 46.38)];
/// CBCS and separate DRR as printed.
const CONGESTED_UNDER: &str = "schedulers=['cbcs:charge=estimated,newcomers=free', 'drr+drr:charge=estimated']";

/// Congested as in section 4.3 of the CBCS paper: every flow sends more than it has reserved, and queues have the
/// limits of `cbcs/congested.toml`.
pub fn of_congestion(bench: &Bench<'_>, overrides: &[String]) -> Result<Scenario, ReproduceError> {
    let mut all = vec![CONGESTED_UNDER.to_string()];
    for (group, (pps, cpu, link)) in GROUPS.into_iter().zip(CONGESTED) {
        all.push(format!("flows.{group}.rate='{pps} pps'"));
        all.push(format!("flows.{group}.weight={{cpu={cpu}, link={link}}}"));
        all.push(format!("flows.{group}.queue='1 s to 2 s of cpu'"));
    }
    scenario(bench, &[&all[..], overrides].concat())
}

/// The runs of all seeds; of each all schedulers.
pub struct Delays {
    /// By seed.
    pub runs: Vec<Vec<Recorded>>,
    /// By seed, scheduler and resource: the Gini index over session utilities at the ends of the intervals.
    pub sessions: Vec<Vec<[Vec<f64>; 2]>>,
}

impl Delays {
    /// Run all schedulers of the scenario under these seeds.
    pub fn run(
        bench: &Bench<'_>,
        scenario: &Scenario,
        seeds: std::ops::RangeInclusive<u64>,
    ) -> Result<Self, ReproduceError> {
        let (mut runs, mut sessions) = (Vec::new(), Vec::new());
        for seed in seeds {
            let scenario = scenario.clone().with_seed(seed)?;
            let mut own = bench.run_with(&scenario, &scenario.schedulers(), PACKETS)?;
            sessions.push(own.iter().map(|run| [CPU, LINK].map(|r| sessions::samples(run, r))).collect());
            if !runs.is_empty() {
                own.iter_mut().for_each(Recorded::forget_packets);
            }
            runs.push(own);
        }
        Ok(Self { runs, sessions })
    }

    /// A quantity of the runs under one scheduler, seed by seed.
    pub fn each(&self, scheduler: &str, value: impl Fn(&Recorded) -> f64) -> Result<Vec<f64>, ReproduceError> {
        self.runs.iter().map(|runs| under(runs, scheduler).map(&value)).collect()
    }

    /// The runs under the first seed.
    pub fn first(&self) -> &[Recorded] {
        self.runs.first().map_or(&[], Vec::as_slice)
    }
}

/// A column of the papers' tables.
type Statistic = (&'static str, fn(&LatencySummary) -> f64);
/// The columns.
pub(super) const STATISTICS: [Statistic; 3] = [("max", |l| l.max), ("mean", |l| l.mean), ("std", |l| l.std)];

/// A statistic of the delays of all packets of a group.
fn delay_s(run: &Recorded, group: &str, value: fn(&LatencySummary) -> f64) -> f64 {
    run.latencies.of_flows(members(run, group)).summary().map_or(f64::NAN, |l| value(&l))
}

/// The schedulers of a paper's table: the composite one, and the separate ones.
type Pair = [&'static str; 2];

/// CBCS, Table 2.
pub const CBCS: Pair = ["cbcs", "drr+drr"];

/// PCFQ, Table 4. Of the standard deviation it says that it is reduced, and no numbers.
pub const PCFQ: Pair = ["pcfq", "wfq+wfq"];

/// Delays of the three groups under one composite scheduler in per cent of those under separate ones: as printed, and
/// charged as measured.
pub fn table(printed: &Delays, measured: &Delays, pair: Pair) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    ratios(&mut findings, "", printed, pair)?;
    ratios(&mut findings, "measured-", measured, pair)?;
    Ok(findings)
}

fn ratios(
    findings: &mut Findings,
    prefix: &str,
    delays: &Delays,
    [composite, separate]: Pair,
) -> Result<(), ReproduceError> {
    for group in GROUPS {
        for (name, value) in STATISTICS {
            let ours = delays.each(composite, |run| delay_s(run, group, value))?;
            let theirs = delays.each(separate, |run| delay_s(run, group, value))?;
            let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(a, b)| 100.0 * a / b).collect();
            let ratio = Estimate::of(&ratios);
            let (ours, theirs, seeds) = (Estimate::of(&ours), Estimate::of(&theirs), ratios.len());
            let note = format!(
                "+- {:.1}, single runs +- {:.1}; {ours} s under {composite}, {theirs} s under {separate}; \
                  {seeds} seeds",
                ratio.half(),
                1.96 * deviation(&ratios)
            );
            // Of the standard deviation PCFQ's paper has a sentence only: what of it is sure.
            let value = if separate == PCFQ[1] && name == "std" { ratio.most() } else { ratio.mean };
            findings.noted(format!("{prefix}{group}-{name}"), value, note);
        }
    }
    Ok(())
}

/// The standard deviation of what these are a sample of.
pub(super) fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)).sqrt()
}

/// PCFQ, Figs. 2 to 4: the delays of one flow of a group.
pub fn figure(id: &str, delays: &Delays) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let (group, number) = match id {
        "pcfq-fig2" => (GROUPS[0], 2),
        "pcfq-fig3" => (GROUPS[1], 3),
        _ => (GROUPS[2], 4),
    };
    findings.found("alike", mean(&delays.each("pcfq", |run| apart(run, group))?));
    if number == 2 {
        // One sentence, about the groups of all three figures.
        for group in GROUPS {
            findings.found(format!("{group}-alike"), mean(&delays.each("pcfq", |run| apart(run, group))?));
        }
    }
    let panels = ["pcfq", "wfq+wfq"].map(|name| under(delays.first(), name).map(|run| panel(run, group)));
    let panels: Vec<UtilizationPanel> = panels.into_iter().collect::<Result<_, _>>()?;
    let title = format!("Fig. {number}: delay of one {group} flow");
    findings.picture(&format!("{id}.svg"), over_time(&title, "Delay (s)", &panels)?);
    Ok(findings)
}

/// The mean delay of the group's flow that is furthest from the mean of them, relative to it.
pub(super) fn apart(run: &Recorded, group: &str) -> f64 {
    let mean_of = |flow: usize| run.latency(flow).map_or(f64::NAN, |l| l.mean);
    let means: Vec<f64> = members(run, group).map(mean_of).collect();
    let (least, most) = extent(&means);
    f64::max(most / mean(&means), mean(&means) / least)
}

/// The delays of the group's first flow, by arrival.
pub(super) fn panel(run: &Recorded, group: &str) -> UtilizationPanel {
    let flow = members(run, group).next();
    let last = run.resources.len() - 1;
    let delay = |(k, packet): (usize, &dovetail_experiment::recorded::PacketWay)| {
        let end = run.service(k, last)?.end;
        (Some(packet.flow as usize) == flow)
            .then(|| (packet.arrival.as_secs_f64(), end.since(packet.arrival).as_secs_f64()))
    };
    let points = run.packets.iter().enumerate().filter_map(delay).collect();
    let resources = vec![Series { name: "delay of each packet".into(), points }];
    UtilizationPanel { scheduler: super::name(run), resources }
}
