//! CBCS as section 2.2 of its paper reads, for [`Naive`](crate::naive_composite::Naive): one turn after the other, however many in vain.
//! Credits are whole nanoseconds; what a quantum has below that goes to the flow's next turn.

use std::collections::VecDeque;

use dovetail_sched::charge::Charge;
use dovetail_units::Time;

use crate::naive_composite::{Line, Rule};

#[derive(Clone, Copy, Debug, Default)]
struct Credit {
    nanos: i128,
    /// In parts of the quantum's weight.
    rest: i128,
    epoch: u64,
}

/// CBCS's rule.
#[derive(Clone, Debug)]
pub struct NaiveCbcs {
    charge: Charge,
    /// For a flow of weight 1; `None` is Ptc_max by weight.
    quantum: Option<i128>,
    /// Every total time and weight (thousandths) since no packet waited.
    seen: Vec<(i128, i128)>,
    credits: Vec<Credit>,
    /// The active flows; the first has its turn if `granted`.
    active: VecDeque<usize>,
    granted: bool,
    epoch: u64,
}

impl NaiveCbcs {
    /// With this quantum in nanoseconds, or by the longest packet.
    pub fn new(quantum: Option<u64>, charge: Charge) -> Self {
        Self {
            charge,
            quantum: quantum.map(i128::from),
            seen: Vec::new(),
            credits: Vec::new(),
            active: VecDeque::new(),
            granted: false,
            epoch: 0,
        }
    }

    /// Time and weight; the first of equals.
    fn quantum(&self) -> (i128, i128) {
        let longer = |a: (i128, i128), b: (i128, i128)| if b.0 * a.1 > a.0 * b.1 { b } else { a };
        let seen = self.seen.iter().copied().reduce(longer);
        self.quantum.map(|time| (time, 1000)).or(seen).unwrap_or((1, 1000))
    }

    fn end_turn(&mut self) {
        self.granted = false;
        self.active.rotate_left(1);
    }

    fn leaves(&mut self, flow: usize) {
        self.granted &= self.active.front() != Some(&flow);
        self.active.retain(|&f| f != flow);
        if self.active.is_empty() {
            self.epoch += 1;
            self.seen.clear();
        }
    }
}

impl Rule for NaiveCbcs {
    fn clock(&mut self, _now: Time, _lines: &[Line]) {}

    fn added(&mut self, flow: usize) {
        self.credits.resize(self.credits.len().max(flow + 1), Credit::default());
        self.credits[flow] = Credit::default();
    }

    fn arrives(&mut self, flow: usize, times: &[i128], lines: &[Line]) {
        self.seen.push((times.iter().sum(), lines[flow].weight));
        if lines[flow].waiting.is_empty() {
            if self.credits[flow].epoch != self.epoch {
                self.credits[flow] = Credit { epoch: self.epoch, ..Credit::default() };
            }
            self.active.push_back(flow);
        }
    }

    fn choose(&mut self, lines: &[Line]) -> usize {
        loop {
            let flow = self.active[0];
            if !self.granted {
                let (time, weight) = self.quantum();
                let credit = &mut self.credits[flow];
                let sum = time * lines[flow].weight + credit.rest.min(weight - 1);
                credit.nanos += sum / weight;
                credit.rest = sum % weight;
                self.granted = true;
            }
            if self.credits[flow].nanos > 0 {
                return flow;
            }
            self.end_turn();
        }
    }

    fn serves(&mut self, flow: usize, lines: &[Line]) -> u64 {
        let (epoch, line) = (self.epoch, &lines[flow].waiting);
        self.credits[flow].nanos -= line[0].iter().sum::<i128>();
        if line.len() == 1 {
            self.credits[flow].nanos = self.credits[flow].nanos.min(0);
            self.leaves(flow);
        } else if self.credits[flow].nanos <= 0 {
            self.end_turn();
        }
        epoch
    }

    fn corrected(&mut self, flow: usize, ticket: u64, before: &[i128], after: &[i128], lines: &[Line]) {
        if self.charge == Charge::Estimated || ticket != self.epoch {
            return;
        }
        let (before, after): (i128, i128) = (before.iter().sum(), after.iter().sum());
        self.seen.push((after, lines[flow].weight));
        self.credits[flow].nanos += before - after;
        if lines[flow].waiting.is_empty() {
            self.credits[flow].nanos = self.credits[flow].nanos.min(0);
        } else if self.granted && self.active[0] == flow && self.credits[flow].nanos <= 0 {
            self.end_turn();
        }
    }

    fn reweighed(&mut self, flow: usize, lines: &[Line]) {
        if let Some(times) = lines[flow].waiting.front() {
            self.seen.push((times.iter().sum(), lines[flow].weight));
        }
    }

    fn removed(&mut self, flow: usize, _lines: &[Line]) {
        self.leaves(flow);
    }
}
