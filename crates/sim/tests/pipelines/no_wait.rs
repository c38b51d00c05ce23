//! The pipeline without waiting between resources, against equation 3 of ATFQ and against a search for the earliest
//! start.

use crate::common::{Given, Script, at, fifo, listed, ns, pipeline, record, simulate, ways};
use dovetail_sched::{Progress, Shape, build, catalog};
use dovetail_sim::record::{PacketOutcome, PacketRecord};
use dovetail_sim::{Buffer, End, Options, Pipeline, SimError};
use proptest::prelude::*;

fn no_wait<const M: usize>() -> Pipeline<M> {
    let mut pipeline = pipeline::<M>();
    pipeline.resources.iter_mut().skip(1).for_each(|resource| resource.buffer = Buffer::NoWait);
    pipeline
}

fn starts<const M: usize>(log: &[PacketRecord<M>]) -> Vec<u64> {
    log.iter().map(|p| p.started[0].unwrap().as_nanos()).collect()
}

/// When packets start on the first resource, by equation 3; not before they arrive.
fn equation_3<const M: usize>(packets: &[Given<M>]) -> Vec<u64> {
    let mut starts: Vec<u64> = Vec::new();
    for (k, &(arrival, _, cost)) in packets.iter().enumerate() {
        let Some(ahead) = k.checked_sub(1) else {
            starts.push(arrival);
            continue;
        };
        let before = packets[ahead].2;
        let gap = (2..=M).map(|n| before[1..n].iter().sum::<u64>() as i64 - cost[..n - 1].iter().sum::<u64>() as i64);
        let after = starts[ahead] + before[0] + gap.max().unwrap_or(0).max(0) as u64;
        starts.push(arrival.max(after));
    }
    starts
}

/// The first instant at which a packet can start after the one ahead of it so that no two packets are on one resource
/// at once, by trying one instant after the other.
fn first_fit<const M: usize>(packets: &[Given<M>]) -> Vec<u64> {
    let spans = |start: u64, cost: [u64; M]| -> [(u64, u64); M] {
        std::array::from_fn(|r| {
            let begin = start + cost[..r].iter().sum::<u64>();
            (begin, begin + cost[r])
        })
    };
    let mut placed: Vec<(u64, [(u64, u64); M])> = Vec::new();
    for &(arrival, _, cost) in packets {
        let after_all = |start: &u64| {
            let own = spans(*start, cost);
            placed.iter().all(|(_, other)| other.iter().zip(own).all(|(other, own)| other.1 <= own.0))
        };
        let start = (arrival..).find(after_all).unwrap();
        placed.push((start, spans(start, cost)));
    }
    placed.into_iter().map(|(start, _)| start).collect()
}

/// Small numbers and zeros, so that many things happen at one instant.
fn packets<const M: usize>(gap: u64) -> impl Strategy<Value = Vec<Given<M>>> {
    let cost = proptest::collection::vec(prop_oneof![0..3u64, 0..12u64, 0..40u64], M);
    proptest::collection::vec((prop_oneof![Just(0u64), 0..=gap], 0..3u32, cost), 1..60).prop_map(|drawn| {
        let mut now = 0;
        let packet = |(gap, flow, cost): (u64, u32, Vec<u64>)| {
            now += gap;
            (now, flow, std::array::from_fn(|r| cost[r]))
        };
        drawn.into_iter().map(packet).collect()
    })
}

fn never_waits<const M: usize>(log: &[PacketRecord<M>]) -> bool {
    log.iter().all(|p| p.finished.iter().zip(&p.started[1..]).all(|(finished, started)| finished == started))
}

