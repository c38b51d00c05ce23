//! Turning off what interfaces leave to their cards. A veth has none, and hands over segments of 64 KB with checksums
//! that nobody has computed. A box on packet sockets computes these, and takes no frame that long.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use crate::lab::Offloads;

/// linux/ethtool.h: ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO.
const SEGMENTS: [(u32, &str); 3] = [(0x1f, "TCP segmentation"), (0x24, "segmentation"), (0x2c, "receive merging")];

/// ETHTOOL_SRXCSUM, ETHTOOL_STXCSUM, ETHTOOL_SSG.
const CHECKSUMS: [(u32, &str); 3] =
    [(0x15, "receive checksums"), (0x17, "transmit checksums"), (0x19, "scatter-gather")];

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Switch the offloads of an interface in the calling thread's namespace off, but for these.
pub fn switch_off(interface: &str, but: Offloads) -> io::Result<()> {
    let socket = UdpSocket::bind(("127.0.0.1", 0))?;
    let also = if but == Offloads::Off { &CHECKSUMS[..] } else { &[] };
    for &(command, what) in also.iter().chain(&SEGMENTS) {
        let set = set(&socket, interface, command);
        set.map_err(|e| io::Error::new(e.kind(), format!("{what} of {interface}: {e}")))?;
    }
    Ok(())
}

#[expect(unsafe_code, reason = "no crate wraps SIOCETHTOOL")]
fn set(socket: &UdpSocket, interface: &str, command: u32) -> io::Result<()> {
    let mut value = EthtoolValue { command, data: 0 };
    // SAFETY: all zeros is a valid `ifreq`: an empty name and a union of plain numbers and pointers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero.
    let name = request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1);
    name.zip(interface.bytes()).for_each(|(to, from)| *to = from as libc::c_char);
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request and the value it points at live until the call returns, and the kernel reads and writes only
    // the eight bytes of an `ethtool_value` for these commands.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
