//! What candidates made of the input, run after run.

use serde::Serialize;

use super::decide::WORTH;
use crate::recorded::Recorded;
use crate::statistics::Estimate;
use crate::summary::{Group, Run};

/// What a scheduler made of the input.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Point {
    /// The scheduler.
    pub scheduler: String,
    /// Delivered bits per second of makespan.
    pub throughput_bps: f64,
    /// Delivered packets per second of makespan.
    pub throughput_pps: f64,
    /// Busy part of each resource while anything was in the box, 0 to 1.
    pub utilization: Vec<f64>,
    /// Part of the packets that was lost.
    pub lost: f64,
    /// 99 % quantile of all latencies.
    pub p99_s: Option<f64>,
    /// Flows, those without packets included.
    pub flows: usize,
    /// Flows that starve: they are behind what the scheduler promises, which is the fair share or alpha of it.
    pub starving: usize,
    /// Flows that are as much behind their whole fair share.
    pub short: usize,
    /// How far behind its whole fair share a packet was at worst.
    pub behind_s: f64,
    /// The groups, in the order of the input.
    pub groups: Vec<GroupPoint>,
}

/// What it made of a group of flows.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct GroupPoint {
    /// The group.
    pub group: String,
    /// Delivered bits per second of makespan, all flows together.
    pub throughput_bps: f64,
    /// Part of its packets that was lost.
    pub lost: f64,
    /// Mean of its packets' latencies.
    pub mean_s: Option<f64>,
    /// 99 % quantile of its packets' latencies.
    pub p99_s: Option<f64>,
}

impl Point {
    pub(super) fn of(recorded: &Recorded, run: &Run) -> Self {
        let packets = &run.packets;
        let makespan_s = run.makespan_s.filter(|&makespan| makespan > 0.0);
        Self {
            scheduler: run.scheduler.clone(),
            throughput_bps: run.groups.iter().map(|group| group.throughput_bps).sum(),
            throughput_pps: makespan_s.map_or(0.0, |makespan| packets.delivered as f64 / makespan),
            utilization: run.resources.0.iter().map(|(_, resource)| resource.utilization).collect(),
            lost: packets.part_lost(),
            p99_s: run.latency_s.map(|latency| latency.p99),
            flows: recorded.flows.len(),
            starving: run.starving,
            short: recorded.flows.iter().filter(|flow| flow.behind.is_short()).count(),
            behind_s: run.behind.time_s,
            groups: run.groups.iter().map(GroupPoint::of).collect(),
        }
    }
}

impl GroupPoint {
    fn of(group: &Group) -> Self {
        Self {
            group: group.group.clone(),
            throughput_bps: group.throughput_bps,
            lost: group.packets.part_lost(),
            mean_s: group.latency_s.map(|latency| latency.mean),
            p99_s: group.latency_s.map(|latency| latency.p99),
        }
    }
}

/// What every candidate made of the input, several times; the first time of the input as it is.
#[derive(Clone, PartialEq, Debug)]
pub struct Runs {
    runs: Vec<Vec<Point>>,
    chance: Chance,
}

impl Runs {
    /// Of these runs, in each of which every candidate has its point.
    pub fn new(runs: Vec<Vec<Point>>, chance: Chance) -> Self {
        Self { runs, chance }
    }

