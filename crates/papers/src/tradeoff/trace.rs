//! Trace-driven runs (section 6.2): the same packets with many assignments of flows to modules.

use std::io::{BufWriter, Write};
use std::path::Path;

use dovetail_sim::{Cost, Source, Workload};
use dovetail_trace::Mixture;

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::{alpha, baselines};
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::report;
use dovetail_experiment::scenario::{Scenario, ScenarioError};
use dovetail_figure::Cdf;

/// IPsec as likely as each of the other two modules, and half as likely: together they make all three patterns.
pub(super) const SCENARIOS: [(&str, &str); 2] = [
    ("tradeoff/trace.toml", include_str!("../../../../scenarios/papers/tradeoff/trace.toml")),
    ("tradeoff/trace-less-ipsec.toml", include_str!("../../../../scenarios/papers/tradeoff/trace-less-ipsec.toml")),
];

/// A pattern that does not occur in so many assignments is given up.
const MOST_DRAWS: u64 = 400;

/// What dominates the traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// It needs more than 1.2 times as much time on the CPU as on the link.
    CpuBound,
    /// The other way round.
    LinkBound,
    /// Neither.
    Balanced,
}

impl Pattern {
    /// All, in the order of the figures.
    pub const ALL: [Self; 3] = [Self::CpuBound, Self::LinkBound, Self::Balanced];

    /// Of traffic that needs so much time on the two resources.
    pub fn of(cpu_s: f64, link_s: f64) -> Self {
        if cpu_s > 1.2 * link_s {
            Self::CpuBound
        } else if link_s > 1.2 * cpu_s {
            Self::LinkBound
        } else {
            Self::Balanced
        }
    }

    /// For keys and names.
    pub fn name(self) -> &'static str {
        match self {
            Self::CpuBound => "cpu-bound",
            Self::LinkBound => "bandwidth-bound",
            Self::Balanced => "balanced",
        }
    }
}

/// How much is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Packets of the synthesised traffic.
    pub packets: u32,
    /// Its flows (5-tuples).
    pub flows: u32,
    /// Runs of each pattern.
    pub runs: usize,
    /// The first so many of them are repeated under all [`baselines`], the others under those that section 6.2 names.
    pub compared: usize,
}

impl Size {
    /// Nearly 3,000 flows by prefix and port, and 10 runs of each pattern, as in the paper.
    pub const FULL: Self = Self { packets: 1_200_000, flows: 3_600, runs: 10, compared: 4 };
}

/// Packets to replay, with either way of drawing modules.
pub struct Traffic([Scenario; 2]);

impl Traffic {
    /// The packets of the caller's capture, or synthesised ones of this size.
    pub fn open(bench: &Bench<'_>, packets: u32, flows: u32, overrides: &[&str]) -> Result<Self, ReproduceError> {
        if let Some(capture) = bench.settings.capture {
            return Self::replay(bench, capture, overrides);
        }
        let mixture = Mixture { packets, flows, ..Mixture::default() };
        let mut file = tempfile::NamedTempFile::new()?;
        mixture.generate()?.write_pcap(BufWriter::new(file.as_file_mut()))?.flush()?;
        Self::replay(bench, file.path(), overrides)
    }

    fn replay(bench: &Bench<'_>, capture: &Path, overrides: &[&str]) -> Result<Self, ReproduceError> {
        let path = capture.to_string_lossy();
        let is_pipe = capture.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir());
        if path == "-" || is_pipe {
            let message = "the reproduction reads its capture more than once: expected a file, not standard input or \
                           another pipe";
            return Err(ScenarioError::new(&path, message).into());
        }
        let file = format!("trace.file={}", toml::Value::String(path.into()));
        let load = bench.settings.load.map(|load| format!("trace.load={load:?}"));
        let overrides = overrides.iter().map(|o| o.to_string());
        let all: Vec<String> = std::iter::once(file).chain(load).chain(overrides).collect();
        let [(even, even_text), (less, less_text)] = SCENARIOS;
        Ok(Self([bench.scenario(even, even_text, &all)?, bench.scenario(less, less_text, &all)?]))
    }

    /// The random assignment number `draw`, counted from 1; odd and even ones draw modules in the two ways.
    pub fn assignment(&self, draw: u64) -> Result<Scenario, ReproduceError> {
        let [even, less] = &self.0;
        let scenario = if draw % 2 == 1 { even } else { less };
        Ok(scenario.clone().with_seed(draw)?)
    }

    /// Draw until each pattern has as many assignments as wanted, both in the order of [`Pattern::ALL`].
    pub fn draw(&self, bench: &Bench<'_>, wanted: [usize; 3]) -> Result<Assignments, ReproduceError> {
        let mut drawn = Assignments::default();
        let enough = |drawn: &Assignments| (0..3).all(|p| drawn.found[p].len() >= wanted[p]);
        while drawn.draws < MOST_DRAWS && !enough(&drawn) {
            bench.go_on()?;
            drawn.draws += 1;
            let (cpu_s, link_s) = demand_s(&self.assignment(drawn.draws)?.workload());
            let pattern = Pattern::of(cpu_s, link_s) as usize;
            drawn.found[pattern].push(drawn.draws);
        }
        Ok(drawn)
    }
}

