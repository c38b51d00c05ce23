//! What proportional fairness would give.

use dovetail_model::ModelError;
use dovetail_model::drq::{Hop, Network, solve};
use dovetail_sim::network::{RoundTrip, Traffic};
use dovetail_tcp::{AckPolicy, Variant};
use dovetail_units::Time;

use super::scenario::{Capacity, Group, NetworkScenario};

/// The most pieces of time for which fair rates are computed apart.
const MOST_PIECES: usize = 1000;
/// Into how many parts of alike round trips a group is divided whose access links can limit some of its flows and not
/// others. Only the part in which that changes is not exact.
const MOST_PARTS: usize = 16;

/// What the fair rates are computed beside. A list that is empty says nothing of any group or resource.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// What short flows took, in bit/s, by group: what is left is shared.
    pub short_bps: Vec<f64>,
    /// The mean time in seconds that packets spend at each of the scenario's resources: round trips are longer by
    /// that.
    pub queues_s: Vec<f64>,
    /// The part of each of the scenario's resources that is used: no more can be shared.
    pub used: Vec<f64>,
    /// Propagation round trips in seconds that a run drew for the flows of each group, in the order of their starts;
    /// where there are none, each flow has the mean of its group's.
    pub drawn_s: Vec<Vec<f64>>,
}

/// The proportionally fair rate of one flow of every group averaged over its flows, in bit/s, with weights `packet /
/// round trip` as TCP Reno has under DRQ (Shin et al., Proposition 1), with delayed ACKs `1 / sqrt(2)` of it; CUBIC's
/// share is not of that form and is taken as Reno's with every packet acknowledged. An access link is a link of problem
/// P that one flow uses. `None` for short flows, and for all if these leave nothing. Where flows start after the
/// warm-up: the mean over the measured time of what the flows that have started would share, none before it has; of
/// more than 1000 starts only so many are told apart.
///
/// # Errors
/// If the fair rates cannot be computed.
pub fn fair_rates(scenario: &NetworkScenario, beside: &Beside) -> Result<Vec<Option<f64>>, ModelError> {
    let mut means = vec![None; scenario.groups.len()];
    let (from, until) = (scenario.warm_up(), scenario.until());
    let times = pieces(scenario);
    for piece in times.windows(2) {
        let middle = piece[0] + piece[1].since(piece[0]).divided_by(2);
        let part = piece[1].since(piece[0]).as_secs_f64() / until.since(from).as_secs_f64();
        let active: Vec<u32> = scenario.groups.iter().map(|group| started(&group.traffic, middle)).collect();
        for ((mean, rate), (group, active)) in
            means.iter_mut().zip(shares(scenario, beside, &active)?).zip(scenario.groups.iter().zip(active))
        {
            if let (Some(rate), Some(count)) = (rate, group.long_lived()) {
                *mean.get_or_insert(0.0) += part * rate * f64::from(active) / f64::from(count);
            }
        }
    }
    Ok(means)
}

/// The ends of the pieces of the measured time between starts of flows.
fn pieces(scenario: &NetworkScenario) -> Vec<Time> {
    let (from, until) = (scenario.warm_up(), scenario.until());
    let mut starts: Vec<Time> = Vec::new();
    for group in &scenario.groups {
        let Traffic::LongLived { count, start, spread, .. } = group.traffic else { continue };
        if start + spread > from {
            let all = (0..u64::from(count)).filter_map(|number| group.traffic.start(number));
            starts.extend(all.filter(|&at| at > from && at < until));
        }
    }
    starts.sort_unstable();
    starts.dedup();
    let told_apart = starts.iter().copied().step_by(starts.len().div_ceil(MOST_PIECES).max(1));
    std::iter::once(from).chain(told_apart).chain([until]).collect()
}

/// How many flows have started by then; of short flows none.
fn started(traffic: &Traffic, by: Time) -> u32 {
    let &Traffic::LongLived { count, start, spread, .. } = traffic else { return 0 };
    if by < start {
        return 0;
    }
    let passed = u128::from(by.since(start).as_nanos()) * u128::from(count);
    let before = passed.checked_div(u128::from(spread.as_nanos())).map_or(u128::from(count), |k| k + 1);
    u32::try_from(before).map_or(count, |before| before.min(count))
}

