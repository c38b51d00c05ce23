//! A flow's key in words.

use core::hash::{Hash, Hasher};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::ip::plain;
use crate::key::{FiveTuple, FlowKey, KeyKind, Ports, Prefix};
use crate::link::LinkType;

/// A flow's key, or none, and a class, without gaps: hashed, compared and copied by words, without a look at what kind
/// it is. 40 bytes.
///
/// Two IPv4 addresses are in the first word, any others in the first four. The last word has, from its lowest bit:
/// class (16 bits), ports (16 each), protocol or length of a prefix (8), kind (3), and whether there are ports, a
/// sender's IPv6 address and a receiver's.
#[derive(Clone, Copy, Debug, Eq)]
pub struct PackedKey([u64; 5]);

impl PartialEq for PackedKey {
    /// By words: the derived comparison calls one of memory.
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |differ, (one, other)| differ | (one ^ other)) == 0
    }
}

impl Hash for PackedKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [a, b, c, d, e] = self.0;
        // Two words at once, of which none waits for the other.
        let both = |low: u64, high: u64| u128::from(high) << 64 | u128::from(low);
        state.write_u128(both(a, e));
        if e & V6 != 0 {
            state.write_u128(both(b, c));
            state.write_u64(d);
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

/// Bytes of an Ethernet header without tags, and how it ends before IPv4.
const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];

/// In place of an address that a key lacks.
const NO_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

impl PackedKey {
    /// Of this key, or of what belongs to no flow, and this class.
    #[inline]
    pub fn new(key: Option<FlowKey>, class: u16) -> Self {
        match key {
            None => Self::of(NO_FLOW, class, [NO_ADDRESS; 2], 0, None),
            Some(FlowKey::FiveTuple(tuple)) => Self::of_tuple(&tuple, class),
            Some(FlowKey::PrefixPort { src, port }) => {
                let ports = port.map(|dst| Ports { src: 0, dst });
                Self::of(PREFIX_PORT, class, [src.addr(), NO_ADDRESS], src.len(), ports)
            }
            Some(FlowKey::From(block)) => Self::of(FROM, class, [block.addr(), NO_ADDRESS], block.len(), None),
            Some(FlowKey::To(block)) => Self::of(TO, class, [block.addr(), NO_ADDRESS], block.len(), None),
        }
    }

    /// Of the flow of this kind that a packet with these headers belongs to ([`KeyKind::key`]). A five-tuple is packed
    /// without being copied into a [`FlowKey`] first, which would be read back in larger parts than it was written.
    #[inline]
    pub fn of_kind(kind: KeyKind, tuple: &FiveTuple, class: u16) -> Self {
        if kind == KeyKind::FiveTuple {
            return Self::of_tuple(tuple, class);
        }
        Self::new(Some(kind.key(tuple)), class)
    }

    /// The same of class 0 where flows are five-tuples, for most packets: TCP or UDP behind an IPv4 header without
    /// options, behind an Ethernet header without tags or behind none. It takes a third of what it takes to parse the
    /// headers and pack them. `None` of any other packet, of which this says nothing.
    #[inline]
    pub fn of_plain(link: LinkType, captured: &[u8]) -> Option<Self> {
        let ip = match link {
            LinkType::ETHERNET => captured.get(ETHERNET..).filter(|_| captured[ETHERNET - 2..ETHERNET] == IPV4)?,
            LinkType::RAW | LinkType::IPV4 => captured,
            _ => return None,
        };
        Some(Self::of_tuple(&plain(ip)?.tuple, 0))
    }

    #[inline]
    fn of_tuple(&FiveTuple { src, dst, protocol, ports }: &FiveTuple, class: u16) -> Self {
        Self::of(FIVE_TUPLE, class, [src, dst], protocol, ports)
    }

    #[inline(always)]
    fn of(kind: u64, class: u16, addresses: [IpAddr; 2], number: u8, ports: Option<Ports>) -> Self {
        let mut last = u64::from(class) | u64::from(number) << PROTOCOL | kind << KIND;
        if let Some(Ports { src, dst }) = ports {
            last |= HAS_PORTS | u64::from(src) << SRC_PORT | u64::from(dst) << DST_PORT;
        }
        if let [IpAddr::V4(src), IpAddr::V4(dst)] = addresses {
            return Self([u64::from(src.to_bits()) << 32 | u64::from(dst.to_bits()), 0, 0, 0, last]);
        }
        let [(src, src_v6), (dst, dst_v6)] = [(addresses[0], SRC_V6), (addresses[1], DST_V6)].map(bits);
        Self([(src >> 64) as u64, src as u64, (dst >> 64) as u64, dst as u64, last | src_v6 | dst_v6])
    }

    /// The same of class 0.
    #[inline]
    #[must_use]
    pub fn without_class(self) -> Self {
        self.with_class(0)
    }

    /// The same of this class.
    #[inline]
    #[must_use]
    pub fn with_class(self, class: u16) -> Self {
        let [a, b, c, d, last] = self.0;
        Self([a, b, c, d, last & !CLASS | u64::from(class)])
    }

    /// The key; `None` of what belongs to no flow.
    pub fn flow(self) -> Option<FlowKey> {
        self.unpacked().0
    }

    /// The key, and the class.
    pub fn unpacked(self) -> (Option<FlowKey>, u16) {
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
fn bits((address, flag): (IpAddr, u64)) -> (u128, u64) {
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

    fn any_tuple() -> impl Strategy<Value = FiveTuple> {
        let ports = proptest::option::of((0..3_u16, any::<u16>()).prop_map(|(src, dst)| Ports { src, dst }));
        let tuple = (any_address(), any_address(), any::<u8>(), ports);
        tuple.prop_map(|(src, dst, protocol, ports)| FiveTuple { src, dst, protocol, ports })
    }

    fn any_key() -> impl Strategy<Value = Option<FlowKey>> {
        let block = || (any_address(), any::<u8>()).prop_map(|(address, len)| Prefix::of(address, len));
        prop_oneof![
            Just(None),
            any_tuple().prop_map(|tuple| Some(FlowKey::FiveTuple(tuple))),
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
            prop_assert_eq!(PackedKey::new(key, class).unpacked(), (key, class));
        }

        #[test]
        fn a_packet_is_packed_as_its_key(tuple in any_tuple(), class in any::<u16>()) {
            for kind in ["5-tuple", "prefix+port:24/56", "host", "to-prefix:16/32"] {
                let kind: KeyKind = kind.parse().unwrap();
                prop_assert_eq!(PackedKey::of_kind(kind, &tuple, class), PackedKey::new(Some(kind.key(&tuple)), class));
            }
        }

        #[test]
        fn only_equal_keys_are_packed_alike(one in (any_key(), 0..2_u16), other in (any_key(), 0..2_u16)) {
            let [packed, others] = [one, other].map(|(key, class)| PackedKey::new(key, class));
            prop_assert_eq!(packed == others, one == other);
        }
    }
}
