//! Flow tables, summaries and synthetic mixtures.

mod common;

use std::collections::BTreeMap;

use common::{MICRO, Order, Pcap, frame};
use dovetail_trace::{
    Arrival, CaptureInfo, CaptureReader, Mixture, MixtureError, Pace, Packets, Record, load, load_by_class,
};
use dovetail_units::{BitRate, Duration, Time};
use dovetail_wire::{FlowKey, IpPacket, KeyKind, NonFlow};
use etherparse::SlicedPacket;
use proptest::prelude::*;

fn arp() -> Vec<u8> {
    [&[0xff; 6][..], &[2; 6], &[8, 6], &[0; 28]].concat()
}

fn small_capture() -> Vec<u8> {
    Pcap::new(Order::Little, MICRO, 1)
        .record(50, 0, &frame(7, 18), 60)
        .record(50, 5, &arp(), 42)
        .record(51, 0, &frame(8, 18), 1500)
        .record(52, 0, &frame(7, 18)[..38], 60)
        .record(53, 0, &frame(7, 18)[..20], 60)
        .bytes
}

#[test]
fn a_packet_takes_less_than_8_bytes() {
    let packets = mixture(1, 20_000, 500).generate().unwrap().packets(KeyKind::FiveTuple);
    assert!(packets.arrivals.memory() < 8 * 20_000, "{}", packets.arrivals.memory());
}

#[test]
fn flows_are_numbered_as_they_appear_and_all_others_share_one() {
    let bytes = small_capture();
    let packets = load(&mut CaptureReader::new(&bytes[..], "t").unwrap(), KeyKind::FiveTuple);
    let second = 1_000_000_000;
    let arrival = |ns, flow, size| Arrival { time: Time::from_nanos(ns), flow, size };
    let expected = [
        arrival(0, 0, 60),
        arrival(5_000, 1, 42),
        arrival(second, 2, 1500),
        arrival(2 * second, 0, 60),
        arrival(3 * second, 1, 60),
    ];
    assert_eq!(packets.arrivals.iter().collect::<Vec<_>>(), expected);
    let names: Vec<_> =
        packets.flows.entries().map(|f| f.key.map_or("no flow".to_owned(), |k| k.to_string())).collect();
    let flow = |n| format!("udp 192.0.2.1:{n} > 198.51.100.1:53");
    assert_eq!(names, [flow(7), "no flow".to_owned(), flow(8)]);
    assert_eq!(packets.flows.find(None), Some(1));
    let first = packets.flows.entries().next().unwrap();
    assert_eq!((first.packets, first.bytes, first.last), (2, 120, Time::from_nanos(2 * second)));
    assert_eq!((packets.report.no_flow(NonFlow::Arp), packets.report.no_flow(NonFlow::Truncated)), (1, 1));
    assert_eq!((packets.report.records, packets.report.flow_packets), (5, 3));
}

/// Of ICMPv6, with this type.
fn icmp_v6(kind: u8) -> Vec<u8> {
    let (source, target) = ([0xfe; 16], [0xff; 16]);
    [&[2; 12][..], &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, 58, 255], &source, &target, &[kind, 0, 0, 0, 0, 0, 0, 0]].concat()
}

#[test]
fn the_class_of_a_five_tuple_need_not_be_asked_for_twice() {
    let capture = Pcap::new(Order::Little, MICRO, 1);
    let frames = [frame(7, 18), icmp_v6(135), arp(), frame(8, 18), icmp_v6(128), frame(7, 18), icmp_v6(135)];
    let bytes = frames.iter().fold(capture, |capture, frame| capture.record(50, 0, frame, 99)).bytes;
    let read = |by_tuple: bool| {
        let asked = std::cell::Cell::new(0);
        let class = |record: &Record<'_>, parsed: &Result<IpPacket, NonFlow>| {
            asked.set(asked.get() + 1);
            match parsed {
                Ok(ip) => ip.tuple.ports.map_or(u16::from(record.data[54]), |ports| ports.src),
                Err(_) => 3,
            }
        };
        let mut reader = CaptureReader::new(&bytes[..], "t").unwrap();
        let packets = load_by_class(&mut reader, KeyKind::FiveTuple, u64::MAX, by_tuple, class).unwrap();
        (packets.flows.entries().collect::<Vec<_>>(), packets.arrivals, asked.get())
    };
    let (each, once) = (read(false), read(true));
    assert_eq!((&each.0, &each.1), (&once.0, &once.1));
    assert_eq!((each.2, once.2), (7, 6));
    assert_eq!(once.0.iter().map(|flow| flow.class).collect::<Vec<_>>(), [7, 135, 3, 8, 128]);
}

