//! The ring of received frames that the kernel shares with a packet socket (`TPACKET_V2`,
//! Documentation/networking/packet_mmap.rst).

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{tpacket_req, tpacket2_hdr};

use crate::frame::LONGEST;
use crate::port::sys::{self, Mapping};

/// Bytes of a slot: the longest frame, the headers before it, and a power of two.
const SLOT: usize = 2048;
/// Bytes of memory in one piece that the kernel is asked for.
const BLOCK: usize = 64 << 10;
/// Bytes of `struct virtio_net_hdr`, which comes directly before the frame.
const OFFLOAD: usize = 10;
/// Where in that the kind of segments stands, 0 for none, and what it may have besides: the first one has CWR set.
const GSO_TYPE: usize = 1;
const ECN: u8 = 0x80;
/// What the kernel puts between the slot's start and the frame: the header, an address, alignment, the offload header.
const BEFORE: usize = libc::TPACKET2_HDRLEN + 16 + 16 + OFFLOAD;
const _: () = assert!(LONGEST + BEFORE <= SLOT && BLOCK.is_multiple_of(SLOT));

/// Slots shared with the kernel. The kernel fills them in turn, and skips none.
pub struct Ring {
    map: Mapping,
    slots: usize,
    next: usize,
}

/// A received frame where the kernel put it.
pub struct Slot<'a> {
    /// Its bytes, without the vlan tag.
    pub data: &'a [u8],
    /// Its length on the link, without the vlan tag; larger than that of `data` if it did not fit.
    pub len: usize,
    /// The vlan tag that the kernel took out.
    pub vlan: Option<[u8; 4]>,
    /// It is several segments in one: the sender left cutting them to the network card, or they were merged since.
    pub segments: bool,
    /// Where the transport checksum is still to be computed from and, from there, stored.
    pub checksum: Option<(usize, usize)>,
}

impl Ring {
    /// A ring of at least `slots` slots on a packet socket that is not bound yet.
    pub fn new(socket: &OwnedFd, slots: usize) -> io::Result<Self> {
        const PER_BLOCK: usize = BLOCK / SLOT;
        let blocks = slots.div_ceil(PER_BLOCK).max(1);
        let slots = blocks * PER_BLOCK;
        let int = |value: usize| u32::try_from(value).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL));
        let request = tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: int(blocks)?,
            tp_frame_size: SLOT as u32,
            tp_frame_nr: int(slots)?,
        };
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
        sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        Ok(Self { map: Mapping::new(socket, slots * SLOT, 0)?, slots, next: 0 })
    }

    /// The next received frame; it stays until [`release`](Self::release).
    pub fn peek(&self) -> Option<Slot<'_>> {
        let status = self.status().load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: `next` is below `slots`, so that the slot is in the mapping. A slot with the user's status is not
        // written by the kernel before `release`, which needs this ring mutably, so that `Slot` has ended. The header
        // is plain and the slots are aligned for it.
        #[allow(unsafe_code)]
        let (header, slot) = unsafe {
            let start = self.map.start().add(self.next * SLOT);
            (*start.cast::<tpacket2_hdr>(), std::slice::from_raw_parts(start, SLOT))
        };
        let start = usize::from(header.tp_mac);
        let data = &slot[start..start + header.tp_snaplen as usize];
        let is = |flag| status & flag != 0;
        let offload = &slot[start - OFFLOAD..start];
        Some(Slot {
            data,
            len: header.tp_len as usize,
            segments: offload[GSO_TYPE] & !ECN != 0,
            vlan: is(libc::TP_STATUS_VLAN_VALID).then(|| {
                let named = is(libc::TP_STATUS_VLAN_TPID_VALID);
                let protocol = if named { header.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
                let [a, b] = protocol.to_be_bytes();
                let [c, d] = header.tp_vlan_tci.to_be_bytes();
                [a, b, c, d]
            }),
            // The fields `csum_start` and `csum_offset`, in the machine's byte order.
            checksum: is(libc::TP_STATUS_CSUMNOTREADY).then(|| {
                let field = |at: usize| usize::from(u16::from_ne_bytes([offload[at], offload[at + 1]]));
                (field(6), field(8))
            }),
        })
    }

    /// Give the slot of the last [`peek`](Self::peek) back to the kernel.
    pub fn release(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = if self.next + 1 == self.slots { 0 } else { self.next + 1 };
    }

    /// The next slot's status, by which kernel and user hand it to one another.
    fn status(&self) -> &AtomicU32 {
        // SAFETY: `next` is below `slots`, so that the slot is in the mapping; slots are aligned for the header, whose
        // first field is the status, and this is how both sides access it.
        #[allow(unsafe_code)]
        unsafe {
            AtomicU32::from_ptr(self.map.start().add(self.next * SLOT).cast())
        }
    }
}
