//! Packets that need nothing on the first resource bypass it: PCFQ paper, section 2.2.

use crate::common::{Given, at, fifo, listed, ns, pipeline, record, record_all, ways};
use dovetail_sched::{Shape, build_all, catalog};
use dovetail_sim::record::{PacketOutcome, PacketRecord};
use dovetail_sim::{Buffer, End, Options, Pipeline, RunResult};
use proptest::prelude::*;

fn buffered(buffer: Buffer) -> Pipeline<2> {
    let mut pipeline = pipeline();
    pipeline.resources[1].buffer = buffer;
    pipeline
}

fn run_in(spec: &str, packets: &[Given<2>], pipeline: &Pipeline<2>) -> (RunResult<2>, Vec<PacketRecord<2>>) {
    let mut schedulers = build_all(&spec.parse().unwrap(), Shape { servers: 2 }).unwrap();
    record_all(&listed(packets), pipeline, &mut schedulers, ns(1000), Options::default())
}

/// When each packet starts and ends on the link.
fn on_link(spec: &str, packets: &[Given<2>], buffer: Buffer) -> Vec<(u64, u64)> {
    let (_, log) = run_in(spec, packets, &buffered(buffer));
    log.iter().map(|p| (p.started[1].unwrap().as_nanos(), p.finished[1].unwrap().as_nanos())).collect()
}

#[test]
fn it_does_not_wait_for_the_packet_in_processing() {
    let packets = [(0, 0, [10, 1]), (1, 1, [0, 5])];
    for spec in ["fifo", "pcfq", "cbcs", "drfq", "mr3", "drgps", "fifo+fifo", "drr+drr", "wfq+wfq"] {
        assert_eq!(on_link(spec, &packets, Buffer::Unlimited), [(10, 11), (1, 6)], "{spec}");
    }
}

#[test]
fn one_scheduler_for_all_resources_decides_in_its_order() {
    // Three flows wait for the CPU (until 10, 20, 30), then one comes that does not need it. First come, first served
    // it goes to the link when the last of the others starts on the CPU, behind the one that has just left it. So it
    // does by pcfq: its finish tag is 11 + 5, and those of the others are 11. With V off the tags of what waits it goes
    // ahead at once: V is 0, so that its finish tag is 5.
    let packets = [(0, 0, [10, 1]), (0, 1, [10, 1]), (0, 2, [10, 1]), (1, 3, [0, 5])];
    assert_eq!(on_link("fifo", &packets, Buffer::Unlimited), [(10, 11), (20, 21), (30, 31), (21, 26)]);
    assert_eq!(on_link("pcfq", &packets, Buffer::Unlimited), [(10, 11), (20, 21), (30, 31), (21, 26)]);
    assert_eq!(on_link("pcfq:clock=tags", &packets, Buffer::Unlimited), [(10, 11), (20, 21), (30, 31), (1, 6)]);
}

#[test]
fn past_separate_schedulers_it_goes_straight_to_the_link() {
    let packets = [(0, 0, [10, 1]), (0, 1, [10, 1]), (0, 2, [10, 1]), (1, 3, [0, 5])];
    for spec in ["fifo+fifo", "drr+drr", "wfq+wf2q+", "sfq+scfq", "drr+drr:full=hold,buffer=1"] {
        assert_eq!(on_link(spec, &packets, Buffer::Unlimited), [(10, 11), (20, 21), (30, 31), (1, 6)], "{spec}");
    }
}

#[test]
fn it_does_not_overtake_packets_of_its_flow() {
    // The second packet of flow 0 waits for the first to leave the CPU at 10; flow 1's, which came later, does not.
    let packets = [(0, 0, [10, 1]), (1, 0, [0, 5]), (2, 1, [0, 2])];
    for spec in ["drr+drr", "drr+drr:full=hold"] {
        assert_eq!(on_link(spec, &packets, Buffer::Unlimited), [(10, 11), (11, 16), (2, 4)], "{spec}");
    }
    assert_eq!(on_link("pcfq", &packets[..2], Buffer::Unlimited), [(10, 11), (11, 16)]);
}

