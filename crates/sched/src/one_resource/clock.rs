//! Virtual time of a fluid that serves its flows in proportion to their weights.

use dovetail_units::Weight;

use crate::queues::TagHeap;
use crate::steps;
use crate::tag::TICK_BITS;

/// Work of a nanosecond: ticks times thousandths of weight. All the nanoseconds of a [`Time`](dovetail_units::Time) are
/// less than 2^96.
const WORK_PER_NANO: u128 = 1000 << TICK_BITS;

/// A call brings a fluid of so many flows no more than so many events ahead: 227 of 8 flows, 16 of 10^6. An event takes
/// as many steps in a heap as that is deep, and the larger the heap the longer each.
pub fn most_events(flows: usize) -> usize {
    let deep = 2 + flows.max(1).ilog2() as usize / 2;
    (2048 / (deep * deep)).min(256)
}

/// The virtual time V of a fluid server: `dV = work / (sum of the weights of the active flows)`.
///
/// A flow may have an end, the virtual time at which it ceases to be active. The arithmetic is exact: work that is too
/// little for a tick is kept, in units that do not depend on the weights.
///
/// No call passes more than [`most_events`] ends. By [`advance`](Self::advance) the work that is left then waits for
/// later calls, and V with it: the clock [lags](Self::lags).
#[derive(Clone, Debug)]
pub struct FluidClock {
    /// In ticks of 2^-22 ns.
    virtual_time: u128,
    /// Work not in V yet, in ticks times thousandths of weight; unless the clock lags less than the load, or than what
    /// the last step left.
    work: u128,
    /// Work that is done for flows that were removed, before all that is to come; in the same units.
    owed: u128,
    /// Sum of the weights of the active flows, in thousandths.
    load: u64,
    /// Active flows by their ends.
    ends: TagHeap,
    /// Sum over these of the end times the weight, modulo 2^128. Of all of them [`left`](Self::left) needs the
    /// distances from V only, and their sum fits: 2^72 for each of the longest packets in the fluid.
    weighted_ends: u128,
    /// How often the clock was cleared.
    epoch: u64,
    /// For tests: that many ends in a call.
    events: Option<usize>,
    /// The most work that was late after a call.
    worst_lag: u128,
}

impl Default for FluidClock {
    fn default() -> Self {
        let ends = TagHeap::default();
        Self {
            virtual_time: 0,
            work: 0,
            owed: 0,
            load: 0,
            ends,
            weighted_ends: 0,
            epoch: 0,
            events: None,
            worst_lag: 0,
        }
    }
}

impl FluidClock {
    /// For tests: one that passes so many ends in a call.
    pub fn passing(events: usize) -> Self {
        Self { events: Some(events.max(1)), ..Self::default() }
    }

    fn events(&self) -> usize {
        self.events.unwrap_or_else(|| most_events(self.ends.len()))
    }

    /// V in ticks.
    pub fn virtual_time(&self) -> u128 {
        self.virtual_time
    }

    /// How often the clock was [cleared](Self::clear). Virtual times of another epoch than this one are past.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The flow is active until V reaches `end`. It was active before if it had an end or `was_active`. O(log n).
    pub fn end_at(&mut self, flow: u32, end: u128, weight: Weight, was_active: bool) {
        match self.ends.get(flow) {
            Some(before) => self.count_end(before, weight, false),
            None if !was_active => self.load += u64::from(weight.as_milli()),
            None => (),
        }
        self.count_end(end, weight, true);
        self.ends.set(flow, end);
    }

    /// The flow is active without end from now on. O(log n).
    pub fn join(&mut self, flow: u32, weight: Weight) {
        match self.ends.get(flow) {
            Some(end) => self.remove_end(flow, end, weight),
            None => self.load += u64::from(weight.as_milli()),
        }
    }

    /// The active flow ceases to be so. O(log n).
    pub fn leave(&mut self, flow: u32, weight: Weight) {
        if let Some(end) = self.ends.get(flow) {
            self.remove_end(flow, end, weight);
        }
        self.load = self.load.saturating_sub(u64::from(weight.as_milli()));
    }

    /// The active flow is removed, and was served up to the virtual time `finish`: what it was served early is worked
    /// off before the clock goes on, as if it stayed. O(log n).
    pub fn abandon(&mut self, flow: u32, finish: u128, weight: Weight) {
        let early = finish.saturating_sub(self.virtual_time);
        self.owed = self.owed.saturating_add(early.saturating_mul(u128::from(weight.as_milli())));
        self.leave(flow, weight);
    }

    /// The flow's end, if it has one before it.
    pub fn end(&self, flow: u32) -> Option<u128> {
        self.ends.get(flow)
    }

    /// The weight of an active flow without end was `old`.
    pub fn reweigh(&mut self, old: Weight, new: Weight) {
        self.load = self.load.saturating_sub(u64::from(old.as_milli())) + u64::from(new.as_milli());
    }

