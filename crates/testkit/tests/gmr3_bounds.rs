//! GMR3: constants of its fairness and delay in a search among random and adversarial runs, and a heavy flow's delay as
//! flows are added.
//!
//! How service, fairness and delay are measured, see `measure`. w_i is flow i's weight over the sum of all flows'
//! weights.
//!
//! * Delay: a slot is one turn, of less than 3 L of service. From one turn of flow i to its next there are fewer than
//!   2^(k + 1) slots, with 2^k < 4 / w_i; then its packets pass m resources: delay <= 3 L * 8 / w_i + 3 m L. This
//!   follows from the algorithm and is not tight.
//! * Fairness: 9 L (1 / w_i + 1 / w_j) is the paper's bound as it is remembered; the text was not at hand. It is not
//!   exceeded here, but with `newcomers=free`: 9.1 with four resources, by a long search.

mod measure;

use dovetail_sched::{FlowConfig, FlowId, Packet, Shape, build};
use dovetail_testkit::conformance;
use dovetail_testkit::random::Random;
use dovetail_units::{ResourceVec, Time, Weight};
use measure::{Case, LONGEST, draw, measure, search};

/// Fairness over L (1 / w_i + 1 / w_j); delay times w_i over L; delay less 3 m L, so.
fn constants<const M: usize>(case: &Case<M>, spec: &str) -> [f64; 3] {
    let (m, longest) = (M as f64, case.longest() as f64);
    let all: u32 = case.weights.iter().sum();
    // Services are per weight, so L / w is the unit there as well.
    let worst = measure(case, spec, |a, b| 1.0 / a + 1.0 / b);
    let share = |flow: usize| f64::from(case.weights[flow]) / f64::from(all);
    let delays = || worst.delay.iter().enumerate().map(|(flow, &delay)| (share(flow), delay as f64 / longest));
    [
        worst.fairness / longest,
        delays().map(|(share, delay)| delay * share).fold(0.0, f64::max),
        delays().map(|(share, delay)| (delay - 3.0 * m) * share).fold(0.0, f64::max),
    ]
}

fn holds<const M: usize>(spec: &str, packets: usize) {
    let fresh = |random: &mut Random| {
        let flows = [2, 3, 5, 8][random.below(4) as usize];
        let mut case = draw::<M>(random, flows, 150);
        for weight in &mut case.weights {
            *weight = [1000, 1023, 1024, random.between(100, 16_000) as u32][random.below(4) as usize];
        }
        case
    };
    let (worst, count) = search(M as u64, packets, fresh, |case| constants(case, spec));
    let [fairness, delay, less] = worst;
    println!(
        "{spec}, m = {M}, {count} packets: fairness {fairness:.2} L (1/w_i + 1/w_j), delay {delay:.1} L / w_i, \
         {less:.1} L / w_i + 3 m L"
    );
    assert!(fairness <= 9.0 || spec.ends_with("free"), "{spec}, m = {M}: fairness {fairness}");
    assert!(less <= 24.0, "{spec}, m = {M}: delay {less}");
}

fn all_hold(packets: usize) {
    for spec in ["gmr3", "gmr3:largest=1 us", "gmr3:progress=finished", "gmr3:newcomers=free"] {
        holds::<2>(spec, packets);
        holds::<3>(spec, packets);
        holds::<4>(spec, packets);
    }
}

#[test]
fn delay_and_fairness_stay_within_what_follows_from_the_algorithm() {
    all_hold(50_000);
}

/// `cargo test --release -p dovetail-testkit --test gmr3_bounds -- --ignored --nocapture`
#[test]
#[ignore = "a long search"]
fn they_do_in_a_long_search() {
    all_hold(2_000_000);
}

/// A flow with half of all weight, and `n - 1` equal others; all packets there from the start, random times. The
/// longest delays of the heavy flow and of the others, in L.
fn heavy_and_light(spec: &str, n: u64) -> [f64; 2] {
    let mut random = Random::new(n);
    let light = n - 1;
    let mut packets = Vec::new();
    for k in 0..4_000 {
        // All flows are backlogged to the end: the light ones have less to send, in proportion.
        let flow = if k % 2 == 0 { 0 } else { 1 + (k / 2 % light) as usize };
        packets.push((0, flow, [random.between(1, LONGEST), random.between(1, LONGEST)]));
    }
    let weights = std::iter::once(1_000 * light as u32).chain((0..light).map(|_| 1_000)).collect();
    let delay = measure(&Case::<2> { weights, packets }, spec, |_, _| 1.0).delay;
    [delay[0], delay[1..].iter().copied().max().unwrap_or(0)].map(|ns| ns as f64 / LONGEST as f64)
}

#[test]
fn a_heavy_flow_does_not_wait_longer_when_there_are_more_light_ones() {
    let numbers = [5, 10, 20, 40];
    println!("longest delay of a flow with half of the weight among n flows (of the others), in L");
    println!("{:16}{}", "n", numbers.map(|n| format!("{n:>16}")).concat());
    let row = |spec: &str| {
        let delays = numbers.map(|n| heavy_and_light(spec, n));
        println!("{spec:16}{}", delays.map(|[heavy, light]| format!("{heavy:>8.1} ({light:>5.1})")).concat());
        delays.map(|[heavy, _]| heavy)
    };
    let (gmr3, mr3) = (row("gmr3"), row("mr3"));
    row("gmr3:largest=1 us");
    row("gmr3:progress=finished");
    row("drfq:window=4");
    // Every other slot is the heavy flow's whatever n is: its delays differ by what turns happen to be, less than 3 L.
    // Eight times as many flows make MR3's round eight times as long; half of that is left for chance.
    let most = |delays: [f64; 4]| delays.into_iter().fold(0.0, f64::max);
    assert!(most(gmr3) - gmr3[0] < 3.0, "{gmr3:?}");
    assert!(mr3[3] >= 4.0 * mr3[0], "{mr3:?}");
}

#[test]
fn conforms_with_every_kind_of_progress_control() {
    for spec in ["gmr3:progress=finished", "gmr3:progress=none"] {
        conformance::check(spec).unwrap();
    }
}

#[test]
fn every_flow_has_its_turn_in_every_interval_of_its_class() {
    // Asserted by the discipline in debug builds, here under flows that come, go, and change their weights.
    for seed in 0..40 {
        let bytes: Vec<u8> = Random::new(seed).take(30_000).collect();
        conformance::fuzz("gmr3", 2, &bytes).unwrap();
    }
}

/// A flow that had its turn early in an interval and left has used a slot that others were to have later in it. That
/// takes classes which are nearly full, and flows that come and go all the time.
#[test]
fn every_flow_has_its_turn_though_others_leave_after_theirs() {
    const FLOWS: u64 = 100;
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let mut scheduler = build::<1, u32>(&"gmr3:progress=none".parse().unwrap(), Shape::default()).unwrap();
        let mut add = |_| {
            let weight = Weight::from_milli(1 + random.below(2) as u32).unwrap();
            scheduler.add_flow(FlowConfig { weight, ..FlowConfig::default() })
        };
        let flows: Vec<FlowId> = (0..FLOWS).map(&mut add).collect();
        for now in (0..3000).map(Time::from_nanos) {
            for _ in 0..random.below(14) / 5 {
                let (flow, cost) = (flows[random.below(FLOWS) as usize], ResourceVec::from_nanos([1]));
                scheduler.enqueue(now, Packet { flow, size: 1, cost, payload: 0 }).unwrap();
            }
            scheduler.next(now);
        }
    }
}
