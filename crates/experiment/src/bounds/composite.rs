//! Guarantees of the schedulers that share the times on all resources together, `cbcs` and `pcfq`, and of separate
//! WFQs.

use dovetail_model::bounds_composite::{
    CompositeFlow, ReservedFlow, cbcs_weighted_fairness_s, pcfq_delay_s, pcfq_relative_fairness_s,
    separate_wfq_delay_s, wfq_delay_s,
};
use dovetail_sched::{cbcs, pcfq, wfq};

use super::facts::{Facts, fixed_quantum_s, times};
use super::measure::{Worst, worst};
use super::pairs::{Counting, worst_pair};
use super::{Bound, Guarantee, composed_of, parts_of};
use crate::recorded::{FlowTotal, Recorded};

/// Relative fairness of total services.
pub fn cbcs(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    fairness(run, "CBCS paper, Theorem 3, with weights", facts.substantial().and(facts.steady_quantum()), cbcs_drift)
}

/// Relative fairness of total services.
pub fn pcfq(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    let by_the_papers_clock = match run.scheduler.value("clock") {
        Some("paper") => Err("does not apply: by the paper's clock only to flows that begin together"),
        _ => Ok(()),
    };
    fairness(run, "PCFQ paper, Theorem 2", facts.substantial().and(by_the_papers_clock), pcfq_drift)
}

fn fairness(
    run: &Recorded,
    source: &'static str,
    applies: Result<(), &'static str>,
    drift: fn(&Recorded) -> Option<Worst>,
) -> Vec<Bound> {
    let what = "two flows' difference of total service / weight";
    let remark = "counted at the entrance, any interval, among the 64 flows with the most packets";
    vec![Guarantee { run, what, source, remark }.row(applies, || drift(run))]
}

/// Delay on CPU and link each, and on both.
pub fn separate_wfqs(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    let applies = for_delay(run, facts).and_then(|()| match run.scheduler.value("full") {
        Some("hold") => Err("does not apply: packets are held in front of an idle resource"),
        _ => (0..run.resources.len()).try_for_each(|r| facts.needed_by_all(r)),
    });
    let row = |what, source, seen: &dyn Fn() -> Option<Worst>| {
        Guarantee { run, what, source, remark: EXPECTED }.row(applies, seen)
    };
    const ONE: &str = "PCFQ paper, equation (15)";
    vec![
        row("leaving the CPU after the expected arrival", ONE, &|| Reserved::new(run).delay_on(0)),
        row("leaving the link after the expected arrival there", ONE, &|| Reserved::new(run).delay_on(1)),
        row("leaving after the expected arrival, CPU and link together", "PCFQ paper, equation (16)", &|| delay(run)),
    ]
}

const EXPECTED: &str = "expected at a server of the flow's shares alone; among the flows that sent";

fn for_delay(run: &Recorded, facts: &Facts) -> Result<(), &'static str> {
    facts.substantial()?;
    if run.resources.len() == 2 { Ok(()) } else { Err("does not apply: stated for CPU and link") }
}

/// The packet whose leaving of the link comes nearest to what equation (17) (`pcfq`) or (16) (`wfq+wfq`) allows after
/// its expected arrival, whether or not the guarantee applies: by true times, and shares of the flows that sent. `None`
/// for other schedulers.
pub fn delay(run: &Recorded) -> Option<Worst> {
    match parts_of(run)[..] {
        [entry] if entry.name == pcfq::ENTRY.name => Reserved::new(run).by_the_larger_sum().delay_on_both(pcfq_delay_s),
        _ if composed_of(run, [&wfq::ENTRY; 2]) => Reserved::new(run).delay_on_both(separate_wfq_delay_s),
        _ => None,
    }
}

/// What flows have reserved of CPU and link, and their packets' times there.
struct Reserved<'a> {
    run: &'a Recorded,
    times: Vec<Vec<[f64; 2]>>,
    /// Of the weights on CPU and link of the flows that sent.
    sums: [f64; 2],
    shares: Vec<[f64; 2]>,
}

impl<'a> Reserved<'a> {
    fn new(run: &'a Recorded) -> Self {
        let mut times_of = vec![Vec::new(); run.flows.len()];
        for (k, packet) in run.packets.iter().enumerate() {
            if let Some(&[cpu, link]) = times(run, k).as_deref() {
                times_of[packet.flow as usize].push([cpu, link]);
            }
        }
        let weight = |f: usize, r: usize| run.flows[f].weight_on(r);
        let senders = || (0..run.flows.len()).filter(|&f| !times_of[f].is_empty());
        let sums = [0, 1].map(|r| senders().map(|f| weight(f, r)).sum::<f64>());
        let shares = (0..run.flows.len()).map(|f| [0, 1].map(|r| weight(f, r) / sums[r])).collect();
        Self { run, times: times_of, sums, shares }
    }