    /// Do `nanos` of work, as far as [`most_events`] ends; the rest later. Flows whose ends are reached on the way
    /// leave. O(log n) for each of them.
    pub fn advance(&mut self, nanos: u64, weight: impl Fn(u32) -> Weight) {
        let work = u128::from(nanos) * WORK_PER_NANO;
        let for_removed = work.min(self.owed);
        self.owed -= for_removed;
        self.work = self.work.saturating_add(work - for_removed);
        for _ in 0..self.events() {
            let Some((end, flow)) = self.first_reached() else { return self.work_off() };
            self.work -= self.until(end);
            self.virtual_time = self.virtual_time.max(end);
            self.leave(flow, weight(flow));
        }
        if self.lags() {
            self.worst_lag = self.worst_lag.max(self.work);
        } else {
            self.work_off();
        }
    }

    /// Whether an end is reached by work that waits for later calls.
    pub fn lags(&self) -> bool {
        self.first_reached().is_some()
    }

    /// By how many nanoseconds of work the clock lags, and the most that it ever did after a call.
    pub fn lag_ns(&self) -> [f64; 2] {
        let now = if self.lags() { self.work } else { 0 };
        [now, self.worst_lag].map(|work| work as f64 / WORK_PER_NANO as f64)
    }

    /// Whether the work that waits is enough for all active flows, if all of these have ends, to come to them.
    pub fn has_emptied(&self) -> bool {
        self.work >= self.left()
    }

    /// [`advance`](Self::advance) with all work done now: V may pass the ends of flows that leave in later calls, and
    /// goes more slowly as long as they count.
    pub fn advance_past(&mut self, nanos: u64, weight: impl Fn(u32) -> Weight) {
        self.advance(nanos, weight);
        self.work_off();
    }

    /// V is at least `virtual_time`. Of the flows whose ends are passed [`most_events`] leave, the others in later
    /// calls.
    pub fn jump(&mut self, virtual_time: u128, weight: impl Fn(u32) -> Weight) {
        self.virtual_time = self.virtual_time.max(virtual_time);
        for _ in 0..self.events() {
            let Some((_, flow)) = self.ends.peek().filter(|&(end, _)| end <= self.virtual_time) else { return };
            steps::take(1);
            self.leave(flow, weight(flow));
        }
    }

    /// Nobody is active any more, all of whom had ends, and no work waits: V stands, and a new epoch begins. O(1).
    pub fn clear(&mut self) {
        self.ends.clear();
        (self.load, self.work, self.owed, self.weighted_ends) = (0, 0, 0, 0);
        self.epoch += 1;
    }

    /// Every flow with an end comes to it at once, if they are few; else the clock is [cleared](Self::clear).
    pub fn end_all(&mut self, weight: impl Fn(u32) -> Weight) {
        for _ in 0..self.events() {
            let Some((end, flow)) = self.ends.peek() else { break };
            self.virtual_time = self.virtual_time.max(end);
            self.leave(flow, weight(flow));
        }
        (self.work, self.owed) = (0, 0);
        if !self.ends.is_empty() {
            self.clear();
        }
    }

    /// The first end, and whose, if the work suffices for it.
    fn first_reached(&self) -> Option<(u128, u32)> {
        steps::take(1);
        self.ends.peek().filter(|&(end, _)| self.until(end) <= self.work)
    }

    /// The work until this virtual time. What does not fit is more than there can be.
    fn until(&self, end: u128) -> u128 {
        end.saturating_sub(self.virtual_time).saturating_mul(u128::from(self.load))
    }

    /// The work until all ends: sum over the flows of (end - V) weight.
    fn left(&self) -> u128 {
        self.weighted_ends.wrapping_sub(self.virtual_time.wrapping_mul(u128::from(self.load)))
    }

    fn remove_end(&mut self, flow: u32, end: u128, weight: Weight) {
        self.count_end(end, weight, false);
        self.ends.remove(flow);
    }

    fn count_end(&mut self, end: u128, weight: Weight, joins: bool) {
        let weighted = end.wrapping_mul(u128::from(weight.as_milli()));
        self.weighted_ends = match joins {
            true => self.weighted_ends.wrapping_add(weighted),
            false => self.weighted_ends.wrapping_sub(weighted),
        };
    }

    /// The work goes into V but for less than a tick; nothing is left of work for nobody.
    fn work_off(&mut self) {
        let (ticks, rest) = match (u64::try_from(self.work), self.load) {
            (_, 0) => (0, 0),
            (Ok(work), load) => (u128::from(work / load), u128::from(work % load)),
            (Err(_), load) => (self.work / u128::from(load), self.work % u128::from(load)),
        };
        self.virtual_time = self.virtual_time.saturating_add(ticks);
        self.work = rest;
    }
}
