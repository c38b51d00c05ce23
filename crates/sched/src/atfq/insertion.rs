//! Good orders for more than two resources, where the best one is NP-hard to find.
//!
//! Random loops of 4 to 10 packets on three or four resources end 0.1 to 0.9 % later in the mean than in the best order
//! of all, and at most 14 % (`crates/testkit/tests/atfq_orders.rs`). A second round of moves would make the mean 0.5 %
//! and leave the 14 %, a loop of four packets. It would take as long as the first, in calls that take 80 us of the 100
//! that a call may take.

use alloc::vec::Vec;
use core::cmp::Reverse;

use dovetail_units::ResourceVec;

use super::active_time::gap;
use super::sequence::Sequenced;
use crate::charge::total;
use crate::steps;

/// Most packets that are ordered together by [`order`].
pub const PIECE: usize = 32;

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

    /// Move the packet at `last` to the place from `first` on where it adds least; of equal ones to `rather` or else
    /// the first.
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

    fn polish(&self, order: &mut [u32]) {
        for from in 0..order.len() {
            steps::take(1);
            order[from..].rotate_left(1);
            self.insert(order, 0, order.len() - 1, from);
        }
    }
}

/// Put the indices of `packets` into `order`, after a packet of the times of `previous`: the longest packets first,
/// each where it adds the least idle time to the first resource, the first of equal places; and then [`polish`]. More
/// than [`PIECE`] packets are ordered piece by piece, so that the cost per packet is bounded: O(min(x, 32)) for x
/// packets. Flows do not matter here.
pub fn order<const M: usize, T: Sequenced<M>>(packets: &[T], previous: &ResourceVec<M>, order: &mut Vec<u32>) {
    order.clear();
    order.extend(0..packets.len() as u32);
    by_piece(packets, previous, order, |line, piece| {
        piece.sort_unstable_by_key(|&k| (Reverse(total(line.cost(k))), k));
        for last in 1..piece.len() {
            line.insert(&mut piece[..=last], 0, last, 0);
        }
        line.polish(piece);
    });
}

/// Move all packets in turn to where they are best in their piece of [`PIECE`] packets. Flows do not matter here.
pub fn polish<const M: usize, T: Sequenced<M>>(packets: &[T], previous: &ResourceVec<M>, order: &mut [u32]) {
    by_piece(packets, previous, order, |line, piece| line.polish(piece));
}

fn by_piece<const M: usize, T: Sequenced<M>>(
    packets: &[T],
    previous: &ResourceVec<M>,
    order: &mut [u32],
    each: impl Fn(&Line<'_, M, T>, &mut [u32]),
) {
    let mut previous = *previous;
    for piece in order.chunks_mut(PIECE) {
        each(&Line { packets, previous: &previous }, piece);
        previous = piece.last().map_or(previous, |&k| *packets[k as usize].cost());
    }
}
