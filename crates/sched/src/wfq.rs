//! `wfq`: weighted fair queueing, also called packet-by-packet GPS (Demers, Keshav, Shenker, SIGCOMM 1989; Parekh, Gallager,
//! IEEE/ACM Transactions on Networking 1(3), 1993).
//!
//! Shares: equal (weighted) processing time on one resource, in the order in which packets finish in a fluid that serves all
//! backlogged flows at once (GPS).
//!
//! * Parameters: `resource` = number of the resource, counted from 0 along the pipeline; default the last (the link). `charge` = what a flow pays
//!   in the end, and GPS serves: `measured` (default) or `estimated`.
//! * Weights: that on the resource that is shared.
//! * Cost per packet: O(log n) amortised for n backlogged flows; a change of a flow's weight: O(its packets).
//! * Guarantees: with times known and the resource never kept waiting, every packet finishes at most one longest packet time
//!   after it does in GPS (Parekh, Gallager, Theorem 1). It may finish far earlier.
//! * Times must be known in advance; a wrong one is corrected in the flow's next tag and in GPS, unless `charge=estimated`.
//! * Example: `wfq`, `wfq:resource=0`, `wfq:charge=estimated`.
//!
//! Tags of the flow's packet k, of time s:
//!
//! ```text
//! F_k = max( V(a_k), F_k-1 ) + s_k / w
//! dV/dt = 1 / (sum of the weights of the flows that are backlogged in GPS)
//! ```
//!
//! Served is the packet with the smallest F; ties go to the flow with the lowest index. V is exact: the flows that GPS serves are
//! kept by the tags of their last packets, at which they leave it; they are not the flows that wait here.
//!
//! Differences from the paper, with reasons:
//! * V is held, not set to zero, while GPS is idle. All finish tags are then at most V: no flow has credit or debt.
//! * GPS runs in real time at the resource's full speed. Where another resource is the bottleneck GPS is ahead of the packets, and
//!   order tends to order of arrival: a weakness of WFQ at a resource that is not always available.
//! * A packet of no time on the resource counts as one nanosecond.
//! * A changed weight holds from the flow's first waiting packet on.

use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Resources, Weights};
use crate::charge::{self, Charge};
use crate::contract::FlowConfig;
use crate::one_resource::{FlowTags, FluidClock, REBASE_AT, RESOURCE, Tag, charged, resource};
use crate::per_flow::{Choice, Discipline};
use crate::queues::{IndexedHeap, NIL, Queues};
use crate::spec::{Spec, SpecError};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "wfq",
    summary: "Weighted fair queueing of one resource by exact GPS",
    shares: "equal weighted time on one resource, in the order of the finishes in GPS",
    resources: Resources::Any,
    parameters: &[RESOURCE, charge::PARAMETER],
    complexity: "O(log n)",
    guarantee: "every packet finishes by its finish in GPS and one longest packet time",
    weights: Weights::Shared,
    work_conserving: "yes",
    costs: "in advance; corrected by measurement in the next tag unless charge=estimated",
    paper: "Parekh, Gallager, IEEE/ACM ToN 1(3), 1993",
    brief: Brief { fairness: "GPS", work_conserving: "yes", costs_ahead: "yes", paper: "ToN 1993" },
};

/// A flow's tags, and where GPS stands with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct WfqFlow {
    tags: FlowTags,
    /// Finish tag of the flow's last packet, waiting or served: GPS is done with the flow when V reaches it.
    last: Tag,
}

type FlowQueues<const M: usize, P> = Queues<M, P, WfqFlow, u64>;

/// Weighted fair queueing of one resource.
#[derive(Clone, Debug)]
pub struct Wfq {
    resource: usize,
    charge: Charge,
    /// V, and the flows backlogged in GPS.
    gps: FluidClock,
    /// Until when GPS has run.
    settled: Time,
    /// Flows with waiting packets by the finish tags of the first.
    heads: IndexedHeap<u64>,
    rebase_at: u64,
    rebases: u32,
}

