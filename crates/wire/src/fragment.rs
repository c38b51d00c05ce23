//! Fragments of datagrams.

use core::ops::Range;

use etherparse::{Ipv6ExtensionSlice, LaxIpSlice, ip_number};

use crate::edit::IpView;
use crate::ip::has_ports;
use crate::key::Ports;

/// A part of a datagram that was cut on its way (RFC 791 section 3.2, RFC 8200 section 4.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// What all fragments of the datagram have alike, beside their addresses and protocol.
    pub id: u32,
    /// The protocol of the datagram.
    pub protocol: u8,
    /// Where in the datagram's payload it begins, bytes.
    pub offset: usize,
    /// Whether further ones come behind it.
    pub more: bool,
    /// Where in the packet its part of the payload begins and ends, as far as there are bytes.
    pub payload: Range<usize>,
}

impl Fragment {
    /// Ports, of the first fragment of a datagram that has some, in this packet.
    pub fn ports(&self, packet: &[u8]) -> Option<Ports> {
        let bytes = packet.get(self.payload.clone()).filter(|_| self.offset == 0 && has_ports(self.protocol))?;
        let &[s0, s1, d0, d1] = bytes.first_chunk::<4>()?;
        Some(Ports { src: u16::from_be_bytes([s0, s1]), dst: u16::from_be_bytes([d0, d1]) })
    }

    /// Where in the datagram's payload it ends, bytes.
    pub fn end(&self) -> usize {
        self.offset + self.payload.len()
    }
}

impl<B: AsRef<[u8]>> IpView<B> {
    /// What kind of fragment the packet is; `None` if it is none, or its headers cannot be read. One that is a whole
    /// datagram (RFC 6946) is none.
    pub fn fragment(&self) -> Option<Fragment> {
        let packet = self.bytes();
        let end = self.total_len().min(packet.len());
        if !self.is_v6() {
            let field = u16::from_be_bytes([packet[6], packet[7]]);
            let payload = self.header_len()..end.max(self.header_len());
            let id = u16::from_be_bytes([packet[4], packet[5]]).into();
            let (offset, more) = (usize::from(field & 0x1fff) * 8, field & 0x2000 != 0);
            return self.is_v4_fragment().then(|| Fragment { id, protocol: self.protocol(), offset, more, payload });
        }
        // Most packets have no extension headers, and need no parser.
        if [ip_number::TCP.0, ip_number::UDP.0, ip_number::IPV6_ICMP.0].contains(&self.protocol()) {
            return None;
        }
        let (ip, _) = LaxIpSlice::from_slice(packet.get(..end)?).ok()?;
        let LaxIpSlice::Ipv6(v6) = &ip else { return None };
        if !ip.is_fragmenting_payload() {
            return None;
        }
        v6.extensions().clone().into_iter().find_map(|extension| match extension {
            Ipv6ExtensionSlice::Fragment(header) => {
                let start = header.slice().as_ptr() as usize - packet.as_ptr() as usize + header.slice().len();
                Some(Fragment {
                    id: header.identification(),
                    protocol: header.next_header().0,
                    offset: usize::from(header.fragment_offset().value()) * 8,
                    more: header.more_fragments(),
                    payload: start..end.max(start),
                })
            }
            _ => None,
        })
    }
}
