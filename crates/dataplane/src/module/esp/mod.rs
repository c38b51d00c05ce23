//! IPsec ESP in tunnel mode over IPv4 (RFC 4303), with manual keys and 32-bit sequence numbers: AES-128-GCM (RFC 4106),
//! and AES-128-CBC (RFC 3602) with HMAC-SHA1-96 (RFC 2404), which is the papers' IPsec.
//!
//! The inner packet is IPv4 or IPv6 in an Ethernet frame, with VLAN tags or without, or bare. Its TTL is not touched:
//! taking off a hop is what `forward` is for. Packets that would exceed the tunnel's MTU are cut into fragments before
//! they are encrypted, where they may be; else they are dropped by name and their senders are told
//! how long a packet may be. TCP is told when a connection begins.

mod cipher;
mod decapsulate;
mod encapsulate;
mod fit;
mod sequence;
mod store;
mod window;

use dovetail_wire::LinkType;

pub use cipher::Transform;
pub use decapsulate::{Decapsulate, DecapsulateConfig};
pub use encapsulate::{Encapsulate, EncapsulateConfig};
pub use sequence::Sequence;
pub use store::StateError;

use super::ModuleDrop;

/// Length of an outer IPv4 header.
const OUTER: usize = 20;
/// SPI and sequence number.
const HEADER: usize = 8;
/// Pad length and next header.
const TRAILER: usize = 2;
/// Protocol number of ESP.
const ESP: u8 = 50;
/// Next header numbers of an inner packet.
const IPV4: u8 = 4;
const IPV6: u8 = 41;

/// Give the frame, whose link header is `header`, the EtherType of the IP packet that follows.
///
/// # Errors
/// The link header is one in which more than the EtherType would have to change.
fn set_ether_type(link: LinkType, header: &mut [u8], v6: bool) -> Result<(), ModuleDrop> {
    if header.is_empty() {
        return Ok(());
    }
    let unfit = ModuleDrop("link-header-unfit");
    if link != LinkType::ETHERNET {
        return Err(unfit);
    }
    // 802.1Q, 802.1ad and its predecessor.
    let mut at = 12;
    while matches!(header.get(at..at + 2), Some([0x81, 0] | [0x88, 0xa8] | [0x91, 0])) {
        at += 4;
    }
    match header.get_mut(at..) {
        Some(last @ ([0x08, 0x00] | [0x86, 0xdd])) => {
            last.copy_from_slice(if v6 { &[0x86, 0xdd] } else { &[0x08, 0x00] });
            Ok(())
        }
        _ => Err(unfit),
    }
}
