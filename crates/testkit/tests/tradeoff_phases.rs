//! When flows send that ask for less than their share decides who has the bonus meanwhile: the packet schedule,
//! simulated, against the fluid and numbers by hand.
//!
//! Twenty flows each of `checking`, `monitoring` and `ipsec` as in the lab's `gateway` at alpha = 0.85, where the link
//! is dominant for all: 32 us a packet, besides 10, 11 and 29 us of CPU. `ipsec` flows send 500 packets a second each,
//! 32 % of the link in all, the others always wait. Order (23) is ipsec, monitoring, checking, so the bonus, 0.15 of
//! the link, goes to an ipsec packet while one waits in the fluid, and to a monitoring packet otherwise.

use dovetail_model::fluid::{self, Input, Policy};
use dovetail_model::{Ties, Tradeoff as Model};
use dovetail_sched::{PerFlow, tradeoff::Tradeoff};
use dovetail_sim::record::PacketLog;
use dovetail_sim::{Arrival, Cost, Flow, List, Options, Pipeline, Source, TimeScale, Workload, simulate};
use dovetail_units::{ResourceVec, Time};

const ALPHA: f64 = 0.85;
const FLOWS: u32 = 20;
const LINK_NS: u64 = 32_000;
const LINK_S: f64 = 32e-6;
/// By class: time on the CPU, and between two packets of a flow.
const CLASSES: [(u64, u64); 3] = [(10_000, 1_333_333), (11_000, 1_333_333), (29_000, 2_000_000)];
/// What is looked at, after all queues have built up: whole periods of the ipsec flows.
const FROM_S: f64 = 0.5;
const TO_S: f64 = 1.5;

/// Packets by time and flow. `start`: when flow k of a class with this interval sends first.
fn packets(start: fn(u64, u64) -> u64) -> Vec<(u64, u32)> {
    let mut packets = Vec::new();
    for (class, (_, interval)) in (0..).zip(CLASSES) {
        for k in 0..FLOWS {
            let times = (0..).map(|n| start(u64::from(k), interval) + n * interval);
            packets.extend(times.take_while(|&at| at < 1_500_000_000).map(|at| (at, class * FLOWS + k)));
        }
    }
    packets.sort_unstable();
    packets
}

fn times(flow: u32) -> [u64; 2] {
    [CLASSES[(flow / FLOWS) as usize].0, LINK_NS]
}

/// The part of the link that each class has in the fluid.
fn in_the_fluid(packets: &[(u64, u32)]) -> [f64; 3] {
    let mut input = Input::new(2).unwrap();
    (0..3 * FLOWS).for_each(|_| assert!(input.add_flow(1.0).is_ok()));
    for &(at, flow) in packets {
        input.push(flow as usize, at as f64 / 1e9, &times(flow).map(|ns| ns as f64 / 1e9)).unwrap();
    }
    let outcome = fluid::run(&input, &Policy::Tradeoff(Model::new(ALPHA, Ties::Rotate).unwrap())).unwrap();
    let served = |flow: u32| [FROM_S, TO_S].map(|time| outcome.dominant_service_s(flow as usize, time));
    [0, 1, 2].map(|class| (0..FLOWS).map(|k| served(class * FLOWS + k)).map(|[from, to]| to - from).sum())
}

/// The same of the packet schedule.
fn of_packets(packets: &[(u64, u32)]) -> [f64; 3] {
    let arrivals: Vec<Arrival> =
        packets.iter().map(|&(at, flow)| Arrival { time: Time::from_nanos(at), flow, size: 1 }).collect();
    let costs: Vec<_> = packets.iter().map(|&(_, flow)| ResourceVec::from_nanos(times(flow))).collect();
    let list = List { arrivals: arrivals.into(), costs: Some(costs.into()), scale: TimeScale::ONE };
    let flows = (0..3 * FLOWS).map(|f| Flow::new(format!("{f}"), [Cost::PerPacket; 2])).collect();
    let workload = Workload { flows, sources: vec![Source::List(list)] };
    let mut log = PacketLog::new(usize::MAX);
    let mut scheduler = PerFlow::new(Tradeoff::new(ALPHA).unwrap());
    simulate(&workload, &Pipeline::new(["cpu", "link"]), &mut scheduler, &mut log, Options::default()).unwrap();
    let mut served = [0.0; 3];
    for packet in log.records() {
        if let [Some(from), Some(to)] = [packet.started[1], packet.finished[1]].map(|time| time.map(Time::as_secs_f64))
        {
            served[(packet.packet.flow / FLOWS) as usize] += to.min(TO_S) - from.max(FROM_S).min(to.min(TO_S));
        }
    }
    served
}

fn assert_close(found: [f64; 3], expected: [f64; 3], within: f64, what: &str) {
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() <= within, "{what}: {found:?} instead of {expected:?}");
    }
}

/// For how long, in seconds, an ipsec packet waits in the fluid if all flows send one at once: one after another has
/// the bonus besides its guaranteed share.
fn backlogged_s() -> f64 {
    let (mut each, mut time) = (0.0, 0.0);
    for left in (1..=FLOWS).rev() {
        let guaranteed = ALPHA / f64::from(2 * FLOWS + left);
        let span = (LINK_S - each) / (guaranteed + 1.0 - ALPHA);
        each += guaranteed * span;
        time += span;
    }
    time
}

/// A packet ends on the link at most (2n - 1) L after it does in the fluid (Lemma 5), which gives a class no more than
/// half of what is guaranteed and the bonus; and none has had service that has not started in the fluid, a packet of
/// each of its flows at most. So much at either end.
fn allowed() -> f64 {
    let behind = f64::from(2 * 3 * FLOWS - 1) * LINK_S * (0.5 * ALPHA + 1.0 - ALPHA);
    behind + f64::from(FLOWS) * LINK_S
}

#[test]
fn flows_that_send_at_once_leave_the_bonus_to_others_meanwhile() {
    let packets = packets(|_, _| 0);
    let bonus = (1.0 - ALPHA) * (1.0 - backlogged_s() / 2e-3);
    let ipsec = f64::from(FLOWS) * 500.0 * LINK_S;
    let others = (1.0 - ipsec - bonus) / 2.0;
    let expected = [others, others + bonus, ipsec].map(|share| share * (TO_S - FROM_S));
    // Of 200 Mbit/s: what the simulation of `gateway` came to.
    assert_close(expected.map(|s| 200.0 * s), [66.285, 69.715, 64.0], 5e-4, "by hand");
    assert_close(in_the_fluid(&packets), expected, 1e-6, "the fluid");
    assert_close(of_packets(&packets), expected, allowed(), "packets");
    assert!(expected[1] - expected[0] > 2.0 * allowed());
}

#[test]
fn flows_that_send_in_turns_keep_it() {
    let packets = packets(|k, interval| interval * k / u64::from(FLOWS));
    let ipsec = f64::from(FLOWS) * 500.0 * LINK_S;
    let expected = [(1.0 - ipsec) / 2.0, (1.0 - ipsec) / 2.0, ipsec];
    // An ipsec flow has a packet more or less under way at either end.
    assert_close(in_the_fluid(&packets), expected, f64::from(FLOWS) * LINK_S, "the fluid");
    assert_close(of_packets(&packets), expected, f64::from(FLOWS) * LINK_S + allowed(), "packets");
}
