//! The DRGPS trackers against the fluid of `dovetail_model`, which computes in 64-bit floating point and visits every
//! flow at every event, and against `tradeoff:alpha=1`, whose fluid is the same for two resources.
//!
//! The bounds, and why they hold: `dovetail_model::bounds::drgps_*`.
//!
//! Slack: a packet enters at whole nanoseconds, up to 1 ns late. A flow that becomes backlogged in the fluid starts at
//! a whole tick of 2^-22 ns of virtual time, up to one early; that is at most a tick times the sum of all weights in
//! time, for each packet at most. tbar is right to 2^-32, so V' is right to m 2^-32 of itself.

mod measure;

use std::collections::BTreeMap;

use dovetail_model::bounds;
use dovetail_model::fluid::{self, Input, Policy};
use dovetail_sched::drgps::{Drgps, TrackBy};
use dovetail_sched::newcomers::Newcomers;
use dovetail_sched::tag::TICK_BITS;
use dovetail_sched::{FlowConfig, Next, Packet, PerFlow, Scheduler, Shape, build};
use dovetail_testkit::random::Random;
use dovetail_units::{ResourceVec, Time, Weight};
use measure::{Case, draw, search};

/// Nanoseconds where the model says seconds: it only computes with numbers.
fn fluid_of<const M: usize>(case: &Case<M>) -> fluid::Outcome {
    let mut input = Input::new(M).unwrap();
    for &milli in &case.weights {
        input.add_flow(f64::from(milli) / 1000.0).unwrap();
    }
    for (at, flow, times) in in_order(case) {
        input.push(flow, at as f64, &times.map(|t| t as f64)).unwrap();
    }
    fluid::run(&input, &Policy::Drgps).unwrap()
}

fn in_order<const M: usize>(case: &Case<M>) -> Vec<measure::Given<M>> {
    let mut packets = case.packets.clone();
    packets.sort_by_key(|p| p.0);
    packets
}

fn slack<const M: usize>(case: &Case<M>, fluid: &fluid::Outcome) -> f64 {
    let weights = case.weights.iter().map(|&milli| f64::from(milli) / 1000.0).sum::<f64>();
    let ticks = case.packets.len() as f64 * weights / f64::from(1 << TICK_BITS);
    ticks + fluid.last_finish_s() * M as f64 / (1u64 << 32) as f64
}

/// When every flow's packets enter if the first resource takes no time: at their starts in the scheduler's fluid.
fn starts<const M: usize>(case: &Case<M>, spec: &str) -> Vec<Vec<u64>> {
    let mut scheduler = build::<M, u32>(&spec.parse().unwrap(), Shape { servers: M as u32 }).unwrap();
    let config = |&milli: &u32| FlowConfig { weight: Weight::from_milli(milli).unwrap(), ..FlowConfig::default() };
    let flows: Vec<_> = case.weights.iter().map(|milli| scheduler.add_flow(config(milli))).collect();
    let mut arrivals = in_order(case).into_iter().peekable();
    let mut starts = vec![Vec::new(); flows.len()];
    let mut now = 0;
    loop {
        while let Some((at, flow, times)) = arrivals.next_if(|p| p.0 <= now) {
            let cost = ResourceVec::from_nanos(times);
            let packet = Packet { flow: flows[flow], size: 1, cost, payload: flow as u32 };
            scheduler.enqueue(Time::from_nanos(at), packet).unwrap();
        }
        let arrival = arrivals.peek().map(|p| p.0);
        now = match (scheduler.next(Time::from_nanos(now)), arrival) {
            (Next::Serve(packet), _) => {
                starts[packet.payload as usize].push(now);
                now
            }
            (Next::At(time), arrival) => time.as_nanos().min(arrival.unwrap_or(u64::MAX)),
            (Next::Empty, Some(arrival)) => arrival,
            (Next::Empty, None) => return starts,
            (other, _) => panic!("drgps answers {other:?}"),
        };
    }
}

fn weighted<const M: usize>(random: &mut Random) -> Case<M> {
    let flows = [1, 2, 3, 5, 8][random.below(5) as usize];
    let mut case = draw::<M>(random, flows, 150);
    if random.below(2) == 0 {
        case.weights
            .iter_mut()
            .for_each(|w| *w = [1000, 2000, random.between(100, 16_000) as u32][random.below(3) as usize]);
    }
    case
}

