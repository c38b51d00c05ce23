//! What happens next.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// So many entries are kept in order: to put one among them takes no longer than in a heap.
const NEAR: usize = 64;

/// Entries, of which the least comes first. Most engines wait for a few, and the newest is mostly the last: then every
/// call is O(1). O(log n) for n entries at worst.
#[derive(Clone, Debug)]
pub(crate) struct Agenda<T> {
    /// None only if there is no entry at all.
    first: Option<T>,
    /// The next ones, in order.
    near: VecDeque<T>,
    /// None is less than any of those.
    far: BinaryHeap<Reverse<T>>,
}

impl<T: Ord + Copy> Agenda<T> {
    /// With nothing on it.
    pub fn new() -> Self {
        Self { first: None, near: VecDeque::with_capacity(NEAR), far: BinaryHeap::new() }
    }

    /// The least entry.
    #[inline]
    pub fn first(&self) -> Option<T> {
        self.first
    }

    /// Take the least entry off.
    #[inline]
    pub fn pop(&mut self) {
        self.first = self.near.pop_front().or_else(|| self.far.pop().map(|Reverse(entry)| entry));
    }

    /// One more entry.
    #[inline]
    pub fn push(&mut self, entry: T) {
        match self.first {
            None => self.first = Some(entry),
            Some(first) if entry < first => {
                self.first = Some(entry);
                self.put_behind(first);
            }
            Some(_) => self.put_behind(entry),
        }
    }

    /// One more entry, behind the first one.
    #[inline(always)]
    fn put_behind(&mut self, entry: T) {
        match self.near.back() {
            Some(last) if entry < *last => self.put_near(entry),
            _ if self.far.is_empty() && self.near.len() < NEAR => self.near.push_back(entry),
            _ => self.far.push(Reverse(entry)),
        }
    }

    /// An entry that is less than the last one near.
    #[inline(never)]
    fn put_near(&mut self, entry: T) {
        if self.near.len() == NEAR
            && let Some(last) = self.near.pop_back()
        {
            self.far.push(Reverse(last));
        }
        let at = self.near.partition_point(|other| *other < entry);
        self.near.insert(at, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_in_order_however_many_there_are() {
        let mut state: u64 = 1;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (mut agenda, mut heap) = (Agenda::new(), BinaryHeap::new());
        for turn in 0..100_000u64 {
            // It grows beyond what is near, and becomes empty, again and again.
            if random(10) < if turn / 500 % 2 == 0 { 7 } else { 3 } {
                let entry = (turn / 100 + random(1000), turn);
                agenda.push(entry);
                heap.push(Reverse(entry));
            } else {
                agenda.pop();
                heap.pop();
            }
            assert_eq!(agenda.first(), heap.peek().map(|Reverse(entry)| *entry));
        }
    }
}
