//! A network interface by packet sockets: a ring of received frames that the kernel fills, and batches of frames to
//! send.
//!
//! Works with every driver. Receiving costs no system call, sending one for up to [`BURST`] frames. (A socket with a
//! ring for sending would ignore batches; batches are as fast and tell what became of each frame.)
//!
//! What the kernel has taken out of a frame is put back: the vlan tag, and transport checksums that it left to the
//! network card (frames of this machine's own programs; counted as [`PacketPort::completed_checksums`]). Segments that
//! it left to the card to cut, or has merged, are counted as oversize, however short they are together: nobody would
//! cut them again. Offloads should be off (`ethtool -K DEV tso off gso off gro off tx-udp-segmentation off`).

mod ring;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{OwnedFd, RawFd};

use dovetail_units::{Duration, Time};
use dovetail_wire::LinkType;
use etherparse::checksum::Sum16BitWords;
use libc::c_int;

use super::error::OpenError;
use super::interface::{self, Claim, Interface, LinkState};
use super::sys::{self, Messages};
use super::{BURST, Port, PortCounters};
use crate::frame::{Frame, LONGEST, Pool};
use ring::{Ring, Slot};

/// After so many receipts of nothing in turn the socket is asked for a pending error, which else would keep it
/// readable for ever: an interface that goes down leaves one.
const ASK_AFTER: u32 = 32;
/// Bytes on their way in the driver before the socket says that it is full.
const SEND_BUFFER: c_int = 4 << 20;
/// A queue that has taken nothing for so long is taken for one that never will.
const PATIENCE: Duration = Duration::from_millis(100);
/// Destination and source address, which a vlan tag follows.
const ADDRESSES: usize = 12;

/// An Ethernet interface, all of whose frames are received and none of its own.
pub struct PacketPort {
    name: String,
    index: u32,
    _claim: Claim,
    rx: OwnedFd,
    ring: Ring,
    tx: OwnedFd,
    messages: Messages<BURST>,
    idle: u32,
    /// Whether the interface has gone down since the last frame came.
    went_down: bool,
    full_since: Option<Time>,
    counters: PortCounters,
    completed_checksums: u64,
}

impl PacketPort {
    /// Open the interface called `name` with a ring of at least `slots` received frames of 2 KiB. It is promiscuous
    /// for as long as the port lives.
    ///
    /// # Errors
    /// There is no such interface, it is not Ethernet, another port has it, or `CAP_NET_RAW` lacks.
    pub fn open(name: &str, slots: usize) -> Result<Self, OpenError> {
        let interface = Self::check(name)?;
        let socket = || sys::socket(libc::AF_PACKET, libc::SOCK_RAW);
        let refused = |source| OpenError::refused(name, "cannot open a packet socket", "CAP_NET_RAW", source);
        let (rx, tx) = (socket().map_err(refused)?, socket().map_err(refused)?);
        let failed = |what| move |source| OpenError::failed(name, what, source);
        let claim = Claim::new(&interface).map_err(|source| OpenError::claimed(name, source))?;
        let ring = Ring::new(&rx, slots).map_err(failed("cannot make a ring of received frames"))?;
        receive_all(&rx, &interface).map_err(failed("cannot receive from the interface"))?;
        // Without CAP_NET_ADMIN the system's limit holds.
        let _ = sys::set_option(&tx, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER)
            .or_else(|_| sys::set_option(&tx, libc::SOL_SOCKET, libc::SO_SNDBUF, &SEND_BUFFER));
        sys::bind(&tx, &interface.address(0)).map_err(failed("cannot send to the interface"))?;
        Ok(Self {
            name: name.to_owned(),
            index: interface.index,
            _claim: claim,
            rx,
            ring,
            tx,
            messages: Messages::new(),
            idle: 0,
            went_down: false,
            full_since: None,
            counters: PortCounters::default(),
            completed_checksums: 0,
        })
    }

    /// The interface called `name`, if it is fit for such a port.
    pub(super) fn check(name: &str) -> Result<Interface, OpenError> {
        let interface = interface::interface(name)?;
        if interface.ethernet {
            return Ok(interface);
        }
        let problem = format!("{name} is not an Ethernet interface");
        Err(OpenError::Unfit { text: format!("packet:{name}"), problem })
    }

    /// Received frames whose transport checksum the sender had left to the network card.
    pub fn completed_checksums(&self) -> u64 {
        self.completed_checksums
    }

    /// An interface that goes down leaves an error in the socket. One that has gone for good is the port's end: it goes
    /// down first, so that there is no other error when it is removed.
    fn clear_error(&mut self) -> io::Result<()> {
        self.went_down |= sys::option::<c_int>(&self.rx, libc::SOL_SOCKET, libc::SO_ERROR)? != 0;
        if self.went_down {
            interface::name(&self.tx, self.index).map_err(|source| self.gone(source))?;
        }
        Ok(())
    }

    fn gone(&self, source: io::Error) -> io::Error {
        io::Error::new(source.kind(), format!("interface {} is gone: {source}", self.name))
    }

