//! Counters in bounded memory, held against exact ones.

use std::collections::{BTreeMap, BTreeSet};

use dovetail_dataplane::module::{Module, Monitor, MonitorConfig};
use dovetail_wire::{FiveTuple, LinkType, Prefix, parse};
use etherparse::PacketBuilder;
use proptest::prelude::*;

use crate::support::{ethernet, tcp, udp, udp6};

fn monitor(counters: usize) -> Monitor {
    Monitor::new(&MonitorConfig { counters, ..MonitorConfig::default() }).unwrap()
}

fn tuple(bytes: &[u8]) -> FiveTuple {
    parse(LinkType::ETHERNET, bytes).unwrap().tuple
}

/// From one of many senders: the lower the number, the more it sends.
fn from(sender: u16, payload: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let [high, low] = sender.to_be_bytes();
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, high, low, 1], [198, 51, 100, 9], 64);
    builder.udp(4000, 53).write(&mut bytes, &vec![0; payload]).unwrap();
    bytes
}

#[test]
fn few_flows_are_counted_exactly() {
    let mut monitor = monitor(64);
    let packets = [udp(&[0; 100]), udp(&[0; 100]), tcp(1, 2, &[0; 500]), udp6(&[0; 9])];
    for bytes in &packets {
        monitor.process(&mut ethernet(bytes)).unwrap();
    }
    let sent = packets.iter().map(|p| p.len() as u64).sum();
    assert_eq!(monitor.counters(), [("packets", 4), ("bytes", sent), ("flows", 3), ("senders", 2)]);
    let twice = 2 * packets[0].len() as u64;
    assert_eq!(monitor.flow_bytes(&tuple(&packets[0])), (twice, twice));
    let v4 = twice + packets[2].len() as u64;
    assert_eq!(monitor.prefix_bytes("192.0.2.0/24".parse::<Prefix>().unwrap()), (v4, v4));
    let heavy = monitor.heavy();
    assert_eq!(heavy[0], (tuple(&packets[2]).to_string(), packets[2].len() as u64));
    assert_eq!(heavy[3], ("192.0.2.0/24".to_string(), v4));
    assert_eq!(heavy[4], ("2001:db8:5::/48".to_string(), packets[3].len() as u64));
}

#[test]
fn ten_thousand_flows_leave_the_heavy_ones_and_an_estimate_of_their_number() {
    const FLOWS: u16 = 10_000;
    let mut monitor = monitor(256);
    for sender in 0..FLOWS {
        for _ in 0..if sender < 5 { 2000 } else { 1 } {
            monitor.process(&mut ethernet(&from(sender, 10))).unwrap();
        }
    }
    let heavy = monitor.heavy();
    let listed: BTreeSet<&str> = heavy[..5].iter().map(|(name, _)| name.as_str()).collect();
    let heaviest: Vec<String> = (0..5).map(|sender| tuple(&from(sender, 10)).to_string()).collect();
    assert_eq!(listed, heaviest.iter().map(String::as_str).collect());
    // Four standard errors of 0.83 / sqrt(2^11), the error of HyperLogLog with its history.
    let off = 4.0 * 0.83 / f64::from(1 << 11).sqrt();
    for (name, count) in &monitor.counters()[2..] {
        assert!((*count as f64 / f64::from(FLOWS) - 1.0).abs() < off, "{name} {count}");
    }
}

proptest! {
    // Senders come back after the monitor has forgotten that they are recent.
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn bounds_hold_and_are_as_narrow_as_promised(
        packets in prop::collection::vec((0u16..3000, 0usize..1000), 1..4000),
    ) {
        const COUNTERS: usize = 32;
        let mut monitor = monitor(COUNTERS);
        let mut exact: BTreeMap<FiveTuple, u64> = BTreeMap::new();
        for &(sender, payload) in &packets {
            let bytes = from(sender, payload);
            monitor.process(&mut ethernet(&bytes)).unwrap();
            *exact.entry(tuple(&bytes)).or_default() += bytes.len() as u64;
        }
        let all: u64 = exact.values().sum();
        // Every look copies all counters.
        for (flow, bytes) in exact.into_iter().step_by(20) {
            let (low, high) = monitor.flow_bytes(&flow);
            prop_assert!((low..=high).contains(&bytes), "{flow}: {low} to {high}, not {bytes}");
            prop_assert!(high - low <= all * 7 / 2 / COUNTERS as u64);
        }
    }
}
