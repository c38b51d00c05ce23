//! IP forwarding: what a router does to a packet (RFC 1812 section 5.2.1).

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use dovetail_config::Text;
use dovetail_wire::{IpView, LinkType, Prefix, TtlExpired};
use prefix_trie::PrefixMap;
use serde::Deserialize;

use super::{Module, ModuleDrop, ModuleError, ip_offset};
use crate::frame::Frame;

/// An Ethernet address, written `02:00:00:00:00:01`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mac(pub [u8; 6]);

/// Parameters of [`Forward`].
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForwardConfig {
    /// The table, in any order: the longest prefix counts.
    pub routes: Vec<Route>,
}

/// A line of the table.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Destinations: `10.0.0.0/8`, `2001:db8::/32`.
    pub prefix: Text<Prefix>,
    /// The next hop's Ethernet address; without one the frame's stays.
    pub mac: Option<Text<Mac>>,
    /// The outgoing interface's Ethernet address; without one the frame's source stays.
    pub source_mac: Option<Text<Mac>>,
}

/// Forwards by the longest prefix.
pub struct Forward {
    v4: PrefixMap<(u32, u8), NextHop>,
    v6: PrefixMap<(u128, u8), NextHop>,
}

#[derive(Clone, Copy)]
struct NextHop {
    destination: Option<Mac>,
    source: Option<Mac>,
}

impl Forward {
    /// A module with this table.
    ///
    /// # Errors
    /// The table is empty, or has a prefix twice, or an address of a group.
    pub fn new(config: &ForwardConfig) -> Result<Self, ModuleError> {
        if config.routes.is_empty() {
            return Err(ModuleError::new("routes", "there is no route; `0.0.0.0/0` is one for all of IPv4"));
        }
        let mut forward = Self { v4: PrefixMap::new(), v6: PrefixMap::new() };
        for route in &config.routes {
            check_addresses(route)?;
            let hop = NextHop { destination: route.mac.map(|m| m.0), source: route.source_mac.map(|m| m.0) };
            let Text(prefix) = route.prefix;
            let before = match prefix.addr() {
                IpAddr::V4(addr) => forward.v4.insert((addr.to_bits(), prefix.len()), hop),
                IpAddr::V6(addr) => forward.v6.insert((addr.to_bits(), prefix.len()), hop),
            };
            if before.is_some() {
                return Err(ModuleError::new("routes", format!("`{prefix}` is there twice")));
            }
        }
        Ok(forward)
    }

    fn next_hop(&self, destination: IpAddr) -> Option<NextHop> {
        match destination {
            IpAddr::V4(addr) => self.v4.get_lpm(&(addr.to_bits(), 32)).map(|(_, hop)| *hop),
            IpAddr::V6(addr) => self.v6.get_lpm(&(addr.to_bits(), 128)).map(|(_, hop)| *hop),
        }
    }
}

/// A frame to a group has many receivers, and none comes from one (IEEE 802 section 8).
fn check_addresses(route: &Route) -> Result<(), ModuleError> {
    let of_group = |address: &&Text<Mac>| address.0.0[0] & 1 == 1;
    for (key, address) in [("mac", &route.mac), ("source_mac", &route.source_mac)] {
        if let Some(Text(address)) = address.as_ref().filter(of_group) {
            let Text(prefix) = route.prefix;
            let problem = format!("`{prefix}`: {key} {address} is the address of a group, not of one interface");
            return Err(ModuleError::new("routes", problem));
        }
    }
    Ok(())
}

impl Module for Forward {
    fn name(&self) -> &'static str {
        "forward"
    }

    /// Drops `bad-header-checksum`, `ttl-expired`, `no-route`, or the name of what is no IP packet. No ICMP message
    /// tells the sender. At most 7 (IPv4) or 26 (IPv6) steps in the table, whatever its size.
    fn process(&mut self, frame: &mut Frame) -> Result<(), ModuleDrop> {
        let at = ip_offset(frame)?;
        let ethernet = frame.link == LinkType::ETHERNET;
        let (link, packet) = frame.data_mut().split_at_mut(at);
        let mut ip = IpView::new(packet)?;
        if !ip.header_checksum_ok() {
            return Err(ModuleDrop("bad-header-checksum"));
        }
        let hop = self.next_hop(ip.destination());
        ip.decrement_ttl().map_err(|TtlExpired| ModuleDrop("ttl-expired"))?;
        let hop = hop.ok_or(ModuleDrop("no-route"))?;
        if let Some(addresses) = link.first_chunk_mut::<12>().filter(|_| ethernet) {
            if let Some(Mac(destination)) = hop.destination {
                addresses[..6].copy_from_slice(&destination);
            }
            if let Some(Mac(source)) = hop.source {
                addresses[6..].copy_from_slice(&source);
            }
        }
        Ok(())
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// A text that is no Ethernet address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MacError(String);

impl fmt::Display for MacError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: expected an Ethernet address such as `02:00:00:00:00:01`", self.0)
    }
}

impl std::error::Error for MacError {}

impl FromStr for Mac {
    type Err = MacError;
    fn from_str(text: &str) -> Result<Self, MacError> {
        let wrong = || MacError(text.to_string());
        let mut mac = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut mac {
            let part = parts.next().filter(|p| p.len() == 2 && !p.starts_with('+')).ok_or_else(wrong)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
        }
        if parts.next().is_some() { Err(wrong()) } else { Ok(Self(mac)) }
    }
}