/// What one flow of each group gets on average while so many are active.
fn shares(scenario: &NetworkScenario, beside: &Beside, active: &[u32]) -> Result<Vec<Option<f64>>, ModelError> {
    let mut rates = vec![None; scenario.groups.len()];
    let Some(mut network) = what_is_left(scenario, beside)? else { return Ok(rates) };
    let mut flows = Vec::new();
    for (index, (group, &active)) in scenario.groups.iter().zip(active).enumerate() {
        let hop = |&r: &usize| match scenario.resources[r].capacity {
            Capacity::Cpu(_) => Hop::cpu(r, group.density.as_f64()),
            Capacity::Link(_) => Hop::link(r),
        };
        let hops: Vec<Hop> = group.route.iter().map(hop).collect();
        let alone = hops.iter().map(|hop| network.resources()[hop.resource].capacity / hop.density);
        let alone_bps = alone.fold(f64::INFINITY, f64::min);
        // Others limit nothing.
        let access_bps = group.access.map(|rate| rate.as_bps() as f64).filter(|&access| access < alone_bps);
        if group.long_lived().is_none() || access_bps.is_none() && alone_bps == f64::INFINITY {
            continue;
        }
        rates[index] = Some(0.0);
        for (count, weight) in parts(scenario, beside, index, active, access_bps.is_some()) {
            // Flows that are alike share as one of their weight.
            let access = access_bps.map(|bps| network.add_link(count * bps)).transpose()?;
            let hops: Vec<Hop> = hops.iter().copied().chain(access.map(Hop::link)).collect();
            flows.push((index, network.add_flow(weight, &hops)?));
        }
    }
    if !flows.is_empty() {
        let fair = solve(&network)?;
        for (group, flow) in flows {
            *rates[group].get_or_insert(0.0) += fair.rates[flow] / f64::from(active[group]);
        }
    }
    Ok(rates)
}

/// The scenario's resources, in its order, without what they are not used for; `None` if of one nothing is left.
fn what_is_left(scenario: &NetworkScenario, beside: &Beside) -> Result<Option<Network>, ModelError> {
    let mut network = Network::new();
    for (index, resource) in scenario.resources.iter().enumerate() {
        let used = beside.used.get(index).copied().unwrap_or(1.0);
        let left = |capacity: u64| capacity as f64 * used - background(scenario, index, &beside.short_bps);
        let (capacity, is_cpu) = match resource.capacity {
            Capacity::Cpu(rate) => (left(rate.as_cycles_per_second()), true),
            Capacity::Link(rate) => (left(rate.as_bps()), false),
        };
        if capacity <= 0.0 {
            return Ok(None);
        }
        if is_cpu {
            network.add_cpu(capacity)?
        } else {
            network.add_link(capacity)?
        };
    }
    Ok(Some(network))
}

/// The active flows of a group, which are those that started first, in parts that share as one flow each: how many
/// flows, and their weight together. One part, unless their access links may limit those with the shortest round trips
/// alone.
fn parts(scenario: &NetworkScenario, beside: &Beside, index: usize, active: u32, limited: bool) -> Vec<(f64, f64)> {
    let group = &scenario.groups[index];
    let queues_s: f64 = group.route.iter().filter_map(|&r| beside.queues_s.get(r)).sum();
    let weight = |rtt_s: f64| 8.0 * f64::from(group.packet_bytes) / (rtt_s + queues_s) / packets_per_ack(group).sqrt();
    if active == 0 {
        return Vec::new();
    }
    let Some(drawn_s) = beside.drawn_s.get(index).and_then(|drawn_s| drawn_s.get(..active as usize)) else {
        return vec![(f64::from(active), f64::from(active) * weight(mean_s(group.traffic.rtt())))];
    };
    let mut drawn_s = drawn_s.to_vec();
    drawn_s.sort_unstable_by(f64::total_cmp);
    let length = if limited { drawn_s.len().div_ceil(MOST_PARTS) } else { drawn_s.len() };
    drawn_s.chunks(length).map(|part| (part.len() as f64, part.iter().copied().map(weight).sum())).collect()
}

/// Reno opens its window once per ACK, so that with b packets per ACK its rate is `sqrt(3 / (2 b p))` packets per round
/// trip at a marking probability p (J. Padhye et al., SIGCOMM 1998). CUBIC counts what is acknowledged, not ACKs (RFC
/// 9438).
fn packets_per_ack(group: &Group) -> f64 {
    match (group.acks, group.tcp.variant) {
        (AckPolicy::Delayed { .. }, Variant::Reno | Variant::NewReno) => 2.0,
        (AckPolicy::EverySegment, _) | (_, Variant::Cubic) => 1.0,
    }
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
