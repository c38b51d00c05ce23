//! Packets whose length and time differ from what was known on arrival: resize factors, spread times, predictions.

use crate::common::{at, fifo, ns, pipeline, record, record_all, simulate, simulate_all};
use dovetail_sched::cost::PredictionError;
use dovetail_sched::{Shape, build, build_all};
use dovetail_sim::record::PacketRecord;
use dovetail_sim::{
    Arrival, Cost, Estimate, Flow, Generator, List, Metrics, MetricsOptions, Options, Pattern, Recorder, Resize,
    RunResult, SimPacket, Size, Source, Workload,
};
use dovetail_units::{Duration, Time, Weight};

/// A CPU of 10 ns per byte and a link of 8 Gb/s, that is 1 ns per byte.
fn flow(name: &str) -> Flow<2> {
    Flow::new(name, [Cost::Linear("10 ns/B".parse().unwrap()), Cost::Link("8 Gbps".parse().unwrap())])
}

fn of_sizes(flow: Flow<2>, sizes: &[u32]) -> Workload<2> {
    let arrivals: Vec<Arrival> = sizes.iter().map(|&size| Arrival { time: at(0), flow: 0, size }).collect();
    Workload { flows: vec![flow], sources: vec![Source::List(List::new(arrivals))] }
}

fn under(workload: &Workload<2>, spec: &str, seed: u64) -> (RunResult<2>, Vec<PacketRecord<2>>) {
    let mut scheduler = build(&spec.parse().unwrap(), Shape::default()).unwrap();
    let options = Options { seed, ..Options::default() };
    record(workload, &pipeline(), &mut *scheduler, ns(1_000_000), options)
}

/// Three flows: of a range of factors, of a fixed one, of spread times; all learnt.
fn varied() -> Workload<2> {
    let mut flows = ["range", "fixed", "spread"].map(flow);
    flows[0].resize = Resize { least: 110_000, most: 360_000 };
    flows[1].resize = Resize { least: 4_000_000, most: 4_000_000 };
    flows[2].spread = [500_000, 0];
    for flow in &mut flows {
        flow.estimate =
            [Estimate::Predicted("ses:alpha=0.4,scale=payload".parse().unwrap()), Estimate::Resized { alpha: 400_000 }];
    }
    let source = |flow: u32| {
        let rate = Pattern::Poisson("30 kpps".parse().unwrap());
        let size = Size::Uniform { min: 100, max: 1500 };
        Source::Generator(Generator { packets: Some(2000), ..Generator::new(flow, rate, size) })
    };
    Workload { flows: flows.into(), sources: (0..3).map(source).collect() }
}

#[test]
fn the_link_takes_the_new_length_and_that_much_leaves() {
    let mut resized = flow("f");
    resized.resize = Resize { least: 4_000_000, most: 4_000_000 };
    let (result, log) = under(&of_sizes(resized, &[100, 50, 1]), "fifo", 1);
    // 1000 ns on the CPU, then 400 on the link; 500 and 200; 10 and 4.
    let ends: Vec<_> = log.iter().map(|p| p.finished.map(Option::unwrap)).collect();
    assert_eq!(ends, [[at(1000), at(1400)], [at(1500), at(1700)], [at(1510), at(1704)]]);
    let flow = &result.flows[0];
    assert_eq!((flow.bytes_offered, flow.bytes_delivered), (151, 604));
    assert_eq!(flow.service.0, [ns(1510), ns(604)]);
}

#[test]
fn lengths_are_rounded_to_the_nearest_byte_and_at_least_one() {
    for (factor, size, expected) in [(250_000, 10, 3), (250_000, 9, 2), (0, 1000, 1), (1_000_000, 7, 7)] {
        let mut resized = flow("f");
        resized.resize = Resize { least: factor, most: factor };
        assert_eq!(under(&of_sizes(resized, &[size]), "fifo", 1).1[0].packet.resized, expected);
    }
}

