//! Forwarding, held against a walk over all routes.

use std::net::IpAddr;

use dovetail_dataplane::module::ModuleDrop;
use dovetail_wire::{IpView, Prefix};
use etherparse::PacketBuilder;
use proptest::prelude::*;

use crate::support::{DST6, SRC, SRC6, module, through};

fn packet(to: IpAddr, ttl: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let ethernet = PacketBuilder::ethernet2([2; 6], [4; 6]);
    let ip = match to {
        IpAddr::V4(to) => ethernet.ipv4(SRC, to.octets(), ttl),
        IpAddr::V6(to) => ethernet.ipv6(SRC6, to.octets(), ttl),
    };
    ip.udp(1, 2).write(&mut bytes, b"payload").unwrap();
    bytes
}

#[test]
fn a_hop_is_taken_off_and_the_next_one_addressed() {
    let mut forward = module(
        "kind = \"forward\"\nroutes = [
            { prefix = \"198.51.0.0/16\", mac = \"02:00:00:00:00:01\" },
            { prefix = \"198.51.100.0/24\", mac = \"02:00:00:00:00:02\", source_mac = \"02:00:00:00:00:03\" },
            { prefix = \"2001:db8::/32\" }]",
    );
    let bytes = through(&mut *forward, &packet([198, 51, 100, 9].into(), 9)).unwrap();
    assert_eq!(bytes[..12], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 3]);
    let ip = IpView::new(&bytes[14..]).unwrap();
    assert_eq!((ip.ttl(), ip.header_checksum_ok()), (8, true));
    let bytes = through(&mut *forward, &packet([198, 51, 0, 9].into(), 9)).unwrap();
    assert_eq!(bytes[..12], [2, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2]);
    let bytes = through(&mut *forward, &packet(DST6.into(), 2)).unwrap();
    assert_eq!((&bytes[..12], bytes[21]), (&[4, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 2][..], 1));

    let mut dropped = |bytes: &[u8]| through(&mut *forward, bytes).unwrap_err();
    assert_eq!(dropped(&packet([203, 0, 113, 1].into(), 9)), ModuleDrop("no-route"));
    assert_eq!(dropped(&packet([198, 51, 100, 9].into(), 1)), ModuleDrop("ttl-expired"));
    assert_eq!(dropped(&packet(DST6.into(), 0)), ModuleDrop("ttl-expired"));
    let mut wrong = packet([198, 51, 100, 9].into(), 9);
    wrong[14 + 8] = 10;
    assert_eq!(dropped(&wrong), ModuleDrop("bad-header-checksum"));
}

/// Addresses and prefixes with few different bits, so that prefixes nest.
fn address(v6: bool) -> impl Strategy<Value = IpAddr> {
    (any::<u8>(), any::<u8>()).prop_map(move |(a, b)| {
        let (a, b) = (a & 0b1100_0001, b & 0b1100_0001);
        if v6 { IpAddr::from([a, b, 0, 0, 0, 0, 0, a, b, 0, 0, 0, 0, 0, 0, b]) } else { IpAddr::from([a, b, 0, a]) }
    })
}

fn routes(v6: bool) -> impl Strategy<Value = Vec<Prefix>> {
    prop::collection::vec((address(v6), 0u8..=if v6 { 128 } else { 32 }).prop_map(|(a, l)| Prefix::of(a, l)), 1..40)
}

proptest! {
    #[test]
    fn the_route_is_the_longest_that_contains_the_destination(
        (mut table, to) in any::<bool>().prop_flat_map(|v6| (routes(v6), prop::collection::vec(address(v6), 1..20))),
    ) {
        table.sort();
        table.dedup();
        let lines: Vec<String> = table
            .iter()
            .enumerate()
            .map(|(k, prefix)| format!("{{ prefix = \"{prefix}\", mac = \"02:00:00:00:00:{k:02x}\" }}"))
            .collect();
        let mut forward = module(&format!("kind = \"forward\"\nroutes = [{}]", lines.join(",")));
        for to in to {
            let holds = table.iter().enumerate().filter(|(_, p)| Prefix::of(to, p.len()) == **p);
            let best = holds.max_by_key(|(_, p)| p.len());
            let hop = through(&mut *forward, &packet(to, 9)).map(|bytes| usize::from(bytes[5]));
            prop_assert_eq!(hop, best.map(|(k, _)| k).ok_or(ModuleDrop("no-route")));
        }
    }
}
