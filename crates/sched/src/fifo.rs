//! `fifo`: first come, first served.
//!
//! Shares: nothing on purpose; a flow gets what it offers, so one flow with many or expensive packets starves the rest.
//! The control that every other discipline is compared with.
//!
//! * Parameters: none.
//! * Cost per packet: O(1).
//! * Longest call: a few steps; removing a flow: its packets, now and then as many as wait.
//! * A flow can gain: without limit by everything that makes it send more or larger packets. Nothing is shared.
//! * Guarantees: packets leave in the order of arrival over all flows; work conserving.
//! * Per-flow limits apply, although there is one order.
//! * Example: `fifo`.

use dovetail_units::{ResourceVec, Time};

use crate::catalog::{Brief, Entry, Resources, Weights};
use crate::discipline::{Choice, Discipline};
use crate::gain::{Gain, Strategy};
use crate::promise::Promise;
use crate::queues::{Arrivals, Queues};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "fifo",
    summary: "First come, first served: the control",
    shares: "nothing: a flow gets what it offers",
    resources: Resources::Any,
    parameters: &[],
    complexity: "O(1)",
    worst_call: "O(1); a removal amortised over packets",
    gains: NOTHING_IS_SHARED,
    guarantee: "order of arrival over all flows",
    weights: Weights::None,
    work_conserving: "yes",
    costs: "not needed",
    paper: "-",
    brief: Brief { fairness: "none", longest_call: "O(1)", work_conserving: "yes", costs_ahead: "no", paper: "-" },
    promise: Promise::NOTHING,
    facts: &[],
};

/// A flow gains without limit, but by its place in the order of set-up.
pub(crate) const NOTHING_IS_SHARED: &[Gain] = &[
    without_limit(Strategy::QueueDepth),
    without_limit(Strategy::Scale),
    without_limit(Strategy::NewFlows),
    without_limit(Strategy::RemoveAndAdd),
    without_limit(Strategy::Refill),
    without_limit(Strategy::OnOff),
    without_limit(Strategy::FalseEstimates),
    without_limit(Strategy::SmallFirst),
    without_limit(Strategy::FalseAndNew),
];

const fn without_limit(strategy: Strategy) -> Gain {
    Gain { strategy, most: f64::INFINITY, reason: "it shares nothing: a flow gets what it sends" }
}

/// The order of arrival: one entry per waiting packet.
#[derive(Clone, Debug, Default)]
pub struct Fifo {
    order: Arrivals,
}

impl<const M: usize> Discipline<M> for Fifo {
    const LISTED: Option<&'static Entry> = Some(&ENTRY);

    type Flow = ();
    type Stamp = ();
    type Note = ();

    #[inline]
    fn arrived<P>(&mut self, _now: Time, flow: u32, slot: u32, _queues: &mut Queues<M, P, (), ()>) {
        self.order.push_back(flow, slot);
    }

    #[inline]
    fn choose<P>(&mut self, _now: Time, _queues: &mut Queues<M, P, (), ()>) -> Choice {
        self.order.front().map_or(Choice::AwaitProgress, Choice::Flow)
    }

    #[inline]
    fn served<P>(&mut self, _now: Time, _flow: u32, _cost: &ResourceVec<M>, _queues: &mut Queues<M, P, (), ()>) {
        self.order.pop_front();
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut Queues<M, P, (), ()>) {
        self.order.forget(flow, queues);
    }
}