/// The mean of 2000 factors that are uniform over a width of 0.25 is within 5 standard errors, 5 * 0.25 / sqrt(12 *
/// 2000) = 0.0081, of the middle, and rounding to whole bytes of 100 and more adds no more than 0.005.
#[test]
fn factors_and_times_are_anything_in_their_ranges() {
    let (_, log) = under(&varied(), "fifo", 1);
    let of = |flow: u32| log.iter().filter(move |p| p.packet.flow == flow).map(|p| p.packet);
    let factors: Vec<f64> = of(0).map(|p| f64::from(p.resized) / f64::from(p.size)).collect();
    assert!(factors.iter().all(|f| (0.105..=0.365).contains(f)));
    let mean = factors.iter().sum::<f64>() / factors.len() as f64;
    assert!((mean - 0.235).abs() < 0.0131, "{mean}");
    let times: Vec<f64> = of(2).map(|p| p.cost[0].as_nanos() as f64 / f64::from(10 * p.size)).collect();
    assert!(times.iter().all(|t| (0.499..=1.501).contains(t)));
    // As above: 5 / sqrt(12 * 2000).
    assert!((times.iter().sum::<f64>() / times.len() as f64 - 1.0).abs() < 0.0323);
    assert!(of(1).all(|p| p.resized == 4 * p.size && p.cost[0] == ns(10 * u64::from(p.size))));
}

#[test]
fn every_scheduler_sees_the_same_packets_and_a_run_can_be_repeated() {
    let packets = |spec| {
        under(&varied(), spec, 7)
            .1
            .iter()
            .map(|p| (p.packet.number, p.packet.cost, p.packet.resized))
            .collect::<Vec<_>>()
    };
    let fifo = packets("fifo");
    assert_eq!(packets("cbcs"), fifo);
    assert_eq!(packets("pcfq"), fifo);
    assert_eq!(under(&varied(), "cbcs", 7), under(&varied(), "cbcs", 7));
    assert_ne!(under(&varied(), "fifo", 8).1[0].packet.cost, under(&varied(), "fifo", 7).1[0].packet.cost);
}

/// Also where the rows are too many, and the series ends early.
#[test]
fn fairness_needs_no_more_than_the_shares_of_flows_that_were_backlogged_throughout() {
    let (workload, pipeline) = (varied(), pipeline());
    for rows in [usize::MAX, 5000, 300] {
        let [all, few] = [true, false].map(|all_shares| {
            let options = MetricsOptions { interval: ns(10_000), rows, all_shares, ..MetricsOptions::default() };
            let mut metrics = Metrics::new(&workload, &pipeline, options);
            let outcome = simulate(&workload, &pipeline, &mut *fifo(), &mut metrics, Options::default()).unwrap();
            metrics.finish(outcome)
        });
        assert_eq!(few.fairness(0..u64::MAX), all.fairness(0..u64::MAX));
        assert_eq!(few.shortfall(|_| 0.9, 0..u64::MAX), all.shortfall(|_| 0.9, 0..u64::MAX));
        let kept: Vec<_> = all.series.shares.iter().filter(|share| share.backlogged).copied().collect();
        assert_eq!(few.series.shares, kept);
        assert!(!kept.is_empty() && kept.len() < all.series.shares.len());
        let ends = |result: &RunResult<2>| (result.series.truncated, result.series.intervals.len());
        assert_eq!(ends(&few), ends(&all));
        assert_eq!(few.series.truncated, rows < usize::MAX);
    }
}

