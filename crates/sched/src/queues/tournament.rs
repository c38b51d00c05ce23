//! A tournament of flows by key, in which a flow's key can be changed or removed.
//!
//! Every flow has a fixed leaf, at its index. Four leaves are a node, whose least entry stands in the node above, and
//! so on: a key that becomes greater is carried upwards through one node per level, past the best of the *other* three
//! entries, which do not depend on what is carried. So the nodes are read side by side, no branch depends on keys but
//! the one that ends the way, and the position of a flow needs no memory. A key that becomes less only takes the place
//! of what was least in each node, up to the first one in which something is less.

use alloc::vec::Vec;
use core::marker::PhantomData;

use super::entry::{Entry, Packed, Unfinished};
use crate::steps;
use crate::touch::{self, Ahead};

/// Entries per node: four of 16 bytes are a cache line.
const ARITY: usize = 4;

/// The entries of four neighbours, or the least ones of four nodes below.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Node<E> {
    entries: [E; ARITY],
}

/// The nodes of one height.
#[derive(Clone, Debug)]
struct Level<E> {
    nodes: Vec<Node<E>>,
    /// By node: it is empty if this is another epoch than the heap's.
    epochs: Vec<u32>,
}

impl<E: Copy> Level<E> {
    /// The node, if it is not out of date.
    #[inline]
    fn get(&self, node: usize, epoch: u32) -> Option<&[E; ARITY]> {
        self.nodes.get(node).filter(|_| epoch == 0 || self.epochs[node] == epoch).map(|node| &node.entries)
    }
}

/// Which of four entries is the least but for the one at `own`: by adding bits, which the compiler does not turn into
/// branches.
#[inline]
fn least_other<K, E: Entry<K>>(entries: &[E; ARITY], own: usize) -> usize {
    let precedes = |a: usize, b: usize| usize::from(entries[own ^ a].precedes(&entries[own ^ b]));
    let third = precedes(3, 2);
    let beyond = precedes(2 | third, 1);
    own ^ (1 + beyond + (beyond & third))
}

/// The least of four entries, of which the one at `own` is `carried`.
#[inline]
fn least_with<K, E: Entry<K>>(entries: &[E; ARITY], own: usize, carried: E) -> E {
    let other = entries[least_other(entries, own)];
    E::select(other.precedes(&carried), other, carried)
}

/// Without a loop.
macro_rules! four_times {
    ($what:block) => {
        $what
        $what
        $what
        $what
    };
}

/// The lesser of two entries.
#[inline]
fn lesser<K, E: Entry<K>>(one: E, other: E) -> E {
    E::select(other.precedes(&one), other, one)
}

/// Flows by the [ticks](crate::tag::Tag::ticks) of a tag.
pub type TagTournament = Tournament<u128, Packed>;

/// Keys and flow indices, the least first; every operation but [`peek`](Self::peek), [`get`](Self::get) and
/// [`clear`](Self::clear) is O(log n), n being the greatest index that was ever in it. Equal keys come out by flow
/// index.
#[derive(Clone, Debug)]
pub struct Tournament<K, E = (K, u32)> {
    /// From the leaves up to a single node.
    levels: Vec<Level<E>>,
    /// The least entry, or none.
    least: E,
    flows: usize,
    /// How often the heap was cleared.
    epoch: u32,
    /// The flow whose entry changed last.
    changed: u32,
    key: PhantomData<K>,
}

impl<K, E: Entry<K>> Default for Tournament<K, E> {
    fn default() -> Self {
        Self { levels: Vec::new(), least: E::NONE, flows: 0, epoch: 0, changed: 0, key: PhantomData }
    }
}

impl<K: Copy + Ord, E: Entry<K>> Tournament<K, E> {
    /// The smallest key and its flow.
    #[inline]
    pub fn peek(&self) -> Option<(K, u32)> {
        (!self.least.is_none()).then(|| (self.least.key(), self.least.flow()))
    }

