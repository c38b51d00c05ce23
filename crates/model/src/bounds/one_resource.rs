//! Disciplines that share one resource: what they promise for service on it.
//!
//! Fairness bounds hold at any speed of the resource, counted where the packets leave the queues. Bounds on delays and
//! finishes hold for a resource that is never kept waiting while packets wait: one server, known times, and nothing
//! before it.
//!
//! A flow's part of the resource is `part` = its weight over the sum of all weights. Its *private server* is a resource
//! of that part of the speed, to itself; it finishes packet k at `F_k = max(a_k, F_k-1) + s_k / part`.

/// A flow on the shared resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharer {
    /// The flow's weight, above 0.
    pub weight: f64,
    /// The longest time of its packets on the resource.
    pub longest_s: f64,
}

/// SFQ and SCFQ: |W_i / w_i - W_j / w_j| <= s_i / w_i + s_j / w_j over any interval in which both flows are backlogged,
/// W the time received, s the longest packet (P. Goyal, H. Vin, H. Cheng, IEEE/ACM ToN 5(5), 1997, Theorem 1; S.
/// Golestani, INFOCOM 1994).
pub fn tag_relative_fairness_s(i: Sharer, j: Sharer) -> f64 {
    i.longest_s / i.weight + j.longest_s / j.weight
}

/// DRR: |W_i / w_i - W_j / w_j| <= Q + s_i / w_i + s_j / w_j, with Q the quantum per weight, or the largest if it
/// changes (M. Shreedhar, G. Varghese, IEEE/ACM ToN 4(3), 1996: 2 Max + Q).
pub fn drr_relative_fairness_s(quantum_s: f64, i: Sharer, j: Sharer) -> f64 {
    quantum_s + tag_relative_fairness_s(i, j)
}

/// DRR: a packet of a flow ends on the resource within `sum_{j != i} (k Q w_j + s_j) + 2 s_i` of becoming the first of
/// its queue, if k turns give enough for any packet of the flow: `k = ceil(s_i / (Q w_i))` for a fixed quantum Q. With
/// the automatic quantum, that of the turn may still be too small for a packet that was not the first of its queue
/// then, but that of the next one is not: k = 2.
///
/// In k rounds a flow gets k quanta and uses at most what it had left in addition, which is less than one packet. The
/// flow's own two packets are this one and the one before, with whose service the time begins.
pub fn drr_head_delay_s(quantum_s: f64, turns: f64, own_longest_s: f64, others: impl Iterator<Item = Sharer>) -> f64 {
    2.0 * own_longest_s + others.map(|j| turns * quantum_s * j.weight + j.longest_s).sum::<f64>()
}

/// DRR's latency: a packet ends at most `3 F - 2 Q w_i` after it does on the flow's private server, with the frame `F =
/// sum_j Q w_j` (D. Stiliadis, A. Varma, IEEE/ACM ToN 6(5), 1998, Table I).
///
/// For a fixed quantum that is enough for any packet: `Q w_j >= s_j` for every flow.
pub fn drr_latency_s(quantum_s: f64, weight: f64, all_weights: f64) -> f64 {
    quantum_s * (3.0 * all_weights - 2.0 * weight)
}

/// SFQ as published: a packet of time `packet_s` ends at most `sum_{j != i} s_j + packet_s` after its expected arrival,
/// which is its start on the flow's private server (Goyal, Vin, Cheng 1997).
pub fn sfq_delay_s(packet_s: f64, others_longest_s: f64) -> f64 {
    others_longest_s + packet_s
}

/// SFQ where newcomers pay: a packet ends at most `sum_{j != i} s_j + s_i / part` after its expected arrival, s_i the
/// longest packet of the flow so far and `part` its part of the speed.
///
/// It is served s_i by weight of virtual time, at most, after what its flow has had since it last became backlogged; of
/// every other flow as much by weight is served in between, and one packet more.
pub fn sfq_paid_delay_s(own_longest_s: f64, part: f64, others_longest_s: f64) -> f64 {
    others_longest_s + own_longest_s / part
}

/// SCFQ: a packet ends at most `sum_{j != i} s_j` after it does on the flow's private server (Stiliadis, Varma 1998,
/// Table I).
pub fn scfq_delay_s(others_longest_s: f64) -> f64 {
    others_longest_s
}

/// WFQ: a packet ends at most one longest packet time of any flow after it does in GPS (A. Parekh, R. Gallager,
/// IEEE/ACM ToN 1(3), 1993, Theorem 1). The same holds for WF2Q+ against the flow's private server (J. Bennett, H.
/// Zhang, IEEE/ACM ToN 5(5), 1997).
pub fn one_packet_late_s(longest_s: f64) -> f64 {
    longest_s
}

/// WF2Q+ is worst-case fair: a packet that finds its flow with work `queue_s` on the resource, its own included, ends
/// within `queue_s / part + s_i / part + L - s_i` (Bennett, Zhang 1997), s_i the longest packet of the flow and L of
/// any.
pub fn wf2q_plus_delay_s(queue_s: f64, part: f64, own_longest_s: f64, longest_s: f64) -> f64 {
    (queue_s + own_longest_s) / part + longest_s - own_longest_s
}
