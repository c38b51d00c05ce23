//! What proportional fairness would give.

use dovetail_model::ModelError;
use dovetail_model::drq::{Hop, Network, solve};
use dovetail_sim::network::{RoundTrip, Traffic};

use super::scenario::{Capacity, Group, NetworkScenario};

/// The proportionally fair rate of one flow of every group, in bit/s, with weights `packet / round trip` as TCP Reno has under DRQ
/// (Shin et al., Proposition 1); `None` for short flows, and for all if these leave nothing. Short flows take what they took: `short_bps`, by
/// group; what is left is shared. A round trip drawn from a range counts with its mean, queues with no time.
///
/// # Errors
/// If the fair rates cannot be computed.
pub fn fair_rates(scenario: &NetworkScenario, short_bps: &[f64]) -> Result<Vec<Option<f64>>, ModelError> {
    fair_rates_beside_queues(scenario, short_bps, &vec![0.0; scenario.resources.len()])
}

/// As [`fair_rates`], with round trips that are longer by the mean time in seconds that packets spend at each of the scenario's resources.
///
/// # Errors
/// If the fair rates cannot be computed.
pub fn fair_rates_beside_queues(
    scenario: &NetworkScenario,
    short_bps: &[f64],
    at_resource_s: &[f64],
) -> Result<Vec<Option<f64>>, ModelError> {
    let mut rates = vec![None; scenario.groups.len()];
    let mut network = Network::new();
    let mut place = Vec::new();
    for (index, resource) in scenario.resources.iter().enumerate() {
        let left = |capacity: u64| capacity as f64 - background(scenario, index, short_bps);
        let (capacity, is_cpu) = match resource.capacity {
            Capacity::Cpu(rate) => (left(rate.as_cycles_per_second()), true),
            Capacity::Link(rate) => (left(rate.as_bps()), false),
        };
        if capacity <= 0.0 {
            return Ok(rates);
        }
        place.push(if is_cpu { network.add_cpu(capacity)? } else { network.add_link(capacity)? });
    }
    let mut flows = Vec::new();
    for (index, group) in scenario.groups.iter().enumerate() {
        let Traffic::LongLived { count, rtt, .. } = group.traffic else { continue };
        let hop = |&r: &usize| match scenario.resources[r].capacity {
            Capacity::Cpu(_) => Hop::cpu(place[r], group.density.as_f64()),
            Capacity::Link(_) => Hop::link(place[r]),
        };
        let hops: Vec<Hop> = group.route.iter().map(hop).collect();
        if group.density.as_micro() == 0 && !hops.iter().any(|h| h.density > 0.0) {
            continue;
        }
        let queues_s: f64 = group.route.iter().map(|&r| at_resource_s[r]).sum();
        let weight = 8.0 * f64::from(group.packet_bytes) / (mean_s(rtt) + queues_s);
        // Flows that are alike are one to the solver; all but the first need not be asked for.
        for _ in 0..count {
            let flow = network.add_flow(weight, &hops)?;
            if flows.last().is_none_or(|&(last, _)| last != index) {
                flows.push((index, flow));
            }
        }
    }
    if !flows.is_empty() {
        let fair = solve(&network)?;
        flows.iter().for_each(|&(group, flow)| rates[group] = Some(fair.rates[flow]));
    }
    Ok(rates)
}

/// What short flows take of a resource: cycles/s or bit/s.
fn background(scenario: &NetworkScenario, resource: usize, short_bps: &[f64]) -> f64 {
    let load = |(group, bps): (&Group, &f64)| {
        let passes = group.long_lived().is_none() && group.route.contains(&resource);
        match scenario.resources[resource].capacity {
            Capacity::Cpu(_) if passes => bps * group.density.as_f64(),
            Capacity::Link(_) if passes => *bps,
            _ => 0.0,
        }
    };
    scenario.groups.iter().zip(short_bps).map(load).sum()
}

/// The mean round trip in seconds.
pub fn mean_s(rtt: RoundTrip) -> f64 {
    (rtt.min.as_secs_f64() + rtt.max.as_secs_f64()) / 2.0
}
