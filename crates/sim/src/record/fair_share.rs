//! The fair dominant share over time: what DRGPS would give to the flows that are backlogged now.

use std::collections::VecDeque;

use dovetail_units::{ResourceVec, Time, Weight};

/// A packet's times relative to the longest, in units of 2^-31: `tbar` of the tradeoff paper, eq. 12.
type Profile<const M: usize> = [u32; M];

const ONE: u64 = 1 << 31;

fn profile<const M: usize>(cost: &ResourceVec<M>) -> Profile<M> {
    let dominant = u128::from(cost.dominant_time().as_nanos());
    if dominant == 0 {
        return [0; M];
    }
    // At most 2^31, so that it fits.
    cost.0.map(|time| (u128::from(time.as_nanos()) * u128::from(ONE) / dominant) as u32)
}

/// A flow's head packet and those that wait behind it, equal neighbours counted together.
#[derive(Clone, Debug)]
struct Heads<const M: usize> {
    weight: u64,
    waiting: VecDeque<(Profile<M>, u32)>,
    /// The profile that counts in the sums; zero while the flow is not backlogged.
    current: Profile<M>,
}

/// `d(t) = 1 / max_r S_r` with `S_r = sum over backlogged flows of w_i tbar_ir` (tradeoff paper, eq. 16, with weights), and
/// its integral.
///
/// The sums are integers, to which exactly what was added is subtracted again. O(M) when a flow's head packet gets another
/// profile, otherwise O(1).
#[derive(Clone, Debug)]
pub(crate) struct FairShare<const M: usize> {
    flows: Vec<Heads<M>>,
    sums: [u128; M],
    share: f64,
    since: Time,
    integral: f64,
}

impl<const M: usize> FairShare<M> {
    pub fn new(weights: impl Iterator<Item = Weight>) -> Self {
        let flow =
            |weight: Weight| Heads { weight: u64::from(weight.as_milli()), waiting: VecDeque::new(), current: [0; M] };
        Self { flows: weights.map(flow).collect(), sums: [0; M], share: 0.0, since: Time::ZERO, integral: 0.0 }
    }

    /// A packet of this (normalised) cost joins the flow's queue.
    pub fn arrived(&mut self, now: Time, flow: u32, cost: &ResourceVec<M>) {
        let profile = profile(cost);
        let heads = &mut self.flows[flow as usize];
        let first = heads.waiting.is_empty();
        match heads.waiting.back_mut() {
            Some((last, count)) if *last == profile && *count < u32::MAX => *count += 1,
            _ => heads.waiting.push_back((profile, 1)),
        }
        if first {
            self.set_head(now, flow, profile);
        }
    }

    /// The flow's first waiting packet enters the pipeline. If none waits behind it, it stays the flow's head until one does
    /// or the flow has left.
    pub fn started(&mut self, now: Time, flow: u32) {
        let waiting = &mut self.flows[flow as usize].waiting;
        let Some((_, count)) = waiting.front_mut() else { return };
        *count -= 1;
        if *count > 0 {
            return;
        }
        waiting.pop_front();
        if let Some(&(profile, _)) = waiting.front() {
            self.set_head(now, flow, profile);
        }
    }

    /// The flow's last packet has left the system.
    pub fn left(&mut self, now: Time, flow: u32) {
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
        let heads = &mut self.flows[flow as usize];
        if heads.current == profile {
            return;
        }
        for ((sum, before), after) in self.sums.iter_mut().zip(heads.current).zip(profile) {
            *sum -= u128::from(heads.weight * u64::from(before));
            *sum += u128::from(heads.weight * u64::from(after));
        }
        heads.current = profile;
        self.accumulate(now);
        let most = self.sums.iter().copied().max().unwrap_or(0);
        // Weights are in thousandths.
        self.share = if most == 0 { 0.0 } else { (1000 * ONE) as f64 / most as f64 };
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
        let second = |s: u64| Time::from_nanos(s * 1_000_000_000);
        fair.arrived(second(0), 0, &cost([2, 10]));
        fair.arrived(second(0), 1, &cost([10, 4]));
        // Profiles are rounded down by at most 2^-31, twice per sum.
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-8, "{a} is not {b}");
        close(fair.take_integral(second(2)), 2.0 / 1.4);
        fair.arrived(second(2), 2, &cost([3, 10]));
        close(fair.take_integral(second(3)), 1.0 / 2.4);
        fair.started(second(3), 2);
        close(fair.take_integral(second(4)), 1.0 / 2.4);
        fair.left(second(4), 2);
        close(fair.take_integral(second(5)), 1.0 / 1.4);
    }

    #[test]
    fn the_next_waiting_packet_becomes_the_head() {
        let mut fair = FairShare::<2>::new([Weight::ONE, Weight::from_milli(3000).unwrap()].into_iter());
        let cost = ResourceVec::from_nanos;
        let second = |s: u64| Time::from_nanos(s * 1_000_000_000);
        fair.arrived(second(0), 0, &cost([1, 0]));
        fair.arrived(second(0), 0, &cost([0, 1]));
        fair.arrived(second(0), 1, &cost([1, 1]));
        assert_eq!(fair.take_integral(second(1)), 0.25);
        fair.started(second(1), 0);
        assert_eq!(fair.sums, [3000 * u128::from(ONE), 4000 * u128::from(ONE)]);
        fair.left(second(1), 0);
        fair.left(second(1), 1);
        assert_eq!(fair.sums, [0, 0]);
    }
}
