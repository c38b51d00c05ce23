//! `pcfq`: prediction-based composite fair queueing (Sabrina, Kanhere, Jha, IEEE Transactions on Parallel and Distributed Systems).
//!
//! Shares: equal normalised time, which is time on each resource by the flow's weight there, summed over all resources, in the order of virtual
//! finish times: one decision in front of the first resource, so that nothing is processed only to be dropped at the link.
//!
//! * Parameters: `charge` = what a flow pays in the end: `measured` (default) or `estimated`. `clock` = virtual time, by the `tags` (default)
//!   or by real time as in the `paper`; see below.
//! * Cost per packet: O(log n) for n backlogged flows.
//! * Weights: one for each resource. They share the sum: a backlogged flow's time on a resource is in proportion to its weight there if its
//!   packets need time on no other one.
//! * Guarantees, with exact times, N the normalised time received as of the decisions and C the longest of a packet, for `clock=tags`:
//!   N_i - N_j <= C_j + max over all flows n of C_n over any interval in which flows i and j are backlogged. The paper's delay guarantee, equation (17), is
//!   none, by neither clock: runs of a few packets exceed it (`dovetail_model::bounds_composite::pcfq_delay_s` says why).
//! * Times must be known, or predicted, on arrival.
//! * Example: `pcfq`, `pcfq:charge=estimated,clock=paper`.
//!
//! Tags of the flow's packet k, of times t_r on resource r, for M resources (equations (3) to (6), M = 2 there):
//!
//! ```text
//! F_k = S_k + sum over r of t_r / w_r               the link's time is that of the resized packet
//! S_k = max( F_k-1, V(a_k) )                        clock=tags: F_k-1 if packet k finds another one waiting
//! clock=tags     V = the smallest S of the first waiting packets
//! clock=paper    dV/dt = 1 / (sum over flows with waiting packets of sum over r of w_r)
//! ```
//!
//! Served is the packet with the smallest F; ties go to the flow with the lowest index. Packets leave the resources in the order in
//! which they enter the first: first come, first served in between.
//!
//! Differences from the paper, with reasons:
//! * V is read off the tags by default. By (5) and (6) it falls behind them: with one bottleneck it rises half as fast as they do,
//!   with both resources busy a quarter as fast, and a flow that comes (back) after a busy second is served alone for half a second and more.
//!   By the tags a flow that comes starts where the last of those that wait stands.
//! * Behind another packet a packet starts at that one's finish tag (`clock=tags`). With exact times V is never later than that; but where a
//!   measurement has lowered the finish tag, V would keep what the flow is owed.
//! * V is the largest F when no packet waits: the paper leaves it open while nobody is active. No flow has credit or debt then.
//! * `charge=measured`: the estimate is replaced in F by what was measured, so an understated flow pays with its next packet. The paper
//!   leaves the estimate.
//! * O(log n), not O(n): the flows in (6) are those that wait here, not those of a fluid, and a running sum does.
//! * A packet of no time at all counts as one nanosecond.

use dovetail_units::{ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Parameter, Resources, Weights};
use crate::charge::{self, Charge};
use crate::one_resource::{FlowTags, FluidClock, REBASE_AT};
use crate::per_flow::{Choice, Discipline};
use crate::queues::{IndexedHeap, Queues};
use crate::spec::{Spec, SpecError, choice};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "pcfq",
    summary: "Prediction-based composite fair queueing",
    shares: "equal total over all resources of time by weight, by virtual finish times",
    resources: Resources::Any,
    parameters: &[
        charge::PARAMETER,
        Parameter {
            name: "clock",
            value: "tags | paper",
            default: "tags",
            meaning: "virtual time: by the tags of what waits, or by the paper's equations (5) and (6)",
            settable: false,
        },
    ],
    complexity: "O(log n)",
    guarantee: "N_i - N_j <= C_j + max C, N total of time by weight, C a packet's longest",
    weights: Weights::Each,
    work_conserving: "yes",
    costs: "on arrival; corrected by measurement in the next tag unless charge=estimated",
    paper: "Sabrina, Kanhere, Jha, IEEE TPDS (PCFQ)",
    brief: Brief { fairness: "total time", work_conserving: "yes", costs_ahead: "yes", paper: "Sabrina et al." },
};

