//! What an observer of a run hears.

use dovetail_sched::DropReason;
use dovetail_units::{Duration, ResourceVec, Time};

/// A packet of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SimPacket<const M: usize> {
    /// Counts all packets of the run from 0 in order of arrival.
    pub number: u64,
    /// When it came.
    pub arrival: Time,
    /// Its true time on one server of each resource.
    pub cost: ResourceVec<M>,
    /// Index of its flow in the workload.
    pub flow: u32,
    /// Its length in bytes when it comes.
    pub size: u32,
    /// Its length from the second resource on.
    pub resized: u32,
    /// Whether it needs nothing on the first of several resources, and goes past it once the scheduler lets it.
    pub bypasses: bool,
}

/// Hears of every packet as it happens. Every method may be left out.
///
/// Calls come in order of time; at one instant: ends of service, then arrivals, then starts of service that the
/// scheduler decides. Every packet is first `admitted` or `refused`; an admitted one is `started` and `finished` on
/// resource after resource, or has `bypassed` one, until it is `delivered` or `dropped`, or the run ends.
pub trait Recorder<const M: usize> {
    /// The scheduler took the packet into its queue.
    fn admitted(&mut self, _now: Time, _packet: &SimPacket<M>) {}
    /// The scheduler did not take the packet.
    fn refused(&mut self, _now: Time, _packet: &SimPacket<M>, _reason: DropReason) {}
    /// The packet needs nothing on this resource, not the last, and goes on without having been on a server of it.
    fn bypassed(&mut self, _now: Time, _packet: &SimPacket<M>, _resource: usize) {}
    /// Service begins on a server of the resource.
    fn started(&mut self, _now: Time, _packet: &SimPacket<M>, _resource: usize, _server: u32) {}
    /// Service ends; the packet may stay on the server until there is room downstream.
    ///
    /// `predicted` is what was predicted of its time on one server when it was last put into a scheduler: on its
    /// arrival, or in front of a further resource. `None` if schedulers are told the truth of all flows.
    fn finished(
        &mut self,
        _now: Time,
        _packet: &SimPacket<M>,
        _resource: usize,
        _server: u32,
        _predicted: Option<Duration>,
    ) {
    }
    /// The packet has left the last resource.
    fn delivered(&mut self, _now: Time, _packet: &SimPacket<M>) {}
    /// The packet found the buffer before the resource full; or the scheduler before the resource dropped it while it
    /// waited.
    fn dropped(&mut self, _now: Time, _packet: &SimPacket<M>, _resource: usize) {}
    /// The run is over; packets may still be on their way (horizon, cancelled).
    fn ended(&mut self, _now: Time) {}
}

/// Records nothing, at no cost.
impl<const M: usize> Recorder<M> for () {}

/// Both hear everything.
impl<const M: usize, A: Recorder<M>, B: Recorder<M>> Recorder<M> for (A, B) {
    fn admitted(&mut self, now: Time, packet: &SimPacket<M>) {
        self.0.admitted(now, packet);
        self.1.admitted(now, packet);
    }
    fn refused(&mut self, now: Time, packet: &SimPacket<M>, reason: DropReason) {
        self.0.refused(now, packet, reason);
        self.1.refused(now, packet, reason);
    }
    fn bypassed(&mut self, now: Time, packet: &SimPacket<M>, resource: usize) {
        self.0.bypassed(now, packet, resource);
        self.1.bypassed(now, packet, resource);
    }
    fn started(&mut self, now: Time, packet: &SimPacket<M>, resource: usize, server: u32) {
        self.0.started(now, packet, resource, server);
        self.1.started(now, packet, resource, server);
    }
    fn finished(
        &mut self,
        now: Time,
        packet: &SimPacket<M>,
        resource: usize,
        server: u32,
        predicted: Option<Duration>,
    ) {
        self.0.finished(now, packet, resource, server, predicted);
        self.1.finished(now, packet, resource, server, predicted);
    }
    fn delivered(&mut self, now: Time, packet: &SimPacket<M>) {
        self.0.delivered(now, packet);
        self.1.delivered(now, packet);
    }
    fn dropped(&mut self, now: Time, packet: &SimPacket<M>, resource: usize) {
        self.0.dropped(now, packet, resource);
        self.1.dropped(now, packet, resource);
    }
    fn ended(&mut self, now: Time) {
        self.0.ended(now);
        self.1.ended(now);
    }
}

/// Records if there is a recorder.
impl<const M: usize, A: Recorder<M>> Recorder<M> for Option<A> {
    fn admitted(&mut self, now: Time, packet: &SimPacket<M>) {
        self.iter_mut().for_each(|r| r.admitted(now, packet));
    }
    fn refused(&mut self, now: Time, packet: &SimPacket<M>, reason: DropReason) {
        self.iter_mut().for_each(|r| r.refused(now, packet, reason));
    }
    fn bypassed(&mut self, now: Time, packet: &SimPacket<M>, resource: usize) {
        self.iter_mut().for_each(|r| r.bypassed(now, packet, resource));
    }
    fn started(&mut self, now: Time, packet: &SimPacket<M>, resource: usize, server: u32) {
        self.iter_mut().for_each(|r| r.started(now, packet, resource, server));
    }
    fn finished(
        &mut self,
        now: Time,
        packet: &SimPacket<M>,
        resource: usize,
        server: u32,
        predicted: Option<Duration>,
    ) {
        self.iter_mut().for_each(|r| r.finished(now, packet, resource, server, predicted));
    }
    fn delivered(&mut self, now: Time, packet: &SimPacket<M>) {
        self.iter_mut().for_each(|r| r.delivered(now, packet));
    }
    fn dropped(&mut self, now: Time, packet: &SimPacket<M>, resource: usize) {
        self.iter_mut().for_each(|r| r.dropped(now, packet, resource));
    }
    fn ended(&mut self, now: Time) {
        self.iter_mut().for_each(|r| r.ended(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A million packets may wait. The table that they are in marks its free places where a packet has its `bool`.
    #[test]
    fn a_packet_and_whether_its_place_is_free_take_48_bytes() {
        assert_eq!(size_of::<Option<SimPacket<2>>>(), 48);
    }
}