#[test]
fn it_needs_room_in_front_of_the_link() {
    // From 1 to 21 the link is taken, and there is no buffer before it; from 1 to 31 the CPU is.
    let packets = [(0, 0, [1, 20]), (0, 0, [30, 1]), (2, 1, [0, 5])];
    for spec in ["fifo", "pcfq", "drr+drr"] {
        assert_eq!(on_link(spec, &packets, Buffer::Blocking(0)), [(1, 21), (31, 32), (21, 26)], "{spec}");
        let (_, log) = run_in(spec, &packets, &buffered(Buffer::Dropping(0)));
        assert_eq!(log[2].outcome, PacketOutcome::Dropped(1), "{spec}");
    }
}

#[test]
fn its_flows_buffer_in_front_of_the_link_bounds_it() {
    // The first is on the link until 10, the second in its flow's buffer of one packet, the third lost, or held until
    // there is room.
    let packets = [(0, 1, [50, 1]), (0, 0, [0, 10]), (0, 0, [0, 10]), (0, 0, [0, 10])];
    let (_, lost) = run_in("drr+drr:buffer=1", &packets, &pipeline());
    let outcomes: Vec<PacketOutcome> = lost.iter().map(|p| p.outcome).collect();
    let delivered = PacketOutcome::Delivered;
    assert_eq!(outcomes, [delivered, delivered, PacketOutcome::Dropped(1), PacketOutcome::Dropped(1)]);
    let (_, held) = run_in("drr+drr:full=hold,buffer=1", &packets, &pipeline());
    let way = |p: &PacketRecord<2>| (p.started[0].unwrap().as_nanos(), p.started[1].unwrap().as_nanos());
    assert_eq!(held.iter().map(way).collect::<Vec<_>>(), [(0, 50), (0, 0), (0, 10), (10, 20)]);
}

#[test]
fn without_waiting_between_resources_the_schedulers_order_holds() {
    let packets = [(0, 0, [10, 1]), (1, 1, [0, 5])];
    assert_eq!(on_link("fifo", &packets, Buffer::NoWait), [(10, 11), (11, 16)]);
}

#[test]
fn a_single_resource_is_never_bypassed() {
    let (outcome, log) = ways(&[(0, 0, [10]), (1, 1, [0])], &pipeline::<1>());
    assert_eq!((outcome.tally.delivered, log[1].started[0]), (2, Some(at(10))));
}

/// When each packet starts on the last of three resources, with a buffer of so many packets in front of it.
fn past_the_second(packets: &[Given<3>], places: Buffer) -> Vec<u64> {
    let mut pipeline = pipeline::<3>();
    pipeline.resources[2].buffer = places;
    let (_, log) = record(&listed(packets), &pipeline, &mut *fifo(), ns(1000), Options::default());
    log.iter().map(|p| p.started[2].unwrap().as_nanos()).collect()
}

#[test]
fn it_goes_past_those_that_are_on_a_resource_between() {
    // The second of three resources has the first packet from 1 to 11, the second one waits for it until then; the
    // third, which is through with the first resource at 3, goes past both.
    let packets = [(0, 0, [1, 10, 4]), (0, 1, [1, 10, 4]), (0, 2, [1, 0, 4])];
    assert_eq!(past_the_second(&packets, Buffer::Unlimited), [11, 21, 3]);
}

#[test]
fn it_does_not_go_past_packets_of_its_flow() {
    let packets = [(0, 0, [1, 10, 4]), (0, 1, [1, 10, 4]), (0, 1, [1, 0, 4])];
    assert_eq!(past_the_second(&packets, Buffer::Unlimited), [11, 21, 25]);
}