/// Random assignments of flows to modules, by the pattern that they make.
#[derive(Clone, Debug, Default)]
pub struct Assignments {
    /// Numbers of the draws, in the order of [`Pattern::ALL`].
    pub found: [Vec<u64>; 3],
    draws: u64,
}

/// What one run left.
#[derive(Clone, Debug)]
pub struct Run {
    /// The scheduler's name in the catalogue.
    pub scheduler: String,
    /// Fairness level.
    pub alpha: f64,
    /// Of CPU and link, in per cent.
    pub utilization: [f64; 2],
    /// Refused packets of those offered.
    pub drop_rate: f64,
    /// Mean over all delivered packets.
    pub mean_latency_s: f64,
    /// Delivered bytes by the time from the first arrival to the last departure.
    pub bytes_per_s: f64,
    /// The latencies' distribution.
    pub cdf: Cdf,
}

impl Run {
    fn of(run: &Recorded) -> Self {
        let tally = run.outcome.tally;
        let flows: Vec<usize> = (0..run.flows.len()).collect();
        Self {
            scheduler: run.scheduler.name.clone(),
            alpha: alpha(run),
            utilization: [0, 1].map(|r| run.resources.get(r).map_or(f64::NAN, |u| 100.0 * u.utilization)),
            drop_rate: (tally.refused + tally.dropped) as f64 / tally.offered as f64,
            mean_latency_s: super::seconds::mean_latency_s(run, &flows),
            bytes_per_s: run.flows.iter().map(|f| f.bytes).sum::<u64>() as f64
                / run.outcome.makespan().map_or(f64::NAN, |makespan| makespan.as_secs_f64()),
            cdf: report::cdf(run),
        }
    }
}

/// The runs of one pattern.
#[derive(Clone, Debug)]
pub struct PatternRuns {
    /// Which.
    pub pattern: Pattern,
    /// The levels of each assignment.
    pub runs: Vec<Vec<Run>>,
    /// The same assignments under schedulers that know no tradeoff.
    pub baselines: Vec<Vec<Run>>,
    /// How the assignments were found.
    pub note: String,
}

impl PatternRuns {
    /// The assignments that were run under this baseline: at full fairness, and under the baseline.
    pub fn beside(&self, baseline: &str) -> Vec<(&Run, &Run)> {
        let pair = |levels: &[Run], others: &[Run]| {
            let fair = levels.iter().position(|run| run.alpha == 1.0)?;
            Some((fair, others.iter().position(|run| run.scheduler == baseline)?))
        };
        let both = self.runs.iter().zip(&self.baselines);
        both.filter_map(|(l, o)| pair(l, o).map(|(fair, other)| (&l[fair], &o[other]))).collect()
    }
}

/// All runs, in the order of [`Pattern::ALL`].
#[derive(Clone, Debug)]
pub struct Patterns(pub Vec<PatternRuns>);

/// Draw assignments until each pattern has its number, and run each under all levels.
pub fn patterns(bench: &Bench<'_>, size: &Size) -> Result<Patterns, ReproduceError> {
    let traffic = Traffic::open(bench, size.packets, size.flows, &[])?;
    let drawn = traffic.draw(bench, [size.runs; 3])?;
    let mut all = Vec::new();
    for (pattern, found) in Pattern::ALL.into_iter().zip(&drawn.found) {
        let (mut runs, mut others) = (Vec::new(), Vec::new());
        for (index, &draw) in found.iter().take(size.runs).enumerate() {
            let scenario = traffic.assignment(draw)?;
            let (levels, mut schedulers) = (scenario.schedulers().len(), scenario.schedulers());
            let compared =
                baselines::ALL.iter().filter(|&&name| index < size.compared || baselines::NAMED.contains(&name));
            schedulers.extend(compared.map(|name| baselines::spec(name)));
            let mut made: Vec<Run> = bench.run_with(&scenario, &schedulers, 0)?.iter().map(Run::of).collect();
            others.push(made.split_off(levels.min(made.len())));
            runs.push(made);
        }
        let (used, name) = (runs.len(), pattern.name());
        let note = format!("{used} runs; {} of {} random assignments are {name}", found.len(), drawn.draws);
        all.push(PatternRuns { pattern, runs, baselines: others, note });
    }
    Ok(Patterns(all))
}

/// Time that all packets need on CPU and link.
fn demand_s(workload: &Workload<2>) -> (f64, f64) {
    let (mut cpu, mut link) = (0.0, 0.0);
    for source in &workload.sources {
        let Source::List(list) = source else { continue };
        for arrival in list.arrivals.iter() {
            let [on_cpu, on_link] = &workload.flows[arrival.flow as usize].cost;
            cpu += time_s(on_cpu, arrival.size);
            link += time_s(on_link, arrival.size);
        }
    }
    (cpu, link)
}

fn time_s(cost: &Cost, size: u32) -> f64 {
    match cost {
        Cost::Linear(linear) => linear.time(u64::from(size)).as_secs_f64(),
        Cost::Link(rate) => 8.0 * f64::from(size) / rate.as_bps() as f64,
        Cost::PerPacket => 0.0,
    }
}
