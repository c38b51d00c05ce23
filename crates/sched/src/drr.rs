//! `drr`: deficit round robin (Shreedhar, Varghese, SIGCOMM 1995; IEEE/ACM Transactions on Networking 4(3), 1996).
//!
//! Shares: equal (weighted) processing time on one resource, by turns.
//!
//! * Parameters: `resource` = number of the resource, counted from 0 along the pipeline; default the last (the link).
//!   `quantum` = time that a flow of weight 1 gets per turn, above 0 s, or `auto` (default): as much as lets every backlogged
//!   flow serve a packet in every round. Settable while running. `charge` = what a flow pays in the end: `measured` (default) or `estimated`.
//! * Weights: that on the resource that is shared.
//! * Cost per packet: O(1) with `auto`, and with a quantum not below any packet's time divided by its flow's weight. With a smaller
//!   one up to O(n) for n backlogged flows, however much smaller it is.
//! * Guarantees: |W_i/w_i - W_j/w_j| <= Q + s_i/w_i + s_j/w_j over any interval in which flows i and j are backlogged, W the time
//!   received on the resource, s the longest of a packet, and Q the largest quantum meanwhile (the paper's 2 Max + Q).
//! * Times need to be known when a packet is first in its queue; a wrong one is corrected in the flow's deficit, unless
//!   `charge=estimated`.
//! * Example: `drr`, `drr:quantum=120 us`, `drr:resource=0`, `drr:charge=estimated`.
//!
//! Backlogged flows stand in a list. The first flow's deficit grows by its quantum; it serves packets as long as the next
//! one's time is at most the deficit, which falls by it; then it goes to the end of the list. A flow that joins stands at the
//! end, and a flow without packets leaves and loses its deficit.
//!
//! Differences from the paper, with reasons:
//! * Deficits count time divided by weight, so that one quantum is that of every flow, and flows with w get w times as much.
//! * `auto`: the quantum of a round is the largest time by weight of the first packets met in the round before or joined since.
//!   The paper's "at least the largest packet", which makes DRR O(1), then needs no knowledge of packets to come, and one
//!   packet of minutes does not make turns long for ever.
//! * A deficit may be negative after a measured time: the flow pays in its next turns, also after a pause.
//! * Rounds in which no flow could serve a packet are taken at once.
//! * A packet of no time on the resource counts as one nanosecond.

use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Parameter, Resources, Weights};
use crate::charge::{self, Charge};
use crate::contract::FlowConfig;
use crate::one_resource::{RESOURCE, charged, resource, virtual_time};
use crate::per_flow::{Choice, Discipline};
use crate::queues::{FlowRecord, Links, List, Queues};
use crate::spec::{Spec, SpecError};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "drr",
    summary: "Deficit round robin over one resource",
    shares: "equal weighted time on one resource, by turns",
    resources: Resources::Any,
    parameters: &[
        RESOURCE,
        Parameter {
            name: "quantum",
            value: "a time above 0 s, or auto",
            default: "auto",
            meaning: "time per turn and weight; auto: as much as lets every flow serve a packet per round; with less, a decision takes up to O(n)",
            settable: true,
        },
        charge::PARAMETER,
    ],
    complexity: "O(1)",
    guarantee: "|W_i/w_i - W_j/w_j| <= Q + s_i/w_i + s_j/w_j on that resource, Q the largest quantum",
    weights: Weights::Shared,
    work_conserving: "yes",
    costs: "at the head of the queue; corrected by measurement unless charge=estimated",
    paper: "Shreedhar, Varghese, SIGCOMM 1995; IEEE/ACM ToN 4(3), 1996",
    brief: Brief { fairness: "processing time", work_conserving: "yes", costs_ahead: "at head", paper: "SIGCOMM 1995" },
};

/// Deficits and quanta are at most this, in ticks.
const LONGEST: i64 = 1 << 61;

/// A flow's deficit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deficit {
    /// Time by weight that the flow may still use in this turn, in ticks.
    ticks: i64,
    /// What packets took below one tick, in thousandths of the weight.
    part: u32,
    /// The round in which the flow's next turn is.
    round: u32,
}

impl Deficit {
    fn add(&mut self, ticks: i64) {
        self.ticks = self.ticks.saturating_add(ticks).clamp(-LONGEST, LONGEST);
    }

