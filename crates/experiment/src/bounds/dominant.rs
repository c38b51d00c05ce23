//! What the disciplines that look at all resources guarantee, and the one that looks at none.

use dovetail_model::bounds::{
    AtfqFlow, DrfqFlow, atfq_relative_fairness_s, atfq_strict_fairness_s, drfq_relative_fairness_s, drfq_start_delay_s,
    drgps_entrance_by_start_s, drgps_exit_by_finish_s, gmr3_packet_delay_s, gmr3_relative_fairness_s,
    mr3_packet_delay_s, mr3_relative_fairness_s, mr3_start_up_s,
};

use super::facts::{Facts, largest_s};
use super::measure::{after_drgps, first_start, packet_delay, start_up};
use super::pairs::{Counting, worst_pair};
use super::{Bound, Guarantee};
use crate::recorded::Recorded;

/// A unit of DRFQ's tags.
const DRFQ_TICK_S: f64 = 1e-9 / (1_u32 << 22) as f64;
const DRFQ: &str = "DRFQ, SIGCOMM 2012";
const MR3: &str = "MR3, ICNP 2013";
const GMR3: &str = "GMR3, INFOCOM 2014";

/// First come, first served promises no flow anything.
pub fn fifo(run: &Recorded, _: &Facts) -> Vec<Bound> {
    vec![Bound::new(
        run,
        "none on fairness, start-up or delay",
        "-",
        "a flow gets what it offers, and waits for all others",
    )]
}

fn given<'a>(run: &'a Recorded, parameter: &str) -> Option<&'a str> {
    run.scheduler.parameters.iter().find(|(key, _)| key == parameter).map(|(_, value)| value.as_str())
}

/// Relative fairness at the entrance, and start delay.
pub fn drfq(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    let remembers = given(run, "mode").is_some_and(|mode| mode != "memoryless") || given(run, "delta").is_some();
    let memoryless = if remembers { Err("does not apply: not memoryless") } else { Ok(()) };
    let flow =
        |f: usize| DrfqFlow { weight: facts.flows[f].weight, longest_dominant_s: facts.flows[f].longest_dominant_s };
    // Sums of charges by weight are right to a tick, and so is each of the tags that are compared.
    const ROUNDING_S: f64 = 4.0 * DRFQ_TICK_S;
    let fairness = Guarantee {
        run,
        what: "two flows' difference of service / weight",
        source: DRFQ,
        remark: "counted at the entrance, any interval, among the 64 flows with the most packets",
    };
    let delay = Guarantee {
        run,
        what: "start of a flow's first packet",
        source: DRFQ,
        remark: "into the first resource, of flows that were never served before (others wait for their finish tags), \
            with equal weights and no packet waiting inside the pipeline",
    };
    let windowed = given(run, "window").is_some() || facts.changed.iter().any(|parameter| parameter == "window");
    let free = match (facts.waits_inside, windowed) {
        (true, _) => Err("does not apply: packets wait inside the pipeline"),
        (_, true) => Err("does not apply: the window holds packets back"),
        _ => Ok(()),
    };
    let others = |i: usize| {
        let times = facts.flows.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, f)| f.longest_s.as_slice());
        let deposit_s = if given(run, "newcomers") == Some("free") { 0.0 } else { facts.flows[i].longest_dominant_s };
        drfq_start_delay_s(&times.collect::<Vec<_>>(), deposit_s)
    };
    vec![
        fairness.row(memoryless.and(facts.monotonic()).and(facts.substantial()), || {
            let bound = |i, j| drfq_relative_fairness_s(flow(i), flow(j)) + ROUNDING_S;
            worst_pair(run, Counting::DominantAtEntrance, bound)
        }),
        delay.row(memoryless.and(facts.unweighted()).and(free), || first_start(run, others)),
    ]
}

/// Relative fairness, start-up and packet delay.
pub fn mr3(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    let (m, n, longest) = (run.resources.len(), facts.senders().count(), facts.longest_s);
    let controlled = controlled(run).and(facts.unweighted());
    let guarantee = |what, remark| Guarantee { run, what, source: MR3, remark };
    let remark = "equal weights; n counts every flow of the run";
    vec![
        guarantee(
            "two flows' difference of service / weight: 6 L / w, or (m + 3) L / w if m > 3",
            "equal weights; received on the dominant resource, any interval",
        )
        .row(controlled.and(facts.monotonic()), || {
            // Services are divided by the weights as given, which are all the same.
            let bound = |i: usize, _| mr3_relative_fairness_s(m, longest) / facts.flows[i].weight;
            worst_pair(run, Counting::DominantReceived, bound)
        }),
        guarantee("start-up: 2 (m + n - 1) L", remark)
            .row(controlled, || start_up(run, |_| mr3_start_up_s(m, n, longest))),
        guarantee("packet delay: (4 m + 4 n - 2) L", remark)
            .row(controlled, || packet_delay(run, |_| mr3_packet_delay_s(m, n, longest))),
    ]
}

