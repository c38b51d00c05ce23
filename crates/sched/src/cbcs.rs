//! `cbcs`: composite bandwidth and CPU scheduling (Sabrina, Kanhere, Jha, IEEE Transactions on Parallel and Distributed Systems, 2007).
//!
//! Shares: equal (weighted) total time, summed over all resources, by turns: one decision in front of the first resource, so that
//! nothing is processed only to be dropped at the link.
//!
//! * Parameters: `quantum` = total time that a flow of weight 1 is credited per turn, above 0 s, or `auto` (default): the longest total
//!   time by weight of the packets that came since no packet waited. Settable while running. `charge` = what a flow pays in the
//!   end: `measured` (default) or `estimated`.
//! * Cost per packet: O(1) with `auto`, and with a quantum not below any packet's total time divided by its flow's weight. With a smaller
//!   one up to O(n) for n backlogged flows, however much smaller it is.
//! * Guarantees, with exact times: |W_i/w_i - W_j/w_j| <= Q + C_i/w_i + C_j/w_j over any interval in which flows i and j are backlogged, W the total
//!   time received as of the decisions, C the longest of a packet, Q the largest quantum meanwhile. That is at most 3 Ptc_max with
//!   equal weights and Q = Ptc_max (Theorem 3).
//! * Weights: one, w_i. It is the paper's with phi's that differ by resource, too: only their sum counts there, and the mean, which is
//!   [`FlowConfig::weight`](crate::FlowConfig::weight) then, is in proportion to it.
//! * Times need to be known, or predicted, on arrival for `auto`, else when a packet is served.
//! * Example: `cbcs`, `cbcs:quantum=40 ms`, `cbcs:charge=estimated`.
//!
//! ```text
//! Ptc          = sum over resources of the packet's time; the link's is that of the resized packet (equation (3))
//! turn of i    CC_i += w_i Q; while CC_i > 0 and packets wait: serve the first one, CC_i -= Ptc
//!              CC_i = 0 when none waits; then the next flow's turn
//! ```
//!
//! Differences from the paper, with reasons:
//! * The paper's quantum of flow i, w_i / w_min * Ptc_max, needs the smallest weight of all flows. Here it is w_i times the largest Ptc_j / w_j: that
//!   lets every flow serve a packet per turn just as well, and turns are no longer. With equal weights both are the same. Credits are
//!   whole nanoseconds; what a quantum has below that is carried to the flow's next turn.
//! * `auto`: the paper's Ptc_max is known in advance. Here it is raised by every packet that arrives or turns out longer, and falls back
//!   when no packet waits. Theorem 3 holds with the last value: what one flow gains by a rise between its turn and the other's adds up
//!   to at most one quantum over all rises.
//! * A flow whose queue becomes empty keeps what it owes (CC < 0) until no packet waits at all: else bursts of two packets, the second a
//!   long one, get more than their share.
//! * `charge=measured`: measured times replace the estimates, also downwards; the paper leaves them. A flow that measurements put into debt
//!   passes turns. What a packet's measurement says after a time without waiting packets is ignored.
//! * Rounds in which no flow could serve a packet are taken at once.
//! * A packet of no time at all counts as one nanosecond.
//! * The limits of queued CPU time are not part of the discipline: any discipline can have them ([`Limit::time`](crate::Limit)).

use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Parameter, Resources, Weights};
use crate::charge::{self, Charge, total};
use crate::contract::{Progress, Ticket};
use crate::one_resource::charged;
use crate::per_flow::{Choice, Discipline};
use crate::queues::{Links, List, Queues};
use crate::spec::{Spec, SpecError};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "cbcs",
    summary: "Composite bandwidth and CPU scheduling by credit",
    shares: "equal weighted total time over all resources, by turns",
    resources: Resources::Any,
    parameters: &[
        Parameter {
            name: "quantum",
            value: "a time above 0 s, or auto",
            default: "auto",
            meaning: "total time per turn and weight; auto: the longest packet's; with less than a packet's, a decision takes up to O(n)",
            settable: true,
        },
        charge::PARAMETER,
    ],
    complexity: "O(1)",
    guarantee: "|W_i/w_i - W_j/w_j| <= Q + C_i/w_i + C_j/w_j in total time, C a packet's longest, Q the largest quantum",
    weights: Weights::One,
    work_conserving: "yes",
    costs: "on arrival; corrected by measurement unless charge=estimated",
    paper: "Sabrina, Kanhere, Jha, IEEE TPDS 2007 (CBCS)",
    brief: Brief { fairness: "total time", work_conserving: "yes", costs_ahead: "yes", paper: "TPDS 2007" },
};

/// Credits are at most this, in nanoseconds.
const LONGEST: i64 = 1 << 61;

