//! What `tradeoff` guarantees.

use dovetail_model::bounds::{
    ServiceDeviation, tracking_deviation, tracking_deviation_any_flow, tracking_deviation_of_many,
    tracking_makespan_of_many_s,
};
use dovetail_model::fluid::{Input, Outcome, Policy, run as run_fluid};
use dovetail_model::{Ties, Tradeoff};
use dovetail_sched::tradeoff::DEFAULT_TOLERANCE;
use dovetail_units::Time;

use super::facts::{Facts, dominant, times};
use super::measure::{FLUID_STEPS, Worst, worst};
use super::{Bound, Guarantee};
use crate::recorded::{PacketWay, Recorded, Service};

/// Theorems 4 and 5.
pub fn tradeoff(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    let guarantee = |what, source, remark| Guarantee { run, what, source, remark };
    let tracked = Tracked::new(run, facts);
    let applies = tracked.as_ref().map(|_| ()).map_err(|&reason| reason);
    let row = |guarantee: Guarantee, applies: Result<(), &'static str>, seen: &dyn Fn(&Tracked) -> Option<Worst>| {
        guarantee.row(applies, || seen(tracked.as_ref().ok()?))
    };
    // Nothing is left to favour anyone with.
    let is_strict = (0..run.flows.len()).all(|flow| run.promised_to(flow) == Some(1.0));
    let alike = if is_strict { None } else { most_alike(run) };
    // Of more than two resources the model's linear program has no turns, and other ties.
    let applies = applies.and_then(|()| match run.promised() {
        Some(_) if !is_strict && run.resources.len() > 2 => Err(MANY),
        _ => Ok(()),
    });
    let unique =
        applies.and_then(|()| if alike.is_some_and(|by| by <= 1.0 + tolerance(run)) { Err(ALIKE) } else { Ok(()) });
    // Equals leave the resources what they are, whoever of them is favoured; of near equals the model's fluid favours
    // one only.
    let efficient = match alike {
        Some(by) if by > 1.0 && by <= 1.0 + tolerance(run) => applies.and(Err(ALIKE)),
        _ => applies,
    };
    // The theorem is about packets that come to the link in the order in which they started: one that is overtaken on
    // the CPU has its service later.
    let in_order =
        unique.and_then(|()| if facts.skipped[0] { Err("does not apply: packets bypass the CPU") } else { Ok(()) });
    let [makespan, theorem_4, theorem_5] = match run.resources.len() {
        2 => ["makespan <= fluid's + n packets", "tradeoff paper, Theorem 4", "tradeoff paper, Theorem 5"],
        _ => ["makespan <= fluid's + (m - 1) n packets", THEORY, THEORY],
    };
    vec![
        row(guarantee(makespan, theorem_4, "for any alpha above 0"), efficient, &|t| t.makespan()),
        row(guarantee("dominant service behind the fluid's", theorem_5, "of any flow, at any time"), in_order, &|t| {
            t.deviation(|bound| bound.behind_s, |fluid_s, seen_s| fluid_s - seen_s)
        }),
        row(guarantee("dominant service ahead of the fluid's", theorem_5, "of any flow, at any time"), unique, &|t| {
            t.deviation(|bound| bound.ahead_s, |fluid_s, seen_s| seen_s - fluid_s)
        }),
    ]
}

/// The scheduler and the model take turns among equals, but not by the same rule.
const ALIKE: &str = "not computed: flows need CPU and link in one proportion, or nearly, and below alpha = 1 a fluid \
    may choose which of them it favours";

const THEORY: &str = "docs/theory/tradeoff-many.md";
const MANY: &str = "not computed: with more than two resources and below alpha = 1 the fluid's turns are not those of \
    the linear program (the bounds are searched in tests)";

/// A run beside its fluid.
struct Tracked<'a> {
    run: &'a Recorded,
    facts: &'a Facts,
    fluid: Outcome,
    /// The most flows that have packets in the fluid at one time.
    concurrent: usize,
    /// A packet that starts in the fluid between two nanoseconds may enter at the second one, and the rest of the
    /// schedule is then that much later; each packet that ends in the fluid between two ticks of its clock (2^-22
    /// ns) does so at the second one, a favoured one at the third.
    rounding_s: f64,
}

