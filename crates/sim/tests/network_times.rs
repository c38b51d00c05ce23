//! Networks against timetables that can be written down: when packets leave hops, what waits, what has come by when.

use std::collections::BTreeSet;

use dovetail_sched::aqm::{Fraction, QueueConfig, RedConfig};
use dovetail_sim::network::{
    Class, Hop, Network, NetworkOptions, NetworkResult, Packet, Queueing, RoundTrip, Service, Tap, Traffic,
    simulate_network,
};
use dovetail_tcp::{AckPolicy, Config, Length, Variant};
use dovetail_units::{Density, Duration, Time};

/// What left which hop when: nanoseconds, hop, place of the flow, segment.
#[derive(Default)]
struct Departures(Vec<(u64, u32, u32, u64)>);

impl Tap for Departures {
    fn left(&mut self, now: Time, hop: u32, packet: &Packet, _number: impl FnOnce() -> u64) {
        self.0.push((now.as_nanos(), hop, packet.flow, packet.segment.seq));
    }
}

fn at(ns: u64) -> Time {
    Time::from_nanos(ns)
}

fn run(network: &Network, warm_up: u64, until: u64) -> (NetworkResult, Departures) {
    let mut departures = Departures::default();
    let options = NetworkOptions { seed: 1, warm_up: at(warm_up), until: at(until), cancel: None };
    (simulate_network(network, options, &mut departures).unwrap().unwrap(), departures)
}

fn rtt(min: u64, max: u64) -> RoundTrip {
    RoundTrip { min: Duration::from_millis(min), max: Duration::from_millis(max) }
}

fn link(rate: &str) -> Hop {
    let service = Service::Link(rate.parse().unwrap());
    let delay = Duration::from_millis(10);
    Hop { name: "link".into(), service, queueing: Queueing::DropTail, limit: 1000, delay, encoding: None }
}

/// Flows of so many segments over the hops; the initial window is three segments.
fn flows(segments: u64, hops: Vec<Hop>, traffic: impl Fn(RoundTrip) -> Traffic) -> Network {
    let class = Class {
        name: "flow".into(),
        density: Density::from_micro(1_000_000),
        route: (0..hops.len() as u32).collect(),
        packet_bytes: 500,
        access: Some("3 Gbps".parse().unwrap()),
        tcp: Config { length: Length::Segments(segments), window_limit: 1000, ..Config::rfc(Variant::NewReno) },
        acks: AckPolicy::EverySegment,
    };
    Network { hops, classes: vec![class], traffic: vec![traffic(rtt(40, 40))] }
}

fn one(rtt: RoundTrip) -> Traffic {
    Traffic::LongLived { class: 0, count: 1, start: Time::ZERO, spread: Duration::ZERO, rtt }
}

/// The one flow of three segments over 7 Mb/s. Of the round trip of 40 ms the link's delay is 10 ms, so 5 ms lie before
/// the link and 25 ms behind the receiver. 40 bytes take 106 2/3 ns and 45,714 2/7 ns on the two links, 500 bytes 1333
/// 1/3 ns and 571,428 4/7 ns.
fn three_segments() -> Network {
    flows(3, vec![link("7 Mbps")], one)
}

/// The SYN leaves the access link after 106 ns, and the link after 5 ms + 106 + 45,714 ns.
const SYN: u64 = 5_045_820;
/// Its ACK is there 35 ms later. The three segments come to the link 5 ms after that, behind 106 2/3 + 1333 1/3 = 1440
/// ns of access, less the 106 ns of the SYN; from then on they leave it at full rate: 2/7 and 1 to 3 times 571,428 4/7
/// ns.
const FIRST: u64 = SYN + 40_000_000 + 1334;
const LEFT: [u64; 3] = [FIRST + 571_428, FIRST + 1_142_857, FIRST + 1_714_286];

#[test]
fn packets_leave_a_link_when_the_timetable_says() {
    let (_, departures) = run(&three_segments(), 0, 1_000_000_000);
    let expected = [(SYN, 0, 0, 0), (LEFT[0], 0, 0, 1), (LEFT[1], 0, 0, 2), (LEFT[2], 0, 0, 3)];
    assert_eq!(departures.0, expected);
}

#[test]
fn behind_a_cpu_a_packet_comes_to_the_link_at_once() {
    // 4000 bits of one cycle each on 8 Mcycles/s are 500 us, a SYN's 320 are 40 us; the CPU is the slower one, so
    // nothing waits for the link of 16 Mb/s: 250 and 20 us.
    let cpu = Hop {
        name: "cpu".into(),
        service: Service::Cpu("8 Mcycles/s".parse().unwrap()),
        delay: Duration::ZERO,
        ..link("1 bps")
    };
    let mut network = flows(2, vec![cpu, link("16 Mbps")], one);
    network.classes[0].access = None;
    let (_, departures) = run(&network, 0, 1_000_000_000);
    let syn = 5_040_000;
    let data = syn + 20_000 + 40_000_000;
    let expected = [
        (syn, 0, 0, 0),
        (syn + 20_000, 1, 0, 0),
        (data + 500_000, 0, 0, 1),
        (data + 750_000, 1, 0, 1),
        (data + 1_000_000, 0, 0, 2),
        (data + 1_250_000, 1, 0, 2),
    ];
    assert_eq!(departures.0, expected);
}

