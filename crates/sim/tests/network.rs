//! Networks: books, closed forms, and what every run must keep.

use std::collections::BTreeMap;

use dovetail_sched::aqm::{Congestion, Encoding, Fraction, QueueConfig, RedConfig, Unit};
use dovetail_sim::SimError;
use dovetail_sim::network::{
    Class, Hop, HopResult, MOST_FLOWS, Network, NetworkOptions, NetworkResult, Packet, Queueing, RoundTrip, Service,
    Tap, Traffic, simulate_network,
};
use dovetail_tcp::{AckPolicy, Config, Length, Variant};
use dovetail_units::{Density, Duration, Time};

fn link(name: &str, rate: &str, queueing: Queueing) -> Hop {
    let service = Service::Link(rate.parse().unwrap());
    Hop { name: name.into(), service, queueing, limit: 100, delay: Duration::from_millis(10), encoding: None }
}

fn cpu(name: &str, rate: &str, queueing: Queueing) -> Hop {
    Hop { service: Service::Cpu(rate.parse().unwrap()), delay: Duration::ZERO, ..link(name, "1 bps", queueing) }
}

fn class(name: &str, density: &str, route: &[u32]) -> Class {
    let density: Density = density.parse().unwrap();
    let tcp = Config { window_limit: 1000, handshake: false, ..Config::rfc(Variant::NewReno) };
    let acks = AckPolicy::EverySegment;
    Class { name: name.into(), density, route: route.into(), packet_bytes: 500, access: None, tcp, acks }
}

fn rtt(ms: u64) -> RoundTrip {
    RoundTrip { min: Duration::from_millis(ms), max: Duration::from_millis(ms) }
}

fn seconds(s: u64) -> Time {
    Time::ZERO + Duration::from_secs(s)
}

fn long_lived(class: u32, count: u32) -> Traffic {
    let spread = Duration::from_secs(5);
    Traffic::LongLived { class, count, start: Time::ZERO, spread, rtt: rtt(40) }
}

fn run(network: &Network, seed: u64) -> NetworkResult {
    let options = NetworkOptions { seed, warm_up: seconds(10), until: seconds(60), cancel: None };
    simulate_network(network, options, &mut ()).unwrap().unwrap()
}

#[test]
fn one_flow_fills_the_link_when_the_buffer_holds_a_round_trip() {
    // 40 ms of 10 Mb/s are 100 packets of 500 bytes: the window that is left after halving 200 is in flight then.
    let network = Network {
        hops: vec![link("link", "10 Mbps", Queueing::DropTail)],
        classes: vec![class("flow", "0 cycles/bit", &[0])],
        traffic: vec![long_lived(0, 1)],
    };
    let result = run(&network, 1);
    assert!(result.hops[0].utilization > 0.999, "{result:?}");
    // All that is sent arrives in order, but for what is repeated.
    assert!((result.flows[0].goodput_bps / 1e7 - 1.0).abs() < 0.002, "{result:?}");
    assert!(result.hops[0].overflowed > 0 && result.flows[0].timeouts == 0, "{result:?}");
}

#[test]
fn packets_without_processing_pass_a_full_cpu_by() {
    // 100 kcycles/s are 0.1 Mb/s of the flows that need them; the link is free for the others.
    let network = Network {
        hops: vec![cpu("cpu", "100 kcycles/s", Queueing::DropTail), link("link", "10 Mbps", Queueing::DropTail)],
        classes: vec![class("none", "0 cycles/bit", &[0, 1]), class("some", "1 cycles/bit", &[0, 1])],
        traffic: vec![long_lived(0, 2), long_lived(1, 4)],
    };
    let result = run(&network, 1);
    let [none, some] = by_class(&result, 2)[..] else { panic!() };
    assert!((2.0 * none + 4.0 * some) > 9.9 && 4.0 * some <= 0.1001, "{none} {some}");
    let cpu = &result.hops[0];
    assert!(cpu.utilization > 0.999 && cpu.arrived > 50 * 2000, "{cpu:?}");
}

/// Mean goodput of the flows of each class, in Mbit/s.
fn by_class(result: &NetworkResult, classes: u32) -> Vec<f64> {
    let mean = |class| {
        let of_class: Vec<f64> =
            result.flows.iter().filter(|f| f.class == class).map(|f| f.goodput_bps / 1e6).collect();
        of_class.iter().sum::<f64>() / of_class.len() as f64
    };
    (0..classes).map(mean).collect()
}