/// Of packets that do not bypass the first resource: they would overtake others on the way to the next.
fn processed<const M: usize>(case: &Case<M>) -> Case<M> {
    let packets = case.packets.iter().map(|&(at, flow, mut times)| {
        times[0] = times[0].max(1);
        (at, flow, times)
    });
    Case { weights: case.weights.clone(), packets: packets.collect() }
}

fn follows_the_model<const M: usize>() {
    let mut worst = 0.0;
    for seed in 0..150 {
        let case = weighted::<M>(&mut Random::new(seed));
        let fluid = fluid_of(&case);
        let slack = slack(&case, &fluid);
        for spec in ["drgps:order=start", "drgps:order=finish"] {
            for (flow, starts) in starts(&case, spec).iter().enumerate() {
                for (&start, &model) in starts.iter().zip(fluid.starts_s(flow)) {
                    let late = start as f64 - model;
                    assert!((-slack..=1.0 + slack).contains(&late), "{spec}, M = {M}, seed {seed}: {late} ns");
                    worst = f64::max(worst, (late - 1.0).max(-late) / slack);
                }
            }
        }
    }
    println!("M = {M}: beyond whole nanoseconds, {worst:.3} of the slack");
}

#[test]
fn every_packet_starts_in_its_fluid_when_it_does_in_the_model() {
    follows_the_model::<1>();
    follows_the_model::<2>();
    follows_the_model::<3>();
    follows_the_model::<4>();
}

#[test]
fn starts_are_those_of_strict_fairness_in_the_tradeoff() {
    for seed in 1000..1300 {
        let case = weighted::<2>(&mut Random::new(seed));
        // Two fluids that are each within the slack of the exact one, at whole nanoseconds; ticks of the other one may
        // be of 2^-16 ns.
        let most = 1.0 + (2 << (TICK_BITS - 16)) as f64 * slack(&case, &fluid_of(&case));
        let pairs = starts(&case, "drgps:order=start").into_iter().zip(starts(&case, "tradeoff:alpha=1"));
        for (ours, theirs) in pairs.flat_map(|(ours, theirs)| ours.into_iter().zip(theirs)) {
            assert!(ours.abs_diff(theirs) as f64 <= most, "seed {seed}: {ours} and {theirs}");
        }
    }
}

/// The worst of a run: entrance after the start in the fluid, exit of the first and of the last resource after the
/// finish there, each as a part of what is allowed or, the last one, in L.
fn lateness<const M: usize>(case: &Case<M>, spec: &str) -> [f64; 3] {
    let by_start = spec.ends_with("start");
    let (fluid, log) = (fluid_of(case), case.run(spec));
    // On one resource the entrance never waits for a whole nanosecond.
    let slack = slack(case, &fluid) + if M == 1 { 0.0 } else { 1.0 };
    let (n, longest) = (case.weights.len(), case.longest() as f64);
    let longest_0 = case.packets.iter().map(|p| p.2[0]).max().unwrap_or(0).max(1) as f64;
    let mut worst = [0.0f64; 3];
    let mut count = BTreeMap::new();
    for packet in &log {
        let flow = packet.packet.flow as usize;
        let k = count.entry(flow).or_insert(0);
        let (start, finish) = (fluid.starts_s(flow)[*k], fluid.finishes_s(flow)[*k]);
        *k += 1;
        let entered = packet.started[0].unwrap().as_nanos() as f64;
        let left = |r: usize| packet.finished[r].unwrap().as_nanos() as f64;
        assert!(entered >= start - slack, "{spec}: enters {} before its start", start - entered);
        let enters_by = bounds::drgps_entrance_by_start_s(start, n, longest_0);
        worst[0] = worst[0].max((entered - start) / (enters_by - start).max(longest_0));
        worst[1] = worst[1].max((left(0) - finish) / longest_0);
        worst[2] = worst[2].max((left(M - 1) - finish) / longest);
        assert!(!by_start || entered <= enters_by + slack, "{spec}, M = {M}: {case:?}");
        for r in 0..M {
            let until = match by_start {
                true => bounds::drgps_exit_by_start_s(start, r, n, longest),
                false => bounds::drgps_exit_by_finish_s(finish, r, n, longest_0, longest),
            };
            assert!(left(r) <= until + (r + 1) as f64 * slack, "{spec}, M = {M}, resource {r}: {case:?}");
        }
    }
    worst
}

