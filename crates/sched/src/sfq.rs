//! `sfq`: start-time fair queueing (Goyal, Vin, Cheng, IEEE/ACM Transactions on Networking 5(5), 1997).
//!
//! Shares: equal (weighted) processing time on one resource, by start tags.
//!
//! * Parameters: `resource` = number of the resource, counted from 0 along the pipeline; default the last (the link). `charge` = what a flow pays
//!   in the end: `measured` (default) or `estimated`.
//! * Weights: that on the resource that is shared.
//! * Cost per packet: O(log n) for n backlogged flows.
//! * Guarantees: |W_i/w_i - W_j/w_j| <= s_i/w_i + s_j/w_j over any interval in which flows i and j are backlogged, W the time
//!   received on the resource and s the longest of a packet; whatever the resource's speed does meanwhile.
//! * Times need not be known in advance: only the next packet's tags depend on them, and they are corrected by measurement, unless
//!   `charge=estimated`.
//! * Example: `sfq`, `sfq:resource=0`, `sfq:charge=estimated`.
//!
//! Tags of the flow's packet k, of time s:
//!
//! ```text
//! S_k = max( v(a_k), F_k-1 )     F_k = S_k + s_k / w
//! v   = S of the packet in service; at the end of a busy period, the largest F of any packet served
//! ```
//!
//! Served is the packet with the smallest S; ties go to the flow with the lowest index.
//!
//! Differences from the paper, with reasons:
//! * "In service" is the packet handed out last: the scheduler stands at the entrance of the pipeline, and the buffers behind
//!   it keep the order.
//! * A busy period ends when no packet waits and every packet handed out is reported finished on the resource, or abandoned before
//!   it. If reports do not come, v is held at the last S: a returning flow then still waits for at most its own last packet.
//! * A packet of no time on the resource counts as one nanosecond.

use alloc::vec::Vec;

use dovetail_units::{ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Resources, Weights};
use crate::charge::{self, Charge};
use crate::contract::{FlowConfig, Progress, Ticket};
use crate::one_resource::{FlowTags, REBASE_AT, RESOURCE, resource};
use crate::per_flow::{Choice, Discipline};
use crate::queues::{IndexedHeap, Queues};
use crate::spec::{Spec, SpecError};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "sfq",
    summary: "Start-time fair queueing of one resource",
    shares: "equal weighted time on one resource, by start tags",
    resources: Resources::Any,
    parameters: &[RESOURCE, charge::PARAMETER],
    complexity: "O(log n)",
    guarantee: "|W_i/w_i - W_j/w_j| <= s_i/w_i + s_j/w_j on that resource, at any speed of it",
    weights: Weights::Shared,
    work_conserving: "yes",
    costs: "for the next packet's tag; corrected by measurement unless charge=estimated",
    paper: "Goyal, Vin, Cheng, IEEE/ACM ToN 5(5), 1997",
    brief: Brief { fairness: "processing time", work_conserving: "yes", costs_ahead: "no", paper: "ToN 1997" },
};

type FlowQueues<const M: usize, P> = Queues<M, P, FlowTags, ()>;

/// Start-time fair queueing of one resource.
#[derive(Clone, Debug)]
pub struct Sfq {
    resource: usize,
    charge: Charge,
    virtual_time: u64,
    /// The largest finish tag of any packet served.
    latest_finish: u64,
    /// Packets handed out that have not finished on the resource.
    in_service: u32,
    /// Backlogged flows by the start tags of their first packets.
    heads: IndexedHeap<u64>,
    rebase_at: u64,
    rebases: u32,
}

impl Sfq {
    /// Of this resource, charging so.
    pub fn new(resource: usize, charge: Charge) -> Self {
        Self {
            resource,
            charge,
            virtual_time: 0,
            latest_finish: 0,
            in_service: 0,
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
        let Some(cost) = queues.head(flow).map(|s| s.cost[self.resource]) else {
            self.heads.remove(flow);
            return;
        };
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        record.state.tag_head(cost, weight);
        self.heads.set(flow, record.state.start());
    }

    /// The resource that is shared.
    pub(crate) fn resource(&self) -> usize {
        self.resource
    }

    /// Share this resource from now on, as if no packet had been served before. O(flows log flows).
    pub(crate) fn restart<const M: usize, P>(&mut self, resource: usize, queues: &mut FlowQueues<M, P>) {
        self.resource = resource;
        (self.virtual_time, self.latest_finish, self.in_service) = (0, 0, 0);
        queues.flows_mut().for_each(|flow| flow.state = FlowTags::default());
        let backlogged: Vec<u32> = self.heads.flows().collect();
        backlogged.into_iter().for_each(|flow| self.place_head(flow, queues));
    }

    /// O(flows), once in 19 hours of virtual time.
    fn rebase<const M: usize, P>(&mut self, queues: &mut FlowQueues<M, P>) {
        let by = self.rebase_at / 2;
        self.virtual_time = self.virtual_time.saturating_sub(by);
        self.latest_finish = self.latest_finish.saturating_sub(by);
        queues.flows_mut().for_each(|flow| flow.state.lower(by));
        self.heads.rekey(|tag| tag.saturating_sub(by));
        self.rebases = self.rebases.wrapping_add(1);
    }
}

impl<const M: usize> Discipline<M> for Sfq {
    type Flow = FlowTags;
    type Stamp = ();

    fn weight_of(&self, config: &FlowConfig<M>) -> Weight {
        config.weights()[self.resource]
    }

    fn stamp(&mut self, _now: Time) {}

    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        if queues.flow(flow).head != slot {
            // S is at least v anyway behind a packet that is not served yet.
            return;
        }
        if self.heads.is_empty() && self.in_service == 0 {
            self.virtual_time = self.virtual_time.max(self.latest_finish);
        }
        queues.flow_mut(flow).state.set_floor(self.virtual_time);
        self.place_head(flow, queues);
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
        self.in_service = self.in_service.saturating_add(1);
        let tags = &mut queues.flow_mut(flow).state;
        // Only a correction downwards can put S below v.
        self.virtual_time = self.virtual_time.max(tags.start());
        tags.serve_head();
        self.latest_finish = self.latest_finish.max(tags.finish().ticks);
        self.place_head(flow, queues);
        if self.virtual_time >= self.rebase_at {
            self.rebase(queues);
        }
        ([0; M], 0)
    }

    fn progressed(&mut self, _now: Time, _ticket: &Ticket<M>, at: usize, event: Progress) {
        let leaves = match event {
            Progress::Started => false,
            Progress::Finished { .. } => at == self.resource,
            Progress::Abandoned => at <= self.resource,
        };
        self.in_service = self.in_service.saturating_sub(u32::from(leaves));
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
        self.latest_finish = self.latest_finish.max(record.state.finish().ticks);
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
