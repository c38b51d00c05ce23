//! The fair dominant share over time: what DRGPS would give to the flows that are backlogged now.

use dovetail_units::{Duration, ResourceVec, Time, Weight};

/// A packet's times relative to the longest, in units of 2^-31: `tbar` of the tradeoff paper, eq. 12. Above 1 where
/// weights differ by resource and the longest one is so by weight.
type Profile<const M: usize> = [u64; M];

const ONE: u64 = 1 << 31;

fn profile<const M: usize>(cost: &ResourceVec<M>, dominant: Duration) -> Profile<M> {
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

/// A flow's weight, and the packet that stands for it.
#[derive(Clone, Debug)]
struct Head<const M: usize> {
    /// In thousandths.
    weight: u32,
    backlogged: bool,
    /// The profile that counts in the sums; zero while the flow is not backlogged.
    current: Profile<M>,
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
    flows: Vec<Head<M>>,
    sums: [u128; M],
    share: f64,
    since: Time,
    integral: f64,
}

impl<const M: usize> FairShare<M> {
    pub fn new(weights: impl Iterator<Item = Weight>) -> Self {
        let flow = |weight: Weight| Head { weight: weight.as_milli(), backlogged: false, current: [0; M] };
        Self { flows: weights.map(flow).collect(), sums: [0; M], share: 0.0, since: Time::ZERO, integral: 0.0 }
    }

    /// A packet of this (normalised) cost joins the flow's queue; `dominant` is its longest time, by weight where
    /// weights differ by resource.
    pub fn arrived(&mut self, now: Time, flow: u32, cost: &ResourceVec<M>, dominant: Duration) {
        let head = &mut self.flows[flow as usize];
        if !std::mem::replace(&mut head.backlogged, true) {
            self.set_head(now, flow, profile(cost, dominant));
        }
    }

    /// A packet of this (normalised) cost enters the pipeline; `dominant` as for [`arrived`](Self::arrived).
    pub fn started(&mut self, now: Time, flow: u32, cost: &ResourceVec<M>, dominant: Duration) {
        self.set_head(now, flow, profile(cost, dominant));
    }

    /// The flow's last packet has left the system.
    pub fn left(&mut self, now: Time, flow: u32) {
        self.flows[flow as usize].backlogged = false;
        self.set_head(now, flow, [0; M]);
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

    fn set_head(&mut self, now: Time, flow: u32, profile: Profile<M>) {
        let head = &mut self.flows[flow as usize];
        if head.current == profile {
            return;
        }
        for ((sum, before), after) in self.sums.iter_mut().zip(head.current).zip(profile) {
            *sum -= u128::from(head.weight) * u128::from(before);
            *sum += u128::from(head.weight) * u128::from(after);
        }
        head.current = profile;
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

    /// Fluid examples, by hand: heads `<2,10>`, `<10,4>`: S = (1.2, 1.4), d = 1/1.4;
    /// with `<3,10>` as well: S = (1.5, 2.4), d = 1/2.4.
    #[test]
    fn the_share_follows_the_backlogged_heads() {
        let mut fair = FairShare::<2>::new([Weight::ONE; 3].into_iter());
        let cost = ResourceVec::from_nanos;
        let longest = |ns: [u64; 2]| cost(ns).dominant_time();
        let second = |s: u64| Time::from_nanos(s * 1_000_000_000);
        fair.arrived(second(0), 0, &cost([2, 10]), longest([2, 10]));
        fair.arrived(second(0), 1, &cost([10, 4]), longest([10, 4]));
        // Profiles are rounded down by at most 2^-31, twice per sum.
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-8, "{a} is not {b}");
        close(fair.take_integral(second(2)), 2.0 / 1.4);
        fair.arrived(second(2), 2, &cost([3, 10]), longest([3, 10]));
        close(fair.take_integral(second(3)), 1.0 / 2.4);
        fair.started(second(3), 2, &cost([3, 10]), longest([3, 10]));
        close(fair.take_integral(second(4)), 1.0 / 2.4);
        fair.left(second(4), 2);
        close(fair.take_integral(second(5)), 1.0 / 1.4);
    }

    #[test]
    fn the_packet_that_entered_last_is_the_head() {
        let mut fair = FairShare::<2>::new([Weight::ONE, Weight::from_milli(3000).unwrap()].into_iter());
        let cost = ResourceVec::from_nanos;
        let longest = |ns: [u64; 2]| cost(ns).dominant_time();
        let second = |s: u64| Time::from_nanos(s * 1_000_000_000);
        fair.arrived(second(0), 0, &cost([1, 0]), longest([1, 0]));
        fair.arrived(second(0), 0, &cost([0, 1]), longest([0, 1]));
        fair.arrived(second(0), 1, &cost([1, 1]), longest([1, 1]));
        assert_eq!(fair.take_integral(second(1)), 0.25);
        fair.started(second(1), 0, &cost([1, 0]), longest([1, 0]));
        assert_eq!(fair.sums, [4000 * u128::from(ONE), 3000 * u128::from(ONE)]);
        fair.started(second(1), 0, &cost([0, 1]), longest([0, 1]));
        assert_eq!(fair.sums, [3000 * u128::from(ONE), 4000 * u128::from(ONE)]);
        fair.left(second(1), 0);
        fair.left(second(1), 1);
        assert_eq!(fair.sums, [0, 0]);
    }
}
