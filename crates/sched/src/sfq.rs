//! `sfq`: start-time fair queueing (Goyal, Vin, Cheng, IEEE/ACM Transactions on Networking 5(5), 1997).
//!
//! Shares: equal (weighted) processing time on one resource, by start tags.
//!
//! * Parameters: `resource` = number of the resource, counted from 0 along the pipeline; default the last (the link).
//!   `charge` = what a flow pays in the end: `measured` (default) or `estimated`. `newcomers` = whether a flow pays a
//!   deposit before its first packet: `pay` (default), or `free` as published.
//! * Weights: that on the resource that is shared.
//! * Cost per packet: O(log n) for n backlogged flows.
//! * Longest call: O(log n).
//! * Guarantees: |W_i/w_i - W_j/w_j| <= s_i/w_i + s_j/w_j over any interval in which flows i and j are backlogged, W
//!   the time received on the resource and s the longest of a packet of the flow so far; whatever the resource's speed
//!   does meanwhile. A packet ends on a resource of constant speed by its expected arrival, plus the flow's longest
//!   packet at its own part of the speed, plus a longest packet of every other flow (`newcomers=free`: its own packet
//!   at full speed instead).
//! * A flow can gain: nothing by queue depth, scale, order, new flows, refilling or small packets first; see
//!   [`flow_tags`](crate::flow_tags). By `newcomers=free` new flows starve all others. A flow that sends no more when
//!   its packets are measured is charged their estimates only: ever new flows gain the factor by which these are too
//!   low.
//! * Times need not be known in advance but for a flow's first packet, and by how much another is its largest so far:
//!   else only the next packet's tags depend on them, and they are corrected by measurement, unless `charge=estimated`.
//! * Example: `sfq`, `sfq:resource=0`, `sfq:charge=estimated`, `sfq:newcomers=free`.
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
//! * Served is the packet with the smallest S + d, d the flow's deposit, and v follows that
//!   ([`flow_tags`](crate::flow_tags)): published, a flow that comes is served before all others, so that a stream of
//!   ever new flows starves them.
//! * "In service" is the packet handed out last: the scheduler stands at the entrance of the pipeline, and the buffers
//!   behind it keep the order.
//! * A busy period ends when no packet waits and every packet handed out is reported finished on the resource, or
//!   abandoned before it. If reports do not come, v is held at the last S: a returning flow then still waits for at
//!   most its own last packet.
//! * A packet that needs no time on the resource counts as one nanosecond.

use alloc::vec::Vec;

use dovetail_units::{ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Resources, Weights};
use crate::charge;
use crate::contract::{FlowConfig, Progress, Ticket, Took};
use crate::discipline::{Choice, Discipline};
use crate::flow_tags::StartTags;
use crate::gain::AS_TOLD;
use crate::newcomers::{self, Newcomers};
use crate::one_resource::{RESOURCE, Shared};
use crate::promise::{Counted, Promise};
use crate::queues::{Queues, TagTournament};
use crate::spec::{Spec, SpecError};
use crate::steps;
use crate::touch::{Ahead, BY_TAGS, Worth};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "sfq",
    summary: "Start-time fair queueing of one resource",
    shares: "equal time by weight on one resource, by start tags",
    resources: Resources::Any,
    parameters: &[RESOURCE, charge::PARAMETER, newcomers::PARAMETER],
    complexity: "O(log n)",
    worst_call: "O(log n)",
    gains: &[AS_TOLD],
    guarantee: "|W_i/w_i - W_j/w_j| <= s_i/w_i + s_j/w_j on that resource, at whatever speed",
    weights: Weights::Shared,
    work_conserving: "yes",
    costs: "when the next packet is tagged, and for a flow's first packet; corrected by measurement unless \
        charge=estimated",
    paper: "Goyal, Vin, Cheng, IEEE/ACM ToN 5(5), 1997",
    brief: Brief {
        fairness: "processing time",
        longest_call: "O(log n)",
        work_conserving: "yes",
        costs_ahead: "no",
        paper: "ToN 1997",
    },
    promise: Promise::by_tags(Counted::Shared),
    facts: &[],
};

