//! Guarantees of the schedulers that share the times on all resources together: `cbcs` and `pcfq`.

use dovetail_model::bounds_composite::{CompositeFlow, cbcs_weighted_fairness_s, pcfq_relative_fairness_s};

use super::facts::{Facts, times};
use super::measure::Worst;
use super::pairs::{Counting, worst_pair};
use super::{Bound, Guarantee};
use crate::compare::Recorded;

/// Relative fairness of total services.
pub fn fairness(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    let source = match run.scheduler.name.as_str() {
        "cbcs" => "CBCS paper, Theorem 3, with weights",
        _ => "PCFQ paper, Theorem 2",
    };
    let what = "two flows' difference of total service / weight";
    let remark = "counted at the entrance, any interval, among the 64 flows with the most packets";
    vec![Guarantee { run, what, source, remark }.row(facts.substantial(), || drift(run))]
}

/// The papers' bound on the difference of two flows' total services by weight, and the largest one that the kept packets of the run
/// show, of the pair that came nearest to it; counted when packets are handed out, whether or not the guarantee applies. `None` for other schedulers than
/// `cbcs` and `pcfq`, and if no two flows were backlogged at the same time.
pub fn drift(run: &Recorded) -> Option<Worst> {
    let flows = composite_flows(run);
    let quantum_s = flows.iter().map(|f| f.longest_total_s / f.weight).fold(0.0, f64::max);
    let cbcs = |i: usize, j: usize| cbcs_weighted_fairness_s(quantum_s, flows[i], flows[j]);
    match run.scheduler.name.as_str() {
        "cbcs" => worst_pair(run, Counting::TotalAtEntrance, cbcs),
        "pcfq" => worst_pair(run, Counting::TotalAtEntrance, |i, j| pcfq_relative_fairness_s(&flows, i, j)),
        _ => None,
    }
}

fn composite_flows(run: &Recorded) -> Vec<CompositeFlow> {
    let flow = |f: &crate::compare::FlowTotal| CompositeFlow { weight: f.weight, longest_total_s: 0.0 };
    let mut flows: Vec<CompositeFlow> = run.flows.iter().map(flow).collect();
    for (k, packet) in run.packets.iter().enumerate() {
        let Some(times) = times(run, k) else { continue };
        let longest = &mut flows[packet.flow as usize].longest_total_s;
        *longest = longest.max(times.iter().sum());
    }
    flows
}
