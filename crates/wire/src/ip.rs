//! From the IP header to the five-tuple.

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

/// All these protocols begin with the source and the destination port.
fn ports(protocol: IpNumber, payload: &[u8]) -> Option<Ports> {
    let with_ports =
        matches!(protocol, ip_number::TCP | ip_number::UDP | ip_number::DCCP | ip_number::SCTP | ip_number::UDP_LITE);
    let &[s0, s1, d0, d1] = payload.first_chunk::<4>().filter(|_| with_ports)?;
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
