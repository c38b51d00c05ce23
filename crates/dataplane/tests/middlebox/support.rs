//! A box and what is put into it.

use dovetail_dataplane::config::Config;
use dovetail_dataplane::core::Middlebox;
use dovetail_dataplane::frame::Frame;
use dovetail_units::{Duration, Time};
use dovetail_wire::LinkType;
use etherparse::PacketBuilder;

/// This configuration, in which ports do not matter.
pub fn config(text: &str) -> Config {
    let ports = "[ports]\nin = \"packet:a\"\nout = \"packet:b\"\n";
    let (top, tables) = text.split_once('[').map_or((text, String::new()), |(top, rest)| (top, format!("[{rest}")));
    Config::parse("box.toml", &format!("{top}\n{ports}\n{tables}"), &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// The box of this configuration.
pub fn middlebox(text: &str) -> Middlebox {
    config(text).middlebox().unwrap_or_else(|e| panic!("{e}"))
}

/// A UDP frame of `bytes` to this port.
pub fn udp(port: u16, bytes: usize) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 1, 1], 64).udp(9, port);
    let mut frame = Vec::new();
    builder.write(&mut frame, &vec![0; bytes - 42]).unwrap();
    frame
}

pub fn us(us: u64) -> Time {
    Time::from_nanos(1_000_000_000) + Duration::from_micros(us)
}

pub fn put(middlebox: &mut Middlebox, now: Time, bytes: &[u8]) {
    let mut frame = middlebox.pool.take();
    frame.fill(now, bytes, LinkType::ETHERNET);
    middlebox.receive(now, frame);
}

/// What has left since the last call: the port that it is for.
pub fn out(middlebox: &mut Middlebox) -> Vec<u16> {
    let port = |frame: &Frame| frame.data().get(36..38).map_or(0, |port| u16::from_be_bytes([port[0], port[1]]));
    let ports = middlebox.outgoing.iter().map(port).collect();
    while let Some(frame) = middlebox.outgoing.pop_front() {
        middlebox.pool.give(frame);
    }
    ports
}
