//! Every packet of a (small) run.

use dovetail_sched::DropReason;
use dovetail_units::{Duration, Time};

use crate::recorder::{Recorder, SimPacket};

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketOutcome {
    /// It left the last resource.
    Delivered,
    /// The scheduler did not take it.
    Refused(DropReason),
    /// It found the buffer before this resource full, or the scheduler there dropped it while it waited.
    Dropped(u32),
    /// It was in the system when the run ended.
    Unfinished,
}

/// One packet's way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketRecord<const M: usize> {
    /// The packet.
    pub packet: SimPacket<M>,
    /// When service began on each resource; of a packet that bypassed it, when it did.
    pub started: [Option<Time>; M],
    /// When it ended; as `started` of a packet that bypassed the resource.
    pub finished: [Option<Time>; M],
    /// On which server of each resource.
    pub server: [u32; M],
    /// What became of it.
    pub outcome: PacketOutcome,
}

/// Keeps a [`PacketRecord`] of each of the first packets of a run, some 130 bytes each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketLog<const M: usize> {
    records: Vec<PacketRecord<M>>,
    limit: usize,
    truncated: bool,
}

impl<const M: usize> PacketLog<M> {
    /// Keep the first `limit` packets.
    pub fn new(limit: usize) -> Self {
        Self { records: Vec::new(), limit, truncated: false }
    }

    /// The packets in order of arrival.
    pub fn records(&self) -> &[PacketRecord<M>] {
        &self.records
    }

    /// Whether there were more packets than the limit.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    fn add(&mut self, packet: &SimPacket<M>, outcome: PacketOutcome) {
        // Packets are numbered in the order in which they arrive here.
        if self.records.len() < self.limit {
            let none = [None; M];
            self.records.push(PacketRecord { packet: *packet, started: none, finished: none, server: [0; M], outcome });
        } else {
            self.truncated = true;
        }
    }

    fn of(&mut self, packet: &SimPacket<M>) -> Option<&mut PacketRecord<M>> {
        self.records.get_mut(usize::try_from(packet.number).ok()?)
    }
}

impl<const M: usize> Recorder<M> for PacketLog<M> {
    fn admitted(&mut self, _now: Time, packet: &SimPacket<M>) {
        self.add(packet, PacketOutcome::Unfinished);
    }

    fn refused(&mut self, _now: Time, packet: &SimPacket<M>, reason: DropReason) {
        self.add(packet, PacketOutcome::Refused(reason));
    }

    fn bypassed(&mut self, now: Time, packet: &SimPacket<M>, resource: usize) {
        if let Some(record) = self.of(packet) {
            (record.started[resource], record.finished[resource]) = (Some(now), Some(now));
        }
    }

    fn started(&mut self, now: Time, packet: &SimPacket<M>, resource: usize, server: u32) {
        if let Some(record) = self.of(packet) {
            record.started[resource] = Some(now);
            record.server[resource] = server;
        }
    }

    fn finished(
        &mut self,
        now: Time,
        packet: &SimPacket<M>,
        resource: usize,
        _server: u32,
        _predicted: Option<Duration>,
    ) {
        if let Some(record) = self.of(packet) {
            record.finished[resource] = Some(now);
        }
    }

    fn delivered(&mut self, _now: Time, packet: &SimPacket<M>) {
        if let Some(record) = self.of(packet) {
            record.outcome = PacketOutcome::Delivered;
        }
    }

    fn dropped(&mut self, _now: Time, packet: &SimPacket<M>, resource: usize) {
        if let Some(record) = self.of(packet) {
            record.outcome = PacketOutcome::Dropped(resource as u32);
        }
    }
}