    /// The quantum with which a packet of so many ticks is surely served in the next turn.
    fn quantum_for(&self, head: i64) -> i64 {
        head.saturating_sub(self.ticks.min(0)).min(LONGEST)
    }
}

/// Deficit round robin over one resource.
#[derive(Clone, Debug)]
pub struct Drr {
    resource: usize,
    charge: Charge,
    /// `None`: auto.
    fixed: Option<i64>,
    /// Backlogged flows; the first has its turn.
    turns: List,
    links: Links,
    /// Whether the first flow has had its quantum.
    granted: bool,
    /// Turns since a packet was served.
    fruitless: u32,
    round: u32,
    /// The quantum of this round, and the least for the next one.
    quantum: i64,
    next_quantum: i64,
    /// Turns so far.
    visits: u64,
}

impl Drr {
    /// Over this resource, with a fixed quantum, or with `None` by the largest packets, charging so.
    pub fn new(resource: usize, quantum: Option<Duration>, charge: Charge) -> Self {
        Self {
            resource,
            charge,
            fixed: quantum.map(in_ticks),
            turns: List::default(),
            links: Links::default(),
            granted: false,
            fruitless: 0,
            round: 0,
            quantum: 1,
            next_quantum: 1,
            visits: 0,
        }
    }

    pub(crate) fn from_spec<const M: usize>(spec: &Spec) -> Result<Self, SpecError> {
        let quantum = spec.value("quantum").map_or(Ok(None), parse_quantum)?;
        Ok(Self::new(resource::<M>(spec)?, quantum, Charge::from_spec(spec)?))
    }

    /// Turns so far: with a sufficient quantum at most one per packet.
    pub fn visits(&self) -> u64 {
        self.visits
    }

    /// Time by weight of the flow's first packet.
    fn head_time<const M: usize, P>(&self, flow: u32, queues: &Queues<M, P, Deficit, ()>) -> i64 {
        let cost = queues.head(flow).map_or(Duration::ZERO, |slot| slot.cost[self.resource]);
        self.time_of(cost, queues.flow(flow)).0
    }

    fn time_of(&self, cost: Duration, record: &FlowRecord<Deficit>) -> (i64, u32) {
        virtual_time(charged(cost), record.weight(), record.state.part)
    }

    /// The next round's quantum must do for the flow's first packet.
    fn provide_for<const M: usize, P>(&mut self, flow: u32, queues: &Queues<M, P, Deficit, ()>) {
        let head = self.head_time(flow, queues);
        self.next_quantum = self.next_quantum.max(queues.flow(flow).state.quantum_for(head));
    }

    /// The first flow's turn begins.
    fn grant<const M: usize, P>(&mut self, flow: u32, queues: &mut Queues<M, P, Deficit, ()>) {
        let state = &mut queues.flow_mut(flow).state;
        if state.round != self.round {
            self.round = state.round;
            self.quantum = core::mem::replace(&mut self.next_quantum, 1);
        }
        state.round = self.round.wrapping_add(1);
        state.add(self.fixed.unwrap_or(self.quantum));
        self.granted = true;
        self.visits += 1;
    }

    /// The first flow's turn is over.
    fn pass<const M: usize, P>(&mut self, queues: &mut Queues<M, P, Deficit, ()>) {
        self.granted = false;
        self.fruitless += 1;
        self.rotate();
        if self.fruitless >= self.turns.len() {
            self.fruitless = 0;
            self.skip_rounds(queues);
        }
    }

    /// Nobody could serve a packet in a whole round: take all rounds but the last until somebody can.
    fn skip_rounds<const M: usize, P>(&mut self, queues: &mut Queues<M, P, Deficit, ()>) {
        let Some(quantum) = self.fixed else { return };
        let mut least = i64::MAX;
        for _ in 0..self.turns.len() {
            let Some(flow) = self.rotate() else { return };
            least = least.min(self.head_time(flow, queues).saturating_sub(queues.flow(flow).state.ticks));
        }
        let rounds = (least.saturating_sub(1) / quantum).max(0);
        for _ in 0..self.turns.len() {
            let Some(flow) = self.rotate() else { return };
            queues.flow_mut(flow).state.add(rounds.saturating_mul(quantum));
        }
    }

