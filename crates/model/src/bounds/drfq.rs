//! DRFQ (A. Ghodsi et al., SIGCOMM 2012).

/// A flow as DRFQ's bounds see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrfqFlow {
    /// The flow's weight, above 0.
    pub weight: f64,
    /// The longest time of its packets on its dominant resource.
    pub longest_dominant_s: f64,
}

/// DRFQ's relative fairness bound: `|D_i / w_i - D_j / w_j| <= s_i / w_i + s_j / w_j` over any interval in which both
/// flows are backlogged, with `s` the longest dominant processing time (A. Ghodsi et al., SIGCOMM 2012).
///
/// Also where newcomers pay a deposit first; `s` is then the longest of the flow so far, and equality can be reached.
///
/// Holds for memoryless DRFQ and flows whose dominant resource does not change while backlogged; for service counted
/// when a packet is admitted, or with at most one packet per resource in the pipeline. Longer buffers between resources
/// add to it.
pub fn drfq_relative_fairness_s(i: DrfqFlow, j: DrfqFlow) -> f64 {
    i.longest_dominant_s / i.weight + j.longest_dominant_s / j.weight
}

/// DRFQ's start delay: the first packet of a flow that was never served before waits at most `max_r sum_{j != i} (s_jr
/// + d)` for its start.
///
/// `others_longest_s`: for each other backlogged flow, its longest packet time on each resource. `deposit_s`: d, the
/// packet's own dominant time if newcomers pay, and 0 as published: the packet is served d of virtual time after V at
/// its arrival, and of every other flow there are in between packets of dominant time d at most, but for one. Holds for
/// memoryless DRFQ with equal weights, no packet waiting inside the pipeline, and a virtual time that does not fall
/// when the system idles (or tags that are reset then).
///
/// A flow that comes back starts at the finish tag F of its last packet where that is above V. While V is below F
/// others are served before it, more than one packet each: of one that uses short packets, as many as make up for the
/// flow's last packet. So the bound is not for it.
pub fn drfq_start_delay_s(others_longest_s: &[&[f64]], deposit_s: f64) -> f64 {
    let resources = others_longest_s.iter().map(|times| times.len()).max().unwrap_or(0);
    let on = |resource: usize| -> f64 {
        others_longest_s.iter().filter_map(|times| times.get(resource)).map(|s| s + deposit_s).sum()
    };
    (0..resources).map(on).fold(0.0, f64::max)
}
