//! The network interfaces of this network namespace.

use std::ffi::c_int;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::OpenError;
use super::sys::{self, InterfaceRequest, Request};

/// A network interface as it is at the moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// The kernel's number of it.
    pub index: u32,
    /// Whether it was set up by its owner.
    pub up: bool,
    /// Whether there is somebody at the other end of the cable.
    pub carrier: bool,
    /// The longest payload of a frame, bytes.
    pub mtu: u32,
    /// Whether its frames are Ethernet frames.
    pub ethernet: bool,
}

/// Whether an interface carries frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkState {
    /// It does.
    Up,
    /// Its owner has set it up, but nobody is at the other end of the cable.
    NoCarrier,
    /// Its owner has taken it down.
    Down,
    /// There is no such interface any more.
    Gone,
}

impl LinkState {
    fn of(flags: u16) -> Self {
        match (flags & libc::IFF_UP as u16 != 0, flags & libc::IFF_RUNNING as u16 != 0) {
            (false, _) => Self::Down,
            (true, false) => Self::NoCarrier,
            (true, true) => Self::Up,
        }
    }

    /// Of the interface of that index, whatever it is called by now; `socket` is any of its network namespace but one
    /// of AF_XDP. `None` if the kernel does not say.
    pub(super) fn ask(socket: &OwnedFd, index: u32) -> Option<Self> {
        let is_gone = |error: &io::Error| error.raw_os_error() == Some(libc::ENODEV);
        loop {
            let mut request = match by_index(socket, index) {
                Ok(request) => request,
                Err(error) => return is_gone(&error).then_some(Self::Gone),
            };
            match request.ask(socket, Request::Flags) {
                Ok(()) => return Some(Self::of(request.short())),
                // It was renamed in between.
                Err(error) if is_gone(&error) => {}
                Err(_) => return None,
            }
        }
    }
}

/// What one port of an interface has at a time: of two, both would forward every frame. It is a packet socket that
/// hears nothing. Only who has `CAP_NET_RAW` in the network namespace can have one, the kernel lists them all, and it
/// goes with the port, however the process ends.
#[derive(Clone)]
pub(super) struct Claim {
    _socket: Arc<OwnedFd>,
}

/// What a claim would hear. No frame has this type: as a number in its place it is a length.
const CLAIM: u16 = 0x05d0;

/// The kernel's table of packet sockets of the calling thread's network namespace.
const SOCKETS: &str = "/proc/thread-self/net/packet";

impl Claim {
    /// Of two that are made in the same moment, both may fail.
    ///
    /// # Errors
    /// `EBUSY` if another port has the interface, or `CAP_NET_RAW` lacks.
    pub fn new(interface: &Interface) -> io::Result<Self> {
        let socket = sys::socket(libc::AF_PACKET, libc::SOCK_RAW)?;
        sys::bind(&socket, &interface.address(CLAIM))?;
        match claims(&fs::read_to_string(SOCKETS)?, interface.index) {
            1 => Ok(Self { _socket: Arc::new(socket) }),
            _ => Err(io::Error::from_raw_os_error(libc::EBUSY)),
        }
    }
}

/// In the table, how many claims there are of an interface. After one line of headings each socket has one: address,
/// references, type, protocol in hexadecimal, index of the interface, and more.
fn claims(table: &str, index: u32) -> usize {
    let is_claim = |line: &&str| {
        let mut words = line.split_whitespace().skip(3);
        let protocol = words.next().and_then(|protocol| u16::from_str_radix(protocol, 16).ok());
        protocol == Some(CLAIM) && words.next().and_then(|index| index.parse().ok()) == Some(index)
    };
    table.lines().skip(1).filter(is_claim).count()
}

impl Interface {
    /// The interface as a packet socket's address, and what is to be received from it: 0 for nothing.
    pub(super) fn address(&self, protocol: u16) -> libc::sockaddr_ll {
        libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: protocol.to_be(),
            sll_ifindex: self.index as c_int,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        }
    }
}

/// All interfaces of the calling thread's network namespace, in the kernel's order.
///
/// # Errors
/// `/proc` is not readable.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let socket = control_socket()?;
    let names = names()?;
    // One may have gone in between.
    Ok(names.iter().filter_map(|name| describe(&socket, name).ok()).collect())
}