fn agrees<const M: usize>(packets: &[Given<M>]) -> Result<(), TestCaseError> {
    let (outcome, log) = ways(packets, &no_wait());
    prop_assert_eq!(starts(&log), equation_3(packets));
    prop_assert_eq!(starts(&log), first_fit(packets));
    prop_assert!(never_waits(&log));
    prop_assert_eq!(outcome.tally.delivered, packets.len() as u64);
    prop_assert_eq!(outcome.end, End::Drained);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn one_resource(packets in packets::<1>(40)) {
        agrees(&packets)?;
    }

    #[test]
    fn two_resources(packets in packets::<2>(40)) {
        agrees(&packets)?;
    }

    #[test]
    fn three_resources(packets in packets::<3>(40)) {
        agrees(&packets)?;
    }

    #[test]
    fn four_resources(packets in packets::<4>(40)) {
        agrees(&packets)?;
    }

    /// Packets that are all there at the start: first CPU time, then whichever of the packet ahead on the link and the
    /// next on the CPU takes longer, last link time.
    #[test]
    fn the_makespan_of_two_resources(packets in packets::<2>(0)) {
        let (outcome, _) = ways(&packets, &no_wait());
        let cost = |k: usize| packets[k].2;
        let last = packets.len() - 1;
        let between: u64 = (0..last).map(|k| cost(k)[1].max(cost(k + 1)[0])).sum();
        prop_assert_eq!(outcome.makespan(), Some(ns(cost(0)[0] + between + cost(last)[1])));
    }

    /// Where a finished packet blocks its server, packets start earlier and leave at the same time.
    #[test]
    fn two_resources_take_as_long_as_with_blocking(packets in packets::<2>(40)) {
        let mut blocking = pipeline::<2>();
        blocking.resources[1].buffer = Buffer::Blocking(0);
        // What needs nothing of the first resource would bypass it where packets may wait.
        let packets: Vec<_> = packets.iter().map(|&(at, flow, [cpu, link])| (at, flow, [cpu.max(1), link])).collect();
        let ((_, ours), (_, theirs)) = (ways(&packets, &no_wait()), ways(&packets, &blocking));
        for (ours, theirs) in ours.iter().zip(&theirs) {
            prop_assert_eq!(ours.finished[1], theirs.finished[1]);
            prop_assert!(ours.started[0] >= theirs.started[0]);
        }
    }

    #[test]
    fn every_discipline_delivers_everything(packets in packets::<2>(20), discipline in 0..catalog().len()) {
        let spec = catalog()[discipline].name.parse().unwrap();
        let mut scheduler = build(&spec, Shape::default()).unwrap();
        let (result, log) = record(&listed(&packets), &no_wait(), &mut *scheduler, ns(50), Options::default());
        prop_assert_eq!(result.outcome.tally.delivered, packets.len() as u64);
        prop_assert!(never_waits(&log));
        // No two packets are on a resource at once, whatever the order.
        let spans = |r: usize| {
            let mut spans: Vec<_> = log.iter().map(|p| (p.started[r].unwrap(), p.finished[r].unwrap())).collect();
            spans.sort_unstable();
            spans
        };
        for r in 0..2 {
            prop_assert!(spans(r).windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
    }
}

#[test]
fn a_packet_stands_at_the_entrance_until_it_can_pass() {
    let (_, log) = ways(&[(0, 0, [1, 10]); 3], &no_wait());
    // The link is free at 11 and 21; each comes there one after its start.
    assert_eq!(starts(&log), [0, 10, 20]);
    assert_eq!(log.iter().map(|p| p.started[1].unwrap()).collect::<Vec<_>>(), [at(1), at(11), at(21)]);
}

#[test]
fn three_resources_may_take_longer_than_with_blocking() {
    // The second packet could wait for resource 1 on resource 0, and then for resource 2 on resource 1.
    let packets = [(0, 0, [1, 4, 4]), (0, 0, [1, 1, 1]), (0, 0, [4, 1, 1])];
    let mut blocking = pipeline::<3>();
    blocking.resources.iter_mut().for_each(|resource| resource.buffer = Buffer::Blocking(0));
    let makespan = |pipeline| ways(&packets, pipeline).0.makespan().unwrap();
    assert!(makespan(&no_wait()) > makespan(&blocking));
}

#[test]
fn the_scheduler_is_asked_when_resource_0_is_idle_and_nobody_stands_before_it() {
    // The second packet is handed out at 1 and stands at the entrance until 10. Only at 11, when it has passed resource
    // 0, is the scheduler asked again: what comes meanwhile has its chance.
    let workload = listed(&[(0, 0, [1, 10]), (0, 0, [1, 10]), (0, 0, [1, 10]), (10, 1, [1, 10])]);
    let mut script = Script::<2>::new([0, 0, 1, 0]);
    let (_, log) = record(&workload, &no_wait(), &mut script, ns(1000), Options::default());
    assert_eq!(starts(&log), [0, 10, 30, 20]);
    // A ticket hears of every service but the first start, in order.
    let heard: Vec<_> = script.heard.iter().map(|(time, resource, _)| (time.as_nanos(), *resource)).collect();
    assert_eq!(heard[..6], [(1, 0), (1, 1), (11, 1), (11, 0), (11, 1), (21, 1)]);
    assert!(matches!(script.heard[1].2, Progress::Started));
}

#[test]
fn a_packet_at_the_entrance_counts_as_in_the_pipeline() {
    let workload = listed(&[(0, 0, [1, 10]), (0, 0, [1, 10]), (0, 0, [1, 10])]);
    let options = Options { horizon: Some(at(5)), ..Options::default() };
    let (result, log) = record(&workload, &no_wait(), &mut *fifo(), ns(1000), options);
    let tally = result.outcome.tally;
    assert_eq!((tally.offered, tally.delivered, tally.in_pipeline, tally.waiting), (3, 0, 2, 1));
    assert_eq!((log[1].started[0], log[1].outcome), (None, PacketOutcome::Unfinished));
    // Nothing was processed for it.
    assert_eq!((result.resources[0].busy, result.resources[1].busy), (ns(1), ns(4)));
}

#[test]
fn a_pipeline_that_waits_here_and_not_there_is_refused() {
    let refusal = |pipeline: Pipeline<3>| {
        let workload = listed(&[(0, 0, [1, 1, 1])]);
        simulate(&workload, &pipeline, &mut *fifo(), &mut (), Options::default()).unwrap_err().to_string()
    };
    let mut mixed = no_wait::<3>();
    mixed.resources[2].buffer = Buffer::Blocking(2);
    assert!(refusal(mixed).contains("expected NoWait before every resource or before none"));
    let mut parallel = no_wait::<3>();
    parallel.resources[0].servers = 2;
    assert!(refusal(parallel).contains("2 servers in a pipeline without waiting; expected 1"));
}

#[test]
fn a_packet_that_would_never_finish_is_refused_at_the_entrance() {
    let workload = listed(&[(0, 0, [1, u64::MAX / 2]), (0, 0, [1, u64::MAX / 2 + 9])]);
    let result = simulate(&workload, &no_wait::<2>(), &mut *fifo(), &mut (), Options::default());
    assert_eq!(result, Err(SimError::TooLong { flow: 0, at: at(1) }));
}
