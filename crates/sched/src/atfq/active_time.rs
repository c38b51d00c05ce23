//! Active time (equations 1 to 5 of the paper): how long a flow keeps the pipeline when it has it to itself and no
//! packet waits between resources.

use dovetail_units::ResourceVec;

/// Equation (3): how long the first resource idles between two adjacent packets so that `next` need not wait behind
/// `previous` on any later one, in ns. O(M).
///
/// ```text
/// max over 2 <= n <= m of ( sum of previous on 2..n  -  sum of next on 1..n-1 ),  or 0
/// ```
///
/// ```
/// use dovetail_sched::atfq::active_time::gap;
/// use dovetail_units::ResourceVec;
///
/// // The link is busy for 4 ns after the CPU is free; the next packet reaches it after 1 ns.
/// assert_eq!(gap(&ResourceVec::from_nanos([2, 4]), &ResourceVec::from_nanos([1, 1])), 3);
/// ```
pub fn gap<const M: usize>(previous: &ResourceVec<M>, next: &ResourceVec<M>) -> u64 {
    let (mut ahead, mut gap) = (0i64, 0);
    for n in 1..M {
        ahead += nanos(previous, n) - nanos(next, n - 1);
        gap = gap.max(ahead);
    }
    gap.unsigned_abs()
}

/// By how much `next` lengthens the active time of a flow whose last packet is `previous`, in ns: F(next, m) -
/// F(previous, m) of equations (2) to (5). At least the time of `next` on the last resource; the dominant time if both
/// packets are equal. O(M).
pub fn growth<const M: usize>(previous: &ResourceVec<M>, next: &ResourceVec<M>) -> u64 {
    let total: i64 = (0..M).map(|n| nanos(next, n)).sum();
    let tail: i64 = (1..M).map(|n| nanos(previous, n)).sum();
    // The tail is in the gap as far as the total does not cover it.
    (total - tail).saturating_add_unsigned(gap(previous, next)).unsigned_abs()
}

/// A scheduler's times are at most 2^40 ns each; others are cut so that sums over resources cannot overflow.
fn nanos<const M: usize>(times: &ResourceVec<M>, resource: usize) -> i64 {
    times[resource].as_nanos().min(1 << 55) as i64
}
