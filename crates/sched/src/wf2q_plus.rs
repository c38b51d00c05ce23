//! `wf2q+`: worst-case fair weighted fair queueing with a work-driven virtual time (Bennett, Zhang, IEEE/ACM
//! Transactions on Networking 5(5), 1997).
//!
//! Shares: equal (weighted) processing time on one resource; of the packets that should have begun, the one that should
//! end first.
//!
//! * Parameters: `resource` = number of the resource, counted from 0 along the pipeline; default the last (the link).
//!   `charge` = what a flow pays in the end, and V counts as work: `measured` (default) or `estimated`. `newcomers` =
//!   `pay` (default) or, as published, `free`: see below.
//! * Weights: that on the resource that is shared.
//! * Cost per packet: O(log n) amortised for n backlogged flows.
//! * Longest call: O(log n), up to [`most_events`] flows that cease to count in W (256 of few, 16 of 10^6), and as many
//!   whose first packets come to their starts. Flows that still count make V slower, not below what the guarantees
//!   need. Packets beyond that are looked at by the next calls in the order of their starts: where E come to them at
//!   once, up to E / (most - 1) packets may go first.
//! * A flow can gain nothing with true estimates: at most 1.05 by search. New flows gain the factor by which theirs are
//!   too low: a flow is gone when they are corrected. As published (`newcomers=free`), without limit by a new flow for
//!   every tiny packet: each counts in W until V comes to its F; with ever more of them V hardly moves.
//! * Guarantees at a resource that is never kept waiting, with r_i = w_i / (sum of the weights of all flows), s_i the
//!   longest time of a packet of flow i and L of any: a packet that arrives when its flow has work Q in the system, its
//!   own included, ends at most Q/r_i + s_i/r_i + L - s_i later (worst-case fair); it ends at most L after it does at a
//!   server of its own of speed r_i. While every flow is backlogged, no flow is ahead of GPS by more than (1 - r_i) s_i
//!   or behind it by more than L.
//! * Times must be known in advance. Wrong ones are corrected in the flow's next tag and in the virtual time, unless
//!   `charge=estimated`.
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
//! * A *new* flow, which is set up while packets wait, has no S below R before V has come to its F once; R is the
//!   largest F of a packet that was the last one of a new flow, or of a flow that is removed. What is left there of
//!   lighter flows takes no longer than it would at the new flow's own weight ([`newcomers`]). So a stream of new flows
//!   has the tags of one flow that is backlogged throughout. A packet of a new flow may end later than the guarantee
//!   says, by what it takes V to come to R.
//! * Weights need not add up to one: W is the sum of the weights of the flows that wait or whose F is still ahead of V.
//!   Others are not owed anything now. The guarantees hold as if W were always the sum over all flows, which it never
//!   exceeds.
//! * Work is that of the packets handed out, as time passes, and all of it when the next one is asked for: the
//!   scheduler stands at the entrance of the pipeline, whose pace need not be that of the resource.
//! * V is not set to zero at the end of a busy period, but to the largest F, or, if that takes long, all tags are
//!   forgotten: no flow has credit or debt.
//! * A packet that needs no time on the resource counts as one nanosecond.
//! * A changed weight holds at once, for what the flow has had early or is owed: tags keep their distance from V as
//!   work.

use dovetail_units::{ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Resources, Weights};
use crate::charge::{self, Charge};
use crate::contract::{FlowConfig, Ticket, Took};
use crate::discipline::{Choice, Discipline};
use crate::gain::AS_TOLD;
use crate::newcomers::{self, Newcomers, Newest, class};
use crate::one_resource::{FluidClock, RESOURCE, Shared, most_events};
use crate::promise::{Counted, Lag, Promise};
use crate::queues::{Queues, TagHeap, TagTournament};
use crate::spec::{Spec, SpecError};
use crate::steps;
use crate::tag::Tag;

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "wf2q+",
    summary: "Worst-case fair weighted fair queueing of one resource",
    shares: "equal time by weight on one resource, never early and never more than a packet late",
    resources: Resources::Any,
    parameters: &[RESOURCE, charge::PARAMETER, newcomers::PARAMETER],
    complexity: "O(log n)",
    worst_call: "O(log n) and up to 2 * 256 flows that end or start, 2 * 16 with 10^6 flows; later calls do the rest",
    gains: &[AS_TOLD],
    guarantee: "a packet of a flow with work Q in the system ends within (Q + s_i)/r_i + L - s_i; r_i = w_i / sum of \
        all w",
    weights: Weights::Shared,
    work_conserving: "yes",
    costs: "at the head of the queue; corrected by measurement in the next tag unless charge=estimated",
    paper: "Bennett, Zhang, IEEE/ACM ToN 5(5), 1997",
    brief: Brief {
        fairness: "GPS, never early",
        longest_call: "O(log n) x 512",
        work_conserving: "yes",
        costs_ahead: "at head",
        paper: "ToN 1997",
    },
    promise: Promise { lag: Lag::Packets(1.0), ..Promise::by_tags(Counted::Shared) },
    facts: &[],
};

