//! DRGPS: the perfectly fair fluid allocation (the paper, section 3.2, equation (16)), for any weights and resources.
//!
//! Flow i receives the dominant share `w_i * d` with `d = 1 / max_r sum_i w_i * tbar_ir`: the largest `d` that no
//! resource forbids. At least one resource (the bottleneck) is fully used.

use crate::error::ModelError;
use crate::head::{Head, resources};
use crate::tradeoff::Allocation;

/// The DRGPS allocation of `heads`: one backlogged flow's head packet each, all for the same resources.
///
/// Cost O(n m) for n flows and m resources.
///
/// # Errors
/// [`ModelError::Empty`] without flows; [`ModelError::Length`] if the heads differ in their number of resources.
pub fn allocate(heads: &[Head]) -> Result<Allocation, ModelError> {
    resources(heads)?;
    let mut allocation = Allocation::default();
    allocate_into(heads, &mut allocation);
    allocation.measure(heads);
    Ok(allocation)
}

/// As [`allocate`] into a buffer that is used again, without utilisations.
pub(crate) fn allocate_into(heads: &[Head], allocation: &mut Allocation) {
    weighted_loads(heads, &mut allocation.utilisation);
    let fair = fair_share(&allocation.utilisation);
    allocation.fair_share = fair;
    allocation.shares.clear();
    allocation.shares.extend(heads.iter().map(|head| head.weight() * fair));
}

/// `sum_i w_i * tbar_ir` for each resource r. The order of `heads` fixes the rounding.
pub(crate) fn weighted_loads(heads: &[Head], loads: &mut Vec<f64>) {
    loads.clear();
    loads.resize(heads.first().map_or(0, |head| head.normalised().len()), 0.0);
    for head in heads {
        for (load, tbar) in loads.iter_mut().zip(head.normalised()) {
            *load += head.weight() * tbar;
        }
    }
}

/// `d` from the weighted loads. Positive: every head loads its dominant resource with its whole weight.
pub(crate) fn fair_share(loads: &[f64]) -> f64 {
    1.0 / loads.iter().copied().fold(0.0, f64::max)
}