/// Flows that [`Sfq::restart`] leaves without tags get them so many at a time.
const TAGGED_AT_ONCE: usize = 4;

pub(crate) type FlowQueues<const M: usize, P> = Queues<M, P, StartTags, ()>;

/// Start-time fair queueing of one resource.
#[derive(Clone, Debug)]
pub struct Sfq {
    shared: Shared,
    newcomers: Newcomers,
    virtual_time: u128,
    /// The largest finish tag of any packet served.
    latest_finish: u128,
    /// Packets handed out that have not finished on the resource.
    in_service: u32,
    /// Backlogged flows by the tags of their first packets. Not empty while `untagged` is not.
    heads: TagTournament,
    /// Backlogged flows that have no tags yet since the resource changed, by their tags before.
    untagged: TagTournament,
    /// How often the resource has changed.
    epoch: u64,
    /// By flow: tags of another epoch count as zero.
    epochs: Vec<u64>,
}

impl Sfq {
    /// Sharing this, and treating newcomers so.
    pub(crate) fn new(shared: Shared, newcomers: Newcomers) -> Self {
        Self {
            shared,
            newcomers,
            virtual_time: 0,
            latest_finish: 0,
            in_service: 0,
            heads: TagTournament::default(),
            untagged: TagTournament::default(),
            epoch: 0,
            epochs: Vec::new(),
        }
    }

    pub(crate) fn from_spec<const M: usize>(spec: &Spec) -> Result<Self, SpecError> {
        Ok(Self::new(Shared::from_spec::<M>(spec)?, Newcomers::from_spec(spec)?))
    }

    /// The flow's tags, anew if they are of an earlier epoch, and its weight.
    #[inline]
    fn tags<'a, const M: usize, P>(
        &mut self,
        flow: u32,
        queues: &'a mut FlowQueues<M, P>,
    ) -> (&'a mut StartTags, Weight) {
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        if self.epoch != 0 {
            let before = core::mem::replace(&mut self.epochs[flow as usize], self.epoch);
            if before != self.epoch {
                record.state = StartTags::default();
            }
        }
        (&mut record.state, weight)
    }

    /// Tag the flow's first waiting packet and put it among the heads.
    #[inline(never)]
    fn place_head<const M: usize, P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        if !self.untagged.is_empty() {
            self.untagged.remove(flow);
        }
        let Some(nanos) = self.shared.head(flow, queues) else { return self.heads.remove(flow) };
        let newcomers = self.newcomers;
        let (tags, weight) = self.tags(flow, queues);
        tags.tag_head(nanos, newcomers);
        let tag = tags.head(tags.start(0), weight);
        self.heads.set(flow, tag);
    }

    /// Place the flow anew before the next choice, or at once while flows wait for that since the resource changed.
    #[inline]
    fn moved<const M: usize, P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        match self.is_tagged() {
            true => queues.mark_moved::<Self>(flow),
            false => self.place_head(flow, queues),
        }
    }

    /// Tag some flows that wait for it since the resource changed.
    #[inline]
    fn tag_some<const M: usize, P>(&mut self, queues: &mut FlowQueues<M, P>) {
        if !self.is_tagged() {
            self.tag_some_of(queues);
        }
    }

    #[cold]
    fn tag_some_of<const M: usize, P>(&mut self, queues: &mut FlowQueues<M, P>) {
        for _ in 0..TAGGED_AT_ONCE {
            let Some((_, flow)) = self.untagged.peek() else { return };
            steps::take(1);
            self.place_head(flow, queues);
        }
    }

    /// The resource that is shared.
    pub(crate) fn resource(&self) -> usize {
        self.shared.resource
    }

    /// How often the resource has changed.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether every flow has its tags since the resource changed.
    #[inline]
    pub(crate) fn is_tagged(&self) -> bool {
        self.untagged.is_empty()
    }

    /// Share this resource from now on, as if no packet had been served before. Not while flows are untagged. O(log
    /// flows).
    pub(crate) fn restart<const M: usize, P>(&mut self, resource: usize, queues: &mut FlowQueues<M, P>) {
        self.shared.resource = resource;
        self.epoch += 1;
        (self.virtual_time, self.latest_finish, self.in_service) = (0, 0, 0);
        core::mem::swap(&mut self.heads, &mut self.untagged);
        self.tag_some(queues);
    }
}

