//! Theorem 3: the bonus shares for two resources, without a solver.

use std::cmp::Ordering;

use super::{Ties, alone, distribute};
use crate::head::Head;

/// Of a product and a difference, relative to what they are taken from.
const ROUNDING: f64 = 2.0 * f64::EPSILON;

/// Adds the optimal bonus for remaining shares `mu` (both at least 0) to `shares`. O(n).
///
/// The flows at the two ends of order (23) are the only candidates. A ratio is never formed: the three cases are told
/// apart by cross products, so `tbar_r2 = 0` needs no special case, and the same two products decide the case and are
/// the numerators of case 3, so a share never comes out negative.
pub(super) fn add_bonus(heads: &[Head], mu: [f64; 2], ties: Ties, shares: &mut [f64]) {
    let indices = || 0..heads.len();
    let (Some(first), Some(last)) = (
        indices().min_by(|&a, &b| by_demand_ratio(&heads[a], &heads[b])),
        indices().max_by(|&a, &b| by_demand_ratio(&heads[a], &heads[b])),
    ) else {
        return;
    };
    let (a, z) = (heads[first].normalised(), heads[last].normalised());
    let spread = a[0] * z[1] - a[1] * z[0];
    let above_last = mu[0] * z[1] - mu[1] * z[0];
    let below_first = mu[1] * a[0] - mu[0] * a[1];
    if above_last < 0.0 || spread <= 0.0 {
        distribute(heads, last, alone(z, &mu), ties, shares);
    } else if below_first < 0.0 {
        distribute(heads, first, alone(a, &mu), ties, shares);
    } else {
        let to_first = (above_last / spread).min(alone(a, &mu));
        distribute(heads, first, to_first, ties, shares);
        distribute(heads, last, beside(a, to_first, z, &mu, below_first / spread), ties, shares);
    }
}

/// What the last flow gets where the first one gets `to_first`: `exact`, unless that leaves some of both resources or
/// oversells one, by more than the rounding of what the first one leaves. That alone would not do: divided by a small
/// `z_r`, its rounding can be more than all.
fn beside(a: &[f64], to_first: f64, z: &[f64], mu: &[f64; 2], exact: f64) -> f64 {
    let left = |rounding: f64| {
        let of = |r: usize| (mu[r] - a[r] * to_first + rounding * mu[r]).max(0.0);
        alone(z, &[of(0), of(1)])
    };
    exact.clamp(left(-ROUNDING), left(ROUNDING))
}

/// Order (23): the largest `tbar_1 / tbar_2` first. As the larger of the two times is exactly 1, the ratio falls when
/// `tbar_1` falls or `tbar_2` rises, so comparing the numbers in that order is the same as comparing ratios, and exact.
fn by_demand_ratio(a: &Head, b: &Head) -> Ordering {
    let (a, b) = (a.normalised(), b.normalised());
    b[0].total_cmp(&a[0]).then(a[1].total_cmp(&b[1]))
}
