//! What a fluid run leaves behind.

use super::Input;
use crate::tradeoff::Allocation;

/// Utilisations closer than this are one segment: they differ by the rounding of sums, not by the allocation.
const SAME_LEVEL: f64 = 1e-12;

/// Piecewise constant functions of time, with common steps: 0 before the first step, constant after each.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    columns: usize,
    times_s: Vec<f64>,
    levels: Vec<f64>,
}

impl Steps {
    fn new(columns: usize) -> Self {
        Self { columns, times_s: Vec::new(), levels: Vec::new() }
    }

    fn push(&mut self, time_s: f64, levels: &[f64]) {
        let last = self.times_s.len().checked_sub(1).map(|step| self.levels_of(step));
        if last.is_some_and(|last| last.iter().zip(levels).all(|(a, b)| (a - b).abs() <= SAME_LEVEL)) {
            return;
        }
        if self.times_s.last() == Some(&time_s) {
            self.levels.truncate(self.levels.len() - self.columns);
        } else {
            self.times_s.push(time_s);
        }
        self.levels.extend_from_slice(levels);
    }

    fn levels_of(&self, step: usize) -> &[f64] {
        &self.levels[step * self.columns..(step + 1) * self.columns]
    }

    /// The steps in order: the time in seconds and the level of every column from then on.
    pub fn iter(&self) -> impl Iterator<Item = (f64, &[f64])> {
        self.times_s.iter().copied().zip(self.levels.chunks_exact(self.columns))
    }

    /// The number of steps.
    pub fn len(&self) -> usize {
        self.times_s.len()
    }

    /// Whether there is no step: every level is 0 for ever.
    pub fn is_empty(&self) -> bool {
        self.times_s.is_empty()
    }

    /// The level of `column` at `time_s` (at a step: the new level). 0 for a column that does not exist. O(log steps).
    pub fn level(&self, column: usize, time_s: f64) -> f64 {
        let after = self.times_s.partition_point(|&step| step <= time_s);
        after.checked_sub(1).and_then(|step| self.levels_of(step).get(column).copied()).unwrap_or(0.0)
    }

    /// The mean level of `column` over `[from_s, to_s]`; 0 for an empty interval. O(log steps + steps in the interval).
    pub fn mean(&self, column: usize, from_s: f64, to_s: f64) -> f64 {
        if to_s.partial_cmp(&from_s) != Some(std::cmp::Ordering::Greater) {
            return 0.0;
        }
        let (mut time, mut level, mut area) = (from_s, self.level(column, from_s), 0.0);
        let first = self.times_s.partition_point(|&step| step <= from_s);
        for step in first..self.times_s.len() {
            if self.times_s[step] >= to_s {
                break;
            }
            area += level * (self.times_s[step] - time);
            time = self.times_s[step];
            level = self.levels_of(step).get(column).copied().unwrap_or(0.0);
        }
        (area + level * (to_s - time)) / (to_s - from_s)
    }
}

/// The fluid schedule of one input.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    first_arrival_s: f64,
    last_finish_s: f64,
    flows: Vec<FlowRecord>,
    utilisation: Steps,
    fair_share: Steps,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct FlowRecord {
    start_s: Vec<f64>,
    finish_s: Vec<f64>,
    /// Where the flow's share changes: time, and dominant service until then.
    curve: Vec<(f64, f64)>,
    served_s: f64,
}

impl Outcome {
    /// The time from the first arrival to the last finish (the paper, section 2.2), in seconds; 0 without packets.
    pub fn makespan_s(&self) -> f64 {
        self.last_finish_s - self.first_arrival_s
    }

    /// When the last packet finishes, in seconds from time 0.
    pub fn last_finish_s(&self) -> f64 {
        self.last_finish_s
    }

    /// The start of every packet of `flow` in its order, in seconds: when its flow's share first is positive while it
    /// is head. Empty for an unknown flow.
    pub fn starts_s(&self, flow: usize) -> &[f64] {
        self.flows.get(flow).map_or(&[], |record| &record.start_s)
    }

