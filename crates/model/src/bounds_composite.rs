//! Guarantees of schedulers that share CPU and link together, and of separate ones, from two papers by Sabrina, Kanhere
//! and Jha: PCFQ and CBCS (IEEE Transactions on Parallel and Distributed Systems, both). All times in seconds.
//!
//! A packet's total time is what it needs on CPU and link together. Weights and shares are the flows' reservations on
//! each; a share is a fraction of a resource, in (0, 1]. The functions compute; they do not check that a schedule
//! obeys.

/// A flow as the fairness bounds see it, by the normalised times of packets: the sum over the resources of time by the
/// flow's weight there. With one weight for all resources, that is total time by weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompositeFlow {
    /// The longest of its own packets: `C_i` below.
    pub longest_s: f64,
    /// The longest of any flow's packets, by this flow's weights.
    pub longest_of_any_s: f64,
}

/// CBCS, Theorem 3: the total times that any two flows receive while both are backlogged differ by at most `3 Ptc_max`,
/// with equal weights and a quantum of the longest total time of any packet.
pub fn cbcs_relative_fairness_s(longest_total_s: f64) -> f64 {
    3.0 * longest_total_s
}

/// CBCS with one weight per flow and any `quantum_s` for a flow of weight 1: `|W_i / w_i - W_j / w_j| <= Q + C_i +
/// C_j`.
///
/// Not in the paper; its equation (12) with Q by weight. Holds for service counted when a packet is handed out, exact
/// times, and any quantum; with one that rises meanwhile `quantum_s` is the last: what the rises between a turn of one
/// flow and the next of the other bring adds up to less than one quantum.
pub fn cbcs_weighted_fairness_s(quantum_s: f64, i: CompositeFlow, j: CompositeFlow) -> f64 {
    quantum_s + i.longest_s + j.longest_s
}

/// CBCS paper, Theorem 4: the bound for two separate deficit round robins, `3 (Ptc_c_max + Ptc_b_max)`; never below
/// [`cbcs_relative_fairness_s`].
///
/// `longest_s`: the longest time of any packet on CPU and link, each for itself.
pub fn separate_drr_relative_fairness_s(longest_s: [f64; 2]) -> f64 {
    3.0 * (longest_s[0] + longest_s[1])
}

/// PCFQ, Theorem 2: `RFB <= max(E_j + P_i + C_j, E_i + P_j + C_i)` with `E_i = min((N - 1) P_i, max_n C_n)`, P_i the
/// longest packet of any flow by flow i's weights, for two of `flows` by index.
///
/// The theorem's line is not legible in the text at hand. This is equations (13) and (14), from which its proof derives
/// it, with normalised times in place of lengths by weight. Zero if an index is out of range.
pub fn pcfq_relative_fairness_s(flows: &[CompositeFlow], i: usize, j: usize) -> f64 {
    let (Some(&i), Some(&j)) = (flows.get(i), flows.get(j)) else { return 0.0 };
    let longest = flows.iter().map(|f| f.longest_s).fold(0.0, f64::max);
    let others = flows.len().saturating_sub(1) as f64;
    let excess = |flow: CompositeFlow| f64::min(others * flow.longest_of_any_s, longest);
    let one_side =
        |ahead: CompositeFlow, behind: CompositeFlow| excess(ahead) + behind.longest_of_any_s + ahead.longest_s;
    f64::max(one_side(j, i), one_side(i, j))
}

/// What `pcfq` keeps to by default: `|N_i - N_j| <= C_i + C_j` for the normalised times N that two flows receive.
///
/// Not in the paper, but part of its Theorem 2. V is the finish tag of the packet served last, the smallest of all
/// then. So no head ends before V, and each starts at V or before: its flow's last packet was served by then, or it
/// came to no other at an earlier V. A flow that waits stands between V - C and V. Holds for service counted when a
/// packet is handed out, and exact times.
pub fn pcfq_served_fairness_s(i: CompositeFlow, j: CompositeFlow) -> f64 {
    i.longest_s + j.longest_s
}

/// What `pcfq:clock=tags` keeps to: `N_i - N_j <= C_j + max_n C_n` for the normalised times N that two flows receive,
/// and with i and j exchanged.
///
/// Not in the paper. No waiting flow's head packet starts before V; and a packet is served only if its finish tag is
/// the smallest, so it is at most that of the flow whose head starts at V, which is less than `max_n C_n` later. So j
/// is ahead of i by no more than that when the interval begins; and i is never ahead of j by more than j's head packet.
/// Holds for service counted when a packet is handed out, and exact times. Zero if an index is out of range.
pub fn pcfq_tags_fairness_s(flows: &[CompositeFlow], i: usize, j: usize) -> f64 {
    let (Some(i), Some(j)) = (flows.get(i), flows.get(j)) else { return 0.0 };
    let largest = flows.iter().map(|f| f.longest_s).fold(0.0, f64::max);
    largest + f64::max(i.longest_s, j.longest_s)
}

/// A flow as the delay guarantees see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReservedFlow<'a> {
    /// The times of its packets, alone on CPU and link.
    pub packets_s: &'a [[f64; 2]],
    /// The reserved share of each. With PCFQ that is the flow's weight there by the larger one of the sums of all
    /// weights on the CPU and of all on the link: virtual time passes by their sum for the flows in service,
    /// whichever resource these keep busy.
    pub shares: [f64; 2],
}

