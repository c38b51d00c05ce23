//! Flows, found by what tells them apart.

use ahash::RandomState;
use dovetail_units::Time;
use dovetail_wire::{FlowKey, PackedKey};
use hashbrown::HashTable;

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
    flows: Vec<Kept>,
    /// When their first packets arrived.
    firsts: Vec<Time>,
}

/// What every packet of a flow reads and changes: one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Kept {
    key: PackedKey,
    packets: u64,
    bytes: u64,
    last: Time,
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
    #[inline]
    pub fn add_of_class(&mut self, key: Option<FlowKey>, class: u16, time: Time, size: u32) -> u32 {
        let key = PackedKey::new(key, class);
        self.count(key, |other| other == key, || key, time, size)
    }

    /// As [`add`](Self::add); a new flow, and with it all packets of this key, is of the class that `class` says. A key
    /// is counted by this or by [`add_of_class`](Self::add_of_class), not by both.
    #[inline]
    pub fn add_by_key(&mut self, key: Option<FlowKey>, time: Time, size: u32, class: impl FnOnce() -> u16) -> u32 {
        let key = PackedKey::new(key, 0);
        self.count(key, |other| other.without_class() == key, || key.with_class(class()), time, size)
    }

    #[inline]
    fn count(
        &mut self,
        key: PackedKey,
        is_same: impl Fn(PackedKey) -> bool,
        new: impl FnOnce() -> PackedKey,
        time: Time,
        size: u32,
    ) -> u32 {
        let Self { index, hasher, flows, firsts } = self;
        let is_same = |&flow: &u32| is_same(flows[flow as usize].key);
        let hash_again = |&flow: &u32| hasher.hash_one(flows[flow as usize].key.without_class());
        // 2^32 flows need 300 GB: memory ends first.
        let next = flows.len() as u32;
        let flow = *index.entry(hasher.hash_one(key.without_class()), is_same, hash_again).or_insert(next).get();
        if flow == next {
            flows.push(Kept { key: new(), packets: 0, bytes: 0, last: time });
            firsts.push(time);
        }
        let kept = &mut self.flows[flow as usize];
        kept.packets += 1;
        kept.bytes += u64::from(size);
        kept.last = time;
        flow
    }

    /// The flows by number.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = FlowEntry> {
        self.flows.iter().zip(&self.firsts).map(|(&Kept { key, packets, bytes, last }, &first)| {
            let (key, class) = key.unpacked();
            FlowEntry { key, class, packets, bytes, first, last }
        })
    }

    /// How many flows.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Whether there is no flow.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Bytes of all packets.
    pub fn bytes(&self) -> u64 {
        self.flows.iter().map(|flow| flow.bytes).sum()
    }

    /// Bytes of memory that the flows take at most while so many more come, about.
    pub fn memory(&self, more: u64) -> u64 {
        // A number in the table of hashes has a byte beside it, and up to seven eighths of the places are taken.
        let place = size_of::<Kept>() + size_of::<Time>() + 2 * (size_of::<u32>() + 1);
        let there = (self.flows.capacity() * place) as u64;
        // Tables of twice the size stand beside the old ones until all flows have moved.
        let grow = self.len() as u64 + more > self.flows.capacity() as u64;
        if grow { 3 * there } else { there }
    }

    /// What tells the flows apart, and no more.
    pub fn into_keys(self) -> FlowKeys {
        FlowKeys(self.flows.into_iter().map(|flow| flow.key).collect())
    }

    /// The number of the flow with `key` (`None`: the one of packets without a flow) of class 0. O(1) on average.
    pub fn find(&self, key: Option<FlowKey>) -> Option<u32> {
        let key = PackedKey::new(key, 0);
        self.index.find(self.hasher.hash_one(key), |&flow| self.flows[flow as usize].key == key).copied()
    }
}

/// Keys and classes of flows, by number: 40 bytes each.
#[derive(Clone, Debug, Default)]
pub struct FlowKeys(Box<[PackedKey]>);

impl FlowKeys {
    /// Of the flow with this number.
    pub fn get(&self, flow: u32) -> Option<(Option<FlowKey>, u16)> {
        self.0.get(flow as usize).map(|key| key.unpacked())
    }

    /// Every flow's key, `None` for packets that belong to no flow, and its class.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Option<FlowKey>, u16)> {
        self.0.iter().map(|key| key.unpacked())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use dovetail_wire::{FiveTuple, Ports};

    use super::*;

    #[test]
    fn the_class_of_a_key_is_asked_for_once_or_tells_flows_apart() {
        let key = |dst| {
            let [src, at] = [1, 2].map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)));
            Some(FlowKey::FiveTuple(FiveTuple { src, dst: at, protocol: 6, ports: Some(Ports { src: 7, dst }) }))
        };
        let mut table = FlowTable::new();
        let by_key =
            [(80, 3), (443, 5), (80, 9)].map(|(port, class)| table.add_by_key(key(port), Time::ZERO, 1, || class));
        let apart = [4, 6, 4].map(|class| table.add_of_class(None, class, Time::ZERO, 1));
        assert_eq!((by_key, apart), ([0, 1, 0], [2, 3, 2]));
        let flows: Vec<_> = table.entries().map(|flow| (flow.key, flow.class, flow.packets)).collect();
        assert_eq!(flows, [(key(80), 3, 2), (key(443), 5, 1), (None, 4, 2), (None, 6, 1)]);
    }

    #[test]
    fn a_flow_takes_one_line() {
        assert_eq!(size_of::<Kept>(), 64);
    }
}