#[test]
fn the_books_balance_when_lengths_change_and_packets_are_lost_in_between() {
    // Forty times as long: on the link that flow alone takes 32 us per packet, of which one comes every 33 us.
    let mut workload = varied();
    workload.flows[1].resize = Resize { least: 40_000_000, most: 40_000_000 };
    for spec in ["cbcs", "pcfq", "drr+drr:buffer=2", "wfq+wfq:full=hold,buffer=2"] {
        let mut schedulers = build_all(&spec.parse().unwrap(), Shape::default()).unwrap();
        let (result, log) = record_all(&workload, &pipeline(), &mut schedulers, ns(1_000_000), Options::default());
        let mut left = 0;
        for (index, flow) in result.flows.iter().enumerate() {
            let losses = flow.losses();
            assert_eq!(flow.offered, flow.delivered + losses.packets());
            let own = || log.iter().filter(|p| p.packet.flow as usize == index);
            let sent = own().filter(|p| p.finished[1].is_some());
            assert_eq!(flow.bytes_delivered, sent.map(|p| u64::from(p.packet.resized)).sum::<u64>());
            let lost = own().filter(|p| p.finished[1].is_none()).map(|p| p.packet.cost[1]);
            assert_eq!(losses.service[1], lost.sum(), "{spec}");
            left += flow.delivered;
        }
        assert_eq!(left, result.outcome.tally.delivered);
        assert_eq!(spec.contains("buffer=2") && !spec.contains("hold"), result.outcome.tally.dropped > 0, "{spec}");
    }
}

/// What was predicted of each packet's time on each resource, as the recorder hears when it ends there.
struct Told(Vec<[Option<Duration>; 2]>);

impl Recorder<2> for Told {
    fn admitted(&mut self, _now: Time, _packet: &SimPacket<2>) {
        self.0.push([None; 2]);
    }

    fn finished(
        &mut self,
        _now: Time,
        packet: &SimPacket<2>,
        resource: usize,
        _server: u32,
        predicted: Option<Duration>,
    ) {
        self.0[packet.number as usize][resource] = predicted;
    }
}

/// The same on one of the resources in ns, and how far it was off for the first flow on each.
fn told(workload: &Workload<2>, spec: &str, resource: usize) -> (Vec<Option<u64>>, [Option<PredictionError>; 2]) {
    let mut schedulers = build_all(&spec.parse().unwrap(), Shape::default()).unwrap();
    let pipeline = pipeline();
    let mut recorder = (Told(Vec::new()), Metrics::new(workload, &pipeline, MetricsOptions::default()));
    let outcome = simulate_all(workload, &pipeline, &mut schedulers, &mut recorder, Options::default()).unwrap();
    let told = recorder.0.0.iter().map(|packet| packet[resource].map(Duration::as_nanos)).collect();
    let result = recorder.1.finish(outcome);
    (told, [0, 1].map(|r| result.flows[0].prediction(r)))
}

/// One packet at a time, alpha 1/2, times by length 10 ns/B: the time per byte is known from the first packet on, the
/// header's mean is (2) by hand: 1000, then (500 + 1000) / 2.
#[test]
fn what_is_predicted_is_what_was_learnt_until_the_packet_came() {
    let spaced = |estimate: &str| {
        let mut flow = flow("f");
        flow.estimate[0] = Estimate::Predicted(estimate.parse().unwrap());
        let arrivals: Vec<Arrival> =
            (0..).zip([100, 50, 200]).map(|(k, size)| Arrival { time: at(10_000 * k), flow: 0, size }).collect();
        Workload { flows: vec![flow], sources: vec![Source::List(List::new(arrivals))] }
    };
    let predicted = |estimate: &str| told(&spaced(estimate), "cbcs", 0);
    let (told, error) = predicted("ses:alpha=0.5,scale=payload");
    assert_eq!(told, [0, 500, 2000].map(Some));
    let mut expected = PredictionError::default();
    for (predicted, actual) in [(0, 1000), (500, 500), (2000, 2000)] {
        expected.record(ns(predicted), ns(actual));
    }
    assert_eq!(error, [Some(expected), None]);
    assert_eq!(predicted("ses:alpha=0.5").0, [0, 1000, 750].map(Some));
    assert_eq!(predicted("5 ns/B").0, [500, 250, 1000].map(Some));
    assert_eq!(predicted("oracle"), (vec![None; 3], [None, None]));
}

