//! Turning off what interfaces do for the kernel. A veth hands over segments of 64 KB with checksums that nobody has
//! computed; a box that forwards frames as they are would send them on like that, and TCP would never connect.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// linux/ethtool.h: ETHTOOL_SRXCSUM, ETHTOOL_STXCSUM, ETHTOOL_SSG, ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO.
const SWITCHES: [(u32, &str); 6] = [
    (0x15, "receive checksums"),
    (0x17, "transmit checksums"),
    (0x19, "scatter-gather"),
    (0x1f, "TCP segmentation"),
    (0x24, "segmentation"),
    (0x2c, "receive merging"),
];

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Switch all offloads of an interface in the calling thread's namespace off.
pub fn switch_off(interface: &str) -> io::Result<()> {
    let socket = UdpSocket::bind(("127.0.0.1", 0))?;
    for (command, what) in SWITCHES {
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
