//! The guarantees that are known for a scheduler, and how near a run came to them.

use dovetail_model::bounds::{
    DrfqFlow, drfq_relative_fairness_s, tracking_deviation, tracking_deviation_any_flow, tracking_makespan_s,
    work_conserving_makespan_s,
};
use dovetail_model::fluid::{Input, Policy, run as run_fluid};
use dovetail_model::{Ties, Tradeoff};
use dovetail_sim::End;
use serde::Serialize;

use crate::compare::{PacketWay, Recorded};
use crate::scenario::Scenario;

/// Packets of a run that bounds are checked on: their ways are kept in memory.
pub const PACKETS: usize = 2_000_000;
/// Flows among which every pair is compared: those with the most packets.
const PAIRED_FLOWS: usize = 64;
/// Most steps (packets times flows) of a fluid schedule that is computed for a bound.
const FLUID_STEPS: f64 = 5e8;

/// A guarantee and what a run made of it.
#[derive(Clone, Debug, Serialize)]
pub struct Bound {
    /// The scheduler.
    pub scheduler: String,
    /// What is bounded.
    pub guarantee: &'static str,
    /// Where it is proved.
    pub source: &'static str,
    /// The most (seconds); `null` if it could not be computed or does not apply.
    pub bound_s: Option<f64>,
    /// The most that the run showed (seconds).
    pub seen_s: Option<f64>,
    /// `seen / bound`.
    pub ratio: Option<f64>,
    /// What must hold for it, or why there is no number.
    pub remark: String,
}

impl Bound {
    fn new(run: &Recorded, guarantee: &'static str, source: &'static str, remark: impl Into<String>) -> Self {
        let scheduler = run.scheduler.to_string();
        Self { scheduler, guarantee, source, bound_s: None, seen_s: None, ratio: None, remark: remark.into() }
    }

    fn with(self, bound: f64, seen: f64) -> Self {
        let ratio = (bound > 0.0).then(|| seen / bound);
        Self { bound_s: Some(bound), seen_s: Some(seen), ratio, ..self }
    }
}

/// The document of `dovetail bounds --json`.
#[derive(Debug, Serialize)]
pub struct Document {
    /// Version of the document.
    pub schema: u32,
    /// One per scheduler and guarantee.
    pub bounds: Vec<Bound>,
}

/// Every guarantee known for each run of the scenario. The runs must have kept their packets' ways.
pub fn bounds(scenario: &Scenario, runs: &[Recorded]) -> Document {
    let bounds = runs.iter().flat_map(|run| {
        let facts = Facts::of(scenario, run);
        let mut own = vec![makespan(run, &facts)];
        match run.scheduler.name.as_str() {
            "drfq" => own.push(entrance_fairness(run, &facts)),
            "tradeoff" => own.extend([tracking(run, &facts), shortfall(run, &facts)]),
            _ => {}
        }
        own
    });
    Document { schema: 1, bounds: bounds.collect() }
}

/// What the bounds are made of.
struct Facts {
    /// Why the theorems do not apply to this pipeline, if so.
    obstacle: Option<&'static str>,
    /// All packets were kept, delivered, and the run ended by itself.
    whole: bool,
    /// The most flows with packets in the system at one time.
    concurrent: usize,
    /// Longest time of any packet on any resource, divided by the resource's servers.
    longest_s: f64,
    /// Whether some flow's packets have different dominant resources.
    shifting: bool,
}

/// Time of a packet on each resource, divided by its servers; `None` if it did not pass all.
fn times(run: &Recorded, packet: usize) -> Option<Vec<f64>> {
    let time = |(r, total): (usize, &crate::compare::ResourceTotal)| {
        let service = run.service(packet, r)?;
        Some(service.end.since(service.start).as_secs_f64() / f64::from(total.servers))
    };
    run.resources.iter().enumerate().map(time).collect()
}

fn dominant(times: &[f64]) -> (usize, f64) {
    let mut most = (0, 0.0);
    for (r, &t) in times.iter().enumerate() {
        if t > most.1 {
            most = (r, t);
        }
    }
    most
}

