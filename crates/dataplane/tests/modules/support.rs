//! Frames, and modules from texts.

use std::path::Path;

use dovetail_dataplane::frame::{Frame, Pool};
use dovetail_dataplane::module::{Module, ModuleConfig, ModuleDrop};
use dovetail_units::Time;
use dovetail_wire::LinkType;
use etherparse::PacketBuilder;
use proptest::prelude::*;

pub const SRC: [u8; 4] = [192, 0, 2, 77];
pub const DST: [u8; 4] = [198, 51, 100, 9];
pub const SRC6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
pub const DST6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

/// The module of a `[[module]]` table with these lines.
pub fn module(lines: &str) -> Box<dyn Module> {
    let config: ModuleConfig = toml::from_str(&format!("name = \"m\"\n{lines}")).unwrap();
    config.kind.build(Path::new("/")).unwrap()
}

pub fn frame(bytes: &[u8], link: LinkType) -> Frame {
    let mut frame = Pool::new().take();
    frame.fill(Time::ZERO, bytes, link);
    frame
}

pub fn ethernet(bytes: &[u8]) -> Frame {
    frame(bytes, LinkType::ETHERNET)
}

/// What a module makes of an Ethernet frame.
pub fn through(module: &mut dyn Module, bytes: &[u8]) -> Result<Vec<u8>, ModuleDrop> {
    let mut frame = ethernet(bytes);
    module.process(&mut frame).map(|()| frame.data().to_vec())
}

pub fn udp(payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4(SRC, DST, 64).udp(4000, 53);
    builder.write(&mut bytes, payload).unwrap();
    bytes
}

pub fn udp6(payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv6(SRC6, DST6, 64).udp(4000, 53);
    builder.write(&mut bytes, payload).unwrap();
    bytes
}

/// A segment of the TCP flow from `port`.
pub fn tcp(port: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4(SRC, DST, 64).tcp(port, 80, sequence, 1000);
    builder.write(&mut bytes, payload).unwrap();
    bytes
}

/// Arbitrary bytes, and packets with arbitrary bytes changed: both reach further than either alone.
pub fn hostile() -> impl Strategy<Value = (LinkType, Vec<u8>)> {
    let link = prop_oneof![
        Just(LinkType::ETHERNET),
        Just(LinkType::RAW),
        Just(LinkType::NULL),
        any::<u16>().prop_map(LinkType)
    ];
    let damaged =
        (any::<bool>(), prop::collection::vec(any::<u8>(), 0..300), changes()).prop_map(|(v6, payload, changes)| {
            let mut bytes = if v6 { udp6(&payload) } else { udp(&payload) };
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            (LinkType::ETHERNET, bytes)
        });
    prop_oneof![(link, prop::collection::vec(any::<u8>(), 0..300)), damaged]
}

fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6)
}
