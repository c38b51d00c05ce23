//! A CPU and then a link, both under RED as in ns-2, beside what ns-2 2.35 said over five seeds: forty long-lived Reno
//! flows of 500-byte packets without ECN, a round trip of 40 ms, a link of 40 Mb/s, starts spread over 20 s; a packet
//! of w cycles/bit holds the CPU 8 * 500 * w / C seconds.

use dovetail_sched::aqm::{Fraction, QueueConfig, RedConfig, Rules};
use dovetail_sim::network::{
    Class, Hop, Network, NetworkOptions, NetworkResult, Queueing, RoundTrip, Service, Traffic, simulate_network,
};
use dovetail_tcp::{AckPolicy, Config, Variant};
use dovetail_units::{Density, Duration, Time};

/// Forty flows in classes of these densities in millionths of a cycle per bit, over a CPU of so many cycles per second.
fn run(cpu: &str, micro: &[u64]) -> NetworkResult {
    let weight = Fraction::from_f64(1e-4).unwrap();
    let queue = QueueConfig { weight, ecn: false, ..QueueConfig::new(Duration::from_micros(100)) };
    let red = RedConfig { wait: true, rules: Rules::Ns2, ..RedConfig::new(queue) };
    let hop = |name: &str, service, delay| Hop {
        name: name.into(),
        service,
        queueing: Queueing::Red(red),
        limit: 1200,
        delay: Duration::from_millis(delay),
        encoding: None,
    };
    let class = |&density: &u64| Class {
        name: density.to_string(),
        density: Density::from_micro(density),
        route: vec![0, 1],
        packet_bytes: 500,
        access: Some("1 Gbps".parse().unwrap()),
        tcp: Config { window_limit: 1000, handshake: false, ecn: false, ..Config::ns2(Variant::Reno, Duration::ZERO) },
        acks: AckPolicy::EverySegment,
    };
    let rtt = RoundTrip { min: Duration::from_millis(40), max: Duration::from_millis(40) };
    let count = 40 / micro.len() as u32;
    let traffic = |class| Traffic::LongLived { class, count, start: Time::ZERO, spread: Duration::from_secs(20), rtt };
    let network = Network {
        hops: vec![
            hop("cpu", Service::Cpu(cpu.parse().unwrap()), 0),
            hop("link", Service::Link("40 Mbps".parse().unwrap()), 10),
        ],
        classes: micro.iter().map(class).collect(),
        traffic: (0..micro.len() as u32).map(traffic).collect(),
    };
    let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
    let options = NetworkOptions { seed: 1, warm_up: at(50), until: at(200), cancel: None };
    simulate_network(&network, options, &mut ()).unwrap().unwrap()
}

/// As in the dumbbell of one link: queues within 2 %, and half of the last digit that ns-2's number has.
fn near(what: &str, ours: f64, theirs: f64, digit: f64) {
    assert!((ours - theirs).abs() <= 0.02 * theirs + 0.5 * digit, "{what}: {ours}, in ns-2 {theirs}");
}

fn goodput(result: &NetworkResult) -> f64 {
    result.traffic.iter().map(|t| t.goodput_bps).sum::<f64>() / 1e6
}

const FOUR: [u64; 4] = [250_000, 500_000, 1_000_000, 2_000_000];

#[test]
fn one_density_over_a_scarce_cpu_is_the_dumbbell_with_the_cpu_for_its_link() {
    // Half of what the link carries: 20 Mb/s of 1 cycle per bit.
    let result = run("20 Mcycles/s", &[1_000_000]);
    assert!((goodput(&result) - 19.99).abs() <= 0.02, "{}", goodput(&result));
    near("queue of the CPU", result.hops[0].queue, 151.0, 1.0);
    let drops = result.hops[0].drop_rate();
    assert!((drops / 0.0135 - 1.0).abs() <= 0.03 + 0.5 * 0.01 / 1.35, "drops per arrival {drops}");
    assert!(result.hops[1].queue < 1.0);
}

#[test]
fn red_on_both_gives_classes_equal_rates_whatever_their_processing() {
    let result = run("20 Mcycles/s", &FOUR);
    let total = goodput(&result);
    // The mean density of what is carried is .9375 if classes have equal rates; each 2 % off moves it by less than 1 %.
    assert!((total / 21.36 - 1.0).abs() <= 0.01, "{total} Mb/s");
    near("queue of the CPU", result.hops[0].queue, 146.5, 0.1);
    for class in &result.traffic {
        let part = 4.0 * class.goodput_bps / 1e6 / total;
        assert!((part - 1.0).abs() <= 0.02, "class {} has {part} of an equal share", class.class);
    }
}