const DENSITIES: [&str; 4] = ["0.25 cycles/bit", "0.5 cycles/bit", "1 cycles/bit", "2 cycles/bit"];

/// Four classes of ten flows over a CPU and a link.
fn four_classes(cpu_rate: &str, on_cpu: Queueing) -> Network {
    Network {
        hops: vec![cpu("cpu", cpu_rate, on_cpu), link("link", "40 Mbps", Queueing::DropTail)],
        classes: DENSITIES.iter().map(|density| class(density, density, &[0, 1])).collect(),
        traffic: (0..4).map(|k| long_lived(k, 10)).collect(),
    }
}

#[test]
fn per_flow_queues_on_a_scarce_cpu_give_equal_cpu_time() {
    // A quarter of 10 Mcycles/s for every class of ten: 0.25 Mcycles/s a flow, which are 1, 0.5, 0.25 and 0.125 Mbit/s.
    let mut network = four_classes("10 Mcycles/s", Queueing::PerFlow("drr".parse().unwrap()));
    network.hops[0].limit = 20;
    let result = run(&network, 1);
    assert!(result.hops[0].utilization > 0.999, "{result:?}");
    for (mean, fair) in by_class(&result, 4).into_iter().zip([1.0, 0.5, 0.25, 0.125]) {
        // The CPU also processes what is sent twice: a flow whose queue of 20 overflows loses one packet of the
        // hundreds of a sawtooth, and now and then a window. A gap that is filled after the warm-up brings what
        // came behind it before.
        assert!((0.95..=1.01).contains(&(mean / fair)), "{mean} of {fair}");
    }
}

#[test]
fn short_flows_come_and_go_and_bring_the_load_that_they_should() {
    // 100 flows per second of 30 packets of 4000 bits are 12 Mbit/s.
    let web = |shape| Network {
        hops: vec![link("link", "40 Mbps", Queueing::DropTail)],
        classes: vec![class("web", "0 cycles/bit", &[0])],
        traffic: vec![Traffic::Web {
            class: 0,
            rate: 100.0,
            mean_packets: 30.0,
            shape,
            rtt: RoundTrip { min: Duration::from_millis(20), max: Duration::from_millis(60) },
        }],
    };
    let result = run(&web(2.5), 1);
    // 5000 flows in 50 s: 1.4 % standard deviation of the number, and as much of the mean length (shape 2.5: 0.9 of the
    // mean), rounded up to whole packets: half of one more in the mean.
    let load = result.traffic[0].goodput_bps / (100.0 * 30.5 * 4000.0);
    assert!((load - 1.0).abs() < 3.0 * 0.02, "{load}");
    let finished = result.traffic[0].finished as f64;
    assert!((finished / 5000.0 - 1.0).abs() < 3.0 * 0.0142, "{finished}");
}

#[test]
fn equal_seeds_give_equal_results_and_others_do_not() {
    let mut network = four_classes("20 Mcycles/s", Queueing::DropTail);
    let rtt = RoundTrip { min: Duration::from_millis(20), max: Duration::from_millis(60) };
    network.traffic.push(Traffic::Web { class: 0, rate: 20.0, mean_packets: 30.0, shape: 1.2, rtt });
    assert_eq!(run(&network, 1), run(&network, 1));
    assert_ne!(run(&network, 1).flows, run(&network, 2).flows);
}

#[test]
fn what_arrives_at_a_hop_is_served_lost_or_there() {
    let red = RedConfig::new(QueueConfig::new(Duration::from_micros(100)));
    let ways =
        [Queueing::DropTail, Queueing::Red(red), Queueing::Drq(red.queue), Queueing::PerFlow("drr".parse().unwrap())];
    for queueing in ways {
        let mut network = four_classes("10 Mcycles/s", queueing);
        network.hops[0].limit = 30;
        let result = run(&network, 3);
        for hop in &result.hops {
            let lost = hop.dropped + hop.overflowed;
            assert_eq!(hop.held_before + hop.arrived, hop.departed + lost + hop.held_after, "{hop:?}");
        }
        assert!(result.hops[0].held_before > 0 && result.hops[0].overflowed > 0, "{:?}", result.hops[0]);
    }
}

