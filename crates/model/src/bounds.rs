//! The theorems' guarantees as numbers: all arguments and results in seconds unless said otherwise.
//!
//! Each function says what must hold for its guarantee. They compute; they do not check that a schedule obeys.

/// Equation (3): no schedule finishes sooner than the busiest resource needs: `max_r sum_i tau_ir`.
///
/// `total_times_s`: for each resource, the time it needs for all packets
/// ([`Input::total_times_s`](crate::fluid::Input::total_times_s)). Holds for every schedule, fluid or packet by packet, any
/// number of resources and any arrivals; it ignores the time before late packets arrive, so with arrivals over time it may
/// be far below the optimum.
pub fn makespan_lower_bound_s(total_times_s: &[f64]) -> f64 {
    total_times_s.iter().copied().fold(0.0, f64::max)
}

/// Theorem 1: a work conserving schedule's makespan is at most `m` times the optimum: `T <= m T*`, equation (2).
///
/// Work conserving: at least one resource is busy whenever a flow is backlogged. Any arrivals, any number of resources. To
/// use it with [`makespan_lower_bound_s`] in place of the unknown `optimum_s`, the schedule must have a single busy period:
/// then `T <= sum_r sum_i tau_ir <= m max_r sum_i tau_ir` (equation (5), whose printed middle term `sum_i m max_r tau_ir` is a
/// slip: it can exceed `m T*`).
pub fn work_conserving_makespan_s(resources: usize, optimum_s: f64) -> f64 {
    resources as f64 * optimum_s
}

/// Theorem 4, equation (25): start-time tracking finishes at most `n tau_max` after its fluid: `T_D <= T_F + n tau_max`.
///
/// `flows`: the most flows backlogged at a time; `longest_time_s`: the longest time of any packet on any resource. Holds for
/// two resources in series with an unlimited buffer between them, alpha > 0, packets taken in order of their start in the
/// fluid, and exact processing times.
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
/// As printed this is wrong for a single flow: one packet that needs 2 on the CPU and 17 on the link starts on the link 2 behind its
/// fluid, where `2 (n - 1) tau_max` is 0. What the proof's (53) and (54) give together is `(2 n - 1) tau_max`. The printed bound
/// is kept for two flows and more, where it has held in every test, and one flow gets `tau_max`.
///
/// Arguments and conditions as [`tracking_makespan_s`], for one busy period of the fluid. The proof of the lower side
/// (Lemma 6) takes a flow's dominant service to come in the order of its packets, which needs flows whose dominant resource
/// does not change; without that the same lemma gives `2 n tau_max` behind: [`tracking_deviation_any_flow`].
pub fn tracking_deviation(flows: usize, longest_time_s: f64) -> ServiceDeviation {
    let packets = if flows == 1 { 1 } else { 2 * flows.saturating_sub(1) };
    ServiceDeviation { behind_s: packets as f64 * longest_time_s, ahead_s: longest_time_s }
}

/// As [`tracking_deviation`] for flows whose dominant resource may change from packet to packet.
///
/// By Lemma 5 a packet is done at most `(2 n - 1) tau_max` after its finish in the fluid. So what is done by t contains all
/// packets that the fluid finished by `t - (2 n - 1) tau_max`; the fluid's service until then lacks at most
/// `(2 n - 1) tau_max`, and it may have served up to `tau_max` of one unfinished packet.
pub fn tracking_deviation_any_flow(flows: usize, longest_time_s: f64) -> ServiceDeviation {
    ServiceDeviation { behind_s: 2.0 * flows as f64 * longest_time_s, ahead_s: longest_time_s }
}

/// A flow as DRFQ's bounds see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrfqFlow {
    /// The flow's weight, above 0.
    pub weight: f64,
    /// The longest time of its packets on its dominant resource.
    pub longest_dominant_s: f64,
}

