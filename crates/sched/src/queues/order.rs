//! An order of service: one entry per packet, naming its flow, with a note.

use alloc::collections::VecDeque;

use super::Queues;
use crate::contract::FlowId;

/// Flows in the order in which their packets are to be served, with a note of each. Every operation is O(1), amortised.
#[derive(Clone, Debug)]
pub struct Order<N = ()> {
    entries: VecDeque<(FlowId, N)>,
    /// Entries of removed flows that may still be there.
    stale: usize,
}

impl<N> Default for Order<N> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), stale: 0 }
    }
}

impl<N: Copy> Order<N> {
    /// The flow's next packet is to be served after all others that are here.
    pub fn push_back(&mut self, flow: FlowId, note: N) {
        self.entries.push_back((flow, note));
    }

    /// Whose packet is first, if any is here; entries of removed flows are passed over.
    pub fn front<const M: usize, P, F: Default, S: Copy>(
        &mut self,
        queues: &Queues<M, P, F, S>,
    ) -> Option<(FlowId, N)> {
        while let Some(&(flow, note)) = self.entries.front() {
            if queues.get(flow).is_some() {
                return Some((flow, note));
            }
            self.entries.pop_front();
            self.stale = self.stale.saturating_sub(1);
        }
        None
    }

    /// The first packet is served: its note.
    pub fn pop_front(&mut self) -> Option<N> {
        self.entries.pop_front().map(|(_, note)| note)
    }

    /// Whether no packet is here.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The live flow at this index is about to be removed. Its entries go when they are first, or together with others once they may be half
    /// of all: flows that come and go behind a waiting packet must not pile up.
    pub fn forget<const M: usize, P, F: Default, S: Copy>(&mut self, flow: u32, queues: &Queues<M, P, F, S>) {
        let removed = queues.id(flow);
        self.stale += queues.flow(flow).packets as usize;
        if 2 * self.stale > self.entries.len() {
            self.entries.retain(|&(entry, _)| entry != removed && queues.get(entry).is_some());
            self.stale = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{FlowConfig, Packet};
    use dovetail_units::{ResourceVec, Weight};

    #[test]
    fn flows_that_come_and_go_behind_a_waiting_packet_do_not_pile_up() {
        let mut queues: Queues<1, (), (), ()> = Queues::new();
        let mut order = Order::default();
        let join = |queues: &mut Queues<1, (), (), ()>, order: &mut Order| {
            let flow = queues.add_flow(FlowConfig::default(), Weight::ONE);
            queues.push(Packet { flow, size: 1, cost: ResourceVec::ZERO, payload: () }, ());
            order.push_back(flow, ());
            flow
        };
        let first = join(&mut queues, &mut order);
        for _ in 0..1000 {
            let flow = join(&mut queues, &mut order);
            order.forget(flow.index, &queues);
            queues.pop(flow.index);
            queues.remove_flow(flow);
        }
        assert!(order.entries.len() <= 3, "{}", order.entries.len());
        assert_eq!(order.front(&queues), Some((first, ())));
    }
}