#[test]
fn a_link_carries_no_more_than_its_rate_however_short_the_time() {
    // A packet takes 400 us. All but the link's rounding to a nanosecond per packet is exact.
    let network = Network {
        hops: vec![link("link", "10 Mbps", Queueing::DropTail)],
        classes: vec![class("flow", "0 cycles/bit", &[0])],
        traffic: vec![long_lived(0, 1)],
    };
    for microseconds in [1, 100, 399, 401, 12_345] {
        let until = seconds(10) + Duration::from_micros(microseconds);
        let options = NetworkOptions { seed: 1, warm_up: seconds(10), until, cancel: None };
        let hop = &simulate_network(&network, options, &mut ()).unwrap().unwrap().hops[0];
        assert!((hop.rate_bps / 1e7 - 1.0).abs() < 1e-5 && hop.utilization == 1.0, "{microseconds} us: {hop:?}");
    }
}

#[test]
fn a_queue_s_deviation_is_that_over_time() {
    // A flow's first window of three comes at once: 2 wait for 400 us, then 1 for 400 us, in 3 s.
    let mut network = Network {
        hops: vec![link("link", "10 Mbps", Queueing::DropTail)],
        classes: vec![class("flow", "0 cycles/bit", &[0])],
        traffic: vec![Traffic::LongLived {
            class: 0,
            count: 1,
            start: Time::ZERO,
            spread: Duration::ZERO,
            rtt: rtt(40),
        }],
    };
    network.classes[0].tcp.length = Length::Segments(3);
    let options = NetworkOptions { seed: 1, warm_up: Time::ZERO, until: seconds(3), cancel: None };
    let hop = &simulate_network(&network, options, &mut ()).unwrap().unwrap().hops[0];
    let (mean, square) = (3.0 * 400e-6 / 3.0, 5.0 * 400e-6 / 3.0);
    assert!((hop.queue / mean - 1.0).abs() < 1e-6, "{hop:?}");
    assert!((hop.queue_deviation / f64::sqrt(square - mean * mean) - 1.0).abs() < 1e-6, "{hop:?}");
}

#[test]
fn long_lived_flows_are_told_in_the_order_of_their_starts() {
    // Between the starts short flows come and leave places behind, which are used again.
    let web = Traffic::Web { class: 0, rate: 100.0, mean_packets: 5.0, shape: 1.5, rtt: rtt(40) };
    let one = |k| Traffic::LongLived { class: 0, count: 1, start: seconds(k), spread: Duration::ZERO, rtt: rtt(40) };
    let network = Network {
        hops: vec![link("link", "40 Mbps", Queueing::DropTail)],
        classes: vec![class("flow", "0 cycles/bit", &[0])],
        traffic: std::iter::once(web).chain((1..=12).map(one)).collect(),
    };
    let flows: Vec<u32> = run(&network, 1).flows.iter().map(|flow| flow.traffic).collect();
    assert_eq!(flows, Vec::from_iter(1..=12));
}

#[test]
fn a_limit_is_in_packets_also_where_queues_are_managed_in_bytes() {
    // Thresholds out of reach: nothing but the limit of 100 packets drops, and one flow's window reaches it.
    let config = RedConfig::new(QueueConfig {
        unit: Unit::Bytes { mean: 500 },
        min: 1 << 29,
        max: 1 << 30,
        ..QueueConfig::new(Duration::from_micros(400))
    });
    let network = Network {
        hops: vec![link("link", "10 Mbps", Queueing::Red(config))],
        classes: vec![class("flow", "0 cycles/bit", &[0])],
        traffic: vec![long_lived(0, 1)],
    };
    let hop = &run(&network, 1).hops[0];
    assert_eq!((hop.longest_queue, hop.dropped, hop.overflowed > 0), (100, 0, true), "{hop:?}");
}

/// The states of DRQ in which packets leave each of two hops.
#[derive(Default)]
struct States([BTreeMap<Congestion, u64>; 2]);

impl Tap for States {
    fn left(&mut self, _now: Time, hop: u32, packet: &Packet, _number: impl FnOnce() -> u64) {
        *self.0[hop as usize].entry(packet.congestion).or_default() += 1;
        assert_eq!(packet.segment.ce, packet.congestion == Congestion::Congested, "what the receiver echoes");
    }
}

