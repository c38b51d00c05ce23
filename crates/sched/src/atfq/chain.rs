//! A flow's finish timestamps.

use dovetail_units::{Duration, ResourceVec};

use super::active_time::growth;
use crate::queues::{FlowRecord, NIL};

/// Timestamps count active time divided by the weight in units of 2^-12 ns (a quarter of a picosecond).
pub const BITS: u32 = 12;

/// Where a flow's timestamps stand. Its packets that are in a loop come before those that are not.
#[derive(Clone, Copy, Debug)]
pub struct Chain<const M: usize> {
    /// F of the last packet that entered a loop.
    pub finish: u64,
    /// The times of that packet, if there was one.
    pub last: Option<ResourceVec<M>>,
    /// The flow's first packet that is in no loop, or [`NIL`].
    pub first_outside: u32,
    /// F of a packet is at least this: what equation (1) maps a flow to.
    pub floor: u64,
    /// By how much the floor last raised an F.
    pub slack: u64,
}

impl<const M: usize> Default for Chain<M> {
    fn default() -> Self {
        Self { finish: 0, last: None, first_outside: NIL, floor: 0, slack: 0 }
    }
}

/// What a packet of these times is charged after the flow's last one, in ns: at least one, so that no flow of free packets starves others. The very
/// first packet is free.
pub fn charge<const M: usize>(last: Option<&ResourceVec<M>>, cost: &ResourceVec<M>) -> u64 {
    last.map_or(0, |last| growth(last, cost).max(1))
}

/// A time of a flow as virtual time, not less than one unit if it is anything.
pub fn ticks<const M: usize>(record: &FlowRecord<Chain<M>>, nanos: u64) -> u64 {
    record.virtual_time(Duration::from_nanos(nanos), BITS).max(u64::from(nanos > 0))
}