/// A flow's credit counter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credit {
    /// Total time that the flow may still use, in nanoseconds; below zero what it owes.
    nanos: i64,
    /// What its quanta had below a nanosecond, in parts of the quantum's weight.
    part: u32,
    /// Holds since no packet waited for this time.
    epoch: u32,
}

impl Credit {
    /// `rounds` quanta at once.
    fn grant(&mut self, rounds: u64, quantum: Quantum, weight: Weight) {
        let milli = u128::from(quantum.weight);
        let per_round = u128::from(quantum.nanos) * u128::from(weight.as_milli());
        let sum = per_round.saturating_mul(u128::from(rounds)) + u128::from(self.part).min(milli - 1);
        self.add(i64::try_from(sum / milli).unwrap_or(LONGEST));
        self.part = (sum % milli) as u32;
    }

    fn add(&mut self, nanos: i64) {
        self.nanos = self.nanos.saturating_add(nanos).clamp(-LONGEST, LONGEST);
    }

    /// How many quanta until the credit is above zero.
    fn rounds_needed(&self, quantum: Quantum, weight: Weight) -> u64 {
        let owed = u128::from((1 - self.nanos).max(0) as u64) * u128::from(quantum.weight);
        let per_round = u128::from(quantum.nanos) * u128::from(weight.as_milli());
        let rounds = owed.saturating_sub(u128::from(self.part.min(quantum.weight - 1))).div_ceil(per_round);
        u64::try_from(rounds).unwrap_or(u64::MAX)
    }
}

/// So much time for so much weight.
#[derive(Clone, Copy, Debug)]
struct Quantum {
    /// At least 1.
    nanos: u64,
    /// In thousandths.
    weight: u32,
}

impl Quantum {
    const LEAST: Self = Self { nanos: 1, weight: Weight::ONE.as_milli() };

    fn new(time: Duration, weight: Weight) -> Self {
        Self { nanos: charged(time) as u64, weight: weight.as_milli() }
    }

    fn exceeds(self, other: Self) -> bool {
        let product = |nanos: u64, weight: u32| u128::from(nanos) * u128::from(weight);
        product(self.nanos, other.weight) > product(other.nanos, self.weight)
    }
}

/// Credit round robin over the total time on all resources.
#[derive(Clone, Debug)]
pub struct Cbcs {
    charge: Charge,
    /// `None`: auto.
    fixed: Option<Quantum>,
    /// The longest total time by weight in this epoch; `None` before the first packet.
    longest: Option<Quantum>,
    /// Backlogged flows; the first has its turn.
    turns: List,
    links: Links,
    /// Whether the first flow has had its quantum.
    granted: bool,
    /// Turns since a packet was served.
    fruitless: u32,
    /// How often no packet waited any more; wraps.
    epoch: u32,
    /// The epoch of the packet that was last reported.
    reported: u32,
    visits: u64,
}

impl Cbcs {
    /// With a fixed quantum, or with `None` by the longest packet.
    pub fn new(quantum: Option<Duration>, charge: Charge) -> Self {
        Self {
            charge,
            fixed: quantum.map(|time| Quantum::new(time, Weight::ONE)),
            longest: None,
            turns: List::default(),
            links: Links::default(),
            granted: false,
            fruitless: 0,
            epoch: 0,
            reported: 0,
            visits: 0,
        }
    }

    pub(crate) fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        let quantum = spec.value("quantum").map_or(Ok(None), parse_quantum)?;
        Charge::from_spec(spec).map(|charge| Self::new(quantum, charge))
    }

    /// Turns so far: with a sufficient quantum and exact times at most one per packet.
    pub fn visits(&self) -> u64 {
        self.visits
    }

    fn quantum(&self) -> Quantum {
        self.fixed.or(self.longest).unwrap_or(Quantum::LEAST)
    }

    /// A packet of this total time came, or turned out to take it.
    fn provide_for(&mut self, time: Duration, weight: Weight) {
        let needed = Quantum::new(time, weight);
        if self.longest.is_none_or(|longest| needed.exceeds(longest)) {
            self.longest = Some(needed);
        }
    }

    /// Whether the flow's turn is under way.
    fn in_turn(&self, flow: u32) -> bool {
        self.granted && self.turns.first() == Some(flow)
    }

    /// The first flow's turn is over.
    fn pass(&mut self) {
        self.granted = false;
        if let Some(flow) = self.turns.first() {
            self.links.remove(&mut self.turns, flow);
            self.links.push_back(&mut self.turns, flow);
        }
    }

    /// A flow that is in the list leaves it.
    fn leave(&mut self, flow: u32) {
        if self.turns.first() == Some(flow) {
            self.granted = false;
        }
        self.links.remove(&mut self.turns, flow);
        if self.turns.is_empty() {
            self.epoch = self.epoch.wrapping_add(1);
            self.longest = None;
        }
    }

    /// No flow could serve a packet in a whole round: take all rounds but the last until one can.
    fn skip_rounds<const M: usize, P>(&mut self, queues: &mut Queues<M, P, Credit, ()>) {
        let quantum = self.quantum();
        let mut needed = u64::MAX;
        for _ in 0..self.turns.len() {
            let Some(flow) = self.turns.first() else { return };
            let record = queues.flow(flow);
            needed = needed.min(record.state.rounds_needed(quantum, record.weight()));
            self.pass();
        }
        for _ in 0..self.turns.len() {
            let Some(flow) = self.turns.first() else { return };
            let record = queues.flow_mut(flow);
            let weight = record.weight();
            record.state.grant(needed.saturating_sub(1), quantum, weight);
            self.pass();
        }
    }
}

