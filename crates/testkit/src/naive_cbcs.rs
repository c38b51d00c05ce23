//! CBCS as section 2.2 of its paper reads, for [`Naive`](crate::naive_composite::Naive): one turn after the other,
//! however many in vain. Credits are times by weight in ticks of 2^-22 ns, handed out turn by turn; what a packet takes
//! below a tick goes to the flow's next one.

use std::collections::VecDeque;

use dovetail_sched::charge::Charge;
use dovetail_sched::newcomers::Newcomers;
use dovetail_units::Time;

use crate::naive_composite::{Line, Rule};

#[derive(Clone, Copy, Debug, Default)]
struct Credit {
    ticks: i128,
    /// Below a tick, in thousandths of the weight.
    rest: i128,
    epoch: u64,
    /// The last round in which it had a turn, or could not have one any more.
    round: u64,
}

/// CBCS's rule.
#[derive(Clone, Debug)]
pub struct NaiveCbcs {
    charge: Charge,
    newcomers: Newcomers,
    /// For a flow of weight 1; `None` is Ptc_max by weight.
    quantum: Option<i128>,
    /// Every total time and weight (thousandths) since no packet waited.
    seen: Vec<(i128, i128)>,
    credits: Vec<Credit>,
    /// The active flows; the first has its turn if `granted`.
    active: VecDeque<usize>,
    granted: bool,
    round: u64,
    /// What a turn of this round is worth.
    worth: i128,
    epoch: u64,
}

/// Ticks times thousandths of weight.
fn scaled(nanos: i128) -> i128 {
    nanos * 1000 * (1 << 22)
}

impl NaiveCbcs {
    /// With this quantum in nanoseconds, or by the longest packet.
    pub fn new(quantum: Option<u64>, charge: Charge, newcomers: Newcomers) -> Self {
        Self {
            charge,
            newcomers,
            quantum: quantum.map(i128::from),
            seen: Vec::new(),
            credits: Vec::new(),
            active: VecDeque::new(),
            granted: false,
            round: 0,
            worth: 0,
            epoch: 0,
        }
    }

    /// In ticks, rounded up.
    fn quantum(&self) -> i128 {
        let by_weight = |&(time, weight): &(i128, i128)| -(-scaled(time)).div_euclid(weight);
        let seen = self.seen.iter().map(by_weight).max();
        self.quantum.map(|time| by_weight(&(time, 1000))).or(seen).unwrap_or(1)
    }

    /// Whether the flow's first packet, or that at another place, may be served.
    fn may_serve(&self, flow: usize, place: usize, lines: &[Line]) -> bool {
        let Credit { ticks, rest, .. } = self.credits[flow];
        match self.newcomers {
            Newcomers::Free => ticks > 0,
            Newcomers::Pay => {
                let (time, weight): (i128, i128) = (lines[flow].waiting[place].iter().sum(), lines[flow].weight);
                ticks * weight + weight > scaled(time) + rest.min(weight - 1)
            }
        }
    }

    fn charge(&mut self, flow: usize, time: i128, lines: &[Line]) {
        let (weight, credit) = (lines[flow].weight, &mut self.credits[flow]);
        let sum = scaled(time) + credit.rest.min(weight - 1);
        credit.ticks -= sum.div_euclid(weight);
        credit.rest = sum.rem_euclid(weight);
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
            self.credits[flow].round = self.round;
            self.active.push_back(flow);
        }
    }

    fn choose(&mut self, lines: &[Line]) -> usize {
        loop {
            let flow = self.active[0];
            if !self.granted {
                if self.credits[flow].round == self.round {
                    self.round += 1;
                    self.worth = self.quantum();
                }
                self.credits[flow].round = self.round;
                self.credits[flow].ticks += self.worth;
                self.granted = true;
            }
            if self.may_serve(flow, 0, lines) {
                return flow;
            }
            self.end_turn();
        }
    }

    fn serves(&mut self, flow: usize, lines: &[Line]) -> u64 {
        let (epoch, line) = (self.epoch, &lines[flow].waiting);
        self.charge(flow, line[0].iter().sum(), lines);
        if line.len() == 1 {
            self.credits[flow].ticks = self.credits[flow].ticks.min(0);
            self.leaves(flow);
        } else if !self.may_serve(flow, 1, lines) {
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
        self.charge(flow, after - before, lines);
        if lines[flow].waiting.is_empty() {
            self.credits[flow].ticks = self.credits[flow].ticks.min(0);
        } else if self.granted && self.active[0] == flow && !self.may_serve(flow, 0, lines) {
            self.end_turn();
        }
    }

    fn reweighed(&mut self, flow: usize, old: i128, lines: &[Line]) {
        let credit = &mut self.credits[flow];
        credit.ticks = (credit.ticks * old).div_euclid(lines[flow].weight);
        if let Some(times) = lines[flow].waiting.front() {
            self.seen.push((times.iter().sum(), lines[flow].weight));
        }
    }

    fn removed(&mut self, flow: usize, _lines: &[Line]) {
        self.leaves(flow);
    }
}
