//! Virtual time of a fluid that serves its flows in proportion to their weights.

use dovetail_units::Weight;

use super::PER_NANO;
use crate::queues::IndexedHeap;

/// The virtual time V of a fluid server: `dV = work / (sum of the weights of the active flows)`.
///
/// A flow may have an end, the virtual time at which it ceases to be active. The arithmetic is exact: work that is too little for a
/// tick is kept, in units that do not depend on the weights.
#[derive(Clone, Debug, Default)]
pub struct FluidClock {
    virtual_time: u64,
    /// Work not in V yet, in ticks times thousandths of weight; less than the load of the last step.
    rest: u64,
    /// Sum of the weights of the active flows, in thousandths.
    load: u64,
    /// Active flows by their ends.
    ends: IndexedHeap<u64>,
}

impl FluidClock {
    /// V in ticks.
    pub fn virtual_time(&self) -> u64 {
        self.virtual_time
    }

    /// The flow is active until V reaches `end`. It was active before if it had an end or `was_active`. O(log n).
    pub fn end_at(&mut self, flow: u32, end: u64, weight: Weight, was_active: bool) {
        if !was_active && self.ends.get(flow).is_none() {
            self.load += u64::from(weight.as_milli());
        }
        self.ends.set(flow, end);
    }

    /// The flow is active without end from now on. O(log n).
    pub fn join(&mut self, flow: u32, weight: Weight) {
        match self.ends.get(flow) {
            Some(_) => self.ends.remove(flow),
            None => self.load += u64::from(weight.as_milli()),
        }
    }

    /// The active flow ceases to be so. O(log n).
    pub fn leave(&mut self, flow: u32, weight: Weight) {
        self.ends.remove(flow);
        self.load = self.load.saturating_sub(u64::from(weight.as_milli()));
    }

    /// Whether the flow has an end before it.
    pub fn has_end(&self, flow: u32) -> bool {
        self.ends.get(flow).is_some()
    }

    /// An active flow's weight was `old`.
    pub fn reweigh(&mut self, old: Weight, new: Weight) {
        self.load = self.load.saturating_sub(u64::from(old.as_milli())) + u64::from(new.as_milli());
    }

    /// Do `nanos` of work. Flows whose ends are reached on the way leave. O(log n) for each of them.
    pub fn advance(&mut self, nanos: u64, weight: impl Fn(u32) -> Weight) {
        let mut work = u128::from(nanos) * u128::from(PER_NANO as u64) + u128::from(self.rest);
        while let Some((end, flow)) = self.ends.peek() {
            let needed = u128::from(end.saturating_sub(self.virtual_time)) * u128::from(self.load);
            if needed > work {
                break;
            }
            work -= needed;
            self.virtual_time = self.virtual_time.max(end);
            self.leave(flow, weight(flow));
        }
        let (ticks, rest) = divide(work, self.load);
        self.virtual_time = self.virtual_time.saturating_add(ticks);
        self.rest = rest;
    }

    /// V is at least `virtual_time`; flows whose ends are passed leave. O(log n) for each of them.
    pub fn jump(&mut self, virtual_time: u64, weight: impl Fn(u32) -> Weight) {
        self.virtual_time = self.virtual_time.max(virtual_time);
        while let Some((_, flow)) = self.ends.peek().filter(|&(end, _)| end <= self.virtual_time) {
            self.leave(flow, weight(flow));
        }
    }

    /// Every flow with an end comes to it at once. O(log n) for each of them.
    pub fn end_all(&mut self, weight: impl Fn(u32) -> Weight) {
        while let Some((end, _)) = self.ends.peek() {
            self.jump(end, &weight);
        }
        self.rest = 0;
    }

    /// Lower V and all ends.
    pub fn lower(&mut self, ticks: u64) {
        self.virtual_time = self.virtual_time.saturating_sub(ticks);
        self.ends.rekey(|end| end.saturating_sub(ticks));
    }
}

/// Quotient and remainder; nothing is left of work for nobody.
fn divide(work: u128, load: u64) -> (u64, u64) {
    match (u64::try_from(work), load) {
        (_, 0) => (0, 0),
        (Ok(work), load) => (work / load, work % load),
        (Err(_), load) => {
            let load = u128::from(load);
            (u64::try_from(work / load).unwrap_or(u64::MAX), (work % load) as u64)
        }
    }
}
