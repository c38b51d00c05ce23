//! Flows, found by what tells them apart.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ahash::RandomState;
use dovetail_units::Time;
use dovetail_wire::{FiveTuple, FlowKey, Ports, Prefix};
use hashbrown::HashTable;

/// What is known of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEntry {
    /// Its key; `None` for packets that belong to no flow.
    pub key: Option<FlowKey>,
    /// Its class, as whoever loads the capture numbers them; 0 if nobody does.
    pub class: u16,
    /// Its packets.
    pub packets: u64,
    /// Its bytes.
    pub bytes: u64,
    /// When its first packet arrived.
    pub first: Time,
    /// When its last packet arrived.
    pub last: Time,
}

/// Flows, numbered from 0 in the order in which they first appear. Adding a packet is O(1) on average, whatever keys
/// the sender of a capture chose: every table hashes them in its own way.
#[derive(Clone, Debug, Default)]
pub struct FlowTable {
    /// Numbers of flows by key and class.
    index: HashTable<u32>,
    hasher: RandomState,
    flows: Vec<Kept>,
    /// When their first packets arrived.
    firsts: Vec<Time>,
}

/// What every packet of a flow reads and changes: one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Kept {
    key: Packed,
    packets: u64,
    bytes: u64,
    last: Time,
}

impl FlowTable {
    /// No flows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a packet of `size` bytes to the flow with `key`; answers its number.
    pub fn add(&mut self, key: Option<FlowKey>, time: Time, size: u32) -> u32 {
        self.add_of_class(key, 0, time, size)
    }

    /// As [`add`](Self::add); packets of different classes are of different flows.
    #[inline]
    pub fn add_of_class(&mut self, key: Option<FlowKey>, class: u16, time: Time, size: u32) -> u32 {
        let key = Packed::new(key, class);
        self.count(key, |other| other == key, || key, time, size)
    }

    /// As [`add`](Self::add); a new flow, and with it all packets of this key, is of the class that `class` says. A key
    /// is counted by this or by [`add_of_class`](Self::add_of_class), not by both.
    #[inline]
    pub fn add_by_key(&mut self, key: Option<FlowKey>, time: Time, size: u32, class: impl FnOnce() -> u16) -> u32 {
        let key = Packed::new(key, 0);
        self.count(key, |other| other.without_class() == key, || key.with_class(class()), time, size)
    }

    #[inline]
    fn count(
        &mut self,
        key: Packed,
        is_same: impl Fn(Packed) -> bool,
        new: impl FnOnce() -> Packed,
        time: Time,
        size: u32,
    ) -> u32 {
        let Self { index, hasher, flows, firsts } = self;
        let is_same = |&flow: &u32| is_same(flows[flow as usize].key);
        let hash_again = |&flow: &u32| hasher.hash_one(flows[flow as usize].key);
        // 2^32 flows need 300 GB: memory ends first.
        let next = flows.len() as u32;
        let flow = *index.entry(hasher.hash_one(key), is_same, hash_again).or_insert(next).get();
        if flow == next {
            flows.push(Kept { key: new(), packets: 0, bytes: 0, last: time });
            firsts.push(time);
        }
        let kept = &mut self.flows[flow as usize];
        kept.packets += 1;
        kept.bytes += u64::from(size);
        kept.last = time;
        flow
    }

    /// The flows by number.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = FlowEntry> {
        self.flows.iter().zip(&self.firsts).map(|(&Kept { key, packets, bytes, last }, &first)| {
            let (key, class) = key.unpacked();
            FlowEntry { key, class, packets, bytes, first, last }
        })
    }

    /// How many flows.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Whether there is no flow.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Bytes of all packets.
    pub fn bytes(&self) -> u64 {
        self.flows.iter().map(|flow| flow.bytes).sum()
    }

    /// Bytes of memory that the flows take, about.
    pub fn memory(&self) -> usize {
        // A number in the table of hashes has a byte beside it, and up to seven eighths of the places are taken.
        self.len() * (size_of::<Kept>() + size_of::<Time>() + 2 * (size_of::<u32>() + 1))
    }

    /// What tells the flows apart, and no more.
    pub fn into_keys(self) -> FlowKeys {
        FlowKeys(self.flows.into_iter().map(|flow| flow.key).collect())
    }

    /// The number of the flow with `key` (`None`: the one of packets without a flow) of class 0. O(1) on average.
    pub fn find(&self, key: Option<FlowKey>) -> Option<u32> {
        let key = Packed::new(key, 0);
        self.index.find(self.hasher.hash_one(key), |&flow| self.flows[flow as usize].key == key).copied()
    }
}

