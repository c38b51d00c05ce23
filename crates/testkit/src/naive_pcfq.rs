//! PCFQ by equations (3) to (6), for [`Naive`](crate::naive_composite::Naive): every packet keeps V as of its arrival,
//! every tag is computed when it is asked for, and (6) is summed anew.
//!
//! Tags are ticks of 2^-22 ns and, for each resource, thousandths of the weight there below that; V is used in whole
//! ticks, what it has below is kept as work.

use std::collections::VecDeque;

use dovetail_sched::charge::Charge;
use dovetail_sched::pcfq::Clock;
use dovetail_units::Time;

use crate::naive_composite::{Line, Rule};

/// Ticks times thousandths of weight in a nanosecond.
const PER_NANO: i128 = 1000 << 22;
/// Tags stop here.
const LAST: i128 = (1 << 96) - 1;

/// Ticks, and by resource thousandths of the weight below a tick.
type Tag = (i128, Vec<i128>);

/// PCFQ's rule over `resources`.
#[derive(Clone, Debug)]
pub struct NaivePcfq {
    resources: usize,
    charge: Charge,
    clock: Clock,
    now: Time,
    virtual_time: i128,
    work: i128,
    /// Per flow: F of the last packet served, and V at the arrival of every waiting one.
    flows: Vec<(Tag, VecDeque<i128>)>,
    latest: i128,
}

impl NaivePcfq {
    /// At virtual time 0.
    pub fn new(resources: usize, charge: Charge, clock: Clock) -> Self {
        Self { resources, charge, clock, now: Time::ZERO, virtual_time: 0, work: 0, flows: Vec::new(), latest: 0 }
    }

    fn at(&self, ticks: i128) -> Tag {
        (ticks, vec![0; self.resources])
    }

    /// By time on each resource, divided by the weight there.
    fn moved((ticks, parts): &Tag, nanos: &[i128], weights: &[i128]) -> Tag {
        let (mut to, mut left) = (*ticks, Vec::new());
        for ((nanos, weight), part) in nanos.iter().zip(weights).zip(parts) {
            let sum = nanos * PER_NANO + part.min(&(weight - 1));
            to += sum.div_euclid(*weight);
            left.push(sum.rem_euclid(*weight));
        }
        (to.clamp(0, LAST), left)
    }

    /// S and F of the flow's first packet: (4) and (3).
    fn tags(&self, flow: usize, line: &Line) -> Option<(Tag, Tag)> {
        let (finish, arrivals) = &self.flows[flow];
        let (times, &arrival) = (line.waiting.front()?, arrivals.front()?);
        let start = if arrival > finish.0 { self.at(arrival) } else { finish.clone() };
        let finish = Self::moved(&start, times, &line.weights);
        Some((start, finish))
    }
}

impl Rule for NaivePcfq {
    fn clock(&mut self, now: Time, lines: &[Line]) {
        let elapsed = i128::from(now.since(self.now).as_nanos());
        self.now = now;
        let active = lines.iter().filter(|line| !line.waiting.is_empty());
        let sum: i128 = active.flat_map(|line| &line.weights).sum();
        if self.clock != Clock::Paper {
            return;
        }
        if sum == 0 {
            self.work = 0;
        } else if elapsed > 0 || self.work >= sum {
            self.work += elapsed * PER_NANO;
            self.virtual_time += self.work / sum;
            self.work %= sum;
        }
    }

    fn added(&mut self, flow: usize) {
        let new = (self.at(0), VecDeque::new());
        self.flows.resize(self.flows.len().max(flow + 1), new.clone());
        self.flows[flow] = new;
    }

    fn arrives(&mut self, flow: usize, _times: &[i128], lines: &[Line]) {
        let counts = self.clock == Clock::Paper || lines[flow].waiting.is_empty();
        self.flows[flow].1.push_back(if counts { self.virtual_time } else { 0 });
    }

    fn choose(&mut self, lines: &[Line]) -> usize {
        let finishes = lines.iter().enumerate().filter_map(|(flow, line)| Some((self.tags(flow, line)?.1.0, flow)));
        finishes.min().map_or(0, |(_, flow)| flow)
    }

    fn serves(&mut self, flow: usize, lines: &[Line]) -> u64 {
        if let Some((_, finish)) = self.tags(flow, &lines[flow]) {
            self.latest = self.latest.max(finish.0);
            if self.clock == Clock::Served {
                self.virtual_time = self.virtual_time.max(finish.0);
            }
            self.flows[flow].0 = finish;
        }
        self.flows[flow].1.pop_front();
        0
    }

    fn changed(&mut self, lines: &[Line]) {
        let starts = lines.iter().enumerate().filter_map(|(flow, line)| Some(self.tags(flow, line)?.0.0));
        let least = match (starts.min(), self.clock) {
            (None, _) => self.latest,
            (Some(start), Clock::Tags) => start,
            (Some(_), Clock::Paper | Clock::Served) => return,
        };
        self.virtual_time = self.virtual_time.max(least);
    }

    fn corrected(&mut self, flow: usize, _ticket: u64, before: &[i128], after: &[i128], lines: &[Line]) {
        if self.charge == Charge::Measured {
            let more: Vec<i128> = after.iter().zip(before).map(|(after, before)| after - before).collect();
            let finish = Self::moved(&self.flows[flow].0, &more, &lines[flow].weights);
            self.latest = self.latest.max(finish.0);
            self.flows[flow].0 = finish;
        }
    }

    fn reweighed(&mut self, _flow: usize, _old: i128, _lines: &[Line]) {}

    fn removed(&mut self, flow: usize, _lines: &[Line]) {
        self.flows[flow].1.clear();
    }
}
