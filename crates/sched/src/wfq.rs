//! `wfq`: weighted fair queueing, also called packet-by-packet GPS (Demers, Keshav, Shenker, SIGCOMM 1989; Parekh,
//! Gallager, IEEE/ACM Transactions on Networking 1(3), 1993).
//!
//! Shares: equal (weighted) processing time on one resource, in the order in which packets finish in a fluid that
//! serves all backlogged flows at once (GPS).
//!
//! * Parameters: `resource` = number of the resource, counted from 0 along the pipeline; default the last (the link).
//!   `charge` = what a flow pays in the end, and GPS serves: `measured` (default) or `estimated`. `newcomers` = `pay`
//!   (default) or, as published, `free`: see below.
//! * Weights: that on the resource that is shared.
//! * Cost per packet: O(log n) amortised for n backlogged flows.
//! * Longest call: O(log n) and the ends of flows in GPS that came since the last one, up to 256 of few flows and 16 of
//!   10^6 ([`most_events`](crate::one_resource::most_events)). Of more than those GPS lags: its clock stands at the
//!   last one, and packets meet it there. It has caught up after N / (most - 1) calls, N the flows backlogged in it, or
//!   at once when nothing waits and it has surely emptied.
//! * Guarantees: with times known and the resource never kept waiting, every packet finishes at most one longest packet
//!   time after it does in GPS (Parekh, Gallager, Theorem 1), and the most by which GPS has lagged. It may finish far
//!   earlier.
//! * A flow can gain nothing with true estimates: at most 1.05 by search. New flows gain the factor by which theirs are
//!   too low: a flow is gone when they are corrected. As published (`newcomers=free`), without limit by a new flow for
//!   every tiny packet: in GPS each of them is still owed a share when its packet has long been served; with ever more
//!   of them V hardly moves, and the next new flow's F is before the F of all who wait.
//! * Times must be known in advance; wrong ones are corrected in the flow's next tag and in GPS, unless
//!   `charge=estimated`.
//! * Example: `wfq`, `wfq:resource=0`, `wfq:charge=estimated`.
//!
//! Tags of the flow's packet k, of time s:
//!
//! ```text
//! F_k = max( V(a_k), F_k-1 ) + s_k / w
//! dV/dt = 1 / (sum of the weights of the flows that are backlogged in GPS)
//! ```
//!
//! Served is the packet with the smallest F; ties go to the flow with the lowest index. V is exact: the flows that GPS
//! serves are kept by the tags of their last packets, at which they leave it; they are not the flows that wait here.
//!
//! Differences from the paper, with reasons:
//! * A *new* flow, which is set up while packets wait, has no F below R before its packets in GPS have ended once; R is
//!   the largest F of a packet that was the last one of a new flow, or of a flow that is removed. What is left there of
//!   lighter flows takes no longer than it would at the new flow's own weight ([`newcomers`]). So a stream of new flows
//!   has the tags of one flow that is backlogged throughout. GPS serves them from V on, as published. A packet of a new
//!   flow may finish later than the guarantee says, by R - V in GPS.
//! * V is held, not set to zero, while GPS is idle. All finish tags are then at most V: no flow has credit or debt.
//! * GPS runs in real time at the resource's full speed. Where another resource is the bottleneck GPS is ahead of the
//!   packets, and order tends to order of arrival: a weakness of WFQ at a resource that is not always available.
//! * A packet that needs no time on the resource counts as one nanosecond.
//! * A changed weight holds at once, for what is left of the flow in GPS.

use dovetail_units::{ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Resources, Weights};
use crate::charge::{self, Charge};
use crate::contract::{FlowConfig, Ticket, Took};
use crate::discipline::{Choice, Discipline};
use crate::gain::AS_TOLD;
use crate::newcomers::{self, Newcomers, Newest};
use crate::one_resource::{FluidClock, RESOURCE, Shared};
use crate::promise::{self, Counted, Lag, Promise};
use crate::queues::{NIL, Queues, TagTournament};
use crate::spec::{Spec, SpecError};
use crate::tag::Tag;
use crate::touch::{self, Ahead, BY_TAGS, Worth};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "wfq",
    summary: "Weighted fair queueing of one resource by exact GPS",
    shares: "equal time by weight on one resource, in the order in which packets finish in GPS",
    resources: Resources::Any,
    parameters: &[RESOURCE, charge::PARAMETER, newcomers::PARAMETER],
    complexity: "O(log n)",
    worst_call: "O(log n) and up to 256 ends of flows in GPS, 16 with 10^6 flows; later calls do the rest",
    gains: &[AS_TOLD],
    guarantee: "every packet finishes at most one longest packet time after its finish in GPS",
    weights: Weights::Shared,
    work_conserving: "yes",
    costs: "on arrival; corrected by measurement in the next tag unless charge=estimated",
    paper: "Parekh, Gallager, IEEE/ACM ToN 1(3), 1993",
    brief: Brief {
        fairness: "GPS",
        longest_call: "O(log n) x 256",
        work_conserving: "yes",
        costs_ahead: "yes",
        paper: "ToN 1993",
    },
    promise: Promise {
        fluid: Some(promise::Fluid::Gps),
        // Behind GPS.
        lag: Lag::Packets(1.0),
        ..Promise::by_tags(Counted::Shared)
    },
    facts: &[],
};