    /// The finish of every packet of `flow` in its order, in seconds. Empty for an unknown flow.
    pub fn finishes_s(&self, flow: usize) -> &[f64] {
        self.flows.get(flow).map_or(&[], |record| &record.finish_s)
    }

    /// D_i(0, t): the dominant service `flow` received until `time_s`, in seconds of processing. O(log points).
    pub fn dominant_service_s(&self, flow: usize, time_s: f64) -> f64 {
        let curve = self.service_curve(flow);
        let after = curve.partition_point(|&(time, _)| time <= time_s);
        match (after.checked_sub(1).map(|before| curve[before]), curve.get(after)) {
            (None, _) => 0.0,
            (Some((_, served)), None) => served,
            (Some((from, served)), Some(&(to, later))) => {
                served + (later - served) * ((time_s - from) / (to - from)).min(1.0)
            }
        }
    }

    /// D_i(0, t) as a piecewise linear function: points (time, dominant service), straight between them, 0 before the
    /// first and constant after the last. Empty for an unknown flow.
    pub fn service_curve(&self, flow: usize) -> &[(f64, f64)] {
        self.flows.get(flow).map_or(&[], |record| &record.curve)
    }

    /// The fraction of each resource in use over time; one column per resource.
    pub fn utilisation(&self) -> &Steps {
        &self.utilisation
    }

    /// The fair dominant share per unit of weight over time (one column); 0 while nothing is backlogged.
    pub fn fair_share(&self) -> &Steps {
        &self.fair_share
    }
}

/// Collects an [`Outcome`] in order of time.
pub(super) struct Recorder {
    flows: Vec<FlowRecord>,
    utilisation: Steps,
    fair_share: Steps,
    resting: Vec<f64>,
    last_finish_s: f64,
}

impl Recorder {
    pub(super) fn new(input: &Input) -> Self {
        let record = |flow| FlowRecord {
            start_s: Vec::with_capacity(input.packets(flow)),
            finish_s: Vec::with_capacity(input.packets(flow)),
            ..FlowRecord::default()
        };
        Self {
            flows: (0..input.flows()).map(record).collect(),
            utilisation: Steps::new(input.resources()),
            fair_share: Steps::new(1),
            resting: vec![0.0; input.resources()],
            last_finish_s: 0.0,
        }
    }

    pub(super) fn start(&mut self, flow: usize, now: f64) {
        self.flows[flow].start_s.push(now);
    }

    pub(super) fn finish_packet(&mut self, flow: usize, now: f64, dominant_s: f64) {
        let record = &mut self.flows[flow];
        record.finish_s.push(now);
        record.served_s += dominant_s;
        self.last_finish_s = now;
    }

    /// The share of `flow` changes when `of_head_s` of its head packet's dominant time is served.
    pub(super) fn bend(&mut self, flow: usize, now: f64, of_head_s: f64) {
        let record = &mut self.flows[flow];
        let point = (now, record.served_s + of_head_s);
        match record.curve.last_mut() {
            Some(last) if last.0 == now => *last = point,
            _ => record.curve.push(point),
        }
    }

    pub(super) fn allocation(&mut self, now: f64, allocation: &Allocation) {
        self.utilisation.push(now, &allocation.utilisation);
        self.fair_share.push(now, &[allocation.fair_share]);
    }

    pub(super) fn rest(&mut self, now: f64) {
        self.utilisation.push(now, &self.resting);
        self.fair_share.push(now, &[0.0]);
    }

    pub(super) fn finish(self, input: &Input) -> Outcome {
        Outcome {
            first_arrival_s: input.first_arrival_s().unwrap_or(0.0),
            last_finish_s: self.last_finish_s,
            flows: self.flows,
            utilisation: self.utilisation,
            fair_share: self.fair_share,
        }
    }
}