#[test]
fn a_summary_counts_the_same_packets() {
    let bytes = small_capture();
    let info =
        CaptureInfo::read(&mut CaptureReader::new(&bytes[..], "t").unwrap(), KeyKind::FiveTuple, 1, u64::MAX).unwrap();
    assert_eq!((info.total.packets, info.total.bytes, info.flows, info.cut_packets), (5, 1722, 2, 3));
    assert_eq!(info.duration, Duration::from_secs(3));
    assert_eq!(info.start, Time::from_nanos(50_000_000_000));
    let protocols: Vec<_> = info.protocols.iter().map(|(name, total)| (name.as_str(), total.packets)).collect();
    assert_eq!(protocols, [("udp", 3), ("arp", 1), ("truncated", 1)]);
    assert_eq!(info.sizes.iter().map(|s| s.packets).collect::<Vec<_>>(), [4, 0, 0, 0, 0, 1, 0, 0]);
    assert_eq!(info.top_flows.len(), 1);
    assert_eq!(info.top_flows[0].bytes, 1500);
}

fn mixture(seed: u64, packets: u32, flows: u32) -> Mixture {
    Mixture { seed, packets, flows, ..Mixture::default() }
}

fn capture(mixture: &Mixture) -> Vec<u8> {
    mixture.generate().unwrap().write_pcap(Vec::new()).unwrap()
}

#[test]
fn a_written_mixture_reads_back_as_it_is_in_memory() {
    let synthetic = mixture(3, 5_000, 300).generate().unwrap();
    let bytes = synthetic.write_pcap(Vec::new()).unwrap();
    for kind in ["5-tuple", "prefix+port"].map(|k| k.parse().unwrap()) {
        let read = load(&mut CaptureReader::new(&bytes[..], "t").unwrap(), kind);
        let direct = synthetic.packets(kind);
        assert_eq!(read.arrivals, direct.arrivals);
        assert!(read.flows.entries().eq(direct.flows.entries()));
        assert_eq!(read.report, direct.report);
    }
}