/// A flow's tags, and where GPS stands with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct WfqFlow {
    /// Finish tag of the last packet served.
    finish: Tag,
    /// Finish tag of the first waiting packet, by its estimated time.
    head_finish: Tag,
    /// Finish tag of the flow's last packet, waiting or served: GPS is done with the flow when V reaches it.
    last: Tag,
    /// Whether it was set up while packets waited, and has not ended in GPS since.
    is_new: bool,
    /// The epoch of the clock that these are of.
    epoch: u64,
}

type FlowQueues<const M: usize, P> = Queues<M, P, WfqFlow, u128>;

/// Weighted fair queueing of one resource.
#[derive(Clone, Debug)]
pub struct Wfq {
    shared: Shared,
    /// V, and the flows backlogged in GPS.
    gps: FluidClock,
    /// R.
    newest: Newest,
    /// Until when GPS has run, or lags behind.
    settled: Time,
    /// Flows with waiting packets by the finish tags of the first.
    heads: TagTournament,
}

impl Wfq {
    /// Of this resource, charging so, and with new flows that stand so.
    pub fn new(resource: usize, charge: Charge, newcomers: Newcomers) -> Self {
        Self::sharing(Shared { resource, charge }, newcomers)
    }

    fn sharing(shared: Shared, newcomers: Newcomers) -> Self {
        let (gps, heads) = (FluidClock::default(), TagTournament::default());
        Self { shared, gps, newest: Newest::new(newcomers), settled: Time::ZERO, heads }
    }

    pub(crate) fn from_spec<const M: usize>(spec: &Spec) -> Result<Self, SpecError> {
        Ok(Self::sharing(Shared::from_spec::<M>(spec)?, Newcomers::from_spec(spec)?))
    }

    /// For tests: GPS is done with so many flows in a call.
    pub fn passing(self, events: usize) -> Self {
        Self { gps: FluidClock::passing(events), ..self }
    }

    /// By how many nanoseconds GPS lagged after the last call that brought it ahead, and the most after any.
    pub fn lag_ns(&self) -> [f64; 2] {
        self.gps.lag_ns()
    }

    /// GPS as far as `now`, or as one call may bring it.
    fn run<const M: usize, P>(&mut self, now: Time, queues: &FlowQueues<M, P>) {
        let elapsed = now.since(self.settled).as_nanos();
        self.settled = now;
        self.gps.advance(elapsed, |flow| queues.flow(flow).weight());
        if queues.packets() == 0 && self.gps.lags() && self.gps.has_emptied() {
            self.gps.clear();
        }
    }

    /// The flow's tags, which are V if they were of an earlier epoch: then it has neither credit nor debt.
    fn tags<'a, const M: usize, P>(&self, flow: u32, queues: &'a mut FlowQueues<M, P>) -> &'a mut WfqFlow {
        let (state, epoch) = (&mut queues.flow_mut(flow).state, self.gps.epoch());
        if state.epoch != epoch {
            let past = Tag::at(self.gps.virtual_time());
            *state = WfqFlow { finish: past, head_finish: past, last: past, epoch, ..*state };
        }
        state
    }

    /// Tag the flow's first waiting packet and put it among the heads.
    fn place_head<const M: usize, P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        let Some(nanos) = self.shared.head(flow, queues) else { return self.heads.remove(flow) };
        let stamp = queues.stamp(queues.flow(flow).head);
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        record.state.head_finish = record.state.finish.at_least(stamp).moved(nanos, weight);
        self.heads.set(flow, record.state.head_finish.ticks());
    }

    /// GPS serves the flow until `last`.
    fn set_last<const M: usize, P>(&mut self, flow: u32, last: Tag, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        record.state.last = last;
        if last.ticks() > self.gps.virtual_time() || self.gps.end(flow).is_some() {
            self.gps.end_at(flow, last.ticks(), record.weight(), false);
        }
    }
}

impl<const M: usize> Discipline<M> for Wfq {
    const LISTED: Option<&'static Entry> = Some(&ENTRY);

    const READS_AHEAD: Worth = BY_TAGS;

    type Flow = WfqFlow;
    /// V at the packet's arrival.
    type Stamp = u128;
    type Note = ();

    fn weight_of(&self, config: &FlowConfig<M>) -> Weight {
        self.shared.weight(config)
    }

