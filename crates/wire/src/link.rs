//! From the first captured byte to the IP header.

use core::fmt;

use etherparse::{EtherType, Ethernet2HeaderSlice, LinuxSllHeader, SingleVlanHeaderSlice};

/// What the first captured byte is: a `LINKTYPE_` number of the pcap registry (tcpdump.org/linktypes.html).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback, address family in the capturing host's byte order.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// PPP, with or without its HDLC address and control bytes.
    pub const PPP: Self = Self(9);
    /// Raw IP, as some systems number it.
    pub const RAW_BSD: Self = Self(12);
    /// Raw IP, as OpenBSD numbers it.
    pub const RAW_OPENBSD: Self = Self(14);
    /// PPP in HDLC-like framing (RFC 1662).
    pub const PPP_HDLC: Self = Self(50);
    /// PPPoE, from the PPPoE header on.
    pub const PPP_ETHER: Self = Self(51);
    /// Raw IP, version by its first nibble.
    pub const RAW: Self = Self(101);
    /// Cisco HDLC.
    pub const C_HDLC: Self = Self(104);
    /// OpenBSD loopback, address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux cooked capture.
    pub const LINUX_SLL: Self = Self(113);
    /// Raw IPv4.
    pub const IPV4: Self = Self(228);
    /// Raw IPv6.
    pub const IPV6: Self = Self(229);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);

    /// The link type's name where [`crate::parse`] understands it, else `None`.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::NULL => "BSD loopback",
            Self::ETHERNET => "Ethernet",
            Self::PPP => "PPP",
            Self::RAW_BSD | Self::RAW_OPENBSD | Self::RAW => "raw IP",
            Self::PPP_HDLC => "PPP in HDLC",
            Self::PPP_ETHER => "PPPoE",
            Self::C_HDLC => "Cisco HDLC",
            Self::LOOP => "OpenBSD loopback",
            Self::LINUX_SLL => "Linux cooked v1",
            Self::IPV4 => "raw IPv4",
            Self::IPV6 => "raw IPv6",
            Self::LINUX_SLL2 => "Linux cooked v2",
            _ => return None,
        })
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "link type {}", self.0),
        }
    }
}

/// Why a packet belongs to no flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NonFlow {
    /// Address resolution.
    Arp,
    /// Another protocol that is not IP: spanning tree, LLDP, PPP and PPPoE control, MPLS, ...
    NotIp,
    /// A link type that is not read here.
    UnknownLinkType,
    /// The captured bytes end before the addresses of the IP header.
    Truncated,
    /// The IP header contradicts itself: its version or header length cannot be.
    Malformed,
}

impl NonFlow {
    /// All reasons, in the order in which reports list them.
    pub const ALL: [Self; 5] = [Self::Arp, Self::NotIp, Self::UnknownLinkType, Self::Truncated, Self::Malformed];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arp => "arp",
            Self::NotIp => "not-ip",
            Self::UnknownLinkType => "unknown-link-type",
            Self::Truncated => "truncated",
            Self::Malformed => "malformed",
        }
    }
}

impl fmt::Display for NonFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The captured bytes from the IP header on.
pub(crate) fn ip_packet(link: LinkType, captured: &[u8]) -> Result<&[u8], NonFlow> {
    match link {
        LinkType::ETHERNET => {
            let header = Ethernet2HeaderSlice::from_slice(captured).map_err(|_| NonFlow::Truncated)?;
            ether_payload(header.ether_type(), &captured[header.slice().len()..])
        }
        LinkType::RAW | LinkType::RAW_BSD | LinkType::RAW_OPENBSD | LinkType::IPV4 | LinkType::IPV6 => Ok(captured),
        LinkType::NULL | LinkType::LOOP => loopback(captured),
        LinkType::PPP | LinkType::PPP_HDLC => ppp(captured),
        LinkType::PPP_ETHER => pppoe(captured),
        LinkType::C_HDLC => tagged(captured, 2, 4),
        LinkType::LINUX_SLL => tagged(captured, 14, LinuxSllHeader::LEN),
        LinkType::LINUX_SLL2 => tagged(captured, 0, 20),
        _ => Err(NonFlow::UnknownLinkType),
    }
}

