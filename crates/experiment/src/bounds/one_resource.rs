//! What the disciplines that share one resource guarantee for the service on it.

use dovetail_model::bounds::{
    Sharer, drr_head_delay_s, drr_latency_s, drr_relative_fairness_s, one_packet_late_s, scfq_delay_s, sfq_delay_s,
    sfq_paid_delay_s, tag_relative_fairness_s, wf2q_plus_delay_s,
};

use super::facts::{Facts, FlowFacts, fixed_quantum_s};
use super::measure::{Private, Worst, after_gps, beside_private_servers, head_delay, worst};
use super::pairs::{Counting, worst_pair};
use super::{Bound, Guarantee};
use crate::recorded::Recorded;

const DRR: &str = "Shreedhar, Varghese 1996";
const ANY_INTERVAL: &str =
    "on the shared resource, counted at the entrance, any interval, among the 64 flows with the most packets";
/// What is charged to each of two flows over any interval is right to one tick of 2^-16 ns of time by weight.
const ROUNDING_S: f64 = 2.0 * 1e-9 / (1_u32 << 16) as f64;
const FIRST: &str = "on the shared resource, which is never kept waiting";

/// What the run shares, and how its flows use it.
struct Shared<'a> {
    run: &'a Recorded,
    facts: &'a Facts,
    resource: usize,
    /// Sum over the flows of the longest packet of each.
    packets_s: f64,
}

impl<'a> Shared<'a> {
    fn new(run: &'a Recorded, facts: &'a Facts) -> Self {
        let given = run.scheduler.parameters.iter().find(|(key, _)| key == "resource");
        let resource = given.and_then(|(_, value)| value.parse().ok()).unwrap_or(run.resources.len() - 1);
        let packets_s = facts.flows.iter().map(|f| f.longest_s[resource]).sum();
        Self { run, facts, resource, packets_s }
    }

    fn guarantee(&self, what: &'static str, source: &'static str, remark: &'static str) -> Guarantee<'a> {
        Guarantee { run: self.run, what, source, remark }
    }

    fn sharer(&self, flow: usize) -> Sharer {
        let FlowFacts { weight, longest_s, .. } = &self.facts.flows[flow];
        Sharer { weight: *weight, longest_s: longest_s[self.resource] }
    }

    fn longest_s(&self) -> f64 {
        (0..self.run.flows.len()).map(|f| self.sharer(f).longest_s).fold(0.0, f64::max)
    }

    fn others(&self, flow: usize) -> impl Iterator<Item = Sharer> {
        (0..self.run.flows.len()).filter(move |&j| j != flow).map(|j| self.sharer(j))
    }

    fn others_longest_s(&self, flow: usize) -> f64 {
        self.packets_s - self.sharer(flow).longest_s
    }

    /// Whether the scheduler feeds the resource itself, so that it is never kept waiting.
    fn direct(&self) -> Result<(), &'static str> {
        self.counted()?;
        let fed = "does not apply: the shared resource is not the first one, and waits for what is before it";
        if self.resource == 0 { Ok(()) } else { Err(fed) }
    }

    /// Whether every packet counts on the resource as much as it takes.
    fn counted(&self) -> Result<(), &'static str> {
        self.facts.substantial_on(self.resource)
    }

    fn fairness(
        &self,
        applies: Result<(), &'static str>,
        source: &'static str,
        bound: impl Fn(Sharer, Sharer) -> f64,
    ) -> Bound {
        let bound = |i, j| bound(self.sharer(i), self.sharer(j)) + ROUNDING_S;
        self.guarantee("two flows' difference of service / weight", source, ANY_INTERVAL)
            .row(applies.and(self.counted()), || worst_pair(self.run, Counting::OneAtEntrance(self.resource), bound))
    }

    /// The worst packet beside its private server; `seen` gives what was seen of it and what is allowed.
    fn worst_packet(&self, seen: impl Fn(&Private) -> Worst) -> Option<Worst> {
        worst(beside_private_servers(self.run, self.facts).iter().map(seen))
    }
}

