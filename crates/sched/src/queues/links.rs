//! Lists of flows from which any flow can be taken.

use alloc::vec::Vec;

use super::NIL;
use crate::touch::Ahead;

/// The neighbours of every flow, for any number of [`List`]s; a flow is in at most one of them.
#[derive(Clone, Debug, Default)]
pub struct Links {
    /// Before and after, or [`NIL`].
    around: Vec<[u32; 2]>,
}

/// A list of flows, first in first out; its links are in a [`Links`].
#[derive(Clone, Copy, Debug)]
pub struct List {
    head: u32,
    tail: u32,
    flows: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { head: NIL, tail: NIL, flows: 0 }
    }
}

impl List {
    /// The first flow.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        (self.head != NIL).then_some(self.head)
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
            self.around.resize(flow as usize + 1, [NIL; 2]);
        }
    }

    /// Append a flow that is in no list. O(1), amortised where the flow's index is a new one.
    #[inline]
    pub fn push_back(&mut self, list: &mut List, flow: u32) {
        self.make_room(flow);
        self.around[flow as usize] = [list.tail, NIL];
        match list.tail {
            NIL => list.head = flow,
            tail => self.around[tail as usize][1] = flow,
        }
        list.tail = flow;
        list.flows += 1;
    }

    /// The flows of this list in order.
    pub fn of(&self, list: &List) -> impl Iterator<Item = u32> {
        core::iter::successors(list.first(), |&flow| Some(self.around[flow as usize][1]).filter(|&next| next != NIL))
    }

    /// The first flows of this list, which may be served next.
    #[inline]
    pub fn ahead(&self, list: &List, flows: usize, ahead: &mut Ahead) {
        self.of(list).take(flows).for_each(|flow| ahead.push(flow));
    }

    /// Let the first flow be the last. O(1).
    #[inline]
    pub fn rotate(&mut self, list: &mut List) {
        let (first, last) = (list.head, list.tail);
        if first == last {
            return;
        }
        let second = self.around[first as usize][1];
        self.around[second as usize][0] = NIL;
        self.around[first as usize] = [last, NIL];
        self.around[last as usize][1] = first;
        (list.head, list.tail) = (second, first);
    }

    /// Take out a flow that is in this list. O(1).
    #[inline]
    pub fn remove(&mut self, list: &mut List, flow: u32) {
        let [before, after] = core::mem::replace(&mut self.around[flow as usize], [NIL; 2]);
        match before {
            NIL => list.head = after,
            before => self.around[before as usize][1] = after,
        }
        match after {
            NIL => list.tail = before,
            after => self.around[after as usize][0] = before,
        }
        list.flows -= 1;
    }
}
