//! What a router does with packets that are too long for the next link: cut them, or tell their senders (RFC 791, RFC
//! 792, RFC 1191, RFC 4443).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dovetail_units::{Duration, Time};
use dovetail_wire::{IpView, LinkType};
use etherparse::icmpv4::DestUnreachableHeader;
use etherparse::{Icmpv4Type, Icmpv6Type, IpHeaders, IpNumber, Ipv4Header, PacketBuilder};

use super::{Around, ModuleDrop};
use crate::frame::{Frame, LONGEST};

const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;

/// The longest answers, bytes, that every host takes: RFC 1812 section 4.3.2.3, RFC 4443 section 2.4.
const ANSWER_V4: usize = 576;
const ANSWER_V6: usize = 1280;

/// Headers of an answer: of IP and of ICMP.
const BEFORE_QUOTE_V4: usize = 28;
const BEFORE_QUOTE_V6: usize = 48;

/// TTL of answers.
const TTL: u8 = 64;

/// Answers per second, and how many may come at once: as the kernel's (icmp_msgs_per_sec, icmp_msgs_burst).
const SPACING: Duration = Duration::from_millis(1);
const BURST: u64 = 50;

/// Keeps answers to a rate (the generic cell rate algorithm).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limiter {
    due: Time,
}

impl Limiter {
    /// Whether another answer may be given now.
    pub fn allows(&mut self, now: Time) -> bool {
        let due = self.due.max(now);
        let allowed = due.since(now) < SPACING.saturating_mul(BURST);
        if allowed {
            self.due = due + SPACING;
        }
        allowed
    }
}

/// Who tells senders that a packet is too long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Router {
    /// To IPv4 senders.
    pub v4: Ipv4Addr,
    /// To IPv6 senders; without, the address that the packet was for.
    pub v6: Option<Ipv6Addr>,
}

impl Router {
    /// An answer to the packet at `at` of `frame`, that the next link takes `longest` bytes. `None` if there must be
    /// none (RFC 1812 section 4.3.2.7, RFC 4443 section
    /// 2.4): to a message of errors, to a fragment but the first, to many receivers or a sender that is not one host;
    /// or if it could not be sent back.
    pub fn answer(&self, around: &mut Around<'_>, frame: &Frame, at: usize, longest: usize) -> Option<Frame> {
        let packet = frame.data().get(at..)?;
        let ip = IpView::new(packet).ok()?;
        let packet = packet.get(..ip.total_len())?;
        let link = back(frame.link, frame.data().get(..at)?)?;
        if !may_be_answered(&ip) {
            return None;
        }
        let bytes = match (ip.source(), ip.destination()) {
            (IpAddr::V4(to), _) => self.tell_v4(to, packet, longest)?,
            (IpAddr::V6(to), IpAddr::V6(from)) => self.tell_v6(to, from, packet, longest)?,
            _ => return None,
        };
        let bytes = [link, bytes].concat();
        let mut answer = around.pool.take();
        answer.fill(around.now, &bytes, frame.link);
        Some(answer)
    }

    fn tell_v4(&self, to: Ipv4Addr, packet: &[u8], longest: usize) -> Option<Vec<u8>> {
        let next_hop_mtu = u16::try_from(longest).ok()?;
        let kind = Icmpv4Type::DestinationUnreachable(DestUnreachableHeader::FragmentationNeeded { next_hop_mtu });
        let ip = Ipv4Header::new(0, TTL, IpNumber::ICMP, self.v4.octets(), to.octets()).ok()?;
        let quote = &packet[..packet.len().min(ANSWER_V4 - BEFORE_QUOTE_V4)];
        let mut bytes = Vec::with_capacity(ANSWER_V4);
        PacketBuilder::ip(IpHeaders::Ipv4(ip, Default::default())).icmpv4(kind).write(&mut bytes, quote).ok()?;
        Some(bytes)
    }

    fn tell_v6(&self, to: Ipv6Addr, meant: Ipv6Addr, packet: &[u8], longest: usize) -> Option<Vec<u8>> {
        let from = self.v6.or_else(|| (!meant.is_multicast()).then_some(meant))?;
        let kind = Icmpv6Type::PacketTooBig { mtu: u32::try_from(longest).ok()? };
        let quote = &packet[..packet.len().min(ANSWER_V6 - BEFORE_QUOTE_V6)];
        let mut bytes = Vec::with_capacity(ANSWER_V6);
        PacketBuilder::ipv6(from.octets(), to.octets(), TTL).icmpv6(kind).write(&mut bytes, quote).ok()?;
        Some(bytes)
    }
}

fn may_be_answered(ip: &IpView<&[u8]>) -> bool {
    let one_host = match ip.source() {
        IpAddr::V4(source) => {
            !(source.is_unspecified() || source.is_multicast() || source.is_broadcast() || source.is_loopback())
        }
        IpAddr::V6(source) => !(source.is_unspecified() || source.is_multicast() || source.is_loopback()),
    };
    let one_receiver = match ip.destination() {
        IpAddr::V4(destination) => !(destination.is_multicast() || destination.is_broadcast()),
        // Path MTUs are found for groups as well.
        IpAddr::V6(_) => true,
    };
    let offset = ip.fragment().map_or(0, |fragment| fragment.offset);
    one_host && one_receiver && offset == 0 && !tells_of_an_error(ip)
}