impl Facts {
    fn of(scenario: &Scenario, run: &Recorded) -> Self {
        let offered = run.outcome.tally.offered as usize;
        let mut facts = Self {
            obstacle: obstacle(scenario, run),
            whole: run.outcome.end == End::Drained && run.packets.len() == offered && run.outcome.tally.dropped == 0,
            concurrent: 0,
            longest_s: 0.0,
            shifting: false,
        };
        let mut dominants: Vec<Option<usize>> = vec![None; run.flows.len()];
        let mut changes = Vec::new();
        for (k, packet) in run.packets.iter().enumerate() {
            let Some(times) = times(run, k) else { continue };
            let (resource, longest) = dominant(&times);
            facts.longest_s = facts.longest_s.max(longest);
            facts.shifting |= dominants[packet.flow as usize].replace(resource).is_some_and(|d| d != resource);
            if let Some(last) = run.service(k, run.resources.len() - 1) {
                changes.extend([(packet.arrival, false, packet.flow), (last.end, true, packet.flow)]);
            }
        }
        changes.sort_unstable();
        let (mut inside, mut active) = (vec![0_u64; run.flows.len()], 0);
        for (_, leaves, flow) in changes {
            let count = &mut inside[flow as usize];
            if leaves {
                *count -= 1;
                active -= usize::from(*count == 0);
            } else {
                active += usize::from(*count == 0);
                *count += 1;
            }
            facts.concurrent = facts.concurrent.max(active);
        }
        facts
    }
}

const PARALLEL: &str = "does not apply: a resource has parallel servers";

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

/// Theorem 1.
fn makespan(run: &Recorded, facts: &Facts) -> Bound {
    let row =
        |remark| Bound::new(run, "makespan <= m x work of the busiest resource", "tradeoff paper, Theorem 1", remark);
    if run.resources.iter().any(|r| r.servers > 1) {
        return row(PARALLEL);
    }
    let Some(seen) = run.outcome.makespan().filter(|_| facts.whole || run.outcome.end == End::Drained) else {
        return row("does not apply: the run was cut off, or nothing was delivered");
    };
    if run.nonempty < seen {
        return row("does not apply: the system was empty in between");
    }
    let work = run.resources.iter().map(|r| r.busy.as_secs_f64() / f64::from(r.servers)).fold(0.0, f64::max);
    let bound = work_conserving_makespan_s(run.resources.len(), work);
    row("for work-conserving schedules and one busy period").with(bound, seen.as_secs_f64())
}

/// The alpha under which Theorems 4 and 5 apply to the run, or why they do not.
fn tracked(run: &Recorded, facts: &Facts) -> Result<f64, &'static str> {
    match run.promised() {
        _ if facts.obstacle.is_some() => Err(facts.obstacle.unwrap_or_default()),
        None => Err("does not apply: alpha changes"),
        Some(alpha) if alpha <= 0.0 => Err("does not apply: alpha is 0"),
        Some(_) if !facts.whole => Err("not computed: packets were cut off, or are too many to keep"),
        Some(alpha) => Ok(alpha),
    }
}

/// Theorem 4.
fn tracking(run: &Recorded, facts: &Facts) -> Bound {
    let row = |remark: &str| Bound::new(run, "makespan <= fluid's + n packets", "tradeoff paper, Theorem 4", remark);
    let alpha = match tracked(run, facts) {
        Ok(alpha) => alpha,
        Err(reason) => return row(reason),
    };
    if run.packets.len() as f64 * facts.concurrent as f64 > FLUID_STEPS {
        return row("not computed: the fluid of this many packets and flows takes too long");
    }
    let (Some(fluid), Some(seen)) = (fluid_makespan(run, alpha), run.outcome.makespan()) else {
        return row("not computed: the fluid schedule is not defined for these packets");
    };
    let bound = tracking_makespan_s(fluid, facts.concurrent, facts.longest_s);
    row("for any alpha above 0").with(bound, seen.as_secs_f64())
}

fn fluid_makespan(run: &Recorded, alpha: f64) -> Option<f64> {
    let mut input = Input::new(run.resources.len()).ok()?;
    for flow in &run.flows {
        input.add_flow(flow.weight).ok()?;
    }
    for (k, PacketWay { flow, arrival, .. }) in run.packets.iter().enumerate() {
        input.push(*flow as usize, arrival.as_secs_f64(), &times(run, k)?).ok()?;
    }
    let policy = Policy::Tradeoff(Tradeoff::new(alpha, Ties::Rotate).ok()?);
    Some(run_fluid(&input, &policy).ok()?.makespan_s())
}

/// Theorem 5, for an interval: each of its ends contributes one side of the bound.
fn shortfall(run: &Recorded, facts: &Facts) -> Bound {
    let row = |remark| Bound::new(run, "service short of alpha x fair share", "tradeoff paper, Theorem 5", remark);
    if let Err(reason) = tracked(run, facts) {
        return row(reason);
    }
    let Some(worst) = &run.shortfall else {
        return row("nothing to see: no two flows were backlogged for a whole interval");
    };
    let deviation = if facts.shifting {
        tracking_deviation_any_flow(facts.concurrent, facts.longest_s)
    } else {
        tracking_deviation(facts.concurrent, facts.longest_s)
    };
    row("in any recording interval").with(deviation.behind_s + deviation.ahead_s, worst.by_time.seconds.max(0.0))
}

