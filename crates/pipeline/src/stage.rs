//! What stands where: servers, buffers, packets on their way.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::no_wait::NoWait;

/// How many packets may wait in front of a resource, and what becomes of one that finds no room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// The most packets that wait; `None` is no limit.
    pub packets: Option<u32>,
    /// Whether what finds no room is lost; else it stays on its server, which can do nothing else meanwhile.
    pub drops: bool,
}

/// One resource at work.
#[derive(Debug)]
pub struct Stage<J> {
    /// What every server holds: a packet in service, or one that is finished and finds no room downstream.
    servers: Vec<Option<J>>,
    idle: Vec<u32>,
    /// Servers whose packets are finished, in the order in which they finished.
    finished: VecDeque<u32>,
    /// What waits in front of the servers in order of arrival.
    pub(crate) buffer: VecDeque<J>,
    capacity: usize,
    pub(crate) drops: bool,
    is_open: bool,
}

impl<J> Stage<J> {
    /// With so many servers, all idle, behind this buffer.
    pub fn new(servers: u32, buffer: Buffer) -> Self {
        let mut stage = Self {
            servers: (0..servers).map(|_| None).collect(),
            idle: (0..servers).rev().collect(),
            finished: VecDeque::new(),
            buffer: VecDeque::new(),
            capacity: 0,
            drops: false,
            is_open: true,
        };
        stage.set_buffer(buffer);
        stage
    }

    /// The buffer is another one from now on. What waits stays.
    pub fn set_buffer(&mut self, buffer: Buffer) {
        self.capacity = buffer.packets.map_or(usize::MAX, |packets| packets as usize);
        self.drops = buffer.drops;
    }

    /// A closed resource starts no packet.
    pub fn set_open(&mut self, is_open: bool) {
        self.is_open = is_open;
    }

    /// Whether a packet could start now.
    #[inline]
    pub fn has_idle(&self) -> bool {
        self.is_open && !self.idle.is_empty()
    }

    /// The packets on the servers, those among them that are finished included.
    pub fn on_servers(&self) -> impl Iterator<Item = &J> {
        self.servers.iter().flatten()
    }

    /// As [`on_servers`](Self::on_servers), to be changed.
    pub fn on_servers_mut(&mut self) -> impl Iterator<Item = &mut J> {
        self.servers.iter_mut().flatten()
    }

    /// Packets that wait in the buffer, in order of arrival.
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// Takes all packets off the servers.
    pub fn clear_servers(&mut self) -> impl Iterator<Item = J> {
        self.finished.clear();
        self.idle = (0..self.servers.len() as u32).rev().collect();
        self.servers.iter_mut().filter_map(Option::take)
    }

    /// Whether `waiting` packets leave room for one more, on an idle server if nowhere else.
    #[inline]
    pub(crate) fn has_room_beside(&self, waiting: usize) -> bool {
        let idle = if self.is_open { self.idle.len() } else { 0 };
        waiting < self.capacity.saturating_add(idle)
    }

    #[inline]
    pub(crate) fn has_limit(&self) -> bool {
        self.capacity != usize::MAX
    }

    /// The server that takes the next packet.
    #[inline]
    pub(crate) fn next_idle(&self) -> Option<u32> {
        self.idle.last().copied()
    }

    /// Put a packet on the server that [`next_idle`](Self::next_idle) has named.
    #[inline]
    pub(crate) fn occupy(&mut self, job: J) {
        if let Some(server) = self.idle.pop() {
            self.servers[server as usize] = Some(job);
        }
    }

    #[inline]
    pub(crate) fn take(&mut self, server: u32) -> Option<J> {
        self.servers[server as usize].take()
    }

    /// The server's packet is finished, and stays on it until there is room downstream.
    #[inline]
    pub(crate) fn keep(&mut self, server: u32, job: J) {
        self.servers[server as usize] = Some(job);
        self.finished.push_back(server);
    }

    /// The server, whose packet was [taken](Self::take), is idle.
    #[inline]
    pub(crate) fn release(&mut self, server: u32) {
        self.idle.push(server);
    }

    /// Whether a packet is finished and on its server yet.
    #[inline]
    pub(crate) fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// The packet that has been finished for longest.
    #[inline]
    pub(crate) fn first_finished(&self) -> Option<&J> {
        self.servers[*self.finished.front()? as usize].as_ref()
    }

    /// Take that packet off its server, which is idle then.
    #[inline]
    pub(crate) fn take_finished(&mut self) -> Option<J> {
        let server = self.finished.pop_front()?;
        let job = self.take(server)?;
        self.release(server);
        Some(job)
    }
}

/// The resources of a box at work, and what is on its way through them.
#[derive(Debug)]
pub struct Resources<const M: usize, J> {
    /// The resources, in the order in which packets pass them.
    pub stages: [Stage<J>; M],
    /// The entrance, if packets must not wait between resources.
    pub no_wait: Option<NoWait<M, J>>,
    /// Whether no packet goes past a resource between the first and the last.
    pub in_line: bool,
    /// By resource between the first and the last, and flow: packets that are on it or wait for it.
    present: [Vec<u32>; M],
}

impl<const M: usize, J> Resources<M, J> {
    /// Empty, with waiting between resources as the stages allow it.
    pub fn new(stages: [Stage<J>; M]) -> Self {
        Self { stages, no_wait: None, in_line: false, present: [const { Vec::new() }; M] }
    }

    /// Where a packet of the flow that comes to resource `from` next waits or is served. All packets pass the last
    /// resource. O(M).
    #[inline]
    pub fn stop(&self, from: usize, flow: u32, needs_nothing: impl Fn(usize) -> bool) -> usize {
        if self.in_line || self.no_wait.is_some() {
            return from;
        }
        let is_alone = |r: usize| self.present[r].get(flow as usize).is_none_or(|&present| present == 0);
        let passes = |r: usize| r + 1 < M && needs_nothing(r) && is_alone(r);
        (from..M).find(|&r| !passes(r)).unwrap_or(from)
    }

    /// Whether a packet that needs nothing on resource 0 can go past it, where `takes` says of each resource whether it
    /// takes one more packet.
    #[inline]
    pub fn may_bypass(
        &self,
        takes: &[bool; M],
        flow: u32,
        needs_nothing: impl Fn(usize) -> bool,
        flow_of: impl Fn(&J) -> u32,
    ) -> bool {
        takes[self.stop(1, flow, needs_nothing)] && !self.stages[0].on_servers().any(|job| flow_of(job) == flow)
    }

    /// A packet of the flow comes to a resource.
    #[inline]
    pub(crate) fn came(&mut self, resource: usize, flow: u32) {
        if resource > 0 && resource + 1 < M {
            let present = &mut self.present[resource];
            if present.len() <= flow as usize {
                present.resize(flow as usize + 1, 0);
            }
            present[flow as usize] += 1;
        }
    }

    /// A packet of the flow has left a resource.
    #[inline]
    pub fn went(&mut self, resource: usize, flow: u32) {
        if resource > 0
            && resource + 1 < M
            && let Some(present) = self.present[resource].get_mut(flow as usize)
        {
            *present = present.saturating_sub(1);
        }
    }
}
