//! The gate around the disciplines of a [`composition`](crate::composition). Packets that need no processing bypass the
//! first discipline, and a flow is not served while its buffer in front of the next resource is full.

use alloc::boxed::Box;

use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::contract::{Next, Packet, Progress, Scheduler, Ticket};
use crate::discipline::{Choice, Discipline};
use crate::note::Words;
use crate::queues::{Links, List, NIL, Queues, Slot};
use crate::spec::SpecError;
use crate::steps;

/// A flow's packets that have waited behind one that passes become known so many in a call, which is more than are
/// served.
const PROMISES: usize = 4;

/// Any discipline, behind a window of credits for every flow: under [`PerFlow`](crate::PerFlow) a scheduler that never
/// has more than `window` packets of a flow on their way from it to the next resource, and hands packets that need
/// nothing on the first resource out at once.
///
/// * In front of the first resource, a packet that needs nothing there ([`Packet::cost`]) is nothing to the discipline
///   within, as it takes no part of what that shares. As soon as it is its flow's first packet (packets keep their
///   order) and has credit, it is the next to be handed out, also by [`bypass`](Scheduler::bypass), in the order in
///   which packets of all flows become so.
/// * On its way is a packet from when it is handed out, or promised to the discipline within, until its start on the
///   next resource is reported, or its end there, or that it was abandoned before. So the window counts the packets in
///   service on this resource, and as a packet in service always has its place in the next buffer, a flow's buffer of
///   `window` packets can never overflow, nor can a flow block a server. With several resources in series, each has
///   such a window, for the buffer behind it.
/// * The discipline within knows a flow's first packets only, as many as its window allows: to it, a flow that waits
///   for credit is idle. Of packets that waited behind one that passes it is told four at a time, with each that is
///   served, so that no call grows with the queue. The packets themselves, and the books, are kept outside of it;
///   within are tokens with their costs.
/// * A packet returns its credit once, however often its progress is reported. Of a flow that was removed, nothing is
///   counted any more.
/// * Cost per packet: O(1) and the discipline's. Longest call: the discipline's, for up to four packets.
pub struct Gate<const M: usize> {
    /// Has the same flows with the same ids, as it sees the same set-ups and tear-downs in the same order.
    inner: Box<dyn Scheduler<M, ()>>,
    next_resource: usize,
    window: u32,
    /// Flows whose first packet needs nothing on this resource, and has credit.
    passing: List,
    links: Links,
    /// What the discipline chose, between choice and service.
    chosen: Option<Ticket<M>>,
    now: Time,
}

/// A flow's window.
#[derive(Clone, Copy, Debug)]
pub struct Credits {
    /// Packets that the discipline within knows of.
    promised: u32,
    /// Packets handed out that have not come to the next resource.
    on_their_way: u32,
    /// The first packet that the discipline does not know of yet, or [`NIL`].
    first_held: u32,
    /// Whether that is the flow's first packet, and passes.
    passes: bool,
}

impl Default for Credits {
    fn default() -> Self {
        Self { promised: 0, on_their_way: 0, first_held: NIL, passes: false }
    }
}

type FlowQueues<const M: usize, P> = Queues<M, P, Credits, ()>;

impl<const M: usize> Gate<M> {
    /// `inner`, a scheduler of this crate without flows, stands in front of `resource`; `window` is at least 1.
    pub(crate) fn new(inner: Box<dyn Scheduler<M, ()>>, resource: usize, window: u32) -> Self {
        Self {
            inner,
            next_resource: resource + 1,
            window: window.max(1),
            passing: List::default(),
            links: Links::default(),
            chosen: None,
            now: Time::ZERO,
        }
    }

    /// Whether the packet is nothing to the discipline within.
    fn passes<P>(&self, slot: &Slot<M, P>) -> bool {
        self.next_resource == 1 && slot.needs_no_processing()
    }

    /// Tell the discipline of as many of the flow's packets as have credit, but of [`PROMISES`] at once: of the others
    /// when one of these is served.
    fn promise<P>(&mut self, now: Time, flow: u32, queues: &mut FlowQueues<M, P>) {
        let (id, mut window) = (queues.id(flow), queues.flow(flow).state);
        for _ in 0..PROMISES {
            if window.first_held == NIL || window.promised + window.on_their_way >= self.window {
                break;
            }
            steps::take(1);
            let slot = queues.slot(window.first_held);
            if self.passes(slot) {
                if window.promised == 0 && !window.passes {
                    self.links.push_back(&mut self.passing, flow);
                    window.passes = true;
                }
                break;
            }
            let token = Packet { flow: id, size: slot.size, cost: slot.cost, payload: () };
            if self.inner.enqueue(now, token).is_err() {
                break;
            }
            window.promised += 1;
            window.first_held = slot.next;
        }
        queues.flow_mut(flow).state = window;
    }

