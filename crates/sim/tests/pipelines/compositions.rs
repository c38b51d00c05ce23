//! Pipelines with a scheduler in front of every resource.

use crate::common::{Given, at, fifo, listed, ns, pipeline, record, record_all, simulate_all};
use dovetail_sched::{Schedulers, Shape, build_all};
use dovetail_sim::record::{PacketOutcome, PacketRecord};
use dovetail_sim::{Buffer, Change, End, Options, RunResult, SimError, Workload};
use dovetail_units::Weight;
use proptest::prelude::*;

fn composed<const M: usize>(spec: &str) -> Schedulers<M, u32> {
    build_all(&spec.parse().unwrap(), Shape { servers: M as u32 }).unwrap()
}

fn run<const M: usize>(
    spec: &str,
    workload: &Workload<M>,
    buffer: Buffer,
    servers: u32,
) -> (RunResult<M>, Vec<PacketRecord<M>>) {
    let mut pipeline = pipeline();
    for resource in &mut pipeline.resources {
        (resource.servers, resource.buffer) = (servers, buffer);
    }
    record_all(workload, &pipeline, &mut composed(spec), ns(1000), Options::default())
}

/// Packets by number in the order in which they start on a resource.
fn order<const M: usize>(log: &[PacketRecord<M>], resource: usize) -> Vec<u64> {
    let mut started: Vec<_> = log.iter().filter_map(|p| Some((p.started[resource]?, p.packet.number))).collect();
    started.sort_unstable();
    started.into_iter().map(|(_, number)| number).collect()
}

#[test]
fn the_second_resource_is_shared_by_its_own_scheduler() {
    // Four packets of flow 0 are there before one of flow 1. The CPU (1 ns) is through with all while the link (10 ns)
    // still has the first; then flow 1, which has had nothing of the link, comes before the rest of flow 0.
    let packets = [(0, 0, [1, 10]), (0, 0, [1, 10]), (0, 0, [1, 10]), (0, 0, [1, 10]), (1, 1, [1, 10])];
    let (_, alone) = record(&listed(&packets), &pipeline(), &mut *fifo(), ns(1000), Options::default());
    assert_eq!(order(&alone, 1), [0, 1, 2, 3, 4]);
    let (sooner, later) =
        (["fifo+sfq:newcomers=free", "fifo+wfq"], ["fifo+sfq", "fifo+drr", "fifo+wf2q+", "fifo+scfq"]);
    for (spec, latest) in sooner.map(|spec| (spec, 1)).into_iter().chain(later.map(|spec| (spec, 2))) {
        let (_, log) = run(spec, &listed(&packets), Buffer::Unlimited, 1);
        assert_eq!(order(&log, 0), [0, 1, 2, 3, 4], "{spec}");
        // Flow 1's packet starts at 0 by sfq as published and at 4 by wfq, flow 0's next one at 10. To the others both
        // are equal, and flow 0 goes first.
        let place = order(&log, 1).iter().position(|&number| number == 4).unwrap();
        assert_eq!(place, latest, "{spec}");
    }
}

#[test]
fn a_packet_that_finds_its_flows_buffer_full_is_lost_after_processing() {
    // On the link is packet 0, in the buffer packet 1; 2 and 3 are through with the CPU before it has room. Flow 1 has
    // its own.
    let packets = [(0, 0, [1, 10]), (0, 0, [1, 10]), (0, 0, [1, 10]), (0, 0, [1, 10]), (1, 1, [1, 10])];
    let (result, log) = run("fifo+drr:buffer=1", &listed(&packets), Buffer::Unlimited, 1);
    let lost: Vec<u64> =
        log.iter().filter(|p| p.outcome == PacketOutcome::Dropped(1)).map(|p| p.packet.number).collect();
    assert_eq!(lost, [2, 3]);
    assert_eq!(
        (result.flows[0].losses().dropped, result.flows[1].losses().packets(), result.outcome.tally.dropped),
        (2, 0, 2)
    );
    assert_eq!(result.resources[0].busy, ns(5), "the work on them is done");
}

#[test]
fn held_packets_wait_in_front_of_the_resource_before_and_others_pass() {
    // With a window of one packet, each flow's second packet is let into the order of arrival when its first starts on
    // the link. Packet 0 does so at 1, behind which packet 1 comes after packet 3; both are through with the CPU
    // long before the link is free at 11, which then takes 3 (no time) and 1 and so sets 4 and 2 free.
    let packets = [(0, 0, [1, 10]), (0, 0, [1, 10]), (0, 0, [1, 10]), (0, 1, [1, 0]), (0, 1, [1, 0])];
    let (result, log) = run("fifo+sfq:full=hold,buffer=1", &listed(&packets), Buffer::Unlimited, 1);
    let starts: Vec<u64> = log.iter().map(|p| p.started[0].unwrap().as_nanos()).collect();
    assert_eq!(starts, [0, 2, 12, 1, 11]);
    assert_eq!(result.outcome.tally.delivered, 5);
}

#[test]
fn weights_count_on_every_resource() {
    // The link is the bottleneck; fifo lets all in. Of 40 equal packets each, the first 40 on the link are 3 to 1
    // (within the packet of each flow that sfq may be off).
    let mut packets: Vec<Given<2>> = Vec::new();
    for _ in 0..40 {
        packets.extend([(0, 0, [1, 100]), (0, 1, [1, 100])]);
    }
    let mut workload = listed(&packets);
    workload.flows[0].weight = Weight::from_milli(3000).unwrap();
    let (_, log) = run("fifo+sfq", &workload, Buffer::Unlimited, 1);
    let first = order(&log, 1)[..40].iter().filter(|&&number| number % 2 == 0).count();
    assert!((29..=31).contains(&first), "{first} of 40");
}