#[test]
fn it_stays_where_it_is_as_long_as_there_is_no_room_behind() {
    // The third resource has the first packet until 22. The second one needs nothing on the second resource, and keeps
    // the first until then; so the third cannot start there before.
    let packets = [(0, 0, [1, 1, 20]), (0, 1, [1, 0, 4]), (0, 2, [1, 1, 4])];
    assert_eq!(past_the_second(&packets, Buffer::Blocking(0)), [2, 22, 26]);
}

#[test]
fn it_passes_schedulers_in_front_of_every_resource() {
    let packets = [(0, 0, [1, 10, 4]), (0, 1, [1, 10, 4]), (0, 2, [1, 0, 4])];
    let mut schedulers = build_all(&"fifo+fifo+fifo".parse().unwrap(), Shape { servers: 3 }).unwrap();
    let (_, log) = record_all(&listed(&packets), &pipeline(), &mut schedulers, ns(1000), Options::default());
    assert_eq!(log[2].started[2], Some(at(25)));
}

#[test]
fn it_is_nothing_to_the_cpu() {
    let packets = [(0, 0, [10, 1]), (1, 1, [0, 5]), (3, 1, [0, 5])];
    for spec in ["pcfq", "drr+drr"] {
        let (result, log) = run_in(spec, &packets, &pipeline());
        assert_eq!((result.resources[0].busy, result.flows[1].service[0]), (ns(10), ns(0)), "{spec}");
        assert_eq!((log[2].started[0], log[2].finished[0]), (Some(at(3)), Some(at(3))), "{spec}");
    }
}

/// Half of the packets need no processing.
fn packets() -> impl Strategy<Value = Vec<Given<2>>> {
    let packet = (0..12u64, 0..3u32, prop_oneof![Just(0), 1..20u64], 0..20u64);
    proptest::collection::vec(packet, 1..60).prop_map(|drawn| {
        let mut now = 0;
        let mut next = |(gap, flow, cpu, link)| {
            now += gap;
            (now, flow, [cpu, link])
        };
        drawn.into_iter().map(&mut next).collect()
    })
}

/// Half of the packets need nothing on each resource.
fn packets_of_four() -> impl Strategy<Value = Vec<Given<4>>> {
    let time = || prop_oneof![Just(0), 1..20u64];
    let packet = (0..12u64, 0..3u32, [time(), time(), time(), time()]);
    proptest::collection::vec(packet, 1..60).prop_map(|drawn| {
        let mut now = 0;
        let mut next = |(gap, flow, times)| {
            now += gap;
            (now, flow, times)
        };
        drawn.into_iter().map(&mut next).collect()
    })
}

fn schedulers() -> Vec<&'static str> {
    let compositions = ["drr+drr", "wfq+wfq:buffer=1", "fifo+sfq:buffer=none", "sfq+sfq:full=hold,buffer=1"];
    catalog().iter().map(|entry| entry.name).chain(compositions).collect()
}

