//! `scfq`: self-clocked fair queueing (Golestani, INFOCOM 1994).
//!
//! Shares: equal (weighted) processing time on one resource, by finish tags on a clock that is read off the packet in service.
//!
//! * Parameters: `resource` = number of the resource, counted from 0 along the pipeline; default the last (the link). `charge` = what a flow pays
//!   in the end: `measured` (default) or `estimated`.
//! * Weights: that on the resource that is shared.
//! * Cost per packet: O(log n) for n backlogged flows.
//! * Guarantees: |W_i/w_i - W_j/w_j| <= s_i/w_i + s_j/w_j over any interval in which flows i and j are backlogged, W the time
//!   received on the resource and s the longest of a packet.
//! * Times must be known in advance; a wrong one is corrected in the flow's next tag, unless `charge=estimated`.
//! * Example: `scfq`, `scfq:resource=0`, `scfq:charge=estimated`.
//!
//! Tags of the flow's packet k, of time s:
//!
//! ```text
//! F_k = max( v(a_k), F_k-1 ) + s_k / w     v = F of the packet in service
//! ```
//!
//! Served is the packet with the smallest F; ties go to the flow with the lowest index.
//!
//! Differences from the paper, with reasons:
//! * "In service" is the packet handed out last: the scheduler stands at the entrance of the pipeline, and the buffers behind
//!   it keep the order.
//! * Nothing is set to zero at the end of a busy period: v is then the largest F of all, so that no flow has credit or debt anyway.
//! * A packet of no time on the resource counts as one nanosecond.

use dovetail_units::{ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Resources, Weights};
use crate::charge::{self, Charge};
use crate::contract::FlowConfig;
use crate::one_resource::{FlowTags, REBASE_AT, RESOURCE, resource};
use crate::per_flow::{Choice, Discipline};
use crate::queues::{IndexedHeap, Queues};
use crate::spec::{Spec, SpecError};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "scfq",
    summary: "Self-clocked fair queueing of one resource",
    shares: "equal weighted time on one resource, by finish tags",
    resources: Resources::Any,
    parameters: &[RESOURCE, charge::PARAMETER],
    complexity: "O(log n)",
    guarantee: "|W_i/w_i - W_j/w_j| <= s_i/w_i + s_j/w_j on that resource",
    weights: Weights::Shared,
    work_conserving: "yes",
    costs: "at the head of the queue; corrected by measurement in the next tag unless charge=estimated",
    paper: "Golestani, INFOCOM 1994",
    brief: Brief { fairness: "processing time", work_conserving: "yes", costs_ahead: "at head", paper: "INFOCOM 1994" },
};

type FlowQueues<const M: usize, P> = Queues<M, P, FlowTags, ()>;

/// Self-clocked fair queueing of one resource.
#[derive(Clone, Debug)]
pub struct Scfq {
    resource: usize,
    charge: Charge,
    virtual_time: u64,
    /// Backlogged flows by the finish tags of their first packets.
    heads: IndexedHeap<u64>,
    rebase_at: u64,
    rebases: u32,
}

impl Scfq {
    /// Of this resource, charging so.
    pub fn new(resource: usize, charge: Charge) -> Self {
        Self { resource, charge, virtual_time: 0, heads: IndexedHeap::default(), rebase_at: REBASE_AT, rebases: 0 }
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
        let Some(cost) = queues.head(flow).map(|s| s.cost[self.resource]) else {
            self.heads.remove(flow);
            return;
        };
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        record.state.tag_head(cost, weight);
        self.heads.set(flow, record.state.head_finish());
    }

    /// O(flows), once in 19 hours of virtual time.
    fn rebase<const M: usize, P>(&mut self, queues: &mut FlowQueues<M, P>) {
        let by = self.rebase_at / 2;
        self.virtual_time = self.virtual_time.saturating_sub(by);
        queues.flows_mut().for_each(|flow| flow.state.lower(by));
        self.heads.rekey(|tag| tag.saturating_sub(by));
        self.rebases = self.rebases.wrapping_add(1);
    }
}

impl<const M: usize> Discipline<M> for Scfq {
    type Flow = FlowTags;
    type Stamp = ();

    fn weight_of(&self, config: &FlowConfig<M>) -> Weight {
        config.weights()[self.resource]
    }

    fn stamp(&mut self, _now: Time) {}

    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        // Behind a packet that is not served yet, F of the one before is at least v anyway.
        if queues.flow(flow).head == slot {
            queues.flow_mut(flow).state.set_floor(self.virtual_time);
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
        let tags = &mut queues.flow_mut(flow).state;
        tags.serve_head();
        // Only a correction downwards can put F below v.
        self.virtual_time = self.virtual_time.max(tags.finish().ticks);
        self.place_head(flow, queues);
        if self.virtual_time >= self.rebase_at {
            self.rebase(queues);
        }
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
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        record.state.correct(before[self.resource], after[self.resource], weight);
        self.place_head(flow, queues);
    }

    fn reweighed<P>(&mut self, flow: u32, _old: Weight, queues: &mut FlowQueues<M, P>) {
        self.place_head(flow, queues);
    }

    fn removed<P>(&mut self, flow: u32, _queues: &mut FlowQueues<M, P>) {
        self.heads.remove(flow);
    }

    fn set<P>(&mut self, parameter: &str, _value: &str, _queues: &mut FlowQueues<M, P>) -> Result<(), SpecError> {
        Err(ENTRY.cannot_change(parameter))
    }
}
