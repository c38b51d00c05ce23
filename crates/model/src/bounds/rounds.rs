//! MR3 (W. Wang, B. Li, B. Liang, ICNP 2013) and GMR3 (W. Wang, B. Liang, B. Li, INFOCOM 2014).
//!
//! The texts of these papers were not at hand. MR3's three bounds are as published descriptions give them, and no
//! search of millions of adversarial packets exceeded them; GMR3's constants are uncertain, see there.
//!
//! L, `longest_s`, is the longest time of any packet on any resource. All hold for resources of one server each in
//! series with unlimited buffers between them, and known processing times.

/// MR3: |T_i - T_j| <= 6 L for the services T of two flows on their dominant resources, over any interval in which both
/// are backlogged.
///
/// For equal weights and flows whose dominant resource does not change. A flow that is alone may have a packet on each
/// of m resources; a new flow that pays finds these before it, and gets 3 L less until its second turn: with more than
/// 3 resources that is (m + 3) L.
pub fn mr3_relative_fairness_s(resources: usize, longest_s: f64) -> f64 {
    f64::max(6.0, resources as f64 + 3.0) * longest_s
}

/// MR3: a flow that becomes backlogged has its first packet in the first resource within 2 (m + n - 1) L.
///
/// For equal weights; n counts every flow that may be backlogged meanwhile, its own included.
pub fn mr3_start_up_s(resources: usize, flows: usize, longest_s: f64) -> f64 {
    2.0 * (resources + flows).saturating_sub(1) as f64 * longest_s
}

/// MR3: a packet leaves the last resource within (4 m + 4 n - 2) L of becoming the first of its queue. As
/// [`mr3_start_up_s`].
pub fn mr3_packet_delay_s(resources: usize, flows: usize, longest_s: f64) -> f64 {
    (4.0 * (resources + flows) as f64 - 2.0).max(0.0) * longest_s
}

/// GMR3: |T_i / w_i - T_j / w_j| <= 9 L (1 / w_i + 1 / w_j) for services on dominant resources while both flows are
/// backlogged, with the weights w as parts of the sum of all.
///
/// The constant is uncertain. The largest found in a search of 270 million packets (2, 3 and 4 resources) was 7.4; with
/// `newcomers=free` 9.1 was found. For flows whose dominant resource does not change.
pub fn gmr3_relative_fairness_s(weights: [f64; 2], longest_s: f64) -> f64 {
    9.0 * longest_s * weights.iter().map(|w| w.recip()).sum::<f64>()
}

/// GMR3: a packet leaves the last resource within 24 L / w + 3 m L of becoming the first of its queue, whatever the
/// number of flows; w is the flow's weight as part of the sum of all.
///
/// Between two turns of the flow there are fewer than 8 / w turns of less than 3 L on any resource, and the packet's
/// own way through the pipeline takes less than 3 L per resource. The paper's constant is not known; the largest delay
/// found in a search of 270 million packets was 7 L / w + 3 m L.
pub fn gmr3_packet_delay_s(resources: usize, weight: f64, longest_s: f64) -> f64 {
    (24.0 / weight + 3.0 * resources as f64) * longest_s
}
