//! What holds for the makespan of any schedule, or of any that is work conserving (tradeoff paper, section 2).

/// Equation (3): no schedule finishes sooner than the busiest resource needs: `max_r sum_i tau_ir`.
///
/// `total_times_s`: for each resource, the time it needs for all packets
/// ([`Input::total_times_s`](crate::fluid::Input::total_times_s)). Holds for every schedule, fluid or packet by packet,
/// any number of resources and any arrivals; it ignores the time before late packets arrive, so with arrivals over time
/// it may be far below the optimum.
pub fn makespan_lower_bound_s(total_times_s: &[f64]) -> f64 {
    total_times_s.iter().copied().fold(0.0, f64::max)
}

/// Theorem 1: a work conserving schedule's makespan is at most `m` times the optimum: `T <= m T*`, equation (2).
///
/// Work conserving: at least one resource is busy whenever a flow is backlogged. Any arrivals, any number of resources.
/// To use it with [`makespan_lower_bound_s`] in place of the unknown `optimum_s`, the schedule must have a single busy
/// period: then `T <= sum_r sum_i tau_ir <= m max_r sum_i tau_ir` (equation (5), whose printed middle term `sum_i m
/// max_r tau_ir` is a slip: it can exceed `m T*`).
pub fn work_conserving_makespan_s(resources: usize, optimum_s: f64) -> f64 {
    resources as f64 * optimum_s
}