#[test]
fn changes_go_to_every_scheduler_that_has_the_parameter() {
    let change = |parameter: &str, value: &str| {
        let changes = vec![Change { at: at(1), parameter: parameter.into(), value: value.into() }];
        let options = Options { changes, ..Options::default() };
        simulate_all(&listed(&[(0, 0, [5, 5])]), &pipeline::<2>(), &mut composed("sfq+drr"), &mut (), options)
    };
    assert!(change("quantum", "12 us").is_ok());
    for (parameter, value) in [("quantum", "fast"), ("buffer", "3"), ("resource", "1"), ("alpha", "1")] {
        assert!(matches!(change(parameter, value), Err(SimError::Parameter { .. })), "{parameter}={value}");
    }
}

const SPECS: [&str; 5] = [
    "drr+drr+drr:full=hold,buffer=1",
    "sfq+wfq+scfq:full=hold,buffer=2",
    "wf2q++fifo+sfq:full=hold,buffer=3",
    "fifo+fifo+fifo:full=hold,buffer=2",
    "wfq+drr+sfq:buffer=1",
];

fn packets() -> impl Strategy<Value = Vec<Given<3>>> {
    let packet = (0..20u64, 0..3u32, [0..20u64, 0..20u64, 0..20u64]);
    proptest::collection::vec(packet, 1..60).prop_map(|drawn| {
        let arrivals = drawn.iter().scan(0, |now, &(gap, ..)| {
            *now += gap;
            Some(*now)
        });
        arrivals
            .collect::<Vec<u64>>()
            .into_iter()
            .zip(&drawn)
            .map(|(now, &(_, flow, cost))| (now, flow, cost))
            .collect()
    })
}

fn buffers() -> impl Strategy<Value = Buffer> {
    prop_oneof![Just(Buffer::Unlimited), (0..3u32).prop_map(Buffer::Blocking), (0..3u32).prop_map(Buffer::Dropping)]
}

/// The most packets of one flow that are past the start of a resource and before that of the next, at any time.
fn most_on_their_way(log: &[PacketRecord<3>], flow: u32, resource: usize) -> usize {
    let of_flow = || log.iter().filter(|p| p.packet.flow == flow);
    let starts = of_flow().filter_map(|p| p.started[resource]);
    let on_the_way = |now| {
        let there = |p: &&PacketRecord<3>| {
            let gone = p.started[resource + 1].or(p.finished[resource].filter(|_| p.started[resource + 1].is_none()));
            p.started[resource].is_some_and(|t| t <= now) && gone.is_none_or(|t| t > now)
        };
        of_flow().filter(there).count()
    };
    starts.map(on_the_way).max().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_packet_is_accounted_for_and_none_starves(
        spec in proptest::sample::select(&SPECS[..]), packets in packets(), buffer in buffers(), servers in 1..3u32,
    ) {
        let (result, log) = run(spec, &listed(&packets), buffer, servers);
        let t = result.outcome.tally;
        // A run without a horizon ends when all packets have left.
        prop_assert_eq!(result.outcome.end, End::Drained);
        prop_assert_eq!((t.offered, t.waiting, t.in_pipeline), (packets.len() as u64, 0, 0));
        prop_assert_eq!(t.offered, t.delivered + t.dropped);
        if servers == 1 {
            for flow in 0..3 {
                let ends: Vec<_> = log.iter().filter(|p| p.packet.flow == flow).filter_map(|p| p.finished[2]).collect();
                prop_assert!(ends.is_sorted());
            }
        }
    }

    #[test]
    fn holding_bounds_every_flow_in_front_of_every_resource(
        (spec, window) in proptest::sample::select(vec![(SPECS[0], 1), (SPECS[1], 2), (SPECS[2], 3), (SPECS[3], 2)]),
        packets in packets(), servers in 1..3u32,
    ) {
        let (result, log) = run(spec, &listed(&packets), Buffer::Unlimited, servers);
        prop_assert_eq!(result.outcome.tally.dropped, 0);
        for (flow, resource) in (0..3).flat_map(|flow| [(flow, 0), (flow, 1)]) {
            let most = most_on_their_way(&log, flow, resource);
            prop_assert!(most <= window, "{} packets of flow {} behind resource {}", most, flow, resource);
        }
    }

    /// First come, first served on every resource is what plain buffers do, with packets that need each but the last.
    #[test]
    fn fifo_on_every_resource_is_fifo(packets in packets(), buffer in buffers(), servers in 1..3u32) {
        let packets: Vec<Given<3>> =
            packets
            .into_iter()
            .map(|(now, flow, [first, rest @ ..])| (now, flow, [first.max(1), rest[0].max(1), rest[1]]))
            .collect();
        let mut plain = pipeline();
        for resource in &mut plain.resources {
            (resource.servers, resource.buffer) = (servers, buffer);
        }
        let expected = record(&listed(&packets), &plain, &mut *fifo(), ns(1000), Options::default());
        prop_assert_eq!(run("fifo+fifo+fifo:buffer=none", &listed(&packets), buffer, servers), expected);
    }
}
