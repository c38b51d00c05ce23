//! Causes of what differs from the DRQ paper, by a direct model of Reno over queues that shares nothing with our
//! schedulers, senders or simulator.

mod network;

use network::{Group, Rule, Seen, run};

const RED: Rule = Rule::Red(1e-4);
const DENSITIES: [f64; 4] = [0.25, 0.5, 1.0, 2.0];
/// The seconds that count, as in the figures.
const COUNTED: [f64; 2] = [40.0, 100.0];

/// The means over so many seeds.
fn mean(seeds: u64, of: impl Fn(u64) -> Seen) -> Seen {
    let all: Vec<Seen> = (1..=seeds).map(of).collect();
    let mean = |part: fn(&Seen) -> &Vec<f64>| -> Vec<f64> {
        (0..part(&all[0]).len()).map(|i| all.iter().map(|seen| part(seen)[i]).sum::<f64>() / seeds as f64).collect()
    };
    Seen { rates: mean(|seen| &seen.rates), used: mean(|seen| &seen.used), timeouts: mean(|seen| &seen.timeouts) }
}

#[track_caller]
fn within(what: &str, range: std::ops::RangeInclusive<f64>, ours: f64) {
    println!("{what}: {ours:.4}, expected {range:?}");
    assert!(range.contains(&ours), "{what}: {ours}, expected {range:?}");
}

/// The zero of a function that falls.
fn bisect(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if f(middle) > 0.0 { low = middle } else { high = middle }
    }
    low
}

/// By equation (6), of ten flows of each density over a CPU and a link.
fn fair(cpu: f64, link: f64) -> [f64; 4] {
    let rates = |theta: f64, pi: f64| DENSITIES.map(|w| 1.0 / (w * theta + pi));
    let pi = |theta: f64| bisect(0.0, 1e-5, |pi| rates(theta, pi).iter().sum::<f64>() - link / 10.0);
    let cycles = |rates: [f64; 4]| rates.iter().zip(DENSITIES).map(|(rate, w)| rate * w).sum::<f64>();
    let theta = bisect(0.0, 1e-5, |theta| cycles(rates(theta, pi(theta))) - cpu / 10.0);
    rates(theta, pi(theta))
}

/// The largest distance in per cent.
fn furthest(rates: &[f64], fair: [f64; 4]) -> f64 {
    rates.iter().zip(fair).map(|(rate, fair)| 100.0 * (rate / fair - 1.0).abs()).fold(0.0, f64::max)
}

/// Figs. 5 and 6: CPU and link.
fn dumbbell(rules: [Rule; 2], cpu: f64, seeds: u64) -> Seen {
    let ways = DENSITIES.map(|w| [(0, w), (1, 1.0)]);
    let groups: Vec<Group<'_>> = ways.iter().map(|way| (10, way.as_slice())).collect();
    mean(seeds, |seed| run(&groups, &[(rules[0], cpu), (rules[1], 40e6)], COUNTED, seed))
}

/// Fig. 5, DRQ, with 25 Mcycles/s: where both limit, an average of the queue that is a dozen round trips old lets CPU
/// and link idle, and rates are the fair ones of what is used. An average that is as old as a round trip lets them idle
/// half as long, and rates are nearer to the fair ones. `dovetail reproduce` has a class 11.0 % off, and 2.0 % off the
/// fair rates of what is used.
#[test]
#[ignore = "explains the papers by a model of its own: make causes"]
fn an_old_average_lets_cpu_and_link_idle() {
    let cpu = 25e6;
    let [old, young] = [1e-4, 0.002].map(|weight| {
        let seen = dumbbell([Rule::Drq(weight); 2], cpu, 3);
        let of_used = fair(seen.used[0] * cpu, seen.used[1] * 40e6);
        println!("{weight}: {:.0?}, used {:.4?}", seen.rates, seen.used);
        let idle = 100.0 * (2.0 - seen.used[0] - seen.used[1]);
        [furthest(&seen.rates, fair(cpu, 40e6)), furthest(&seen.rates, of_used), idle]
    });
    within("furthest from the fair rates, per cent", 8.0..=12.5, old[0]);
    within("the same with a young average", 0.0..=8.0, young[0]);
    within("furthest from those of what is used", 0.0..=3.0, old[1]);
    within("idle, per cent", 3.0..=7.0, old[2]);
    within("times that with a young average", 1.5..=4.0, old[2] / young[2]);
}

