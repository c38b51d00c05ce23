//! The headers of synthetic packets.

use std::io;
use std::net::IpAddr;

use etherparse::{PacketBuilder, PacketBuilderStep, UdpHeader};

use super::arrivals::{SynthPacket, header_len};
use super::flows::{SynthFlow, TCP};

/// Locally administered addresses.
const SOURCE_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const DESTINATION_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];
const TTL: u8 = 64;
const TCP_WINDOW: u16 = u16::MAX;

/// Builds the frames of a trace in order.
pub(super) struct Frames<'a> {
    flows: &'a [SynthFlow],
    /// Next TCP sequence number of each flow.
    sequence: Vec<u32>,
    frame: Vec<u8>,
    zeros: Vec<u8>,
}

impl<'a> Frames<'a> {
    pub(super) fn new(flows: &'a [SynthFlow]) -> Self {
        Self { flows, sequence: vec![0; flows.len()], frame: Vec::new(), zeros: Vec::new() }
    }

    /// The headers of the next packet.
    pub(super) fn next(&mut self, packet: &SynthPacket) -> io::Result<&[u8]> {
        let tuple = &self.flows[packet.flow as usize].tuple;
        let headers = header_len(tuple);
        let payload_len = packet.size - headers;
        if self.zeros.len() < payload_len as usize {
            self.zeros.resize(payload_len as usize, 0);
        }
        let payload = &self.zeros[..payload_len as usize];
        let ethernet = PacketBuilder::ethernet2(SOURCE_MAC, DESTINATION_MAC);
        let ip = match (tuple.src, tuple.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => ethernet.ipv4(src.octets(), dst.octets(), TTL),
            (src, dst) => ethernet.ipv6(v6_octets(src), v6_octets(dst), TTL),
        };
        let (src_port, dst_port) = tuple.ports.map_or((0, 0), |p| (p.src, p.dst));
        self.frame.clear();
        let written = if tuple.protocol == TCP {
            let sequence = &mut self.sequence[packet.flow as usize];
            let tcp = ip.tcp(src_port, dst_port, *sequence, TCP_WINDOW).ack(1);
            *sequence = sequence.wrapping_add(payload_len);
            tcp.write(&mut self.frame, payload)
        } else {
            let udp: PacketBuilderStep<UdpHeader> = ip.udp(src_port, dst_port);
            udp.write(&mut self.frame, payload)
        };
        written.map_err(io::Error::other)?;
        Ok(&self.frame[..headers as usize])
    }
}

fn v6_octets(addr: IpAddr) -> [u8; 16] {
    match addr {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}
