//! The processing time that waits in one flow's queue, against its limit.

use dovetail_units::{Duration, ResourceVec};

use crate::contract::TimeLimit;

/// A flow's limit of waiting time, and what waits. Kept apart from the flow's record, which every packet touches: few
/// flows have one.
#[derive(Clone, Debug)]
pub(super) struct WaitingTime {
    pub limit: TimeLimit,
    /// Nanoseconds on the limit's resource.
    nanos: u128,
    /// Whether that was above the upper limit, and not yet below the lower one since.
    closed: bool,
}

impl WaitingTime {
    /// Of an open queue.
    pub fn new(limit: TimeLimit) -> Self {
        Self { limit, nanos: 0, closed: false }
    }

    /// Whether the queue takes no packets.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// A packet of these times has joined a queue, which holds so many then.
    pub fn count_in<const M: usize>(&mut self, cost: &ResourceVec<M>, packets: u32) {
        self.nanos += self.of(cost);
        self.close_or_open(packets);
    }

    /// A packet of these times has left a queue, which holds so many then.
    pub fn count_out<const M: usize>(&mut self, cost: &ResourceVec<M>, packets: u32) {
        self.nanos -= self.of(cost);
        self.close_or_open(packets);
    }

    /// Packets of these times are in a queue, which holds so many, and was `closed` before.
    pub fn recount<'a, const M: usize>(
        &mut self,
        costs: impl Iterator<Item = &'a ResourceVec<M>>,
        packets: u32,
        closed: bool,
    ) {
        self.nanos = costs.map(|cost| self.of(cost)).sum();
        self.closed = closed;
        self.close_or_open(packets);
    }

    /// Nanoseconds on the limit's resource, if it is there.
    fn of<const M: usize>(&self, cost: &ResourceVec<M>) -> u128 {
        cost.0.get(self.limit.resource).map_or(0, |time| u128::from(time.as_nanos()))
    }

    fn close_or_open(&mut self, packets: u32) {
        let nanos = |mark: Duration| u128::from(mark.as_nanos());
        let (above, below) = (self.nanos > nanos(self.limit.upper), self.nanos < nanos(self.limit.lower));
        self.closed = above || self.closed && packets > 0 && !below;
    }
}