/// Fig. 5, DRR-RED where the CPU alone limits: with room for 30 packets the fastest class loses two of a window and
/// waits for its timer, with 100 it has its share. `dovetail reproduce` has it 11.9 % below its share with 16 timeouts
/// in a minute, and 1.2 %.
#[test]
fn short_queues_cost_the_fastest_class_a_tenth() {
    let [short, long] = [30, 100].map(|room| dumbbell([Rule::Drr(room), RED], 20e6, 1));
    let share = 20e6 / 40.0 / 0.25;
    within("in per cent of its share", 80.0..=92.0, 100.0 * short.rates[0] / share);
    within("timeouts of a flow", 10.0..=30.0, short.timeouts[0]);
    within("with room for a window", 98.0..=102.0, 100.0 * long.rates[0] / share);
    within("timeouts of a flow", 0.0..=5.0, long.timeouts[0]);
}

/// Fig. 12, without web traffic, L3 having 90 Mbit/s: under DRR-RED with room for 15 packets of a flow L3 carries far
/// less than under DRQ, with room for 100 as much within 5 points. `dovetail reproduce` has 17.1 and 4.8 points.
#[test]
#[ignore = "explains the papers by a model of its own: make causes"]
fn short_queues_leave_the_third_link_idle() {
    let long = DENSITIES.map(|w| [(0, w), (1, 1.0), (2, w), (3, 1.0), (4, w), (5, 1.0)]);
    let others = [[(0, 0.5), (1, 1.0)], [(2, 0.5), (3, 1.0)]].into_iter().chain(DENSITIES.map(|w| [(4, w), (5, 1.0)]));
    let others: Vec<_> = others.collect();
    let ways = long.iter().map(|way| way.as_slice()).chain(others.iter().map(|way| way.as_slice()));
    let groups: Vec<Group<'_>> = ways.map(|way| (10, way)).collect();
    let used = |[first, third]: [Rule; 2], link| {
        let stages = [(first, 40e6), (link, 50e6), (first, 40e6), (link, 50e6), (third, 40e6), (link, 90e6)];
        100.0 * run(&groups, &stages, COUNTED, 1).used[5]
    };
    let drq = used([Rule::Drq(1e-4); 2], Rule::Drq(1e-4));
    within("DRQ, per cent of L3", 70.0..=85.0, drq);
    within("points below with room for 15", 12.0..=25.0, drq - used([Rule::Drr(24), Rule::Drr(15)], RED));
    within("with room for 100", -5.0..=5.0, drq - used([Rule::Drr(24), Rule::Drr(100)], RED));
}

/// Fig. 14 with 20 Mcycles/s: how far SG1 and SG2 together are higher under DRR-RED than under DRQ hangs on the core's
/// rate, and is slight where that is 200 Mbit/s. `dovetail reproduce` has 25.9 and 3.8 %.
#[test]
#[ignore = "explains the papers by a model of its own: make causes"]
fn the_rate_of_the_core_decides_what_is_slightly() {
    let above = |core: f64| {
        let both = [2.5, 0.5].map(|w| [(0, w), (1, 1.0), (2, 1.0), (3, w)]);
        let of_core = [(1, 1.0), (2, 1.0)];
        let ways = [&both[0][..], &both[1], &of_core, &of_core[..1], &of_core[1..]];
        let groups = ways.map(|way| (10, way));
        let [drq, drr] = [Rule::Drq(1e-4), Rule::Drr(60)].map(|edge| {
            let stages = [(edge, 20e6), (RED, core), (RED, core), (edge, 20e6)];
            mean(2, |seed| run(&groups, &stages, [30.0, 70.0], seed)).rates[..2].iter().sum::<f64>()
        });
        100.0 * (drr / drq - 1.0)
    };
    within("per cent above with 100 Mbit/s", 15.0..=30.0, above(100e6));
    within("with 200 Mbit/s", 0.1..=10.0, above(200e6));
}
