//! A network interface by an AF_XDP socket: frames come and go by rings in memory shared with the kernel.
//!
//! Without copies where the driver can (`native zero-copy`); else the driver copies each frame once, before the kernel
//! has made a packet of its own of it (native mode); else the kernel does so behind every driver (generic mode).
//! While the port lives, frames of the interface do not reach the kernel's own stack, nor tcpdump.
//!
//! Only one receive queue of the interface can be heard by one socket, so the interface must have one
//! (`ethtool -L DEV combined 1`).

mod bpf;
mod ring;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::time::Duration;

use dovetail_units::Time;
use dovetail_wire::LinkType;
use libc::{c_int, xdp_desc, xdp_mmap_offsets, xdp_statistics, xdp_umem_reg};

use super::interface::{self, Claim, Interface, LinkState};
use super::sys::{self, Mapping};
use super::{BURST, OpenError, Port, PortCounters};
use crate::frame::{BUFFER, Frame, LONGEST, Pool};
use bpf::{Place, Program};
use ring::{Consumer, Producer};

/// Bytes of memory for one frame.
const CHUNK: usize = 2048;
const _: () = assert!(BUFFER <= CHUNK);
/// Bytes that the kernel keeps free before a received frame (`XDP_PACKET_HEADROOM`).
const KEPT_FREE: usize = 256;
/// The longest frame is so much longer than the MTU: Ethernet header and vlan tag.
const HEADERS: usize = 18;
/// Frames that may be on their way out.
const SENDING: u32 = 1024;
/// An interface or memory whose last user has just gone may not be free for a moment: how often, and after which pause,
/// to try again.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);
const CAPABILITIES: &str = "CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF";
/// As for packet sockets: after so many receipts of nothing a pending error is asked for.
const ASK_AFTER: u32 = 32;

/// How frames come to the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The network card reads and writes the port's memory.
    ZeroCopy,
    /// The driver copies each received frame.
    Native,
    /// The kernel copies each received frame.
    Generic,
}

/// An Ethernet interface, all of whose frames are received. Fields are dropped in this order: the program goes first.
pub struct XdpPort {
    name: String,
    index: u32,
    mode: Mode,
    _claim: Claim,
    _program: Program,
    socket: OwnedFd,
    /// Asks the kernel about the interface.
    asks: OwnedFd,
    fill: Producer<u64>,
    rx: Consumer<xdp_desc>,
    tx: Producer<xdp_desc>,
    completed: Consumer<u64>,
    memory: Memory,
    /// Chunks for frames to send.
    free: Vec<u64>,
    down: bool,
    idle: u32,
    counters: PortCounters,
}

impl XdpPort {
    /// Open the interface called `name`, with memory for `slots` received frames, rounded up to a power of two.
    ///
    /// # Errors
    /// There is no such interface, it is not Ethernet, has jumbo frames, several receive queues or another program of
    /// this kind, `CAP_NET_RAW`, `CAP_NET_ADMIN` or `CAP_BPF` lacks, or too little memory may be locked.
    pub fn open(name: &str, slots: usize) -> Result<Self, OpenError> {
        let interface = Self::check(name)?;
        let slots = u32::try_from(slots.next_power_of_two()).unwrap_or(u32::MAX);
        let claim = patiently(|| Claim::new(&interface));
        let claim = claim.map_err(|source| match source.kind() {
            io::ErrorKind::PermissionDenied => {
                OpenError::refused(name, "cannot open an XDP socket", CAPABILITIES, source)
            }
            _ => OpenError::claimed(name, source),
        })?;
        let attempt = |mode| Self::try_open(&interface, claim.clone(), slots, mode);
        // Another mode mends neither an interface that somebody else has, nor a lack of memory or permission.
        let is_final = |error: &io::Error| may_pass(error) || error.kind() == io::ErrorKind::PermissionDenied;
        let or = |error, mode| if is_final(&error) { Err(error) } else { attempt(mode) };
        let opened = attempt(Mode::ZeroCopy).or_else(|error| or(error, Mode::Native));
        opened.or_else(|error| or(error, Mode::Generic)).map_err(|source| {
            if is_busy(&source) {
                OpenError::failed(name, "another XDP program or socket has it (`ip link show` tells)", source)
            } else if source.raw_os_error() == Some(libc::ENOBUFS) {
                OpenError::failed(name, "cannot lock memory for frames: raise `ulimit -l`", source)
            } else {
                OpenError::refused(name, "cannot open an XDP socket", CAPABILITIES, source)
            }
        })
    }

