//! From a capture to arrivals and flows.

use dovetail_units::{Duration, Time};
use dovetail_wire::{FlowKey, ICMP_V6, IpPacket, KeyKind, NonFlow, parse, wire_length};

use crate::arrivals::{Arrival, Arrivals};
use crate::capture::{CaptureReader, Damage, Record};
use crate::flows::FlowTable;

/// Packets between two looks at the memory.
pub(crate) const BETWEEN_LOOKS: u64 = 1 << 16;

/// Where every record of a capture went: `records` = `flow_packets` + the sum of `no_flow` over all reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Packets read.
    pub records: u64,
    /// Packets that belong to a flow.
    pub flow_packets: u64,
    /// Packets that belong to none, by reason, in the order of [`NonFlow::ALL`].
    no_flow: [u64; NonFlow::ALL.len()],
    /// What could not be read.
    pub damage: Option<Damage>,
    /// Packets whose time stamp went backwards and was set to the previous packet's.
    pub clamped_times: u64,
    /// Packets with an impossible original length, replaced by the captured length.
    pub clamped_lengths: u64,
}

impl Report {
    /// Packets that belong to no flow for this reason.
    pub fn no_flow(&self, reason: NonFlow) -> u64 {
        self.no_flow[reason as usize]
    }

    /// Packets that belong to no flow.
    pub fn no_flow_packets(&self) -> u64 {
        self.no_flow.iter().sum()
    }

    pub(crate) fn count(&mut self, packet: Result<(), NonFlow>) {
        self.records += 1;
        match packet {
            Ok(()) => self.flow_packets += 1,
            Err(reason) => self.no_flow[reason as usize] += 1,
        }
    }

    pub(crate) fn finish(&mut self, reader: &CaptureReader<'_>) {
        self.damage = reader.damage().cloned();
        self.clamped_times = reader.clamped_times();
        self.clamped_lengths = reader.clamped_lengths();
    }
}

/// A trace in memory: some 7 bytes per packet and 85 per flow.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    /// The packets in the order of the capture, which is that of their times.
    pub arrivals: Arrivals,
    /// Their flows.
    pub flows: FlowTable,
    /// Where every record of the capture went.
    pub report: Report,
}

impl Packets {
    /// Bytes of all packets.
    pub fn bytes(&self) -> u64 {
        self.flows.bytes()
    }

    /// When the last packet arrives.
    pub fn last(&self) -> Time {
        self.arrivals.last()
    }

    /// A packet of this flow among [`flows`](Self::flows) has come.
    pub(crate) fn push(&mut self, time: Time, key: Result<FlowKey, NonFlow>, flow: u32, size: u32) {
        self.report.count(key.map(|_| ()));
        self.arrivals.push(Arrival { time, flow, size });
    }

    /// Cuts every pause between two packets that is longer than this to it; answers how many there were, and the time
    /// that went. Times of [`FlowEntry`](crate::FlowEntry) stay as they were recorded.
    pub fn cut_pauses(&mut self, longest: Duration) -> (u64, Duration) {
        if self.arrivals.longest_pause() <= longest {
            return (0, Duration::ZERO);
        }
        let (mut count, mut cut, mut before) = (0, Duration::ZERO, Time::ZERO);
        let shorter = |arrival: Arrival| {
            let pause = arrival.time.since(before);
            before = arrival.time;
            if pause > longest {
                count += 1;
                cut += Duration::from_nanos(pause.as_nanos() - longest.as_nanos());
            }
            Arrival { time: Time::from_nanos(arrival.time.as_nanos() - cut.as_nanos()), ..arrival }
        };
        self.arrivals = self.arrivals.iter().map(shorter).collect();
        (count, cut)
    }
}

/// Reads a capture to its end. Packets that belong to no flow share one flow of their own, with key `None`; sizes are
/// original lengths. O(1) per packet on average.
pub fn load(reader: &mut CaptureReader<'_>, kind: KeyKind) -> Packets {
    load_by_class(reader, kind, u64::MAX, true, |_, _| 0).unwrap_or_default()
}

/// A capture does not fit into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// Packets that were read before.
    pub packets: u64,
    /// Their flows.
    pub flows: usize,
}

/// As [`load`], into about `room` bytes of memory, and with the class that `class` finds for every packet and what was
/// read of it; packets of different classes are of different flows.
///
/// With `by_tuple` the caller promises that packets of one five-tuple are of one class, unless they are ICMPv6. Where
/// five-tuples are the keys, `class` is then asked once for each of them, and for every packet of ICMPv6 or without a
/// flow.
///
/// # Errors
/// It does not fit.
pub fn load_by_class(
    reader: &mut CaptureReader<'_>,
    kind: KeyKind,
    room: u64,
    by_tuple: bool,
    class: impl Fn(&Record<'_>, &Result<IpPacket, NonFlow>) -> u16,
) -> Result<Packets, TooLarge> {
    let mut packets = Packets::default();
    let mut start = Origin::default();
    while let Some(record) = reader.next_record() {
        let time = start.relative(record.time);
        let parsed = parse(record.link, record.data);
        let key = parsed.map(|p| kind.key(&p.tuple));
        let size = wire_length(record.data.len(), record.original_len);
        let class = || class(&record, &parsed);
        let flow = match key {
            Ok(FlowKey::FiveTuple(tuple)) if by_tuple && tuple.protocol != ICMP_V6 => {
                packets.flows.add_by_key(key.ok(), time, size, class)
            }
            _ => packets.flows.add_of_class(key.ok(), class(), time, size),
        };
        packets.push(time, key, flow, size);
        let taken = || packets.arrivals.memory() as u64 + packets.flows.memory(BETWEEN_LOOKS);
        if packets.report.records.is_multiple_of(BETWEEN_LOOKS) && taken() > room {
            return Err(TooLarge { packets: packets.report.records, flows: packets.flows.len() });
        }
    }
    packets.report.finish(reader);
    Ok(packets)
}

/// The time of the first packet that has one.
#[derive(Default)]
pub(crate) struct Origin(Option<Time>);

impl Origin {
    /// The time since then; zero for packets before it.
    pub(crate) fn relative(&mut self, time: Option<Time>) -> Time {
        self.0 = self.0.or(time);
        time.zip(self.0).map_or(Time::ZERO, |(time, origin)| Time::ZERO + (time - origin))
    }
}
