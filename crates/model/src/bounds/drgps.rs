//! How near `drgps` stays to the DRGPS fluid (W. Wang, B. Liang, B. Li, IWQoS 2013).

/// A packet under `drgps:order=finish` leaves resource `resource` (from 0) of a pipeline by this time, given its finish
/// in the DRGPS fluid.
///
/// `flows`: the most backlogged in the fluid at a time; `longest_first_s`: the longest time of any packet on resource
/// 0; `longest_s`: on any. Holds for exact times, single servers and unlimited buffers, and a resource 0 that takes a
/// packet whenever there is one for it.
///
/// Resource 0: `F + L_0`, WF2Q's bound (J. Bennett, H. Zhang, INFOCOM 1996) for any number of resources: let p be the
/// last packet before it on resource 0 that ends after F in the fluid. When p was chosen, none of those that enter
/// between the two had started in the fluid, so the fluid did all of them after that, by F.
///
/// Resource r: `F + (r (2 n + 1) + 2) L`: what enters from x to y has started in the fluid by y and was not finished by
/// x - L, so it has y - x + L of time in the fluid but for n heads at each end; a packet's way is a chain of r + 1
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

/// A packet under `drgps:order=start` leaves resource `resource` (from 0) by this time, given its start in the DRGPS
/// fluid: `S + (r + 1) n L`.
///
/// Arguments and conditions as [`drgps_exit_by_finish_s`], and no packet bypasses resource 0: it would overtake others on
/// the way to the next one. Packets enter in the order of their starts in the fluid. Of
/// packets that enter one after another, those that have ended in the fluid when the last one starts there had the time
/// between the first and the last start; at most n have not. A packet's way is a chain of r + 1 unbroken sequences, one
/// on each resource.
pub fn drgps_exit_by_start_s(fluid_start_s: f64, resource: usize, flows: usize, longest_s: f64) -> f64 {
    fluid_start_s + ((resource + 1) * flows) as f64 * longest_s
}

/// A packet under `drgps:order=start` enters resource 0 by this time, given its start in the DRGPS fluid: `S + (n - 1)
/// L_0`.
///
/// Arguments and conditions as [`drgps_exit_by_finish_s`]. As Lemma 4 of the paper, for any number of resources and any
/// weights.
pub fn drgps_entrance_by_start_s(fluid_start_s: f64, flows: usize, longest_first_s: f64) -> f64 {
    fluid_start_s + flows.saturating_sub(1) as f64 * longest_first_s
}