    /// The interface called `name`, if it is fit for such a port.
    pub(super) fn check(name: &str) -> Result<Interface, OpenError> {
        let interface = interface::interface(name)?;
        let wrong = |problem: String| OpenError::Unfit { text: format!("xdp:{name}"), problem };
        if !interface.ethernet {
            return Err(wrong(format!("{name} is not an Ethernet interface")));
        }
        const LONGEST_MTU: usize = CHUNK - KEPT_FREE - HEADERS;
        if interface.mtu as usize > LONGEST_MTU {
            let remedy = format!("`ip link set {name} mtu {LONGEST_MTU}` or less helps");
            return Err(wrong(format!("an MTU of {} is more than a frame's memory holds; {remedy}", interface.mtu)));
        }
        let queues = interface::control_socket().and_then(|socket| sys::receive_queues(&socket, name)).unwrap_or(1);
        if queues > 1 {
            let remedy = format!("`ethtool -L {name} combined 1` makes it one");
            return Err(wrong(format!(
                "{name} has {queues} receive queues, of which only one would be heard; {remedy}"
            )));
        }
        Ok(interface)
    }

    /// By whom frames are copied.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    fn try_open(interface: &Interface, claim: Claim, slots: u32, mode: Mode) -> io::Result<Self> {
        let (place, copies) = match mode {
            Mode::ZeroCopy => (Place::Driver, libc::XDP_ZEROCOPY),
            Mode::Native => (Place::Driver, libc::XDP_COPY),
            Mode::Generic => (Place::Generic, libc::XDP_COPY),
        };
        let socket = sys::socket(libc::AF_XDP, libc::SOCK_RAW)?;
        let memory = patiently(|| Memory::new(&socket, slots + SENDING))?;
        let at: xdp_mmap_offsets = sys::option(&socket, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS)?;
        let (fill_page, completed_page) =
            (libc::XDP_UMEM_PGOFF_FILL_RING as i64, libc::XDP_UMEM_PGOFF_COMPLETION_RING as i64);
        let mut fill = Producer::new(&socket, libc::XDP_UMEM_FILL_RING, slots, at.fr, fill_page)?;
        let completed = Consumer::new(&socket, libc::XDP_UMEM_COMPLETION_RING, SENDING, at.cr, completed_page)?;
        let rx = Consumer::new(&socket, libc::XDP_RX_RING, slots, at.rx, libc::XDP_PGOFF_RX_RING)?;
        let tx = Producer::new(&socket, libc::XDP_TX_RING, SENDING, at.tx, libc::XDP_PGOFF_TX_RING)?;
        let address = |chunk: u32| u64::from(chunk) * CHUNK as u64;
        (0..slots).for_each(|chunk| fill.push(address(chunk)));
        fill.publish();
        let flags = copies | libc::XDP_USE_NEED_WAKEUP;
        // The program first: some drivers set up what a socket needs only then.
        let program = patiently(|| Program::attach(interface.index, place, &socket))?;
        patiently(|| sys::bind(&socket, &queue(interface, flags)))?;
        Ok(Self {
            name: interface.name.clone(),
            index: interface.index,
            mode,
            _claim: claim,
            _program: program,
            socket,
            asks: interface::control_socket()?,
            fill,
            rx,
            tx,
            completed,
            memory,
            free: (slots..slots + SENDING).map(address).collect(),
            down: false,
            idle: 0,
            counters: PortCounters::default(),
        })
    }

    /// Take back the memory of frames that have gone.
    fn reclaim(&mut self) {
        let count = self.completed.available();
        (0..count).for_each(|_| self.free.push(self.completed.pop()));
        self.completed.release();
    }

    /// Put frames into the ring while there is room.
    fn submit(&mut self, frames: &mut VecDeque<Frame>, pool: &mut Pool) {
        self.reclaim();
        while let Some(frame) = frames.pop_front() {
            // There are as many chunks as places, so that one with a chunk has a place.
            if let Some(chunk) = self.free.pop() {
                self.memory.write(chunk, frame.data());
                self.tx.push(xdp_desc { addr: chunk, len: frame.len() as u32, options: 0 });
                self.counters.sent += 1;
            } else {
                frames.push_front(frame);
                break;
            }
            pool.give(frame);
        }
        self.tx.publish();
    }

    /// Make the kernel send what is in the ring, as far as it goes. `false` if the interface is down.
    fn push_out(&mut self) -> io::Result<bool> {
        while self.tx.needs_call() && self.tx.waiting() > 0 {
            let before = self.tx.waiting();
            let result = sys::send_nothing(&self.socket);
            match pushed(result, self.tx.waiting() < before) {
                Pushed::Some => {}
                Pushed::Refused => {
                    self.counters.sent -= 1;
                    self.counters.unsent += 1;
                }
                Pushed::Nothing => break,
                Pushed::Down => return Ok(false),
                Pushed::Gone(error) => {
                    return Err(io::Error::new(error.kind(), format!("interface {} is gone: {error}", self.name)));
                }
            }
        }
        Ok(true)
    }
}

