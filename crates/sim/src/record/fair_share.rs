//! The fair dominant share over time: what DRGPS would give to the flows that are backlogged now.

use dovetail_units::{Duration, ResourceVec, Time, Weight};

/// A packet's times relative to the longest, in units of 2^-31: `tbar` of the tradeoff paper, eq. 12. Above 1 where
/// weights differ by resource and the longest one is so by weight.
type Profile<const M: usize> = [u64; M];

const ONE: u64 = 1 << 31;

/// Of a packet of this (normalised) cost; `dominant` is its longest time, by weight where weights differ by resource.
pub(crate) fn profile<const M: usize>(cost: &ResourceVec<M>, dominant: Duration) -> Profile<M> {
    let dominant = dominant.as_nanos();
    if dominant == 0 {
        return [0; M];
    }
    // Less than 2^34, as a weight is at most M times the mean of the flow's.
    cost.0.map(|time| match time.as_nanos().checked_mul(ONE) {
        Some(units) => units / dominant,
        None => (u128::from(time.as_nanos()) * u128::from(ONE) / u128::from(dominant)) as u64,
    })
}

/// `d(t) = 1 / max_r S_r` with `S_r = sum over backlogged flows of w_i tbar_ir` (tradeoff paper, eq. 16, with weights),
/// and its integral. Where weights differ by resource, `w_i tbar_ir` is `t_ir / max_q(t_iq / w_iq)`: every flow gets
/// the same by weight on the resource where that is most.
///
/// A flow's head packet is the last one that entered the pipeline, as long as the flow stays backlogged; before any
/// has, the first that waits. This is the packet that a fluid schedule would be serving: it is in the fluid until the
/// flow's next packet starts. (The first waiting packet would be one ahead, and its mean times others: long packets
/// stand longer in the fluid.)
///
/// The sums are integers, to which exactly what was added is subtracted again. O(M) when a flow's head packet gets
/// another profile, otherwise O(1).
#[derive(Clone, Debug)]
pub(crate) struct FairShare<const M: usize> {
    /// By flow, the profile that counts in the sums; zeros while the flow is not backlogged, or its head needs nothing.
    heads: Vec<Profile<M>>,
    sums: [u128; M],
    share: f64,
    since: Time,
    integral: f64,
}

impl<const M: usize> FairShare<M> {
    /// Of so many flows, none of them backlogged.
    pub fn new(flows: usize) -> Self {
        Self { heads: vec![[0; M]; flows], sums: [0; M], share: 0.0, since: Time::ZERO, integral: 0.0 }
    }

    /// The integral of d in seconds since it was last taken.
    pub fn take_integral(&mut self, now: Time) -> f64 {
        self.accumulate(now);
        std::mem::take(&mut self.integral)
    }

    fn accumulate(&mut self, now: Time) {
        self.integral += self.share * now.since(self.since).as_secs_f64();
        self.since = now;
    }

    /// Another packet stands for the flow: zeros if none does, or if it needs nothing. The weight is the flow's, the
    /// same at every call.
    pub fn set_head(&mut self, now: Time, flow: u32, weight: Weight, profile: Profile<M>) {
        let (head, weight) = (&mut self.heads[flow as usize], u128::from(weight.as_milli()));
        if *head == profile {
            return;
        }
        for ((sum, before), after) in self.sums.iter_mut().zip(*head).zip(profile) {
            *sum -= weight * u128::from(before);
            *sum += weight * u128::from(after);
        }
        *head = profile;
        self.accumulate(now);
        let most = self.sums.iter().copied().max().unwrap_or(0);
        // Most are no larger, and the processor converts these itself.
        let units = i64::try_from(most).map_or_else(|_| most as f64, |most| most as f64);
        // Weights are in thousandths.
        self.share = if most == 0 { 0.0 } else { (1000 * ONE) as f64 / units };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(s: u64) -> Time {
        Time::from_nanos(s * 1_000_000_000)
    }

    fn of(ns: [u64; 2]) -> Profile<2> {
        let cost = ResourceVec::from_nanos(ns);
        profile(&cost, cost.dominant_time())
    }

    /// Fluid examples, by hand: heads `<2,10>`, `<10,4>`: S = (1.2, 1.4), d = 1/1.4;
    /// with `<3,10>` as well: S = (1.5, 2.4), d = 1/2.4.
    #[test]
    fn the_share_follows_the_backlogged_heads() {
        let mut fair = FairShare::<2>::new(3);
        fair.set_head(second(0), 0, Weight::ONE, of([2, 10]));
        fair.set_head(second(0), 1, Weight::ONE, of([10, 4]));
        // Profiles are rounded down by at most 2^-31, twice per sum.
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-8, "{a} is not {b}");
        close(fair.take_integral(second(2)), 2.0 / 1.4);
        fair.set_head(second(2), 2, Weight::ONE, of([3, 10]));
        close(fair.take_integral(second(3)), 1.0 / 2.4);
        fair.set_head(second(3), 2, Weight::ONE, of([6, 20]));
        close(fair.take_integral(second(4)), 1.0 / 2.4);
        fair.set_head(second(4), 2, Weight::ONE, [0; 2]);
        close(fair.take_integral(second(5)), 1.0 / 1.4);
    }

    #[test]
    fn what_was_added_is_subtracted_exactly() {
        let (one, three) = (Weight::ONE, Weight::from_milli(3000).unwrap());
        let mut fair = FairShare::<2>::new(2);
        fair.set_head(second(0), 0, one, of([1, 0]));
        fair.set_head(second(0), 1, three, of([1, 1]));
        assert_eq!(fair.take_integral(second(1)), 0.25);
        assert_eq!(fair.sums, [4000 * u128::from(ONE), 3000 * u128::from(ONE)]);
        fair.set_head(second(1), 0, one, of([0, 1]));
        assert_eq!(fair.sums, [3000 * u128::from(ONE), 4000 * u128::from(ONE)]);
        fair.set_head(second(1), 0, one, [0; 2]);
        fair.set_head(second(1), 1, three, [0; 2]);
        assert_eq!(fair.sums, [0, 0]);
    }
}
