//! Theorems 4 and 5 and Lemma 4 of the tradeoff paper: the packet schedule, simulated, against the fluid of
//! `dovetail_model`.
//!
//! Dominant service of the packet schedule is what flow i's packets have had, up to t, of the processing on their own
//! dominant resources: a packet counts while it is processed there, not when it is admitted. n is the largest number of
//! flows backlogged in the fluid at one time, tau_max the longest time of any packet on any resource.
//!
//! Slack: the product follows the fluid in ticks of 2^-22 ns and is woken at whole nanoseconds, up to 1 ns late; its
//! fluid is otherwise behind by up to half a tick per event. A run has at most 2 * PACKETS events, so the two fluids
//! are within 1 us + 1 ns of each other while they make the same choices; 2 us is allowed (tau_max is 100 us).

use std::cell::Cell;

use dovetail_model::fluid::{self, Input, Policy};
use dovetail_model::{Ties, bounds};
use dovetail_sched::{PerFlow, tradeoff::Tradeoff};
use dovetail_sim::record::{PacketLog, PacketRecord};
use dovetail_sim::{Arrival, Cost, Flow, List, Options, Pipeline, Source, TimeScale, Workload, simulate};
use dovetail_units::{ResourceVec, Time};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

/// Few enough that the fluid's chaos (see `dovetail_model::fluid`) does not tell the two fluids apart.
const PACKETS: usize = 120;
const SLACK_S: f64 = 2e-6;
const TAU_MAX_NS: u64 = 100_000;

/// A packet: arrival, flow and times in ns.
type Given = (u64, u32, [u64; 2]);

