//! What an interface does with frames for the kernel's own stack, and what of it harms a box.
//!
//! A box forwards frames as they are on the cable. A network card, or a virtual one at the other end, that merges
//! segments or leaves them for the card to cut hands over what no cable carries, most of it longer than any buffer.

use std::io;
use std::os::fd::OwnedFd;

use super::sys;

/// linux/ethtool.h: the command that asks for one number, the bits of it, and what `ethtool -K` calls the switch.
const SWITCHES: [(u32, u32, &str); 4] = [
    // ETHTOOL_GTSO, ETHTOOL_GGSO, ETHTOOL_GGRO; ETHTOOL_GFLAGS with ETH_FLAG_LRO.
    (0x1e, u32::MAX, "tso"),
    (0x23, u32::MAX, "gso"),
    (0x2b, u32::MAX, "gro"),
    (0x25, 1 << 15, "lro"),
];

/// ETHTOOL_GFLAGS with ETH_FLAG_RXVLAN: the card takes vlan tags out of what it receives.
const VLAN: (u32, u32, &str) = (0x25, 1 << 8, "rxvlan");

/// ETHTOOL_GTXCSUM: the interface completes the checksums of what it sends. One end of a pair of virtual interfaces
/// leaves that to whoever receives at the other end, and both are set up alike.
const CHECKSUMS: (u32, u32, &str) = (0x16, u32::MAX, "tx");
const PAIR: &[u8] = b"veth\0";

/// Of the switches that should be off, those that are on. What the driver does not know is off.
pub(super) fn harmful(socket: &OwnedFd, name: &str, xdp: bool) -> Vec<&'static str> {
    let is_on = |(command, bits, _): &(u32, u32, &str)| -> io::Result<bool> {
        sys::ethtool_value(socket, name, *command).map(|value| value & bits != 0)
    };
    let is_pair = || sys::driver(socket, name).is_ok_and(|driver| driver.starts_with(PAIR));
    let all = SWITCHES.iter().chain((xdp && is_pair()).then_some(&CHECKSUMS)).chain(xdp.then_some(&VLAN));
    all.filter(|switch| is_on(switch).unwrap_or(false)).map(|&(.., name)| name).collect()
}