    /// Whether the flow has the smallest key.
    #[inline]
    pub fn is_first(&self, flow: u32) -> bool {
        self.least.flow() == flow
    }

    /// The flow's key, if it is in the heap. O(1).
    #[inline]
    pub fn get(&self, flow: u32) -> Option<K> {
        self.find(flow).filter(|entry| !entry.is_none()).map(E::key)
    }

    /// Flows in the heap.
    #[inline]
    pub fn len(&self) -> usize {
        self.flows
    }

    /// Whether no flow is in the heap.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.flows == 0
    }

    /// Take all flows out. O(1), but for one of 2^32 calls.
    pub fn clear(&mut self) {
        (self.flows, self.least) = (0, E::NONE);
        match self.epoch.checked_add(1) {
            Some(epoch) => self.epoch = epoch,
            None => (self.levels, self.epoch) = (Vec::new(), 0),
        }
    }

    /// Insert the flow, or change its key.
    #[inline(always)]
    pub fn set(&mut self, flow: u32, key: K) {
        let entry = E::new(key, flow);
        if self.is_first(flow) {
            return self.replace_first(entry);
        }
        self.make_room(flow);
        self.flows += usize::from(self.put(flow, entry));
    }

    /// Insert the flow, or lower its key: a higher one is left to [`correct`](Self::correct).
    #[inline]
    pub fn lower(&mut self, flow: u32, key: K) {
        self.make_room(flow);
        self.flows += usize::from(self.put_lower(flow, E::new(key, flow)).is_none());
    }

    /// See to it that [`peek`](Self::peek) is right where keys are [lowered](Self::lower) only: `key` tells whether a
    /// flow shall be in, and its key, which is none below the one in the heap. What has come first with another key
    /// moves once, which takes one off `moves`; the error is that they do not suffice, and leaves the rest to the next
    /// call. Amortised O(log n).
    #[inline]
    pub fn correct(&mut self, moves: &mut usize, key: impl Fn(u32) -> (bool, K)) -> Result<(), Unfinished> {
        while !self.least.is_none() {
            let flow = self.least.flow();
            let (is_in, key) = key(flow);
            let now = E::select(is_in, E::new(key, flow), E::NONE);
            if now == self.least {
                break;
            }
            *moves = moves.checked_sub(1).ok_or(Unfinished)?;
            self.flows -= usize::from(now.is_none());
            self.replace_first(now);
        }
        Ok(())
    }

    /// Take the flow out; nothing happens if it is not in.
    pub fn remove(&mut self, flow: u32) {
        self.take(flow);
    }

    /// Take the flow out: its key, if it was in.
    #[inline]
    pub fn take(&mut self, flow: u32) -> Option<K> {
        let key = if self.is_first(flow) {
            let key = self.least.key();
            self.replace_first(E::NONE);
            key
        } else {
            let key = self.get(flow)?;
            self.put_higher(flow, E::NONE);
            key
        };
        self.flows -= 1;
        Some(key)
    }

    /// Flows that are likely to come first within so many changes: of the least entries of some hundred parts of the
    /// flows, those that are less than one of a sample. For bursts of 8 and more; of the others there is nothing to
    /// win.
    pub fn ahead(&self, flows: usize, ahead: &mut Ahead) {
        const SAMPLE: usize = 32;
        // 132 to 512 entries.
        let Some(level) = self.levels.iter().rfind(|level| level.nodes.len() > 32).filter(|_| flows >= 4) else {
            return;
        };
        let (nodes, parts) = (level.nodes.len(), level.nodes.len() * ARITY);
        let none = [E::NONE; ARITY];
        let entries = |node: usize| level.get(node, self.epoch).unwrap_or(&none);
        let mut sample = [E::NONE; SAMPLE];
        for (i, place) in sample.iter_mut().enumerate() {
            *place = entries(i * nodes / SAMPLE)[i % ARITY];
        }
        // As many of the sample are less as is in proportion, and one.
        let (_, &mut bound, _) = sample.select_nth_unstable((flows * SAMPLE / parts + 1).min(SAMPLE - 1));
        for node in 0..nodes {
            entries(node).iter().for_each(|entry| ahead.push_if(entry.precedes(&bound), entry.flow()));
        }
    }

    /// The first flows of three parts that have the flow in common that changed last: of a small one, of one four times
    /// as large, and of one again four times as large. What is first in a large part was first in a small one before.
    /// None of less than 65 flows.
    #[inline]
    pub fn coming(&self) -> Option<[u32; 3]> {
        let height = self.levels.len().checked_sub(4)?;
        let first = |height: usize| {
            let at = self.changed as usize >> (2 * height);
            self.levels[height].nodes[at / ARITY].entries[at % ARITY].flow()
        };
        Some([first(height), first(height + 1), first(height + 2)])
    }

    /// Read ahead the leaf of a flow.
    #[inline]
    pub fn touch(&self, flow: u32) {
        self.touch_level(0, flow);
    }

    /// Read ahead the leaf of a flow, and the node above.
    #[inline]
    pub fn touch_two(&self, flow: u32) {
        self.touch_level(0, flow);
        self.touch_level(1, flow / ARITY as u32);
    }

    #[inline]
    fn touch_level(&self, height: usize, entry: u32) {
        if let Some(node) = self.levels.get(height).and_then(|level| level.nodes.get(entry as usize / ARITY)) {
            touch::word(&node.entries[0]);
            // It may be two lines of the cache.
            if size_of::<Node<E>>() > 64 {
                touch::word(&node.entries[ARITY - 1]);
            }
        }
    }

    /// The leaf of a flow, if there is one; it may be empty.
    #[inline]
    fn find(&self, flow: u32) -> Option<E> {
        let node = self.levels.first()?.get(flow as usize / ARITY, self.epoch)?;
        Some(node[flow as usize % ARITY])
    }

    /// Change the entry of a flow for which there is room and which does not come first: whether it had none.
    #[inline]
    fn put(&mut self, flow: u32, entry: E) -> bool {
        let before = self.put_lower(flow, entry);
        if !entry.precedes(&before) {
            self.put_higher(flow, entry);
        }
        before.is_none()
    }

    /// The flow that comes first has this entry from now on, which is carried up all the way.
    #[inline(always)]
    fn replace_first(&mut self, entry: E) {
        let (parts, rest) = entry.parts();
        self.replace_first_by(parts, rest);
    }

    #[inline(never)]
    fn replace_first_by(&mut self, parts: E::Parts, rest: E::Rest) {
        self.changed = self.least.flow();
        let (mut at, mut carried) = (self.changed as usize, E::whole(parts, rest));
        let mut levels = self.levels.iter_mut();
        // As many levels as there can be, and no loop: in one, the compiler makes branches of the choices.
        'up: {
            four_times!({
                four_times!({
                    let Some(level) = levels.next() else { break 'up };
                    steps::take(1);
                    let (node, own) = (at / ARITY, at % ARITY);
                    let Node { entries } = &mut level.nodes[node];
                    entries[own] = carried;
                    let other = lesser(entries[own ^ 1], lesser(entries[own ^ 2], entries[own ^ 3]));
                    carried = lesser(carried, other);
                    at = node;
                });
            });
        }
        debug_assert_eq!(at, 0, "the last level is one node");
        self.least = carried;
    }

    /// The flow has this entry from now on if it is less than its own, which is given back. It takes the place of what
    /// was least in its nodes, up to the first one in which something is less.
    #[inline]
    fn put_lower(&mut self, flow: u32, entry: E) -> E {
        self.changed = flow;
        let (mut at, mut own_before) = (flow as usize, None);
        for level in &mut self.levels {
            steps::take(1);
            let (node, own) = (at / ARITY, at % ARITY);
            let Node { entries } = &mut level.nodes[node];
            if self.epoch != 0 && level.epochs[node] != self.epoch {
                (*entries, level.epochs[node]) = ([E::NONE; ARITY], self.epoch);
            }
            let replaced = &mut entries[own];
            let before = *own_before.get_or_insert(*replaced);
            if !entry.precedes(replaced) {
                return before;
            }
            *replaced = entry;
            at = node;
        }
        if entry.precedes(&self.least) {
            self.least = entry;
        }
        own_before.unwrap_or(E::NONE)
    }

    /// A flow that is in, and does not come first, has this entry from now on, which is no less than its own. It is
    /// carried up as far as the flow was the least.
    #[inline]
    fn put_higher(&mut self, flow: u32, entry: E) {
        self.changed = flow;
        let (mut at, mut carried) = (flow as usize, entry);
        let mut levels = self.levels.iter_mut();
        let Some(mut level) = levels.next() else { return };
        loop {
            steps::take(1);
            let (node, own) = (at / ARITY, at % ARITY);
            let Node { entries } = &mut level.nodes[node];
            entries[own] = carried;
            let Some(above) =
                levels.next().filter(|above| above.nodes[node / ARITY].entries[node % ARITY].flow() == flow)
            else {
                return;
            };
            carried = least_with(entries, own, carried);
            (level, at) = (above, node);
        }
    }

    /// That of this flow and all before it. Amortised O(1).
    #[inline]
    pub fn make_room(&mut self, flow: u32) {
        if self.levels.first().is_none_or(|leaves| leaves.nodes.len() <= flow as usize / ARITY) {
            self.grow(flow as usize / ARITY);
        }
    }

    /// Levels reach up to a single node, and the lowest one to this node. Amortised O(1).
    #[cold]
    fn grow(&mut self, node: usize) {
        let (mut needed, mut height) = (node + 1, 0);
        loop {
            let fresh = height == self.levels.len();
            if fresh {
                self.levels.push(Level { nodes: Vec::new(), epochs: Vec::new() });
            }
            self.extend(height, needed);
            if fresh && height > 0 {
                // So far the level below was one node.
                self.levels[height].nodes[0].entries[0] = self.least;
            }
            if self.levels[height].nodes.len() == 1 {
                return;
            }
            needed = needed.div_ceil(ARITY);
            height += 1;
        }
    }

    fn extend(&mut self, height: usize, nodes: usize) {
        let level = &mut self.levels[height];
        let nodes = nodes.max(level.nodes.len());
        level.nodes.resize(nodes, Node { entries: [E::NONE; ARITY] });
        level.epochs.resize(nodes, self.epoch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_lazily_kept_keys_is_the_smallest_of_those_that_are() {
        let mut keys: [Option<u64>; 30] = [None; 30];
        let mut heap = Tournament::<u64>::default();
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
                    let key = |flow: u32| keys[flow as usize].map_or((false, 0), |key| (true, key));
                    if heap.correct(&mut moves, key).is_ok() {
                        break heap.peek();
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
    fn is_a_map_of_which_the_smallest_is_known() {
        let mut heap = TagTournament::default();
        let mut map = alloc::collections::BTreeMap::new();
        let mut state: u64 = 1;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for turn in 0..60_000 {
            // The heap grows by several levels meanwhile, and is cleared at times.
            let flow = random(4 + turn / 20) as u32;
            match random(8) {
                0..=4 => {
                    let key = u128::from(random(6)) << (90 * random(2));
                    heap.set(flow, key);
                    map.insert(flow, key);
                }
                _ => {
                    heap.remove(flow);
                    map.remove(&flow);
                }
            }
            if random(500) == 0 {
                heap.clear();
                map.clear();
            }
            assert_eq!(heap.get(flow), map.get(&flow).copied());
            assert_eq!(heap.len(), map.len());
            assert_eq!(heap.peek(), map.iter().map(|(&flow, &key)| (key, flow)).min());
        }
    }

    #[test]
    fn a_cleared_heap_has_nobody_in_it() {
        let mut heap = TagTournament::default();
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
