//! The packets of a run that are in the system.

use dovetail_sched::Ticket;

use crate::recorder::SimPacket;

/// A packet in the pipeline: its place among all [`Packets`], and the ticket that the scheduler at the entrance gave.
#[derive(Clone, Copy)]
pub(crate) struct Job<const M: usize> {
    pub packet: u32,
    pub ticket: Ticket<M>,
}

/// Packets in the system, at places that are used again.
#[derive(Default)]
pub(crate) struct Packets<const M: usize> {
    packets: Vec<SimPacket<M>>,
    free: Vec<u32>,
}

impl<const M: usize> Packets<M> {
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
