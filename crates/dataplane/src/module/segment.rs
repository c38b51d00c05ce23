//! TCP's largest segments (RFC 9293 section 3.7.1), made to fit.

use dovetail_wire::{IpView, updated};

const TCP: u8 = 6;
/// Length of a TCP header without options.
const HEADER: usize = 20;
/// Where the flags and the checksum are.
const FLAGS: usize = 13;
const CHECKSUM: usize = 16;
const SYN: u8 = 2;

/// Where in the packet the TCP header of a connection's first segments begins and ends; `None` of any other packet.
fn opening(packet: &[u8]) -> Option<(usize, usize)> {
    let ip = IpView::new(packet).ok()?;
    let (TCP, place) = ip.transport()? else { return None };
    let header = packet.get(place.clone())?.first_chunk::<HEADER>()?;
    let end = place.start + usize::from(header[12] >> 4) * 4;
    (header[FLAGS] & SYN != 0 && (place.start + HEADER..=place.end).contains(&end)).then_some((place.start, end))
}

/// Whether the packet begins a TCP connection, either way.
pub(crate) fn opens(packet: &[u8]) -> bool {
    opening(packet).is_some()
}

/// Make the largest segment that this packet allows one that fits into packets of `longest` bytes, if it begins a TCP
/// connection and allows larger ones. Its checksum stays
/// as right as it was. Whether anything has changed.
pub(super) fn clamp(packet: &mut [u8], longest: usize) -> bool {
    let Some((start, end)) = opening(packet) else { return false };
    let most = longest.saturating_sub(start + HEADER).clamp(1, 65_535) as u16;
    let Some(at) = largest(&packet[start + HEADER..end]).map(|at| HEADER + at) else { return false };
    let tcp = &mut packet[start..];
    if u16::from_be_bytes([tcp[at], tcp[at + 1]]) <= most {
        return false;
    }
    let [high, low] = most.to_be_bytes();
    [(at, high), (at + 1, low)].into_iter().for_each(|(at, byte)| set(tcp, at, byte));
    true
}

/// Where the value of the option is, within all options.
fn largest(options: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match *options.get(at..)? {
            [2, 4, _, _, ..] => return Some(at + 2),
            [1, ..] => at += 1,
            [kind, len, ..] if kind != 0 && len >= 2 => at += usize::from(len),
            _ => return None,
        }
    }
}

/// Change a byte of a segment, wherever it is, and the checksum with it.
fn set(tcp: &mut [u8], at: usize, byte: u8) {
    let word = |tcp: &[u8], at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
    let even = at & !1;
    let (sum, old) = (word(tcp, CHECKSUM), word(tcp, even));
    tcp[at] = byte;
    let sum = updated(sum, old, word(tcp, even));
    tcp[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
}
