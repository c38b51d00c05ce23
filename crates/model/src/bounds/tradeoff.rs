//! How near `tradeoff` stays to its fluid (tradeoff paper, section 5).

/// Theorem 4, equation (25): start-time tracking finishes at most `n tau_max` after its fluid: `T_D <= T_F + n
/// tau_max`.
///
/// `flows`: the most flows backlogged at a time; `longest_time_s`: the longest time of any packet on any resource.
/// Holds for two resources in series with an unlimited buffer between them, alpha > 0, packets taken in order of their
/// start in the fluid, and exact processing times.
pub fn tracking_makespan_s(fluid_makespan_s: f64, flows: usize, longest_time_s: f64) -> f64 {
    fluid_makespan_s + flows as f64 * longest_time_s
}

/// How far a flow's dominant service may be from the fluid's at any time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceDeviation {
    /// The packet schedule is at most this far behind the fluid.
    pub behind_s: f64,
    /// The packet schedule is at most this far ahead of the fluid.
    pub ahead_s: f64,
}

/// Theorem 5, equation (26): `D_F - 2 (n - 1) tau_max <= D_D <= D_F + tau_max` for every flow and time.
///
/// As printed this is wrong for a single flow: one packet that needs 2 on the CPU and 17 on the link starts on the link
/// 2 behind its fluid, where `2 (n - 1) tau_max` is 0. What the proof's (53) and (54) give together is `(2 n - 1)
/// tau_max`. The printed bound is kept for two flows and more, where it has held in every test, and one flow gets
/// `tau_max`.
///
/// Arguments and conditions as [`tracking_makespan_s`], for one busy period of the fluid. The proof of the lower side
/// (Lemma 6) takes a flow's dominant service to come in the order of its packets, which needs flows whose dominant
/// resource does not change; without that the same lemma gives `2 n tau_max` behind: [`tracking_deviation_any_flow`].
pub fn tracking_deviation(flows: usize, longest_time_s: f64) -> ServiceDeviation {
    let packets = if flows == 1 { 1 } else { 2 * flows.saturating_sub(1) };
    ServiceDeviation { behind_s: packets as f64 * longest_time_s, ahead_s: longest_time_s }
}

/// As [`tracking_deviation`] for flows whose dominant resource may change from packet to packet.
///
/// By Lemma 5 a packet is done at most `(2 n - 1) tau_max` after its finish in the fluid. So what is done by t contains
/// all packets that the fluid finished by `t - (2 n - 1) tau_max`; the fluid's service until then lacks at most
/// `(2 n - 1) tau_max`, and it may have served up to `tau_max` of one unfinished packet.
pub fn tracking_deviation_any_flow(flows: usize, longest_time_s: f64) -> ServiceDeviation {
    ServiceDeviation { behind_s: 2.0 * flows as f64 * longest_time_s, ahead_s: longest_time_s }
}

/// Theorem 4 for `resources` in series: start-time tracking finishes at most `(m - 1) n tau_max` after its fluid. With
/// two it is [`tracking_makespan_s`]; for more that is too little. Proof and counterexample:
/// `docs/theory/tradeoff-many.md`. Arguments and conditions as there.
pub fn tracking_makespan_of_many_s(fluid_makespan_s: f64, resources: usize, flows: usize, longest_time_s: f64) -> f64 {
    fluid_makespan_s + (resources.saturating_sub(1) * flows) as f64 * longest_time_s
}

/// Theorem 5 for `resources` in series: `(m n - 1) tau_max` behind for flows that keep their dominant resource,
/// `m n tau_max` otherwise, and `tau_max` ahead. Proof and counterexample: `docs/theory/tradeoff-many.md`. For two
/// resources see [`tracking_deviation`].
pub fn tracking_deviation_of_many(
    resources: usize,
    flows: usize,
    longest_time_s: f64,
    keeps_dominant: bool,
) -> ServiceDeviation {
    let packets = (resources * flows).saturating_sub(usize::from(keeps_dominant));
    ServiceDeviation { behind_s: packets as f64 * longest_time_s, ahead_s: longest_time_s }
}