/// A link header of `len` bytes with the EtherType at `at`. (etherparse's cooked header refuses whole packets with a
/// packet type or hardware type that it does not know; neither matters here.)
fn tagged(captured: &[u8], at: usize, len: usize) -> Result<&[u8], NonFlow> {
    let ether_type = be16(captured, at)?;
    ether_payload(EtherType(ether_type), captured.get(len..).ok_or(NonFlow::Truncated)?)
}

/// Below this an Ethernet type field is the length of an LLC frame (IEEE 802.3 3.2.6).
const MIN_ETHER_TYPE: u16 = 0x0600;
/// LLC header with SNAP and the encapsulated Ethernet organisation code: an EtherType follows (RFC 1042).
const LLC_SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];
const PPPOE_SESSION: EtherType = EtherType(0x8864);

fn ether_payload(mut ether_type: EtherType, mut rest: &[u8]) -> Result<&[u8], NonFlow> {
    loop {
        match ether_type {
            EtherType::IPV4 | EtherType::IPV6 => return Ok(rest),
            EtherType::ARP => return Err(NonFlow::Arp),
            PPPOE_SESSION => return pppoe(rest),
            EtherType::VLAN_TAGGED_FRAME | EtherType::PROVIDER_BRIDGING | EtherType::VLAN_DOUBLE_TAGGED_FRAME => {
                let tag = SingleVlanHeaderSlice::from_slice(rest).map_err(|_| NonFlow::Truncated)?;
                ether_type = tag.ether_type();
                rest = &rest[tag.slice().len()..];
            }
            EtherType(len) if len < MIN_ETHER_TYPE && rest.starts_with(&LLC_SNAP) => {
                ether_type = EtherType(be16(rest, 6)?);
                rest = &rest[8..];
            }
            _ => return Err(NonFlow::NotIp),
        }
    }
}

/// Four bytes of address family, in the byte order of whoever captured. 2 is AF_INET everywhere; AF_INET6 is 10 on
/// Linux, 24, 28 or 30 on the BSDs and macOS.
fn loopback(captured: &[u8]) -> Result<&[u8], NonFlow> {
    let family = captured.first_chunk::<4>().ok_or(NonFlow::Truncated)?;
    let family = u32::from_be_bytes(*family).min(u32::from_le_bytes(*family));
    if matches!(family, 2 | 10 | 24 | 28 | 30) { Ok(&captured[4..]) } else { Err(NonFlow::NotIp) }
}

/// PPPoE session header (RFC 2516 section 4): version and type, code, session, length; then PPP.
fn pppoe(rest: &[u8]) -> Result<&[u8], NonFlow> {
    const SESSION_DATA: u8 = 0;
    match rest.get(1) {
        None => Err(NonFlow::Truncated),
        Some(&SESSION_DATA) => ppp(rest.get(6..).ok_or(NonFlow::Truncated)?),
        Some(_) => Err(NonFlow::NotIp),
    }
}

/// PPP protocol field (RFC 1661 section 2), behind address and control if they are there (RFC 1662), in one byte if
/// compressed: the low bit is set in the last byte.
fn ppp(rest: &[u8]) -> Result<&[u8], NonFlow> {
    let rest = rest.strip_prefix(&[0xff, 0x03]).unwrap_or(rest);
    let (protocol, payload) = match *rest {
        [low, ref payload @ ..] if low & 1 == 1 => (u16::from(low), payload),
        [high, low, ref payload @ ..] => (u16::from_be_bytes([high, low]), payload),
        _ => return Err(NonFlow::Truncated),
    };
    if matches!(protocol, 0x21 | 0x57) { Ok(payload) } else { Err(NonFlow::NotIp) }
}

fn be16(bytes: &[u8], at: usize) -> Result<u16, NonFlow> {
    let field = bytes.get(at..).and_then(|b| b.first_chunk::<2>()).ok_or(NonFlow::Truncated)?;
    Ok(u16::from_be_bytes(*field))
}
