//! Figures 1 and 9 of the ATFQ paper: utilisations of two resources without a buffer between them.

use dovetail_sched::{FlowConfig, FlowId, Shape, build};
use dovetail_testkit::no_wait::Driver;
use dovetail_units::ResourceVec;

/// Packets that each flow keeps waiting: more than any has in a loop.
const DEPTH: usize = 100;

/// Serve so many packets of flows that are always backlogged, each with packets of one kind; returns the driver and the
/// packets of each flow.
fn serve(spec: &str, kinds: &[[u64; 2]], packets: usize) -> (Driver<2>, Vec<u64>) {
    let mut driver = Driver::<2>::new(build(&spec.parse().unwrap(), Shape::default()).unwrap());
    let flows: Vec<FlowId> = kinds.iter().map(|_| driver.scheduler.add_flow(FlowConfig::default())).collect();
    for (&flow, &kind) in flows.iter().zip(kinds) {
        (0..DEPTH).for_each(|_| driver.offer(flow, ResourceVec::from_nanos(kind), 0));
    }
    let mut served = vec![0; kinds.len()];
    for _ in 0..packets {
        let packet = driver.serve(|_, _, cost| cost).unwrap();
        served[packet.flow] += 1;
        driver.offer(flows[packet.flow], ResourceVec::from_nanos(kinds[packet.flow]), 0);
    }
    (driver, served)
}

/// Busy time of both resources from the packet `from` to the packet `to`, in per cent.
fn utilization(spec: &str, kinds: &[[u64; 2]], from: usize, to: usize) -> [f64; 2] {
    let [before, after] = [from, to].map(|packets| serve(spec, kinds, packets).0.pipeline);
    let time = (after.free_at(0) - before.free_at(0)) as f64;
    [0, 1].map(|r| 100.0 * (after.busy(r) - before.busy(r)) as f64 / time)
}

#[test]
fn figure_1() {
    // Packets of U take 4 and 4, those of V 2 and 1. Of ten units of time (U V V), the CPU is busy for 8 and the link
    // for 6; of 18 units (U U V V V V), for 16 and 12. Whole periods, without the first one.
    const KINDS: [[u64; 2]; 2] = [[4, 4], [2, 1]];
    assert_eq!(utilization("atfq:loop=1", &KINDS, 12, 612), [80.0, 60.0]);
    assert_eq!(utilization("drfq", &KINDS, 12, 612), [80.0, 60.0]);
    // Each loop is one U and two V, and begins with the flow that the loop before ended with: V V U, U V V, V V U.
    assert_eq!(utilization("atfq:loop=3", &KINDS, 12, 612), [1600.0 / 18.0, 1200.0 / 18.0]);
    // Loops twice as long lose half as much: of 34 units (V V V V U U, U U V V V V), the CPU is busy for 32.
    assert_eq!(utilization("atfq:loop=6", &KINDS, 12, 612), [3200.0 / 34.0, 2400.0 / 34.0]);
}

/// The paper's 20 flows: Table II at packet sizes of 200 to 1000 B; a 400 Mb/s link.
fn twenty_flows() -> Vec<[u64; 2]> {
    const TABLE_2: [[f64; 2]; 4] = [[0.015, 84.5], [0.0008, 12.1], [0.00286, 6.2], [0.006987, 10.97]];
    let times = |[slope, fixed]: [f64; 2], size: u32| {
        let cpu = 1000.0 * (slope * f64::from(size) + fixed);
        [cpu.round() as u64, u64::from(size) * 8 * 1000 / 400]
    };
    TABLE_2.iter().flat_map(|&module| [200, 400, 600, 800, 1000].map(|size| times(module, size))).collect()
}

#[test]
fn figure_9() {
    for (spec, paper) in [
        ("drfq", [86.42, 61.84]),
        ("atfq:loop=1", [86.42, 61.84]),
        ("atfq:loop=5", [92.23, 66.0]),
        ("atfq:loop=20", [96.06, 68.74]),
    ] {
        let ours = utilization(spec, &twenty_flows(), 0, 40_000);
        println!("{spec}: {:.2} {:.2}", ours[0], ours[1]);
        for (ours, paper) in ours.iter().zip(paper) {
            assert!((ours - paper).abs() <= 1.5, "{spec}: {ours}, in the paper {paper}");
        }
    }
}

#[test]
fn active_time_is_shared_equally() {
    // Of packets of one kind, each lengthens its flow's active time by its dominant time. Loops of up to 100 packets of
    // 20 flows: five packets of the longest time and one more (`atfq_properties` derives it); a time domain of 200
    // us at first, which is halved when the difference is above flows * domain / gamma = 400 us.
    let kinds = twenty_flows();
    let longest = kinds.iter().map(|kind| kind[0].max(kind[1])).max().unwrap();
    // A flow that pays for its first packet pays for its time on the other resource too, which is not counted here.
    let first = kinds.iter().map(|kind| kind[0].min(kind[1])).max().unwrap();
    for (spec, allowed) in [
        ("atfq:newcomers=free,loop=1", longest),
        ("atfq:newcomers=free", 3 * longest),
        ("atfq:newcomers=free,loop=100", 7 * longest),
        ("atfq:newcomers=free,domain=200 us", 400_000 + longest),
        ("atfq:loop=1", longest + first),
        ("atfq", 3 * longest + first),
        ("atfq:loop=100", 7 * longest + first),
        ("atfq:domain=200 us", 400_000 + longest + first),
    ] {
        let (_, served) = serve(spec, &kinds, 10_000);
        let active: Vec<u64> = kinds.iter().zip(served).map(|(kind, packets)| packets * kind[0].max(kind[1])).collect();
        let difference = active.iter().max().unwrap() - active.iter().min().unwrap();
        assert!(difference <= allowed, "{spec}: {difference} > {allowed}");
    }
}
