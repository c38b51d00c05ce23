//! Twenty Reno flows over a drop-tail queue so short that they live from timeout to timeout, beside ns-2: 2 Mb/s, a
//! round trip of 50 ms, 1000-byte packets, 14 of which may wait, access links of 100 Mb/s, starts drawn over 20 s.
//!
//! With ns-2's shortest timeout of 200 ms for all, 50 packet times to the nanosecond, a retransmission and another
//! flow's packet reach the full queue at the same instant, and which comes first decides how many timeouts there are:
//! 5600 in 200 s if timers go first, a few hundred if they go last. In ns-2 the rounding of its `double` clock decides:
//! 0.2 s is 17 units in the last place less than 50 times 4 ms while the clock reads 64 to 128 s, and 16 more from
//! 128 to 256 s. Here the seed decides, tie by tie. So the two are compared where there are no ties: with flow k's
//! shortest timeout at 200 ms and (k + 1) times 137.123 us, and with 2.137 Mb/s and a round trip of 51.7 ms, where 200
//! ms are no whole number of packet times.

use dovetail_sim::network::{
    Class, Hop, Network, NetworkOptions, Queueing, RoundTrip, Service, Traffic, simulate_network,
};
use dovetail_sim::record::jain;
use dovetail_tcp::{AckPolicy, Config, Variant};
use dovetail_units::{Density, Duration, Time};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::ns2::{self, mean};

const FLOWS: u64 = 20;

/// What is varied.
#[derive(Clone, Copy)]
struct Setting {
    /// Between the shortest timeouts of one flow and the next.
    step: Duration,
    rate_bps: u64,
    rtt: Duration,
}

const WITH_TIES: Setting = Setting { step: Duration::ZERO, rate_bps: 2_000_000, rtt: Duration::from_millis(50) };
const SPREAD_TIMEOUTS: Setting = Setting { step: Duration::from_nanos(137_123), ..WITH_TIES };
const ODD_RATE: Setting = Setting { rate_bps: 2_137_000, rtt: Duration::from_micros(51_700), ..WITH_TIES };

/// Timeouts, drops per arrival and Jain index of the goodputs as ns-2 2.35 has them, means over five seeds.
const RECORDED: [(Setting, [f64; 3]); 2] =
    [(SPREAD_TIMEOUTS, [3444.4, 0.1378, 0.8783]), (ODD_RATE, [5204.6, 0.1708, 0.9904])];

/// Counted from 64 s on.
struct Outcome {
    /// Until 128 s, and from then until 256 s.
    timeouts: [f64; 2],
    drop_rate: f64,
    jain: f64,
}

fn network(setting: Setting, seed: u64) -> Network {
    let rtt = setting.rtt;
    let link = Hop {
        name: "bottleneck".into(),
        service: Service::Link(format!("{} bps", setting.rate_bps).parse().unwrap()),
        queueing: Queueing::DropTail,
        limit: 14,
        delay: rtt.divided_by(4),
        encoding: None,
    };
    let class = |k: u64| {
        let min_rto = Duration::from_nanos(200_000_000 + (k + 1) * setting.step.as_nanos());
        Class {
            name: format!("flow {k}"),
            density: Density::default(),
            route: vec![0],
            packet_bytes: 1000,
            access: Some("100 Mbps".parse().unwrap()),
            tcp: Config { window_limit: 1000, handshake: false, min_rto, ..Config::ns2(Variant::Reno, Duration::ZERO) },
            acks: AckPolicy::EverySegment,
        }
    };
    let mut starts = ChaCha8Rng::seed_from_u64(seed);
    let flow = |k: u32| Traffic::LongLived {
        class: k,
        count: 1,
        start: Time::from_nanos(starts.random_range(0..20_000_000_000)),
        spread: Duration::ZERO,
        rtt: RoundTrip { min: rtt, max: rtt },
    };
    Network {
        hops: vec![link],
        traffic: (0..FLOWS as u32).map(flow).collect(),
        classes: (0..FLOWS).map(class).collect(),
    }
}

fn ours(setting: Setting, seed: u64) -> Outcome {
    let network = network(setting, seed);
    let run = |from, until| {
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        let options = NetworkOptions { seed, warm_up: at(from), until: at(until), cancel: None };
        simulate_network(&network, options, &mut ()).unwrap().unwrap()
    };
    let timeouts = |from, until| run(from, until).flows.iter().map(|flow| flow.timeouts as f64).sum();
    let all = run(64, 256);
    let goodputs: Vec<f64> = all.flows.iter().map(|flow| flow.goodput_bps).collect();
    Outcome {
        timeouts: [timeouts(64, 128), timeouts(128, 256)],
        drop_rate: all.hops[0].drop_rate(),
        jain: jain(&goodputs),
    }
}

