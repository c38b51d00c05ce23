//! ATFQ (J. Zhang et al.), by the proofs of `docs/theory/atfq.md`.

/// A flow as ATFQ's bounds see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtfqFlow {
    /// The flow's weight, above 0.
    pub weight: f64,
    /// The longest total time of its packets, on all resources together.
    pub longest_total_s: f64,
}

/// By how much the active times by weight that two flows receive in any interval in which both are backlogged differ at
/// most: `(2 x / n + 4) L`.
///
/// `packets`: x, of a loop; `flows`: n, that are backlogged throughout, these two among them; `longest_s`: L, the
/// longest total time of any packet divided by its flow's weight. The first packet of a flow that becomes backlogged
/// counts with its total time. Half of that if both flows become backlogged at the same time, when no other packet
/// waits. Holds for known times that add at least a nanosecond each, whatever the queues hold, and a flow counts as
/// backlogged throughout if its queue is never empty when a loop is formed.
pub fn atfq_relative_fairness_s(packets: usize, flows: usize, longest_s: f64) -> f64 {
    (2.0 * packets as f64 / flows.max(1) as f64 + 4.0) * longest_s
}

/// The most by which two flows that became backlogged at the same time differ between loops, and with loops of one
/// packet at all times: the longer of their longest total times by weight. Conditions as of
/// [`atfq_relative_fairness_s`]; flows that became backlogged at different times: twice that.
pub fn atfq_strict_fairness_s(flows: [AtfqFlow; 2]) -> f64 {
    flows.map(|flow| flow.longest_total_s / flow.weight).into_iter().fold(0.0, f64::max)
}
