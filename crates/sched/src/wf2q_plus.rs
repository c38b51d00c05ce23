//! `wf2q+`: worst-case fair weighted fair queueing with a work-driven virtual time (Bennett, Zhang, IEEE/ACM Transactions on
//! Networking 5(5), 1997).
//!
//! Shares: equal (weighted) processing time on one resource; of the packets that should have begun, the one that should end first.
//!
//! * Parameters: `resource` = number of the resource, counted from 0 along the pipeline; default the last (the link). `charge` = what a flow pays
//!   in the end, and V counts as work: `measured` (default) or `estimated`.
//! * Weights: that on the resource that is shared.
//! * Cost per packet: O(log n) amortised for n backlogged flows.
//! * Guarantees at a resource that is never kept waiting, with r_i = w_i / (sum of the weights of all flows), s_i the longest time of a
//!   packet of flow i and L of any: a packet that arrives when its flow has work Q in the system, its own included, ends at most
//!   Q/r_i + s_i/r_i + L - s_i later (worst-case fair); it ends at most L after it does at a server of its own of speed r_i. While
//!   every flow is backlogged, no flow is ahead of GPS by more than (1 - r_i) s_i or behind it by more than L.
//! * Times must be known in advance; a wrong one is corrected in the flow's next tag and in the virtual time, unless `charge=estimated`.
//! * Example: `wf2q+`, `wf2q+:resource=0`, `wf2q+:charge=estimated`.
//!
//! Tags of the flow's packet k, of time s, given when it becomes the first of its queue:
//!
//! ```text
//! S_k = F_k-1 if it waited behind packet k-1, else max( V(a_k), F_k-1 )     F_k = S_k + s_k / w
//! V   = max( V + work / W, the smallest S of the first packets )            after some work on the resource
//! ```
//!
//! Served is, of the first packets with S <= V, the one with the smallest F; ties go to the flow with the lowest index.
//!
//! Differences from the paper, with reasons:
//! * Weights need not add up to one: W is the sum of the weights of the flows that wait or whose F is still ahead of V. Others are
//!   not owed anything now. The guarantees hold as if W were always the sum over all flows, which it never exceeds.
//! * Work is that of the packets handed out, as time passes, and all of it when the next one is asked for: the
//!   scheduler stands at the entrance of the pipeline, whose pace need not be that of the resource.
//! * V is not set to zero at the end of a busy period, but to the largest F: no flow has credit or debt.
//! * A packet of no time on the resource counts as one nanosecond.

use dovetail_units::{ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Resources, Weights};
use crate::charge::{self, Charge};
use crate::contract::FlowConfig;
use crate::one_resource::{FlowTags, FluidClock, REBASE_AT, RESOURCE, charged, resource};
use crate::per_flow::{Choice, Discipline};
use crate::queues::{IndexedHeap, Queues};
use crate::spec::{Spec, SpecError};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "wf2q+",
    summary: "Worst-case fair weighted fair queueing of one resource",
    shares: "equal weighted time on one resource, never early and never late by more than a packet",
    resources: Resources::Any,
    parameters: &[RESOURCE, charge::PARAMETER],
    complexity: "O(log n)",
    guarantee: "a packet that finds work Q of its flow ends within (Q + s_i)/r_i + L - s_i, r_i = w_i / sum of all w",
    weights: Weights::Shared,
    work_conserving: "yes",
    costs: "at the head of the queue; corrected by measurement in the next tag unless charge=estimated",
    paper: "Bennett, Zhang, IEEE/ACM ToN 5(5), 1997",
    brief: Brief { fairness: "GPS, never early", work_conserving: "yes", costs_ahead: "at head", paper: "ToN 1997" },
};

type FlowQueues<const M: usize, P> = Queues<M, P, FlowTags, ()>;

/// WF2Q+ of one resource.
#[derive(Clone, Debug)]
pub struct Wf2qPlus {
    resource: usize,
    charge: Charge,
    /// V, and the flows that are owed service or had it early.
    clock: FluidClock,
    /// Work of packets handed out that V does not count yet, in nanoseconds; negative after they took less than was counted.
    pending: i64,
    /// Until when the passing of time has been seen.
    settled: Time,
    /// Backlogged flows whose first packets start after V (or did when last looked at), by start tag.
    early: IndexedHeap<u64>,
    /// Backlogged flows whose first packets may start, by finish tag.
    eligible: IndexedHeap<u64>,
    rebase_at: u64,
    rebases: u32,
}

impl Wf2qPlus {
    /// Of this resource, charging so.
    pub fn new(resource: usize, charge: Charge) -> Self {
        Self {
            resource,
            charge,
            clock: FluidClock::default(),
            pending: 0,
            settled: Time::ZERO,
            early: IndexedHeap::default(),
            eligible: IndexedHeap::default(),
            rebase_at: REBASE_AT,
            rebases: 0,
        }
    }

