//! What is true of a run, and decides which guarantees apply to it.

use dovetail_sched::LONGEST_TIME;
use dovetail_sim::End;
use dovetail_units::Duration;

use crate::behind;
use crate::recorded::{Recorded, ResourceTotal};
use crate::scenario::Scenario;

/// What the bounds are made of.
pub struct Facts {
    /// Why the theorems do not apply to this pipeline, if so.
    pub obstacle: Option<&'static str>,
    /// Whether all packets were kept, delivered, and the run ended by itself, or what else happened.
    pub whole: Result<(), &'static str>,
    /// The most flows with packets in the system at one time.
    pub concurrent: usize,
    /// Longest time of any packet on any resource, divided by the resource's servers.
    pub longest_s: f64,
    /// Whether some flow's packets have different dominant resources.
    pub shifting: bool,
    /// Of each resource, whether some packet needs none of it.
    pub skipped: Vec<bool>,
    /// Whether some packet needs none of any resource.
    pub idle_packets: bool,
    /// Whether a packet ever waited between two resources.
    pub waits_inside: bool,
    /// Whether some flow's weights differ by resource.
    pub weighted_apart: bool,
    /// Parameters that the scenario changes during the run.
    pub changed: Vec<String>,
    /// In the order of the run's flows.
    pub flows: Vec<FlowFacts>,
    /// Sum of the weights of the flows that sent something.
    pub weights: f64,
}

/// A flow's packets.
#[derive(Clone, Debug, Default)]
pub struct FlowFacts {
    /// Its weight; 0 if it sent nothing, so that sums are over the flows that matter.
    pub weight: f64,
    /// Its packets that were served.
    pub packets: u64,
    /// The longest of its packets on each resource.
    pub longest_s: Vec<f64>,
    /// The longest of its packets on any resource.
    pub longest_dominant_s: f64,
    /// The longest of its packets on all resources together.
    pub longest_total_s: f64,
}

fn whole(run: &Recorded) -> Result<(), &'static str> {
    let tally = &run.outcome.tally;
    match () {
        () if run.outcome.end != End::Drained => Err("not computed: packets were cut off"),
        () if tally.dropped > 0 => Err("not computed: packets were lost"),
        () if run.packets.len() as u64 != tally.offered => Err("not computed: packets are too many to keep"),
        () => Ok(()),
    }
}

/// A resource has several servers.
pub const PARALLEL: &str = "does not apply: a resource has parallel servers";

/// Schedulers count a packet of more than [`LONGEST_TIME`] as that, so that its flow gets more than others.
const TOO_LONG: &str = "does not apply: a packet takes longer than 18 minutes, more than schedulers tell apart";

/// Packets overtake others that were handed out before.
const PAST: &str = "does not apply: packets go past a resource between others";

impl Facts {
    /// What is true of this run of the scenario.
    pub fn of(scenario: &Scenario, run: &Recorded) -> Self {
        let mut facts = Self {
            obstacle: obstacle(scenario, run),
            whole: whole(run),
            concurrent: concurrent(run),
            longest_s: 0.0,
            shifting: false,
            skipped: vec![false; run.resources.len()],
            idle_packets: false,
            waits_inside: false,
            weighted_apart: run
                .flows
                .iter()
                .any(|f| f.weights.iter().flat_map(|on| on.iter()).any(|&weight| weight != f.weight)),
            changed: scenario.changes().into_iter().map(|(_, parameter, _)| parameter).collect(),
            flows: vec![
                FlowFacts { longest_s: vec![0.0; run.resources.len()], ..FlowFacts::default() };
                run.flows.len()
            ],
            weights: 0.0,
        };
        let mut dominants: Vec<Option<usize>> = vec![None; run.flows.len()];
        for (k, packet) in run.packets.iter().enumerate() {
            let (Some(times), at) = (times(run, k), packet.flow as usize) else { continue };
            let (resource, longest) = dominant(&times);
            facts.longest_s = facts.longest_s.max(longest);
            facts.skipped.iter_mut().zip(&times).for_each(|(skipped, &time)| *skipped |= time == 0.0);
            facts.idle_packets |= longest == 0.0;
            facts.shifting |= dominants[at].replace(resource).is_some_and(|d| d != resource);
            facts.waits_inside |= waits_inside(run, k);
            let flow = &mut facts.flows[at];
            flow.weight = run.flows[at].weight;
            flow.packets += 1;
            flow.longest_dominant_s = flow.longest_dominant_s.max(longest);
            flow.longest_total_s = flow.longest_total_s.max(times.iter().sum());
            flow.longest_s.iter_mut().zip(times).for_each(|(most, time)| *most = most.max(time));
        }
        let between = facts.skipped.get(1..run.resources.len().saturating_sub(1)).unwrap_or_default();
        if between.contains(&true) && !run.scheduler.name.contains('+') {
            facts.obstacle = facts.obstacle.or(Some(PAST));
        }
        if facts.too_long() {
            facts.obstacle = facts.obstacle.or(Some(TOO_LONG));
        }
        facts.weights = facts.senders().map(|f| f.weight).sum();
        facts
    }

    /// Whether some packet takes longer than schedulers tell apart.
    fn too_long(&self) -> bool {
        self.longest_s > LONGEST_TIME.as_secs_f64()
    }

