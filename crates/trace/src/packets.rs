//! From a capture to arrivals and flows.

use ahash::RandomState;
use dovetail_units::{Duration, Time};
use dovetail_wire::{FlowKey, IpPacket, KeyKind, NonFlow, parse, wire_length};
use hashbrown::HashTable;

use crate::capture::{CaptureReader, Damage, Record};

/// One packet of a trace, in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrives, after the first packet.
    pub time: Time,
    /// Index of its flow in the flow table.
    pub flow: u32,
    /// Its size in bytes; at least 1.
    pub size: u32,
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEntry {
    /// Its key; `None` for packets that belong to no flow.
    pub key: Option<FlowKey>,
    /// Its class, as whoever loads the capture numbers them; 0 if nobody does.
    pub class: u16,
    /// Its packets.
    pub packets: u64,
    /// Its bytes.
    pub bytes: u64,
    /// When its first packet arrived.
    pub first: Time,
    /// When its last packet arrived.
    pub last: Time,
}

/// Flows, numbered from 0 in the order in which they first appear. Adding a packet is O(1) on average, whatever keys
/// the sender of a capture chose: every table hashes them in its own way.
#[derive(Clone, Debug, Default)]
pub struct FlowTable {
    /// Numbers of flows by key and class.
    index: HashTable<u32>,
    hasher: RandomState,
    entries: Vec<FlowEntry>,
}

impl FlowTable {
    /// No flows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a packet of `size` bytes to the flow with `key`; answers its number.
    pub fn add(&mut self, key: Option<FlowKey>, time: Time, size: u32) -> u32 {
        self.add_of_class(key, 0, time, size)
    }

    /// As [`add`](Self::add); packets of different classes are of different flows.
    pub fn add_of_class(&mut self, key: Option<FlowKey>, class: u16, time: Time, size: u32) -> u32 {
        let Self { index, hasher, entries } = self;
        let is_same = |&flow: &u32| (entries[flow as usize].key, entries[flow as usize].class) == (key, class);
        let hash_again = |&flow: &u32| hasher.hash_one((entries[flow as usize].key, entries[flow as usize].class));
        // 2^32 flows need 300 GB: memory ends first.
        let next = entries.len() as u32;
        let flow = *index.entry(hasher.hash_one((key, class)), is_same, hash_again).or_insert(next).get();
        if flow == next {
            entries.push(FlowEntry { key, class, packets: 0, bytes: 0, first: time, last: time });
        }
        let entry = &mut self.entries[flow as usize];
        entry.packets += 1;
        entry.bytes += u64::from(size);
        entry.last = time;
        flow
    }

    /// The flows by number.
    pub fn entries(&self) -> &[FlowEntry] {
        &self.entries
    }

    /// How many flows.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no flow.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of the flow with `key` (`None`: the one of packets without a flow) of class 0. O(1) on average.
    pub fn find(&self, key: Option<FlowKey>) -> Option<u32> {
        let is_same = |&flow: &u32| (self.entries[flow as usize].key, self.entries[flow as usize].class) == (key, 0);
        self.index.find(self.hasher.hash_one((key, 0u16)), is_same).copied()
    }
}

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

/// A trace in memory: 16 bytes per packet and some 120 per flow.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    /// The packets in the order of the capture, which is that of their times.
    pub arrivals: Vec<Arrival>,
    /// Their flows.
    pub flows: FlowTable,
    /// Where every record of the capture went.
    pub report: Report,
}

impl Packets {
    /// Bytes of all packets.
    pub fn bytes(&self) -> u64 {
        self.flows.entries().iter().map(|f| f.bytes).sum()
    }

    /// When the last packet arrives.
    pub fn last(&self) -> Time {
        self.arrivals.last().map_or(Time::ZERO, |a| a.time)
    }

    pub(crate) fn push(&mut self, time: Time, key: Result<FlowKey, NonFlow>, class: u16, size: u32) {
        self.report.count(key.map(|_| ()));
        let flow = self.flows.add_of_class(key.ok(), class, time, size);
        self.arrivals.push(Arrival { time, flow, size });
    }

    /// Cuts every pause between two packets that is longer than this to it; answers how many there were, and the time
    /// that went. Times of [`FlowEntry`] stay as they were recorded.
    pub fn cut_pauses(&mut self, longest: Duration) -> (u64, Duration) {
        let (mut count, mut cut, mut before) = (0, Duration::ZERO, Time::ZERO);
        for arrival in &mut self.arrivals {
            let pause = arrival.time.since(before);
            before = arrival.time;
            if pause > longest {
                count += 1;
                cut += Duration::from_nanos(pause.as_nanos() - longest.as_nanos());
            }
            arrival.time = Time::from_nanos(arrival.time.as_nanos() - cut.as_nanos());
        }
        (count, cut)
    }
}

/// Reads a capture to its end. Packets that belong to no flow share one flow of their own, with key `None`; sizes are
/// original lengths. O(1) per packet on average.
pub fn load(reader: &mut CaptureReader<'_>, kind: KeyKind) -> Packets {
    load_by_class(reader, kind, |_, _| 0)
}

/// As [`load`], with the class that `class` finds for every packet and what was read of it; packets of different
/// classes are of different flows.
pub fn load_by_class(
    reader: &mut CaptureReader<'_>,
    kind: KeyKind,
    class: impl Fn(&Record<'_>, &Result<IpPacket, NonFlow>) -> u16,
) -> Packets {
    let mut packets = Packets::default();
    let mut start = Origin::default();
    while let Some(record) = reader.next_record() {
        let time = start.relative(record.time);
        let parsed = parse(record.link, record.data);
        let key = parsed.map(|p| kind.key(&p.tuple));
        packets.push(time, key, class(&record, &parsed), wire_length(record.data.len(), record.original_len));
    }
    packets.report.finish(reader);
    packets
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