/// When each packet starts on the link, first come, first served: packet after packet leaves the queue when the one
/// ahead has, the CPU is free if it needs that, and its flow's last one is through with the CPU if not. At an instant,
/// what comes off the CPU comes first to the link.
fn naive_fifo(packets: &[Given<2>]) -> Vec<u64> {
    let (mut ahead, mut cpu_free, mut flow_free) = (0, 0, [0; 3]);
    let mut to_link = Vec::new();
    for (k, &(at, flow, [cpu, _])) in packets.iter().enumerate() {
        ahead = if cpu > 0 { at.max(ahead).max(cpu_free) } else { at.max(ahead).max(flow_free[flow as usize]) };
        if cpu > 0 {
            cpu_free = ahead + cpu;
            flow_free[flow as usize] = cpu_free;
        }
        to_link.push((ahead + cpu, cpu == 0, k));
    }
    to_link.sort_unstable();
    let (mut link_free, mut starts) = (0, vec![0; packets.len()]);
    for (at, _, k) in to_link {
        starts[k] = at.max(link_free);
        link_free = starts[k] + packets[k].2[1];
    }
    starts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn first_come_first_served_goes_as_worked_out_packet_by_packet(packets in packets()) {
        let (_, log) = record(&listed(&packets), &pipeline(), &mut *fifo(), ns(1000), Options::default());
        let starts: Vec<u64> = log.iter().map(|p| p.started[1].unwrap().as_nanos()).collect();
        prop_assert_eq!(starts, naive_fifo(&packets));
    }

    #[test]
    fn packets_are_conserved_and_keep_their_flows_order(
        spec in proptest::sample::select(schedulers()), packets in packets(),
        buffer in prop_oneof![
            Just(Buffer::Unlimited), (0..3u32).prop_map(Buffer::Blocking), (0..3u32).prop_map(Buffer::Dropping)
        ],
    ) {
        let (result, log) = run_in(spec, &packets, &buffered(buffer));
        let t = result.outcome.tally;
        prop_assert_eq!((result.outcome.end, t.waiting, t.in_pipeline), (End::Drained, 0, 0));
        prop_assert_eq!((t.offered, t.delivered + t.dropped), (packets.len() as u64, packets.len() as u64));
        for flow in 0..3 {
            let ends = log.iter().filter(|p| p.packet.flow == flow).filter_map(|p| p.finished[1]);
            prop_assert!(ends.is_sorted());
        }
        let busy: u64 = packets.iter().map(|p| p.2[0]).sum();
        prop_assert_eq!(result.resources[0].busy, ns(busy));
    }

    #[test]
    fn past_resources_between_flows_keep_their_order(
        spec in proptest::sample::select(vec!["fifo", "drfq", "tradeoff", "mr3", "drgps"]),
        packets in packets_of_four(),
        places in proptest::collection::vec(proptest::option::of(0..3u32), 3), drops in any::<bool>(),
    ) {
        let mut pipeline = pipeline::<4>();
        for (resource, places) in pipeline.resources[1..].iter_mut().zip(places) {
            let limited = if drops { Buffer::Dropping } else { Buffer::Blocking };
            resource.buffer = places.map_or(Buffer::Unlimited, limited);
        }
        let mut schedulers = build_all(&spec.parse().unwrap(), Shape { servers: 4 }).unwrap();
        let (result, log) = record_all(&listed(&packets), &pipeline, &mut schedulers, ns(1000), Options::default());
        let t = result.outcome.tally;
        prop_assert_eq!((result.outcome.end, t.waiting, t.in_pipeline), (End::Drained, 0, 0));
        prop_assert_eq!((t.offered, t.delivered + t.dropped), (packets.len() as u64, packets.len() as u64));
        for (flow, resource) in (0..3).flat_map(|flow| (0..4).map(move |r| (flow, r))) {
            let ends = log.iter().filter(|p| p.packet.flow == flow).filter_map(|p| p.finished[resource]);
            prop_assert!(ends.is_sorted(), "flow {}, resource {}", flow, resource);
        }
    }

    /// With unlimited buffers: at its arrival, or when the last packet of its flow that needs processing leaves the
    /// CPU.
    #[test]
    fn past_separate_schedulers_nothing_but_its_own_flow_delays_it(
        spec in proptest::sample::select(vec![
            "drr+drr:buffer=none", "wfq+fifo:buffer=none", "sfq+sfq:full=hold,buffer=none"
        ]),
        packets in packets(),
    ) {
        let (_, log) = run_in(spec, &packets, &pipeline());
        for (k, packet) in log.iter().enumerate().filter(|(_, p)| p.packet.cost[0] == ns(0)) {
            let ahead = log[..k].iter().filter(|p| p.packet.flow == packet.packet.flow).filter_map(|p| p.finished[0]);
            prop_assert_eq!(packet.finished[0], ahead.max().max(Some(packet.packet.arrival)));
        }
    }
}