    /// In what they differ.
    pub fn chance(&self) -> Chance {
        self.chance
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// The points of the input as it is.
    pub fn first(&self) -> &[Point] {
        self.runs.first().map_or(&[], Vec::as_slice)
    }

    /// The points of one candidate, run by run.
    pub fn of(&self, index: usize) -> Vec<Point> {
        self.runs.iter().map(|run| run[index].clone()).collect()
    }

    /// One candidate more, with a point for each run.
    pub fn add(&mut self, points: Vec<Point>) {
        self.runs.iter_mut().zip(points).for_each(|(run, point)| run.push(point));
    }

    /// Whether this is so in every run.
    pub fn always(&self, is_so: impl Fn(&[Point]) -> bool) -> bool {
        !self.runs.is_empty() && self.runs.iter().all(|run| is_so(run))
    }

    /// Whether somebody starves under this candidate in most runs.
    pub fn starves(&self, index: usize) -> bool {
        let starving = self.runs.iter().filter(|run| run[index].starving > 0).count();
        2 * starving > self.runs.len()
    }

    /// The values of one candidate, run by run.
    pub fn values<'a>(&'a self, index: usize, value: impl Fn(&Point) -> f64 + 'a) -> impl Iterator<Item = f64> + 'a {
        self.runs.iter().map(move |run| value(&run[index]))
    }

    /// A candidate's value over another one's in the same run, less 1.
    fn changes(&self, index: usize, base: usize, value: fn(&Point) -> f64) -> Vec<f64> {
        self.values(index, value).zip(self.values(base, value)).map(|(new, old)| relative(new, old)).collect()
    }

    /// How many bits more a candidate moves than another one, on average over the runs: as a part of the other's, or,
    /// where that moves nothing in some run, per second. To compare candidates by.
    pub fn gain(&self, index: usize, base: usize) -> f64 {
        let bits = |point: &Point| point.throughput_bps;
        let changes = match self.values(base, bits).all(|old| old > 0.0) {
            true => self.changes(index, base, bits),
            false => self.values(index, bits).zip(self.values(base, bits)).map(|(new, old)| new - old).collect(),
        };
        changes.iter().sum::<f64>() / changes.len().max(1) as f64
    }

    /// Whether it moves [`WORTH`] more in every run, and more for certain: zero is outside the interval. Anything is
    /// for certain more than nothing.
    pub fn gains(&self, index: usize, base: usize) -> bool {
        let bits = self.moved(index, base).bits;
        let certain = bits.ci95.is_none_or(|half| bits.mean > half);
        let worth = |new: f64, old: f64| new > old && new >= (1.0 + WORTH) * old;
        certain && self.always(|run| worth(run[index].throughput_bps, run[base].throughput_bps))
    }

    /// How much more it moves, in bits and in packets.
    pub fn moved(&self, index: usize, base: usize) -> Moved {
        let chance = self.chance;
        Moved {
            bits: chance.estimate(&self.changes(index, base, |point| point.throughput_bps)),
            packets: chance.estimate(&self.changes(index, base, |point| point.throughput_pps)),
        }
    }
}

/// One throughput over another one, less 1; infinite if only the other one is zero.
pub(super) fn relative(new: f64, old: f64) -> f64 {
    if new == old { 0.0 } else { new / old - 1.0 }
}

/// How much more one scheduler moves than another: their throughputs' ratio, less 1; infinite, and with no interval, if
/// the other moves nothing in some run in which the one moves something.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Moved {
    /// In bits.
    pub bits: Estimate,
    /// In packets.
    pub packets: Estimate,
}

/// In what the runs of one input differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Chance {
    /// In their seeds.
    Seeds,
    /// In the pieces of the capture, drawn at random.
    Pieces,
    /// In load, by up to 2 %: nothing is random.
    Loads,
}

impl Chance {
    /// The mean, and how far off it may be (95 %, Student's t). Runs with other seeds are independent samples of one
    /// distribution, whose mean is asked for. Pieces drawn from a capture, or loads beside the one that was asked for,
    /// scatter about the only sample that there is as other samples would; more of them do not make it surer.
    pub fn estimate(self, values: &[f64]) -> Estimate {
        let mean = Estimate::of(values);
        if mean.mean.is_infinite() {
            return Estimate { ci95: None, ..mean };
        }
        match self {
            Self::Seeds => mean,
            Self::Pieces | Self::Loads => {
                Estimate { ci95: mean.ci95.map(|half| half * (values.len() as f64).sqrt()), ..mean }
            }
        }
    }
}
