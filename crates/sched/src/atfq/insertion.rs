//! An order of packets through more than two resources without buffers between them. The best order is NP-hard to find; this is a good one.

use alloc::vec::Vec;

use dovetail_units::ResourceVec;

use super::active_time::gap;
use super::sequence::Sequenced;

/// Put the indices of `packets` into `order`, after a packet of the times of `previous`: the longest packets first, each where it adds the least
/// idle time to the first resource, the first of equal places. O(x^2) for x packets.
pub fn order<const M: usize, T: Sequenced<M>>(packets: &[T], previous: &ResourceVec<M>, order: &mut Vec<u32>) {
    let cost = |k: u32| packets[k as usize].cost();
    let total = |k: u32| cost(k).iter().map(|time| time.as_nanos()).sum::<u64>();
    order.clear();
    order.extend(0..packets.len() as u32);
    order.sort_unstable_by_key(|&k| (core::cmp::Reverse(total(k)), k));
    for placed in 1..order.len() {
        let new = cost(order[placed]);
        let mut best = (u64::MAX, 0);
        let mut before = previous;
        for (place, &k) in order[..placed].iter().enumerate() {
            let after = cost(k);
            let added = (gap(before, new) + gap(new, after)).saturating_sub(gap(before, after));
            best = best.min((added, place));
            before = after;
        }
        best = best.min((gap(before, new), placed));
        order[best.1..=placed].rotate_right(1);
    }
}