/// The interface called `name`.
///
/// # Errors
/// There is none of that name; the error says which is like it.
pub fn interface(name: &str) -> Result<Interface, OpenError> {
    let found = control_socket().and_then(|socket| describe(&socket, name));
    found.map_err(|source| match source.raw_os_error() {
        Some(libc::ENODEV) => OpenError::no_interface(name, &names().unwrap_or_default()),
        _ => OpenError::failed(name, "cannot ask for the interface", source),
    })
}

/// A socket that can be asked about interfaces, as all can but those of AF_XDP.
pub(super) fn control_socket() -> io::Result<OwnedFd> {
    sys::socket(libc::AF_UNIX, libc::SOCK_DGRAM)
}

/// What the interface of that index is called now. An error if there is none any more: the name that it had may be that
/// of another one.
pub(super) fn name(socket: &OwnedFd, index: u32) -> io::Result<String> {
    by_index(socket, index).map(|request| request.name())
}

/// A request about the interface of that index, by the name that it has now.
fn by_index(socket: &OwnedFd, index: u32) -> io::Result<InterfaceRequest> {
    let mut request = InterfaceRequest::new("");
    request.set_int(index as c_int);
    request.ask(socket, Request::Name).map(|()| request)
}

fn flags(socket: &OwnedFd, name: &str) -> io::Result<u16> {
    let mut request = InterfaceRequest::new(name);
    request.ask(socket, Request::Flags)?;
    Ok(request.short())
}

fn describe(socket: &OwnedFd, name: &str) -> io::Result<Interface> {
    if name.len() >= libc::IFNAMSIZ || name.contains('\0') {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    let flags = flags(socket, name)?;
    let ask = |what| {
        let mut request = InterfaceRequest::new(name);
        request.ask(socket, what).map(|()| request)
    };
    let hardware = ask(Request::Hardware)?.short();
    Ok(Interface {
        name: name.to_owned(),
        index: ask(Request::Index)?.int() as u32,
        up: flags & libc::IFF_UP as u16 != 0,
        carrier: flags & libc::IFF_RUNNING as u16 != 0,
        mtu: ask(Request::Mtu)?.int() as u32,
        ethernet: hardware == libc::ARPHRD_ETHER || hardware == libc::ARPHRD_LOOPBACK,
    })
}

/// The kernel's table of counters of the calling thread's network namespace.
pub(super) const TABLE: &str = "/proc/thread-self/net/dev";

/// Its rows: two lines of headings, then one line for each interface, `name: counters`.
fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    table.lines().skip(2).filter_map(|line| line.split_once(':')).map(|(name, counters)| (name.trim(), counters))
}

fn names() -> io::Result<Vec<String>> {
    Ok(rows(&fs::read_to_string(TABLE)?).map(|(name, _)| name.to_owned()).collect())
}

/// From the table, the frames that the interface was to transmit and dropped: eight counters of received frames, then
/// bytes, packets, errors and drops of transmitted ones.
pub(super) fn transmit_drops(table: &str, name: &str) -> Option<u64> {
    let (_, counters) = rows(table).find(|&(row, _)| row == name)?;
    counters.split_whitespace().nth(11)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_listed_like_it_is_asked_for() {
        let lo = interface("lo").unwrap();
        assert_eq!((lo.name.as_str(), lo.index, lo.ethernet), ("lo", 1, true));
        assert!(interfaces().unwrap().contains(&lo));
    }

    #[test]
    fn claims_are_those_of_the_interface_among_all_packet_sockets() {
        let table = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n\
            0000000000000000 3      3    05d0   2     1 0      0      1234\n\
            0000000000000000 3      3    0003   2     1 0      0      1235\n\
            0000000000000000 3      3    05d0   12    0 0      100    1236\n\
            0000000000000000 3      3    05d0   2     1 0      0      1237\n";
        assert_eq!([2, 12, 3].map(|index| claims(table, index)), [2, 1, 0]);
    }

    #[test]
    fn a_name_that_is_not_there_brings_the_nearest() {
        let message = interface("loo").unwrap_err().to_string();
        assert!(message.contains("no interface \"loo\"; did you mean \"lo\""), "{message}");
        for name in ["a-name-longer-than-any", "", "nul\0"] {
            assert!(interface(name).is_err(), "{name:?}");
        }
    }
}
