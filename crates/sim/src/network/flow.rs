//! A TCP flow and its own ways: to the first hop, and back from its receiver.

use dovetail_tcp::{Receiver, Sender};
use dovetail_units::{Duration, Time};

use super::calendar::WayId;
use super::description::Class;
use super::server::Transmitter;

/// A flow's round trip, and the parts of its way that no hop is on.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// Two-way propagation delay.
    pub rtt: Duration,
    /// To the first hop.
    pub before: WayId,
    /// From the receiver.
    pub back: WayId,
}

/// Delays before the first hop, and from the last one to the receiver and back to the sender, of a flow with this round
/// trip over hops that make up `way` of it.
///
/// A quarter of the round trip, less half of `way`, lies before the first hop; what lies behind the last one is put on
/// the way back, since nothing happens there.
pub(super) fn delays(rtt: Duration, way: Duration) -> [Duration; 2] {
    let before = rtt.divided_by(2).saturating_sub(way).divided_by(2);
    [before, rtt.saturating_sub(way).saturating_sub(before)]
}

pub(super) struct Connection {
    pub sender: Sender,
    pub receiver: Receiver,
    pub class: u32,
    /// Which traffic it is of.
    pub traffic: u32,
    /// How many flows of any traffic started before it.
    pub number: u64,
    pub reach: Reach,
    /// Packets and ACKs between sender and receiver.
    pub under_way: u32,
    access: Option<Transmitter>,
    /// When the access link is idle again.
    access_idle: Time,
    /// Whether the flow lives; its place may be used again when it does not.
    pub lives: bool,
    /// Of the segments that the receiver was asked about before counting began, those that come to it after.
    pub past_warm_up: u64,
    /// Of all of them, those that come to it after the end.
    pub past_end: u64,
    /// Segments that the receiver had when counting began.
    counted_from: u64,
    /// Timeouts and retransmissions of the sender then.
    before: [u64; 2],
}

impl Connection {
    /// Of traffic number `traffic`, whose class is this one.
    pub fn new(sender: Sender, traffic: (u32, u32), number: u64, reach: Reach, described: &Class) -> Self {
        let (traffic, class) = traffic;
        Self {
            sender,
            receiver: Receiver::new(described.acks),
            class,
            traffic,
            number,
            reach,
            under_way: 0,
            access: described.access.map(Transmitter::new),
            access_idle: Time::ZERO,
            lives: true,
            past_warm_up: 0,
            past_end: 0,
            counted_from: 0,
            before: [0; 2],
        }
    }

    /// When a packet that is sent now has left the access link, behind what it is still sending.
    #[inline]
    pub fn leaves_access(&mut self, now: Time, bytes: u32) -> Time {
        let Some(access) = &mut self.access else { return now };
        self.access_idle = self.access_idle.max(now) + access.time(bytes);
        self.access_idle
    }

    /// Whether it lives, but will do nothing more.
    #[inline]
    pub fn is_through(&self) -> bool {
        self.lives && self.under_way == 0 && self.sender.is_done()
    }

    /// Data segments that the receiver has had, each once, in order or not: what a resource served before counting
    /// began never counts after.
    pub fn delivered_in_all(&self) -> u64 {
        self.receiver.stats().distinct - self.past_end
    }

    /// Counting begins.
    pub fn count_from_now(&mut self) {
        self.counted_from = self.receiver.stats().distinct - self.past_warm_up;
        self.before = [self.sender.stats().timeouts, self.sender.stats().retransmitted];
    }

    /// The same since counting began.
    pub fn delivered(&self) -> u64 {
        self.delivered_in_all() - self.counted_from
    }

    /// The flow is gone; its place is free.
    pub fn leave(&mut self) {
        self.lives = false;
    }

    pub fn timeouts(&self) -> u64 {
        self.sender.stats().timeouts.saturating_sub(self.before[0])
    }

    pub fn retransmissions(&self) -> u64 {
        self.sender.stats().retransmitted.saturating_sub(self.before[1])
    }
}
