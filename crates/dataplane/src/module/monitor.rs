//! Statistical monitoring in bounded memory: who sends how much, and how many there are.
//!
//! Counters of flows and of prefixes are kept in frequent-items sketches (Misra and Gries 1982 with purges by sampled
//! medians, Anderson et al. 2017), which know the heaviest and how far each count may be off; the number of distinct
//! flows and of senders comes from HyperLogLog (Flajolet et al. 2007).

use std::cmp::Reverse;
use std::net::{IpAddr, Ipv6Addr};

use datasketches::frequencies::{ErrorType, FrequentItemsSketch};
use datasketches::hll::{HllSketch, HllType};
use dovetail_wire::{FiveTuple, Ports, Prefix, PrefixLengths};
use serde::Deserialize;

use super::{Module, ModuleDrop, ModuleError};
use crate::frame::Frame;

/// How many of the heaviest a report lists.
const LISTED: usize = 10;

/// Parameters of [`Monitor`].
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MonitorConfig {
    /// Flows, and prefixes, that are counted apart at the same time: a power of two, 8 to 2^20. A count is too low by
    /// at most 3.5 times all bytes over this.
    pub counters: usize,
    /// Bits of a sender's prefix, IPv4: 0 to 32.
    pub prefix_v4: u8,
    /// Bits of a sender's prefix, IPv6: 0 to 128.
    pub prefix_v6: u8,
    /// Numbers of distinct flows and senders are estimated from 2^this registers: 4 to 16, off by some 0.8/2^(this/2),
    /// 1.6 % for 11.
    pub precision: u8,
}

impl Default for MonitorConfig {
    fn default() -> Self {
        Self { counters: 4096, prefix_v4: 24, prefix_v6: 48, precision: 11 }
    }
}

/// A five-tuple in 40 bytes: addresses (IPv4 ones mapped into IPv6), ports, protocol, and whether there are ports.
/// Hashed in one go.
type FlowId = [u64; 5];

/// Flows that are remembered before they are counted in the sketches, a power of two.
const RECENT: usize = 1024;

/// Counts bytes by flow and by the sender's prefix.
pub struct Monitor {
    counts: Counts,
    /// Bytes of flows that the counts do not know of yet, by a hash; of none if they are 0. Most packets are of a flow
    /// that was seen a moment ago, and need no sketch.
    recent: Box<[(FlowId, u64); RECENT]>,
    flows: HllSketch,
    senders: HllSketch,
    packets: u64,
    bytes: u64,
}

/// Bytes by flow and by the sender's prefix.
#[derive(Clone)]
struct Counts {
    prefixes: PrefixLengths,
    flows: FrequentItemsSketch<FlowId>,
    senders: FrequentItemsSketch<(u128, u8)>,
}

impl Counts {
    fn add(&mut self, id: &FlowId, bytes: u64) {
        let prefix = self.prefixes.prefix(unmapped(source(id)));
        self.flows.update_with_count_ref(id, bytes);
        self.senders.update_with_count_ref(&(mapped(prefix.addr()), prefix.len()), bytes);
    }
}

impl Monitor {
    /// A module with these parameters.
    ///
    /// # Errors
    /// One is out of range.
    pub fn new(config: &MonitorConfig) -> Result<Self, ModuleError> {
        if !config.counters.is_power_of_two() || !(8..=1 << 20).contains(&config.counters) {
            return Err(ModuleError::new("counters", "expected a power of two from 8 to 1048576"));
        }
        if !(4..=16).contains(&config.precision) {
            return Err(ModuleError::new("precision", "expected 4 to 16"));
        }
        let prefixes = PrefixLengths::new(config.prefix_v4, config.prefix_v6)
            .ok_or_else(|| ModuleError::new("prefix_v4", "expected 0 to 32, and `prefix_v6` 0 to 128"))?;
        let unfit = |e: datasketches::error::Error| ModuleError::new("counters", e.to_string());
        let hll = || HllSketch::new(config.precision, HllType::Hll8).map_err(unfit);
        Ok(Self {
            counts: Counts {
                prefixes,
                flows: FrequentItemsSketch::new(config.counters).map_err(unfit)?,
                senders: FrequentItemsSketch::new(config.counters).map_err(unfit)?,
            },
            recent: Box::new([([0; 5], 0); RECENT]),
            flows: hll()?,
            senders: hll()?,
            packets: 0,
            bytes: 0,
        })
    }

    /// With everything that was seen. O(counters).
    fn counts(&self) -> Counts {
        let mut counts = self.counts.clone();
        let uncounted = self.recent.iter().filter(|(_, bytes)| *bytes > 0);
        uncounted.for_each(|(id, bytes)| counts.add(id, *bytes));
        counts
    }

