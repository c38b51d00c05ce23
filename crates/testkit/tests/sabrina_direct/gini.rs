//! The index of PCFQ's Fig. 5 and CBCS's Figs. 4 and 5: how far flows are from the fluid, by equation (18).

use super::machine::{Charge, Flow, Gaps, Group, Packet, Rule, Scheme, Stage, packets};
use super::{ROUNDS, SEEDS, TAGS, TEN_MBPS, loaded, machine, mean};

const END: f64 = 300.0;

/// The sum of the distances of two Lorenz curves.
fn apart(mut a: Vec<f64>, mut b: Vec<f64>) -> f64 {
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    let mut sum = 0.0;
    let step = |(a, b)| {
        sum += a - b;
        f64::abs(sum)
    };
    a.iter().zip(&b).map(step).sum()
}

/// Of packets with these beginnings and ends, what was done by then.
fn done(on: &[[f64; 2]], by: f64) -> f64 {
    on.iter().take_while(|[begin, _]| *begin < by).map(|[begin, end]| end.min(by) - begin).sum()
}

/// The index of CPU or link every three seconds: over all flows and all they had, and over session utilities. A flow
/// that begins to wait begins with V, unless it has had more.
fn index(groups: &[Group], arrivals: &[Packet], flows: &[Flow], resource: usize) -> [Vec<f64>; 2] {
    let weights: Vec<f64> = groups.iter().flat_map(|group| vec![group.weights[resource]; group.flows]).collect();
    let n = weights.len();
    let mut fluid = Stage::new(Rule::Wfq, weights.clone(), 0.0);
    let (mut arrived, mut came) = (vec![0.0; n], vec![0; n]);
    // What a flow had, by weight, when its session began, and what that counts for.
    let mut session = vec![[0.0, 0.0]; n];
    let (mut all, mut sessions, mut next) = (Vec::new(), Vec::new(), 0);
    for sample in 1..=(END / 3.0) as usize {
        let now = 3.0 * sample as f64;
        while let Some(packet) = arrivals.get(next).filter(|packet| packet.at <= now) {
            let (f, cost) = (packet.flow, packet.times[resource] / weights[packet.flow]);
            let on = &flows[f].on[resource];
            let through = on.iter().take_while(|[_, end]| *end <= packet.at).count();
            if through == came[f] {
                let had = done(on, packet.at) / weights[f];
                let utility = session[f][1] + had - session[f][0];
                session[f] = [had, utility.max(fluid.fluid(packet.at).0)];
            }
            fluid.push(*packet, cost, packet.at);
            (arrived[f], came[f], next) = (arrived[f] + cost, came[f] + 1, next + 1);
        }
        let (virtual_time, finish) = fluid.fluid(now);
        let had: Vec<f64> = (0..n).map(|f| done(&flows[f].on[resource], now) / weights[f]).collect();
        let ideal = (0..n).map(|f| arrived[f] - (finish[f] - virtual_time).max(0.0)).collect();
        let waits = |f: &usize| flows[*f].on[resource].iter().take_while(|[_, end]| *end <= now).count() < came[*f];
        let utilities: Vec<f64> = (0..n).filter(waits).map(|f| session[f][1] + had[f] - session[f][0]).collect();
        all.push(apart(had, ideal));
        let fair = vec![virtual_time; utilities.len()];
        sessions.push(apart(utilities, fair));
    }
    [all, sessions]
}

/// Both indices under both schemes, by seed.
fn indices(groups: &[Group], schemes: [Scheme; 2], charge: Charge, resource: usize) -> Vec<[[Vec<f64>; 2]; 2]> {
    let of_seed = |seed| {
        let arrivals = packets(groups, TEN_MBPS, Gaps::Equal, END, seed);
        schemes.map(|scheme| {
            let flows = machine(scheme, charge).run(groups, &arrivals, END);
            index(groups, &arrivals, &flows, resource)
        })
    };
    SEEDS.map(of_seed).collect()
}

/// PCFQ, Fig. 5: the index of the CPU under separate WFQ per that under PCFQ, which the paper finds similar (a fifth).
/// Predictions by the smoothed time of a byte make it higher. With exact times it is lower than under PCFQ.
#[test]
#[ignore = "explains the papers by a model of its own: make causes"]
fn predictions_make_separate_wfq_less_fair_on_the_cpu() {
    let ratios = |charge: Charge| {
        let runs = indices(&loaded(16.083), TAGS, charge, 0);
        let of = |scheme: usize, k: usize| mean(runs.iter().map(|run| mean(run[scheme][k].iter().copied())));
        [0, 1].map(|k| of(1, k) / of(0, k))
    };
    let (predicted, exact) = (ratios(Charge::AtArrival), ratios(Charge::Measured));
    println!("all flows, sessions: predicted {predicted:.3?}, exact {exact:.3?}");
    assert!(predicted.iter().all(|&ratio| ratio > 1.2), "{predicted:?}");
    assert!(exact.iter().all(|&ratio| ratio < 1.0), "{exact:?}");
}

/// CBCS, Fig. 5: spikes of the index of the link, samples of more than twice the mean of both schedulers, in 100. At
/// the paper's loads with the scenario's rates separate DRR has fewer, as by `dovetail reproduce` (3.9 against 11.8).
/// Where every flow sends 1.2 times what it has reserved, and decryption flows 28 times a second, it has more, as the
/// paper says: rates and load decide, of which the paper gives the sums.
#[test]
#[ignore = "explains the papers by a model of its own: make causes"]
fn rates_and_load_decide_where_the_link_has_spikes() {
    let more = |decryption: f64, times: f64| {
        let mut groups = loaded(decryption);
        groups.iter_mut().for_each(|group| group.rate *= times);
        let runs = indices(&groups, ROUNDS, Charge::AtArrival, 1);
        let spikes = |run: &[[Vec<f64>; 2]; 2]| {
            let sessions = [0, 1].map(|scheme: usize| &run[scheme][1]);
            let limit = sessions.map(|samples| mean(samples.iter().copied())).iter().sum::<f64>();
            sessions.map(|samples| samples.iter().filter(|&&sample| sample > limit).count() as f64)
        };
        let each: Vec<[f64; 2]> = runs.iter().map(spikes).collect();
        println!("{decryption} per second, {times} times: spikes under CBCS and DRR {each:?}");
        each.into_iter().map(|[cbcs, drr]| drr - cbcs).collect::<Vec<f64>>()
    };
    let (printed, congested) = (more(16.083, 1.0), more(28.0, 1.2));
    assert!(printed.iter().all(|&more| more < -5.0), "{printed:?}");
    assert!(congested.iter().all(|&more| more > 0.0), "{congested:?}");
}
