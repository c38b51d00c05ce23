//! Redundancy elimination between two boxes (Spring and Wetherall 2000; Anand et al. 2008): bytes that went by lately
//! are replaced by where they stand in a packet that both boxes remember.
//!
//! Both ends keep of the last packets what was sent as it is: whole IP payloads, or what stood between references. The
//! encoder samples fingerprints of 64-byte windows (a gear hash), finds windows that it has seen, widens each match to
//! both sides, and sends references in place of the bytes. What is remembered is named by the hash of its content, not
//! by a number, so the two ends need not count alike: after loss or reordering a reference either finds the very bytes
//! or finds nothing, which is a drop by name. Senders can make two packets with the same hash, so what was restored is
//! checked by a hash whose seed they do not know.
//!
//! Loss stays bounded. Where references may lead to bytes that were references themselves, one lost packet takes with
//! it all later ones that repeat its bytes (Le, Srivatsa and Iyengar 2012). Nobody here tells the encoder what is
//! missing, so:
//!
//! * A reference leads to bytes that went over the link in one packet, never to another reference.
//! * At most eight packets refer to the same packet. After that its bytes are sent again.
//! * What TCP sends again is never encoded.
//!
//! So of packets that are lost, or come behind later ones, each takes at most eight others with it, and eight packets
//! in nine of what repeats for ever are saved. With a decoder that starts late the same holds of each packet that the
//! encoder remembers. The decoder must remember no less than the encoder, and more where packets come twice.
//!
//! ## Format
//! An encoded packet has IP protocol 253 (for experiments, RFC 3692) and this in place of its payload; a decoder passes
//! all others on. Fragments and what is shorter than 96 bytes are neither encoded nor remembered.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | the protocol (next header) that was there |
//! | 1 | number of references |
//! | 2 | length of the payload |
//! | 4 | seed: drawn by the encoder when it starts |
//! | 4 | lower half of the payload's hash (XXH3, 64 bits) with that seed |
//! | 14 each | reference: hash of the remembered bytes (8), where in them (2), where in this payload (2), length (2) |
//! | the rest | the bytes between the references, in order |

mod decoder;
mod encoder;
mod store;

pub use decoder::{Decoder, DecoderConfig};
pub use encoder::{Encoder, EncoderConfig};

use dovetail_wire::IpView;
use twox_hash::XxHash3_64;

use super::ModuleError;
use crate::frame::LONGEST;

/// Protocol number of encoded packets.
const ENCODED: u8 = 253;
/// Bytes of a fingerprint's window, given by a gear hash of 64 bits.
const WINDOW: usize = 64;
/// The least that is remembered, and the shortest payload that is encoded: a window, and what a reference to it costs.
const SHORTEST: usize = 96;
/// The most that is remembered of a packet.
const LONGEST_PAYLOAD: usize = LONGEST;
/// The first five fields of the format.
const SHIM: usize = 12;
/// Bytes of a reference.
const REFERENCE: usize = 14;
/// The most references of a packet.
const REFERENCES: usize = 16;

/// By which the decoder knows the payload again, whoever made it.
fn check(seed: u32, payload: &[u8]) -> u32 {
    XxHash3_64::oneshot_with_seed(seed.into(), payload) as u32
}

/// Whether both ends remember this when it is sent as it is.
fn is_remembered(sent: &[u8]) -> bool {
    (SHORTEST..=LONGEST_PAYLOAD).contains(&sent.len())
}

/// Which remembered bytes stand where.
#[derive(Clone, Copy, Default, Debug)]
struct Reference {
    key: u64,
    from: u16,
    to: u16,
    len: u16,
}

impl Reference {
    fn write(self, out: &mut [u8; REFERENCE]) {
        out[..8].copy_from_slice(&self.key.to_be_bytes());
        out[8..10].copy_from_slice(&self.from.to_be_bytes());
        out[10..12].copy_from_slice(&self.to.to_be_bytes());
        out[12..].copy_from_slice(&self.len.to_be_bytes());
    }

    fn read(&[k0, k1, k2, k3, k4, k5, k6, k7, f0, f1, t0, t1, l0, l1]: &[u8; REFERENCE]) -> Self {
        Self {
            key: u64::from_be_bytes([k0, k1, k2, k3, k4, k5, k6, k7]),
            from: u16::from_be_bytes([f0, f1]),
            to: u16::from_be_bytes([t0, t1]),
            len: u16::from_be_bytes([l0, l1]),
        }
    }
}

/// That the system grants memory for `count` values. To be asked before they are made, since nobody could say it then.
fn granted<T>(count: usize) -> Result<(), ModuleError> {
    Vec::<T>::new().try_reserve_exact(count).map_err(|_| no_memory())
}

fn no_memory() -> ModuleError {
    ModuleError::new("packets", "the system grants no memory for so many")
}

/// Set protocol (next header) and length of the IP packet that begins with `packet`.
fn set_header(packet: &mut [u8], protocol: u8, payload: usize) {
    let Ok(ip) = IpView::new(&mut *packet) else { return };
    let (v6, header) = (ip.is_v6(), ip.header_len());
    if v6 {
        packet[4..6].copy_from_slice(&(payload as u16).to_be_bytes());
        packet[6] = protocol;
    } else {
        packet[2..4].copy_from_slice(&((header + payload) as u16).to_be_bytes());
        packet[9] = protocol;
        if let Ok(mut ip) = IpView::new(packet) {
            ip.recompute_header_checksum();
        }
    }
}
