//! IP packets read and changed in place: length, TTL, ECN, checksums.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::ops::Range;

use etherparse::{LaxIpSlice, ip_number};

use crate::checksum::{checksum, updated, with_pseudo_header};
use crate::link::NonFlow;

const V4_HEADER: usize = 20;
const V6_HEADER: usize = 40;

/// An IPv4 or IPv6 packet in place, from the first byte of its IP header; what follows the packet (Ethernet padding)
/// does no harm. The header is whole: its IPv4 options too, while IPv6 extension headers count as payload. No other
/// field was looked at.
#[derive(Clone, Copy, Debug)]
pub struct IpView<B> {
    bytes: B,
    v6: bool,
}

/// What the checksum of TCP, UDP or ICMP says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportCheck {
    /// It is right.
    Right,
    /// It is wrong, or it is zero where it must not be (UDP over IPv6, RFC 8200 section 8.1).
    Wrong,
    /// The packet ends within the transport header, or the header claims a length that cannot be.
    Malformed,
    /// There is none to be looked at: another protocol, UDP over IPv4 without checksum, a fragment, a cut packet, or an
    /// IPv6 routing header, with which the checksum is that of another destination.
    Unknown,
}

/// A packet must not be forwarded any further: its TTL (hop limit) is 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TtlExpired;

impl<B: AsRef<[u8]>> IpView<B> {
    /// The packet that begins with `bytes`.
    ///
    /// # Errors
    /// [`NonFlow::Truncated`] if the header is not whole, [`NonFlow::Malformed`] if its version or header length cannot
    /// be.
    pub fn new(bytes: B) -> Result<Self, NonFlow> {
        let b = bytes.as_ref();
        let first = *b.first().ok_or(NonFlow::Truncated)?;
        let header = match first >> 4 {
            4 => usize::from(first & 15) * 4,
            6 => V6_HEADER,
            _ => return Err(NonFlow::Malformed),
        };
        let v6 = first >> 4 == 6;
        if header < V4_HEADER {
            return Err(NonFlow::Malformed);
        }
        if b.len() < header { Err(NonFlow::Truncated) } else { Ok(Self { bytes, v6 }) }
    }

