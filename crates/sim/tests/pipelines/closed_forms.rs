//! Runs whose results can be computed by hand.

use crate::common::{Script, at, fifo, listed, ns, pipeline, record, ways};
use dovetail_sim::{Cost, Flow, Generator, MetricsOptions, Options, Pattern, Pipeline, Size, Source, Workload, run};
use dovetail_units::{BitRate, Duration, Time};

/// The tradeoff paper's Fig. 1: flow 0 has packets `<2,3>`, flow 1 `<9,1>`; here in microseconds, all there from the
/// beginning, served `p` of flow 0 and then one of flow 1, `rounds` times.
fn figure_1(p: usize, rounds: usize) -> dovetail_sim::RunResult<2> {
    let mut packets = vec![(0, 0, [2_000, 3_000]); p * rounds];
    packets.resize(p * rounds + rounds, (0, 1, [9_000, 1_000]));
    let order = (0..rounds).flat_map(|_| (0..p).map(|_| 0).chain([1]));
    let workload = listed(&packets);
    let mut scheduler = Script::<2>::new(order);
    record(&workload, &pipeline(), &mut scheduler, Duration::from_micros(300), Options::default()).0
}

#[test]
fn figure_1a_is_fair_and_wastes_a_third_of_the_link() {
    let rounds = 100;
    let result = figure_1(3, rounds);
    // 15 us of CPU per round without a gap; the link still has the last packet of flow 1 to send.
    assert_eq!(result.outcome.makespan(), Some(Duration::from_micros(15 * rounds as u64 + 1)));
    assert_eq!(result.resources[0].busy, Duration::from_micros(15 * rounds as u64));
    assert_eq!(result.resources[1].busy, Duration::from_micros(10 * rounds as u64));
    assert_eq!(result.resources[1].utilization, 1000.0 / 1501.0);
    // Intervals of 300 us are 20 rounds, in which each flow receives 20 times 9 us: exactly the fair 3/5. (In the
    // fifth, flow 0 ends early.)
    for (row, shares) in result.series.iter().take(4) {
        // The profiles 2/3 and 1/9 are rounded down by less than 2^-31 each.
        assert!((row.fair - 180e-6).abs() < 180e-6 * 1e-9, "{}", row.fair);
        assert!(shares.iter().all(|s| s.backlogged && s.service == 180e-6), "{shares:?}");
    }
    let fairness = result.fairness(0..4).unwrap();
    assert_eq!(
        (fairness.intervals, fairness.jain, fairness.gini, fairness.relative_fairness_bound),
        (4, 1.0, 0.0, 0.0)
    );
}

#[test]
fn figure_1b_is_efficient_and_unfair() {
    let rounds = 100;
    let result = figure_1(8, rounds);
    // The link starts after 2 us and never waits again: 25 us per round on both resources.
    assert_eq!(result.outcome.makespan(), Some(Duration::from_micros(2 + 25 * rounds as u64)));
    assert_eq!(result.resources[0].busy, result.resources[1].busy);
    let share = |flow: usize| result.flows[flow].dominant_service / (25e-6 * rounds as f64);
    // Sums of at most 900 rounded terms of relative error 2^-53 each.
    assert!((share(0) - 24.0 / 25.0).abs() < 1e-12);
    assert!((share(1) - 9.0 / 25.0).abs() < 1e-12);
}