/// Keys and classes of flows, by number: 40 bytes each.
#[derive(Clone, Debug, Default)]
pub struct FlowKeys(Box<[Packed]>);

impl FlowKeys {
    /// Every flow's key, `None` for packets that belong to no flow, and its class.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Option<FlowKey>, u16)> {
        self.0.iter().map(|key| key.unpacked())
    }
}

/// A key and a class without gaps, so that it is hashed and compared by words, without a look at what kind it is. The
/// class is not hashed.
///
/// Two IPv4 addresses are in the first word, any others in the first four. The last word has, from its lowest bit:
/// class (16 bits), ports (16 each), protocol or length of a prefix (8), kind (3), and whether there are ports, a
/// sender's IPv6 address and a receiver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed([u64; 5]);

impl Hash for Packed {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [a, b, c, d, e] = self.0;
        state.write_u64(a);
        state.write_u64(e & !CLASS);
        if e & V6 != 0 {
            [b, c, d].into_iter().for_each(|word| state.write_u64(word));
        }
    }
}

const NO_FLOW: u64 = 0;
const FIVE_TUPLE: u64 = 1;
const PREFIX_PORT: u64 = 2;
const FROM: u64 = 3;
const TO: u64 = 4;

const CLASS: u64 = u16::MAX as u64;
const SRC_PORT: u32 = 16;
const DST_PORT: u32 = 32;
const PROTOCOL: u32 = 48;
const KIND: u32 = 56;
const HAS_PORTS: u64 = 1 << 59;
const SRC_V6: u64 = 1 << 60;
const DST_V6: u64 = 1 << 61;
const V6: u64 = SRC_V6 | DST_V6;

/// In place of an address that a key lacks.
const NO_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

impl Packed {
    #[inline]
    fn new(key: Option<FlowKey>, class: u16) -> Self {
        let (kind, src, dst, number, ports) = match key {
            None => (NO_FLOW, NO_ADDRESS, NO_ADDRESS, 0, None),
            Some(FlowKey::FiveTuple(FiveTuple { src, dst, protocol, ports })) => {
                (FIVE_TUPLE, src, dst, protocol, ports)
            }
            Some(FlowKey::PrefixPort { src, port }) => {
                (PREFIX_PORT, src.addr(), NO_ADDRESS, src.len(), port.map(|dst| Ports { src: 0, dst }))
            }
            Some(FlowKey::From(block)) => (FROM, block.addr(), NO_ADDRESS, block.len(), None),
            Some(FlowKey::To(block)) => (TO, block.addr(), NO_ADDRESS, block.len(), None),
        };
        let mut last = u64::from(class) | u64::from(number) << PROTOCOL | kind << KIND;
        if let Some(Ports { src, dst }) = ports {
            last |= HAS_PORTS | u64::from(src) << SRC_PORT | u64::from(dst) << DST_PORT;
        }
        if let (IpAddr::V4(src), IpAddr::V4(dst)) = (src, dst) {
            return Self([u64::from(src.to_bits()) << 32 | u64::from(dst.to_bits()), 0, 0, 0, last]);
        }
        let (src, src_v6) = bits(src, SRC_V6);
        let (dst, dst_v6) = bits(dst, DST_V6);
        Self([(src >> 64) as u64, src as u64, (dst >> 64) as u64, dst as u64, last | src_v6 | dst_v6])
    }

    #[inline]
    fn without_class(self) -> Self {
        self.with_class(0)
    }

    #[inline]
    fn with_class(self, class: u16) -> Self {
        let [a, b, c, d, last] = self.0;
        Self([a, b, c, d, last & !CLASS | u64::from(class)])
    }

