//! Headers and checksums: what Click's `CheckIPHeader` and the papers' "checking" do.

use std::net::IpAddr;

use dovetail_wire::TransportCheck;
use serde::Deserialize;

use super::{Module, ModuleDrop, ip};
use crate::frame::Frame;

/// Parameters of [`Check`].
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckConfig {
    /// Whether to look at the checksums of TCP, UDP and ICMP as well, over the whole packet.
    #[serde(default = "yes")]
    pub transport: bool,
}

fn yes() -> bool {
    true
}

impl Default for CheckConfig {
    fn default() -> Self {
        Self { transport: true }
    }
}

/// Drops what has a wrong header or checksum.
#[derive(Debug)]
pub struct Check {
    transport: bool,
}

impl Check {
    /// A module with these parameters.
    pub fn new(config: &CheckConfig) -> Self {
        Self { transport: config.transport }
    }
}

impl Module for Check {
    fn name(&self) -> &'static str {
        "check"
    }

    /// Drops `bad-length` (the header claims more bytes than there are, or fewer than itself), `bad-header-checksum`,
    /// `bad-source` (multicast or broadcast, RFC 1812 section 5.3.7), `bad-transport-header`,
    /// `bad-transport-checksum`, or the name of what is no IP packet. O(length).
    fn process(&mut self, frame: &mut Frame) -> Result<(), ModuleDrop> {
        let bytes = frame.len() - super::ip_offset(frame)?;
        let ip = ip(frame)?;
        if !(ip.header_len()..=bytes).contains(&ip.total_len()) {
            return Err(ModuleDrop("bad-length"));
        }
        if !ip.header_checksum_ok() {
            return Err(ModuleDrop("bad-header-checksum"));
        }
        let bad_source = match ip.source() {
            IpAddr::V4(source) => source.is_multicast() || source.is_broadcast(),
            IpAddr::V6(source) => source.is_multicast(),
        };
        if bad_source {
            return Err(ModuleDrop("bad-source"));
        }
        if !self.transport {
            return Ok(());
        }
        match ip.transport_check() {
            TransportCheck::Right | TransportCheck::Unknown => Ok(()),
            TransportCheck::Wrong => Err(ModuleDrop("bad-transport-checksum")),
            TransportCheck::Malformed => Err(ModuleDrop("bad-transport-header")),
        }
    }
}