#[test]
fn sixty_udp_flows_into_a_link_drain_at_the_known_instant() {
    let rate: BitRate = "200 Mbps".parse().unwrap();
    let constant = Pattern::Constant("2000 pps".parse().unwrap());
    let workload = Workload {
        flows: (0..60).map(|f| Flow::new(format!("udp {f}"), [Cost::Link(rate)])).collect(),
        sources: (0..60)
            .map(|f| Generator { stop: Some(at(10_000_000_000)), ..Generator::new(f, constant, Size::Fixed(800)) })
            .map(Source::Generator)
            .collect(),
    };
    let pipeline = Pipeline::new(["link"]);
    let result = run(&workload, &pipeline, &mut *fifo(), MetricsOptions::default(), Options::default()).unwrap();
    assert_eq!(result.outcome.tally.delivered, 1_200_000);
    assert_eq!(result.outcome.last_departure, Some(at(38_400_000_000)));
    // Packet n of all starts at n * 32 us; batch k of 60 comes at k * 500 us. In all: 14.2000 s.
    let starts = (1_200_000.0 - 1.0) / 2.0 * 32e-6;
    let arrivals = (20_000.0 - 1.0) / 2.0 * 500e-6;
    let latency: f64 =
        (0..60).filter_map(|f| result.latencies.of_flow(f).summary()).map(|l| l.mean).sum::<f64>() / 60.0;
    let wait = latency - 32e-6;
    // Each of the 60 means is an integer sum, rounded once to 2^-53 relative.
    assert!((wait - (starts - arrivals)).abs() < 1e-12, "{wait}");
    assert!((wait - 14.2).abs() < 0.0005);
    assert_eq!(result.resources[0].utilization, 1.0);
}

/// Pollaczek-Khinchine: the mean wait of M/D/1 at load rho is rho s / (2 (1 - rho)).
#[test]
fn poisson_arrivals_to_one_constant_server_wait_as_m_d_1() {
    let (rho, service) = (0.5, 1e-3);
    let mean_wait = |seed| {
        let workload = Workload {
            flows: vec![Flow::new("md1", [Cost::Linear("1 ms".parse().unwrap())])],
            sources: vec![Source::Generator(Generator {
                packets: Some(10_000),
                ..Generator::new(0, Pattern::Poisson("500 pps".parse().unwrap()), Size::Fixed(100))
            })],
        };
        let options = Options { seed, ..Options::default() };
        let result = run(&workload, &pipeline(), &mut *fifo(), MetricsOptions::default(), options).unwrap();
        result.latencies.of_flow(0).summary().unwrap().mean - service
    };
    let runs: Vec<f64> = (0..40).map(mean_wait).collect();
    let mean = runs.iter().sum::<f64>() / 40.0;
    let variance = runs.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / 39.0;
    // Four standard errors of the mean of 40 independent runs: exceeded with probability 0.0003 (t, 39 degrees) by a
    // right simulator. Starting empty lowers the mean by less than the wait times the relaxation time (some ten
    // packets) over 10,000 packets, well inside one standard error.
    let tolerance = 4.0 * (variance / 40.0).sqrt();
    let expected = rho * service / (2.0 * (1.0 - rho));
    assert!((mean - expected).abs() < tolerance, "{mean} is not {expected} +- {tolerance}");
    assert!(tolerance < 0.05 * expected, "the test says something: {tolerance}");
}

#[test]
fn a_tandem_of_three_resources_by_hand() {
    // Johnson's rule would do better; fifo does
    //   r0: a 0-3, b 3-4, c 4-9;  r1: a 3-5, b 5-9, c 9-10;  r2: a 5-6, b 9-11, c 11-18.
    let packets = [(0, 0, [3, 2, 1]), (0, 0, [1, 4, 2]), (1, 0, [5, 1, 7])];
    let (outcome, log) = ways(&packets, &pipeline());
    assert_eq!(outcome.last_departure, Some(at(18)));
    let finished: Vec<_> = log.iter().map(|p| p.finished.map(|t| t.map(Time::as_nanos))).collect();
    assert_eq!(finished, [[Some(3), Some(5), Some(6)], [Some(4), Some(9), Some(11)], [Some(9), Some(10), Some(18)],]);
}

#[test]
fn a_packet_without_cost_passes_in_no_time() {
    let (outcome, log) = ways(&[(5, 0, [0, 0]), (5, 0, [0, 4]), (5, 0, [0, 0])], &pipeline());
    assert_eq!(log.iter().map(|p| p.finished[1].unwrap()).collect::<Vec<_>>(), [at(5), at(9), at(9)]);
    assert_eq!(outcome.makespan(), Some(ns(4)));
}
