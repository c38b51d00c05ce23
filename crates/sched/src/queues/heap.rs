//! A min-heap of flows by key, in which a flow's key can be changed or removed.

use alloc::vec::Vec;

/// Children per node: four keys fit into few cache lines, and the tree is half as deep as a binary one.
const ARITY: usize = 4;
const ABSENT: u32 = u32::MAX;

/// A min-heap of `(key, flow index)`; every operation but [`peek`](Self::peek) is O(log n). Equal keys come out by flow index.
#[derive(Clone, Debug)]
pub struct IndexedHeap<K> {
    entries: Vec<(K, u32)>,
    /// Where each flow stands in `entries`, or `ABSENT`.
    position: Vec<u32>,
}

impl<K> Default for IndexedHeap<K> {
    fn default() -> Self {
        Self { entries: Vec::new(), position: Vec::new() }
    }
}

impl<K: Copy + Ord> IndexedHeap<K> {
    /// The smallest key and its flow.
    #[inline]
    pub fn peek(&self) -> Option<(K, u32)> {
        self.entries.first().copied()
    }

    /// The flow's key, if it is in the heap. O(1).
    #[inline]
    pub fn get(&self, flow: u32) -> Option<K> {
        self.find(flow).map(|at| self.entries[at].0)
    }

    /// The flows in the heap, in no particular order.
    pub fn flows(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().map(|&(_, flow)| flow)
    }

    /// Flows in the heap.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no flow is in the heap.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Insert the flow, or change its key.
    pub fn set(&mut self, flow: u32, key: K) {
        match self.find(flow) {
            Some(at) => {
                let rises = (key, flow) < self.entries[at];
                self.entries[at].0 = key;
                if rises { self.sift_up(at) } else { self.sift_down(at) }
            }
            None => {
                if self.position.len() <= flow as usize {
                    self.position.resize(flow as usize + 1, ABSENT);
                }
                self.entries.push((key, flow));
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

    /// The smallest key and its flow where keys are [lowered](Self::lower) only: `key` tells the key of a flow, which is none below the one in the heap, or
    /// that the flow shall not be in. Amortised O(log n): what has come first with another key moves once.
    pub fn first(&mut self, key: impl Fn(u32) -> Option<K>) -> Option<(K, u32)> {
        loop {
            let (before, flow) = self.peek()?;
            match key(flow) {
                Some(now) if now == before => return Some((now, flow)),
                Some(now) => self.set(flow, now),
                None => self.remove(flow),
            }
        }
    }

    /// Take the flow out; nothing happens if it is not in.
    pub fn remove(&mut self, flow: u32) {
        let Some(at) = self.find(flow) else { return };
        self.position[flow as usize] = ABSENT;
        let Some(last) = self.entries.pop() else { return };
        if at < self.entries.len() {
            let rises = last < self.entries[at];
            self.entries[at] = last;
            if rises { self.sift_up(at) } else { self.sift_down(at) }
        }
    }

    /// Replace every key by `f(key)`; `f` must be monotone (it may map different keys to one).
    pub fn rekey(&mut self, f: impl Fn(K) -> K) {
        for entry in &mut self.entries {
            entry.0 = f(entry.0);
        }
        // Keys that became equal must again stand in flow order.
        for at in (0..self.entries.len()).rev() {
            self.sift_down(at);
        }
    }

    #[inline]
    fn find(&self, flow: u32) -> Option<usize> {
        self.position.get(flow as usize).filter(|&&p| p != ABSENT).map(|&p| p as usize)
    }

    fn place(&mut self, at: usize, entry: (K, u32)) {
        self.entries[at] = entry;
        self.position[entry.1 as usize] = at as u32;
    }

    fn sift_up(&mut self, mut at: usize) {
        let entry = self.entries[at];
        while at > 0 {
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
        let mut heap = IndexedHeap::default();
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
                assert_eq!(heap.first(|flow| keys[flow as usize]), smallest);
            }
        }
    }
}