impl ReservedFlow<'_> {
    fn longest(&self, time: impl Fn(&[f64; 2]) -> f64) -> f64 {
        self.packets_s.iter().map(time).fold(0.0, f64::max)
    }
}

/// Equation (15): a packet leaves a WFQ server at most this long after its expected arrival: `L_i_max / r_i + L_max /
/// R`.
///
/// `own_longest_s` and `longest_s`: the longest time of the flow's packets and of any packet. The expected arrival is
/// that at a server of the flow's own of `share` of the speed: `EAT_k = max(a_k, EAT_k-1 + l_k-1 / r)`.
pub fn wfq_delay_s(own_longest_s: f64, share: f64, longest_s: f64) -> f64 {
    own_longest_s / share + longest_s
}

/// Equation (16): the same for two WFQ servers in a row, CPU and link: the sum of both.
///
/// The expected arrival is that of [`pcfq_delay_s`]. A packet leaves the CPU at most the longest time there after a
/// private server of the flow's share, and the link at most the longest time there after a private server that it comes
/// to so much later; and it leaves two private servers in a row no later than one that takes it for both times.
pub fn separate_wfq_delay_s(flow: &ReservedFlow<'_>, all: &[ReservedFlow<'_>]) -> f64 {
    let on = |r: usize| {
        let longest = all.iter().map(|f| f.longest(|packet| packet[r])).fold(0.0, f64::max);
        wfq_delay_s(flow.longest(|packet| packet[r]), flow.shares[r], longest)
    };
    on(0) + on(1)
}

/// Equation (17), PCFQ: `(P / r_cpu + L / r_bw)_max` of the flow's packets and the longest total time of any packet;
/// never above [`separate_wfq_delay_s`]. The expected arrival counts `P / r_cpu + L / r_bw` for every packet before:
/// that is at a server of the flow's own which takes the packets one by one.
///
/// The paper's claim, and its proof is left out; it is no bound. Three runs by hand exceed it
/// (`composite_bounds/exceeded.rs` in the testkit's tests), each for one reason:
/// * It has room for one packet ahead, and on CPU and link at once there are more: a packet that comes when the CPU is
///   free waits for the one on the link and for those between.
/// * By (5) and (6) virtual time passes half as fast as in a fluid, even with one packet at a time: who comes later
///   overtakes.
/// * Read off the tags (`pcfq:clock=tags`) it stands still while a packet with a small start tag has a large finish
///   tag, with the same effect.
pub fn pcfq_delay_s(flow: &ReservedFlow<'_>, all: &[ReservedFlow<'_>]) -> f64 {
    let longest = all.iter().map(|f| f.longest(|packet| packet[0] + packet[1])).fold(0.0, f64::max);
    flow.longest(|packet| packet[0] / flow.shares[0] + packet[1] / flow.shares[1]) + longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composite_bounds_by_hand() {
        // Weights 1, 2, 1 and total times of 3, 8, 1.
        let flows = [(3.0, 8.0), (4.0, 4.0), (1.0, 8.0)]
            .map(|(longest_s, longest_of_any_s)| CompositeFlow { longest_s, longest_of_any_s });
        assert_eq!(cbcs_relative_fairness_s(8.0), 24.0);
        assert_eq!(cbcs_weighted_fairness_s(4.0, flows[0], flows[1]), 4.0 + 3.0 + 4.0);
        assert_eq!(separate_drr_relative_fairness_s([5.0, 6.0]), 33.0);
        assert_eq!(pcfq_tags_fairness_s(&flows, 0, 2), 4.0 + 3.0);
        assert_eq!(pcfq_served_fairness_s(flows[0], flows[2]), 3.0 + 1.0);
        // C = min(2 * 8 / 1, 4) = 4 and min(2 * 8 / 2, 4) = 4: max(4 + 8 / 1 + 4, 4 + 8 / 2 + 3).
        assert_eq!(pcfq_relative_fairness_s(&flows, 0, 1), 16.0);
        assert_eq!(pcfq_relative_fairness_s(&flows, 0, 3), 0.0);
        // Alone with one other of equal weight, C = 3: one flow is at most the other's packet ahead of GPS.
        let alone = CompositeFlow { longest_s: 3.0, longest_of_any_s: 3.0 };
        assert_eq!(pcfq_relative_fairness_s(&[alone; 2], 0, 1), 9.0);
    }

    #[test]
    fn composite_delay_is_never_worse() {
        // CPU-heavy and link-heavy packets: 5/0.5 + 1/0.5 = 12 and 2/0.5 + 4/0.5 = 12; the longest in total is 7.
        let (a, b) = ([[5.0, 1.0], [2.0, 4.0]], [[1.0, 6.0]]);
        let flows = [&a[..], &b[..]].map(|packets_s| ReservedFlow { packets_s, shares: [0.5, 0.5] });
        assert_eq!(pcfq_delay_s(&flows[0], &flows), 12.0 + 7.0);
        // Separately 5/0.5 + 5, and 4/0.5 + 6.
        assert_eq!(separate_wfq_delay_s(&flows[0], &flows), 15.0 + 14.0);
        assert_eq!(wfq_delay_s(4.0, 0.5, 6.0), 14.0);
        assert!(pcfq_delay_s(&flows[1], &flows) <= separate_wfq_delay_s(&flows[1], &flows));
    }
}