    fn unpacked(self) -> (Option<FlowKey>, u16) {
        let [a, b, c, d, last] = self.0;
        let (src, dst) = match last & V6 {
            0 => (address((a >> 32).into(), false), address((a as u32).into(), false)),
            _ => {
                let [src, dst] = [(a, b), (c, d)].map(|(high, low)| u128::from(high) << 64 | u128::from(low));
                (address(src, last & SRC_V6 != 0), address(dst, last & DST_V6 != 0))
            }
        };
        let number = (last >> PROTOCOL) as u8;
        let port = |at: u32| (last >> at) as u16;
        let ports = (last & HAS_PORTS != 0).then(|| Ports { src: port(SRC_PORT), dst: port(DST_PORT) });
        let block = || Prefix::of(src, number);
        let key = match last >> KIND & 7 {
            FIVE_TUPLE => Some(FlowKey::FiveTuple(FiveTuple { src, dst, protocol: number, ports })),
            PREFIX_PORT => Some(FlowKey::PrefixPort { src: block(), port: ports.map(|ports| ports.dst) }),
            FROM => Some(FlowKey::From(block())),
            TO => Some(FlowKey::To(block())),
            _ => None,
        };
        (key, last as u16)
    }
}

/// An address's bits, and `flag` if it is IPv6.
fn bits(address: IpAddr, flag: u64) -> (u128, u64) {
    match address {
        IpAddr::V4(address) => (address.to_bits().into(), 0),
        IpAddr::V6(address) => (address.to_bits(), flag),
    }
}

fn address(bits: u128, v6: bool) -> IpAddr {
    if v6 { Ipv6Addr::from_bits(bits).into() } else { Ipv4Addr::from_bits(bits as u32).into() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_address() -> impl Strategy<Value = IpAddr> {
        let few = prop_oneof![0..3_u32, any::<u32>()];
        prop_oneof![
            few.clone().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
            few.prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits.into()))),
            any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits))),
        ]
    }

    fn any_key() -> impl Strategy<Value = Option<FlowKey>> {
        let ports = || proptest::option::of((0..3_u16, any::<u16>()).prop_map(|(src, dst)| Ports { src, dst }));
        let tuple = (any_address(), any_address(), any::<u8>(), ports());
        let block = || (any_address(), any::<u8>()).prop_map(|(address, len)| Prefix::of(address, len));
        prop_oneof![
            Just(None),
            tuple.prop_map(|(src, dst, protocol, ports)| {
                Some(FlowKey::FiveTuple(FiveTuple { src, dst, protocol, ports }))
            }),
            (block(), proptest::option::of(any::<u16>()))
                .prop_map(|(src, port)| Some(FlowKey::PrefixPort { src, port })),
            block().prop_map(|block| Some(FlowKey::From(block))),
            block().prop_map(|block| Some(FlowKey::To(block))),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_packed_key_is_the_key(key in any_key(), class in any::<u16>()) {
            prop_assert_eq!(Packed::new(key, class).unpacked(), (key, class));
        }

        #[test]
        fn only_equal_keys_are_packed_alike(one in (any_key(), 0..2_u16), other in (any_key(), 0..2_u16)) {
            let [packed, others] = [one, other].map(|(key, class)| Packed::new(key, class));
            prop_assert_eq!(packed == others, one == other);
        }
    }

    #[test]
    fn the_class_of_a_key_is_asked_for_once_or_tells_flows_apart() {
        let key = |dst| {
            let [src, at] = [1, 2].map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)));
            Some(FlowKey::FiveTuple(FiveTuple { src, dst: at, protocol: 6, ports: Some(Ports { src: 7, dst }) }))
        };
        let mut table = FlowTable::new();
        let by_key =
            [(80, 3), (443, 5), (80, 9)].map(|(port, class)| table.add_by_key(key(port), Time::ZERO, 1, || class));
        let apart = [4, 6, 4].map(|class| table.add_of_class(None, class, Time::ZERO, 1));
        assert_eq!((by_key, apart), ([0, 1, 0], [2, 3, 2]));
        let flows: Vec<_> = table.entries().map(|flow| (flow.key, flow.class, flow.packets)).collect();
        assert_eq!(flows, [(key(80), 3, 2), (key(443), 5, 1), (None, 4, 2), (None, 6, 1)]);
    }

    #[test]
    fn a_flow_takes_one_line() {
        assert_eq!(size_of::<Kept>(), 64);
    }
}
