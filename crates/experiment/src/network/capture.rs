//! The packets of a link as a capture.

use std::io::{self, Write};

use dovetail_sched::aqm::{Encoding, Scheme, Standing};
use dovetail_sim::network::{Packet, Tap};
use dovetail_trace::PcapWriter;
use dovetail_units::Time;
use dovetail_wire::LinkType;
use etherparse::{IpEcn, Ipv4Header, TcpHeader, ip_number};

use super::scenario::NetworkScenario;

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
/// Ports from which flows of one address are sent.
const PORTS: u32 = 60_000;

/// What is known of a flow.
#[derive(Clone, Copy)]
struct Sender {
    /// Its number, from 1; 0 before there is one.
    number: u32,
    /// Whether it has sent anything but its first segment.
    moved_on: bool,
    /// Whether its first segment is a SYN.
    syn: bool,
}

/// Writes what leaves one hop: IPv4 and TCP headers, as long as the packets were. Every flow has a port and addresses of its own, one
/// network for senders of each group. The ECN field is that with which the packet leaves the hop's box; from the CPU of a box with a link, that
/// with which it would. A SYN asks for ECN (RFC 3168, 6.1.1) if its sender knows it. Checksums are those of a payload of zeros, which itself
/// is not kept; ACKs, which cross no hop, are not there, nor does a flow end with a FIN.
pub struct PacketCapture<W: Write> {
    hop: u32,
    /// Under DRQ, how its state is written; otherwise there is none, and only congestion marks are.
    encoding: Encoding,
    /// Of every class, whether its senders know ECN.
    ecn: Vec<bool>,
    writer: PcapWriter<W>,
    /// Of every place for flows: the flow that has it.
    flows: Vec<Sender>,
    /// Flows so far.
    count: u32,
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
        let drq = scenario.resources.iter().any(|r| matches!(r.standing(scheme), Standing::Drq(_)));
        let encoding = if drq { scenario.encoding() } else { Encoding::Metadata };
        let ecn = scenario.groups.iter().map(|group| group.tcp.ecn).collect();
        Ok(Self { hop, encoding, ecn, writer, flows: Vec::new(), count: 0, written: Ok(()), frame: Vec::new() })
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(self) -> io::Result<W> {
        self.written?;
        self.writer.finish()
    }

    /// The packet's flow. Places are used again: the first segment of a flow is that of a new one, unless the place has not sent any
    /// other yet.
    fn flow(&mut self, packet: &Packet) -> Sender {
        let place = packet.flow as usize;
        if self.flows.len() <= place {
            self.flows.resize(place + 1, Sender { number: 0, moved_on: true, syn: false });
        }
        let flow = &mut self.flows[place];
        let first = packet.segment.seq == 0;
        if first && flow.moved_on && !packet.segment.retransmission || flow.number == 0 {
            self.count += 1;
            (flow.number, flow.syn) = (self.count, packet.segment.syn);
        }
        flow.moved_on = !first;
        *flow
    }

    fn write(&mut self, now: Time, packet: &Packet) -> io::Result<()> {
        let Sender { number, syn, .. } = self.flow(packet);
        let (address, port) = (number / PORTS, 1024 + (number % PORTS) as u16);
        let [_, _, high, low] = address.to_be_bytes();
        let group = packet.class as u8;
        let length = packet.bytes.max(HEADERS);
        let payload = u16::try_from(length - HEADERS).map_err(io::Error::other)?;
        let mut tcp = TcpHeader::new(port, PORT, sequence_number(packet.segment.seq, syn, payload), TCP_WINDOW);
        (tcp.syn, tcp.ack) = (packet.segment.syn, !packet.segment.syn);
        // The receiver's SYN is one byte, and all that it sends.
        tcp.acknowledgment_number = u32::from(tcp.ack);
        tcp.ece = packet.segment.syn && self.ecn[packet.class as usize];
        tcp.cwr = packet.segment.cwr || tcp.ece;
        let (source, receiver) = ([10, group, high, low], [172, 16, group, low]);
        let mut ip = Ipv4Header::new(tcp.header_len_u16() + payload, TTL, ip_number::TCP, source, receiver)
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

/// The TCP sequence number of a segment: all have the same length but a SYN, which counts as one byte.
fn sequence_number(segment: u64, syn: bool, payload: u16) -> u32 {
    let full = |segments: u64| (segments as u32).wrapping_mul(u32::from(payload));
    match segment.checked_sub(1) {
        Some(data) if syn => full(data).wrapping_add(1),
        _ => full(segment),
    }
}

impl<W: Write> Tap for PacketCapture<W> {
    fn left(&mut self, now: Time, hop: u32, packet: &Packet) {
        if hop == self.hop && self.written.is_ok() {
            self.written = self.write(now, packet);
        }
    }
}
