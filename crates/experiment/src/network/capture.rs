//! The packets of a link as a capture.

use std::io::{self, Write};
use std::net::Ipv4Addr;

use dovetail_sched::aqm::{Encoding, InFront, Scheme};
use dovetail_sim::network::{Packet, Tap};
use dovetail_trace::PcapWriter;
use dovetail_units::Time;
use dovetail_wire::LinkType;
use etherparse::{IpEcn, Ipv4Header, TcpHeader, ip_number};

use super::scenario::{Group, NetworkScenario};

/// When captures begin, in nanoseconds since 1970: 2010-01-01, as synthetic ones do.
const EPOCH: Time = Time::from_nanos(1_262_304_000_000_000_000);
/// Bytes of the two headers.
const HEADERS: u32 = 40;
const TTL: u8 = 64;
const TCP_WINDOW: u16 = u16::MAX;
/// What packets carry; captures keep none of it.
static PAYLOAD: [u8; u16::MAX as usize] = [0; u16::MAX as usize];
/// The ECN field that senders who know ECN write.
const ECT_0: u8 = 0b10;
/// The port that all receivers listen on.
const PORT: u16 = 5001;
/// The first port that senders use, and how many they use of an address.
const PORTS: (u16, u64) = (1024, 60_000);
/// Senders' addresses in the network of a group: 10.x.y.1 to 10.x.y.254.
const SENDERS: u64 = 254;
/// The receiver of all of them; of flows beyond, for which they do not suffice, one of those that follow.
const RECEIVER: Ipv4Addr = Ipv4Addr::new(172, 16, 0, 1);

/// What the senders of a group have in common.
struct Sender {
    /// Whether they know ECN.
    ecn: bool,
    /// Whether their first segment is a SYN.
    syn: bool,
}

/// Writes what leaves one hop: IPv4 and TCP headers, as long as the packets were. Every flow has a 5-tuple of its own,
/// the same in the captures of all hops: the k-th that starts, whatever its group, has port 1023 + k, and from 60,000
/// flows on other addresses. Senders of the k-th group are in 10.x.y.0/24 with 256 x + y = k - 1. The ECN field is that
/// with which the packet leaves the hop's box; from the CPU of a box with a link, that with which it would. A SYN asks
/// for ECN (RFC 3168, 6.1.1) if its sender knows it. Checksums are those of a payload of zeros, which itself is not
/// kept; ACKs, which cross no hop, are not there, nor does a flow end with a FIN.
pub struct PacketCapture<W: Write> {
    hop: u32,
    /// Under DRQ, how its state is written; otherwise there is none, and only congestion marks are.
    encoding: Encoding,
    /// Of every group.
    senders: Vec<Sender>,
    writer: PcapWriter<W>,
    written: io::Result<()>,
    frame: Vec<u8>,
}

impl<W: Write> PacketCapture<W> {
    /// Of the hop with this index of the scenario under this scheme.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(scenario: &NetworkScenario, scheme: &Scheme, hop: u32, out: W) -> io::Result<Self> {
        let writer = PcapWriter::new(out, LinkType::RAW)?;
        let drq = scenario.resources.iter().any(|r| matches!(r.standing(scheme), InFront::Drq(_)));
        let encoding = if drq { scenario.encoding() } else { Encoding::Metadata };
        let sender = |group: &Group| Sender { ecn: group.tcp.ecn, syn: group.tcp.handshake };
        let senders = scenario.groups.iter().map(sender).collect();
        Ok(Self { hop, encoding, senders, writer, written: Ok(()), frame: Vec::new() })
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(self) -> io::Result<W> {
        self.written?;
        self.writer.finish()
    }