    fn added<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        queues.flow_mut(flow).state.is_new = self.newest.is_new(queues.packets());
    }

    #[inline]
    fn touch(&self, flow: u32, state: &Self::Flow) {
        self.heads.touch(flow);
        touch::word(&state.epoch);
    }

    #[inline]
    fn ahead(&self, packets: usize, ahead: &mut Ahead) {
        self.heads.ahead(packets, ahead);
    }

    #[inline]
    fn coming(&self, look_at: impl Fn([u32; 3])) {
        self.heads.coming().into_iter().for_each(look_at);
    }

    #[inline]
    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        *queues.stamp_mut(slot) = self.gps.virtual_time();
        let nanos = self.shared.nanos(&queues.slot(slot).cost);
        let state = &mut queues.flow_mut(flow).state;
        // Its last packet, if there was one, has ended in GPS.
        state.is_new &= state.last.ticks() == 0 || self.gps.end(flow).is_some();
        if state.is_new && queues.flow(flow).head == slot {
            let weight = queues.flow(flow).weight();
            *queues.stamp_mut(slot) = self.newest.start(self.gps.virtual_time(), self.gps.epoch(), weight);
        }
        let last = self.tags(flow, queues).last.at_least(self.gps.virtual_time());
        let last = last.moved(nanos, queues.flow(flow).weight());
        self.set_last(flow, last, queues);
        if queues.flow(flow).head == slot {
            self.place_head(flow, queues);
        }
    }

    #[inline]
    fn choose<P>(&mut self, now: Time, queues: &mut FlowQueues<M, P>) -> Choice {
        if self.gps.lags() {
            self.run(now, queues);
        }
        self.heads.peek().map_or(Choice::AwaitProgress, |(_, flow)| Choice::Flow(flow))
    }

    #[inline]
    fn served<P>(&mut self, _now: Time, flow: u32, _cost: &ResourceVec<M>, queues: &mut FlowQueues<M, P>) {
        let state = &mut queues.flow_mut(flow).state;
        state.finish = state.head_finish;
        let (is_new, finish) = (state.is_new, state.finish.ticks());
        if is_new && queues.flow(flow).packets == 0 {
            let weight = queues.flow(flow).weight();
            self.newest.reach(self.gps.virtual_time(), self.gps.epoch(), finish, weight);
        }
        self.place_head(flow, queues);
    }

    #[inline]
    fn corrected<P>(&mut self, flow: u32, ticket: &Ticket<M>, took: Took, queues: &mut FlowQueues<M, P>) {
        let Some(more) = self.shared.more(ticket, took) else { return };
        let (weight, packets) = (queues.flow(flow).weight(), queues.flow(flow).packets);
        let state = self.tags(flow, queues);
        state.finish = state.finish.moved(more, weight);
        // With nothing waiting the last packet is the one served, exactly; else all that wait move along.
        let last = if packets == 0 { state.finish } else { state.last.moved(more, weight) };
        self.set_last(flow, last, queues);
        self.place_head(flow, queues);
    }

    fn settle<P>(&mut self, now: Time, queues: &mut FlowQueues<M, P>) {
        self.run(now, queues);
    }

    fn reweighed<P>(&mut self, flow: u32, old: Weight, queues: &mut FlowQueues<M, P>) {
        if self.gps.end(flow).is_some() {
            self.gps.leave(flow, old);
        }
        let (now, new) = (self.gps.virtual_time(), queues.flow(flow).weight());
        // The first waiting packet starts where the flow's last one ended, wherever that is moved.
        let head = queues.flow(flow).head;
        let floor = if head == NIL { 0 } else { core::mem::take(queues.stamp_mut(head)) };
        let state = self.tags(flow, queues);
        state.finish = state.finish.at_least(floor).rescaled(now, old, new);
        let last = state.last.rescaled(now, old, new);
        self.set_last(flow, last, queues);
        self.place_head(flow, queues);
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.heads.remove(flow);
        let WfqFlow { finish, last, is_new, .. } = *self.tags(flow, queues);
        let weight = queues.flow(flow).weight();
        // The last packet of a new flow counted when it was handed out.
        let has_counted = is_new && queues.flow(flow).packets == 0;
        let (now, epoch) = (self.gps.virtual_time(), self.gps.epoch());
        let counts = has_counted || self.newest.reach(now, epoch, finish.ticks(), weight);
        if self.gps.end(flow).is_some() {
            let some = |slot: u32| Some(slot).filter(|&slot| slot != NIL);
            let slots = core::iter::successors(some(queues.flow(flow).head), |&slot| some(queues.slot(slot).next));
            let times = slots.map(|slot| self.shared.nanos(&queues.slot(slot).cost));
            let waiting = times.fold(0, i64::saturating_add);
            if counts {
                self.gps.abandon(flow, last.moved(-waiting.min(1 << 61), weight).ticks(), weight);
            } else {
                self.gps.leave(flow, weight);
            }
        }
    }
}
