//! The order in which packets enter the pipeline.

use dovetail_sim::{Recorder, SimPacket};
use dovetail_units::Time;

/// Numbers the first packets of a run in the order in which the scheduler hands them out. By their times alone, those
/// that bypass the first resource at one instant cannot be told from one that starts there before or after them.
pub struct Entrances {
    limit: usize,
    entered: u64,
    /// Of packet after packet, in order of arrival.
    order: Vec<Option<u64>>,
}

impl Entrances {
    /// Of the first `limit` packets.
    pub fn new(limit: usize) -> Self {
        Self { limit, entered: 0, order: Vec::new() }
    }

    /// The number of each packet that entered, in order of arrival; it may end before the packets do.
    pub fn into_order(self) -> Vec<Option<u64>> {
        self.order
    }

    fn enters(&mut self, number: u64) {
        let Some(at) = usize::try_from(number).ok().filter(|&at| at < self.limit) else { return };
        if self.order.len() <= at {
            self.order.resize(at + 1, None);
        }
        self.order[at] = Some(self.entered);
        self.entered += 1;
    }
}

impl<const M: usize> Recorder<M> for Entrances {
    fn bypassed(&mut self, now: Time, packet: &SimPacket<M>, resource: usize) {
        self.started(now, packet, resource, 0);
    }

    fn started(&mut self, _now: Time, packet: &SimPacket<M>, resource: usize, _server: u32) {
        if resource == 0 {
            self.enters(packet.number);
        }
    }
}
