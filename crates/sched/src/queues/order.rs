//! An order of service: one entry per packet, naming its flow, with a note.

use alloc::vec::Vec;

use super::{NIL, Queues};
use crate::contract::FlowId;
use crate::steps;
use crate::touch::{self, Ahead};

/// Flows in the order in which their packets are to be served, with a note of each. Every operation is O(1), but
/// [`forget`](Self::forget): an entry is in two lists, of all and of its flow's, so that it can be taken out of the
/// middle.
#[derive(Clone, Debug)]
pub struct Order<N = ()> {
    entries: Vec<Entry<N>>,
    /// Entries that are not in use, linked by `after`. Those that were left first are used first, so that entries lie
    /// in memory about in their order.
    free: Ends,
    ends: Ends,
    /// By flow index: its entries.
    flows: Vec<Ends>,
}

#[derive(Clone, Debug)]
struct Entry<N> {
    flow: FlowId,
    note: N,
    before: u32,
    after: u32,
    /// The flow's next entry.
    following: u32,
}

/// The first and the last entry of a list, or [`NIL`].
#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
}

const NONE: Ends = Ends { first: NIL, last: NIL };

impl<N> Default for Order<N> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: NONE, ends: NONE, flows: Vec::new() }
    }
}

impl<N: Copy> Order<N> {
    /// The flow's next packet is to be served after all others that are here.
    // Always, so that a note that was made in registers is not read back wider than it was written.
    #[inline(always)]
    pub fn push_back(&mut self, flow: FlowId, note: N) {
        let entry = Entry { flow, note, before: self.ends.last, after: NIL, following: NIL };
        let at = match self.free.first {
            NIL => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
            free => {
                self.free.first = self.entries[free as usize].after;
                self.entries[free as usize] = entry;
                free
            }
        };
        match self.ends.last {
            NIL => self.ends.first = at,
            last => self.entries[last as usize].after = at,
        }
        self.ends.last = at;
        if self.flows.len() <= flow.index() {
            self.flows.resize(flow.index() + 1, NONE);
        }
        let own = &mut self.flows[flow.index()];
        match own.last {
            NIL => own.first = at,
            last => self.entries[last as usize].following = at,
        }
        own.last = at;
    }

    /// Whose packet is first, if any is here.
    #[inline]
    pub fn front<const M: usize, P, F: Default, S: Copy + Default>(
        &self,
        _queues: &Queues<M, P, F, S>,
    ) -> Option<(FlowId, N)> {
        self.entries.get(self.ends.first as usize).filter(|_| !self.is_empty()).map(|entry| (entry.flow, entry.note))
    }

    /// Read ahead what a packet of the flow touches that is put here.
    #[inline]
    pub fn touch(&self, flow: u32) {
        if let Some(own) = self.flows.get(flow as usize) {
            touch::word(&own.last);
        }
    }

    /// The flows of the first packets.
    pub fn ahead(&self, packets: usize, ahead: &mut Ahead) {
        let mut at = self.ends.first;
        for _ in 0..packets {
            let Some(entry) = self.entries.get(at as usize) else { return };
            ahead.push(entry.flow.index);
            at = entry.after;
        }
    }

    /// The flows of the sixth, the fourth and the second packet from the first.
    #[inline]
    pub fn coming(&self) -> Option<[u32; 3]> {
        let after = |at: u32| self.entries.get(at as usize).map(|entry| entry.after);
        let after_two = |at: u32| after(after(at)?);
        let flow = |at: u32| self.entries.get(at as usize).map(|entry| entry.flow.index);
        let soon = after_two(self.ends.first)?;
        let sooner = after_two(soon)?;
        Some([flow(after_two(sooner)?)?, flow(sooner)?, flow(soon)?])
    }

    /// The first packet is served: its note.
    #[inline]
    pub fn pop_front(&mut self) -> Option<N> {
        (!self.is_empty()).then(|| self.take(self.ends.first))
    }

    /// Whether no packet is here.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.first == NIL
    }

    /// The live flow at this index is about to be removed, and its entries with it: O(1) for each.
    pub fn forget<const M: usize, P, F: Default, S: Copy + Default>(
        &mut self,
        flow: u32,
        _queues: &Queues<M, P, F, S>,
    ) {
        while let Some(&Ends { first, .. }) = self.flows.get(flow as usize).filter(|own| own.first != NIL) {
            steps::take(1);
            self.take(first);
        }
    }

    /// Take out an entry, which is the first of its flow's: its note.
    #[inline(always)]
    fn take(&mut self, at: u32) -> N {
        let Entry { flow, note, before, after, following } = self.entries[at as usize];
        match before {
            NIL => self.ends.first = after,
            before => self.entries[before as usize].after = after,
        }
        match after {
            NIL => self.ends.last = before,
            after => self.entries[after as usize].before = before,
        }
        let own = &mut self.flows[flow.index()];
        *own = if following == NIL { NONE } else { Ends { first: following, ..*own } };
        self.entries[at as usize].after = NIL;
        match self.free.first {
            NIL => self.free.first = at,
            _ => self.entries[self.free.last as usize].after = at,
        }
        self.free.last = at;
        note
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::FlowConfig;
    use alloc::collections::VecDeque;
    use dovetail_units::{ResourceVec, Weight};

    type Few = Queues<1, (), (), ()>;

    fn add(queues: &mut Few) -> FlowId {
        queues.add_flow(FlowConfig::default(), Weight::ONE)
    }

    #[test]
    fn flows_that_come_and_go_behind_a_waiting_packet_do_not_pile_up() {
        let mut queues: Few = Queues::new();
        let mut order = Order::default();
        let join = |queues: &mut Few, order: &mut Order| {
            let flow = add(queues);
            queues.push(flow.index, 1, &ResourceVec::ZERO, ());
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

    #[test]
    fn is_a_queue_from_which_flows_can_be_taken() {
        let mut queues: Few = Queues::new();
        let flows = [(); 7].map(|()| add(&mut queues));
        let (mut order, mut plain) = (Order::default(), VecDeque::new());
        let mut state: u64 = 1;
        for note in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let flow = flows[(state >> 33) as usize % 7];
            match (state >> 50) % 16 {
                0..=7 => {
                    order.push_back(flow, note);
                    plain.push_back((flow, note));
                }
                8..=13 => assert_eq!(order.pop_front(), plain.pop_front().map(|(_, note)| note)),
                _ => {
                    order.forget(flow.index, &queues);
                    plain.retain(|&(other, _)| other != flow);
                }
            }
            assert_eq!(order.front(&queues), plain.front().copied());
            assert_eq!(order.is_empty(), plain.is_empty());
        }
    }
}