    /// The shares are parts of the larger sum of the weights, as they are with PCFQ.
    fn by_the_larger_sum(mut self) -> Self {
        let larger = self.sums[0].max(self.sums[1]);
        self.shares.iter_mut().for_each(|shares| *shares = [0, 1].map(|r| shares[r] * self.sums[r] / larger));
        self
    }

    fn flows(&self) -> Vec<ReservedFlow<'_>> {
        let flows = self.times.iter().zip(&self.shares);
        flows.map(|(packets_s, &shares)| ReservedFlow { packets_s, shares }).collect()
    }

    /// Equations (16) and (17): every packet before counts with its times on the shares of both resources.
    fn delay_on_both(&self, allowed: fn(&ReservedFlow<'_>, &[ReservedFlow<'_>]) -> f64) -> Option<Worst> {
        let flows = self.flows();
        let bounds: Vec<f64> = flows.iter().map(|flow| allowed(flow, &flows)).collect();
        self.delay([true; 2], &bounds)
    }

    /// Equation (15) on this resource.
    fn delay_on(&self, resource: usize) -> Option<Worst> {
        let longest = |times: &[[f64; 2]]| times.iter().map(|t| t[resource]).fold(0.0, f64::max);
        let any = self.times.iter().map(|times| longest(times)).fold(0.0, f64::max);
        let bounds =
            self.times.iter().zip(&self.shares).map(|(own, share)| wfq_delay_s(longest(own), share[resource], any));
        self.delay([resource == 0, resource == 1], &bounds.collect::<Vec<_>>())
    }

    /// Of the packets on these resources, the last of which they leave.
    fn delay(&self, on: [bool; 2], bounds_s: &[f64]) -> Option<Worst> {
        let run = self.run;
        let mut next_s = vec![0.0_f64; run.flows.len()];
        let delays = run.packets.iter().enumerate().filter_map(|(k, packet)| {
            let (cpu, link) = (run.service(k, 0)?, run.service(k, 1)?);
            let flow = packet.flow as usize;
            let arrival = if on[0] { packet.arrival } else { cpu.end };
            let left = if on[1] { link.end } else { cpu.end };
            let expected_s = next_s[flow].max(arrival.as_secs_f64());
            let times = [cpu, link].map(|s| s.end.since(s.start).as_secs_f64());
            next_s[flow] = expected_s + (0..2).filter(|&r| on[r]).map(|r| times[r] / self.shares[flow][r]).sum::<f64>();
            let seen_s = (left.as_secs_f64() - expected_s).max(0.0);
            Some(Worst { bound_s: bounds_s[flow] + ROUNDING_S, seen_s })
        });
        worst(delays)
    }
}

/// Instants are whole nanoseconds; sums of floating point numbers of seconds are right to less.
const ROUNDING_S: f64 = 1e-9;

/// The papers' bound on the difference of two flows' total services by weight, and the largest one that the kept
/// packets of the run show, of the pair that came nearest to it; counted when packets are handed out, whether or not
/// the guarantee applies. `None` for other schedulers than `cbcs` and `pcfq`, and if no two flows were backlogged at
/// the same time.
pub fn drift(run: &Recorded) -> Option<Worst> {
    match parts_of(run)[..] {
        [entry] if entry.name == cbcs::ENTRY.name => cbcs_drift(run),
        [entry] if entry.name == pcfq::ENTRY.name => pcfq_drift(run),
        _ => None,
    }
}

fn cbcs_drift(run: &Recorded) -> Option<Worst> {
    let flows = composite_flows(run, |flow, _| flow.weight);
    let longest_s = flows.iter().map(|f| f.longest_s).fold(0.0, f64::max);
    let quantum_s = fixed_quantum_s(run).unwrap_or(longest_s);
    let bound = |i: usize, j: usize| cbcs_weighted_fairness_s(quantum_s, flows[i], flows[j]);
    worst_pair(run, Counting::TotalAtEntrance, bound)
}

fn pcfq_drift(run: &Recorded) -> Option<Worst> {
    let flows = composite_flows(run, |flow, resource| flow.weight_on(resource));
    worst_pair(run, Counting::WeightedTotalAtEntrance, |i, j| pcfq_relative_fairness_s(&flows, i, j))
}

/// The flows' longest packets, by these weights on the resources. O(packets x flows).
fn composite_flows(run: &Recorded, weight: impl Fn(&FlowTotal, usize) -> f64) -> Vec<CompositeFlow> {
    let mut flows = vec![CompositeFlow { longest_s: 0.0, longest_of_any_s: 0.0 }; run.flows.len()];
    for (k, packet) in run.packets.iter().enumerate() {
        let Some(times) = times(run, k) else { continue };
        for (at, (flow, total)) in flows.iter_mut().zip(run.flows.iter()).enumerate() {
            let by_weight: f64 = times.iter().enumerate().map(|(r, time)| time / weight(total, r)).sum();
            flow.longest_of_any_s = flow.longest_of_any_s.max(by_weight);
            if at == packet.flow as usize {
                flow.longest_s = flow.longest_s.max(by_weight);
            }
        }
    }
    flows
}