#[derive(Clone, Debug)]
struct Case {
    packets: Vec<Given>,
    alpha: f64,
    /// Whether every flow's packets share a dominant resource.
    monotonic: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let time = || 1_000..=TAU_MAX_NS;
    let gap = prop_oneof![3 => Just(0u64), 2 => 0..50_000u64, 1 => 0..2_000_000u64];
    let packet = (gap, 0..12u32, time(), time());
    let packets = prop::collection::vec(packet, 1..PACKETS);
    (packets, 1..=12u32, prop_oneof![Just(1.0), Just(0.85), 0.05..1.0_f64], any::<bool>()).prop_map(
        |(packets, flows, alpha, monotonic)| {
            let mut now = 0;
            let packets = packets.into_iter().map(|(gap, flow, a, b)| {
                now += gap;
                let flow = flow % flows;
                // Even flows need more CPU, odd ones more link.
                let ordered = if flow % 2 == 0 { [a.max(b), a.min(b)] } else { [a.min(b), a.max(b)] };
                (now, flow, if monotonic { ordered } else { [a, b] })
            });
            Case { packets: packets.collect(), alpha, monotonic }
        },
    )
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn flows(case: &Case) -> usize {
    case.packets.iter().map(|p| p.1 as usize + 1).max().unwrap_or(0)
}

fn fluid_of(case: &Case) -> fluid::Outcome {
    let mut input = Input::new(2).unwrap();
    for _ in 0..flows(case) {
        input.add_flow(1.0).unwrap();
    }
    for &(at, flow, times) in &case.packets {
        input.push(flow as usize, seconds(at), &times.map(seconds)).unwrap();
    }
    let policy = Policy::Tradeoff(dovetail_model::Tradeoff::new(case.alpha, Ties::Rotate).unwrap());
    fluid::run(&input, &policy).unwrap()
}

fn packets_of(case: &Case) -> Vec<PacketRecord<2>> {
    let arrivals: Vec<Arrival> =
        case.packets.iter().map(|&(at, flow, _)| Arrival { time: Time::from_nanos(at), flow, size: 1 }).collect();
    let costs: Vec<_> = case.packets.iter().map(|p| ResourceVec::from_nanos(p.2)).collect();
    let list = List { arrivals: arrivals.into(), costs: Some(costs.into()), scale: TimeScale::ONE };
    let workload = Workload {
        flows: (0..flows(case)).map(|f| Flow::new(format!("{f}"), [Cost::PerPacket; 2])).collect(),
        sources: vec![Source::List(list)],
    };
    let mut log = PacketLog::new(usize::MAX);
    let mut scheduler = PerFlow::new(Tradeoff::with_tolerance(case.alpha, 0.0).unwrap());
    simulate(&workload, &Pipeline::new(["cpu", "link"]), &mut scheduler, &mut log, Options::default()).unwrap();
    log.records().to_vec()
}

/// The most flows that are backlogged in the fluid at one time; a flow that ends where another begins counts with it.
fn concurrent(case: &Case, fluid: &fluid::Outcome) -> usize {
    let mut changes: Vec<(f64, bool, usize)> = Vec::new();
    for flow in 0..flows(case) {
        let arrivals = case.packets.iter().filter(|p| p.1 as usize == flow).map(|p| seconds(p.0));
        changes.extend(arrivals.map(|time| (time, false, flow)));
        changes.extend(fluid.finishes_s(flow).iter().map(|&time| (time, true, flow)));
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut packets, mut most) = (vec![0; flows(case)], 0);
    for (_, leaves, flow) in changes {
        packets[flow] = if leaves { packets[flow] - 1 } else { packets[flow] + 1 };
        most = most.max(packets.iter().filter(|&&p| p > 0).count());
    }
    most
}

fn longest(case: &Case) -> f64 {
    seconds(case.packets.iter().flat_map(|p| p.2).max().unwrap_or(0))
}

/// When packet service on the dominant resource began and ended, of one flow in seconds.
fn dominant_spans(log: &[PacketRecord<2>], flow: u32) -> Vec<[f64; 2]> {
    let span = |p: &PacketRecord<2>| {
        let r = p.packet.cost.dominant_resource();
        [p.started[r].unwrap().as_secs_f64(), p.finished[r].unwrap().as_secs_f64()]
    };
    log.iter().filter(|p| p.packet.flow == flow).map(span).collect()
}

fn served_until(spans: &[[f64; 2]], time: f64) -> f64 {
    spans.iter().map(|&[from, to]| time.clamp(from, to) - from).sum()
}

/// The worst of each bound, as a part of what it allows.
#[derive(Clone, Copy, Default, Debug)]
struct Worst {
    makespan: f64,
    behind: f64,
    ahead: f64,
    start: f64,
}

impl Worst {
    fn or(self, other: Self) -> Self {
        Self {
            makespan: self.makespan.max(other.makespan),
            behind: self.behind.max(other.behind),
            ahead: self.ahead.max(other.ahead),
            start: self.start.max(other.start),
        }
    }
}

fn check(case: &Case) -> Result<Worst, TestCaseError> {
    let (fluid, log) = (fluid_of(case), packets_of(case));
    let (n, tau_max) = (concurrent(case, &fluid), longest(case));
    let mut worst = Worst::default();

    let last = log.iter().filter_map(|p| p.finished[1]).max().unwrap_or_default().as_secs_f64();
    let allowed = bounds::tracking_makespan_s(fluid.last_finish_s(), n, tau_max);
    prop_assert!(last <= allowed + SLACK_S, "Theorem 4: ends at {last}, at most {allowed}");
    worst.makespan = (last - fluid.last_finish_s()) / (n as f64 * tau_max);

    let deviation = match case.monotonic {
        true => bounds::tracking_deviation(n, tau_max),
        false => bounds::tracking_deviation_any_flow(n, tau_max),
    };
    for flow in 0..flows(case) {
        let spans = dominant_spans(&log, flow as u32);
        // Both are piecewise linear, so the extremes are where one of them bends.
        let bends = spans.iter().flatten().copied().chain(fluid.service_curve(flow).iter().map(|p| p.0));
        for time in bends {
            let ahead = served_until(&spans, time) - fluid.dominant_service_s(flow, time);
            prop_assert!(ahead <= deviation.ahead_s + SLACK_S, "Theorem 5: flow {flow} is {ahead} ahead at {time}");
            prop_assert!(
                -ahead <= deviation.behind_s + SLACK_S,
                "Theorem 5: flow {flow} is {} behind at {time}",
                -ahead
            );
            worst.ahead = worst.ahead.max(ahead / deviation.ahead_s);
            worst.behind = worst.behind.max(-ahead / deviation.behind_s.max(tau_max));
        }
        let starts = log.iter().filter(|p| p.packet.flow as usize == flow).map(|p| p.started[0].unwrap().as_secs_f64());
        for (start, &in_fluid) in starts.zip(fluid.starts_s(flow)) {
            let late = start - in_fluid;
            let allowed = (n - 1) as f64 * tau_max;
            prop_assert!(late <= allowed + SLACK_S, "Lemma 4: flow {flow} starts {late} late");
            prop_assert!(late >= -SLACK_S, "flow {flow} starts {} before the fluid", -late);
            worst.start = worst.start.max(late / allowed.max(tau_max));
        }
    }
    Ok(worst)
}

#[test]
fn the_packet_schedule_stays_within_theorems_4_and_5_and_lemma_4() {
    let worst = Cell::new(Worst::default());
    let config = ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(5),
        max_shrink_iters: 2000,
        ..ProptestConfig::default()
    };
    let result = TestRunner::new(config).run(&cases(), |case| {
        worst.set(worst.get().or(check(&case)?));
        Ok(())
    });
    println!("worst, as a part of what is allowed: {:?}", worst.get());
    result.unwrap();
}