/// DRFQ's relative fairness bound: `|D_i / w_i - D_j / w_j| < s_i / w_i + s_j / w_j` over any interval in which both flows are
/// backlogged, with `s` the longest dominant processing time (A. Ghodsi et al., SIGCOMM 2012).
///
/// Holds for memoryless DRFQ and flows whose dominant resource does not change while backlogged; for service counted when a
/// packet is admitted, or with at most one packet per resource in the pipeline. Longer buffers between resources add to it.
pub fn drfq_relative_fairness_s(i: DrfqFlow, j: DrfqFlow) -> f64 {
    i.longest_dominant_s / i.weight + j.longest_dominant_s / j.weight
}

/// DRFQ's start delay: the first packet of a flow that was idle waits at most `max_r sum_{j != i} s_jr` for its start.
///
/// `others_longest_s`: for each other backlogged flow, its longest packet time on each resource. Holds for memoryless DRFQ
/// with equal weights, and a virtual time that does not fall when the system idles (or tags that are reset then).
pub fn drfq_start_delay_s(others_longest_s: &[&[f64]]) -> f64 {
    let resources = others_longest_s.iter().map(|times| times.len()).max().unwrap_or(0);
    let on = |resource: usize| -> f64 { others_longest_s.iter().filter_map(|times| times.get(resource)).sum() };
    (0..resources).map(on).fold(0.0, f64::max)
}

/// A packet under `drgps:order=finish` leaves resource `resource` (from 0) of a pipeline by this time, given its finish in the DRGPS fluid.
///
/// `flows`: the most backlogged in the fluid at a time; `longest_first_s`: the longest time of any packet on resource 0; `longest_s`: on any. Holds
/// for exact times, single servers and unlimited buffers, and a resource 0 that takes a packet whenever there is one for it.
///
/// Resource 0: `F + L_0`, WF2Q's bound (J. Bennett, H. Zhang, INFOCOM 1996) for any number of resources: let p be the last packet
/// before it on resource 0 that ends after F in the fluid. When p was chosen, none of those that enter between the two had started in the
/// fluid, so the fluid did all of them after that, by F. Resource r: `F + (r (2 n + 1) + 2) L`: what enters from x to y has started in the fluid by y
/// and was not finished by x - L, so it has y - x + L of time in the fluid but for n heads at each end; a packet's way is a chain of r + 1
/// unbroken sequences of packets, one on each resource. Not tight beyond resource 0.
pub fn drgps_exit_by_finish_s(
    fluid_finish_s: f64,
    resource: usize,
    flows: usize,
    longest_first_s: f64,
    longest_s: f64,
) -> f64 {
    match resource {
        0 => fluid_finish_s + longest_first_s,
        r => fluid_finish_s + (r * (2 * flows + 1) + 2) as f64 * longest_s,
    }
}

/// A packet under `drgps:order=start` leaves resource `resource` (from 0) by this time, given its start in the DRGPS fluid:
/// `S + (r + 1) n L`.
///
/// Arguments and conditions as [`drgps_exit_by_finish_s`]. Packets enter in the order of their starts in the fluid. Of packets that enter one
/// after another, those that have ended in the fluid when the last one starts there had the time between the first and the last start; at
/// most n have not. A packet's way is a chain of r + 1 unbroken sequences, one on each resource.
pub fn drgps_exit_by_start_s(fluid_start_s: f64, resource: usize, flows: usize, longest_s: f64) -> f64 {
    fluid_start_s + ((resource + 1) * flows) as f64 * longest_s
}

/// A packet under `drgps:order=start` enters resource 0 by this time, given its start in the DRGPS fluid: `S + (n - 1) L_0`.
///
/// Arguments and conditions as [`drgps_exit_by_finish_s`]. As Lemma 4 of the paper, for any number of resources and any weights.
pub fn drgps_entrance_by_start_s(fluid_start_s: f64, flows: usize, longest_first_s: f64) -> f64 {
    fluid_start_s + flows.saturating_sub(1) as f64 * longest_first_s
}