fn bounds_hold<const M: usize>(packets: usize) -> [[f64; 3]; 2] {
    ["drgps:order=start", "drgps:order=finish"].map(|spec| {
        let as_drawn = spec.ends_with("finish");
        let (worst, count) = search(M as u64, packets, weighted, |case: &Case<M>| match as_drawn {
            true => lateness(case, spec),
            false => lateness(&processed(case), spec),
        });
        println!(
            "{spec}, M = {M}, {count} packets: enters {:.2} (n-1) L_0 after its start; after its finish leaves \
             resource 0 {:.2} L_0, the last {:.2} L",
            worst[0], worst[1], worst[2]
        );
        worst
    })
}

#[test]
fn every_packet_enters_and_leaves_within_its_bounds() {
    let worst =
        [bounds_hold::<1>(40_000), bounds_hold::<2>(40_000), bounds_hold::<3>(40_000), bounds_hold::<4>(40_000)];
    for [start, finish] in worst {
        // A search that stays far from bounds would prove little.
        assert!(start[0] > 0.9 && finish[1] > 0.9, "{worst:?}");
    }
}

/// `cargo test --release -p dovetail-testkit --test drgps_fluid -- --ignored --nocapture`
#[test]
#[ignore = "a long search"]
fn they_do_in_a_long_search() {
    bounds_hold::<1>(2_000_000);
    bounds_hold::<2>(2_000_000);
    bounds_hold::<3>(2_000_000);
    bounds_hold::<4>(2_000_000);
}

/// On one resource with a fluid that ends `events` packets in a call and meets packets as of its own clock: how late
/// the latest packet is after its finish there, and the most that the fluid lagged. Never idle while a packet waits.
fn lagging(case: &Case<1>, order: TrackBy, events: usize) -> [f64; 2] {
    let mut scheduler = PerFlow::<1, usize, _>::new(Drgps::new(order, Newcomers::Free).ending(events));
    let config = |&milli: &u32| FlowConfig { weight: Weight::from_milli(milli).unwrap(), ..FlowConfig::default() };
    let flows: Vec<_> = case.weights.iter().map(|milli| scheduler.add_flow(config(milli))).collect();
    let (mut met, mut left) = (Input::new(1).unwrap(), vec![Vec::new(); flows.len()]);
    for &milli in &case.weights {
        met.add_flow(f64::from(milli) / 1000.0).unwrap();
    }
    let (mut arrivals, mut now) = (in_order(case).into_iter().peekable(), 0);
    loop {
        while let Some((at, flow, times)) = arrivals.next_if(|p| p.0 <= now) {
            let packet = Packet { flow: flows[flow], size: 1, cost: ResourceVec::from_nanos(times), payload: flow };
            scheduler.enqueue(Time::from_nanos(at), packet).unwrap();
            met.push(flow, at as f64 - scheduler.discipline().lag_ns()[0], &times.map(|t| t as f64)).unwrap();
        }
        match (scheduler.next(Time::from_nanos(now)), arrivals.peek()) {
            (Next::Serve(packet), _) => {
                now += packet.ticket.charged()[0].as_nanos();
                left[packet.payload].push(now);
            }
            (Next::Empty, Some(arrival)) => now = arrival.0,
            (Next::Empty, None) => break,
            (other, _) => panic!("{other:?}"),
        }
    }
    let fluid = fluid::run(&met, &Policy::Drgps).unwrap();
    let late = |flow: usize| left[flow].iter().zip(fluid.finishes_s(flow)).map(|(&left, finish)| left as f64 - finish);
    let latest = (0..flows.len()).flat_map(late).fold(0.0, f64::max);
    [latest - slack(case, &fluid), scheduler.discipline().lag_ns()[1]]
}

