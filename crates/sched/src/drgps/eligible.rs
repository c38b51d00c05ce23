//! The waiting packets that have started in the fluid, in the order in which they are to be served.

use super::fluid::FlowQueues;
use crate::queues::{Order, TagHeap};

/// The flows whose first waiting packets have started.
#[derive(Clone, Debug)]
pub(super) enum Eligible {
    /// In the order of their starts: one entry per packet.
    Starts(Order),
    /// By the finish tag of the first waiting packet.
    Finishes(TagHeap),
}

impl Eligible {
    /// A packet of the flow has started and is counted.
    pub(super) fn started<const M: usize, P>(&mut self, flow: u32, queues: &FlowQueues<M, P>) {
        match self {
            Self::Starts(order) => order.push_back(queues.id(flow), ()),
            // Behind others of the flow that have started, it has its place when they are gone.
            Self::Finishes(heap) if queues.flow(flow).state.started == 1 => place(heap, flow, queues),
            Self::Finishes(_) => (),
        }
    }

    /// Whose packet is next.
    pub(super) fn first<const M: usize, P>(&mut self, queues: &FlowQueues<M, P>) -> Option<u32> {
        match self {
            Self::Starts(order) => order.front(queues).map(|(id, ())| id.index),
            Self::Finishes(heap) => heap.peek().map(|(_, flow)| flow),
        }
    }

    /// The first one has been taken out of its queue and is no longer counted.
    pub(super) fn served<const M: usize, P>(&mut self, flow: u32, queues: &FlowQueues<M, P>) {
        match self {
            Self::Starts(order) => _ = order.pop_front(),
            Self::Finishes(heap) if queues.flow(flow).state.started > 0 => place(heap, flow, queues),
            Self::Finishes(heap) => heap.remove(flow),
        }
    }

    /// A finish tag of the flow, which has started packets, has changed.
    pub(super) fn restamped<const M: usize, P>(&mut self, flow: u32, queues: &FlowQueues<M, P>) {
        if let Self::Finishes(heap) = self {
            place(heap, flow, queues);
        }
    }

    /// The flow is about to be removed.
    pub(super) fn forget<const M: usize, P>(&mut self, flow: u32, queues: &FlowQueues<M, P>) {
        match self {
            Self::Starts(order) => order.forget(flow, queues),
            Self::Finishes(heap) => heap.remove(flow),
        }
    }
}

fn place<const M: usize, P>(heap: &mut TagHeap, flow: u32, queues: &FlowQueues<M, P>) {
    if queues.head(flow).is_some() {
        heap.set(flow, queues.stamp(queues.flow(flow).head));
    }
}
