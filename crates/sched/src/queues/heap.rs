//! A min-heap of flows by key, in which a flow's key can be changed or removed. Its cost follows the flows that are in
//! it, also where few of many are: else a [tournament](super::Tournament) costs less.

use alloc::vec::Vec;
use core::marker::PhantomData;

use super::entry::{Entry, Packed};
use crate::steps;

/// Children per node: four keys fit into few cache lines, and the tree is half as deep as a binary one.
const ARITY: usize = 4;

/// Flows by the [ticks](crate::tag::Tag::ticks) of a tag.
pub type TagHeap = IndexedHeap<u128, Packed>;

/// A min-heap of keys and flow indices; every operation but [`peek`](Self::peek) and [`clear`](Self::clear) is O(log
/// n). Equal keys come out by flow index.
#[derive(Clone, Debug)]
pub struct IndexedHeap<K, E = (K, u32)> {
    entries: Vec<E>,
    /// Where each flow stood in `entries` last: there it is if that entry is the flow's.
    position: Vec<u32>,
    key: PhantomData<K>,
}

impl<K, E> Default for IndexedHeap<K, E> {
    fn default() -> Self {
        Self { entries: Vec::new(), position: Vec::new(), key: PhantomData }
    }
}

impl<K: Copy + Ord, E: Entry<K>> IndexedHeap<K, E> {
    /// The smallest key and its flow.
    #[inline]
    pub fn peek(&self) -> Option<(K, u32)> {
        self.entries.first().map(|entry| (entry.key(), entry.flow()))
    }

    /// The flow's key, if it is in the heap. O(1).
    #[inline]
    pub fn get(&self, flow: u32) -> Option<K> {
        self.find(flow).map(|at| self.entries[at].key())
    }

    /// Flows in the heap.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no flow is in the heap.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Take all flows out. O(1).
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Insert the flow, or change its key.
    pub fn set(&mut self, flow: u32, key: K) {
        let entry = E::new(key, flow);
        match self.find(flow) {
            Some(at) => {
                let rises = entry < self.entries[at];
                self.entries[at] = entry;
                if rises { self.sift_up(at) } else { self.sift_down(at) }
            }
            None => {
                if self.position.len() <= flow as usize {
                    self.position.resize(flow as usize + 1, 0);
                }
                self.entries.push(entry);
                self.sift_up(self.entries.len() - 1);
            }
        }
    }

    /// Take the flow out; nothing happens if it is not in.
    pub fn remove(&mut self, flow: u32) {
        let Some(at) = self.find(flow) else { return };
        let Some(last) = self.entries.pop() else { return };
        if at < self.entries.len() {
            let rises = last < self.entries[at];
            self.entries[at] = last;
            if rises { self.sift_up(at) } else { self.sift_down(at) }
        }
    }

    #[inline]
    fn find(&self, flow: u32) -> Option<usize> {
        let at = *self.position.get(flow as usize)? as usize;
        self.entries.get(at).filter(|entry| entry.flow() == flow).map(|_| at)
    }

    fn place(&mut self, at: usize, entry: E) {
        self.entries[at] = entry;
        self.position[entry.flow() as usize] = at as u32;
    }

    fn sift_up(&mut self, mut at: usize) {
        let entry = self.entries[at];
        while at > 0 {
            steps::take(1);
            let parent = (at - 1) / ARITY;
            if self.entries[parent] <= entry {
                break;
            }
            self.place(at, self.entries[parent]);
            at = parent;
        }
        self.place(at, entry);
    }

    fn sift_down(&mut self, mut at: usize) {
        let entry = self.entries[at];
        loop {
            steps::take(1);
            let first = at * ARITY + 1;
            let last = (first + ARITY).min(self.entries.len());
            let Some((&first_child, others)) = self.entries.get(first..last).and_then(<[_]>::split_first) else {
                break;
            };
            let (mut least, mut child) = (first_child, first);
            for (k, &other) in others.iter().enumerate() {
                if other < least {
                    (least, child) = (other, first + 1 + k);
                }
            }
            if entry <= least {
                break;
            }
            self.place(at, least);
            at = child;
        }
        self.place(at, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cleared_heap_has_nobody_in_it() {
        let mut heap = TagHeap::default();
        for last in 2..50_u32 {
            (0..last).for_each(|flow| heap.set(flow, u128::from(flow * 7 % 50) << 80));
            heap.remove(last / 2);
            heap.clear();
            assert!((0..60).all(|flow| heap.get(flow).is_none()) && heap.peek().is_none());
            // What is stale points at others' entries now.
            heap.set(last, 3);
            heap.set(0, 5);
            heap.remove(1);
            assert_eq!((heap.peek(), heap.len()), (Some((3, last)), 2));
            heap.clear();
        }
    }
}