/// How virtual time passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Clock {
    /// The smallest start tag of the first waiting packets.
    #[default]
    Tags,
    /// By the paper's equations (5) and (6).
    Paper,
}

/// A flow's tags, and its weights, which those that wait count in (6) with.
#[derive(Clone, Copy, Debug)]
pub struct Composite<const M: usize> {
    tags: FlowTags<M>,
    weights: [Weight; M],
}

impl<const M: usize> Default for Composite<M> {
    fn default() -> Self {
        Self { tags: FlowTags::default(), weights: [Weight::ONE; M] }
    }
}

type FlowQueues<const M: usize, P> = Queues<M, P, Composite<M>, u64>;

/// Composite fair queueing of all resources together.
#[derive(Clone, Debug)]
pub struct Pcfq {
    charge: Charge,
    clock: Clock,
    /// V; no flow has an end in it.
    virtual_time: FluidClock,
    /// Until when V has run.
    settled: Time,
    /// The largest finish tag of any packet served.
    latest_finish: u64,
    /// Flows with waiting packets by the finish and by the start tags of the first.
    heads: IndexedHeap<u64>,
    starts: IndexedHeap<u64>,
    rebase_at: u64,
    rebases: u32,
}

impl Pcfq {
    /// That charges and passes virtual time so.
    pub fn new(charge: Charge, clock: Clock) -> Self {
        Self {
            charge,
            clock,
            virtual_time: FluidClock::default(),
            settled: Time::ZERO,
            latest_finish: 0,
            heads: IndexedHeap::default(),
            starts: IndexedHeap::default(),
            rebase_at: REBASE_AT,
            rebases: 0,
        }
    }

    pub(crate) fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        let choices = [("tags", Clock::Tags), ("paper", Clock::Paper)];
        let clock = spec.value("clock").map_or(Ok(Clock::default()), |value| choice("clock", value, choices))?;
        Charge::from_spec(spec).map(|charge| Self::new(charge, clock))
    }

    /// For tests: lower all tags by half of `tag` whenever the virtual time reaches it.
    pub fn rebasing_at(mut self, tag: u64) -> Self {
        self.rebase_at = tag.clamp(2, REBASE_AT);
        self
    }

    /// How often tags were lowered; wraps.
    pub fn rebases(&self) -> u32 {
        self.rebases
    }

    /// Virtual time passes up to `now`.
    fn advance(&mut self, now: Time) {
        let elapsed = now.since(self.settled).as_nanos();
        self.settled = now;
        if self.clock == Clock::Paper {
            self.virtual_time.advance(elapsed, |_| Weight::ONE);
        }
    }

    /// The first waiting packets have changed: V keeps up with them.
    fn keep_up(&mut self) {
        let least = match (self.clock, self.starts.peek()) {
            (_, None) => self.latest_finish,
            (Clock::Tags, Some((start, _))) => start,
            (Clock::Paper, Some(_)) => return,
        };
        self.virtual_time.jump(least, |_| Weight::ONE);
    }

    /// Tag the flow's first waiting packet and put it among the heads.
    fn place_head<const M: usize, P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        let Some((cost, stamp)) = queues.head(flow).map(|s| (s.cost, s.stamp)) else {
            self.heads.remove(flow);
            self.starts.remove(flow);
            return self.keep_up();
        };
        let Composite { tags, weights } = &mut queues.flow_mut(flow).state;
        if self.clock == Clock::Paper {
            tags.set_floor(stamp);
        }
        tags.tag_head_by(cost.0, *weights);
        self.heads.set(flow, tags.head_finish());
        self.starts.set(flow, tags.start());
        self.keep_up();
    }

    /// The flow's weights count in (6).
    fn activate<const M: usize>(&mut self, weights: [Weight; M], flow: u32) {
        weights.iter().for_each(|&weight| self.virtual_time.join(flow, weight));
    }

    /// The flow's weights count no longer.
    fn deactivate<const M: usize>(&mut self, weights: [Weight; M], flow: u32) {
        weights.iter().for_each(|&weight| self.virtual_time.leave(flow, weight));
    }

    /// Lower all tags before they could overflow: O(flows + packets), once in 19 hours of virtual time. By `clock=paper` V may be so
    /// far behind that it is not lowered as far.
    fn keep_in_range<const M: usize, P>(&mut self, queues: &mut FlowQueues<M, P>) {
        if self.latest_finish.max(self.virtual_time.virtual_time()) < self.rebase_at {
            return;
        }
        let by = self.rebase_at / 2;
        self.virtual_time.lower(by);
        self.latest_finish = self.latest_finish.saturating_sub(by);
        queues.flows_mut().for_each(|flow| flow.state.tags.lower(by));
        queues.stamps_mut().for_each(|stamp| *stamp = stamp.saturating_sub(by));
        self.heads.rekey(|tag| tag.saturating_sub(by));
        self.starts.rekey(|tag| tag.saturating_sub(by));
        self.rebases = self.rebases.wrapping_add(1);
    }
}