/// What came of a call that was to make the kernel send.
#[derive(Debug)]
enum Pushed {
    /// Frames went, and more may.
    Some,
    /// The last frame that was taken was dropped by the driver, or is no frame to it; more may go.
    Refused,
    /// No more go now.
    Nothing,
    /// The interface is down.
    Down,
    /// The interface is of no use any more.
    Gone(io::Error),
}

/// From the answer of the kernel, and whether frames were taken out of the ring.
fn pushed(result: io::Result<()>, taken: bool) -> Pushed {
    let Err(error) = result else {
        // In zero-copy mode the call only wakes the driver, which takes what the card has room for: without a carrier
        // nothing, for ever.
        return if taken { Pushed::Some } else { Pushed::Nothing };
    };
    match error.raw_os_error() {
        Some(libc::EAGAIN) if taken => Pushed::Some,
        Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => Pushed::Nothing,
        Some(libc::ENETDOWN) => Pushed::Down,
        _ if taken => Pushed::Refused,
        Some(libc::EBUSY) => Pushed::Nothing,
        _ => Pushed::Gone(error),
    }
}

impl Port for XdpPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn link(&self) -> LinkType {
        LinkType::ETHERNET
    }

    fn receive(&mut self, now: Time, pool: &mut Pool, frames: &mut Vec<Frame>) -> io::Result<()> {
        let count = self.rx.available().min(BURST as u32);
        for _ in 0..count {
            let received = self.rx.pop();
            let data = self.memory.read(received.addr, received.len as usize);
            if data.len() > LONGEST {
                self.counters.oversize += 1;
            } else {
                let mut frame = pool.take();
                frame.fill(now, data, LinkType::ETHERNET);
                frames.push(frame);
                self.counters.received += 1;
            }
            self.fill.push(received.addr / CHUNK as u64 * CHUNK as u64);
        }
        if count > 0 {
            self.rx.release();
            self.fill.publish();
            self.idle = 0;
            return Ok(());
        }
        self.idle += 1;
        if self.idle == ASK_AFTER {
            self.idle = 0;
            if sys::option::<c_int>(&self.socket, libc::SOL_SOCKET, libc::SO_ERROR)? != 0 {
                let gone = |error| {
                    io::Error::new(io::ErrorKind::NotFound, format!("interface {} is gone: {error}", self.name))
                };
                interface::name(&self.asks, self.index).map_err(gone)?;
            }
        }
        if self.fill.needs_call() {
            // Only to wake the driver: there is nothing to be learned from it.
            let _ = sys::receive_nothing(&self.socket);
        }
        Ok(())
    }

    fn send(&mut self, _now: Time, frames: &mut VecDeque<Frame>, pool: &mut Pool) -> io::Result<()> {
        // What is in the ring while the interface is down waits for it; nothing is added.
        self.down = self.down && !self.push_out()?;
        while !frames.is_empty() && !self.down {
            let before = frames.len();
            self.submit(frames, pool);
            self.down = !self.push_out()?;
            if frames.len() == before {
                break;
            }
        }
        if self.down {
            self.counters.unsent += frames.len() as u64;
            self.counters.down += frames.len() as u64;
            frames.drain(..).for_each(|frame| pool.give(frame));
        }
        Ok(())
    }

    fn readable(&self) -> Option<RawFd> {
        Some(sys::raw(&self.socket))
    }

    /// Frames that a network card dropped because there was no memory to put them into are counted by its driver alone.
    fn counters(&mut self) -> PortCounters {
        if let Ok(all) = sys::option::<xdp_statistics>(&self.socket, libc::SOL_XDP, libc::XDP_STATISTICS) {
            self.counters.missed = all.rx_dropped + all.rx_ring_full;
        }
        self.counters
    }

    fn link_state(&self) -> Option<LinkState> {
        LinkState::ask(&self.asks, self.index)
    }
}