/// One's complement sum over `bytes` (RFC 1071), the obvious way.
fn ones_sum(bytes: &[u8]) -> u32 {
    let mut sum: u32 = bytes.chunks(2).map(|c| u32::from(c[0]) << 8 | u32::from(c.get(1).copied().unwrap_or(0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

#[test]
fn headers_are_valid_once_the_payload_of_zeros_is_back() {
    let bytes = capture(&mixture(4, 2_000, 200));
    let mut reader = CaptureReader::new(&bytes[..], "t").unwrap();
    let mut seen = BTreeMap::new();
    while let Some(record) = reader.next_record() {
        let mut frame = record.data.to_vec();
        assert!((54 - 12..=74).contains(&frame.len()), "headers only: {}", frame.len());
        frame.resize(record.original_len as usize, 0);
        let sliced = SlicedPacket::from_ethernet(&frame).expect("valid lengths");
        assert!(sliced.transport.is_some());
        let v4 = frame[12..14] == [8, 0];
        let (addresses, transport, protocol) = if v4 {
            assert_eq!(ones_sum(&frame[14..34]), 0xffff, "IPv4 header checksum");
            (&frame[26..34], &frame[34..], frame[23])
        } else {
            (&frame[22..54], &frame[54..], frame[20])
        };
        let pseudo = [0, protocol, (transport.len() >> 8) as u8, transport.len() as u8];
        assert_eq!(ones_sum(&[addresses, &pseudo, transport].concat()), 0xffff, "transport checksum");
        *seen.entry((v4, protocol)).or_insert(0) += 1;
    }
    assert_eq!(seen.len(), 4, "IPv4 and IPv6, TCP and UDP: {seen:?}");
}

fn five_tuple(key: Option<FlowKey>) -> dovetail_wire::FiveTuple {
    match key {
        Some(FlowKey::FiveTuple(tuple)) => tuple,
        other => panic!("{other:?}"),
    }
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// Share of all bytes that the largest `part` of the flows has.
fn elephants(packets: &Packets, part: usize) -> f64 {
    let mut bytes: Vec<_> = packets.flows.entries().map(|f| f.bytes).collect();
    bytes.sort_unstable_by(|a, b| b.cmp(a));
    share(bytes[..bytes.len() / part].iter().sum(), packets.bytes())
}

#[test]
fn only_reserved_addresses_occur() {
    let packets = mixture(9, 4_000, 3_600).generate().unwrap().packets(KeyKind::FiveTuple);
    for flow in packets.flows.entries() {
        let tuple = five_tuple(flow.key);
        for addr in [tuple.src, tuple.dst] {
            let reserved = ["198.18.", "192.0.2.", "198.51.100.", "203.0.113.", "2001:db8:"];
            assert!(reserved.iter().any(|prefix| addr.to_string().starts_with(prefix)), "{addr}");
        }
    }
}

#[test]
fn the_mean_rate_is_kept() {
    let rate = BitRate::from_bps(40_000_000).unwrap();
    let packets = Mixture { pace: Pace::MeanRate(rate), ..mixture(1, 3_000, 100) }
        .generate()
        .unwrap()
        .packets(KeyKind::FiveTuple);
    assert_eq!(packets.last() - Time::ZERO, rate.transmission_time(packets.bytes(), 0).0);
}

#[test]
fn impossible_mixtures_are_refused() {
    let refused = |m: Mixture| m.generate().err().unwrap();
    assert_eq!(refused(mixture(1, 10, 0)), MixtureError::Flows(0));
    assert_eq!(refused(mixture(1, 10, 11)), MixtureError::Packets { packets: 10, flows: 11 });
    let pace = Pace::Duration(Duration::ZERO);
    assert_eq!(refused(Mixture { pace, ..mixture(1, 10, 5) }), MixtureError::Pace(pace));
    assert_eq!(refused(Mixture { heaviest_percent: 91, ..mixture(1, 10, 5) }), MixtureError::Heaviest(91));
    assert_eq!(refused(Mixture { large_percent: 101, ..mixture(1, 10, 5) }), MixtureError::Large(101));
}

#[test]
fn one_flow_can_have_much_and_elephants_large_packets_alone() {
    let skewed = Mixture { heaviest_percent: 28, large_percent: 100, ..mixture(1, 20_000, 500) };
    let packets = skewed.generate().unwrap().packets(KeyKind::FiveTuple);
    let mut counts = BTreeMap::new();
    for arrival in &packets.arrivals {
        let (all, large) = counts.entry(arrival.flow).or_insert((0, 0));
        *all += 1;
        *large += u32::from(arrival.size >= 1300);
    }
    let &(most, _) = counts.values().max().unwrap();
    // Every flow has one packet before the others are shared out.
    assert!((0.27..=0.28).contains(&(f64::from(most) / 20_000.0)), "{most}");
    assert!(counts.values().all(|&(all, large)| all < 100 || large == all));
}

#[test]
fn different_seeds_differ() {
    assert_ne!(capture(&mixture(1, 500, 50)), capture(&mixture(2, 500, 50)));
}

#[test]
fn the_smallest_mixture_is_one_packet_at_zero() {
    let packets = mixture(1, 1, 1).generate().unwrap().packets(KeyKind::FiveTuple);
    assert_eq!((packets.arrivals.len(), packets.arrivals.last()), (1, Time::ZERO));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn equal_parameters_make_equal_bytes(seed: u64, flows in 1u32..300, more in 0u32..2_000) {
        let mixture = mixture(seed, flows + more, flows);
        prop_assert_eq!(capture(&mixture), capture(&mixture));
    }

    /// The shape, for every seed. The bounds follow from the model, not from its output; with 40,000 packets the
    /// deviation of a share p of packets drawn independently is sqrt(p (1 - p) / 40000) <= 0.0025.
    #[test]
    fn the_mixture_has_its_shape(seed: u64) {
        let (count, flows) = (40_000, 2_000);
        let packets = mixture(seed, count, flows).generate().unwrap().packets(KeyKind::FiveTuple);
        prop_assert_eq!(packets.arrivals.len(), count as usize);
        prop_assert_eq!(packets.flows.len(), flows as usize);
        prop_assert_eq!(packets.last(), Time::from_nanos(10_000_000_000));
        prop_assert!(packets.arrivals.iter().is_sorted_by_key(|a| a.time));

        // Flows are dealt longest first to whoever lacks most: off by at most the last flow dealt, a short one.
        let is_udp = packets.flows.entries().filter(|f| five_tuple(f.key).protocol == 17);
        let udp: u64 = is_udp.map(|f| f.packets).sum();
        prop_assert!((share(udp, u64::from(count)) - 0.8).abs() < 0.005);

        // Lengths are Pareto of exponent 1.1 from 1 to H = 2000. A tenth of the flows is above x with x^-1.1 = 0.1, and
        // has (x^-0.1 - H^-0.1) / (1 - H^-0.1) = 0.65 of the packets beyond each flow's first, which are 5 %: 0.61.
        // The longest flow is drawn from the last 1/2000 of probability, between 1000 and 2000 of 11,700: +- 0.05.
        // Elephants' packets are larger by a factor between 1 and (0.65 * 1400 + 0.35 * 132) / (0.2 * 1400 + 0.8 * 132)
        // = 2.5, so of the bytes it is between 0.56 and 0.66 * 2.5 / (0.66 * 2.5 + 0.34) = 0.83; 0.02 for chance.
        let top = elephants(&packets, 10);
        prop_assert!((0.54..0.85).contains(&top), "the largest tenth of the flows has {top} of the bytes");
        // 2000 / 11,700 of the packets, times 2.5, at most.
        let longest = elephants(&packets, 2_000);
        prop_assert!(longest < 0.43, "one flow has {longest} of the bytes");

        // Two modes and nothing between: headers are at most 74 bytes.
        let (small, large): (Vec<_>, Vec<_>) = packets.arrivals.iter().map(|a| a.size).partition(|s| *s <= 200);
        prop_assert!(small.iter().all(|s| (64..=200).contains(s)) && large.iter().all(|s| (1300..=1500).contains(s)));
        // Between a mouse's share of large packets and an elephant's.
        let large = share(large.len() as u64, u64::from(count));
        prop_assert!((0.2 - 0.01..=0.65 + 0.01).contains(&large), "{large}");
    }

    /// Bursts: in a long flow most gaps are far below the mean gap; with evenly random (Poisson) arrivals 1 - 1/e = 63
    /// % would be below it.
    #[test]
    fn flows_are_bursty(seed: u64) {
        let packets = mixture(seed, 20_000, 500).generate().unwrap().packets(KeyKind::FiveTuple);
        let (longest, _) = (0u32..).zip(packets.flows.entries()).max_by_key(|(_, f)| f.packets).unwrap();
        let times: Vec<_> = packets.arrivals.iter().filter(|a| a.flow == longest).map(|a| a.time.as_nanos()).collect();
        let mean = (times[times.len() - 1] - times[0]) / (times.len() as u64 - 1);
        let below = times.windows(2).filter(|w| w[1] - w[0] < mean).count();
        prop_assert!(below as f64 > 0.8 * (times.len() - 1) as f64);
    }
}