/// A flow's tags.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wf2qPlusFlow {
    /// Finish tag of the last packet served.
    finish: Tag,
    /// V when the first waiting packet came, if it did not wait behind another one.
    floor: u128,
    /// Finish tag of the first waiting packet, by its estimated time.
    head_finish: Tag,
    /// Whether it was set up while packets waited, and V has not come to its F since.
    is_new: bool,
    /// The epoch of the clock that these are of.
    epoch: u64,
}

type FlowQueues<const M: usize, P> = Queues<M, P, Wf2qPlusFlow, ()>;

/// WF2Q+ of one resource.
#[derive(Clone, Debug)]
pub struct Wf2qPlus {
    shared: Shared,
    /// V, and the flows that are owed service or had it early.
    clock: FluidClock,
    /// R.
    newest: Newest,
    /// Work of packets handed out that V does not count yet, in nanoseconds; negative after they took less than was
    /// counted.
    pending: i64,
    /// Until when the passing of time has been seen.
    settled: Time,
    /// Backlogged flows whose first packets start after V (or did when last looked at), by start tag.
    early: TagHeap,
    /// Backlogged flows whose first packets may start, by finish tag.
    eligible: TagTournament,
    /// For tests: a call looks at so many flows that may start from then on.
    events: Option<usize>,
}

impl Wf2qPlus {
    /// Of this resource, charging so, and with new flows that stand so.
    pub fn new(resource: usize, charge: Charge, newcomers: Newcomers) -> Self {
        Self::sharing(Shared { resource, charge }, newcomers)
    }

    fn sharing(shared: Shared, newcomers: Newcomers) -> Self {
        Self {
            shared,
            clock: FluidClock::default(),
            newest: Newest::new(newcomers),
            pending: 0,
            settled: Time::ZERO,
            early: TagHeap::default(),
            eligible: TagTournament::default(),
            events: None,
        }
    }

    pub(crate) fn from_spec<const M: usize>(spec: &Spec) -> Result<Self, SpecError> {
        Ok(Self::sharing(Shared::from_spec::<M>(spec)?, Newcomers::from_spec(spec)?))
    }

    /// For tests: a call looks at so many flows.
    pub fn passing(self, events: usize) -> Self {
        Self { clock: FluidClock::passing(events), events: Some(events.max(1)), ..self }
    }

    /// Whether a packet has come to its start since it was last looked for those.
    pub fn lags(&self) -> bool {
        self.early.peek().is_some_and(|(start, _)| start <= self.clock.virtual_time())
    }

    /// Count so much of the pending work, and let V follow the smallest start tag.
    fn work<const M: usize, P>(&mut self, nanos: i64, queues: &mut FlowQueues<M, P>) {
        let weight = |flow| queues.flow(flow).weight();
        self.pending -= nanos;
        self.clock.advance_past(nanos.unsigned_abs(), weight);
        match self.early.peek() {
            Some((start, _)) if self.eligible.is_empty() => self.clock.jump(start, weight),
            None if self.eligible.is_empty() && self.pending <= 0 => {
                self.pending = 0;
                self.clock.end_all(weight);
            }
            _ => (),
        }
    }

    /// Tag the flow's first waiting packet and put it where it belongs.
    fn place_head<const M: usize, P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.early.remove(flow);
        let Some(nanos) = self.shared.head(flow, queues) else { return self.eligible.remove(flow) };
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        let start = record.state.finish.at_least(record.state.floor);
        record.state.head_finish = start.moved(nanos, weight);
        if start.ticks() <= self.clock.virtual_time() {
            self.eligible.set(flow, record.state.head_finish.ticks());
        } else {
            self.eligible.remove(flow);
            self.early.set(flow, start.ticks());
        }
    }

    /// The flow's tags, which are V if they were of an earlier epoch: then it has neither credit nor debt.
    fn tags<'a, const M: usize, P>(&self, flow: u32, queues: &'a mut FlowQueues<M, P>) -> &'a mut Wf2qPlusFlow {
        let (state, epoch) = (&mut queues.flow_mut(flow).state, self.clock.epoch());
        if state.epoch != epoch {
            let past = Tag::at(self.clock.virtual_time());
            *state = Wf2qPlusFlow { finish: past, floor: 0, head_finish: past, epoch, ..*state };
        }
        state
    }
}

