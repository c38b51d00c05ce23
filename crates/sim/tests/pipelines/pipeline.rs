//! Buffers, parallel servers, and what happens at one instant.

use crate::common::{Script, at, fifo, listed, ns, pipeline, record, ways};
use dovetail_sim::record::PacketOutcome;
use dovetail_sim::{Buffer, Change, End, Options, Pipeline};

fn with_buffer(buffer: Buffer) -> Pipeline<2> {
    let mut pipeline = pipeline();
    pipeline.resources[1].buffer = buffer;
    pipeline
}

/// Three packets that are quick on resource 0 and slow on resource 1.
const QUICK_THEN_SLOW: [(u64, u32, [u64; 2]); 3] = [(0, 0, [1, 10]); 3];

#[test]
fn without_a_buffer_a_finished_packet_blocks_its_server() {
    let (_, log) = ways(&QUICK_THEN_SLOW, &with_buffer(Buffer::Blocking(0)));
    // The second packet is done at 2, stays until 11, and only then the third starts.
    assert_eq!(log.iter().map(|p| p.started[0].unwrap()).collect::<Vec<_>>(), [at(0), at(1), at(11)]);
    assert_eq!(log.iter().map(|p| p.finished[1].unwrap()).collect::<Vec<_>>(), [at(11), at(21), at(31)]);
}

#[test]
fn a_buffer_of_one_place_blocks_one_packet_later() {
    let (_, log) = ways(&QUICK_THEN_SLOW, &with_buffer(Buffer::Blocking(1)));
    assert_eq!(log.iter().map(|p| p.started[0].unwrap()).collect::<Vec<_>>(), [at(0), at(1), at(2)]);
    assert_eq!(log.iter().map(|p| p.finished[1].unwrap()).collect::<Vec<_>>(), [at(11), at(21), at(31)]);
}

#[test]
fn a_dropping_buffer_drops_after_processing_and_counts_it_apart() {
    let (outcome, log) = ways(&QUICK_THEN_SLOW, &with_buffer(Buffer::Dropping(1)));
    let outcomes: Vec<_> = log.iter().map(|p| p.outcome).collect();
    assert_eq!(outcomes, [PacketOutcome::Delivered, PacketOutcome::Delivered, PacketOutcome::Dropped(1)]);
    assert_eq!((outcome.tally.delivered, outcome.tally.dropped, outcome.tally.refused), (2, 1, 0));
    assert_eq!(outcome.last_departure, Some(at(21)));
}

#[test]
fn a_place_that_is_freed_at_an_instant_is_free_at_that_instant() {
    // The second packet ends on resource 0 exactly when the first leaves resource 1.
    let (outcome, _) = ways(&[(0, 0, [1, 4]), (0, 0, [4, 4])], &with_buffer(Buffer::Dropping(0)));
    assert_eq!((outcome.tally.delivered, outcome.tally.dropped), (2, 0));
}

#[test]
fn parallel_servers_take_whole_packets_each() {
    let mut pipeline = pipeline::<1>();
    pipeline.resources[0].servers = 2;
    let (outcome, log) = ways(&[(0, 0, [6]), (0, 1, [2]), (0, 0, [3]), (4, 1, [1])], &pipeline);
    let service: Vec<_> = log.iter().map(|p| (p.started[0].unwrap(), p.finished[0].unwrap(), p.server[0])).collect();
    assert_eq!(service, [(at(0), at(6), 0), (at(0), at(2), 1), (at(2), at(5), 1), (at(5), at(6), 1)]);
    assert_eq!(outcome.makespan(), Some(ns(6)));
}

#[test]
fn utilisation_and_shares_count_all_servers_of_a_resource() {
    let mut pipeline = pipeline::<2>();
    pipeline.resources[0].servers = 4;
    // On four servers 8 ns are a quarter of that: the dominant resource is the second.
    let workload = listed(&[(0, 0, [8, 3]), (0, 0, [8, 3])]);
    let (result, _) = record(&workload, &pipeline, &mut *fifo(), ns(1000), Options::default());
    assert_eq!(result.outcome.makespan(), Some(ns(14)));
    assert_eq!((result.resources[0].busy, result.resources[0].utilization), (ns(16), 16.0 / 56.0));
    assert_eq!(result.flows[0].dominant_service, 6e-9);
    assert_eq!(result.flows[0].service.0, [ns(16), ns(6)]);
}

#[test]
fn arrivals_of_one_instant_are_all_there_when_the_scheduler_is_asked() {
    // The script wants the second flow's packet first, although it is listed second.
    let workload = listed(&[(3, 0, [5]), (3, 1, [5])]);
    let (_, log) = record(&workload, &pipeline(), &mut Script::<1>::new([1, 0]), ns(1000), Options::default());
    assert_eq!(log.iter().map(|p| p.started[0].unwrap()).collect::<Vec<_>>(), [at(8), at(3)]);
}

#[test]
fn arrivals_find_the_queues_as_the_instant_found_them() {
    // One place in the queue. The scheduler decides after the arrivals of the instant: the second packet finds the
    // first still waiting, although a server is idle.
    let mut workload = listed(&[(0, 0, [5]), (0, 0, [5]), (5, 0, [5])]);
    workload.flows[0].limit.packets = Some(1);
    let (result, log) = record(&workload, &pipeline(), &mut *fifo(), ns(1000), Options::default());
    assert_eq!(result.flows[0].losses().refused.iter().sum::<u64>(), 1);
    assert_eq!(log.iter().map(|p| p.finished[0]).collect::<Vec<_>>(), [Some(at(5)), None, Some(at(10))]);
}

#[test]
fn a_parameter_changes_before_the_arrivals_of_its_instant() {
    let workload = listed(&[(0, 0, [1]), (2, 1, [1]), (2, 0, [1])]);
    let change = |at, flow: u32| Change { at, parameter: "next".into(), value: flow.to_string() };
    let options = Options { changes: vec![change(at(7), 0), change(at(2), 1)], ..Options::default() };
    let (result, log) = record(&workload, &pipeline(), &mut Script::<1>::new([0]), ns(1000), options);
    assert_eq!(log.iter().map(|p| p.started[0].unwrap()).collect::<Vec<_>>(), [at(0), at(2), at(7)]);
    assert_eq!(result.outcome.end, End::Drained);
}

#[test]
fn a_horizon_leaves_the_rest_unfinished_and_counted() {
    let workload = listed(&[(0, 0, [4, 4]), (0, 0, [4, 4]), (0, 0, [4, 4]), (50, 0, [4, 4])]);
    let options = Options { horizon: Some(at(10)), ..Options::default() };
    let (result, log) = record(&workload, &pipeline(), &mut *fifo(), ns(8), options);
    let tally = result.outcome.tally;
    assert_eq!((result.outcome.end, tally.now, tally.offered, tally.delivered), (End::Horizon, at(10), 3, 1));
    assert_eq!((tally.waiting, tally.in_pipeline, result.flows[0].unfinished), (0, 2, 2));
    assert_eq!(log[2].outcome, PacketOutcome::Unfinished);
    // Service up to the horizon counts: 10 ns on resource 0, 4 to 10 on resource 1.
    assert_eq!(result.flows[0].service.0, [ns(10), ns(6)]);
    assert_eq!(
        result.series.intervals.iter().map(|row| (row.index, row.length)).collect::<Vec<_>>(),
        [(0, ns(8)), (1, ns(2))]
    );
}
