//! From a scenario to what the simulator runs.

use dovetail_sched::aqm::{InFront, Scheme};
use dovetail_sim::network::{Class, Hop, Network, Queueing, Service};
use dovetail_units::Duration;

use super::scenario::{Capacity, NetworkScenario, Resource};

/// The network under a scheme: classes are the scenario's groups.
pub fn network(scenario: &NetworkScenario, scheme: &Scheme) -> Network {
    let hop = |(index, resource): (usize, &Resource)| {
        let standing = resource.standing(scheme);
        Hop {
            name: resource.name.clone(),
            service: match resource.capacity {
                Capacity::Cpu(rate) => Service::Cpu(rate),
                Capacity::Link(rate) => Service::Link(rate),
            },
            limit: match standing {
                InFront::PerFlow(_) => resource.flow_queue,
                _ => resource.queue,
            },
            queueing: queueing(standing.with_packet(mean_time(scenario, index))),
            delay: resource.delay,
            encoding: resource.ends_box.then(|| scenario.encoding()),
        }
    };
    let class = |group: &super::Group| Class {
        name: group.name.clone(),
        density: group.density,
        route: group.route.iter().map(|&hop| hop as u32).collect(),
        packet_bytes: group.packet_bytes,
        access: group.access,
        tcp: group.tcp,
        acks: group.acks,
    };
    Network {
        hops: scenario.resources.iter().enumerate().map(hop).collect(),
        classes: scenario.groups.iter().map(class).collect(),
        traffic: scenario.groups.iter().map(|group| group.traffic.clone()).collect(),
    }
}

fn queueing(standing: InFront) -> Queueing {
    match standing {
        InFront::Fifo => Queueing::DropTail,
        InFront::Red(config) => Queueing::Red(config),
        InFront::Drq(config) => Queueing::Drq(config),
        InFront::PerFlow(spec) => Queueing::PerFlow(spec),
    }
}

/// How long a packet takes on a resource, averaged over the groups that pass it: the pace at which RED's average
/// decays while it idles.
fn mean_time(scenario: &NetworkScenario, resource: usize) -> Duration {
    let passing: Vec<_> = scenario.groups.iter().filter(|group| group.route.contains(&resource)).collect();
    let time = |group: &&super::Group| match scenario.resources[resource].capacity {
        Capacity::Cpu(rate) => rate.processing_time(u64::from(group.packet_bytes), group.density).as_nanos(),
        Capacity::Link(rate) => rate.transmission_time(u64::from(group.packet_bytes), 0).0.as_nanos(),
    };
    let sum: u128 = passing.iter().map(|group| u128::from(time(group))).sum();
    Duration::from_nanos((sum / passing.len().max(1) as u128).max(1) as u64)
}