/// DRFQ's relative fairness bound: the pair of flows that came nearest to it.
fn entrance_fairness(run: &Recorded, facts: &Facts) -> Bound {
    let row = |remark| Bound::new(run, "two flows' difference of service / weight", "DRFQ, SIGCOMM 2012", remark);
    let remembers = run.scheduler.parameters.iter().any(|(key, value)| match key.as_str() {
        "mode" => value != "memoryless",
        key => key == "delta",
    });
    if remembers || facts.shifting {
        return row("does not apply: not memoryless, or some flow's dominant resource changes");
    }
    if let Some(obstacle) = facts.obstacle {
        return row(obstacle);
    }
    match worst_pair(run) {
        Some((bound, seen)) => {
            row("counted at the entrance, any interval, among the 64 flows with the most packets").with(bound, seen)
        }
        None => row("nothing to see: no two flows were backlogged at the same time"),
    }
}

/// Bound and largest difference of the pair whose ratio of the two is largest.
fn worst_pair(run: &Recorded) -> Option<(f64, f64)> {
    let mut busiest: Vec<usize> = (0..run.flows.len()).collect();
    busiest.sort_by_key(|&f| std::cmp::Reverse(run.flows[f].offered));
    busiest.truncate(PAIRED_FLOWS);
    let mut place = vec![None; run.flows.len()];
    for (k, &flow) in busiest.iter().enumerate() {
        place[flow] = Some(k);
    }
    let mut events = Vec::new();
    let mut pairs = Pairs::new(busiest.len());
    for (k, packet) in run.packets.iter().enumerate() {
        let (Some(at), Some(entered), Some(times)) = (place[packet.flow as usize], run.service(k, 0), times(run, k))
        else {
            continue;
        };
        let charge = dominant(&times).1;
        let weight = run.flows[packet.flow as usize].weight;
        pairs.flows[at] = DrfqFlow { weight, longest_dominant_s: pairs.flows[at].longest_dominant_s.max(charge) };
        events.extend([(packet.arrival, 0, k, at, 0.0), (entered.start, 1, k, at, charge / weight)]);
    }
    events.sort_unstable_by_key(|&(time, kind, k, ..)| (time, kind, k));
    for (_, kind, _, at, service) in events {
        if kind == 0 { pairs.arrive(at) } else { pairs.serve(at, service) }
    }
    pairs.worst()
}

/// Differences of normalised service of all pairs of flows since both are backlogged.
struct Pairs {
    flows: Vec<DrfqFlow>,
    queued: Vec<u64>,
    service: Vec<f64>,
    /// Smallest and largest difference of the current common backlog, and the largest spread of any.
    spread: Vec<(f64, f64, f64)>,
}

impl Pairs {
    fn new(n: usize) -> Self {
        let flow = DrfqFlow { weight: 1.0, longest_dominant_s: 0.0 };
        Self { flows: vec![flow; n], queued: vec![0; n], service: vec![0.0; n], spread: vec![(0.0, 0.0, 0.0); n * n] }
    }

    fn arrive(&mut self, i: usize) {
        self.queued[i] += 1;
        if self.queued[i] > 1 {
            return;
        }
        for j in 0..self.flows.len() {
            let difference = self.service[i] - self.service[j];
            let at = self.index(i, j);
            let signed = if i < j { difference } else { -difference };
            (self.spread[at].0, self.spread[at].1) = (signed, signed);
        }
    }

    fn serve(&mut self, i: usize, service: f64) {
        self.service[i] += service;
        for j in (0..self.flows.len()).filter(|&j| j != i && self.queued[j] > 0) {
            let difference = self.service[i] - self.service[j];
            let signed = if i < j { difference } else { -difference };
            let at = self.index(i, j);
            let (low, high, most) = &mut self.spread[at];
            *low = low.min(signed);
            *high = high.max(signed);
            *most = most.max(*high - *low);
        }
        self.queued[i] -= 1;
    }

    fn index(&self, i: usize, j: usize) -> usize {
        i.min(j) * self.flows.len() + i.max(j)
    }

    fn worst(&self) -> Option<(f64, f64)> {
        let n = self.flows.len();
        let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
        let seen = pairs
            .map(|(i, j)| (drfq_relative_fairness_s(self.flows[i], self.flows[j]), self.spread[self.index(i, j)].2));
        let ratio = |&(bound, seen): &(f64, f64)| if bound > 0.0 { seen / bound } else { 0.0 };
        seen.filter(|&(_, seen)| seen > 0.0).max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
    }
}
