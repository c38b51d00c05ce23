//! True costs, estimates, what the scheduler hears, and the fairness that is computed from it.

use crate::common::{Script, at, fifo, listed, ns, pipeline, record, simulate};
use dovetail_sched::Progress;
use dovetail_sim::{Arrival, Buffer, Cost, Estimate, Flow, List, Options, Pipeline, Source, TimeScale, Workload};
use dovetail_units::{ResourceVec, Weight};

fn workload<const M: usize>(flow: Flow<M>, arrivals: Vec<Arrival>) -> Workload<M> {
    Workload { flows: vec![flow], sources: vec![Source::List(List::new(arrivals))] }
}

fn packets(count: u32, size: u32) -> Vec<Arrival> {
    vec![Arrival { time: at(0), flow: 0, size }; count as usize]
}

#[test]
fn a_link_takes_exactly_bytes_times_8_over_rate_in_the_long_run() {
    // 1 byte at 3 Gb/s takes 8/3 ns: three packets 8 ns.
    let flow = Flow::new("f", [Cost::Link("3 Gbps".parse().unwrap())]);
    let (result, _) =
        record(&workload(flow, packets(30_000, 1)), &pipeline(), &mut *fifo(), ns(1_000_000), Options::default());
    assert_eq!(result.outcome.makespan(), Some(ns(80_000)));
}

#[test]
fn the_scheduler_is_told_the_estimate_divided_by_the_servers() {
    let mut flow =
        Flow::new("f", [Cost::Linear("1 ns/B + 5 ns".parse().unwrap()), Cost::Link("8 Gbps".parse().unwrap())]);
    flow.estimate = [Estimate::Predicted("3 ns/B".parse().unwrap()), Estimate::default()];
    let mut pipeline = pipeline::<2>();
    pipeline.resources[0].servers = 2;
    // A script without an order keeps what it gets; that it serves nothing is an error, which is not the point here.
    let mut scheduler = Script::new([]);
    simulate(&workload(flow, packets(1, 100)), &pipeline, &mut scheduler, &mut (), Options::default()).unwrap_err();
    assert_eq!(scheduler.waiting[0][0].cost, ResourceVec::from_nanos([150, 100]));
}

#[test]
fn the_scheduler_hears_starts_and_measured_ends() {
    let mut pipeline = pipeline::<2>();
    pipeline.resources[0].servers = 2;
    pipeline.resources[1].buffer = Buffer::Dropping(0);
    let workload = listed(&[(0, 0, [4, 6]), (0, 0, [6, 1])]);
    let mut scheduler = Script::new([0, 0]);
    simulate(&workload, &pipeline, &mut scheduler, &mut (), Options::default()).unwrap();
    let finished = |used| Progress::Finished { used: ns(used) };
    assert_eq!(
        scheduler.heard,
        [
            (at(4), 0, finished(2)),
            (at(4), 1, Progress::Started),
            (at(6), 0, finished(3)),
            (at(6), 1, Progress::Abandoned),
            (at(10), 1, finished(6)),
        ]
    );
}

#[test]
fn costs_per_packet_stay_with_their_packets_when_times_are_scaled() {
    let mut given = listed(&[(10, 0, [1]), (20, 0, [2]), (30, 0, [3])]);
    if let Source::List(list) = &mut given.sources[0] {
        list.scale = TimeScale { numerator: 1, denominator: 10 };
    }
    let (_, log) = record(&given, &pipeline(), &mut *fifo(), ns(100), Options::default());
    let ends: Vec<_> = log.iter().map(|p| (p.packet.arrival, p.finished[0].unwrap())).collect();
    assert_eq!(ends, [(at(1), at(2)), (at(2), at(4)), (at(3), at(7))]);
}

/// One resource, flow 0 of weight 3 and flow 1 of weight 1, packets of 10 ns; of ten, flow 1 gets `of_ten`.
fn skewed(of_ten: usize) -> dovetail_sim::RunResult<1> {
    let mut given = vec![(0, 0, [10]); 50];
    given.extend([(0, 1, [10]); 50]);
    let mut workload = listed(&given);
    workload.flows[0].weight = Weight::from_milli(3000).unwrap();
    let order = (0..3).flat_map(|_| (0..10).map(|k| usize::from(k < of_ten))).chain(std::iter::repeat_n(0, 30));
    let options = Options { horizon: Some(at(300)), ..Options::default() };
    record(&workload, &pipeline(), &mut Script::<1>::new(order), ns(100), options).0
}

#[test]
fn fairness_and_shortfall_of_two_weighted_flows_by_hand() {
    let result = skewed(1);
    // Of 100 ns, the fair part of flow 0 is 75 ns and of flow 1 25 ns; they get 90 and 10.
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} is not {b}");
    let fairness = result.fairness(0..u64::MAX).unwrap();
    assert_eq!(fairness.intervals, 3);
    close(fairness.relative_fairness_bound, 20e-9);
    // Divided by the weights: 30 and 10. Jain 1600 / (2 * 1000), Gini (30 - 10) / (2 * 40).
    close(fairness.jain, 0.8);
    close(fairness.gini, 0.25);
    let shortfall = result.shortfall(|_| 0.6, 0..u64::MAX).unwrap();
    assert_eq!((shortfall.by_time.flow, shortfall.by_packets.flow), (1, 1));
    close(shortfall.by_time.seconds, 5e-9);
    close(shortfall.by_packets.packets, 0.5);
    assert_eq!(result.shortfall(|_| 0.6, 3..u64::MAX), None);
}

#[test]
fn a_shortfall_below_zero_says_how_much_more_there_was() {
    // 80 and 20 of the fair 75 and 25, of which half is guaranteed: the worse is flow 1 with 7.5 ns to spare.
    let shortfall = skewed(2).shortfall(|_| 0.5, 0..1).unwrap().by_time;
    assert_eq!(shortfall.flow, 1);
    assert!((shortfall.seconds + 7.5e-9).abs() < 1e-20, "{shortfall:?}");
}

#[test]
fn one_backlogged_flow_alone_is_neither_fair_nor_unfair() {
    let (result, _) =
        record(&listed(&[(0, 0, [1000])]), &Pipeline::new(["r"]), &mut *fifo(), ns(100), Options::default());
    assert_eq!(result.fairness(0..u64::MAX), None);
}