    /// What claims on any traffic need: that the scheduler knows how long packets take.
    pub fn told(&self) -> Result<(), &'static str> {
        if self.too_long() { Err(TOO_LONG) } else { Ok(()) }
    }

    /// What every theorem on single packets needs.
    pub fn regular(&self) -> Result<(), &'static str> {
        self.obstacle.map_or(self.whole, Err)
    }

    /// As [`regular`](Self::regular), and every packet takes time on some resource: one of none is charged a
    /// nanosecond, which the bounds do not include.
    pub fn substantial(&self) -> Result<(), &'static str> {
        self.regular()?;
        if self.idle_packets { Err("does not apply: a packet needs none of any resource") } else { Ok(()) }
    }

    /// As [`regular`](Self::regular), and every packet takes time on this resource, for the same reason.
    pub fn substantial_on(&self, resource: usize) -> Result<(), &'static str> {
        self.regular()?;
        if self.weighted_apart {
            return Err("does not apply: weights differ by resource");
        }
        self.needed_by_all(resource)
    }

    /// Every packet takes time on this resource.
    pub fn needed_by_all(&self, resource: usize) -> Result<(), &'static str> {
        if self.skipped[resource] { Err("does not apply: a packet needs none of the shared resource") } else { Ok(()) }
    }

    /// As [`regular`](Self::regular), and flows have one dominant resource each.
    pub fn monotonic(&self) -> Result<(), &'static str> {
        self.regular()?;
        if self.shifting { Err("does not apply: some flow's dominant resource changes") } else { Ok(()) }
    }

    /// As [`regular`](Self::regular), and all flows have the same weight.
    pub fn unweighted(&self) -> Result<(), &'static str> {
        self.regular()?;
        let mut weights = self.senders().map(|f| f.weight);
        let first = weights.next();
        if weights.any(|w| Some(w) != first) { Err("does not apply: proved for equal weights only") } else { Ok(()) }
    }

    /// The scenario leaves the quantum as it is.
    pub fn steady_quantum(&self) -> Result<(), &'static str> {
        let changes = self.changed.iter().any(|p| p == "quantum");
        if changes { Err("does not apply: the quantum changes") } else { Ok(()) }
    }

    /// The flows that sent something.
    pub fn senders(&self) -> impl Iterator<Item = &FlowFacts> {
        self.flows.iter().filter(|f| f.weight > 0.0)
    }

    /// A flow's weight as a part of the sum of all.
    pub fn part(&self, flow: usize) -> f64 {
        self.flows[flow].weight / self.weights
    }
}

/// The scheduler's quantum in seconds, if it has a fixed one.
pub fn fixed_quantum_s(run: &Recorded) -> Option<f64> {
    run.scheduler.value("quantum")?.parse::<Duration>().ok().map(Duration::as_secs_f64)
}

/// The L of `gmr3`: its parameter `largest`, or the longest time of any packet on any resource, if that is longer.
pub fn largest_s(run: &Recorded, facts: &Facts) -> f64 {
    behind::largest_s(&run.scheduler).max(facts.longest_s)
}

fn obstacle(scenario: &Scenario, run: &Recorded) -> Option<&'static str> {
    if run.resources.iter().any(|r| r.servers > 1) {
        Some(PARALLEL)
    } else if scenario.has_bounded_buffers() {
        Some("does not apply: a buffer is bounded")
    } else if scenario.has_estimates() {
        Some("does not apply: the scheduler is told estimates")
    } else {
        None
    }
}

/// Time of a packet on each resource, divided by its servers; `None` if it did not pass all.
pub fn times(run: &Recorded, packet: usize) -> Option<Vec<f64>> {
    let time = |(r, total): (usize, &ResourceTotal)| {
        let service = run.service(packet, r)?;
        Some(service.end.since(service.start).as_secs_f64() / f64::from(total.servers))
    };
    run.resources.iter().enumerate().map(time).collect()
}

/// The resource that takes longest, the first of equals, and how long.
pub fn dominant(times: &[f64]) -> (usize, f64) {
    let mut most = (0, 0.0);
    for (r, &t) in times.iter().enumerate() {
        if t > most.1 {
            most = (r, t);
        }
    }
    most
}

fn waits_inside(run: &Recorded, packet: usize) -> bool {
    let services: Vec<_> = (0..run.resources.len()).filter_map(|r| run.service(packet, r)).collect();
    services.windows(2).any(|pair| pair[1].start > pair[0].end)
}

fn concurrent(run: &Recorded) -> usize {
    let mut changes = Vec::new();
    for (k, packet) in run.packets.iter().enumerate() {
        if let Some(last) = run.service(k, run.resources.len() - 1) {
            changes.extend([(packet.arrival, false, packet.flow), (last.end, true, packet.flow)]);
        }
    }
    changes.sort_unstable();
    let (mut inside, mut active, mut most) = (vec![0_u64; run.flows.len()], 0, 0);
    for (_, leaves, flow) in changes {
        let count = &mut inside[flow as usize];
        if leaves {
            *count -= 1;
            active -= usize::from(*count == 0);
        } else {
            active += usize::from(*count == 0);
            *count += 1;
        }
        most = most.max(active);
    }
    most
}