impl<'a> Tracked<'a> {
    /// The run's fluid, or why Theorems 4 and 5 do not apply.
    fn new(run: &'a Recorded, facts: &'a Facts) -> Result<Self, &'static str> {
        facts.obstacle.map_or(Ok(()), Err)?;
        let turning = ["target", "protect"];
        let turns = turning.iter().any(|name| run.scheduler.value(name).is_some_and(|wanted| wanted != "none"));
        if turns || facts.changed.iter().any(|parameter| turning.contains(&parameter.as_str())) {
            return Err("not computed: alpha adjusts itself");
        }
        let alpha = run.promised().ok_or("does not apply: alpha changes")?;
        if (0..run.flows.len()).any(|flow| run.promised_to(flow).is_some_and(|alpha| alpha <= 0.0)) {
            return Err("does not apply: alpha is 0");
        }
        facts.regular()?;
        if run.packets.len() as f64 * facts.concurrent as f64 > FLUID_STEPS {
            return Err("not computed: the fluid of this many packets and flows takes too long");
        }
        let fluid = fluid(run, alpha).ok_or("not computed: the fluid schedule is not defined for these packets")?;
        let concurrent = concurrent(run, &fluid);
        let rounding_s = 1e-9 * (1.0 + run.packets.len() as f64 / f64::from(1 << 20));
        Ok(Self { run, facts, fluid, concurrent, rounding_s })
    }

    /// Theorem 4.
    fn makespan(&self) -> Option<Worst> {
        let (resources, fluid_s) = (self.run.resources.len(), self.fluid.makespan_s());
        let bound_s = tracking_makespan_of_many_s(fluid_s, resources, self.concurrent, self.facts.longest_s);
        Some(Worst { bound_s: bound_s + self.rounding_s, seen_s: self.run.outcome.makespan()?.as_secs_f64() })
    }

    /// Theorem 5: the most of what `deviation` makes of a flow's dominant services in the fluid and in the run. The
    /// run's grows at least as fast as the fluid's while a packet is on its dominant resource, and not at all
    /// otherwise: the most is where one of the two begins.
    fn deviation(&self, side: fn(&ServiceDeviation) -> f64, deviation: fn(f64, f64) -> f64) -> Option<Worst> {
        let (n, longest_s) = (self.concurrent, self.facts.longest_s);
        let deviation_bound = match (self.run.resources.len(), self.facts.shifting) {
            (2, true) => tracking_deviation_any_flow(n, longest_s),
            (2, false) => tracking_deviation(n, longest_s),
            (resources, shifting) => tracking_deviation_of_many(resources, n, longest_s, !shifting),
        };
        let bound_s = side(&deviation_bound) + self.rounding_s;
        let of_flow = |(flow, services): (usize, Vec<Service>)| {
            let received = received(&services).into_iter();
            received.map(move |(at, s)| deviation(self.fluid.dominant_service_s(flow, at), s)).collect::<Vec<_>>()
        };
        let all = dominant_services(self.run).into_iter().enumerate().flat_map(of_flow);
        worst(all.map(|seen_s| Worst { bound_s, seen_s: seen_s.max(0.0) }))
    }
}

/// The tolerance within which the scheduler favours flows in turns.
fn tolerance(run: &Recorded) -> f64 {
    run.scheduler.value("tolerance").and_then(|value| value.parse().ok()).unwrap_or(DEFAULT_TOLERANCE)
}

/// By which factor the proportions in which packets of two flows need the two resources differ at least; 1 where they
/// are equal, to the rounding of an `f64`.
fn most_alike(run: &Recorded) -> Option<f64> {
    let proportion = |k: usize| {
        let [cpu, link] = [run.service(k, 0)?, run.service(k, 1)?].map(|s| s.end.since(s.start).as_nanos() as f64);
        Some((if link > 0.0 { cpu / link } else { f64::INFINITY }, run.packets[k].flow))
    };
    let mut all: Vec<_> = (0..run.packets.len()).filter_map(proportion).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let of_two = all.windows(2).filter(|pair| pair[0].1 != pair[1].1);
    let factor = |pair: &[(f64, u32)]| if pair[0].0 == pair[1].0 { 1.0 } else { pair[1].0 / pair[0].0 };
    of_two.map(factor).min_by(f64::total_cmp)
}

fn fluid(run: &Recorded, alpha: f64) -> Option<Outcome> {
    let mut input = Input::new(run.resources.len()).ok()?;
    for (flow, total) in run.flows.iter().enumerate() {
        let index = input.add_flow(total.weight).ok()?;
        if let Some(alpha) = run.own_promise(flow) {
            input.set_alpha(index, alpha).ok()?;
        }
    }
    for (k, PacketWay { flow, arrival, .. }) in run.packets.iter().enumerate() {
        // What was refused never came to the scheduler.
        let Some(times) = times(run, k) else { continue };
        input.push(*flow as usize, arrival.as_secs_f64(), &times).ok()?;
    }
    let policy = Policy::Tradeoff(Tradeoff::new(alpha, Ties::Rotate).ok()?);
    run_fluid(&input, &policy).ok()
}

/// Flows whose packets are in the fluid at one time, at most: a packet may leave it later than the pipeline.
fn concurrent(run: &Recorded, fluid: &Outcome) -> usize {
    let mut arrivals = vec![Vec::new(); run.flows.len()];
    for packet in run.packets.iter().enumerate().filter(|(k, _)| times(run, *k).is_some()).map(|(_, packet)| packet) {
        arrivals[packet.flow as usize].push(packet.arrival.as_secs_f64());
    }
    let mut changes = Vec::new();
    for (flow, arrivals) in arrivals.iter().enumerate() {
        let finishes = fluid.finishes_s(flow);
        for (k, &arrival) in arrivals.iter().enumerate() {
            // The flow has been without a packet since the one before.
            if k == 0 || finishes[k - 1] < arrival {
                changes.push((arrival, false));
            }
            if arrivals.get(k + 1).is_none_or(|&next| finishes[k] < next) {
                changes.push((finishes[k], true));
            }
        }
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut active, mut most) = (0_usize, 0);
    for (_, leaves) in changes {
        active = if leaves { active - 1 } else { active + 1 };
        most = most.max(active);
    }
    most
}

/// Of every flow, the services of its packets on their dominant resources.
fn dominant_services(run: &Recorded) -> Vec<Vec<Service>> {
    let mut services = vec![Vec::new(); run.flows.len()];
    for (k, packet) in run.packets.iter().enumerate() {
        let service = times(run, k).and_then(|times| run.service(k, dominant(&times).0));
        services[packet.flow as usize].extend(service);
    }
    services
}

/// What a flow has received by the start and the end of each of these services (seconds), two of which may overlap on
/// two resources.
fn received(services: &[Service]) -> Vec<(f64, f64)> {
    let mut changes: Vec<_> = services.iter().flat_map(|s| [(s.start, 1), (s.end, -1)]).collect();
    changes.sort_unstable();
    let (mut running, mut complete) = (0, 0);
    let at = |(time, change): (Time, i64)| {
        let now = time.as_nanos() as i64;
        let received = complete + running * now;
        (running, complete) = (running + change, complete - change * now);
        (time.as_secs_f64(), received as f64 / 1e9)
    };
    changes.into_iter().map(at).collect()
}