/// ACKs of every second segment, or after 100 ms.
const DELAYED: AckPolicy = AckPolicy::Delayed { timeout: Duration::from_millis(100) };

#[test]
fn a_receiver_that_delays_answers_every_second_segment_or_after_its_timeout() {
    let mut network = flows(5, vec![link("7 Mbps")], one);
    network.classes[0].acks = DELAYED;
    let (_, departures) = run(&network, 0, 1_000_000_000);
    let times: Vec<u64> = departures.0.iter().map(|departure| departure.0).collect();
    // The SYN is answered at once, the first segment together with the second: 35 ms after that has left, its ACK lets
    // two more go, which come to the idle link 5 ms and 1333 1/3 ns later.
    assert_eq!(times[..4], [SYN, LEFT[0], LEFT[1], LEFT[2]]);
    let fourth = LEFT[1] + 40_000_000 + 1333 + 571_428;
    assert!(times[4].abs_diff(fourth) <= 2 && times[5].abs_diff(fourth + 571_428) <= 3, "{times:?}");
    // The third waits for the fourth; the fifth has none to wait for: 10 ms behind the link, 100 ms, and 25 ms back.
    let end = times[5] + 135_000_000;
    for (until, finished) in [(end - 1, 0), (end, 1)] {
        assert_eq!(run(&network, 0, until).0.traffic[0].finished, finished, "until {until}");
    }
}

#[test]
fn a_segment_has_come_when_it_is_at_its_receiver() {
    // 10 ms behind the link.
    let come = LEFT.map(|left| left + 10_000_000);
    let mut delayed = three_segments();
    delayed.classes[0].acks = DELAYED;
    for (until, packets) in [(come[0] - 1, 0), (come[0], 1), (come[1] - 1, 1), (come[1], 2), (come[2], 3)] {
        assert_eq!(run(&three_segments(), 0, until).0.packets, packets, "until {until}");
        assert_eq!(run(&delayed, 0, until).0.packets, packets, "until {until}");
    }
    // What comes with the end of the warm-up counts as after it; 100 ms, so each segment of 4000 bits is 40 kbit/s.
    for (warm_up, counted) in [(LEFT[0], 3), (come[0], 3), (come[0] + 1, 2), (come[1] + 1, 1), (come[2] + 1, 0)] {
        let result = run(&three_segments(), warm_up, warm_up + 100_000_000).0;
        assert_eq!(result.traffic[0].goodput_bps, f64::from(counted) * 40_000.0, "from {warm_up}");
        assert_eq!(result.packets, 3);
    }
    // On the link before what counts begins, and at the receiver after its end or before it.
    for (warm_up, until, packets, counted) in [
        (LEFT[2] + 1, come[0] - 1, 0, 0),
        (LEFT[2] + 1, come[1], 2, 2),
        (LEFT[2] + 1, come[2] - 1, 2, 2),
        (come[0] + 1, come[1], 2, 1),
        (come[1] + 1, come[2] - 1, 2, 0),
    ] {
        let result = run(&three_segments(), warm_up, until).0;
        let bits = result.traffic[0].goodput_bps * (until - warm_up) as f64 / 1e9;
        assert_eq!((result.packets, bits.round()), (packets, f64::from(counted) * 4000.0), "{warm_up} to {until}");
    }
}

#[test]
fn a_hop_counts_what_is_after_the_warm_up() {
    let hop = |warm_up, until| run(&three_segments(), warm_up, until).0.hops[0].clone();
    let span = 100_000_000;
    let all = hop(0, span);
    assert_eq!((all.arrived, all.longest_queue), (4, 2));
    // The second and third come 1333 1/3 and 2666 2/3 ns after the first and wait until the one before has left.
    let waited = (LEFT[0] - FIRST - 1333) + (LEFT[1] - FIRST - 2666);
    assert!((all.queue - waited as f64 / span as f64).abs() < 1e-9, "{} {waited}", all.queue);
    assert!((all.utilization * span as f64 - 1_760_000.0).abs() < 2.0, "{}", all.utilization);
    // Within a service, and between two arrivals: both wait.
    let within = hop(FIRST + 100_000, FIRST + 200_000);
    assert_eq!((within.utilization, within.queue, within.arrived), (1.0, 2.0, 0));
    let rest = hop(LEFT[0], LEFT[0] + span);
    assert!((rest.utilization * span as f64 - (LEFT[2] - LEFT[0]) as f64).abs() < 2.0, "{}", rest.utilization);
    let nothing = hop(span, 2 * span);
    assert_eq!((nothing.utilization, nothing.queue, nothing.arrived, nothing.rate_bps), (0.0, 0.0, 0, 0.0));
}