fn theirs(setting: Setting, seed: u64) -> Outcome {
    let [step, rtt] = [setting.step, setting.rtt].map(|time| time.as_secs_f64().to_string());
    let (seed, rate) = (seed.to_string(), setting.rate_bps.to_string());
    let lines = ns2::counts("drop_tail.tcl", &[&step, &seed, &rate, &rtt]);
    let [start, middle, end] = &lines[..] else { panic!("ns-2 counts {lines:?}") };
    let between = |from: &[f64], to: &[f64]| -> Vec<f64> { to.iter().zip(from).map(|(to, from)| to - from).collect() };
    let timeouts = |counted: Vec<f64>| counted[3..].iter().step_by(2).sum();
    let all = between(start, end);
    Outcome {
        timeouts: [timeouts(between(start, middle)), timeouts(between(middle, end))],
        drop_rate: all[1] / all[0],
        jain: jain(&all[2..].iter().step_by(2).copied().collect::<Vec<f64>>()),
    }
}

/// Means over five seeds of timeouts, drop rate and Jain index.
fn means(outcomes: impl Iterator<Item = Outcome>) -> [f64; 3] {
    let outcomes: Vec<Outcome> = outcomes.collect();
    let of = |get: fn(&Outcome) -> f64| mean(&outcomes.iter().map(get).collect::<Vec<_>>());
    [of(|o| o.timeouts[0] + o.timeouts[1]), of(|o| o.drop_rate), of(|o| o.jain)]
}

/// Within 10 % of timeouts, 4 % of drops and 5 % of the Jain index: 3.5 standard errors of the difference of two means
/// of five seeds, by the deviations of ns-2's own (4.5 %, 2 %, 2.2 %).
fn agrees(ours: [f64; 3], theirs: [f64; 3]) {
    for ((what, allowed), (ours, theirs)) in
        [("timeouts", 0.1), ("drop rate", 0.04), ("Jain index", 0.05)].into_iter().zip(ours.into_iter().zip(theirs))
    {
        println!("{what}: {ours:.4}, in ns-2 {theirs:.4}");
        assert!((ours - theirs).abs() <= allowed * theirs, "{what}: {ours}, in ns-2 {theirs}");
    }
}

#[test]
fn agrees_with_what_ns2_said() {
    for (setting, recorded) in RECORDED {
        agrees(means((1..=5).map(|seed| ours(setting, seed))), recorded);
    }
}

#[test]
#[ignore = "needs ns-2"]
fn agrees_with_ns2_here() {
    for (setting, _) in RECORDED {
        let theirs = means((1..=5).map(|seed| theirs(setting, seed)));
        agrees(means((1..=5).map(|seed| ours(setting, seed))), theirs);
    }
}

/// Timeouts per second where ties decide, until 128 s and after.
fn timeouts_with_ties(of: fn(Setting, u64) -> Outcome) -> [f64; 2] {
    let per_second = |outcome: &Outcome| [outcome.timeouts[0] / 64.0, outcome.timeouts[1] / 128.0];
    let rates: Vec<[f64; 2]> = (1..=5).map(|seed| per_second(&of(WITH_TIES, seed))).collect();
    [0, 1].map(|half| mean(&rates.iter().map(|rate| rate[half]).collect::<Vec<_>>()))
}

#[test]
fn what_ties_decide_does_not_hang_on_the_exponent_of_the_clock() {
    let [early, late] = timeouts_with_ties(ours);
    println!("timeouts per second with ties: {early:.1} until 128 s, {late:.1} after");
    assert!((0.8..1.25).contains(&(early / late)), "{early} against {late}");
}

/// Where ties decide, ns-2 changes with the reading of its clock, and Dovetail does not: it lies between.
#[test]
#[ignore = "needs ns-2"]
fn what_ns2_says_of_ties_hangs_on_the_exponent_of_its_clock() {
    let [early, late] = timeouts_with_ties(ours);
    let [first, last] = timeouts_with_ties(theirs);
    println!("in ns-2: {first:.1} until 128 s, {last:.1} after");
    assert!(first > 3.0 * last, "{first} against {last}");
    assert!((last..first).contains(&early) && (last..first).contains(&late));
}