#[test]
fn what_drq_notes_stays_with_the_packet() {
    let drq = || Queueing::Drq(QueueConfig::new(Duration::from_micros(100)));
    let mut network = four_classes("37.5 Mcycles/s", drq());
    network.hops[1].queueing = drq();
    for hop in &mut network.hops {
        hop.limit = 2000;
    }
    network.classes.iter_mut().for_each(|class| class.tcp.ecn = true);
    let mut states = States::default();
    let options = NetworkOptions { seed: 1, warm_up: Time::ZERO, until: seconds(30), cancel: None };
    let result = simulate_network(&network, options, &mut states).unwrap().unwrap();
    let [cpu, link] = &result.hops[..] else { panic!("two hops") };
    assert!(cpu.signalled > 1000 && link.marked > 100, "{result:?}");
    assert_eq!((link.dropped, link.overflowed), (0, 0), "nothing is lost that the CPU has marked");
    let left = |hop: usize, state| states.0[hop].get(&state).copied().unwrap_or(0);
    // But for what waits at the end.
    let waits = |counted: u64, left: u64, hop: &HopResult| {
        assert!(left <= counted && counted - left <= u64::from(hop.longest_queue) + 1, "{counted} {left} {hop:?}");
    };
    waits(cpu.signalled, left(0, Congestion::Signalled), cpu);
    waits(cpu.marked, left(0, Congestion::Congested), cpu);
    waits(cpu.marked + link.marked, left(1, Congestion::Congested), link);
}

#[test]
fn an_encoding_carries_what_its_code_points_can() {
    // Behind the CPU stands a link that marks nothing: what leaves it is what came. The room is so small that some are
    // lost and sent again.
    let left = |encoding, ecn| {
        let mut network = four_classes("10 Mcycles/s", Queueing::Drq(QueueConfig::new(Duration::from_micros(100))));
        (network.hops[0].limit, network.hops[0].encoding) = (350, encoding);
        network.classes.iter_mut().for_each(|class| class.tcp.ecn = ecn);
        let mut states = States::default();
        let options = NetworkOptions { seed: 1, warm_up: Time::ZERO, until: seconds(20), cancel: None };
        simulate_network(&network, options, &mut states).unwrap();
        let of = |hop: usize, state| states.0[hop].get(&state).copied().unwrap_or(0);
        [Congestion::Signalled, Congestion::Congested].map(|state| [of(0, state), of(1, state)])
    };
    // At most one packet is between the two hops or in service at the end.
    let near = |[before, after]: [u64; 2]| before > 100 && before.abs_diff(after) <= 2;
    for encoding in [None, Some(Encoding::Paper), Some(Encoding::Rfc3168), Some(Encoding::Metadata)] {
        let [signalled, congested] = left(encoding, true);
        assert!(near(congested), "{encoding:?}: {congested:?}");
        match encoding {
            None | Some(Encoding::Paper) => assert!(near(signalled), "{encoding:?}: {signalled:?}"),
            // Packets that are sent again are not ECN-capable.
            Some(Encoding::Rfc3168) => {
                assert!(signalled[1] > signalled[0] / 2 && signalled[1] < signalled[0], "{signalled:?}")
            }
            Some(Encoding::Metadata) => assert!(signalled[0] > 100 && signalled[1] == 0, "{signalled:?}"),
        }
        // A sender without ECN has packets dropped, and its ECN field, 00, is the paper's initial state.
        let [signalled, congested] = left(encoding, false);
        assert_eq!(congested, [0, 0], "{encoding:?}");
        match encoding {
            None | Some(Encoding::Paper) => assert!(near(signalled), "{encoding:?}: {signalled:?}"),
            Some(_) => assert!(signalled[0] > 100 && signalled[1] == 0, "{encoding:?}: {signalled:?}"),
        }
    }
}

#[test]
fn drq_marks_what_needs_more_cycles_than_can_be_told() {
    // 3 10^9 cycles a bit: a packet takes 3 s, and once two wait every further one meets congestion. Its sender knows
    // no ECN.
    let config = QueueConfig { min: 1, max: 2, weight: Fraction::ONE, ..QueueConfig::new(Duration::from_secs(3)) };
    let mut network = four_classes("4000 Gcycles/s", Queueing::Drq(config));
    network.classes.iter_mut().for_each(|class| class.density = Density::from_micro(3_000_000_000_000_000));
    let hop = &run(&network, 1).hops[0];
    assert!(hop.arrived > 0 && hop.dropped > 0, "{hop:?}");
}