#[test]
fn places_of_flows_are_used_again() {
    // A flow a second, of one packet, which takes 80 ms: its place is free before the next comes.
    let starts =
        |rtt| Traffic::LongLived { class: 0, count: 5, start: Time::ZERO, spread: Duration::from_secs(5), rtt };
    let (result, departures) = run(&flows(1, vec![link("7 Mbps")], starts), 0, 6_000_000_000);
    assert!(departures.0.iter().all(|&(_, _, flow, _)| flow == 0), "{:?}", departures.0);
    assert_eq!((departures.0.len(), result.traffic[0].finished, result.packets), (10, 5, 5));
}

#[test]
fn a_flow_whose_packets_were_lost_ends_too() {
    // Room for one beside the one in service: of the first window of three segments the last is lost, and repaired by
    // the timer.
    let lossy = Hop { limit: 1, ..link("7 Mbps") };
    let (result, _) = run(&flows(3, vec![lossy], one), 0, 10_000_000_000);
    let hop = &result.hops[0];
    assert_eq!((hop.arrived, hop.overflowed, hop.longest_queue), (5, 1, 1));
    assert_eq!((result.traffic[0].finished, result.traffic[0].timeouts, result.packets), (1, 1, 3));
}

#[test]
fn flows_draw_their_round_trips_from_all_of_the_range() {
    let starts = |_| Traffic::LongLived {
        class: 0,
        count: 400,
        start: Time::ZERO,
        spread: Duration::from_secs(400),
        rtt: rtt(20, 60),
    };
    let (_, departures) = run(&flows(1, vec![link("100 Gbps")], starts), 0, 401_000_000_000);
    // From the SYN's leaving the link to the segment's: a round trip but for microseconds of transmission.
    let of_segment = |seq| departures.0.iter().filter(move |departure| departure.3 == seq).map(|departure| departure.0);
    let times: Vec<f64> = of_segment(0).zip(of_segment(1)).map(|(syn, data)| (data - syn) as f64 / 1e6).collect();
    assert_eq!(times.len(), 400);
    assert!(times.iter().all(|ms| (20.0..60.01).contains(ms)));
    // Uniform: the deciles hold 40 +- 6 of 400 each; 4 standard deviations.
    for decile in 0..10 {
        let (from, to) = (20.0 + 4.0 * f64::from(decile), 24.0 + 4.0 * f64::from(decile));
        let inside = times.iter().filter(|&&ms| ms >= from && ms < to).count();
        assert!((16..=64).contains(&inside), "{inside} from {from} to {to} ms");
    }
}

#[test]
fn red_forgets_the_queue_while_its_resource_idles() {
    // 30 packets at once find 0 to 28 waiting: with weight 1/32 the average comes to 29 - 32 (1 - (31/32)^30) = 9.4,
    // below the threshold of 11. Half a second later, 1000 packet times, it is nearly 0, and 30 more take it there
    // again. If it had stayed at 9.4, they would take it to 9.4 (1 + (31/32)^30) = 13.0, and from 12 on all are
    // dropped.
    let queue = QueueConfig {
        min: 11,
        max: 12,
        max_p: Fraction::ONE,
        weight: Fraction::from_bits(1 << 27),
        ..QueueConfig::new(Duration::from_micros(400))
    };
    let red = RedConfig { gentle: false, ..RedConfig::new(queue) };
    let hop = Hop { queueing: Queueing::Red(red), ..link("10 Mbps") };
    let starts =
        |rtt| Traffic::LongLived { class: 0, count: 2, start: Time::ZERO, spread: Duration::from_secs(1), rtt };
    let mut network = flows(30, vec![hop], starts);
    network.classes[0].tcp.initial_window = 30;
    let hop = run(&network, 0, 1_000_000_000).0.hops[0].clone();
    assert_eq!((hop.arrived, hop.dropped, hop.longest_queue), (62, 0, 29));
}

#[test]
fn clocks_as_in_ns2_start_at_random_phases() {
    // A flow a second whose third segment is lost: when the timer sends it again depends on how many ticks of 10 ms the
    // round trips of 45 ms and some microseconds seemed to take: by the phase, four or five.
    let lossy = Hop { limit: 1, ..link("7 Mbps") };
    let starts = |_| Traffic::LongLived {
        class: 0,
        count: 20,
        start: Time::ZERO,
        spread: Duration::from_secs(20),
        rtt: rtt(45, 45),
    };
    let mut network = flows(3, vec![lossy], starts);
    let tcp = &mut network.classes[0].tcp;
    let rules = Config::ns2(Variant::NewReno, Duration::ZERO);
    *tcp = Config { rules: rules.rules, min_rto: Duration::ZERO, granularity: rules.granularity, ..*tcp };
    let (_, departures) = run(&network, 0, 21_000_000_000);
    let of_segment = |seq| departures.0.iter().filter(move |departure| departure.3 == seq).map(|departure| departure.0);
    let delays: BTreeSet<u64> = of_segment(1).zip(of_segment(3)).map(|(first, third)| third - first).collect();
    assert_eq!(of_segment(3).count(), 20);
    assert!(delays.len() > 1, "{delays:?}");
}