    fn write(&mut self, now: Time, packet: &Packet, number: u64) -> io::Result<()> {
        let Sender { ecn, syn } = self.senders[packet.class as usize];
        let Ends { sender, port, receiver } = ends(packet.class, number);
        let length = packet.bytes.max(HEADERS);
        let payload = u16::try_from(length - HEADERS).map_err(io::Error::other)?;
        let mut tcp = TcpHeader::new(port, PORT, sequence_number(packet.segment.seq, syn, payload), TCP_WINDOW);
        (tcp.syn, tcp.ack) = (packet.segment.syn, !packet.segment.syn);
        // The receiver's SYN is one byte, and all that it sends.
        tcp.acknowledgment_number = u32::from(tcp.ack);
        tcp.ece = packet.segment.syn && ecn;
        tcp.cwr = packet.segment.cwr || tcp.ece;
        let length_of_ip = tcp.header_len_u16() + payload;
        let mut ip = Ipv4Header::new(length_of_ip, TTL, ip_number::TCP, sender.octets(), receiver.octets())
            .map_err(io::Error::other)?;
        let sent = if packet.segment.ect { ECT_0 } else { 0 };
        ip.ecn = IpEcn::try_new(self.encoding.write(sent, packet.congestion)).map_err(io::Error::other)?;
        ip.header_checksum = ip.calc_header_checksum();
        let payload = &PAYLOAD[..usize::from(payload)];
        tcp.checksum = tcp.calc_checksum_ipv4(&ip, payload).map_err(io::Error::other)?;
        self.frame.clear();
        ip.write(&mut self.frame)?;
        tcp.write(&mut self.frame)?;
        self.writer.write(EPOCH + (now - Time::ZERO), &self.frame, length)
    }
}

/// What tells a flow from others beside the port that all receivers listen on.
struct Ends {
    sender: Ipv4Addr,
    port: u16,
    receiver: Ipv4Addr,
}

/// Of the flow with this number in the run, of a group below [`MOST_GROUPS`](super::limits::MOST_GROUPS). No two have
/// the same, up to 10^13 flows: receivers are in 172.16.0.0/12.
fn ends(group: u32, number: u64) -> Ends {
    let (first, ports) = PORTS;
    let address = number / ports;
    let [_, _, x, y] = group.to_be_bytes();
    Ends {
        sender: Ipv4Addr::new(10, x, y, 1 + (address % SENDERS) as u8),
        port: first + (number % ports) as u16,
        receiver: Ipv4Addr::from_bits(RECEIVER.to_bits() + (address / SENDERS) as u32),
    }
}

/// The TCP sequence number of a segment: all have the same length but a SYN, which counts as one byte.
fn sequence_number(segment: u64, syn: bool, payload: u16) -> u32 {
    let full = |segments: u64| (segments as u32).wrapping_mul(u32::from(payload));
    match segment.checked_sub(1) {
        Some(data) if syn => full(data).wrapping_add(1),
        _ => full(segment),
    }
}

impl<W: Write> Tap for PacketCapture<W> {
    fn left(&mut self, now: Time, hop: u32, packet: &Packet, number: impl FnOnce() -> u64) {
        if hop == self.hop && self.written.is_ok() {
            self.written = self.write(now, packet, number());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::network::limits::MOST_GROUPS;

    fn written(group: u32, number: u64) -> String {
        let Ends { sender, port, receiver } = ends(group, number);
        format!("{sender}:{port} > {receiver}")
    }

    #[test]
    fn every_group_has_a_network_and_every_flow_ports_or_addresses_of_its_own() {
        assert_eq!(written(0, 0), "10.0.0.1:1024 > 172.16.0.1");
        assert_eq!(written(3, 59_999), "10.0.3.1:61023 > 172.16.0.1");
        assert_eq!(written(259, 60_000), "10.1.3.2:1024 > 172.16.0.1");
        assert_eq!(written(MOST_GROUPS as u32 - 1, 60_000 * 254), "10.255.255.1:1024 > 172.16.0.2");
        assert_eq!(written(0, 9_999_999_999_999), "10.0.0.249:41023 > 172.26.3.40");
        let networks = (0..MOST_GROUPS as u32).map(|group| ends(group, 0).sender).collect::<BTreeSet<_>>();
        assert_eq!(networks.len(), MOST_GROUPS);
    }
}