#[test]
fn short_flows_that_come_faster_than_they_end_do_not_take_all_memory() {
    // A flow every 100 ns, and a link that takes 4 s for a packet.
    let web = Traffic::Web { class: 0, rate: 1e7, mean_packets: 30.0, shape: 1.2, rtt: rtt(40) };
    let network = Network {
        hops: vec![link("link", "1 kbps", Queueing::DropTail)],
        classes: vec![class("web", "0 cycles/bit", &[0])],
        traffic: vec![web],
    };
    let options = NetworkOptions { seed: 1, warm_up: Time::ZERO, until: seconds(1), cancel: None };
    let SimError::TooManyFlows { at, class } = simulate_network(&network, options, &mut ()).unwrap_err() else {
        panic!("another error")
    };
    // 2^20 of them, with a standard deviation of 2^10; times are cut to whole nanoseconds, half of one each.
    let flows = at.as_secs_f64() * 1e9 / 99.5;
    assert!(class == "web" && (flows - f64::from(MOST_FLOWS)).abs() < 4.0 * 1024.0, "{at}");
}

#[test]
fn what_cannot_be_run_is_named() {
    let good = four_classes("10 Mcycles/s", Queueing::DropTail);
    let refused = |network: &Network, part: &str| {
        let options = NetworkOptions { seed: 1, warm_up: Time::ZERO, until: seconds(1), cancel: None };
        let message = simulate_network(network, options, &mut ()).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    };
    let with = |change: &dyn Fn(&mut Network)| {
        let mut network = good.clone();
        change(&mut network);
        network
    };
    refused(&with(&|n| n.hops.clear()), "1 to 65536 hops");
    refused(&with(&|n| n.hops[1].name = "cpu".into()), "two hops are called \"cpu\"");
    refused(&with(&|n| n.classes[1].route = vec![0, 2]), "\"0.5 cycles/bit\": no hop number 2; there are 2");
    refused(&with(&|n| n.classes[0].route = vec![0, 0]), "passes \"cpu\" twice");
    refused(&with(&|n| n.classes[0].route.clear()), "passes 1 to 255 hops");
    refused(&with(&|n| n.classes[0].packet_bytes = 0), "packets of 0 bytes");
    refused(&with(&|n| n.classes[0].tcp.length = Length::Segments(0)), "at least 1");
    refused(&with(&|n| n.traffic.push(long_lived(0, MOST_FLOWS))), "1048616 long-lived flows; expected at most");
    refused(&with(&|n| n.traffic.push(long_lived(9, 1))), "class number 9, but there are 4");
    refused(&with(&|n| n.hops[1].delay = Duration::from_millis(21)), "too short for 21 ms one way");
    let unbounded = |n: &mut Network| (n.classes[0].route, n.classes[0].density) = (vec![0], Density::default());
    refused(&with(&unbounded), "\"0.25 cycles/bit\": nothing on the way of its flows takes time");
    let over_access = |n: &mut Network| (unbounded(n), n.classes[0].access = Some("1 Mbps".parse().unwrap())).0;
    assert_eq!(with(&over_access).check(), Ok(()), "an access link takes time");
    refused(&with(&|n| n.hops[0].queueing = Queueing::PerFlow("fq".parse().unwrap())), "no scheduler \"fq\"");
}

/// CoDel drops what has long waited for a CPU that takes 400 ms for a packet, when little comes any more.
#[test]
fn no_more_are_dropped_than_could_be() {
    let network = Network {
        hops: vec![cpu("cpu", "1 Mcycles/s", Queueing::PerFlow("codel".parse().unwrap()))],
        classes: vec![class("flow", "100 cycles/bit", &[0])],
        traffic: vec![Traffic::LongLived {
            class: 0,
            count: 20,
            start: Time::ZERO,
            spread: Duration::ZERO,
            rtt: rtt(200),
        }],
    };
    let warm_up = Time::ZERO + Duration::from_millis(1250);
    let options = NetworkOptions { seed: 1, warm_up, until: seconds(5), cancel: None };
    let hop = simulate_network(&network, options, &mut ()).unwrap().unwrap().hops.remove(0);
    assert!(hop.dropped > hop.arrived && hop.dropped_waiting > 0, "{hop:?}");
    let could_be = (hop.held_before + hop.arrived) as f64;
    assert_eq!(hop.drop_rate(), hop.dropped as f64 / could_be, "{hop:?}");
    assert!(hop.drop_rate() <= 1.0, "{hop:?}");
    // Where none is dropped that had waited, only what comes can be.
    let hop = run(&four_classes("10 Mcycles/s", Queueing::DropTail), 1).hops.remove(0);
    assert!(hop.held_before > 0 && hop.overflowed > 0, "{hop:?}");
    assert_eq!(hop.drop_rate(), hop.overflowed as f64 / hop.arrived as f64, "{hop:?}");
}
