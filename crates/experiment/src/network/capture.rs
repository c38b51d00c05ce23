//! The packets of a link as a capture.

use std::io::{self, Write};

use dovetail_sched::aqm::Congestion;
use dovetail_sim::network::{Packet, Tap};
use dovetail_trace::PcapWriter;
use dovetail_units::Time;
use dovetail_wire::LinkType;
use etherparse::{IpEcn, Ipv4Header, TcpHeader, ip_number};

/// When captures begin, in nanoseconds since 1970: 2010-01-01, as synthetic ones do.
const EPOCH: Time = Time::from_nanos(1_262_304_000_000_000_000);
/// Bytes of the two headers.
const HEADERS: u32 = 40;
const TTL: u8 = 64;
const TCP_WINDOW: u16 = u16::MAX;
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
/// network for senders of each group. Marks stand in the IP header: congestion as CE; DRQ's signalling marks are not shown.
pub struct PacketCapture<W: Write> {
    hop: u32,
    writer: PcapWriter<W>,
    /// Of every place for flows: the flow that has it.
    flows: Vec<Sender>,
    /// Flows so far.
    count: u32,
    written: io::Result<()>,
    frame: Vec<u8>,
}

impl<W: Write> PacketCapture<W> {
    /// Of the hop with this index.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(hop: u32, out: W) -> io::Result<Self> {
        let writer = PcapWriter::new(out, LinkType::RAW)?;
        Ok(Self { hop, writer, flows: Vec::new(), count: 0, written: Ok(()), frame: Vec::new() })
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
        (tcp.syn, tcp.cwr, tcp.ack) = (packet.segment.syn, packet.segment.cwr, !packet.segment.syn);
        let (source, receiver) = ([10, group, high, low], [172, 16, group, low]);
        let mut ip = Ipv4Header::new(tcp.header_len_u16() + payload, TTL, ip_number::TCP, source, receiver)
            .map_err(io::Error::other)?;
        ip.ecn = ecn(packet);
        ip.header_checksum = ip.calc_header_checksum();
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

fn ecn(packet: &Packet) -> IpEcn {
    match (packet.segment.ect, packet.congestion) {
        (true, Congestion::Congested) => IpEcn::CongestionExperienced,
        (true, _) => IpEcn::Ect0,
        (false, _) => IpEcn::NotEct,
    }
}

impl<W: Write> Tap for PacketCapture<W> {
    fn left(&mut self, now: Time, hop: u32, packet: &Packet) {
        if hop == self.hop && self.written.is_ok() {
            self.written = self.write(now, packet);
        }
    }
}