/// Queue 0 of the interface.
fn queue(interface: &Interface, flags: u16) -> libc::sockaddr_xdp {
    libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: flags,
        sxdp_ifindex: interface.index,
        sxdp_queue_id: 0,
        sxdp_shared_umem_fd: 0,
    }
}

/// The interface still has another socket's queue, or another program in this place or the other one, or another port.
fn is_busy(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EEXIST))
}

/// Busy, or too little memory to lock: that of a socket that was just closed still counts for a moment.
fn may_pass(error: &io::Error) -> bool {
    is_busy(error) || error.raw_os_error() == Some(libc::ENOBUFS)
}

/// Tries again for a while what may pass.
fn patiently<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..TRIES {
        match attempt() {
            Err(error) if may_pass(&error) => {
                #[allow(clippy::disallowed_methods, reason = "waits for the kernel, before anything is scheduled")]
                std::thread::sleep(PAUSE);
            }
            result => return result,
        }
    }
    attempt()
}

/// Memory for frames, shared with the kernel, in chunks each of which belongs to one side at a time.
struct Memory {
    map: Mapping,
    len: usize,
}

impl Memory {
    /// Memory of so many chunks for a new socket.
    fn new(socket: &OwnedFd, chunks: u32) -> io::Result<Self> {
        let len = chunks as usize * CHUNK;
        let map = Mapping::anonymous(len)?;
        let request = xdp_umem_reg {
            addr: map.start().expose_provenance() as u64,
            len: len as u64,
            chunk_size: CHUNK as u32,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        sys::set_option(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &request)?;
        Ok(Self { map, len })
    }

    /// A received frame in a chunk that has not been given back.
    fn read(&self, address: u64, len: usize) -> &[u8] {
        let address = address as usize;
        assert!(address % CHUNK + len <= CHUNK && address + len <= self.len);
        // SAFETY: in the mapping; the chunk came out of the ring of received frames, and nobody writes to it before it
        // is put into the fill ring, which `receive` does after its last use of this slice.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.map.start().add(address), len)
        }
    }

    /// Fill a free chunk.
    fn write(&mut self, address: u64, data: &[u8]) {
        let address = address as usize;
        assert!(address % CHUNK + data.len() <= CHUNK && address + data.len() <= self.len);
        // SAFETY: in the mapping; a chunk of `free` is neither the kernel's nor anybody's slice.
        #[allow(unsafe_code)]
        unsafe {
            std::ptr::copy_nonoverlapping(data.as_ptr(), self.map.start().add(address), data.len());
        }
    }
}
