//! From captured bytes to a flow, and changes of headers in place: link headers, IP headers, flow keys, checksums. No
//! I/O.
//!
//! [`parse`] reads a packet's addresses, protocol and ports as far as the bytes go; [`KeyKind::key`] turns them into
//! the key that tells flows apart; [`classify`] does both. Every input is accepted: what carries no flow is answered
//! with the reason, [`NonFlow`]. [`ip_offset`] and [`IpView`] give the IP packet in place, to read and to change what a
//! middlebox changes: TTL, ECN, header checksum.
//!
//! Header formats come from `etherparse`'s lax parsers. Own code is only what they lack: the two- to
//! twenty-byte encapsulations of BSD loopback, PPP, PPPoE, Cisco HDLC, LLC/SNAP and Linux cooked v2.
#![no_std]

extern crate alloc;

mod checksum;
mod edit;
mod fragment;
mod ip;
mod key;
mod link;
mod packed;
mod rule;

pub use checksum::{checksum, updated};
pub use edit::{IpView, TransportCheck, TtlExpired};
pub use fragment::Fragment;
pub use ip::{IpPacket, has_ports};
pub use key::{FiveTuple, FlowKey, KeyKind, KeyKindError, Ports, Prefix, PrefixError, PrefixLengths, protocol_name};
pub use link::{LinkType, NonFlow};
pub use packed::PackedKey;
pub use rule::{ICMP_V6, Marks, Rule, Vital};

/// The outcome of [`classify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The packet belongs to this flow.
    Flow(FlowKey),
    /// The packet belongs to no flow, and why.
    NonFlow(NonFlow),
}

/// Reads the link and IP headers of a captured packet.
///
/// `captured` may be cut anywhere (snap length): addresses and protocol need only the fixed part of the IP header,
/// ports the first four bytes behind it. A tunnel (GRE, IP in IP, ...) is one flow, that of its outer header.
///
/// # Errors
/// The reason why there is no flow to be read.
pub fn parse(link: LinkType, captured: &[u8]) -> Result<IpPacket, NonFlow> {
    IpPacket::read(link::ip_packet(link, captured)?)
}

/// Where in a captured packet its IP header begins, whatever stands before it: Ethernet with VLAN tags, PPPoE, nothing
/// at all. That an IP header is there says only the field before it; [`IpView::new`] looks.
///
/// # Errors
/// The reason why there is no IP packet.
pub fn ip_offset(link: LinkType, captured: &[u8]) -> Result<usize, NonFlow> {
    link::ip_packet(link, captured).map(|rest| captured.len() - rest.len())
}

/// The flow that a captured packet belongs to, with flows told apart as `kind` says. See [`parse`].
pub fn classify(link: LinkType, captured: &[u8], kind: KeyKind) -> Class {
    match parse(link, captured) {
        Ok(packet) => Class::Flow(kind.key(&packet.tuple)),
        Err(reason) => Class::NonFlow(reason),
    }
}

/// A packet's size in bytes from the two lengths of its capture record: the original length, but not less than what
/// was captured (some writers leave the original length zero) and at least 1, so that no packet is free of charge.
/// The link header counts as captured, also a pseudo-header such as Linux cooked.
#[inline]
pub fn wire_length(captured: usize, original: u32) -> u32 {
    original.max(u32::try_from(captured).unwrap_or(u32::MAX)).max(1)
}