impl<const M: usize> Discipline<M> for Sfq {
    const LISTED: Option<&'static Entry> = Some(&ENTRY);

    const READS_AHEAD: Worth = BY_TAGS;

    const MARKS_MOVED: bool = true;

    type Flow = StartTags;
    type Stamp = ();
    type Note = ();

    fn added<P>(&mut self, flow: u32, _queues: &mut FlowQueues<M, P>) {
        if self.epochs.len() <= flow as usize {
            self.epochs.resize(flow as usize + 1, 0);
        }
    }

    fn weight_of(&self, config: &FlowConfig<M>) -> Weight {
        self.shared.weight(config)
    }

    #[inline]
    fn touch(&self, flow: u32, _tags: &Self::Flow) {
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
        if queues.flow(flow).head == slot {
            if self.heads.is_empty() && self.in_service == 0 {
                self.virtual_time = self.virtual_time.max(self.latest_finish);
            }
            let now = self.virtual_time;
            let (tags, weight) = self.tags(flow, queues);
            tags.come(now, weight);
            self.place_head(flow, queues);
        }
        self.tag_some(queues);
    }

    #[inline]
    fn choose<P>(&mut self, _now: Time, _queues: &mut FlowQueues<M, P>) -> Choice {
        self.heads.peek().map_or(Choice::AwaitProgress, |(_, flow)| Choice::Flow(flow))
    }

    #[inline(always)]
    fn served<P>(&mut self, _now: Time, flow: u32, cost: &ResourceVec<M>, queues: &mut FlowQueues<M, P>) {
        self.in_service = self.in_service.saturating_add(1);
        let nanos = self.shared.nanos(cost);
        let tag = self.heads.peek().map_or(0, |(tag, _)| tag);
        let (tags, weight) = self.tags(flow, queues);
        tags.serve_head(tags.start(0), tag, nanos, weight);
        let finish = tags.finish();
        // Only a correction downwards can put it below v.
        self.virtual_time = self.virtual_time.max(tag);
        self.latest_finish = self.latest_finish.max(finish);
        match queues.flow(flow).packets {
            0 => self.heads.remove(flow),
            _ => self.moved(flow, queues),
        }
        self.tag_some(queues);
    }

    #[inline]
    fn progressed(&mut self, _now: Time, _ticket: &Ticket<M>, at: usize, event: Progress) {
        let leaves = match event {
            Progress::Started => false,
            Progress::Finished { .. } => at == self.shared.resource,
            Progress::Abandoned => at <= self.shared.resource,
        };
        self.in_service = self.in_service.saturating_sub(u32::from(leaves));
    }

    #[inline(always)]
    fn corrected<P>(&mut self, flow: u32, ticket: &Ticket<M>, took: Took, queues: &mut FlowQueues<M, P>) {
        let Some(more) = self.shared.more(ticket, took) else { return };
        let (tags, weight) = self.tags(flow, queues);
        tags.correct(more, weight);
        let finish = tags.finish();
        self.latest_finish = self.latest_finish.max(finish);
        if queues.flow(flow).packets > 0 {
            self.moved(flow, queues);
        }
    }

    #[inline]
    fn place<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.place_head(flow, queues);
    }

    fn reweighed<P>(&mut self, flow: u32, old: Weight, queues: &mut FlowQueues<M, P>) {
        let (tagged, now) = (self.heads.get(flow).is_some(), self.virtual_time);
        let idle = queues.flow(flow).packets == 0 && self.newcomers == Newcomers::Free;
        let (tags, weight) = self.tags(flow, queues);
        if tagged && weight != old {
            tags.reweigh(tags.start(0), now, old, weight);
        } else if idle {
            tags.reweigh_idle(now, old, weight);
            let finish = tags.finish();
            self.latest_finish = self.latest_finish.max(finish);
        }
        self.place_head(flow, queues);
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.heads.remove(flow);
        self.untagged.remove(flow);
        self.tag_some(queues);
    }
}
