//! CUBIC's window (RFC 9438), in integers.

use dovetail_units::{Duration, Time};

use crate::window::ONE;

/// 5^28: with C = 0.4 per cubic second, time in nanoseconds and windows in 2^-30 segments,
/// C t^3 = t^3 * 0.4 * 2^30 / 10^27 = 16 t^3 / 5^28.
const FIVE_28: i128 = 37_252_902_984_619_140_625;
/// The cubic is cut off this far from its middle, 2^40 ns or 1,100 s: 16 t^3 then still fits.
const FARTHEST: i128 = 1 << 40;

/// How CUBIC opens its window after a reduction; windows are in units of 1 / [`ONE`].
///
/// ```text
/// W(t) = C (t - K)^3 + W_max       K = cbrt((W_max - cwnd_epoch) / C)       C = 0.4, beta = 0.7
/// ```
///
/// t is the time since congestion avoidance began. Every ACK takes the window by (W(t + RTT) - cwnd) / cwnd
/// towards where the cubic will be in a round trip, at most half of itself, and at least to what Reno would have,
/// W_est. W(t) is exact but for the last division: it is at most 2^-30 segments below the exact value for the K in use,
/// and K is at most 1 ns short.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cubic {
    /// Where the window stood before the last reduction, or lower (fast convergence); zero: no reduction to return
    /// from.
    w_max: u64,
    /// The window before the last reduction.
    prior: u64,
    epoch: Option<Epoch>,
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    k: Duration,
    w_max: u64,
    w_est: u64,
}

impl Cubic {
    /// C (t - K)^3 + W_max; zero where that is negative.
    pub fn curve(t: Duration, k: Duration, w_max: u64) -> u64 {
        let from_middle = (i128::from(t.as_nanos()) - i128::from(k.as_nanos())).clamp(-FARTHEST, FARTHEST);
        let above = (16 * from_middle * from_middle * from_middle).div_euclid(FIVE_28);
        u64::try_from((i128::from(w_max) + above).max(0)).unwrap_or(u64::MAX)
    }

    /// K: how long the cubic takes from `cwnd` up to `w_max`; zero if it is there already. Rounded down.
    pub fn climb(cwnd: u64, w_max: u64) -> Duration {
        let cube = u128::from(w_max.saturating_sub(cwnd)) * (FIVE_28 as u128) / 16;
        let (mut root, mut bit) = (0_u128, 1_u128 << 41);
        while bit > 0 {
            let candidate = root | bit;
            if candidate * candidate * candidate <= cube {
                root = candidate;
            }
            bit >>= 1;
        }
        Duration::from_nanos(root as u64)
    }

    /// The window after an ACK of `acked` new segments in congestion avoidance.
    pub(crate) fn opened(&mut self, now: Time, rtt: Duration, acked: u64, cwnd: u64) -> u64 {
        let cwnd = cwnd.max(1);
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin(now, cwnd));
        epoch.w_est = epoch.w_est.saturating_add(self.reno_step(epoch.w_est, acked, cwnd));
        self.epoch = Some(epoch);
        let elapsed = now.since(epoch.start);
        if Self::curve(elapsed, epoch.k, epoch.w_max) < epoch.w_est {
            // Already beyond W_est on the way to the cubic of the next round trip: no step back.
            return cwnd.max(epoch.w_est);
        }
        let target = Self::curve(elapsed + rtt, epoch.k, epoch.w_max).clamp(cwnd, cwnd.saturating_add(cwnd / 2));
        cwnd.saturating_add((u128::from(target - cwnd) * u128::from(ONE) / u128::from(cwnd)) as u64)
    }

    /// What W_est gains: alpha per window (section 4.3), which is 3 (1 - beta) / (1 + beta) = 9 / 17 until W_est is
    /// back where it was.
    fn reno_step(&self, w_est: u64, acked: u64, cwnd: u64) -> u64 {
        let (numerator, denominator) = if w_est < self.prior { (9, 17) } else { (1, 1) };
        let step = u128::from(acked) * numerator * u128::from(ONE) * u128::from(ONE) / (denominator * u128::from(cwnd));
        u64::try_from(step).unwrap_or(u64::MAX)
    }

    fn begin(&self, now: Time, cwnd: u64) -> Epoch {
        let w_max = self.w_max.max(cwnd);
        Epoch { start: now, k: Self::climb(cwnd, w_max), w_max, w_est: cwnd }
    }

    /// A loss or a mark (sections 4.6, 4.7): `cwnd` is about to be reduced.
    pub(crate) fn on_reduction(&mut self, cwnd: u64) {
        // Fast convergence: a flow that does not get back to where it was leaves room to others, (1 + beta) / 2 of it.
        self.w_max = if cwnd < self.w_max { (u128::from(cwnd) * 17 / 20) as u64 } else { cwnd };
        self.prior = cwnd;
        self.epoch = None;
    }

    /// A timeout (section 4.8): the next cubic starts from its middle. `cwnd` is the window before it, unless that is
    /// what an earlier reduction of the same flight has left.
    pub(crate) fn on_timeout(&mut self, cwnd: Option<u64>) {
        *self = Self { w_max: 0, prior: cwnd.unwrap_or(self.prior), epoch: None };
    }

    /// 0.7 of `window`.
    pub(crate) fn reduced(window: u64) -> u64 {
        (u128::from(window) * 7 / 10) as u64
    }
}
