//! The network interfaces of this network namespace.

use std::ffi::c_int;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
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

/// What one port of an interface has at a time: of two, both would forward every frame. A name of the network
/// namespace, which goes with the port, however the process ends.
#[derive(Clone)]
pub(super) struct Claim {
    _name: Arc<UnixDatagram>,
}

impl Claim {
    pub fn new(interface: &Interface) -> io::Result<Self> {
        let name = SocketAddr::from_abstract_name(format!("dovetail/interface/{}", interface.index))?;
        UnixDatagram::bind_addr(&name).map(|name| Self { _name: Arc::new(name) })
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
    fn a_name_that_is_not_there_brings_the_nearest() {
        let message = interface("loo").unwrap_err().to_string();
        assert!(message.contains("no interface \"loo\"; did you mean \"lo\""), "{message}");
        for name in ["a-name-longer-than-any", "", "nul\0"] {
            assert!(interface(name).is_err(), "{name:?}");
        }
    }
}