    /// What becomes of the first frame, which the interface refused; `false` if it shall wait.
    fn refuse(
        &mut self,
        now: Time,
        error: &io::Error,
        frames: &mut VecDeque<Frame>,
        pool: &mut Pool,
    ) -> io::Result<bool> {
        let counters = &mut self.counters;
        let (all, why) = match error.raw_os_error() {
            Some(libc::EAGAIN | libc::ENOMEM) => return Ok(false),
            Some(libc::EINTR) => return Ok(true),
            // The interface's queue is full. A filter that drops what leaves says the same, for ever.
            Some(libc::ENOBUFS) => {
                let since = *self.full_since.get_or_insert(now);
                if now.since(since) < PATIENCE {
                    return Ok(false);
                }
                (true, Some(&mut counters.full))
            }
            Some(libc::ENETDOWN) => (true, Some(&mut counters.down)),
            Some(libc::ENXIO | libc::ENODEV) => return Err(self.gone(io::Error::from_raw_os_error(libc::ENODEV))),
            // The others may pass.
            Some(libc::EMSGSIZE) => (false, Some(&mut counters.too_long)),
            Some(libc::EINVAL) => (false, Some(&mut counters.short)),
            // Refused by a filter.
            _ => (false, None),
        };
        let count = if all { frames.len() } else { 1 };
        for frame in frames.drain(..count) {
            pool.give(frame);
        }
        why.into_iter().for_each(|why| *why += count as u64);
        self.counters.unsent += count as u64;
        self.full_since = None;
        Ok(true)
    }
}

impl Port for PacketPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn link(&self) -> LinkType {
        LinkType::ETHERNET
    }

    fn receive(&mut self, now: Time, pool: &mut Pool, frames: &mut Vec<Frame>) -> io::Result<()> {
        let mut count = 0;
        while count < BURST {
            let Some(slot) = self.ring.peek() else { break };
            if slot.segments || slot.len + slot.vlan.map_or(0, |tag| tag.len()) > LONGEST {
                self.counters.oversize += 1;
            } else {
                let mut frame = pool.take();
                self.completed_checksums += u64::from(take(&slot, now, &mut frame));
                frames.push(frame);
                self.counters.received += 1;
            }
            self.ring.release();
            count += 1;
        }
        if count > 0 {
            (self.idle, self.went_down) = (0, false);
            return Ok(());
        }
        self.idle += 1;
        if self.idle == ASK_AFTER {
            self.idle = 0;
            self.clear_error()?;
        }
        Ok(())
    }

    fn send(&mut self, now: Time, frames: &mut VecDeque<Frame>, pool: &mut Pool) -> io::Result<()> {
        while !frames.is_empty() {
            match self.messages.send(&self.tx, frames.iter().map(|frame| frame.data())) {
                Ok(sent) => {
                    for frame in frames.drain(..sent) {
                        pool.give(frame);
                    }
                    self.counters.sent += sent as u64;
                    self.full_since = None;
                }
                Err(error) => {
                    if !self.refuse(now, &error, frames, pool)? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn readable(&self) -> Option<RawFd> {
        Some(sys::raw(&self.rx))
    }

    fn counters(&mut self) -> PortCounters {
        // Reading resets them.
        if let Ok(new) = sys::option::<libc::tpacket_stats>(&self.rx, libc::SOL_PACKET, libc::PACKET_STATISTICS) {
            self.counters.missed += u64::from(new.tp_drops);
        }
        self.counters
    }

    fn link_state(&self) -> Option<LinkState> {
        LinkState::ask(&self.tx, self.index)
    }
}

/// Receive every frame that comes to the interface, whomever it is for, and none that leaves it.
fn receive_all(socket: &OwnedFd, interface: &Interface) -> io::Result<()> {
    sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
    let membership = libc::packet_mreq {
        mr_ifindex: interface.index as c_int,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
    sys::bind(socket, &interface.address(libc::ETH_P_ALL as u16))
}

/// Copy a received frame as it was on the link. Returns whether its checksum had to be completed.
fn take(slot: &Slot<'_>, now: Time, frame: &mut Frame) -> bool {
    let room = frame.room();
    let (front, back) = slot.data.split_at(if slot.vlan.is_some() { ADDRESSES.min(slot.data.len()) } else { 0 });
    let tag = slot.vlan.as_ref().map_or(&[][..], |tag| tag);
    let mut len = 0;
    for part in [front, tag, back] {
        room[len..len + part.len()].copy_from_slice(part);
        len += part.len();
    }
    let completed = slot.checksum.is_some_and(|(start, offset)| complete(&mut room[..len], start + tag.len(), offset));
    frame.set_received(now, len, LinkType::ETHERNET);
    completed
}

/// Compute the checksum of everything from `start` on and store it `offset` bytes behind `start`, where the sender has
/// left the sum of the pseudo header. Returns whether there is such a place.
fn complete(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(segment) = frame.get_mut(start..) else { return false };
    let sum = Sum16BitWords::new().add_slice(segment).to_ones_complement_with_no_zero();
    let Some(field) = segment.get_mut(offset..).and_then(|rest| rest.first_chunk_mut()) else { return false };
    // The library's sum is that of words as they lie in memory.
    *field = sum.to_ne_bytes();
    true
}
