//! What goes wrong in a DRFQ that is written down too literally, or is asked to remember too much.

use dovetail_sched::{Shape, build};
use dovetail_sim::record::PacketLog;
use dovetail_sim::{Arrival, Cost, Flow, List, Options, Pipeline, Source, TimeScale, Workload, simulate};
use dovetail_units::{ResourceVec, Time};

/// One unit of time of these examples.
const UNIT: u64 = 10_000;

/// Packets of A (flow 0) and B (flow 1): (arrival in units, flow, count, cost in tenths of a unit). Returns, for every
/// packet served, its flow, and its start and end on the first resource in units.
fn run(spec: &str, bursts: &[(u64, u32, usize, [u64; 2])]) -> Vec<(u32, f64, f64)> {
    let (mut arrivals, mut costs) = (Vec::new(), Vec::new());
    for &(at, flow, count, cost) in bursts {
        for _ in 0..count {
            arrivals.push(Arrival { time: Time::from_nanos(at * UNIT), flow, size: 1 });
            costs.push(ResourceVec::from_nanos(cost.map(|tenths| tenths * UNIT / 10)));
        }
    }
    let list = List { arrivals: arrivals.into(), costs: Some(costs.into()), scale: TimeScale::ONE };
    let flows = ["A", "B"].map(|name| Flow::new(name, [Cost::PerPacket; 2])).to_vec();
    let workload = Workload { flows, sources: vec![Source::List(list)] };
    let mut scheduler = build::<2, u32>(&spec.parse().unwrap(), Shape::default()).unwrap();
    let mut log = PacketLog::new(usize::MAX);
    simulate(&workload, &Pipeline::new(["r1", "r2"]), &mut *scheduler, &mut log, Options::default()).unwrap();
    let units = |time: Option<Time>| time.unwrap().as_nanos() as f64 / UNIT as f64;
    log.records().iter().map(|p| (p.packet.flow, units(p.started[0]), units(p.finished[0]))).collect()
}

/// The share of the first resource that A has in an interval.
fn share_of_a(served: &[(u32, f64, f64)], from: f64, to: f64) -> f64 {
    let within = |&(_, start, end): &(u32, f64, f64)| end.clamp(from, to) - start.clamp(from, to);
    served.iter().filter(|p| p.0 == 0).map(within).sum::<f64>() / (to - from)
}

#[test]
fn a_flow_that_used_an_idle_system_does_not_wait_for_what_it_used() {
    // A alone until 500; nothing; both from 600. With V = 0 on the empty pipeline and A's finish tags kept, A would
    // wait 500 units.
    for spec in ["drfq", "drfq:mode=dovetail", "drfq:delta=50 us"] {
        let served = run(spec, &[(0, 0, 500, [10, 10]), (600, 0, 1000, [10, 10]), (600, 1, 1000, [10, 10])]);
        let wait =
            |flow| served.iter().filter(|p| p.0 == flow && p.1 >= 600.0).map(|p| p.1 - 600.0).fold(f64::MAX, f64::min);
        // One packet of the other, and those that are in the window (4 per server) already.
        assert!(wait(0) <= 8.0 && wait(1) <= 8.0, "{spec}: A waits {}, B {}", wait(0), wait(1));
        let share = share_of_a(&served, 600.0, 700.0);
        assert!((share - 0.5).abs() <= 0.01, "{spec}: A has {share}");
    }
}

#[test]
fn dovetailing_remembers_what_others_used_and_delta_caps_it() {
    // A = <1, 0.2> since 0, B = <0.1, 1> from 500. At once fair: x + 0.1 x = 1 on r1 with equal dominant service,
    // bounded by r2: x + 0.2 x = 1, so 0.83 each.
    let share = |spec: &str, until: f64| {
        let served = run(spec, &[(0, 0, 3000, [10, 2]), (500, 1, 3000, [1, 10])]);
        share_of_a(&served, 500.0, until)
    };
    let memoryless = share("drfq:window=4", 600.0);
    assert!((memoryless - 0.83).abs() < 0.05, "memoryless: {memoryless}");
    // The second resource's virtual time is at 100 when the first's is at 500: B may have 400 units before A has its
    // share again, and has ten packets' time on r2 for each on r1.
    let pinned = share("drfq:mode=dovetail,window=4", 850.0);
    assert!((pinned - 0.10).abs() < 0.05, "dovetail: {pinned}");
    let [short, medium, long] =
        ["50 us", "200 us", "1 ms"].map(|delta| share(&format!("drfq:delta={delta},window=4"), 600.0));
    assert!(memoryless >= short && short > medium && medium > long, "{memoryless} {short} {medium} {long}");
    assert!(
        (short - 0.79).abs() < 0.05 && (medium - 0.67).abs() < 0.05 && (long - 0.10).abs() < 0.05,
        "{short} {medium} {long}"
    );
}
