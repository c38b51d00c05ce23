//! The Internet checksum (RFC 1071), whole and by differences (RFC 1624).

use etherparse::checksum::Sum16BitWords;

/// The Internet checksum of `bytes`: the complement of the ones' complement sum of the 16-bit words, the last one
/// filled up with zero. Over bytes that hold their own checksum it is 0. O(length).
pub fn checksum(bytes: &[u8]) -> u16 {
    u16::from_be(Sum16BitWords::new().add_slice(bytes).ones_complement())
}

/// The checksum that was `checksum` after one of the 16-bit words below it changed from `old` to `new`: RFC 1624,
/// equation 3. A wrong checksum stays wrong. O(1).
pub const fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = !checksum as u32 + !old as u32 + new as u32;
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// As [`checksum`], over `bytes` behind the pseudo-header of TCP, UDP and ICMPv6 (RFC 9293 section 3.1, RFC 8200
/// section 8.1): both addresses, the protocol and the length.
pub(crate) fn with_pseudo_header(addresses: &[u8], protocol: u8, bytes: &[u8]) -> u16 {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes();
    let mut sum = Sum16BitWords::new().add_2bytes([0, protocol]);
    sum = sum.add_4bytes(length).add_slice(addresses).add_slice(bytes);
    u16::from_be(sum.ones_complement())
}
