//! `drgps`: packet by packet after the DRGPS fluid (Wang, Liang, Li, IWQoS 2013).
//!
//! Shares: at every moment equal (weighted) dominant shares. A fluid serves the first packet of every backlogged flow
//! on all resources at once, as much as no resource forbids; packets enter the pipeline in an order that follows it.
//!
//! * Parameters: `order` = `finish` (default): of the packets that have started in the fluid, the one that ends first
//!   there (DRWF2Q, worst-case fair); or `start`: the one that started first (start-time tracking).
//! * Any number m of resources.
//! * Weights: one for all resources, [`FlowConfig::weight`](crate::FlowConfig::weight). Weights that differ by resource
//!   are ignored.
//! * Cost per packet: O(log n + m) amortised for n backlogged flows.
//! * Longest call: as many ends of packets in the fluid as came since the last one, each O(log n + m), up to 256 of few
//!   flows and 16 of 10^6 ([`most_events`](crate::one_resource::most_events)); see *The fluid may lag*.
//! * `newcomers` = `pay` (default): a flow that is set up while packets wait enters the fluid when the last such one
//!   has ended there, or would have by the weight of the flow that comes, if that is larger; or `free`, as published:
//!   it enters when it comes, and ever new flows starve all others.
//! * A flow can gain nothing with true estimates: at most 1.05 by search. New flows gain the factor by which theirs are
//!   too low: a flow is gone when they are corrected. As published, without limit by a new flow for every tiny packet:
//!   the fluid still owes each of them a share when its packet has long left.
//! * Guarantees with exact times, S and F a packet's start and finish in the fluid, L the longest time of any packet on
//!   any resource, L_0 on the first, n flows, resource 0 of one server that takes a packet whenever there is one. No
//!   packet enters before S. `finish`: it leaves resource 0 by F + L_0, however many flows there are, and resource r by
//!   F + (r (2 n + 1) + 2) L. `start`: it enters by S + (n - 1) L_0 and leaves resource r by S + (r + 1) n L. An
//!   instant between two nanoseconds counts as the next one. With one resource `finish` is WF2Q and keeps its bound:
//!   every packet ends at most one longest packet after it does in GPS. See
//!   `dovetail_model::bounds::drgps_exit_by_finish_s` and its neighbours.
//! * Work conserving on one resource (exact times). On more it waits until a packet has started in the fluid
//!   ([`Next::At`](crate::Next::At)).
//! * Example: `drgps`, `drgps:order=start`.
//!
//! The fluid:
//!
//! ```text
//! tbar_r = (time on r) / (time on the dominant resource)            of the packet that is first in the fluid
//! dV/dt  = d = 1 / max_r (sum of w_i tbar_ir)                       over the flows i that are backlogged in the fluid
//! F_k    = max( V(a_k), F_k-1 ) + (dominant time) / w               flow i has the dominant share w_i d
//! ```
//!
//! *Not O(n) per packet.* d changes whenever any first packet does, but F does not depend on d: a heap of finish tags
//! says which first packet ends next, in virtual time. When it has ended, its part of the m sums is exchanged for the
//! next packet's, d is their maximum, and only then is V's rate another. No other flow is visited.
//!
//! *Why `finish`.* Both orders keep every flow's long-run share, and `start` is the cheaper one. But after its start in
//! the fluid a packet may have to wait for one of each other flow, whatever its weight; by finish a heavy flow's
//! packets pass those that have long to go, and none leaves resource 0 later than one packet after the fluid. In a
//! search for bad cases (up to 8 flows, 2 million packets for each number) packets left the first of 1, 2, 3, 4
//! resources up to 1.0 L_0 after their finish in the fluid, by `start` up to 7.0 L_0; and the last one up to 1.0, 7.9,
//! 9.5, 9.3 L after it, by `start` up to 7.0, 8.9, 10.3, 11.3 L.
//!
//! *Why it waits.* If nothing that waits has started in the fluid, everything that the fluid serves is in the pipeline
//! already. With one resource this does not happen while that is free: the fluid has done as much as it has. With more,
//! a packet that needs the first resource little leaves it long before the fluid is done with it. To go on with the
//! next would let that resource run ahead of the others without limit, with a growing buffer in between, and give
//! service that a flow that comes then can no longer share. `tradeoff` waits likewise.
//!
//! *The fluid may lag.* When more packets have ended in the fluid than a call ends, its clock stands at the last of
//! them, and what happens meets it there: an arriving packet starts as of then. Every packet comes by a call and ends
//! once, so the fluid has caught up after N / (most - 1) calls, N the packets in it; at once when nothing waits and the
//! fluid has surely emptied, as the sum of the times of its heads tells. Meanwhile F and S are those of this fluid, and
//! by finish a packet leaves resource 0 by F + lag + L_0: what is served between the last packet before it that ends
//! later in the fluid and itself, had not started there when that one was chosen, and the fluid stood at most the lag
//! back. The other bounds are those of a fluid that does not lag. If of all that wait none has started because of the
//! lag, the packet that starts first does so at once, before its time; its flow's tags are the same as ever.
//!
//! *It waits for resource 0 too.* A packet that takes longer than estimated, a buffer that is full, or time lost to
//! something else makes resource 0 late. A fluid that went on would serve what that cannot have served, until all that
//! waits had started and were served in order of arrival. So it stands still while something that has started waits
//! and all that was handed out should be through by what the fluid was charged for it. Lost time is lost once. With
//! exact times and a resource 0 that takes a packet whenever there is one this never happens. Where resource 0 has
//! several servers, of which each has a packet for longer, it hardly ever does.
//!
//! *Numbers.* All are integers. V and tags count 2^-22 ns. tbar is rounded to a multiple of 2^-31: the fluid is that of
//! packets whose times on other resources than the dominant one are wrong by up to 2^-32 of the dominant time, so V' is
//! wrong by up to m 2^-32 of itself. This does not add up: sums are exact, what joins them is what leaves, and time
//! that is too short for a tick of V is kept. What a division by a weight leaves below one tick goes to the flow's next
//! packet until the fluid rests.
//!
//! Differences from the paper, with reasons. The text of the paper was not at hand; the fluid is that of its abstract
//! and of published descriptions of it.
//! * Measured costs: what a packet took more or less is added to the flow's next packets in the fluid: on the dominant
//!   resource all of it to the next one, on each other resource an eighth of what is left to each. Otherwise the
//!   resources would idle for as long as a wrong proportion holds. With an estimate that is too long they idle for the
//!   difference, once and not for every packet. A flow that leaves the fluid keeps debts, but no credit of service.
//! * A packet counts at least one nanosecond, so that a flow of packets of no time gives way; one of no time at all
//!   counts as one of resource 0.
//! * A changed weight holds at once, for what is left of the packet that is first in the fluid.
//! * Ties, which the definition leaves open: equal finishes go by the flow's index, equal starts in order of arrival or
//!   of the finishes before.

