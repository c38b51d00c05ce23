//! Lists of flows from which any flow can be taken.

use alloc::vec::Vec;

use crate::touch::{self, Ahead};

/// The neighbours of every flow, for any number of [`List`]s; a flow is in at most one of them.
#[derive(Clone, Debug, Default)]
pub struct Links {
    /// Before and after, in a ring.
    around: Vec<[u32; 2]>,
}

/// A list of flows, first in first out; its links are in a [`Links`], where the last flow is before the first one.
#[derive(Clone, Copy, Debug, Default)]
pub struct List {
    head: u32,
    flows: u32,
}

impl List {
    /// The first flow.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        (self.flows != 0).then_some(self.head)
    }

    /// How many flows are in the list.
    #[inline]
    pub fn len(&self) -> u32 {
        self.flows
    }

    /// Whether no flow is in the list.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.flows == 0
    }
}

impl Links {
    /// Room for a flow of this index. O(1), amortised.
    #[inline]
    pub fn make_room(&mut self, flow: u32) {
        if self.around.len() <= flow as usize {
            self.around.resize(flow as usize + 1, [0; 2]);
        }
    }

    /// Append a flow that is in no list. O(1), amortised where the flow's index is a new one.
    #[inline]
    pub fn push_back(&mut self, list: &mut List, flow: u32) {
        self.make_room(flow);
        if list.is_empty() {
            list.head = flow;
            self.around[flow as usize] = [flow; 2];
        } else {
            let around = self.around.as_mut_slice();
            let last = core::mem::replace(&mut around[list.head as usize][0], flow);
            around[last as usize][1] = flow;
            around[flow as usize] = [last, list.head];
        }
        list.flows += 1;
    }

    /// The flows of this list in order.
    pub fn of(&self, list: &List) -> impl Iterator<Item = u32> {
        core::iter::successors(list.first(), |&flow| Some(self.around[flow as usize][1])).take(list.flows as usize)
    }

    /// The first flows of this list, which may be served next.
    #[inline]
    pub fn ahead(&self, list: &List, flows: usize, ahead: &mut Ahead) {
        self.of(list).take(flows).for_each(|flow| ahead.push(flow));
    }

    /// The flows that come third, second and next after the first one. They may be the same.
    #[inline]
    pub fn coming(&self, list: &List) -> Option<[u32; 3]> {
        let after = |flow: u32| self.around[flow as usize][1];
        let next = after(list.first()?);
        let (second, third) = (after(next), after(after(next)));
        touch::word(&self.around[third as usize]);
        Some([third, second, next])
    }

    /// Let the first flow be the last. O(1).
    #[inline]
    pub fn rotate(&mut self, list: &mut List) {
        list.head = self.around[list.head as usize][1];
    }

    /// Take out a flow that is in this list. O(1).
    #[inline]
    pub fn remove(&mut self, list: &mut List, flow: u32) {
        let around = self.around.as_mut_slice();
        let [before, after] = around[flow as usize];
        around[before as usize][1] = after;
        around[after as usize][0] = before;
        if list.head == flow {
            list.head = after;
        }
        list.flows -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;

    #[test]
    fn two_lists_are_queues_from_which_flows_can_be_taken() {
        let mut links = Links::default();
        let (mut lists, mut plain) = ([List::default(); 2], [VecDeque::new(), VecDeque::new()]);
        let mut state: u64 = 1;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (flow, at) = ((state >> 33) as u32 % 9, (state >> 50) as usize % 2);
            match plain.iter().position(|list| list.contains(&flow)) {
                Some(at) if state >> 60 < 8 => {
                    links.remove(&mut lists[at], flow);
                    plain[at].retain(|&other| other != flow);
                }
                Some(at) => {
                    links.rotate(&mut lists[at]);
                    plain[at].rotate_left(1);
                }
                None => {
                    links.push_back(&mut lists[at], flow);
                    plain[at].push_back(flow);
                }
            }
            for (list, plain) in lists.iter().zip(&plain) {
                assert!(links.of(list).eq(plain.iter().copied()));
                assert_eq!((list.first(), list.len() as usize), (plain.front().copied(), plain.len()));
            }
        }
    }
}