    /// Whether the discipline within handed the packet out. What it hands out is charged, and it has no use for reports
    /// of later resources.
    fn is_known(&self, ticket: &Ticket<M>) -> bool {
        self.next_resource > 1 || ticket.charged.iter().next() != Some(&Duration::ZERO)
    }

    /// Whether this report is the first that says that the packet needs no place in front of the next resource any
    /// more.
    fn returns_credit(&self, ticket: &Ticket<M>, resource: usize, event: Progress) -> bool {
        let arrived = Ticket::<M>::stage(self.next_resource, Progress::Started);
        ticket.reached < arrived && Ticket::<M>::stage(resource, event) >= arrived
    }
}

impl<const M: usize> Discipline<M> for Gate<M> {
    type Flow = Credits;
    type Stamp = ();
    /// That of the discipline inside.
    type Note = Words<M>;

    fn added<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        let id = self.inner.add_flow(queues.weights(flow));
        debug_assert_eq!(id, queues.id(flow));
    }

    fn arrived<P>(&mut self, now: Time, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>) {
        let window = &mut queues.flow_mut(flow).state;
        if window.first_held == NIL {
            window.first_held = slot;
            self.promise(now, flow, queues);
        }
    }

    fn choose<P>(&mut self, now: Time, _queues: &mut FlowQueues<M, P>) -> Choice {
        if let Some(flow) = self.passing.first() {
            return Choice::Flow(flow);
        }
        if self.chosen.is_none() {
            match self.inner.next(now) {
                Next::Serve(served) => self.chosen = Some(served.ticket),
                Next::At(time) => return Choice::At(time),
                // No part of a composition drops.
                Next::AwaitProgress | Next::Empty | Next::Drop { .. } => return Choice::AwaitProgress,
            }
        }
        self.chosen.map_or(Choice::AwaitProgress, |ticket| Choice::Flow(ticket.flow.index))
    }

    /// Looks at no more flows than have packets on the first resource, and one.
    fn choose_bypass<P>(
        &mut self,
        _now: Time,
        may_pass: &mut dyn FnMut(&P) -> bool,
        queues: &mut FlowQueues<M, P>,
    ) -> Choice {
        let mut flows = self.links.of(&self.passing);
        let flow = flows.find(|&flow| queues.head(flow).is_some_and(|first| first.may_bypass(may_pass)));
        flow.map_or(Choice::AwaitProgress, Choice::Flow)
    }

    fn served<P>(&mut self, now: Time, flow: u32, _cost: &ResourceVec<M>, queues: &mut FlowQueues<M, P>) -> Words<M> {
        let record = queues.flow_mut(flow);
        let head = record.head;
        let window = &mut record.state;
        window.on_their_way += 1;
        let note = if window.passes {
            (window.passes, window.first_held) = (false, head);
            self.links.remove(&mut self.passing, flow);
            Words::NONE
        } else {
            window.promised = window.promised.saturating_sub(1);
            self.chosen.take().map_or(Words::NONE, |ticket| ticket.note())
        };
        self.promise(now, flow, queues);
        note
    }

    fn progressed_among<P>(
        &mut self,
        now: Time,
        ticket: &mut Ticket<M>,
        resource: usize,
        event: Progress,
        queues: &mut FlowQueues<M, P>,
    ) {
        self.now = now;
        if self.is_known(ticket) {
            // The discipline gave this ticket: same id, note and charge.
            self.inner.progress(now, &mut { *ticket }, resource, event);
        }
        if self.returns_credit(ticket, resource, event) && queues.get(ticket.flow).is_some() {
            let flow = ticket.flow.index;
            let window = &mut queues.flow_mut(flow).state;
            window.on_their_way = window.on_their_way.saturating_sub(1);
            self.promise(now, flow, queues);
        }
    }

    fn settle<P>(&mut self, now: Time, _queues: &mut FlowQueues<M, P>) {
        self.now = now;
    }

    fn reweighed<P>(&mut self, flow: u32, _old: Weight, queues: &mut FlowQueues<M, P>) {
        let known = self.inner.set_flow(self.now, queues.id(flow), queues.weights(flow));
        debug_assert!(known.is_ok());
    }

    fn removed<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        if queues.flow(flow).state.passes {
            self.links.remove(&mut self.passing, flow);
        }
        let known = self.inner.remove_flow(self.now, queues.id(flow), &mut |()| ());
        debug_assert!(known.is_ok());
    }

    fn set<P>(&mut self, parameter: &str, value: &str, _queues: &mut FlowQueues<M, P>) -> Result<(), SpecError> {
        self.inner.set(self.now, parameter, value)
    }
}