#[test]
fn the_printed_lower_side_of_theorem_5_fails_for_a_single_flow() {
    let case = Case { packets: vec![(0, 0, [2_000, 17_000])], alpha: 1.0, monotonic: true };
    let (fluid, log) = (fluid_of(&case), packets_of(&case));
    let cpu_done = 2e-6;
    let behind = fluid.dominant_service_s(0, cpu_done) - served_until(&dominant_spans(&log, 0), cpu_done);
    // 2 (n - 1) tau_max is zero; the packet is 2 us behind. Sums of a few f64 below 1e-4.
    assert!((behind - 2e-6).abs() < 1e-18, "{behind}");
    check(&case).unwrap();
}

#[test]
fn weighted_flows_keep_their_part_in_the_long_run() {
    // Six flows, always backlogged; d = 1 / max_r sum_i w_i tbar_ir. Each must get alpha w_i d of the time, but for
    // what a packet schedule may be behind its fluid at the end of the horizon: less than 2 n tau_max (Theorem 5).
    use dovetail_sched::{FlowConfig, Next, Packet, Scheduler};
    use dovetail_units::Weight;
    let costs = [[9_000, 1_000], [1_000, 8_000], [5_000, 5_000], [7_000, 14_000], [3_000, 1_000], [2_000, 9_000u64]];
    let weights = [1000, 500, 2500, 4000, 1000, 333u32];
    for alpha in [1.0, 0.85, 0.5, 0.2] {
        let mut scheduler = PerFlow::new(Tradeoff::new(alpha).unwrap());
        let mut load = [0.0, 0.0];
        for (cost, weight) in costs.iter().zip(weights) {
            let weight = Weight::from_milli(weight).unwrap();
            let flow = scheduler.add_flow(FlowConfig { weight, ..FlowConfig::default() });
            let cost = ResourceVec::from_nanos(*cost);
            for r in 0..2 {
                load[r] += weight.as_f64() * cost[r].as_secs_f64() / cost.dominant_time().as_secs_f64();
            }
            for _ in 0..20_000 {
                scheduler.enqueue(Time::ZERO, Packet { flow, size: 1, cost, payload: flow.index() }).unwrap();
            }
        }
        // Only the entrance counts here: the scheduler is asked whenever the CPU is free.
        let (mut now, mut served, horizon) = (Time::ZERO, [0.0; 6], Time::from_nanos(50_000_000));
        while now < horizon {
            match scheduler.next(now) {
                Next::Serve(packet) => {
                    let cost = packet.ticket.charged();
                    served[packet.payload] += cost.dominant_time().as_secs_f64();
                    now += cost[0];
                }
                Next::At(time) => now = time,
                other => panic!("{other:?}"),
            }
        }
        let fair = 1.0 / load[0].max(load[1]);
        for (flow, weight) in weights.into_iter().enumerate() {
            let owed = alpha * f64::from(weight) / 1000.0 * fair * horizon.as_secs_f64();
            let behind = 2.0 * 6.0 * 14e-6;
            assert!(served[flow] >= owed - behind, "alpha {alpha}, flow {flow}: {} of {owed}", served[flow]);
        }
    }
}
