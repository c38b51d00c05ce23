//! `scfq`: self-clocked fair queueing (Golestani, INFOCOM 1994).
//!
//! Shares: equal (weighted) processing time on one resource, by finish tags on a clock that is read off the packet in
//! service.
//!
//! * Parameters: `resource` = number of the resource, counted from 0 along the pipeline; default the last (the link).
//!   `charge` = what a flow pays in the end: `measured` (default) or `estimated`.
//! * Weights: that on the resource that is shared.
//! * Cost per packet: O(log n) for n backlogged flows.
//! * Longest call: O(log n).
//! * Guarantees: |W_i/w_i - W_j/w_j| <= s_i/w_i + s_j/w_j over any interval in which flows i and j are backlogged, W
//!   the time received on the resource and s the longest of a packet.
//! * A flow can gain: nothing by queue depth, scale, order, new flows, refilling or small packets first: F is paid
//!   before the packet is served, and v is F then. A flow that sends no more when its packets are measured is charged
//!   their estimates only: ever new flows gain the factor by which these are too low.
//! * Times must be known in advance. Wrong ones are corrected in the flow's next tag, unless `charge=estimated`.
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
//! * "In service" is the packet handed out last: the scheduler stands at the entrance of the pipeline, and the buffers
//!   behind it keep the order.
//! * Nothing is set to zero at the end of a busy period: v is then the largest F of all, so that no flow has credit or
//!   debt anyway.
//! * A packet that needs no time on the resource counts as one nanosecond.

use dovetail_units::{ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Resources, Weights};
use crate::charge;
use crate::contract::{FlowConfig, Ticket, Took};
use crate::discipline::{Choice, Discipline};
use crate::flow_tags::FinishTags;
use crate::gain::AS_TOLD;
use crate::one_resource::{RESOURCE, Shared};
use crate::promise::{Counted, Promise};
use crate::queues::{Queues, TagTournament};
use crate::spec::{Spec, SpecError};
use crate::tag::Tag;
use crate::touch::{Ahead, BY_TAGS, Worth};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "scfq",
    summary: "Self-clocked fair queueing of one resource",
    shares: "equal time by weight on one resource, by finish tags",
    resources: Resources::Any,
    parameters: &[RESOURCE, charge::PARAMETER],
    complexity: "O(log n)",
    worst_call: "O(log n)",
    gains: &[AS_TOLD],
    guarantee: "|W_i/w_i - W_j/w_j| <= s_i/w_i + s_j/w_j on that resource",
    weights: Weights::Shared,
    work_conserving: "yes",
    costs: "at the head of the queue; corrected by measurement in the next tag unless charge=estimated",
    paper: "Golestani, INFOCOM 1994",
    brief: Brief {
        fairness: "processing time",
        longest_call: "O(log n)",
        work_conserving: "yes",
        costs_ahead: "at head",
        paper: "INFOCOM 1994",
    },
    promise: Promise::by_tags(Counted::Shared),
    facts: &[],
};

type FlowQueues<const M: usize, P> = Queues<M, P, FinishTags, ()>;

/// Self-clocked fair queueing of one resource.
#[derive(Clone, Debug)]
pub struct Scfq {
    shared: Shared,
    virtual_time: u128,
    /// Backlogged flows by the finish tags of their first packets.
    heads: TagTournament,
}

impl Scfq {
    pub(crate) fn from_spec<const M: usize>(spec: &Spec) -> Result<Self, SpecError> {
        Ok(Self { shared: Shared::from_spec::<M>(spec)?, virtual_time: 0, heads: TagTournament::default() })
    }

    /// Tag the flow's first waiting packet and put it among the heads.
    #[inline(never)]
    fn place_head<const M: usize, P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        let Some(nanos) = self.shared.head(flow, queues) else { return self.heads.remove(flow) };
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        self.heads.set(flow, record.state.head([nanos], [weight]));
    }
}

impl<const M: usize> Discipline<M> for Scfq {
    const LISTED: Option<&'static Entry> = Some(&ENTRY);

    const READS_AHEAD: Worth = BY_TAGS;

    const MARKS_MOVED: bool = true;

    type Flow = FinishTags;
    type Stamp = ();
    type Note = ();

    fn weight_of(&self, config: &FlowConfig<M>) -> Weight {
        self.shared.weight(config)
    }

    #[inline]
    fn touch(&self, flow: u32, _state: &Self::Flow) {
        self.heads.touch(flow);
    }

    #[inline]
    fn ahead(&self, packets: usize, ahead: &mut Ahead) {
        self.heads.ahead(packets, ahead);
    }

    #[inline]
    fn coming(&self, look_at: impl Fn([u32; 3])) {
        self.heads.coming().into_iter().for_each(look_at);
    }

    #[inline(always)]
    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        // Behind a packet that is not served yet, F of the one before is at least v anyway.
        if queues.flow(flow).head == slot {
            queues.flow_mut(flow).state.set_floor(Tag::at(self.virtual_time));
            self.place_head(flow, queues);
        }
    }

    #[inline]
    fn choose<P>(&mut self, _now: Time, _queues: &mut FlowQueues<M, P>) -> Choice {
        self.heads.peek().map_or(Choice::AwaitProgress, |(_, flow)| Choice::Flow(flow))
    }

    #[inline(always)]
    fn served<P>(&mut self, _now: Time, flow: u32, cost: &ResourceVec<M>, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        record.state.serve_head([self.shared.nanos(cost)], [weight]);
        debug_assert_eq!(self.heads.peek(), Some((record.state.finish(), flow)), "placed before it is served");
        // Only a correction downwards can put F below v.
        self.virtual_time = self.virtual_time.max(record.state.finish());
        match record.packets {
            0 => self.heads.remove(flow),
            _ => queues.mark_moved::<Self>(flow),
        }
    }

    #[inline(always)]
    fn corrected<P>(&mut self, flow: u32, ticket: &Ticket<M>, took: Took, queues: &mut FlowQueues<M, P>) {
        let Some(more) = self.shared.more(ticket, took).filter(|&more| more != 0) else { return };
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        record.state.correct([more], [weight]);
        if record.packets > 0 {
            queues.mark_moved::<Self>(flow);
        }
    }

    #[inline]
    fn place<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.place_head(flow, queues);
    }

    fn reweighed<P>(&mut self, flow: u32, _old: Weight, queues: &mut FlowQueues<M, P>) {
        self.place_head(flow, queues);
    }

    fn removed<P>(&mut self, flow: u32, _queues: &mut FlowQueues<M, P>) {
        self.heads.remove(flow);
    }
}