    fn b(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Its bytes, and those behind it.
    pub fn bytes(&self) -> &[u8] {
        self.b()
    }

    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.b()[at], self.b()[at + 1]])
    }

    /// Whether it is IPv6.
    pub fn is_v6(&self) -> bool {
        self.v6
    }

    /// Length of the IP header in bytes: 20 to 60 (IPv4, with options), 40 (IPv6, without extension headers).
    pub fn header_len(&self) -> usize {
        if self.v6 { V6_HEADER } else { usize::from(self.b()[0] & 15) * 4 }
    }

    /// Length of the packet in bytes as its header says, which may be more than there is, or (IPv4) less than the
    /// header.
    pub fn total_len(&self) -> usize {
        if self.v6 { V6_HEADER + usize::from(self.word(4)) } else { usize::from(self.word(2)) }
    }

    /// The sender.
    pub fn source(&self) -> IpAddr {
        self.address(0)
    }

    /// The receiver.
    pub fn destination(&self) -> IpAddr {
        self.address(1)
    }

    fn address(&self, which: usize) -> IpAddr {
        let addresses = self.addresses();
        let half = &addresses[which * addresses.len() / 2..];
        match (half.first_chunk::<4>(), half.first_chunk::<16>()) {
            (_, Some(v6)) if self.v6 => Ipv6Addr::from(*v6).into(),
            (Some(v4), _) => Ipv4Addr::from(*v4).into(),
            _ => Ipv4Addr::UNSPECIFIED.into(),
        }
    }

    fn addresses(&self) -> &[u8] {
        if self.v6 { &self.b()[8..40] } else { &self.b()[12..20] }
    }

    /// The protocol field of an IPv4 header, the next header field of an IPv6 header.
    pub fn protocol(&self) -> u8 {
        self.b()[if self.v6 { 6 } else { 9 }]
    }

    /// TTL or hop limit.
    pub fn ttl(&self) -> u8 {
        self.b()[self.ttl_at()]
    }

    fn ttl_at(&self) -> usize {
        if self.v6 { 7 } else { 8 }
    }

    /// TOS byte or traffic class: DSCP in the upper six bits, ECN in the lower two.
    pub fn traffic_class(&self) -> u8 {
        if self.v6 { (self.word(0) >> 4) as u8 } else { self.b()[1] }
    }

    /// The ECN field, 0 to 3: Not-ECT, ECT(1), ECT(0), CE (RFC 3168 section 5).
    pub fn ecn(&self) -> u8 {
        self.traffic_class() & 3
    }

    /// Whether the IPv4 header checksum is right; IPv6 has none, and nothing wrong with it.
    pub fn header_checksum_ok(&self) -> bool {
        self.v6 || checksum(&self.b()[..self.header_len()]) == 0
    }

    /// Whether the packet is an IPv4 fragment. (IPv6 has a header of its own for that; see
    /// [`transport`](Self::transport).)
    pub fn is_v4_fragment(&self) -> bool {
        !self.v6 && self.word(6) & 0x3fff != 0
    }

    /// The protocol behind all headers of IP and where in the packet it begins and ends. `None` for a fragment, for a
    /// packet that is longer than its bytes or shorter than its header, and behind extension headers that cannot be
    /// read.
    pub fn transport(&self) -> Option<(u8, Range<usize>)> {
        let (start, end) = (self.header_len(), self.total_len());
        let packet = self.b().get(..end).filter(|_| end >= start && !self.is_v4_fragment())?;
        // Most packets have no extension headers, and need no parser.
        if !self.v6 || [ip_number::TCP.0, ip_number::UDP.0, ip_number::IPV6_ICMP.0].contains(&self.protocol()) {
            return Some((self.protocol(), start..end));
        }
        let (ip, stop) = LaxIpSlice::from_slice(packet).ok()?;
        let payload = ip.payload();
        let whole = stop.is_none() && !payload.fragmented && !payload.incomplete;
        whole.then(|| (payload.ip_number.0, end - payload.payload.len()..end))
    }

    /// Whether the packet is one by which IPv6 neighbours and routers find each other (RFC 4861: ICMPv6 133 to 137), or
    /// tell routers which multicast
    /// groups they listen to, without which bridges do not bring them the former (RFC 3810: 130 to 132 and 143). Its
    /// hop limit says that no
    /// router has forwarded it, as both demand; a fragment is none (RFC 6980).
    pub fn is_neighbour_discovery(&self) -> bool {
        if !self.v6 || !matches!(self.ttl(), 1 | 255) {
            return false;
        }
        let Some((58, place)) = self.transport() else { return false };
        let kind = self.b().get(place.start).filter(|_| !place.is_empty());
        matches!((kind, self.ttl()), (Some(133..=137), 255) | (Some(130..=132 | 143), 1))
    }

    /// Look at the checksum of TCP, UDP, ICMP or ICMPv6. O(length).
    pub fn transport_check(&self) -> TransportCheck {
        let Some((protocol, place)) = self.transport() else { return TransportCheck::Unknown };
        let bytes = &self.b()[place.clone()];
        let sum = match (protocol, self.v6) {
            (6, _) if bytes.len() < 20 => return TransportCheck::Malformed,
            (1, false) | (58, true) if bytes.len() < 4 => return TransportCheck::Malformed,
            (17, _) => return self.udp_check(bytes, place.start),
            (1, false) => checksum(bytes),
            (6, _) | (58, true) if self.pseudo_header_holds(place.start) => {
                with_pseudo_header(self.addresses(), protocol, bytes)
            }
            _ => return TransportCheck::Unknown,
        };
        if sum == 0 { TransportCheck::Right } else { TransportCheck::Wrong }
    }

    fn udp_check(&self, bytes: &[u8], start: usize) -> TransportCheck {
        let &[_, _, _, _, l0, l1, c0, c1] = match bytes.first_chunk::<8>() {
            Some(header) => header,
            None => return TransportCheck::Malformed,
        };
        let length = usize::from(u16::from_be_bytes([l0, l1]));
        let Some(datagram) = bytes.get(..length).filter(|d| d.len() >= 8) else { return TransportCheck::Malformed };
        match [c0, c1] {
            [0, 0] if self.v6 => TransportCheck::Wrong,
            [0, 0] => TransportCheck::Unknown,
            _ if !self.pseudo_header_holds(start) => TransportCheck::Unknown,
            _ if with_pseudo_header(self.addresses(), 17, datagram) == 0 => TransportCheck::Right,
            _ => TransportCheck::Wrong,
        }
    }

    /// Whether the destination in the header is the one that the checksum covers: there is no routing header before
    /// `start`.
    fn pseudo_header_holds(&self, start: usize) -> bool {
        !self.v6 || start == V6_HEADER || {
            let ip = LaxIpSlice::from_slice(self.b());
            !matches!(ip, Ok((LaxIpSlice::Ipv6(v6), _))
                if v6.extensions().clone().into_iter().any(|e| matches!(e, etherparse::Ipv6ExtensionSlice::Routing(_))))
        }
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> IpView<B> {
    /// Change the 16-bit word at the even offset `at` of an IPv4 header, and the checksum with it.
    fn set_v4_word(&mut self, at: usize, new: u16) {
        let sum = updated(self.word(10), self.word(at), new);
        let b = self.bytes.as_mut();
        b[at..at + 2].copy_from_slice(&new.to_be_bytes());
        b[10..12].copy_from_slice(&sum.to_be_bytes());
    }

    /// Set the TOS byte or traffic class; a right header checksum stays right, a wrong one wrong.
    pub fn set_traffic_class(&mut self, class: u8) {
        let first = self.word(0);
        if self.v6 {
            let new = first & 0xf00f | u16::from(class) << 4;
            self.bytes.as_mut()[..2].copy_from_slice(&new.to_be_bytes());
        } else {
            self.set_v4_word(0, first & 0xff00 | u16::from(class));
        }
    }

    /// Set the ECN field to the lower two bits of `ecn`; see [`ecn`](Self::ecn). The checksum as with
    /// [`set_traffic_class`](Self::set_traffic_class).
    pub fn set_ecn(&mut self, ecn: u8) {
        self.set_traffic_class(self.traffic_class() & !3 | ecn & 3);
    }

    /// One hop more: TTL or hop limit less one, the header checksum kept as right as it was.
    ///
    /// # Errors
    /// The packet must not go any further; it stays as it is.
    pub fn decrement_ttl(&mut self) -> Result<(), TtlExpired> {
        match self.ttl() {
            0 | 1 => return Err(TtlExpired),
            _ if self.v6 => self.bytes.as_mut()[7] -= 1,
            _ => self.set_v4_word(8, self.word(8) - 0x0100),
        }
        Ok(())
    }

    /// Make the IPv4 header checksum right, whatever it was; nothing for IPv6.
    pub fn recompute_header_checksum(&mut self) {
        let len = self.header_len();
        if !self.v6 {
            let header = &mut self.bytes.as_mut()[..len];
            header[10..12].fill(0);
            let sum = checksum(header);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
        }
    }
}