impl<const M: usize> Discipline<M> for Wf2qPlus {
    const LISTED: Option<&'static Entry> = Some(&ENTRY);

    type Flow = Wf2qPlusFlow;
    type Stamp = ();
    type Note = ();

    fn weight_of(&self, config: &FlowConfig<M>) -> Weight {
        self.shared.weight(config)
    }

    fn added<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        queues.flow_mut(flow).state.is_new = self.newest.is_new(queues.packets());
    }

    #[inline]
    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        if queues.flow(flow).head != slot {
            return;
        }
        let (virtual_time, epoch) = (self.clock.virtual_time(), self.clock.epoch());
        let state = &mut queues.flow_mut(flow).state;
        // V has come to the F of its last packet, if there was one.
        state.is_new &= state.head_finish.ticks() == 0 || self.clock.end(flow).is_some();
        let is_new = state.is_new;
        let weight = queues.flow(flow).weight();
        let start = if is_new { self.newest.start(virtual_time, epoch, weight) } else { virtual_time };
        self.tags(flow, queues).floor = start;
        self.clock.join(flow, weight);
        self.place_head(flow, queues);
    }

    #[inline]
    fn choose<P>(&mut self, now: Time, queues: &mut FlowQueues<M, P>) -> Choice {
        self.settled = now;
        self.work(self.pending.max(0), queues);
        for _ in 0..self.events.unwrap_or_else(|| most_events(self.early.len())) {
            let Some((_, flow)) = self.early.peek().filter(|_| self.lags()) else { break };
            steps::take(1);
            self.early.remove(flow);
            self.eligible.set(flow, queues.flow(flow).state.head_finish.ticks());
        }
        self.eligible.peek().map_or(Choice::AwaitProgress, |(_, flow)| Choice::Flow(flow))
    }

    #[inline]
    fn served<P>(&mut self, _now: Time, flow: u32, cost: &ResourceVec<M>, queues: &mut FlowQueues<M, P>) {
        self.pending = self.pending.saturating_add(self.shared.nanos(cost));
        let record = queues.flow_mut(flow);
        record.state.finish = record.state.head_finish;
        record.state.floor = 0;
        if record.packets == 0 {
            self.clock.end_at(flow, record.state.finish.ticks(), record.weight(), true);
            if record.state.is_new {
                let (now, finish) = (self.clock.virtual_time(), record.state.finish.ticks());
                self.newest.reach(now, self.clock.epoch(), finish, record.weight());
            }
        }
        self.place_head(flow, queues);
    }

    #[inline]
    fn corrected<P>(&mut self, flow: u32, ticket: &Ticket<M>, took: Took, queues: &mut FlowQueues<M, P>) {
        let Some(more) = self.shared.more(ticket, took) else { return };
        self.pending = self.pending.saturating_add(more);
        let (weight, packets) = (queues.flow(flow).weight(), queues.flow(flow).packets);
        let state = self.tags(flow, queues);
        state.finish = state.finish.moved(more, weight);
        let finish = state.finish.ticks();
        if packets == 0 && (finish > self.clock.virtual_time() || self.clock.end(flow).is_some()) {
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
        let (new, waits) = (queues.flow(flow).weight(), queues.flow(flow).packets > 0);
        let (now, epoch) = (self.clock.virtual_time(), self.clock.epoch());
        let state = self.tags(flow, queues);
        state.finish = state.finish.rescaled(now, old, new);
        // Ahead of V it is where new flows began when it came: later ones move it for a lighter flow only.
        state.floor = match state.floor > now {
            true if class(new) >= class(old) => self.newest.start(now, epoch, new).min(state.floor),
            true => self.newest.start(now, epoch, new),
            false => Tag::at(state.floor).rescaled(now, old, new).ticks(),
        };
        match self.clock.end(flow) {
            Some(end) => {
                self.clock.leave(flow, old);
                self.clock.end_at(flow, Tag::at(end).rescaled(now, old, new).ticks(), new, false);
            }
            None if waits => self.clock.reweigh(old, new),
            None => (),
        }
        self.place_head(flow, queues);
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        if queues.flow(flow).packets > 0 || self.clock.end(flow).is_some() {
            let finish = self.tags(flow, queues).finish.ticks();
            let record = queues.flow(flow);
            let weight = record.weight();
            // The last packet of a new flow counted when it was handed out.
            if !record.state.is_new || record.packets > 0 {
                self.newest.reach(self.clock.virtual_time(), self.clock.epoch(), finish, weight);
            }
            self.clock.leave(flow, weight);
        }
        self.early.remove(flow);
        self.eligible.remove(flow);
    }
}
