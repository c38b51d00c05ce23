//! What is to be said about the interfaces of a box before a frame comes.

use super::interface::{self, LinkState, interface};
use super::{Kind, offload};
use crate::frame::LONGEST;

/// Bytes of a frame that an MTU does not count: the Ethernet header.
const HEADER: usize = 14;

/// What an interface is like that may harm the box: offloads, an MTU beyond the longest frame, MTUs that differ, a
/// link that is down. Each with its remedy, one line each.
pub fn warnings(kinds: [&Kind; 2]) -> Vec<String> {
    let mut warnings: Vec<String> = kinds.into_iter().flat_map(of_one).collect();
    if let [Some((inside, from)), Some((outside, to))] = kinds.map(mtu)
        && from != to
    {
        let (smaller, least) = if from < to { (&inside, from) } else { (&outside, to) };
        let larger = if from < to { &outside } else { &inside };
        warnings.push(format!(
            "the MTU of {inside} is {from} and that of {outside} {to}: what is longer than {least} bytes does not \
             leave by {smaller}; ip link set {larger} mtu {least}"
        ));
    }
    warnings
}

/// The interface of this kind, and the longest packet that it takes; `None` where there is none.
pub fn mtu(kind: &Kind) -> Option<(String, u32)> {
    let found = interface(kind.interface()?).ok()?;
    Some((found.name, found.mtu))
}

fn of_one(kind: &Kind) -> Vec<String> {
    // Of an interface of raw IP the kernel is the other end, and one that the box makes is not there yet.
    let Some(name) = kind.interface() else { return Vec::new() };
    let (Ok(found), Ok(socket)) = (interface(name), interface::control_socket()) else { return Vec::new() };
    let mut warnings = Vec::new();
    let lost = match kind {
        Kind::Xdp(_) => "what they merge is lost, and so are checksums and VLAN tags that they leave out",
        _ => "what they merge is lost",
    };
    // Of what goes to a TUN or TAP the kernel itself cuts what is too long.
    let on = match kind {
        Kind::Packet(_) | Kind::Xdp(_) => offload::harmful(&socket, name, matches!(kind, Kind::Xdp(_))),
        _ => Vec::new(),
    };
    if !on.is_empty() {
        warnings.push(format!(
            "offloads of {name} are on ({}): {lost}; ethtool -K {name} {} \
             off, and at the other end of a veth the same and tx-udp-segmentation off",
            on.join(", "),
            on.join(" off ")
        ));
    }
    let header = if found.ethernet { HEADER } else { 0 };
    if found.mtu as usize + header > LONGEST {
        let (mtu, most) = (found.mtu, LONGEST - header);
        warnings.push(format!(
            "the MTU of {name} is {mtu}: frames longer than {LONGEST} bytes are lost; ip link set {name} mtu {most}"
        ));
    }
    let remedy = match LinkState::ask(&socket, found.index) {
        None | Some(LinkState::Up | LinkState::Gone) => return warnings,
        Some(LinkState::Down) => format!("{name} is down: ip link set {name} up"),
        Some(LinkState::NoCarrier) => format!("{name} has no carrier: nobody is at the other end of its cable"),
    };
    warnings.push(format!("the interface {remedy}"));
    warnings
}
