//! What a capture holds, without keeping its packets.

use std::collections::BTreeMap;

use dovetail_units::{Duration, Time};
use dovetail_wire::{KeyKind, LinkType, NonFlow, parse, wire_length};

use crate::capture::{CaptureReader, Format};
use crate::flows::{FlowEntry, FlowTable};
use crate::packets::{BETWEEN_LOOKS, Origin, Report, TooLarge};

/// Largest packet size, in bytes, of each bucket of the size distribution.
pub const SIZE_BUCKETS: [u32; 8] = [63, 127, 255, 511, 1023, 1518, 9018, u32::MAX];

/// Numbers that an IP protocol can have.
const PROTOCOLS: usize = 256;

/// Packets and bytes of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Packets.
    pub packets: u64,
    /// Original bytes.
    pub bytes: u64,
}

/// One bucket of the size distribution: from the bound of the bucket before, exclusive, to its own, inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeBucket {
    /// Largest size in bytes.
    pub up_to: u32,
    /// Packets.
    pub packets: u64,
}

/// A summary of a capture.
#[derive(Clone, Debug)]
pub struct CaptureInfo {
    /// File format.
    pub format: Format,
    /// Whether it was gzipped.
    pub gzip: bool,
    /// Packets of each link type.
    pub links: BTreeMap<LinkType, u64>,
    /// All packets, with their original lengths.
    pub total: Total,
    /// Bytes that are in the capture.
    pub captured_bytes: u64,
    /// Packets of which the capture has fewer bytes than there were.
    pub cut_packets: u64,
    /// Fragments of IP datagrams.
    pub fragments: u64,
    /// Time of the first packet, since 1970; zero if the capture does not say.
    pub start: Time,
    /// From the first packet to the last, backward time stamps clamped.
    pub duration: Duration,
    /// Flows, not counting that of packets without a flow.
    pub flows: u64,
    /// By protocol (`udp`, `tcp`, ..., `ip-123`) or, for packets without a flow, by reason (`arp`, ...); most packets
    /// first.
    pub protocols: Vec<(String, Total)>,
    /// Packets by size; the bounds are [`SIZE_BUCKETS`].
    pub sizes: Vec<SizeBucket>,
    /// The flows with the most bytes, most first.
    pub top_flows: Vec<FlowEntry>,
    /// Where every record went.
    pub report: Report,
}

impl CaptureInfo {
    /// Reads a capture to its end, with the `top` largest flows. Memory is that of the flow table: about `room` bytes
    /// at most.
    ///
    /// # Errors
    /// It has more flows than that.
    pub fn read(reader: &mut CaptureReader<'_>, kind: KeyKind, top: usize, room: u64) -> Result<Self, TooLarge> {
        let mut survey = Survey::default();
        while let Some(record) = reader.next_record() {
            let size = wire_length(record.data.len(), record.original_len);
            let time = survey.origin.relative(record.time);
            survey.start = survey.start.or(record.time);
            survey.last = time;
            survey.captured_bytes += record.data.len() as u64;
            survey.cut_packets += u64::from(size as usize > record.data.len());
            survey.count_link(record.link);
            let packet = parse(record.link, record.data);
            survey.report.count(packet.map(|_| ()));
            survey.fragments += u64::from(packet.is_ok_and(|p| p.fragment));
            survey.flows.add(packet.ok().map(|p| kind.key(&p.tuple)), time, size);
            survey.classify(packet.map(|p| p.tuple.protocol), size);
            survey.sizes[SIZE_BUCKETS.partition_point(|&bound| bound < size)] += 1;
            let records = survey.report.records;
            if records.is_multiple_of(BETWEEN_LOOKS) && survey.memory() > room {
                return Err(TooLarge { packets: records, flows: survey.flows.len() });
            }
        }
        survey.report.finish(reader);
        Ok(survey.finish(reader, top))
    }
}

#[derive(Default)]
struct Survey {
    /// The latest one last.
    links: Vec<(LinkType, u64)>,
    captured_bytes: u64,
    cut_packets: u64,
    fragments: u64,
    origin: Origin,
    start: Option<Time>,
    last: Time,
    flows: FlowTable,
    /// By number, then by reason why there is none, in the order of [`NonFlow::ALL`].
    protocols: Vec<Total>,
    sizes: [u64; SIZE_BUCKETS.len()],
    report: Report,
}

impl Survey {
    #[inline]
    fn count_link(&mut self, link: LinkType) {
        match self.links.last_mut() {
            Some((latest, packets)) if *latest == link => *packets += 1,
            _ => self.count_other_link(link),
        }
    }

    fn count_other_link(&mut self, link: LinkType) {
        let known = self.links.iter().position(|(other, _)| *other == link);
        let (_, packets) = known.map_or((link, 0), |at| self.links.remove(at));
        self.links.push((link, packets + 1));
    }

    /// Bytes of memory that the flows take at most: while they grow, or in the end, when all of them are listed.
    fn memory(&self) -> u64 {
        let listed = self.flows.len() * size_of::<FlowEntry>();
        self.flows.memory(BETWEEN_LOOKS).max(self.flows.memory(0) + listed as u64)
    }

    fn classify(&mut self, protocol: Result<u8, NonFlow>, size: u32) {
        let place = protocol.map_or_else(|reason| PROTOCOLS + reason as usize, usize::from);
        if self.protocols.is_empty() {
            self.protocols.resize(PROTOCOLS + NonFlow::ALL.len(), Total::default());
        }
        let total = &mut self.protocols[place];
        total.packets += 1;
        total.bytes += u64::from(size);
    }

    fn finish(self, reader: &CaptureReader<'_>, top: usize) -> CaptureInfo {
        let seen = self.protocols.iter().enumerate().filter(|(_, total)| total.packets > 0);
        let mut protocols: Vec<_> = seen.map(|(place, total)| (protocol_label(place), *total)).collect();
        protocols.sort_by(|a, b| b.1.packets.cmp(&a.1.packets).then_with(|| a.0.cmp(&b.0)));
        let mut flows: Vec<_> = self.flows.entries().filter(|f| f.key.is_some()).collect();
        let flow_count = flows.len() as u64;
        let largest_first = |a: &FlowEntry, b: &FlowEntry| b.bytes.cmp(&a.bytes).then(a.key.cmp(&b.key));
        if top < flows.len() {
            flows.select_nth_unstable_by(top, largest_first);
            flows.truncate(top);
        }
        flows.sort_unstable_by(largest_first);
        CaptureInfo {
            format: reader.format(),
            gzip: reader.is_gzip(),
            links: self.links.into_iter().collect(),
            total: Total { packets: self.report.records, bytes: self.flows.bytes() },
            captured_bytes: self.captured_bytes,
            cut_packets: self.cut_packets,
            fragments: self.fragments,
            start: self.start.unwrap_or_default(),
            duration: self.last - Time::ZERO,
            flows: flow_count,
            protocols,
            sizes: SIZE_BUCKETS.iter().zip(self.sizes).map(|(&up_to, packets)| SizeBucket { up_to, packets }).collect(),
            top_flows: flows,
            report: self.report,
        }
    }
}

/// The name of a place in [`Survey::protocols`].
fn protocol_label(place: usize) -> String {
    let name = match u8::try_from(place) {
        Ok(number) => dovetail_wire::protocol_name(number),
        Err(_) => NonFlow::ALL.get(place - PROTOCOLS).map(|reason| reason.name()),
    };
    name.map_or_else(|| format!("ip-{place}"), str::to_owned)
}