impl Wfq {
    /// Of this resource, charging so.
    pub fn new(resource: usize, charge: Charge) -> Self {
        Self {
            resource,
            charge,
            gps: FluidClock::default(),
            settled: Time::ZERO,
            heads: IndexedHeap::default(),
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

    /// Tag the flow's first waiting packet and put it among the heads.
    fn place_head<const M: usize, P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        let Some((cost, stamp)) = queues.head(flow).map(|s| (s.cost[self.resource], s.stamp)) else {
            self.heads.remove(flow);
            return;
        };
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        record.state.tags.set_floor(stamp);
        record.state.tags.tag_head(cost, weight);
        self.heads.set(flow, record.state.tags.head_finish());
    }

    /// GPS serves the flow until `last`.
    fn set_last<const M: usize, P>(&mut self, flow: u32, last: Tag, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        record.state.last = last;
        if last.ticks > self.gps.virtual_time() || self.gps.has_end(flow) {
            self.gps.end_at(flow, last.ticks, record.weight(), false);
        }
    }

    /// The finish tag of the flow's last packet, from that of the last one served.
    fn recomputed_last<const M: usize, P>(&self, flow: u32, queues: &FlowQueues<M, P>) -> Tag {
        let record = queues.flow(flow);
        let (mut last, mut at) = (record.state.tags.finish(), record.head);
        while at != NIL {
            let slot = queues.slot(at);
            last = last.at_least(slot.stamp).moved(charged(slot.cost[self.resource]), record.weight());
            at = slot.next;
        }
        last
    }

    /// O(flows + packets), once in 19 hours of virtual time.
    fn rebase<const M: usize, P>(&mut self, queues: &mut FlowQueues<M, P>) {
        let by = self.rebase_at / 2;
        self.gps.lower(by);
        for flow in queues.flows_mut() {
            flow.state.tags.lower(by);
            flow.state.last = flow.state.last.lowered(by);
        }
        for stamp in queues.stamps_mut() {
            *stamp = stamp.saturating_sub(by);
        }
        self.heads.rekey(|tag| tag.saturating_sub(by));
        self.rebases = self.rebases.wrapping_add(1);
    }
}

impl<const M: usize> Discipline<M> for Wfq {
    type Flow = WfqFlow;
    /// V at the packet's arrival.
    type Stamp = u64;

    fn weight_of(&self, config: &FlowConfig<M>) -> Weight {
        config.weights()[self.resource]
    }

    fn stamp(&mut self, _now: Time) -> u64 {
        self.gps.virtual_time()
    }

    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        let cost = queues.slot(slot).cost[self.resource];
        let record = queues.flow(flow);
        let last = record.state.last.at_least(self.gps.virtual_time()).moved(charged(cost), record.weight());
        self.set_last(flow, last, queues);
        if queues.flow(flow).head == slot {
            self.place_head(flow, queues);
        }
    }

    fn choose<P>(&mut self, _now: Time, _queues: &mut FlowQueues<M, P>) -> Choice {
        self.heads.peek().map_or(Choice::AwaitProgress, |(_, flow)| Choice::Flow(flow))
    }

    fn served<P>(
        &mut self,
        _now: Time,
        flow: u32,
        _cost: &ResourceVec<M>,
        queues: &mut FlowQueues<M, P>,
    ) -> ([u64; M], u32) {
        queues.flow_mut(flow).state.tags.serve_head();
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
        let (before, after): (Duration, Duration) = (before[self.resource], after[self.resource]);
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        record.state.tags.correct(before, after, weight);
        // With nothing waiting the last packet is the one served, exactly; else all that wait move along.
        let last = match record.packets {
            0 => record.state.tags.finish(),
            _ => record.state.last.moved(charged(after) - charged(before), weight),
        };
        self.set_last(flow, last, queues);
        self.place_head(flow, queues);
    }

    fn settle<P>(&mut self, now: Time, queues: &mut FlowQueues<M, P>) {
        let elapsed = now.since(self.settled).as_nanos();
        self.settled = now;
        self.gps.advance(elapsed, |flow| queues.flow(flow).weight());
        if self.gps.virtual_time() >= self.rebase_at {
            self.rebase(queues);
        }
    }

    fn reweighed<P>(&mut self, flow: u32, old: Weight, queues: &mut FlowQueues<M, P>) {
        if self.gps.has_end(flow) {
            self.gps.reweigh(old, queues.flow(flow).weight());
        }
        let last = self.recomputed_last(flow, queues);
        self.set_last(flow, last, queues);
        self.place_head(flow, queues);
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.heads.remove(flow);
        if self.gps.has_end(flow) {
            self.gps.leave(flow, queues.flow(flow).weight());
        }
    }

    fn set<P>(&mut self, parameter: &str, _value: &str, _queues: &mut FlowQueues<M, P>) -> Result<(), SpecError> {
        Err(ENTRY.cannot_change(parameter))
    }
}