/// Whether it is an ICMP message that is no question and no answer to one.
fn tells_of_an_error(ip: &IpView<&[u8]>) -> bool {
    let (protocol, place) = ip.fragment().map_or_else(
        || ip.transport().unwrap_or((ip.protocol(), 0..0)),
        |fragment| (fragment.protocol, fragment.payload),
    );
    let kind = ip.bytes().get(place).and_then(|bytes| bytes.first());
    match (protocol, ip.is_v6(), kind) {
        (ICMP, false, Some(kind)) => !matches!(kind, 0 | 8 | 13..=18 | 42 | 43),
        (ICMP_V6, true, Some(kind)) => *kind < 128 || *kind == 137,
        _ => false,
    }
}

/// The link header of an answer to a frame with this one; `None` for frames that cannot be answered.
fn back(link: LinkType, header: &[u8]) -> Option<Vec<u8>> {
    if header.is_empty() {
        return Some(Vec::new());
    }
    let to_many = header.first()? & 1 == 1;
    if link != LinkType::ETHERNET || to_many {
        return None;
    }
    let (addresses, rest) = header.split_at_checked(12)?;
    let (to, from) = addresses.split_at(6);
    Some([from, to, rest].concat())
}

/// Cut the IPv4 packet at `at` of `frame` into fragments of at most `longest` bytes (RFC 791 section 3.2); the later
/// ones follow in `frame.tail`.
///
/// # Errors
/// Its header checksum is wrong, which that of fragments would hide, or so little fits that nothing can be cut: it is
/// as it was.
pub(super) fn cut(around: &mut Around<'_>, frame: &mut Frame, at: usize, longest: usize) -> Result<(), ModuleDrop> {
    let ip = IpView::new(&frame.data()[at..])?;
    let (header, total) = (ip.header_len(), ip.total_len());
    if !ip.header_checksum_ok() {
        return Err(ModuleDrop("bad-header-checksum"));
    }
    let field = u16::from_be_bytes([ip.bytes()[6], ip.bytes()[7]]);
    let (first, more) = (usize::from(field & 0x1fff), field & 0x2000);
    let later = later_header(&frame.data()[at..at + header]);
    // What later headers lack would be room for a block more, which nobody needs.
    let part = longest.saturating_sub(header) & !7;
    if part == 0 || at + longest > LONGEST {
        return Err(ModuleDrop("esp-too-big"));
    }
    let mut pieces = Vec::with_capacity((total - header) / part);
    for start in (header + part..total).step_by(part) {
        let end = total.min(start + part);
        let mark = if end == total { more } else { 0x2000 } | (first + (start - header) / 8) as u16;
        let bytes = [&frame.data()[..at], &later, &frame.data()[at + start..at + end]].concat();
        let mut piece = around.pool.take();
        piece.fill(frame.received, &bytes, frame.link);
        finish(&mut piece, at, end - start + later.len(), mark);
        (piece.class, piece.flow) = (frame.class, frame.flow);
        (piece.congestion, piece.ecn_capable) = (frame.congestion, frame.ecn_capable);
        pieces.push(piece);
    }
    frame.truncate(at + header + part);
    finish(frame, at, header + part, 0x2000 | first as u16);
    let rest = frame.tail.take();
    frame.tail = pieces.into_iter().rev().fold(rest, |tail, mut piece| {
        piece.tail = tail;
        Some(piece)
    });
    Ok(())
}

/// A fragment's own length and place.
fn finish(frame: &mut Frame, at: usize, len: usize, mark: u16) {
    let packet = &mut frame.data_mut()[at..];
    packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    packet[6..8].copy_from_slice(&mark.to_be_bytes());
    if let Ok(mut ip) = IpView::new(packet) {
        ip.recompute_header_checksum();
    }
}

/// The header of later fragments, with those options only that say so.
fn later_header(header: &[u8]) -> Vec<u8> {
    let (fixed, mut options) = header.split_at(20);
    let mut later = fixed.to_vec();
    while let [kind, rest @ ..] = options {
        let len = match kind {
            0 => break,
            1 => 1,
            _ => usize::from(rest.first().copied().unwrap_or(0)),
        };
        // What does not end within the header is not copied.
        let Some(option) = options.get(..len).filter(|option| !option.is_empty()) else { break };
        if kind & 0x80 != 0 {
            later.extend(option);
        }
        options = &options[len..];
    }
    later.resize(later.len().next_multiple_of(4), 0);
    later[0] = 0x40 | (later.len() / 4) as u8;
    later
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_keep_to_their_rate_after_the_first_ones() {
        let mut limiter = Limiter::default();
        let at = |ms: u64| Time::from_nanos(1_000_000_000) + Duration::from_millis(ms);
        let given = |limiter: &mut Limiter, now| (0..200).filter(|_| limiter.allows(now)).count();
        assert_eq!(given(&mut limiter, at(0)), 50);
        assert_eq!(given(&mut limiter, at(3)), 3);
        assert_eq!(given(&mut limiter, at(10_000)), 50);
    }

    #[test]
    fn later_fragments_have_the_options_that_say_so() {
        let mut header = [[0x47; 1], [0; 1]].concat();
        header.resize(20, 0);
        // A security label (copied), no operation, and a route that is recorded (not copied).
        let label = [130, 4, 1, 2];
        assert_eq!(later_header(&[&header[..], &label, &[1, 7, 3, 0]].concat())[20..], label);
        assert_eq!(later_header(&[&header[..], &[7, 3, 0, 0, 0, 0, 0, 0]].concat()).len(), 20);
        // Options that cannot be.
        for wrong in [[130, 0, 0, 0], [130, 9, 0, 0], [130, 1, 130, 1]] {
            assert!(later_header(&[&header[..], &wrong].concat()).len() <= 24);
        }
    }
}