mod eligible;
mod fluid;

use dovetail_units::{ResourceVec, Time, Weight};

use crate::catalog::{Brief, Entry, Parameter, Resources, Weights};
use crate::contract::{Ticket, Took};
use crate::discipline::{Choice, Discipline};
use crate::gain::AS_TOLD;
use crate::newcomers::{self, Newcomers};
use crate::one_resource::charged;
use crate::promise::{self, Apart, Counted, Promise};
use crate::queues::{Order, TagHeap};
use crate::spec::{Spec, SpecError};

use eligible::Eligible;
pub use fluid::DrgpsFlow;
use fluid::{FlowQueues, Fluid};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "drgps",
    summary: "Follows the perfectly fair fluid, packet by packet",
    shares: "equal dominant shares by weight at every moment, as in the DRGPS fluid",
    resources: Resources::Any,
    parameters: &[
        Parameter {
            name: "order",
            value: "finish | start",
            default: "finish",
            meaning: "of the packets that have started in the fluid, serve the one that ends first there, or that \
                started first",
            settable: false,
        },
        newcomers::PARAMETER,
    ],
    complexity: "O(log n + m)",
    worst_call: "O(log n + m) and up to 256 ends of packets in the fluid, 16 with 10^6 flows; later calls do the rest",
    gains: &[AS_TOLD],
    guarantee: "order=finish: a packet leaves resource 0 at most L after its finish in the fluid; order=start: it \
        enters at most (n-1)L after its start there",
    weights: Weights::One,
    work_conserving: "on one resource; with more it waits for the fluid",
    costs: "on arrival; corrected by measurement",
    paper: "Wang et al., IWQoS 2013",
    brief: Brief {
        fairness: "dominant resource",
        longest_call: "O(log n) x 256",
        work_conserving: "on one resource",
        costs_ahead: "yes",
        paper: "IWQoS 2013",
    },
    promise: Promise {
        fluid: Some(promise::Fluid::DominantShares),
        // A packet of each flow that has started in the fluid, and one of the other's before it.
        apart: |_, _| Some(Apart::Longest(3.0)),
        ..Promise::by_rounds(Counted::Dominant)
    },
    facts: &[],
};

