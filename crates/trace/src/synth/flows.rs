//! How long flows are, of which protocol, and between whom.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dovetail_wire::{FiveTuple, Ports};
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use super::Mixture;

pub(super) const UDP: u8 = 17;
pub(super) const TCP: u8 = 6;

/// Exponent of the flow lengths' Pareto distribution.
const TAIL: f64 = 1.1;
/// Longest flow relative to the shortest, before rounding. With it the longest tenth of the flows has about 0.65 of the
/// packets, and of the default's 3,600 flows none has more than a tenth.
const LONGEST: f64 = 2000.0;
/// Of all packets.
const UDP_SHARE: f64 = 0.8;
/// Of all flows.
const IPV6_SHARE: f64 = 0.05;
/// Flows to a well-known port; the others go back to a client's.
const SERVICE_SHARE: f64 = 0.4;
/// Blocks of senders. With them the default 3,600 five-tuples are nearly 3,000 flows by prefix and port, as in
/// Wang et al. 2014, section 6.2.
const SUBNETS: u8 = 96;
const SITES_V6: u16 = 16;
const SERVICES: [u16; 10] = [53, 80, 111, 123, 161, 443, 514, 2049, 5353, 8080];

#[derive(Clone, Debug)]
pub(super) struct SynthFlow {
    pub(super) tuple: FiveTuple,
    pub(super) packets: u32,
}

pub(super) fn draw(mixture: &Mixture) -> Vec<SynthFlow> {
    let lengths = lengths(mixture);
    let protocols = protocols(&lengths, mixture.packets);
    let mut rng = mixture.stream("endpoints");
    let mut taken = BTreeSet::new();
    let mut flows: Vec<_> = lengths
        .into_iter()
        .zip(protocols)
        .map(|(packets, protocol)| {
            let tuple = loop {
                let tuple = endpoints(&mut rng, protocol);
                if taken.insert(tuple) {
                    break tuple;
                }
            };
            SynthFlow { tuple, packets }
        })
        .collect();
    flows.shuffle(&mut mixture.stream("flow order"));
    flows
}

/// Packets of each flow, longest first: bounded Pareto weights at one random point of each of n equal steps of
/// probability, shared out so that every flow has a packet and the sum is exact.
fn lengths(mixture: &Mixture) -> Vec<u32> {
    let mut rng = mixture.stream("flow lengths");
    let n = f64::from(mixture.flows);
    let mut weights: Vec<f64> = (0..mixture.flows)
        .map(|i| {
            let survival = (f64::from(i) + rng.random::<f64>()) / n;
            let cut = LONGEST.powf(-TAIL);
            (survival * (1.0 - cut) + cut).powf(-1.0 / TAIL)
        })
        .collect();
    heaviest(&mut weights, f64::from(mixture.heaviest_percent) / 100.0);
    let sum: f64 = weights.iter().sum();
    let spare = f64::from(mixture.packets - mixture.flows);
    // Rounding the running total, not each share, keeps the sum exact.
    let mut running = 0.0;
    let mut given = 0;
    let last = weights.len() - 1;
    let share = |(i, weight): (usize, f64)| {
        running += weight;
        let up_to = if i == last { spare } else { (spare * (running / sum)).floor().min(spare) } as u32;
        let share = up_to - given;
        given = up_to;
        1 + share
    };
    weights.into_iter().enumerate().map(share).collect()
}

/// Give the first this part of all, if it has less.
fn heaviest(weights: &mut [f64], part: f64) {
    if let [first, others @ ..] = weights
        && !others.is_empty()
    {
        *first = first.max(part / (1.0 - part) * others.iter().sum::<f64>());
    }
}

/// Protocols of flows, longest first: each goes to the protocol that lacks most packets, so that the shares are met to
/// about one small flow.
fn protocols(lengths: &[u32], packets: u32) -> Vec<u8> {
    let mut udp = UDP_SHARE * f64::from(packets);
    let mut tcp = f64::from(packets) - udp;
    let choose = |&length: &u32| {
        let (lacking, protocol) = if udp >= tcp { (&mut udp, UDP) } else { (&mut tcp, TCP) };
        *lacking -= f64::from(length);
        protocol
    };
    lengths.iter().map(choose).collect()
}

fn endpoints(rng: &mut impl Rng, protocol: u8) -> FiveTuple {
    let v6 = rng.random_bool(IPV6_SHARE);
    let client_port = rng.random_range(1024..=u16::MAX);
    let dst_port = if rng.random_bool(SERVICE_SHARE) {
        SERVICES[rng.random_range(0..SERVICES.len())]
    } else {
        rng.random_range(1024..=u16::MAX)
    };
    let (src, dst) = if v6 {
        (documentation_v6(rng), documentation_v6(rng))
    } else {
        (IpAddr::V4(benchmark_v4(rng)), IpAddr::V4(documentation_v4(rng)))
    };
    FiveTuple { src, dst, protocol, ports: Some(Ports { src: client_port, dst: dst_port }) }
}

/// From 198.18.0.0/15 (RFC 2544, appendix C.2.2).
fn benchmark_v4(rng: &mut impl Rng) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, rng.random_range(0..SUBNETS), rng.random_range(1..=254))
}

/// The three blocks of RFC 5737.
fn documentation_v4(rng: &mut impl Rng) -> Ipv4Addr {
    const BLOCKS: [[u8; 3]; 3] = [[192, 0, 2], [198, 51, 100], [203, 0, 113]];
    let [a, b, c] = BLOCKS[rng.random_range(0..BLOCKS.len())];
    Ipv4Addr::new(a, b, c, rng.random_range(1..=254))
}

/// 2001:db8::/32 (RFC 3849).
fn documentation_v6(rng: &mut impl Rng) -> IpAddr {
    Ipv6Addr::new(0x2001, 0xdb8, rng.random_range(0..SITES_V6), 0, 0, 0, 0, rng.random_range(1..=u16::MAX)).into()
}
