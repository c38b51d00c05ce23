//! Fairness over intervals, from the recorded series.

use std::ops::Range;

use crate::record::result::RunResult;
use crate::record::series::{IntervalRow, ShareRow};

/// Fairness over the intervals in which at least two flows were backlogged throughout, among these flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fairness {
    /// How many such intervals there are.
    pub intervals: usize,
    /// Jain's index of the dominant services divided by the weights: mean over the intervals. 1 is equality, 1/n one
    /// flow alone.
    pub jain: f64,
    /// Gini coefficient of the same: mean over the intervals. 0 is equality.
    pub gini: f64,
    /// The largest difference in one interval of two flows' dominant services divided by their weights, in seconds.
    pub relative_fairness_bound: f64,
    /// The largest difference in one interval of two flows' total services (all resources together) divided by their
    /// weights, in seconds: the relative fairness of the PCFQ and CBCS papers.
    pub relative_fairness_total: f64,
}

/// How far a flow fell below its guaranteed service in one interval; below zero if it got more.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ShortfallBy {
    /// The flow.
    pub flow: u32,
    /// The interval's index.
    pub interval: u64,
    /// In seconds of dominant service.
    pub seconds: f64,
    /// In packets of the flow's mean dominant time.
    pub packets: f64,
}

/// The worst shortfalls.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shortfall {
    /// The worst in seconds.
    pub by_time: ShortfallBy,
    /// The worst in packets.
    pub by_packets: ShortfallBy,
}

impl<const M: usize> RunResult<M> {
    /// Fairness over the intervals with these indices (all: `0..u64::MAX`); `None` if in none of them two flows were
    /// backlogged throughout. O(rows * log flows).
    pub fn fairness(&self, intervals: Range<u64>) -> Option<Fairness> {
        let mut sum =
            Fairness { intervals: 0, jain: 0.0, gini: 0.0, relative_fairness_bound: 0.0, relative_fairness_total: 0.0 };
        for (_, shares) in self.contended(intervals) {
            let mut services: Vec<f64> = shares.iter().map(|s| s.service / self.weight(s.flow)).collect();
            services.sort_unstable_by(f64::total_cmp);
            sum.intervals += 1;
            sum.jain += jain(&services);
            sum.gini += gini(&services);
            let spread = services.last().zip(services.first()).map_or(0.0, |(most, least)| most - least);
            sum.relative_fairness_bound = sum.relative_fairness_bound.max(spread);
            let totals = || shares.iter().map(|s| s.total / self.weight(s.flow));
            let (most, least) = (totals().fold(f64::MIN, f64::max), totals().fold(f64::MAX, f64::min));
            sum.relative_fairness_total = sum.relative_fairness_total.max(most - least);
        }
        let count = sum.intervals as f64;
        (sum.intervals > 0).then(|| Fairness { jain: sum.jain / count, gini: sum.gini / count, ..sum })
    }

    /// The worst shortfall below a flow's `alpha` times the fair dominant service (weight times integral of the fair
    /// share) of any flow backlogged throughout one of these intervals together with another; `None` as for
    /// [`RunResult::fairness`]. For the check of the alpha-portion fairness (tradeoff paper, Theorem 5 and Fig. 4).
    /// O(rows).
    pub fn shortfall(&self, alpha: impl Fn(u32) -> f64, intervals: Range<u64>) -> Option<Shortfall> {
        let mut worst: Option<Shortfall> = None;
        for (row, shares) in self.contended(intervals) {
            for share in shares {
                let seconds = alpha(share.flow) * self.weight(share.flow) * row.fair - share.service;
                let packet = self.flows[share.flow as usize].mean_dominant_time;
                let packets = if packet > 0.0 { seconds / packet } else { 0.0 };
                let here = ShortfallBy { flow: share.flow, interval: row.index, seconds, packets };
                let worst = worst.get_or_insert(Shortfall { by_time: here, by_packets: here });
                if seconds > worst.by_time.seconds {
                    worst.by_time = here;
                }
                if packets > worst.by_packets.packets {
                    worst.by_packets = here;
                }
            }
        }
        worst
    }

    /// The intervals in which at least two flows were backlogged throughout, with these flows.
    fn contended(&self, intervals: Range<u64>) -> impl Iterator<Item = (&IntervalRow<M>, Vec<ShareRow>)> {
        self.series.iter().filter(move |(row, _)| intervals.contains(&row.index)).filter_map(|(row, shares)| {
            let backlogged: Vec<ShareRow> = shares.iter().filter(|s| s.backlogged).copied().collect();
            (backlogged.len() >= 2).then_some((row, backlogged))
        })
    }

    fn weight(&self, flow: u32) -> f64 {
        self.flows[flow as usize].weight.as_f64()
    }
}

/// Jain's index, `(sum x)^2 / (n sum x^2)`: 1 if all are equal or zero, 1/n if one has all.
pub fn jain(values: &[f64]) -> f64 {
    let unit = magnitude(values);
    let sum: f64 = values.iter().map(|x| x / unit).sum();
    let squares: f64 = values.iter().map(|x| (x / unit) * (x / unit)).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (values.len() as f64 * squares) }
}

/// The power of two in the largest of these values, by which they are divided exactly, and their squares neither
/// overflow nor vanish.
fn magnitude(values: &[f64]) -> f64 {
    let most = values.iter().copied().fold(0.0, f64::max);
    f64::from_bits(most.to_bits() & f64::INFINITY.to_bits()).max(f64::MIN_POSITIVE)
}

/// The Gini coefficient, `sum (2 i - n - 1) x_i / (n sum x)` over ascending values, i from 1; 0 if all are zero.
pub fn gini(ascending: &[f64]) -> f64 {
    let n = ascending.len() as f64;
    let unit = magnitude(ascending);
    let sum: f64 = ascending.iter().map(|x| x / unit).sum();
    let of_rank = |(i, x): (usize, &f64)| (2.0 * (i as f64 + 1.0) - n - 1.0) * (x / unit);
    let ranked: f64 = ascending.iter().enumerate().map(of_rank).sum();
    if sum == 0.0 { 0.0 } else { ranked / (n * sum) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_of_equal_and_of_one_sided_shares() {
        assert_eq!((jain(&[2.0, 2.0, 2.0]), gini(&[2.0, 2.0, 2.0])), (1.0, 0.0));
        assert_eq!((jain(&[0.0, 0.0, 0.0, 1.0]), gini(&[0.0, 0.0, 0.0, 1.0])), (0.25, 0.75));
        assert_eq!((jain(&[0.0, 0.0]), gini(&[0.0, 0.0])), (1.0, 0.0));
    }

    #[test]
    fn indices_do_not_depend_on_the_size_of_the_shares() {
        let shares = [1.0, 2.0, 3.0, 4.0];
        for size in [5e-324, 1e-320, 1e-200, 1e-101, 1e-30, 1e30, 1e101, 1e200, 4e307] {
            let shares = shares.map(|share| share * size);
            let (jain, gini) = (jain(&shares), gini(&shares));
            assert!((jain - 5.0 / 6.0).abs() < 1e-3 && (gini - 0.25).abs() < 1e-3, "{size}: {jain}, {gini}");
        }
    }
}