impl<const M: usize> Discipline<M> for Pcfq {
    type Flow = Composite<M>;
    /// V at the packet's arrival.
    type Stamp = u64;

    fn added<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        queues.flow_mut(flow).state.weights = queues.weights(flow).weights();
    }

    fn stamp(&mut self, _now: Time) -> u64 {
        self.virtual_time.virtual_time()
    }

    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        if queues.flow(flow).head != slot {
            return;
        }
        let state = &mut queues.flow_mut(flow).state;
        state.tags.set_floor(self.virtual_time.virtual_time());
        self.activate(state.weights, flow);
        self.place_head(flow, queues);
    }

    fn choose<P>(&mut self, _now: Time, _queues: &mut FlowQueues<M, P>) -> Choice {
        self.heads.peek().map_or(Choice::AwaitProgress, |(_, flow)| Choice::Flow(flow))
    }

    fn served<P>(
        &mut self,
        now: Time,
        flow: u32,
        _cost: &ResourceVec<M>,
        queues: &mut FlowQueues<M, P>,
    ) -> ([u64; M], u32) {
        self.advance(now);
        let record = queues.flow_mut(flow);
        record.state.tags.serve_head();
        self.latest_finish = self.latest_finish.max(record.state.tags.finish().ticks);
        if record.packets == 0 {
            self.deactivate(record.state.weights, flow);
        }
        self.place_head(flow, queues);
        self.keep_in_range(queues);
        ([0; M], 0)
    }

    fn corrected<P>(
        &mut self,
        flow: u32,
        before: &ResourceVec<M>,
        after: &ResourceVec<M>,
        queues: &mut FlowQueues<M, P>,
    ) {
        if self.charge == Charge::Estimated {
            return;
        }
        let Composite { tags, weights } = &mut queues.flow_mut(flow).state;
        tags.correct_by(before.0, after.0, *weights);
        self.latest_finish = self.latest_finish.max(tags.finish().ticks);
        self.place_head(flow, queues);
    }

    fn settle<P>(&mut self, now: Time, queues: &mut FlowQueues<M, P>) {
        self.advance(now);
        self.keep_in_range(queues);
    }

    fn reweighed<P>(&mut self, flow: u32, _old: Weight, queues: &mut FlowQueues<M, P>) {
        let weights = queues.weights(flow).weights();
        let record = queues.flow_mut(flow);
        let old = core::mem::replace(&mut record.state.weights, weights);
        if record.packets > 0 {
            old.iter().zip(weights).for_each(|(&old, new)| self.virtual_time.reweigh(old, new));
        }
        self.place_head(flow, queues);
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow(flow);
        if record.packets > 0 {
            self.deactivate(record.state.weights, flow);
            self.heads.remove(flow);
            self.starts.remove(flow);
            self.keep_up();
        }
    }

    fn set<P>(&mut self, parameter: &str, _value: &str, _queues: &mut FlowQueues<M, P>) -> Result<(), SpecError> {
        Err(ENTRY.cannot_change(parameter))
    }
}