/// Flows of one class teach each other; on their own, the second flow's first packet is unknown.
#[test]
fn predictions_per_class_are_shared() {
    let first_of_second = |per: &str| {
        let mut flows = vec![flow("a"), flow("b")];
        for flow in &mut flows {
            flow.class = 3;
            flow.estimate[0] = Estimate::Predicted(format!("ses:alpha=0.5,scale=payload,per={per}").parse().unwrap());
        }
        let arrivals = vec![Arrival { time: at(0), flow: 0, size: 100 }, Arrival { time: at(5000), flow: 1, size: 30 }];
        let workload = Workload { flows, sources: vec![Source::List(List::new(arrivals))] };
        told(&workload, "fifo", 0).0[1]
    };
    assert_eq!(first_of_second("class"), Some(300));
    assert_eq!(first_of_second("flow"), Some(0));
}

#[test]
fn the_link_time_of_a_new_length_is_learnt_by_the_resize_factor() {
    let mut resized = flow("f");
    resized.resize = Resize { least: 250_000, most: 250_000 };
    resized.estimate[1] = Estimate::Resized { alpha: 400_000 };
    let arrivals: Vec<Arrival> = (0..2).map(|k| Arrival { time: at(10_000 * k), flow: 0, size: 400 }).collect();
    let workload = Workload { flows: vec![resized], sources: vec![Source::List(List::new(arrivals))] };
    let (told, error) = told(&workload, "pcfq", 1);
    // At first a factor of one; both really take 100 ns.
    assert_eq!(told, [400, 100].map(Some));
    assert_eq!(error[1].unwrap().bias_s(), Some(150e-9));
}

/// Both come at once. The first is through with the link, which takes 100 ns, before the second stands in front of it.
#[test]
fn in_front_of_a_further_resource_it_is_predicted_anew() {
    let mut learnt = flow("f");
    learnt.estimate[1] = Estimate::Predicted("ses:alpha=0.5,scale=payload".parse().unwrap());
    let workload = of_sizes(learnt, &[100, 100]);
    assert_eq!(told(&workload, "drr+drr", 1).0, [0, 100].map(Some));
    assert_eq!(told(&workload, "drr", 1).0, [0, 0].map(Some));
}

/// One packet of 10 ns after the other on both resources from both flows; the second resource is shared 3 to 1.
#[test]
fn separate_schedulers_can_have_separate_weights() {
    let mut flows = ["a", "b"]
        .map(|name| Flow::new(name, [Cost::Linear("1 ns".parse().unwrap()), Cost::Linear("10 ns".parse().unwrap())]));
    flows[0].weight_on = Some([Weight::ONE, Weight::from_milli(3000).unwrap()]);
    let arrivals: Vec<Arrival> = (0..200).map(|k| Arrival { time: at(0), flow: k % 2, size: 1 }).collect();
    let workload = Workload { flows: flows.into(), sources: vec![Source::List(List::new(arrivals))] };
    let mut schedulers = build_all(&"sfq+sfq:buffer=none".parse().unwrap(), Shape::default()).unwrap();
    let (_, log) = record_all(&workload, &pipeline(), &mut schedulers, ns(1000), Options::default());
    let by = |flow: u32, resource: usize, end: u64| {
        log.iter().filter(|p| p.packet.flow == flow && p.finished[resource].is_some_and(|t| t <= at(end))).count()
    };
    // Within the packet that each flow may be off.
    assert_eq!((by(0, 0, 100), by(1, 0, 100)), (50, 50));
    assert!((73..=77).contains(&by(0, 1, 1001)), "{} of 100", by(0, 1, 1001));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |change: fn(&mut Flow<2>)| {
        let mut flow = flow("f");
        change(&mut flow);
        simulate(&of_sizes(flow, &[1]), &pipeline(), &mut *fifo(), &mut (), Options::default()).unwrap_err().to_string()
    };
    assert!(refused(|f| f.resize = Resize { least: 2, most: 1 }).contains("resize factor"));
    assert!(refused(|f| f.spread = [1_000_001, 0]).contains("spread by 1000001 millionths"));
    assert!(refused(|f| f.spread = [0, 1]).contains("0 on a link"));
}
