//! `scenarios/strawmen`: how simpler schedulers fail, in the numbers of the DRFQ paper's section 3.1.

use std::path::Path;

use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::scenario::Scenario;

use crate::support::run;

/// Schedulers that share dominant resources: all that the simpler ones are compared with.
const FAIR: [&str; 3] = ["drfq", "drgps", "tradeoff:alpha=1"];

/// All quantities are over 10 s of thousands of packets of at most 0.7 ms. What they may be off: the time until the
/// pipeline is full at the start, and one packet of each flow at the cut; some ten packets, 0.07 % of the time. Twice
/// that, as a share of 1.
const CLOSE: f64 = 0.0015;

fn scenario(name: &str) -> Scenario {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/strawmen").join(name);
    Scenario::open(file.to_str().unwrap(), &[]).unwrap_or_else(|e| panic!("{e}"))
}

#[track_caller]
fn shares_are(record: &Recorded, right: &[f64]) {
    let shares: Vec<f64> = record.flows.iter().map(|f| f.dominant_share(10.0)).collect();
    let close = shares.iter().zip(right).all(|(share, right)| (share - right).abs() < CLOSE);
    assert!(close && shares.len() == right.len(), "{}: {shares:?}, right is {right:?}", record.scheduler);
}

/// Packets per second of each flow, times `time` that each needs on some resource: its share of that.
fn part_of(record: &Recorded, time: f64) -> Vec<f64> {
    record.flows.iter().map(|f| f.delivered as f64 * time / 10.0).collect()
}

#[test]
fn fair_queueing_of_one_resource_starves_who_needs_the_other() {
    // Equal CPU time is ten packets to one; each takes as long on the link.
    shares_are(&run(&scenario("one-resource.toml"), "sfq:resource=0"), &[10.0 / 11.0, 1.0 / 11.0]);
    for scheduler in FAIR {
        shares_are(&run(&scenario("one-resource.toml"), scheduler), &[0.5, 0.5]);
    }
}

#[test]
fn fair_queueing_of_each_resource_rewards_a_lie() {
    // <4,1> and <1,2> saturate both resources at 1/7 and 3/7 packets per 100 us; with <4,2> at 1/6 and 1/3.
    let spec = "sfq+sfq:full=hold,buffer=4";
    shares_are(&run(&scenario("per-resource.toml"), spec), &[4.0 / 7.0, 6.0 / 7.0]);
    shares_are(&run(&scenario("per-resource-lie.toml"), spec), &[2.0 / 3.0; 2]);
    for scheduler in FAIR {
        shares_are(&run(&scenario("per-resource.toml"), scheduler), &[2.0 / 3.0; 2]);
        shares_are(&run(&scenario("per-resource-lie.toml"), scheduler), &[2.0 / 3.0; 2]);
    }
}

#[test]
fn fair_queueing_of_the_bottleneck_rewards_a_lie() {
    // A packet takes 100 us of the link. Truthful: a third each. Padded: the CPU times are 1 to 2 to 2.
    let near = |given: Vec<f64>, right: [f64; 3]| {
        // For the first of 100 intervals the link is shared, as nothing is known yet.
        let slack = CLOSE + (10.0 / 21.0 - 1.0 / 3.0) / 100.0;
        assert!(given.iter().zip(right).all(|(g, r)| (g - r).abs() < slack), "{given:?}, right is {right:?}");
    };
    near(part_of(&run(&scenario("bottleneck.toml"), "bf"), 100e-6), [1.0 / 3.0; 3]);
    near(part_of(&run(&scenario("bottleneck-lie.toml"), "bf"), 100e-6), [10.0 / 21.0, 5.0 / 21.0, 5.0 / 21.0]);
    for scheduler in FAIR {
        // <10,1>, <10,14>, <10,14>: d (1 + 10/14 + 10/14) = 1; with <10,7> the CPU is full: d (7/10 + 2) = 1.
        shares_are(&run(&scenario("bottleneck.toml"), scheduler), &[7.0 / 17.0; 3]);
        shares_are(&run(&scenario("bottleneck-lie.toml"), scheduler), &[10.0 / 27.0; 3]);
    }
}

#[test]
fn the_bottleneck_of_bottleneck_fairness_flips_after_every_interval() {
    // <6,1>, <1,7>, <1,1>. Equal CPU time is x = (1/18, 1/3, 1/3) and asks for 1/18 + 7/3 + 1/3 = 49/18 of the link;
    // equal link time is x = (1/3, 1/21, 1/3) and asks for 2 + 1/21 + 1/3 = 50/21 of the CPU. So the flow of many
    // CPU cycles has dominant shares of 6/49 (1/3 * 18/49) and of 2 * 21/50 in turns.
    let record = run(&scenario("oscillation.toml"), "bf:interval=1 s");
    let shares: Vec<f64> = record.intervals.iter().map(|i| i.shares[0].service / i.length).collect();
    let right = [6.0 / 49.0, 42.0 / 50.0].into_iter().cycle();
    assert_eq!(shares.len(), 10);
    // Packets that were chosen before the change: ten of them at most, of 0.7 ms each, in 1 s.
    assert!(shares.iter().zip(right).all(|(share, right)| (share - right).abs() < 0.007), "{shares:?}");
    for scheduler in FAIR {
        // d (1 + 1/7 + 1) = 1 on the CPU, d (1/6 + 1 + 1) on the link.
        shares_are(&run(&scenario("oscillation.toml"), scheduler), &[6.0 / 13.0; 3]);
    }
}
