//! The moving parts of a pipeline: servers, buffers, packets on their way.

use std::collections::VecDeque;

use dovetail_sched::Ticket;

use crate::pipeline::{Buffer, Resource};
use crate::recorder::SimPacket;

/// A packet in the pipeline: its place in the [`Slab`], and its ticket.
#[derive(Clone, Copy)]
pub(crate) struct Job<const M: usize> {
    pub packet: u32,
    pub ticket: Ticket<M>,
}

/// One resource at work.
pub(crate) struct Stage<const M: usize> {
    /// What every server holds: a packet in service, or one that is finished and blocked.
    servers: Vec<Option<Job<M>>>,
    idle: Vec<u32>,
    /// Servers whose packets wait for room downstream, in the order in which they finished.
    pub finished: VecDeque<u32>,
    /// What waits before the servers.
    pub buffer: VecDeque<Job<M>>,
    /// Most that may wait there.
    pub capacity: usize,
    /// Whether what finds the buffer full is dropped.
    pub dropping: bool,
}

impl<const M: usize> Stage<M> {
    pub fn new(resource: &Resource) -> Self {
        let (capacity, dropping) = match resource.buffer {
            Buffer::Unlimited => (usize::MAX, false),
            Buffer::Blocking(packets) => (packets as usize, false),
            // Packets start when they find room everywhere.
            Buffer::NoWait => (0, false),
            Buffer::Dropping(packets) => (packets as usize, true),
        };
        Self {
            servers: vec![None; resource.servers as usize],
            idle: (0..resource.servers).rev().collect(),
            finished: VecDeque::new(),
            buffer: VecDeque::new(),
            capacity,
            dropping,
        }
    }

    pub fn has_idle(&self) -> bool {
        !self.idle.is_empty()
    }

    /// Idle servers.
    pub fn idle(&self) -> usize {
        self.idle.len()
    }

    /// Put a packet on an idle server; `None` if there is none.
    pub fn occupy(&mut self, job: Job<M>) -> Option<u32> {
        let server = self.idle.pop()?;
        self.servers[server as usize] = Some(job);
        Some(server)
    }

    /// The packets on the servers.
    pub fn jobs(&self) -> impl Iterator<Item = &Job<M>> {
        self.servers.iter().flatten()
    }

    pub fn job(&self, server: u32) -> Option<Job<M>> {
        self.servers[server as usize]
    }

    /// The server's packet is finished, and stays on it until there is room downstream.
    pub fn keep(&mut self, server: u32, job: Job<M>) {
        self.servers[server as usize] = Some(job);
        self.finished.push_back(server);
    }

    /// Take the packet off the server, which is idle then.
    pub fn release(&mut self, server: u32) -> Option<Job<M>> {
        let job = self.servers[server as usize].take()?;
        self.idle.push(server);
        Some(job)
    }
}

/// Packets in the system, at places that are used again.
#[derive(Default)]
pub(crate) struct Slab<const M: usize> {
    packets: Vec<SimPacket<M>>,
    free: Vec<u32>,
}

impl<const M: usize> Slab<M> {
    pub fn new() -> Self {
        Self { packets: Vec::new(), free: Vec::new() }
    }

    /// `None` if every place that can be named is taken.
    pub fn insert(&mut self, packet: SimPacket<M>) -> Option<u32> {
        if let Some(place) = self.free.pop() {
            self.packets[place as usize] = packet;
            return Some(place);
        }
        let place = u32::try_from(self.packets.len()).ok()?;
        self.packets.push(packet);
        Some(place)
    }

    pub fn get(&self, place: u32) -> &SimPacket<M> {
        &self.packets[place as usize]
    }

    pub fn get_mut(&mut self, place: u32) -> &mut SimPacket<M> {
        &mut self.packets[place as usize]
    }

    pub fn free(&mut self, place: u32) {
        self.free.push(place);
    }
}