    pub(crate) fn from_spec<const M: usize>(spec: &Spec) -> Result<Self, SpecError> {
        Ok(Self::new(resource::<M>(spec)?, Charge::from_spec(spec)?))
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

    /// Count so much of the pending work, and let V follow the smallest start tag.
    fn work<const M: usize, P>(&mut self, nanos: i64, queues: &mut FlowQueues<M, P>) {
        let weight = |flow| queues.flow(flow).weight();
        self.pending -= nanos;
        self.clock.advance(nanos.unsigned_abs(), weight);
        match self.early.peek() {
            Some((start, _)) if self.eligible.is_empty() => self.clock.jump(start, weight),
            None if self.eligible.is_empty() && self.pending <= 0 => {
                self.pending = 0;
                self.clock.end_all(weight);
            }
            _ => (),
        }
        if self.clock.virtual_time() >= self.rebase_at {
            self.rebase(queues);
        }
    }

    /// Tag the flow's first waiting packet and put it where it belongs.
    fn place_head<const M: usize, P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.early.remove(flow);
        let Some(cost) = queues.head(flow).map(|s| s.cost[self.resource]) else {
            self.eligible.remove(flow);
            return;
        };
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        record.state.tag_head(cost, weight);
        if record.state.start() <= self.clock.virtual_time() {
            self.eligible.set(flow, record.state.head_finish());
        } else {
            self.eligible.remove(flow);
            self.early.set(flow, record.state.start());
        }
    }

    fn is_active<const M: usize, P>(&self, flow: u32, queues: &FlowQueues<M, P>) -> bool {
        queues.flow(flow).packets > 0 || self.clock.has_end(flow)
    }

    /// O(flows), once in 19 hours of virtual time.
    fn rebase<const M: usize, P>(&mut self, queues: &mut FlowQueues<M, P>) {
        let by = self.rebase_at / 2;
        self.clock.lower(by);
        queues.flows_mut().for_each(|flow| flow.state.lower(by));
        self.early.rekey(|tag| tag.saturating_sub(by));
        self.eligible.rekey(|tag| tag.saturating_sub(by));
        self.rebases = self.rebases.wrapping_add(1);
    }
}

impl<const M: usize> Discipline<M> for Wf2qPlus {
    type Flow = FlowTags;
    type Stamp = ();

    fn weight_of(&self, config: &FlowConfig<M>) -> Weight {
        config.weights()[self.resource]
    }

    fn stamp(&mut self, _now: Time) {}

    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        if queues.flow(flow).head != slot {
            return;
        }
        let virtual_time = self.clock.virtual_time();
        let record = queues.flow_mut(flow);
        record.state.set_floor(virtual_time);
        self.clock.join(flow, record.weight());
        self.place_head(flow, queues);
    }

    fn choose<P>(&mut self, now: Time, queues: &mut FlowQueues<M, P>) -> Choice {
        self.settled = now;
        self.work(self.pending.max(0), queues);
        while let Some((_, flow)) = self.early.peek().filter(|&(start, _)| start <= self.clock.virtual_time()) {
            self.early.remove(flow);
            self.eligible.set(flow, queues.flow(flow).state.head_finish());
        }
        self.eligible.peek().map_or(Choice::AwaitProgress, |(_, flow)| Choice::Flow(flow))
    }

    fn served<P>(
        &mut self,
        _now: Time,
        flow: u32,
        cost: &ResourceVec<M>,
        queues: &mut FlowQueues<M, P>,
    ) -> ([u64; M], u32) {
        self.pending = self.pending.saturating_add(charged(cost[self.resource]));
        let record = queues.flow_mut(flow);
        record.state.serve_head();
        if record.packets == 0 {
            self.clock.end_at(flow, record.state.finish().ticks, record.weight(), true);
        }
        self.place_head(flow, queues);
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
        let (before, after) = (before[self.resource], after[self.resource]);
        self.pending = self.pending.saturating_add(charged(after) - charged(before));
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        record.state.correct(before, after, weight);
        let finish = record.state.finish().ticks;
        if record.packets == 0 && (finish > self.clock.virtual_time() || self.clock.has_end(flow)) {
            self.clock.end_at(flow, finish, weight, false);
        }
        self.place_head(flow, queues);
    }

    fn settle<P>(&mut self, now: Time, queues: &mut FlowQueues<M, P>) {
        let elapsed = i64::try_from(now.since(self.settled).as_nanos()).unwrap_or(i64::MAX);
        self.settled = now;
        self.work(elapsed.min(self.pending).max(0), queues);
    }

    fn reweighed<P>(&mut self, flow: u32, old: Weight, queues: &mut FlowQueues<M, P>) {
        if self.is_active(flow, queues) {
            self.clock.reweigh(old, queues.flow(flow).weight());
        }
        self.place_head(flow, queues);
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        if self.is_active(flow, queues) {
            self.clock.leave(flow, queues.flow(flow).weight());
        }
        self.early.remove(flow);
        self.eligible.remove(flow);
    }

    fn set<P>(&mut self, parameter: &str, _value: &str, _queues: &mut FlowQueues<M, P>) -> Result<(), SpecError> {
        Err(ENTRY.cannot_change(parameter))
    }
}
