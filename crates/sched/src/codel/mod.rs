//! `codel`: controlled delay in one queue (RFC 8289).
//!
//! Shares: nothing; packets leave in the order of arrival, and some are dropped if all wait for long. What many boxes
//! run today, to compare with.
//!
//! * Parameters: `target` = the wait that is acceptable if it lasts, above 0 s, default 5 ms. `interval` = so long may
//!   packets wait longer before the first one is dropped, above 0 s, default 100 ms.
//! * Cost per packet: O(1), and the packets that are dropped before it.
//! * Longest call: a few steps: each drop is an answer of its own ([`Next::Drop`](crate::Next::Drop)). Removing a flow:
//!   its packets, now and then as many as wait.
//! * A flow can gain: without limit by everything that makes it send more or larger packets. Nothing is shared.
//! * Guarantees: order of arrival over all flows; work conserving. Senders that slow down when packets are lost, as TCP
//!   does, keep the wait near `target`. Others keep the queue full, and lose more and more.
//! * Example: `codel`, `codel:target=1 ms,interval=20 ms`.
//!
//! A packet's wait is looked at when its turn comes. When all have waited for `target` or longer during an `interval`,
//! the first one is dropped, the next one `interval` later, the n-th one interval / sqrt(n) after the one before, until
//! one has waited for less. The last packets of a queue, as many bytes as the longest packet has, are not dropped.
//!
//! Differences from the RFC, with reasons:
//! * Packets are dropped, never marked: the contract has no ECN.
//! * The longest packet is the longest that came, since an interface's MTU is not known here.
//! * Limits are those of the flows' queues; the RFC names none.

mod control;
pub mod fair;

use dovetail_units::{ResourceVec, Time};

use crate::catalog::{Brief, Entry, ManagesQueue, Resources, Weights};
use crate::discipline::{Choice, Discipline};
use crate::fifo::NOTHING_IS_SHARED;
use crate::promise::Promise;
use crate::queues::{Arrivals, Queues};
use crate::spec::{Spec, SpecError};

pub use control::{Control, Law};
pub(crate) use control::{INTERVAL, TARGET};

/// The catalogue's entry.
pub const ENTRY: Entry = Entry {
    name: "codel",
    summary: "One queue with controlled delay: drops packets while all wait for long",
    shares: "nothing: a flow gets what it offers",
    resources: Resources::Any,
    parameters: &[TARGET, INTERVAL],
    complexity: "O(1)",
    worst_call: "O(1); a removal amortised over packets",
    gains: NOTHING_IS_SHARED,
    guarantee: "order of arrival over all flows; waits near target if senders slow down by losses",
    weights: Weights::None,
    work_conserving: "yes",
    costs: "not needed",
    paper: "Nichols, Jacobson, McGregor, Iyengar, RFC 8289, 2018",
    brief: Brief {
        fairness: "none",
        longest_call: "O(1)",
        work_conserving: "yes",
        costs_ahead: "no",
        paper: "RFC 8289, 2018",
    },
    promise: Promise::NOTHING,
    facts: &[&ManagesQueue],
};

/// One queue with controlled delay.
#[derive(Clone, Debug)]
pub struct Codel {
    law: Law,
    order: Arrivals,
    control: Control,
    /// Its state after what was chosen.
    decided: Control,
    /// Length of the longest packet that came.
    longest: u32,
}

impl Codel {
    /// With these parameters.
    pub fn new(law: Law) -> Self {
        let (control, decided) = Default::default();
        Self { law, order: Arrivals::default(), control, decided, longest: 0 }
    }

    pub(crate) fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        Law::from_spec(spec).map(Self::new)
    }
}

impl<const M: usize> Discipline<M> for Codel {
    const LISTED: Option<&'static Entry> = Some(&ENTRY);

    type Flow = ();
    /// When the packet came.
    type Stamp = Time;
    type Note = ();

    fn arrived<P>(&mut self, now: Time, flow: u32, slot: u32, queues: &mut Queues<M, P, (), Time>) {
        *queues.stamp_mut(slot) = now;
        self.longest = self.longest.max(queues.slot(slot).size);
        self.order.push_back(flow, slot);
    }

    fn choose<P>(&mut self, now: Time, queues: &mut Queues<M, P, (), Time>) -> Choice {
        let Some(flow) = self.order.front() else { return Choice::AwaitProgress };
        let slot = queues.flow(flow).head;
        let (waited, size) = (now.since(queues.stamp(slot)), queues.slot(slot).size);
        self.decided = self.control;
        let drops = self.decided.drops(&self.law, now, waited, queues.bytes() - u64::from(size), self.longest);
        if drops { Choice::Drop(flow) } else { Choice::Flow(flow) }
    }

    fn found_empty(&mut self) {
        self.control.is_empty_at_its_turn();
    }

    fn served<P>(&mut self, _now: Time, _flow: u32, _cost: &ResourceVec<M>, _queues: &mut Queues<M, P, (), Time>) {
        self.order.pop_front();
        self.control = self.decided;
    }

    fn dropped<P>(&mut self, _flow: u32, _size: u32, _queues: &mut Queues<M, P, (), Time>) {
        self.order.pop_front();
        self.control = self.decided;
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut Queues<M, P, (), Time>) {
        self.order.forget(flow, queues);
    }
}
