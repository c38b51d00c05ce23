//! Delays of packets and flows in a run, each with what its bound allows, and the one that came nearest.

use dovetail_model::fluid::{Input, Policy, run as run_fluid};
use dovetail_units::Time;

use super::facts::{Facts, times};
use crate::recorded::{Recorded, Service};

/// Most steps (packets times flows) of a fluid schedule that is computed for a bound.
pub const FLUID_STEPS: f64 = 5e8;

/// Something seen, and the most that is allowed for it (seconds).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst {
    /// The most.
    pub bound_s: f64,
    /// Seen.
    pub seen_s: f64,
}

/// The one that comes nearest to its bound or exceeds it by most, by their ratio.
pub fn worst(all: impl Iterator<Item = Worst>) -> Option<Worst> {
    let ratio = |w: &Worst| if w.bound_s > 0.0 { w.seen_s / w.bound_s } else { 0.0 };
    all.max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
}

/// A packet that was served, as its flow sees it.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    /// Its flow.
    pub flow: usize,
    /// When it came.
    pub arrival_s: f64,
    /// When it became the first of its queue.
    pub first_s: f64,
    /// When it entered the first resource.
    pub entered_s: f64,
    /// When it left the last resource.
    pub left_s: f64,
    /// Its time on the first resource.
    pub time_s: f64,
    /// When its service on the first resource ended.
    pub ended_s: f64,
    /// Its flow had no packet waiting when it came.
    pub starts_backlog: bool,
    /// Its flow had no packet before.
    pub first_of_flow: bool,
}

/// The packets that were served, in order of arrival.
pub fn passages(run: &Recorded) -> Vec<Passage> {
    let mut entered: Vec<Option<Time>> = vec![None; run.flows.len()];
    let last = run.resources.len() - 1;
    let mut passages = Vec::with_capacity(run.packets.len());
    for (k, packet) in run.packets.iter().enumerate() {
        let (Some(Service { start, end, .. }), Some(Service { end: left, .. })) =
            (run.service(k, 0), run.service(k, last))
        else {
            continue;
        };
        let before = entered[packet.flow as usize].replace(start);
        let (entered_before, first_of_flow) = (before.unwrap_or_default(), before.is_none());
        // At the instant at which the one before enters, it is behind it; a flow's first packet finds none, also at
        // time 0.
        let alone = entered_before < packet.arrival || first_of_flow;
        passages.push(Passage {
            flow: packet.flow as usize,
            arrival_s: packet.arrival.as_secs_f64(),
            first_s: packet.arrival.max(entered_before).as_secs_f64(),
            entered_s: start.as_secs_f64(),
            left_s: left.as_secs_f64(),
            time_s: end.since(start).as_secs_f64(),
            ended_s: end.as_secs_f64(),
            starts_backlog: alone,
            first_of_flow,
        });
    }
    passages
}

/// From when a flow becomes backlogged until its first packet enters the first resource. `bound` of the flow.
pub fn start_up(run: &Recorded, bound: impl Fn(usize) -> f64) -> Option<Worst> {
    let first = passages(run).into_iter().filter(|p| p.starts_backlog);
    worst(first.map(|p| Worst { bound_s: bound(p.flow), seen_s: p.entered_s - p.arrival_s }))
}

/// As [`start_up`], of flows that were never served before.
pub fn first_start(run: &Recorded, bound: impl Fn(usize) -> f64) -> Option<Worst> {
    let first = passages(run).into_iter().filter(|p| p.first_of_flow);
    worst(first.map(|p| Worst { bound_s: bound(p.flow), seen_s: p.entered_s - p.arrival_s }))
}

/// From when a packet becomes the first of its queue until it leaves the last resource. `bound` of its flow.
pub fn packet_delay(run: &Recorded, bound: impl Fn(usize) -> f64) -> Option<Worst> {
    worst(passages(run).into_iter().map(|p| Worst { bound_s: bound(p.flow), seen_s: p.left_s - p.first_s }))
}

/// From when a packet becomes the first of its queue until it leaves the first resource. `bound` of its flow.
pub fn head_delay(run: &Recorded, bound: impl Fn(usize) -> f64) -> Option<Worst> {
    worst(passages(run).into_iter().map(|p| Worst { bound_s: bound(p.flow), seen_s: p.ended_s - p.first_s }))
}