/// Relative fairness and packet delay, with constants that are not certain.
pub fn gmr3(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    let (m, longest) = (run.resources.len(), largest_s(run, facts));
    let controlled = controlled(run).and(facts.regular());
    let paid = match given(run, "newcomers") {
        Some("free") => Err("not known: with newcomers=free a search found 9.1"),
        _ => Ok(()),
    };
    let guarantee = |what, remark| Guarantee { run, what, source: GMR3, remark };
    vec![
        guarantee(
            "two flows' difference of service / weight: 9 L (1/w + 1/w)",
            "the constant 9 is uncertain: 7.4 is the largest found in long searches; weights w as parts of their sum",
        )
        .row(controlled.and(facts.monotonic()).and(paid), || {
            // Services were divided by the weights as given.
            let bound = |i, j| gmr3_relative_fairness_s([facts.part(i), facts.part(j)], longest) / facts.weights;
            worst_pair(run, Counting::DominantReceived, bound)
        }),
        guarantee(
            "packet delay: 24 L / w + 3 m L",
            "by the order of turns, not the paper's constant, which is unknown; 7 L / w + 3 m L is the largest found; \
             it includes the start-up",
        )
        .row(controlled, || packet_delay(run, |f| gmr3_packet_delay_s(m, facts.part(f), longest))),
    ]
}

/// Relative fairness in active time, with loops of a number of packets.
pub fn atfq(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    let is = |parameter: &str, value: &str| given(run, parameter) == Some(value);
    let changed = |parameter: &String| ["loop", "domain", "fill"].contains(&parameter.as_str());
    let applies = match () {
        () if is("fill", "all") || is("newcomers", "free") => Err("does not apply: as published"),
        () if given(run, "domain").is_some() => Err("does not apply: loops of a time domain"),
        () if facts.changed.iter().any(changed) => Err("does not apply: the loops change"),
        () => facts.regular(),
    };
    let packets = given(run, "loop").and_then(|packets| packets.parse().ok()).unwrap_or(20);
    let flow = |f: usize| AtfqFlow { weight: facts.flows[f].weight, longest_total_s: facts.flows[f].longest_total_s };
    let longest = facts.senders().map(|f| f.longest_total_s / f.weight).fold(0.0, f64::max);
    let fairness = Guarantee {
        run,
        what: "two flows' difference of active time / weight",
        source: "docs/theory/atfq.md",
        remark: "counted at the entrance, any interval, among the 64 flows with the most packets; two flows that are \
            backlogged throughout",
    };
    vec![fairness.row(applies, || {
        worst_pair(run, Counting::ActiveAtEntrance, |i, j| {
            // A flow that becomes backlogged is charged the total time of its first packet, which may add less to what
            // it had before.
            let first = [flow(i), flow(j)].map(|flow| flow.longest_total_s / flow.weight);
            let charged = match packets {
                1 => 2.0 * atfq_strict_fairness_s([flow(i), flow(j)]),
                _ => atfq_relative_fairness_s(packets, 2, longest),
            };
            charged + first[0] + first[1]
        })
    })]
}

/// How far packets are behind the fluid on the first resource.
pub fn drgps(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    let first_s = facts.flows.iter().filter_map(|f| f.longest_s.first().copied()).fold(0.0, f64::max);
    let (n, longest) = (facts.senders().count(), facts.longest_s);
    // An instant of the fluid between two nanoseconds counts as the next one, and the fluid's rate is wrong by up to m
    // 2^-32 of itself.
    let time = run.outcome.makespan().unwrap_or_default().as_secs_f64();
    let rounding = 1e-9 + run.resources.len() as f64 * time / 2_f64.powi(32);
    let guarantee = |what| Guarantee { run, what, source: "DRGPS, IWQoS 2013", remark: "for the first resource" };
    let row = match given(run, "order") {
        Some("start") => guarantee("entrance after the fluid's start: n - 1 packets").row(facts.substantial(), || {
            after_drgps(run, facts, drgps_entrance_by_start_s(rounding, n, first_s), |p| p.entered_s, false)
        }),
        _ => guarantee("finish after the fluid's: one packet").row(facts.substantial(), || {
            after_drgps(run, facts, drgps_exit_by_finish_s(rounding, 0, n, first_s, longest), |p| p.ended_s, true)
        }),
    };
    vec![row]
}

fn controlled(run: &Recorded) -> Result<(), &'static str> {
    match given(run, "progress") {
        Some("none") => Err("does not apply: no progress control"),
        _ => Ok(()),
    }
}