    /// Bytes of a flow, between a lower and an upper bound that are surely right. O(counters).
    pub fn flow_bytes(&self, tuple: &FiveTuple) -> (u64, u64) {
        let (id, counts) = (pack(tuple), self.counts());
        (counts.flows.lower_bound(&id), counts.flows.upper_bound(&id))
    }

    /// Bytes of senders in a block of the configured length, as [`flow_bytes`](Self::flow_bytes).
    pub fn prefix_bytes(&self, prefix: Prefix) -> (u64, u64) {
        let (id, counts) = ((mapped(prefix.addr()), prefix.len()), self.counts());
        (counts.senders.lower_bound(&id), counts.senders.upper_bound(&id))
    }
}

impl Module for Monitor {
    fn name(&self) -> &'static str {
        "monitor"
    }

    /// Drops nothing but what is no IP packet, under its name. O(1) on average; memory grows up to a bound, and a full
    /// sketch is purged of its small counts. A flow of which no recent packet is remembered costs several times as
    /// much.
    fn process(&mut self, frame: &mut Frame) -> Result<(), ModuleDrop> {
        let packet = dovetail_wire::parse(frame.link, frame.data())?;
        let bytes = frame.len() as u64;
        let id = pack(&packet.tuple);
        let recent = &mut self.recent[place(&id)];
        if recent.0 == id {
            recent.1 += bytes;
        } else {
            let (before, counted) = std::mem::replace(recent, (id, bytes));
            self.counts.add(&before, counted);
        }
        // Its first packet since it is remembered: more would teach the estimates nothing.
        if recent.1 == bytes {
            self.flows.update(id);
            self.senders.update(source(&id));
        }
        self.packets += 1;
        self.bytes += bytes;
        Ok(())
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("packets", self.packets),
            ("bytes", self.bytes),
            ("flows", self.flows.estimate().round() as u64),
            ("senders", self.senders.estimate().round() as u64),
        ]
    }

    fn heavy(&self) -> Vec<(String, u64)> {
        let counts = self.counts();
        let mut heavy = heaviest(&counts.flows, |id| unpack(id).to_string());
        heavy.extend(heaviest(&counts.senders, |&(addr, len)| Prefix::of(unmapped(addr), len).to_string()));
        heavy
    }
}

fn heaviest<T: Clone + Ord + std::hash::Hash>(
    sketch: &FrequentItemsSketch<T>,
    text: impl Fn(&T) -> String,
) -> Vec<(String, u64)> {
    let rows = sketch.frequent_items(ErrorType::NoFalsePositives);
    let mut rows: Vec<_> = rows.iter().map(|row| (Reverse(row.estimate()), row.item())).collect();
    // Only those that are listed are sorted and written.
    if rows.len() > LISTED {
        rows.select_nth_unstable(LISTED);
        rows.truncate(LISTED);
    }
    rows.sort_unstable();
    rows.into_iter().map(|(Reverse(bytes), item)| (text(item), bytes)).collect()
}

fn mapped(addr: IpAddr) -> u128 {
    match addr {
        IpAddr::V4(addr) => addr.to_ipv6_mapped().to_bits(),
        IpAddr::V6(addr) => addr.to_bits(),
    }
}

fn unmapped(bits: u128) -> IpAddr {
    let addr = Ipv6Addr::from_bits(bits);
    addr.to_ipv4_mapped().map_or(addr.into(), Into::into)
}

fn pack(tuple: &FiveTuple) -> FlowId {
    let (src, dst) = (mapped(tuple.src), mapped(tuple.dst));
    let ports = tuple.ports.map_or(0, |p| 1 << 40 | u64::from(p.src) << 16 | u64::from(p.dst));
    [(src >> 64) as u64, src as u64, (dst >> 64) as u64, dst as u64, u64::from(tuple.protocol) << 32 | ports]
}

/// The sender's address, mapped.
fn source(&[high, low, ..]: &FlowId) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// Where a flow is remembered. Flows that meet there cost time and nothing else, so the hash need not be strong.
fn place(id: &FlowId) -> usize {
    let mixed = id.iter().fold(0, |hash: u64, word| (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (mixed >> (u64::BITS - RECENT.ilog2())) as usize
}

fn unpack(&[s0, s1, d0, d1, rest]: &FlowId) -> FiveTuple {
    let address = |high: u64, low: u64| unmapped(u128::from(high) << 64 | u128::from(low));
    let ports = Ports { src: (rest >> 16) as u16, dst: rest as u16 };
    FiveTuple {
        src: address(s0, s1),
        dst: address(d0, d1),
        protocol: (rest >> 32) as u8,
        ports: (rest >> 40 != 0).then_some(ports),
    }
}
