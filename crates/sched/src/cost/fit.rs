//! A line `a * size + b` through what was observed, by least squares with exponential forgetting.
//!
//! Kept are the weighted means of sizes and times, the variance of sizes and their covariance with times; an
//! observation (x, y) with gain g changes them by
//!
//! ```text
//! dx = x - mx, dy = y - my          mx += g dx, my += g dy
//! var = (1 - g) (var + g dx^2)      cov = (1 - g) (cov + g dx dy)      a = cov / var, b = my - a mx
//! ```
//!
//! g is 1/k (to 10^-6) at the k-th observation as long as that is above alpha, then alpha: at first the least squares
//! of all there is, then of some 2 / alpha packets. As deviations from the means are summed, and everything fades,
//! nothing cancels and nothing grows: the state is of fixed size and as precise after a year as on the first day.
//!
//! Means count 2^-20 bytes and 2^-12 ns, variances 2^-24 of their units, the slope 2^-20 ns per byte; rounding to the
//! nearest adds at most 1 / (2 alpha) units to means and, where it is done twice per packet, 1 / alpha to variance and
//! covariance. With alpha = 1 nothing is left of either, and the newest time is predicted for every size. While the
//! sizes seen do not tell a slope (a variance below 1/16 square byte), the last one that was known is kept, at first 0.
//! Sizes count at most 2^24 bytes. An estimate is never below zero. Before the first observation of a key `first` is
//! predicted, by default zero.

use dovetail_units::Duration;

use super::{Keyed, Linear, MILLION, PLACES};
use crate::contract::LONGEST_TIME;

/// How to fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FitParameters {
    /// The part of the newest observation, in millionths: 1,000 to 1,000,000. Values beyond count as the nearest of
    /// these.
    pub alpha: u32,
    /// What is predicted before the first observation.
    pub first: Linear,
}

impl Default for FitParameters {
    /// alpha = 0.02, zero first.
    fn default() -> Self {
        Self { alpha: 20_000, first: Linear::default() }
    }
}

/// Least squares with forgetting, for every key on its own.
#[derive(Clone, Debug)]
pub struct Fit {
    parameters: FitParameters,
    lines: Keyed<Line>,
}

/// Binary places of times, of variances and covariances.
const TIME_PLACES: u32 = 12;
const SQUARE_PLACES: u32 = 24;
const LARGEST_SIZE: u32 = 1 << 24;
/// 1/16 square byte.
const LEAST_VARIANCE: i128 = 1 << (SQUARE_PLACES - 4);
const STEEPEST: i128 = 1 << 60;

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Observations, up to 1 / alpha.
    seen: u32,
    mean_size: i128,
    mean_time: i128,
    variance: i128,
    covariance: i128,
    /// a, in 2^-20 ns per byte.
    slope: i128,
}

impl Line {
    fn observe(&mut self, size: u32, used: Duration, alpha: u32) {
        self.seen = (self.seen + 1).min(1_000_000 / alpha + 1);
        let gain = i128::from(alpha.max(1_000_000 / self.seen));
        let rest = MILLION as i128 - gain;
        let dx = in_places(size) - self.mean_size;
        let dy = (i128::from(used.as_nanos()) << TIME_PLACES) - self.mean_time;
        self.mean_size += millionths(gain * dx);
        self.mean_time += millionths(gain * dy);
        let square = |product: i128, places: u32| in_squares(millionths(gain * product), places);
        self.variance = millionths(rest * (self.variance + square(dx * dx, 2 * PLACES)));
        self.covariance = millionths(rest * (self.covariance + square(dx * dy, PLACES + TIME_PLACES)));
        if self.variance >= LEAST_VARIANCE {
            self.slope = ((self.covariance << PLACES) / self.variance).clamp(-STEEPEST, STEEPEST);
        }
    }

    fn time(&self, size: u32) -> Duration {
        let from_mean = (self.slope * (in_places(size) - self.mean_size)) >> (2 * PLACES - TIME_PLACES);
        let ns = (self.mean_time + from_mean + (1 << (TIME_PLACES - 1))) >> TIME_PLACES;
        Duration::from_nanos(ns.clamp(0, i128::from(LONGEST_TIME.as_nanos())) as u64)
    }
}

fn in_places(size: u32) -> i128 {
    i128::from(size.min(LARGEST_SIZE)) << PLACES
}

/// To the nearest unit of squares, from more binary places.
fn in_squares(value: i128, places: u32) -> i128 {
    let fewer = places - SQUARE_PLACES;
    (value + (1 << (fewer - 1))) >> fewer
}

/// To the nearest unit; halves go up.
fn millionths(value: i128) -> i128 {
    let value = value + MILLION as i128 / 2;
    // Mostly 64 bits are enough, and division by a constant is a multiplication then.
    if let Ok(value) = i64::try_from(value) {
        return i128::from(value.div_euclid(MILLION as i64));
    }
    // The floor for values below zero too: !(!v / n) = -((-v - 1) / n) - 1.
    let sign = value >> 127;
    (divided_by_million((value ^ sign) as u128) as i128) ^ sign
}

/// `value / 1_000_000`, digit by digit to the base 2^32: division of 64 bits by a constant is a multiplication, that of
/// 128 bits takes ten times as long, and there are four for every packet.
fn divided_by_million(value: u128) -> u128 {
    const MILLION: u64 = super::MILLION as u64;
    let (high, low) = ((value >> 64) as u64, value as u64);
    let next = ((high % MILLION) << 32) | (low >> 32);
    let last = ((next % MILLION) << 32) | (low & 0xffff_ffff);
    u128::from(high / MILLION) << 64 | u128::from(next / MILLION) << 32 | u128::from(last / MILLION)
}

impl Fit {
    /// Nothing is observed yet.
    pub fn new(parameters: FitParameters) -> Self {
        let alpha = parameters.alpha.clamp(1_000, 1_000_000);
        Self { parameters: FitParameters { alpha, ..parameters }, lines: Keyed::new() }
    }

    /// As [`Estimator::estimate`](super::Estimator::estimate).
    pub fn estimate(&self, key: u32, size: u32) -> Duration {
        match self.lines.get(key) {
            Some(line) => line.time(size),
            None => self.parameters.first.time(u64::from(size)).min(LONGEST_TIME),
        }
    }

    /// As [`Estimator::observe`](super::Estimator::observe).
    pub fn observe(&mut self, key: u32, size: u32, used: Duration) {
        let line = self.lines.slot(key).get_or_insert_default();
        line.observe(size, used.min(LONGEST_TIME), self.parameters.alpha);
    }

    /// As [`Estimator::forget`](super::Estimator::forget).
    pub fn forget(&mut self, key: u32) {
        self.lines.forget(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn millionths_are_those_of_a_whole_division() {
        let whole = |value: i128| (value + 500_000).div_euclid(1_000_000);
        let near = [0, 1, 499_999, 500_000, 500_001, 999_999, 1_000_000, 1_500_000];
        // Every width, and around every border between digits.
        let all = (0..126).flat_map(|bits| near.map(|more| (1_i128 << bits) + more - 1_000_000));
        for value in all.flat_map(|value| [value, -value, value / 3, -value / 7]) {
            assert_eq!(millionths(value), whole(value), "{value}");
        }
    }
}
