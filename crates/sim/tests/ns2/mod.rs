//! The dumbbell that ns-2 runs alike, here and in ns-2: 40 long-lived flows of 500-byte packets, a round trip of 40 ms,
//! a link of 40 Mb/s under RED (packets, 50 / 550, weight 1e-4, max_p 0.1, gentle, `wait`, limit 1200), starts spread
//! over 20 s, an ACK per packet, window limit 1000; 200 s of which the first 50 do not count.

use std::path::Path;
use std::process::Command;

use dovetail_sched::aqm::{Fraction, QueueConfig, RedConfig, Rules};
use dovetail_sim::network::{
    Class, Hop, Network, NetworkOptions, NetworkResult, Queueing, RoundTrip, Service, Traffic, simulate_network,
};
use dovetail_tcp::{AckPolicy, Config, Variant};
use dovetail_units::{Density, Duration, Time};

/// The seconds that count.
const SPAN: f64 = 150.0;
const PACKET_BITS: f64 = 4000.0;

/// What is compared.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Mean number of packets that wait, without the one being sent.
    pub queue: f64,
    /// Packets dropped or marked per packet that came.
    pub rate: f64,
    /// Timeouts of all flows.
    pub timeouts: f64,
    /// In-order packets of all flows, in Mb/s.
    pub throughput: f64,
    /// Standard deviation of the flows' goodputs in Mb/s.
    pub spread: f64,
    /// Data packets that came through, from the beginning of the run.
    pub packets: u64,
}

/// The run by Dovetail.
pub fn ours(variant: Variant, ecn: bool, seed: u64) -> Outcome {
    let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
    let options = NetworkOptions { seed, warm_up: at(50), until: at(200), cancel: None };
    let result: NetworkResult = simulate_network(&dumbbell(variant, ecn), options, &mut ()).unwrap().unwrap();
    let goodputs: Vec<f64> = result.flows.iter().map(|flow| flow.goodput_bps / 1e6).collect();
    Outcome {
        queue: result.hops[0].queue,
        rate: result.hops[0].drop_rate() + result.hops[0].mark_rate(),
        timeouts: result.flows.iter().map(|flow| flow.timeouts as f64).sum(),
        throughput: goodputs.iter().sum(),
        spread: standard_deviation(&goodputs),
        packets: result.packets,
    }
}

fn dumbbell(variant: Variant, ecn: bool) -> Network {
    let packet = Duration::from_micros(100);
    let weight = Fraction::from_f64(1e-4).unwrap();
    let queue = QueueConfig { weight, ecn, ..QueueConfig::new(packet) };
    let red = RedConfig { wait: true, rules: Rules::Ns2, ..RedConfig::new(queue) };
    let link = Hop {
        name: "bottleneck".into(),
        service: Service::Link("40 Mbps".parse().unwrap()),
        queueing: Queueing::Red(red),
        limit: 1200,
        delay: Duration::from_millis(10),
        encoding: None,
    };
    let class = Class {
        name: "tcp".into(),
        density: Density::default(),
        route: vec![0],
        packet_bytes: 500,
        access: Some("1 Gbps".parse().unwrap()),
        tcp: Config { window_limit: 1000, handshake: false, ecn, ..Config::ns2(variant, Duration::ZERO) },
        acks: AckPolicy::EverySegment,
    };
    let rtt = RoundTrip { min: Duration::from_millis(40), max: Duration::from_millis(40) };
    let spread = Duration::from_secs(20);
    Network {
        hops: vec![link],
        classes: vec![class],
        traffic: vec![Traffic::LongLived { class: 0, count: 40, start: Time::ZERO, spread, rtt }],
    }
}

/// The run by ns-2; panics with its words if it fails.
pub fn theirs(variant: Variant, ecn: bool, seed: u64) -> Outcome {
    let agent = match variant {
        Variant::Reno => "Reno",
        Variant::NewReno => "Newreno",
        Variant::Cubic => panic!("not among ns-2's agents"),
    };
    let lines = counts("dumbbell.tcl", &[agent, if ecn { "1" } else { "0" }, &seed.to_string()]);
    let [warm, end] = &lines[..] else { panic!("ns-2 counts {lines:?}") };
    let counted: Vec<f64> = end.iter().zip(warm).map(|(end, warm)| end - warm).collect();
    let goodputs: Vec<f64> = counted[4..].iter().step_by(2).map(|acked| acked * PACKET_BITS / SPAN / 1e6).collect();
    Outcome {
        queue: counted[0] / SPAN,
        rate: (counted[2] + counted[3]) / counted[1],
        timeouts: counted[5..].iter().step_by(2).sum(),
        throughput: goodputs.iter().sum(),
        spread: standard_deviation(&goodputs),
        packets: end[4..].iter().step_by(2).sum::<f64>() as u64,
    }
}

/// The lines of numbers that ns-2 prints for this script of the folder; panics with its words if it prints others.
pub fn counts(script: &str, arguments: &[&str]) -> Vec<Vec<f64>> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../sim/tests/ns2"));
    let output = Command::new("ns").arg(folder.join(script)).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers = |line: &str| line.split(' ').map(|x| x.parse().ok()).collect::<Option<Vec<f64>>>();
    text.lines()
        .map(numbers)
        .collect::<Option<_>>()
        .filter(|_| output.status.success())
        .unwrap_or_else(|| panic!("ns-2 says {text}{}", String::from_utf8_lossy(&output.stderr)))
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Of a sample.
pub fn standard_deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)).sqrt()
}
