//! What waits in front of a resource.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use dovetail_sched::aqm::{AqmDrop, Arrival, Congestion, ManagedQueue};
use dovetail_sched::{DropReason, FlowId};
use dovetail_units::Time;

/// What waits in front of a resource: of packets `P`, maybe in flows' queues `S`.
pub enum Front<S, P> {
    /// In order of arrival; what finds so many waiting is refused.
    InOrder {
        /// What waits.
        waiting: VecDeque<P>,
        /// The most packets that wait.
        limit: usize,
    },
    /// In order of arrival, under active queue management.
    Managed(Box<ManagedQueue<P>>),
    /// Every flow in a queue of its own, under a scheduler.
    PerFlow(S),
}

/// The answer to "what now?".
pub enum Offer<P> {
    /// This packet starts.
    Serve(P),
    /// The scheduler drops it; ask again.
    Drop(P),
    /// None before this instant.
    At(Time),
    /// None until something happens.
    Nothing,
}

/// Why a packet was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// As many wait as may.
    Full,
    /// By active queue management.
    Managed(AqmDrop),
    /// By the scheduler.
    Scheduler(DropReason),
}

impl Refusal {
    /// The reason's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => AqmDrop::Full.name(),
            Self::Managed(reason) => reason.name(),
            Self::Scheduler(reason) => reason.name(),
        }
    }
}

/// Flows' queues under a scheduler, by the owner's numbers of flows.
pub trait FlowQueues<P> {
    /// What a flow is set up with.
    type Config;
    /// The estimated times of a packet.
    type Cost;

    /// A flow is set up.
    fn add_flow(&mut self, flow: u32, config: Self::Config);
    /// A flow of which nothing is in the pipeline is forgotten; what waits of it goes to `give_back`.
    fn remove_flow(&mut self, now: Time, flow: u32, give_back: &mut dyn FnMut(P));
    /// A packet of so many bytes comes; it is given back with the reason if it is refused.
    ///
    /// # Errors
    /// The packet, if it is not taken.
    fn enqueue(&mut self, now: Time, of: Of<Self::Cost>, packet: P) -> Result<(), (DropReason, P)>;
    /// What starts on the idle resource.
    fn next(&mut self, now: Time) -> Offer<P>;
    /// Packets that wait.
    fn waiting(&self) -> usize;
}

/// What a scheduler needs to know of a packet.
pub struct Of<C> {
    /// Its flow.
    pub flow: u32,
    /// Its length in bytes.
    pub size: u32,
    /// Its estimated times.
    pub cost: C,
}

impl<S: FlowQueues<P>, P> Front<S, P> {
    /// In order of arrival, without limit.
    pub fn in_order() -> Self {
        Self::InOrder { waiting: VecDeque::new(), limit: usize::MAX }
    }

    /// The flows' queues, if there are any.
    #[inline]
    pub fn flows(&self) -> Option<&S> {
        if let Self::PerFlow(queues) = self { Some(queues) } else { None }
    }

    /// The flows' queues, if there are any.
    #[inline]
    pub fn flows_mut(&mut self) -> Option<&mut S> {
        if let Self::PerFlow(queues) = self { Some(queues) } else { None }
    }

    /// The queue under active queue management, if it is one.
    #[inline]
    pub fn managed_mut(&mut self) -> Option<&mut ManagedQueue<P>> {
        if let Self::Managed(queue) = self { Some(queue) } else { None }
    }

    /// Packets that wait.
    #[inline]
    pub fn waiting(&self) -> usize {
        match self {
            Self::InOrder { waiting, .. } => waiting.len(),
            Self::Managed(queue) => queue.len(),
            Self::PerFlow(queues) => queues.waiting(),
        }
    }

    /// A packet comes. `flow` and `cost` are looked at by a scheduler; `arrival`, 64 random bits and `mark`, which
    /// notes in the packet what there is to note, by active queue management.
    ///
    /// # Errors
    /// The packet, if it is not taken.
    // Always inlined: what is written in parts, and copied in larger ones at once, waits for memory.
    #[inline(always)]
    pub fn enqueue(
        &mut self,
        now: Time,
        (flow, arrival): (u32, &Arrival),
        packet: P,
        cost: impl FnOnce() -> S::Cost,
        random: impl FnOnce() -> u64,
        mark: impl FnOnce(&mut P, Congestion),
    ) -> Result<(), (Refusal, P)> {
        match self {
            Self::InOrder { waiting, limit } if waiting.len() >= *limit => Err((Refusal::Full, packet)),
            Self::InOrder { waiting, .. } => {
                waiting.push_back(packet);
                Ok(())
            }
            Self::Managed(queue) => {
                let arrived = queue.arrive(now, arrival, random(), packet, mark);
                arrived.map_err(|(reason, packet)| (Refusal::Managed(reason), packet))
            }
            Self::PerFlow(queues) => {
                let of = Of { flow, size: arrival.size, cost: cost() };
                let queued = queues.enqueue(now, of, packet);
                queued.map_err(|(reason, packet)| (Refusal::Scheduler(reason), packet))
            }
        }
    }

    /// What starts on the idle resource.
    #[inline]
    pub fn next(&mut self, now: Time) -> Offer<P> {
        match self {
            Self::InOrder { waiting, .. } => waiting.pop_front().map_or(Offer::Nothing, Offer::Serve),
            Self::Managed(queue) => queue.pop().map_or(Offer::Nothing, Offer::Serve),
            Self::PerFlow(queues) => queues.next(now),
        }
    }
}

/// A scheduler's ids of the owner's flows.
#[derive(Clone, Debug, Default)]
pub struct FlowIds(Vec<Option<FlowId>>);

impl FlowIds {
    /// The flow has this id.
    pub fn insert(&mut self, flow: u32, id: FlowId) {
        let place = flow as usize;
        if self.0.len() <= place {
            self.0.resize(place + 1, None);
        }
        self.0[place] = Some(id);
    }

    /// The flow's id, if it is known.
    #[inline]
    pub fn get(&self, flow: u32) -> Option<FlowId> {
        self.0.get(flow as usize).copied().flatten()
    }

    /// The flow is known no more; it had this id.
    pub fn remove(&mut self, flow: u32) -> Option<FlowId> {
        self.0.get_mut(flow as usize).and_then(Option::take)
    }

    /// Flows that are known.
    pub fn flows(&self) -> impl Iterator<Item = u32> {
        self.0.iter().zip(0..).filter_map(|(id, flow)| id.map(|_| flow))
    }
}
