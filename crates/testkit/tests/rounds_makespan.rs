//! The tradeoff paper's claim that MR3 and GMR3 (and here DRGPS) take as long as `tradeoff:alpha=1` on the input of its
//! Table 2; and how busy the round robins keep the busiest resource while they wait for progress.

mod measure;

use dovetail_sched::{Shape, build};
use dovetail_sim::{Cost, Flow, Generator, Options, Pattern, Pipeline, Size, Source, Workload, simulate};
use dovetail_testkit::random::Random;
use dovetail_units::Time;
use measure::{Case, LONGEST};

/// Table 2: 60 flows of 2000 packets of 800 bytes per second each, a third through each module, over a link of 200
/// Mb/s; here for one second instead of ten.
fn table_2() -> Workload<2> {
    let link = Cost::Link("200 Mbps".parse().unwrap());
    let flow = |number: usize| {
        let cpu = ["7 us", "14 us", "96.7 us"][number / 20].parse().unwrap();
        Flow::new(format!("{number}"), [Cost::Linear(cpu), link])
    };
    let source = |number: u32| {
        let constant = Pattern::Constant("2000 pps".parse().unwrap());
        let stop = Some(Time::from_nanos(1_000_000_000));
        Source::Generator(Generator { stop, ..Generator::new(number, constant, Size::Fixed(800)) })
    };
    Workload { flows: (0..60).map(flow).collect(), sources: (0..60).map(source).collect() }
}

#[test]
fn makespan_of_table_2_is_that_of_the_fair_fluid() {
    let workload = table_2();
    let makespan = |spec: &str| {
        let mut scheduler = build(&spec.parse().unwrap(), Shape::default()).unwrap();
        let pipeline = Pipeline::new(["cpu", "link"]);
        let outcome = simulate(&workload, &pipeline, &mut *scheduler, &mut (), Options::default()).unwrap();
        outcome.makespan().unwrap().as_secs_f64()
    };
    let fair = makespan("tradeoff:alpha=1");
    println!("tradeoff:alpha=1 {fair:.4} s");
    for spec in ["mr3", "gmr3", "mr3:progress=finished", "gmr3:progress=finished", "drgps", "drgps:order=start"] {
        let ours = makespan(spec);
        println!("{spec} {ours:.4} s, {:+.3} %", 100.0 * (ours / fair - 1.0));
        assert!((ours / fair - 1.0).abs() <= 0.01, "{spec}: {ours} s, tradeoff:alpha=1: {fair} s");
    }
}

/// Part of the time for which the busiest of two resources works, with `n` flows of random packets that are all there
/// at the start.
fn utilization(spec: &str, n: usize) -> f64 {
    let mut random = Random::new(1);
    let packets = (0..6_000).map(|k| (0, k % n, [random.between(1, LONGEST), random.between(1, LONGEST)])).collect();
    let case = Case::<2> { weights: vec![1000; n], packets };
    let log = case.run(spec);
    let last = log.iter().filter_map(|p| p.finished[1]).max().unwrap().as_nanos();
    let busiest = (0..2).map(|r| case.packets.iter().map(|p| p.2[r]).sum::<u64>()).max().unwrap();
    busiest as f64 / last as f64
}

#[test]
fn waiting_for_progress_costs_less_the_more_flows_there_are() {
    let numbers = [1, 2, 3, 5, 10, 30];
    println!("{:24}{}", "flows", numbers.map(|n| format!("{n:8}")).concat());
    for spec in ["mr3", "mr3:progress=finished", "mr3:progress=none", "gmr3", "gmr3:progress=finished"] {
        let parts = numbers.map(|n| utilization(spec, n));
        println!("{spec:24}{}", parts.map(|part| format!("{part:8.3}")).concat());
        // With 30 flows the packets before are through when their flow's turn comes.
        assert!(parts[5] > 0.98, "{spec}: {parts:?}");
        // Alone with two packets in the pipeline, a flow uses E a / E max(a, b) = (1/2) / (2/3) of the time, a and b
        // uniform; with one packet it would be E a / E (a + b) = 1/2. 6000 packets leave it uncertain by about
        // 0.01.
        assert!(parts[0] > 0.73, "{spec}: {parts:?}");
    }
}

#[test]
fn a_flow_that_is_alone_fills_the_pipeline_with_equal_packets() {
    // After the first packet has come through, every resource works all the time.
    let case = Case::<3> { weights: vec![1000], packets: vec![(0, 0, [10, 10, 10]); 100] };
    for spec in ["mr3", "mr3:progress=finished", "gmr3", "gmr3:progress=finished"] {
        let last = case.run(spec).iter().filter_map(|p| p.finished[2]).max().unwrap();
        assert_eq!(last.as_nanos(), 10 * (100 + 2), "{spec}");
    }
}

/// Part of the time until `ns` for which the busiest of two resources works, with two flows that always have a packet
/// of these times.
fn utilization_of_two(spec: &str, weights: [u32; 2], times: [[u64; 2]; 2], ns: u64) -> f64 {
    let packets =
        (0..2).flat_map(|f| (0..ns / times[f].iter().max().unwrap()).map(move |_| (0, f, times[f]))).collect();
    let log = Case::<2> { weights: weights.to_vec(), packets }.run(spec);
    let finished = |r: usize| log.iter().filter(move |p| p.finished[r].is_some_and(|t| t.as_nanos() <= ns));
    let busy = |r: usize| finished(r).map(|p| times[p.packet.flow as usize][r]).sum::<u64>();
    busy(0).max(busy(1)) as f64 / ns as f64
}

#[test]
fn two_flows_of_unequal_weight_keep_the_busiest_resource_busy() {
    for spec in ["mr3", "gmr3", "gmr3:largest=27 us", "gmr3:newcomers=free"] {
        for (weights, times) in [
            // The heavy flow's turns are next to each other; waiting for the first one's packets would leave the link
            // idle for an eighth of the time.
            ([4000, 8000], [[8_000, 27_000], [27_000, 18_000]]),
            ([1000, 4000], [[8_000, 27_000], [27_000, 18_000]]),
            ([8000, 4000], [[8_000, 27_000], [27_000, 18_000]]),
            ([4000, 8000], [[30_000, 3_000], [3_000, 25_000]]),
        ] {
            let part = utilization_of_two(spec, weights, times, 20_000_000);
            assert!(part > 0.99, "{spec}, {weights:?}, {times:?}: {part}");
        }
    }
}