    /// Move the first flow to the end; returns it.
    fn rotate(&mut self) -> Option<u32> {
        let flow = self.turns.first()?;
        self.links.remove(&mut self.turns, flow);
        self.links.push_back(&mut self.turns, flow);
        Some(flow)
    }

    /// A flow that is in the list leaves it.
    fn leave(&mut self, flow: u32) {
        if self.turns.first() == Some(flow) {
            self.granted = false;
        }
        self.links.remove(&mut self.turns, flow);
    }
}

fn in_ticks(time: Duration) -> i64 {
    virtual_time(charged(time), Weight::ONE, 0).0
}

fn parse_quantum(value: &str) -> Result<Option<Duration>, SpecError> {
    if value == "auto" {
        return Ok(None);
    }
    let time = value.parse().ok().filter(|&time: &Duration| time > Duration::ZERO);
    time.map(Some).ok_or_else(|| SpecError::bad_value("quantum", value, "a time above 0 s such as 120 us, or auto"))
}

impl<const M: usize> Discipline<M> for Drr {
    type Flow = Deficit;
    type Stamp = ();

    fn weight_of(&self, config: &FlowConfig<M>) -> Weight {
        config.weights()[self.resource]
    }

    fn stamp(&mut self, _now: Time) {}

    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut Queues<M, P, Deficit, ()>) {
        if queues.flow(flow).head == slot {
            queues.flow_mut(flow).state.round = self.round.wrapping_add(1);
            self.links.push_back(&mut self.turns, flow);
            self.provide_for(flow, queues);
        }
    }

    fn choose<P>(&mut self, _now: Time, queues: &mut Queues<M, P, Deficit, ()>) -> Choice {
        while let Some(flow) = self.turns.first() {
            if !self.granted {
                self.grant(flow, queues);
            }
            if self.head_time(flow, queues) <= queues.flow(flow).state.ticks {
                return Choice::Flow(flow);
            }
            self.provide_for(flow, queues);
            self.pass(queues);
        }
        Choice::AwaitProgress
    }

    fn served<P>(
        &mut self,
        _now: Time,
        flow: u32,
        cost: &ResourceVec<M>,
        queues: &mut Queues<M, P, Deficit, ()>,
    ) -> ([u64; M], u32) {
        self.fruitless = 0;
        let (ticks, part) = self.time_of(cost[self.resource], queues.flow(flow));
        let record = queues.flow_mut(flow);
        record.state.add(-ticks);
        record.state.part = part;
        if record.packets == 0 {
            record.state.ticks = record.state.ticks.min(0);
            self.leave(flow);
        }
        ([0; M], 0)
    }

    fn corrected<P>(
        &mut self,
        flow: u32,
        before: &ResourceVec<M>,
        after: &ResourceVec<M>,
        queues: &mut Queues<M, P, Deficit, ()>,
    ) {
        if self.charge == Charge::Estimated {
            return;
        }
        let more = charged(after[self.resource]) - charged(before[self.resource]);
        let record = queues.flow_mut(flow);
        let (ticks, part) = virtual_time(more, record.weight(), record.state.part);
        record.state.add(-ticks);
        record.state.part = part;
        if record.packets == 0 {
            record.state.ticks = record.state.ticks.min(0);
        } else {
            self.provide_for(flow, queues);
        }
    }

    fn reweighed<P>(&mut self, flow: u32, old: Weight, queues: &mut Queues<M, P, Deficit, ()>) {
        let record = queues.flow_mut(flow);
        let scaled =
            i128::from(record.state.ticks) * i128::from(old.as_milli()) / i128::from(record.weight().as_milli());
        record.state.ticks = scaled.clamp(-i128::from(LONGEST), i128::from(LONGEST)) as i64;
        if record.packets > 0 {
            self.provide_for(flow, queues);
        }
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut Queues<M, P, Deficit, ()>) {
        if queues.flow(flow).packets > 0 {
            self.leave(flow);
        }
    }

    fn set<P>(
        &mut self,
        parameter: &str,
        value: &str,
        _queues: &mut Queues<M, P, Deficit, ()>,
    ) -> Result<(), SpecError> {
        if parameter != "quantum" {
            return Err(ENTRY.cannot_change(parameter));
        }
        self.fixed = parse_quantum(value)?.map(in_ticks);
        Ok(())
    }
}
