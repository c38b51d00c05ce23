//! The dumbbell that ns-2 runs alike: 40 long-lived flows of 500-byte packets, a round trip of 40 ms, a link of 40 Mb/s under RED, 200 s of
//! which the first 50 do not count.
//!
//! The numbers are those of ns-2 2.35 over five seeds (its `Agent/TCP/Reno` and `Newreno`, an ACK per packet, window limit 1000, starts
//! spread over 20 s; RED in packets 50 / 550, weight 1e-4, max_p 0.1, gentle, `wait`, limit 1200). Its seeds differ by 0.2 % in the mean queue and the
//! drop rate, by some 5 % in timeouts. Allowed are 2 %, 3 % and 15 %: what two right programs may differ by that draw other numbers.

use dovetail_sched::aqm::{RedConfig, Rules};
use dovetail_sim::network::{
    Class, Hop, Network, NetworkOptions, NetworkResult, Queueing, RoundTrip, Service, Traffic, simulate_network,
};
use dovetail_tcp::{Config, Variant};
use dovetail_units::{Density, Duration, Time};

fn dumbbell(variant: Variant, ecn: bool) -> Network {
    let packet = Duration::from_micros(100);
    let red = RedConfig { wait: true, ecn, rules: Rules::Ns2, ..RedConfig::new(packet) };
    let link = Hop {
        name: "bottleneck".into(),
        service: Service::Link("40 Mbps".parse().unwrap()),
        queueing: Queueing::Red(red),
        limit: 1200,
        delay: Duration::from_millis(10),
    };
    let class = Class {
        name: "tcp".into(),
        density: Density::default(),
        route: vec![0],
        packet_bytes: 500,
        access: Some("1 Gbps".parse().unwrap()),
        tcp: Config { window_limit: 1000, handshake: false, ecn, ..Config::ns2(variant, Duration::ZERO) },
    };
    let rtt = RoundTrip { min: Duration::from_millis(40), max: Duration::from_millis(40) };
    let spread = Duration::from_secs(20);
    Network {
        hops: vec![link],
        classes: vec![class],
        traffic: vec![Traffic::LongLived { class: 0, count: 40, start: Time::ZERO, spread, rtt }],
    }
}

/// What ns-2 shows: mean queue, drops or marks per arrival, timeouts.
struct Expected {
    queue: f64,
    rate: f64,
    timeouts: f64,
}

fn run(network: &Network, seed: u64) -> NetworkResult {
    let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
    let options = NetworkOptions { seed, warm_up: at(50), until: at(200), cancel: None };
    simulate_network(network, options, &mut ()).unwrap().unwrap()
}

fn agrees(variant: Variant, ecn: bool, seeds: u64, expected: &Expected) {
    let results: Vec<NetworkResult> = (1..=seeds).map(|seed| run(&dumbbell(variant, ecn), seed)).collect();
    let mean = |of: &dyn Fn(&NetworkResult) -> f64| results.iter().map(of).sum::<f64>() / seeds as f64;
    let rate = |r: &NetworkResult| r.hops[0].drop_rate() + r.hops[0].mark_rate();
    let (queue, rate) = (mean(&|r| r.hops[0].queue), mean(&rate));
    let timeouts = mean(&|r| r.flows.iter().map(|f| f.timeouts).sum::<u64>() as f64);
    println!("{variant:?}, ecn {ecn}: queue {queue:.2}, rate {rate:.6}, timeouts {timeouts:.0}");
    let near = |ours: f64, theirs: f64, part: f64| (ours - theirs).abs() <= part * theirs;
    assert!(near(queue, expected.queue, 0.02), "queue {queue} against {}", expected.queue);
    assert!(near(rate, expected.rate, 0.03), "rate {rate} against {}", expected.rate);
    assert!(near(timeouts, expected.timeouts, 0.15), "timeouts {timeouts} against {}", expected.timeouts);
    for result in &results {
        assert!(result.hops[0].utilization >= 0.999, "{:?}", result.hops[0]);
        let goodput = result.traffic[0].goodput_bps;
        assert!((39.9e6..=40.1e6).contains(&goodput), "{goodput}");
    }
}

#[test]
fn reno_agrees_with_ns2() {
    agrees(Variant::Reno, false, 2, &Expected { queue: 106.15, rate: 0.007383, timeouts: 898.0 });
}

#[test]
fn newreno_agrees_with_ns2() {
    agrees(Variant::NewReno, false, 2, &Expected { queue: 111.53, rate: 0.008089, timeouts: 197.0 });
}

#[test]
fn reno_with_ecn_agrees_with_ns2() {
    agrees(Variant::Reno, true, 1, &Expected { queue: 112.65, rate: 0.008256, timeouts: 0.0 });
}
