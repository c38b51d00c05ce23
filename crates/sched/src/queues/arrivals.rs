//! All waiting packets in the order in which they came.

use alloc::vec::Vec;

use super::{NIL, Queues};

/// The order of arrival over all flows, first in first out, from which flows can be taken. Every operation is O(1), but
/// for [`forget`](Self::forget). A packet's place is at its slot, and the packets of one flow follow each other in the
/// flow's queue, so nothing else is kept for either.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// By slot.
    places: Vec<Place>,
    /// The slot of the packet that came first, or [`NIL`].
    first: u32,
    last: u32,
}

/// A packet's flow, and the slots before and after it, or [`NIL`].
#[derive(Clone, Copy, Debug)]
struct Place {
    flow: u32,
    before: u32,
    after: u32,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self { places: Vec::new(), first: NIL, last: NIL }
    }
}

impl Arrivals {
    /// A packet of the flow has joined its queue at this slot.
    #[inline]
    pub fn push_back(&mut self, flow: u32, slot: u32) {
        // Until there is room, so that the compiler need not look once more.
        while self.places.len() <= slot as usize {
            self.make_room(slot);
        }
        let places = self.places.as_mut_slice();
        places[slot as usize] = Place { flow, before: self.last, after: NIL };
        if self.first == NIL {
            self.first = slot;
        } else {
            places[self.last as usize].after = slot;
        }
        self.last = slot;
    }

    #[cold]
    fn make_room(&mut self, slot: u32) {
        self.places.resize(slot as usize + 1, Place { flow: 0, before: NIL, after: NIL });
    }

    /// The flow of the packet that came first, if one waits.
    #[inline]
    pub fn front(&self) -> Option<u32> {
        self.places.get(self.first as usize).map(|place| place.flow)
    }

    /// The packet that came first has left its queue.
    #[inline]
    pub fn pop_front(&mut self) {
        self.first = self.places.get(self.first as usize).map_or(NIL, |place| place.after);
    }

    /// The flow is about to lose its packets: O(1) for each.
    pub fn forget<const M: usize, P, F: Default, S: Copy + Default>(&mut self, flow: u32, queues: &Queues<M, P, F, S>) {
        let mut slot = queues.flow(flow).head;
        while slot != NIL {
            self.take(slot);
            slot = queues.slot(slot).next;
        }
    }

    fn take(&mut self, slot: u32) {
        let Place { before, after, .. } = self.places[slot as usize];
        if slot == self.first {
            self.first = after;
        } else {
            self.places[before as usize].after = after;
        }
        if slot == self.last {
            self.last = before;
        } else {
            self.places[after as usize].before = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::FlowConfig;
    use alloc::collections::VecDeque;
    use dovetail_units::{ResourceVec, Weight};

    #[test]
    fn is_a_queue_from_which_flows_can_be_taken() {
        let mut queues: Queues<1, (), (), ()> = Queues::new();
        let flows = [(); 7].map(|()| queues.add_flow(FlowConfig::default(), Weight::ONE).index);
        let (mut arrivals, mut plain) = (Arrivals::default(), VecDeque::new());
        let mut state: u64 = 1;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let flow = flows[(state >> 33) as usize % 7];
            match (state >> 50) % 16 {
                0..=7 => {
                    arrivals.push_back(flow, queues.push(flow, 1, &ResourceVec::ZERO, ()));
                    plain.push_back(flow);
                }
                8..=13 => {
                    if let Some(first) = plain.pop_front() {
                        queues.pop(first);
                        arrivals.pop_front();
                    }
                }
                _ => {
                    arrivals.forget(flow, &queues);
                    while queues.pop(flow).is_some() {}
                    plain.retain(|&other| other != flow);
                }
            }
            assert_eq!(arrivals.front(), plain.front().copied());
        }
        assert!(arrivals.places.len() < 200, "{}", arrivals.places.len());
    }
}