/// A packet on the first resource beside its flow's private server, which has the flow's part of the resource's speed.
#[derive(Clone, Copy, Debug)]
pub struct Private {
    pub packet: Passage,
    /// The flow's part.
    pub part: f64,
    /// When the private server begins and ends it.
    pub begins_s: f64,
    pub ends_s: f64,
    /// Work of the flow in the queue and in service on its arrival, its own included.
    pub queue_s: f64,
}

/// Every packet beside its flow's private server.
pub fn beside_private_servers(run: &Recorded, facts: &Facts) -> Vec<Private> {
    let passages = passages(run);
    let mut free = vec![0.0_f64; run.flows.len()];
    // Of every flow, the packets so far: end of service, and the work up to it.
    let mut ends: Vec<Vec<(f64, f64)>> = vec![Vec::new(); run.flows.len()];
    let beside = |packet: Passage| {
        let part = facts.part(packet.flow);
        let begins_s = free[packet.flow].max(packet.arrival_s);
        free[packet.flow] = begins_s + packet.time_s / part;
        let own = &mut ends[packet.flow];
        let done = own.partition_point(|&(end, _)| end <= packet.arrival_s);
        let before = own.last().map_or(0.0, |e| e.1);
        // Of the packet in service, the part that is done does not count.
        let mut queue_s = before - done.checked_sub(1).map_or(0.0, |k| own[k].1) + packet.time_s;
        if let Some(&(end, work)) = own.get(done) {
            let time = work - done.checked_sub(1).map_or(0.0, |k| own[k].1);
            queue_s -= (packet.arrival_s - (end - time)).max(0.0);
        }
        own.push((packet.ended_s, before + packet.time_s));
        Private { packet, part, begins_s, ends_s: free[packet.flow], queue_s }
    };
    passages.into_iter().map(beside).collect()
}

/// How much later than in GPS of the first resource a packet ends there at worst; `bound_s` is what is allowed. `None`
/// if GPS is not defined or takes too long.
pub fn after_gps(run: &Recorded, facts: &Facts, bound_s: f64) -> Option<Worst> {
    if run.packets.len() as f64 * facts.concurrent as f64 > FLUID_STEPS {
        return None;
    }
    let passages = passages(run);
    let mut input = Input::new(1).ok()?;
    for flow in run.flows.iter() {
        input.add_flow(flow.weight).ok()?;
    }
    for p in &passages {
        input.push(p.flow, p.arrival_s, &[p.time_s]).ok()?;
    }
    // Of one resource, the dominant-resource fluid is GPS.
    let gps = run_fluid(&input, &Policy::Drgps).ok()?;
    let mut count = vec![0; run.flows.len()];
    worst(passages.iter().map(|p| {
        let ends = gps.finishes_s(p.flow)[count[p.flow]];
        count[p.flow] += 1;
        Worst { bound_s, seen_s: (p.ended_s - ends).max(0.0) }
    }))
}

/// How much later than in the DRGPS fluid `event` of a packet comes at worst: later than its finish there, or its
/// start. `bound_s` is what is allowed. `None` if the fluid is not defined or takes too long.
pub fn after_drgps(
    run: &Recorded,
    facts: &Facts,
    bound_s: f64,
    event: impl Fn(&Passage) -> f64,
    by_finish: bool,
) -> Option<Worst> {
    if run.packets.len() as f64 * facts.concurrent as f64 > FLUID_STEPS {
        return None;
    }
    let mut input = Input::new(run.resources.len()).ok()?;
    for flow in run.flows.iter() {
        input.add_flow(flow.weight).ok()?;
    }
    for (k, packet) in run.packets.iter().enumerate() {
        let Some(times) = times(run, k) else { continue };
        input.push(packet.flow as usize, packet.arrival.as_secs_f64(), &times).ok()?;
    }
    let fluid = run_fluid(&input, &Policy::Drgps).ok()?;
    let mut count = vec![0; run.flows.len()];
    worst(passages(run).iter().map(|p| {
        let there = if by_finish { fluid.finishes_s(p.flow) } else { fluid.starts_s(p.flow) };
        let reference = there[count[p.flow]];
        count[p.flow] += 1;
        Worst { bound_s, seen_s: (event(p) - reference).max(0.0) }
    }))
}
