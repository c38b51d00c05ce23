//! From a scenario to what the simulator runs.

use dovetail_sim::network::{Class, Hop, Network, Service};
use dovetail_units::Duration;

use super::scenario::{Capacity, NetworkScenario, Resource};
use super::scheme::Scheme;

/// The network under a scheme: classes are the scenario's groups.
pub fn network(scenario: &NetworkScenario, scheme: &Scheme) -> Network {
    let hop = |(index, resource): (usize, &Resource)| {
        let scheme = resource.scheme.as_ref().unwrap_or(scheme);
        let is_cpu = matches!(resource.capacity, Capacity::Cpu(_));
        Hop {
            name: resource.name.clone(),
            service: match resource.capacity {
                Capacity::Cpu(rate) => Service::Cpu(rate),
                Capacity::Link(rate) => Service::Link(rate),
            },
            queueing: scheme.queueing(is_cpu, mean_time(scenario, index)),
            limit: if scheme.per_flow(is_cpu) { resource.flow_queue } else { resource.queue },
            delay: resource.delay,
        }
    };
    let class = |group: &super::Group| Class {
        name: group.name.clone(),
        density: group.density,
        route: group.route.iter().map(|&hop| hop as u32).collect(),
        packet_bytes: group.packet_bytes,
        access: group.access,
        tcp: group.tcp,
    };
    Network {
        hops: scenario.resources.iter().enumerate().map(hop).collect(),
        classes: scenario.groups.iter().map(class).collect(),
        traffic: scenario.groups.iter().map(|group| group.traffic.clone()).collect(),
    }
}

/// How long a packet takes on a resource, in the mean over the groups that pass it: the pace at which RED's average decays while it idles.
fn mean_time(scenario: &NetworkScenario, resource: usize) -> Duration {
    let passing: Vec<_> = scenario.groups.iter().filter(|group| group.route.contains(&resource)).collect();
    let time = |group: &&super::Group| match scenario.resources[resource].capacity {
        Capacity::Cpu(rate) => rate.processing_time(u64::from(group.packet_bytes), group.density).as_nanos(),
        Capacity::Link(rate) => rate.transmission_time(u64::from(group.packet_bytes), 0).0.as_nanos(),
    };
    let sum: u128 = passing.iter().map(|group| u128::from(time(group))).sum();
    Duration::from_nanos((sum / passing.len().max(1) as u128).max(1) as u64)
}
