//! From the IP header to the five-tuple.

use core::net::Ipv4Addr;

use etherparse::err::ip::LaxHeaderSliceError;
use etherparse::{IpNumber, Ipv4Header, Ipv6ExtensionSlice, LaxIpSlice, ip_number};

use crate::key::{FiveTuple, Ports};
use crate::link::NonFlow;

/// What the IP headers of a packet say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpPacket {
    /// Addresses, protocol and ports.
    pub tuple: FiveTuple,
    /// Whether the packet is a fragment of a datagram (the first one included).
    pub fragment: bool,
}

impl IpPacket {
    /// Reads `bytes`, which start with an IP header, as far as they go.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, NonFlow> {
        plain(bytes).map_or_else(|| Self::parse(bytes), Ok)
    }

    fn parse(bytes: &[u8]) -> Result<Self, NonFlow> {
        match LaxIpSlice::from_slice(bytes) {
            Ok((ip, _)) => Ok(Self::from_slices(&ip)),
            Err(LaxHeaderSliceError::Content(_)) => Err(NonFlow::Malformed),
            Err(LaxHeaderSliceError::Len(_)) => cut_in_options(bytes),
        }
    }

    fn from_slices(ip: &LaxIpSlice<'_>) -> Self {
        let fragment = ip.is_fragmenting_payload();
        let protocol = if fragment { fragment_protocol(ip) } else { ip.payload_ip_number() };
        let ports = if fragment { None } else { ports(protocol, ip.payload().payload) };
        let tuple = FiveTuple { src: ip.source_addr(), dst: ip.destination_addr(), protocol: protocol.0, ports };
        Self { tuple, fragment }
    }
}

/// What most packets are: TCP or UDP behind an IPv4 header without options. Their fields are at fixed places, which
/// takes a tenth of the parser's time. `None` for any other packet, of which this says nothing.
#[inline]
pub(crate) fn plain(bytes: &[u8]) -> Option<IpPacket> {
    let b = bytes.first_chunk::<{ Ipv4Header::MIN_LEN + 4 }>()?;
    let word = |at: usize| u16::from_be_bytes([b[at], b[at + 1]]);
    let address = |at: usize| Ipv4Addr::new(b[at], b[at + 1], b[at + 2], b[at + 3]).into();
    let (total_len, fragment, protocol) = (usize::from(word(2)), word(6) & 0x3fff != 0, b[9]);
    let is_plain = b[0] == 0x45
        && total_len >= b.len()
        && !fragment
        && matches!(IpNumber(protocol), ip_number::TCP | ip_number::UDP);
    is_plain.then(|| {
        let ports = Some(Ports { src: word(20), dst: word(22) });
        IpPacket { tuple: FiveTuple { src: address(12), dst: address(16), protocol, ports }, fragment }
    })
}

/// The protocol that all fragments of a datagram agree on: the field beside the fragment offset. What follows it are
/// headers in the first fragment, but arbitrary bytes in the later ones (RFC 8200 section 4.5).
fn fragment_protocol(ip: &LaxIpSlice<'_>) -> IpNumber {
    match ip {
        LaxIpSlice::Ipv4(v4) => v4.header().protocol(),
        LaxIpSlice::Ipv6(v6) => v6
            .extensions()
            .clone()
            .into_iter()
            .find_map(|ext| match ext {
                Ipv6ExtensionSlice::Fragment(header) => Some(header.next_header()),
                _ => None,
            })
            .unwrap_or(v6.payload().ip_number),
    }
}

/// Whether what is carried by this IP protocol begins with the source and the destination port.
pub fn has_ports(protocol: u8) -> bool {
    let protocol = IpNumber(protocol);
    matches!(protocol, ip_number::TCP | ip_number::UDP | ip_number::DCCP | ip_number::SCTP | ip_number::UDP_LITE)
}

fn ports(protocol: IpNumber, payload: &[u8]) -> Option<Ports> {
    let &[s0, s1, d0, d1] = payload.first_chunk::<4>().filter(|_| has_ports(protocol.0))?;
    Some(Ports { src: u16::from_be_bytes([s0, s1]), dst: u16::from_be_bytes([d0, d1]) })
}

/// An IPv4 header cut within its options still has its addresses: read it as if it had none.
fn cut_in_options(bytes: &[u8]) -> Result<IpPacket, NonFlow> {
    let mut fixed = *bytes.first_chunk::<{ Ipv4Header::MIN_LEN }>().ok_or(NonFlow::Truncated)?;
    if fixed[0] >> 4 != 4 {
        return Err(NonFlow::Truncated);
    }
    fixed[0] = 0x45;
    let (ip, _) = LaxIpSlice::from_slice(&fixed).map_err(|_| NonFlow::Malformed)?;
    Ok(IpPacket::from_slices(&ip))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::{KeyKind, LinkType, PackedKey};

    /// A header of which every field that decides may be anything, more often what it usually is.
    fn header() -> impl Strategy<Value = Vec<u8>> {
        let first = prop_oneof![3 => Just(0x45), 1 => any::<u8>()];
        let total_len = prop_oneof![Just(64), 0..70_u16];
        let fragment = prop_oneof![Just(0x4000), Just(0), any::<u16>()];
        let protocol = prop_oneof![Just(6), Just(17), any::<u8>()];
        let fields = (first, total_len, fragment, protocol);
        (fields, prop::collection::vec(any::<u8>(), 0..64)).prop_map(|((first, len, fragment, protocol), mut bytes)| {
            let mut set = |at: usize, field: &[u8]| {
                bytes.iter_mut().skip(at).zip(field).for_each(|(byte, field)| *byte = *field);
            };
            set(0, &[first]);
            set(2, &len.to_be_bytes());
            set(6, &fragment.to_be_bytes());
            set(9, &[protocol]);
            bytes
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn plain_packets_are_read_as_the_parser_reads_them(bytes in header()) {
            if let Some(packet) = plain(&bytes) {
                prop_assert_eq!(Ok(packet), IpPacket::parse(&bytes));
            }
        }

        #[test]
        fn plain_frames_have_the_key_that_their_headers_parse_to(
            ip in header(),
            ether_type in prop_oneof![3 => Just(0x0800_u16), 1 => any::<u16>()],
            link in prop_oneof![3 => Just(1), 1 => 0..300_u16].prop_map(LinkType),
        ) {
            let ethernet = [&[2; 12][..], &ether_type.to_be_bytes(), &ip].concat();
            let captured = if link == LinkType::ETHERNET { ethernet } else { ip };
            if let Some(key) = PackedKey::of_plain(link, &captured) {
                let parsed = crate::parse(link, &captured).unwrap();
                prop_assert!(!parsed.fragment);
                prop_assert_eq!(key, PackedKey::of_kind(KeyKind::FiveTuple, &parsed.tuple, 0));
            }
        }
    }

    #[test]
    fn tcp_and_udp_without_options_are_plain() {
        for protocol in [6, 17] {
            let mut bytes = [0; 24];
            bytes[0] = 0x45;
            bytes[3] = 24;
            bytes[9] = protocol;
            assert!(plain(&bytes).is_some());
            assert!(PackedKey::of_plain(LinkType::RAW, &bytes).is_some());
            let frame = [&[2; 12][..], &[8, 0], &bytes].concat();
            assert!(PackedKey::of_plain(LinkType::ETHERNET, &frame).is_some());
        }
    }
}
