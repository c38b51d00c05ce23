//! Trace-driven runs (section 6.2): the same packets with many assignments of flows to modules.

use std::io::{BufWriter, Write};

use dovetail_sim::{Cost, Source, Workload};
use dovetail_trace::Mixture;

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::alpha;
use crate::compare::Recorded;
use crate::figure::Cdf;
use crate::report;
use crate::scenario::Scenario;

const SCENARIO: &str = include_str!("../../../../../scenarios/papers/tradeoff/trace.toml");

/// A pattern that does not occur in so many assignments is given up.
const MOST_DRAWS: u64 = 1000;

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
}

impl Size {
    /// Nearly 3,000 flows by prefix and port, and 10 runs of each pattern, as in the paper.
    pub const FULL: Self = Self { packets: 400_000, flows: 3_600, runs: 10 };
}

/// The scenario with its packets: those of the caller's capture, or synthesised ones.
pub fn scenario(bench: &Bench<'_>, packets: u32, flows: u32, overrides: &[&str]) -> Result<Scenario, ReproduceError> {
    let open = |path: &str| {
        let file = format!("trace.file={}", toml::Value::String(path.into()));
        let all: Vec<String> = std::iter::once(file).chain(overrides.iter().map(|o| o.to_string())).collect();
        bench.scenario("tradeoff/trace.toml", SCENARIO, &all)
    };
    if let Some(capture) = bench.settings.capture {
        return open(&capture.to_string_lossy());
    }
    let mixture = Mixture { packets, flows, ..Mixture::default() };
    let mut file = tempfile::NamedTempFile::new()?;
    mixture.generate()?.write_pcap(BufWriter::new(file.as_file_mut()))?.flush()?;
    open(&file.path().to_string_lossy())
}

/// What one run left.
#[derive(Clone, Debug)]
pub struct Run {
    /// Fairness level.
    pub alpha: f64,
    /// Of CPU and link, in per cent.
    pub utilization: [f64; 2],
    /// Refused packets of those offered.
    pub drop_rate: f64,
    /// Mean over all delivered packets.
    pub mean_latency_s: f64,
    /// Delivered bytes.
    pub bytes: u64,
    /// The latencies' distribution.
    pub cdf: Cdf,
}

impl Run {
    fn of(run: &Recorded) -> Self {
        let tally = run.outcome.tally;
        let flows: Vec<usize> = (0..run.flows.len()).collect();
        Self {
            alpha: alpha(run),
            utilization: [0, 1].map(|r| run.resources.get(r).map_or(f64::NAN, |u| 100.0 * u.utilization)),
            drop_rate: (tally.refused + tally.dropped) as f64 / tally.offered as f64,
            mean_latency_s: super::seconds::mean_latency_s(run, &flows),
            bytes: run.flows.iter().map(|f| f.bytes).sum(),
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
    /// How the assignments were found.
    pub note: String,
}

/// All runs, in the order of [`Pattern::ALL`].
#[derive(Clone, Debug)]
pub struct Patterns(pub Vec<PatternRuns>);

/// Draw assignments until each pattern has its number, and run each under all levels.
pub fn patterns(bench: &Bench<'_>, size: &Size) -> Result<Patterns, ReproduceError> {
    let scenario = scenario(bench, size.packets, size.flows, &[])?;
    let assignments = Assignments::draw(&scenario, size.runs)?;
    let mut all = Vec::new();
    for (pattern, seeds) in Pattern::ALL.into_iter().zip(&assignments.seeds) {
        let mut runs = Vec::new();
        for &seed in seeds {
            let recorded = bench.run(&scenario.clone().with_seed(seed)?)?;
            runs.push(recorded.iter().map(Run::of).collect());
        }
        let found = assignments.counts[pattern as usize];
        let note = format!("{} runs; {found} of {} random assignments are {}", runs.len(), assignments.draws, pattern.name());
        all.push(PatternRuns { pattern, runs, note });
    }
    Ok(Patterns(all))
}

/// Seeds whose assignments make each pattern.
pub struct Assignments {
    /// In the order of [`Pattern::ALL`].
    pub seeds: [Vec<u64>; 3],
    counts: [usize; 3],
    draws: u64,
}

impl Assignments {
    /// Draw until each pattern has `wanted` seeds.
    pub fn draw(scenario: &Scenario, wanted: usize) -> Result<Self, ReproduceError> {
        let mut drawn = Self { seeds: Default::default(), counts: [0; 3], draws: 0 };
        while drawn.draws < MOST_DRAWS && drawn.seeds.iter().any(|seeds| seeds.len() < wanted) {
            drawn.draws += 1;
            let seed = drawn.draws;
            let (cpu_s, link_s) = demand_s(&scenario.clone().with_seed(seed)?.workload());
            let pattern = Pattern::of(cpu_s, link_s) as usize;
            drawn.counts[pattern] += 1;
            if drawn.seeds[pattern].len() < wanted {
                drawn.seeds[pattern].push(seed);
            }
        }
        Ok(drawn)
    }

    /// The first seed that makes this pattern, if one does.
    pub fn draw_one(scenario: &Scenario, pattern: Pattern) -> Result<Option<u64>, ReproduceError> {
        for seed in 1..=MOST_DRAWS {
            let (cpu_s, link_s) = demand_s(&scenario.clone().with_seed(seed)?.workload());
            if Pattern::of(cpu_s, link_s) == pattern {
                return Ok(Some(seed));
            }
        }
        Ok(None)
    }
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
