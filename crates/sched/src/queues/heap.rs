//! A min-heap of flows by key, in which a flow's key can be changed or removed.

use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::steps;

/// Children per node: four keys fit into few cache lines, and the tree is half as deep as a binary one.
const ARITY: usize = 4;

/// What a heap keeps of a flow: its key and its index, in one.
pub trait Entry<K>: Copy + Ord {
    /// Ordered by key, equal keys by index.
    fn new(key: K, flow: u32) -> Self;
    /// The key.
    fn key(self) -> K;
    /// The flow's index.
    fn flow(self) -> u32;
}

impl<K: Copy + Ord> Entry<K> for (K, u32) {
    fn new(key: K, flow: u32) -> Self {
        (key, flow)
    }

    fn key(self) -> K {
        self.0
    }

    fn flow(self) -> u32 {
        self.1
    }
}

/// A key below 2^96 and the flow's index in 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Packed(u128);

impl Entry<u128> for Packed {
    fn new(key: u128, flow: u32) -> Self {
        debug_assert!(key >> 96 == 0);
        Self(key << 32 | u128::from(flow))
    }

    fn key(self) -> u128 {
        self.0 >> 32
    }

    fn flow(self) -> u32 {
        self.0 as u32
    }
}

/// Flows by the [ticks](crate::tag::Tag::ticks) of a tag.
pub type TagHeap = IndexedHeap<u128, Packed>;

/// More flows had to be moved than were allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unfinished;

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

    /// The flows in the heap, in no particular order.
    pub fn flows(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().map(|entry| entry.flow())
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

    /// Insert the flow, or lower its key: a higher one is left to [`first`](Self::first).
    pub fn lower(&mut self, flow: u32, key: K) {
        if self.get(flow).is_none_or(|before| key < before) {
            self.set(flow, key);
        }
    }

    /// The smallest key and its flow where keys are [lowered](Self::lower) only: `key` tells the key of a flow, which
    /// is none below the one in the heap, or that the flow shall not be in. What has come first with another key
    /// moves once, which takes one off `moves`; the error is that they do not suffice, and leaves the rest to the
    /// next call. Amortised O(log n).
    pub fn first(&mut self, moves: &mut usize, key: impl Fn(u32) -> Option<K>) -> Result<Option<(K, u32)>, Unfinished> {
        loop {
            let Some((before, flow)) = self.peek() else { return Ok(None) };
            let now = key(flow);
            if now == Some(before) {
                return Ok(Some((before, flow)));
            }
            *moves = moves.checked_sub(1).ok_or(Unfinished)?;
            match now {
                Some(now) => self.set(flow, now),
                None => self.remove(flow),
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
    fn the_first_of_lazily_kept_keys_is_the_smallest_of_those_that_are() {
        let mut keys: [Option<u64>; 30] = [None; 30];
        let mut heap = IndexedHeap::<u64>::default();
        let mut state: u64 = 1;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..20_000 {
            let flow = random(30) as u32;
            keys[flow as usize] = (random(4) > 0).then(|| random(100));
            if let Some(key) = keys[flow as usize] {
                heap.lower(flow, key);
            }
            if random(3) == 0 {
                let smallest = keys.iter().zip(0..).filter_map(|(&key, flow)| Some((key?, flow))).min();
                let first = loop {
                    let mut moves = random(3) as usize;
                    if let Ok(first) = heap.first(&mut moves, |flow| keys[flow as usize]) {
                        break first;
                    }
                    assert_eq!(moves, 0);
                };
                assert_eq!(first, smallest);
            }
            if random(100) == 0 {
                heap.clear();
                keys = [None; 30];
                assert!((0..30).all(|flow| heap.get(flow).is_none()));
            }
        }
    }

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

    #[test]
    fn a_packed_entry_keeps_both_to_the_last_bit() {
        let last = (1 << 96) - 1;
        for (key, flow) in [(0, 0), (last, u32::MAX), (last, 0), (0, u32::MAX), (1 << 95, 77)] {
            let entry = Packed::new(key, flow);
            assert_eq!((entry.key(), entry.flow()), (key, flow));
        }
        assert!(Packed::new(1, 0) > Packed::new(0, u32::MAX));
    }
}