/// Relative fairness, delay of the first packet of a queue, and latency.
pub fn drr(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    let shared = Shared::new(run, facts);
    let needed = (0..run.flows.len()).map(|f| shared.sharer(f)).filter(|s| s.weight > 0.0);
    let needed = needed.map(|s| s.longest_s / s.weight).fold(0.0, f64::max);
    let fixed = fixed_quantum_s(run);
    let quantum = fixed.unwrap_or(needed);
    let steady = facts.steady_quantum();
    let turns = |s: Sharer| fixed.map_or(2.0, |q| (s.longest_s / (q * s.weight)).ceil());
    let enough = match fixed {
        None => Err("does not apply: proved for a fixed quantum"),
        Some(q) if q < needed => Err("does not apply: the quantum is below the largest packet"),
        Some(_) => Ok(()),
    };
    vec![
        shared.fairness(steady, DRR, |i, j| drr_relative_fairness_s(quantum, i, j)),
        shared.guarantee("delay of the first packet of a queue", DRR, FIRST).row(steady.and(shared.direct()), || {
            head_delay(run, |f| {
                let own = shared.sharer(f);
                drr_head_delay_s(quantum, turns(own), own.longest_s, shared.others(f))
            })
        }),
        shared.guarantee("finish after a private server's: 3 F - 2 Q w", "Stiliadis, Varma 1998", FIRST).row(
            steady.and(enough).and(shared.direct()),
            || {
                shared.worst_packet(|p| Worst {
                    bound_s: drr_latency_s(quantum, facts.flows[p.packet.flow].weight, facts.weights),
                    seen_s: (p.packet.ended_s - p.ends_s).max(0.0),
                })
            },
        ),
    ]
}

/// One longest packet behind GPS.
pub fn wfq(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    let shared = Shared::new(run, facts);
    let allowed = one_packet_late_s(shared.longest_s());
    vec![
        shared
            .guarantee("finish after GPS's: one packet", "Parekh, Gallager 1993", FIRST)
            .row(shared.direct(), || after_gps(run, facts, allowed)),
    ]
}

/// One longest packet behind a private server, and worst-case fair.
pub fn wf2q_plus(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    let shared = Shared::new(run, facts);
    let longest = shared.longest_s();
    let guarantee = |what| shared.guarantee(what, "Bennett, Zhang 1997", FIRST);
    vec![
        guarantee("finish after a private server's: one packet").row(shared.direct(), || {
            shared.worst_packet(|p| Worst {
                bound_s: one_packet_late_s(longest),
                seen_s: (p.packet.ended_s - p.ends_s).max(0.0),
            })
        }),
        guarantee("worst-case fair: delay by the flow's own queue").row(shared.direct(), || {
            shared.worst_packet(|p| {
                let own = shared.sharer(p.packet.flow).longest_s;
                Worst {
                    bound_s: wf2q_plus_delay_s(p.queue_s, p.part, own, longest),
                    seen_s: p.packet.ended_s - p.packet.arrival_s,
                }
            })
        }),
    ]
}

/// Relative fairness, and delay from the expected arrival.
pub fn sfq(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    const GOYAL: &str = "Goyal, Vin, Cheng 1997";
    let shared = Shared::new(run, facts);
    vec![
        shared.fairness(Ok(()), GOYAL, tag_relative_fairness_s),
        shared.guarantee("delay from the expected arrival", GOYAL, FIRST).row(shared.direct(), || {
            shared.worst_packet(|p| {
                let (own, others) = (shared.sharer(p.packet.flow), shared.others_longest_s(p.packet.flow));
                let bound_s = match run.scheduler.value("newcomers") {
                    Some("free") => sfq_delay_s(p.packet.time_s, others),
                    _ => sfq_paid_delay_s(own.longest_s, p.part, others),
                };
                Worst { bound_s, seen_s: p.packet.ended_s - p.begins_s }
            })
        }),
    ]
}

/// Relative fairness, and lateness behind a private server.
pub fn scfq(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    let shared = Shared::new(run, facts);
    vec![
        shared.fairness(Ok(()), "Golestani 1994", tag_relative_fairness_s),
        shared
            .guarantee("finish after a private server's: a packet per other flow", "Stiliadis, Varma 1998", FIRST)
            .row(shared.direct(), || {
                shared.worst_packet(|p| Worst {
                    bound_s: scfq_delay_s(shared.others_longest_s(p.packet.flow)),
                    seen_s: (p.packet.ended_s - p.ends_s).max(0.0),
                })
            }),
    ]
}