fn parse_quantum(value: &str) -> Result<Option<Duration>, SpecError> {
    if value == "auto" {
        return Ok(None);
    }
    let time = value.parse().ok().filter(|&time: &Duration| time > Duration::ZERO);
    time.map(Some).ok_or_else(|| SpecError::bad_value("quantum", value, "a time above 0 s such as 40 ms, or auto"))
}

impl<const M: usize> Discipline<M> for Cbcs {
    type Flow = Credit;
    type Stamp = ();

    fn stamp(&mut self, _now: Time) {}

    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut Queues<M, P, Credit, ()>) {
        let time = total(&queues.slot(slot).cost);
        let record = queues.flow_mut(flow);
        self.provide_for(time, record.weight());
        if record.head != slot {
            return;
        }
        if record.state.epoch != self.epoch {
            record.state = Credit { epoch: self.epoch, ..Credit::default() };
        }
        self.links.push_back(&mut self.turns, flow);
    }

    fn choose<P>(&mut self, _now: Time, queues: &mut Queues<M, P, Credit, ()>) -> Choice {
        while let Some(flow) = self.turns.first() {
            let record = queues.flow_mut(flow);
            if !self.granted {
                let weight = record.weight();
                record.state.grant(1, self.quantum(), weight);
                self.granted = true;
                self.visits += 1;
            }
            if record.state.nanos > 0 {
                return Choice::Flow(flow);
            }
            self.pass();
            self.fruitless += 1;
            if self.fruitless >= self.turns.len() {
                self.fruitless = 0;
                self.skip_rounds(queues);
            }
        }
        Choice::AwaitProgress
    }

    fn served<P>(
        &mut self,
        _now: Time,
        flow: u32,
        cost: &ResourceVec<M>,
        queues: &mut Queues<M, P, Credit, ()>,
    ) -> ([u64; M], u32) {
        self.fruitless = 0;
        let epoch = self.epoch;
        let record = queues.flow_mut(flow);
        record.state.add(-charged(total(cost)));
        if record.packets == 0 {
            record.state.nanos = record.state.nanos.min(0);
            self.leave(flow);
        } else if record.state.nanos <= 0 {
            self.pass();
        }
        ([0; M], epoch)
    }

    fn progressed(&mut self, _now: Time, ticket: &Ticket<M>, _resource: usize, _event: Progress) {
        // A correction follows at once, if any.
        self.reported = ticket.epoch;
    }

    fn corrected<P>(
        &mut self,
        flow: u32,
        before: &ResourceVec<M>,
        after: &ResourceVec<M>,
        queues: &mut Queues<M, P, Credit, ()>,
    ) {
        if self.charge == Charge::Estimated || self.reported != self.epoch {
            return;
        }
        let record = queues.flow_mut(flow);
        self.provide_for(total(after), record.weight());
        record.state.add(charged(total(before)) - charged(total(after)));
        if record.packets == 0 {
            record.state.nanos = record.state.nanos.min(0);
        } else if self.in_turn(flow) && record.state.nanos <= 0 {
            self.pass();
        }
    }

    fn reweighed<P>(&mut self, flow: u32, _old: Weight, queues: &mut Queues<M, P, Credit, ()>) {
        // Only the first packet is looked at: a turn without a packet may follow each one behind it that is longer.
        if let Some(time) = queues.head(flow).map(|slot| total(&slot.cost)) {
            self.provide_for(time, queues.flow(flow).weight());
        }
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut Queues<M, P, Credit, ()>) {
        if queues.flow(flow).packets > 0 {
            self.leave(flow);
        }
    }

    fn set<P>(
        &mut self,
        parameter: &str,
        value: &str,
        _queues: &mut Queues<M, P, Credit, ()>,
    ) -> Result<(), SpecError> {
        if parameter != "quantum" {
            return Err(ENTRY.cannot_change(parameter));
        }
        self.fixed = parse_quantum(value)?.map(|time| Quantum::new(time, Weight::ONE));
        Ok(())
    }
}