/// Which of the packets that have started in the fluid is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TrackBy {
    /// The one that started first: start-time tracking.
    Start,
    /// The one that ends first: worst-case fair, DRWF2Q.
    #[default]
    Finish,
}

/// The fluid, and what has started in it.
#[derive(Clone, Debug)]
pub struct Drgps<const M: usize> {
    fluid: Fluid<M>,
    eligible: Eligible,
}

impl<const M: usize> Drgps<M> {
    /// In this order, with new flows let into the fluid so.
    pub fn new(order: TrackBy, newcomers: Newcomers) -> Self {
        let eligible = match order {
            TrackBy::Start => Eligible::Starts(Order::default()),
            TrackBy::Finish => Eligible::Finishes(TagHeap::default()),
        };
        Self { fluid: Fluid::new(newcomers), eligible }
    }

    pub(crate) fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        let order = match spec.value("order") {
            None => TrackBy::default(),
            Some("finish") => TrackBy::Finish,
            Some("start") => TrackBy::Start,
            Some(value) => {
                let expected = "finish (worst-case fair) or start (start-time tracking)";
                return Err(SpecError::bad_value("order", value, expected));
            }
        };
        Ok(Self::new(order, Newcomers::from_spec(spec)?))
    }

    /// For tests: a call ends so many packets in the fluid.
    pub fn ending(mut self, events: usize) -> Self {
        self.fluid.events = Some(events.max(1));
        self
    }

    /// By how many nanoseconds the fluid lagged after the last call that brought it ahead, and the most after any.
    pub fn lag_ns(&self) -> [f64; 2] {
        self.fluid.lag_ns()
    }
}

impl<const M: usize> Discipline<M> for Drgps<M> {
    const LISTED: Option<&'static Entry> = Some(&ENTRY);

    type Flow = DrgpsFlow<M>;
    /// The packet's finish tag once it has started in the fluid.
    type Stamp = u128;
    type Note = ();

    fn added<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        queues.flow_mut(flow).state.visit = self.fluid.anteroom.visit(flow, queues.packets());
    }

    #[inline]
    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        // Behind others that have not started the fluid need not know yet.
        if !queues.flow(flow).state.has_next() {
            self.fluid.arrive(flow, slot, queues, &mut self.eligible);
        }
    }

    #[inline]
    fn choose<P>(&mut self, now: Time, queues: &mut FlowQueues<M, P>) -> Choice {
        self.fluid.settle(now, queues, &mut self.eligible);
        if self.fluid.lags() && self.eligible.first(queues).is_none() {
            self.fluid.start_early(queues, &mut self.eligible);
        }
        match self.eligible.first(queues) {
            Some(flow) => Choice::Flow(flow),
            None => Choice::At(self.fluid.next_event()),
        }
    }

    #[inline]
    fn served<P>(&mut self, _now: Time, flow: u32, cost: &ResourceVec<M>, queues: &mut FlowQueues<M, P>) {
        let state = &mut queues.flow_mut(flow).state;
        state.started = state.started.saturating_sub(1);
        self.eligible.served(flow, queues);
        self.fluid.handed_out(flow, cost, queues);
    }

    #[inline]
    fn corrected<P>(&mut self, flow: u32, ticket: &Ticket<M>, took: Took, queues: &mut FlowQueues<M, P>) {
        let after = ticket.charged_with(took);
        let service = charged(after.dominant_time()) - charged(ticket.charged.dominant_time());
        let nanos = charged(took.used) - charged(ticket.charged[took.resource]);
        queues.flow_mut(flow).state.correct(service, took.resource, nanos);
    }

    fn settle<P>(&mut self, now: Time, queues: &mut FlowQueues<M, P>) {
        self.fluid.settle(now, queues, &mut self.eligible);
    }

    fn reweighed<P>(&mut self, flow: u32, old: Weight, queues: &mut FlowQueues<M, P>) {
        self.fluid.reweigh(flow, old, queues, &mut self.eligible);
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        self.fluid.remove(flow, queues, &mut self.eligible);
        self.eligible.forget(flow, queues);
    }
}
