//! Good orders where the best one is out of reach: for more than two resources, where it is NP-hard to find, and where packets must keep the
//! order of their flows.

use alloc::vec::Vec;
use core::cmp::Reverse;

use dovetail_units::ResourceVec;

use super::active_time::gap;
use super::sequence::Sequenced;
use crate::charge::total;

/// Most packets that are ordered together by [`order`].
pub const PIECE: usize = 32;
/// How many places [`improve`] moves a packet at most at once, and how often it tries each packet.
const REACH: usize = 16;
const PASSES: usize = 2;

/// A packet of the loop or the one before it, as far as gaps are concerned.
struct Line<'a, const M: usize, T> {
    packets: &'a [T],
    previous: &'a ResourceVec<M>,
}

impl<const M: usize, T: Sequenced<M>> Line<'_, M, T> {
    fn cost(&self, k: u32) -> &ResourceVec<M> {
        self.packets[k as usize].cost()
    }

    /// What `new` adds to the gaps between two packets. Below zero if it fills one.
    fn added(&self, before: Option<&u32>, new: &ResourceVec<M>, after: Option<&u32>) -> i64 {
        let before = before.map_or(self.previous, |&k| self.cost(k));
        let joined = gap(before, new) as i64;
        let apart = |after| gap(new, after) as i64 - gap(before, after) as i64;
        joined + after.map_or(0, |&k| apart(self.cost(k)))
    }

    /// Move the packet at `last` to the place from `first` on where it adds least; of equal ones to `rather` or else the first.
    fn insert(&self, order: &mut [u32], first: usize, last: usize, rather: usize) {
        let new = self.cost(order[last]);
        let key = |place: usize| {
            let before = place.checked_sub(1).map(|at| &order[at]);
            let after = order.get(if place < last { place } else { last + 1 });
            (self.added(before, new, after), place != rather, place)
        };
        let best = (first..=last).map(key).min().map_or(last, |(_, _, place)| place);
        order[best..=last].rotate_right(1);
    }
}

/// Put the indices of `packets` into `order`, after a packet of the times of `previous`: the longest packets first, each where it adds the least
/// idle time to the first resource, the first of equal places; then all packets in turn are moved to where they are best. More than [`PIECE`]
/// packets are ordered piece by piece, so that the cost per packet is bounded: O(min(x, 32)) for x packets. Flows do not matter here.
///
/// Time until the first resource is free for good, beyond the least possible, and that of packets in any order: mean (and largest) of 1000
/// random loops, times uniform in 0..=100 (`crates/testkit/tests/atfq_orders.rs`):
///
/// | packets | 3 resources | any order | 4 resources | any order |
/// | --- | --- | --- | --- | --- |
/// | 4 | 0.3 % (18 %) | 23 % | 0.4 % (19 %) | 24 % |
/// | 6 | 0.7 % (11 %) | 27 % | 0.7 % (19 %) | 30 % |
/// | 8 | 1.2 % (12 %) | 30 % | 1.1 % (8 %) | 33 % |
/// | 10 | 1.5 % (12 %) | 31 % | 1.6 % (11 %) | 35 % |
pub fn order<const M: usize, T: Sequenced<M>>(packets: &[T], previous: &ResourceVec<M>, order: &mut Vec<u32>) {
    order.clear();
    order.extend(0..packets.len() as u32);
    let mut previous = *previous;
    for piece in order.chunks_mut(PIECE) {
        order_piece(&Line { packets, previous: &previous }, piece);
        previous = piece.last().map_or(previous, |&k| *packets[k as usize].cost());
    }
}

fn order_piece<const M: usize, T: Sequenced<M>>(line: &Line<M, T>, order: &mut [u32]) {
    order.sort_unstable_by_key(|&k| (Reverse(total(line.cost(k))), k));
    for last in 1..order.len() {
        line.insert(&mut order[..=last], 0, last, 0);
    }
    for from in 0..order.len() {
        order[from..].rotate_left(1);
        line.insert(order, 0, order.len() - 1, from);
    }
}

/// Move packets to where they are better, never past another one of their flow and at most 16 places at once: every packet in turn, twice. O(1) per packet, with a large constant.
pub fn improve<const M: usize, T: Sequenced<M>>(packets: &[T], previous: &ResourceVec<M>, order: &mut [u32]) {
    let line = Line { packets, previous };
    for at in (0..PASSES).flat_map(|_| 0..packets.len()) {
        let flow = packets[order[at] as usize].flow();
        let others = |k: &&u32| packets[**k as usize].flow() != flow;
        let back = order[..at].iter().rev().take(REACH).take_while(others).count();
        let ahead = order[at + 1..].iter().take(REACH).take_while(others).count();
        order[at..=at + ahead].rotate_left(1);
        line.insert(order, at - back, at + ahead, at);
    }
}