#[test]
fn a_fluid_that_lags_makes_a_packet_later_by_its_lag_and_no_more() {
    let (mut lagged, mut needed) = (0, 0);
    for seed in 0..400 {
        let case = weighted::<1>(&mut Random::new(seed));
        for events in [1, 2, 5] {
            let [late, lag] = lagging(&case, TrackBy::Finish, events);
            let longest = case.longest() as f64;
            assert!(late <= longest + lag, "seed {seed}, {events} in a call: {late} late, {lag} of lag, {longest}");
            lagged += u32::from(lag > 0.0);
            needed += u32::from(late > longest);
            lagging(&case, TrackBy::Start, events);
        }
    }
    println!("{lagged} of 1200 runs lag, {needed} have a packet that is later than without");
    assert!(lagged > 100 && needed > 0, "{lagged}, {needed}");
}

#[test]
fn a_fluid_has_caught_up_after_as_many_calls_as_end_all_that_is_in_it() {
    for (packets, events) in [(3000, 2), (3000, 16), (40, 41)] {
        let mut scheduler = PerFlow::<1, (), _>::new(Drgps::new(TrackBy::Finish, Newcomers::Free).ending(events));
        let offer = |scheduler: &mut PerFlow<1, (), Drgps<1>>, at, sent: u32, nanos| {
            let flow = scheduler.add_flow(FlowConfig::default());
            for _ in 0..sent {
                let packet = Packet { flow, size: 1, cost: ResourceVec::from_nanos([nanos]), payload: () };
                scheduler.enqueue(Time::from_nanos(at), packet).unwrap();
            }
        };
        // Of one flow a packet always waits. All others are handed out, and end in the fluid before its first one.
        offer(&mut scheduler, 0, 2, 1_000_000);
        (0..packets).for_each(|_| offer(&mut scheduler, 0, 1, 10));
        while let Next::Serve(_) = scheduler.next(Time::ZERO) {}
        let mut calls = 0;
        loop {
            offer(&mut scheduler, 10 * (packets + 1) + 1 + calls, 1, 10);
            if scheduler.discipline().lag_ns()[0] == 0.0 {
                break;
            }
            calls += 1;
        }
        assert!(calls <= packets / (events as u64 - 1), "{packets} packets, {events} in a call: {calls} calls");
        assert!(calls > 0 || events > 40);
    }
}

#[test]
fn a_fluid_is_emptied_at_once_when_its_time_has_passed_and_nothing_waits() {
    for (back_at, lags) in [(5049, true), (5050, false)] {
        let mut scheduler = PerFlow::<1, (), _>::new(Drgps::new(TrackBy::Finish, Newcomers::Pay).ending(1));
        let offer = |scheduler: &mut PerFlow<1, (), Drgps<1>>, at, nanos| {
            let flow = scheduler.add_flow(FlowConfig::default());
            let packet = Packet { flow, size: 1, cost: ResourceVec::from_nanos([nanos]), payload: () };
            scheduler.enqueue(Time::from_nanos(at), packet).unwrap();
        };
        (1..=100).for_each(|nanos| offer(&mut scheduler, 0, nanos));
        let served = (0..100).filter(|_| matches!(scheduler.next(Time::ZERO), Next::Serve(_))).count();
        assert_eq!(served, 100, "they have all started in the fluid, and none has ended there");
        offer(&mut scheduler, back_at, 1);
        assert_eq!(scheduler.discipline().lag_ns()[0] > 0.0, lags, "at {back_at} ns, with 5050 ns in the fluid");
    }
}

#[test]
fn one_resource_is_never_idle_while_a_packet_waits() {
    for seed in 0..400 {
        let case = weighted::<1>(&mut Random::new(seed));
        for spec in ["drgps:order=start", "drgps:order=finish"] {
            let mut log = case.run(spec);
            log.sort_by_key(|p| p.started[0]);
            let mut free = Time::ZERO;
            for (k, packet) in log.iter().enumerate() {
                let arrived = log[k..].iter().map(|p| p.packet.arrival).min().unwrap();
                assert_eq!(packet.started[0], Some(free.max(arrived)), "{spec}, seed {seed}, packet {k}");
                free = packet.finished[0].unwrap();
            }
        }
    }
}
