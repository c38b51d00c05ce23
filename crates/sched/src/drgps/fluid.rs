//! The DRGPS fluid in the background, kept in virtual time.
//!
//! Every backlogged flow advances at the rate of the virtual time V, so the order in which head packets end is that of their finish
//! tags, whatever the rate is: a heap of them is all that an event needs, and no flow but the one whose head ends is visited.
//!
//! The rate is `V' = 1 / max_r load_r`, `load_r = sum of w_i tbar_ir`. Time that has passed is kept as work, in units of a tick times a
//! load, and V moves by work / load in whole ticks; what is left over stays work. So nothing is rounded away, and the fluid
//! does exactly as much as time has passed.

use dovetail_units::{ResourceVec, Time, Weight};

use super::eligible::Eligible;
use crate::one_resource::{LONGEST_STEP, TICK_BITS, Tag, charged};
use crate::queues::{IndexedHeap, NIL, Queues};

/// Normalised processing times are in units of 2^-31; the dominant one is 2^31.
const ONE_BITS: u32 = 31;
/// Work of a nanosecond: ticks times thousandths of weight times 2^-31. All the nanoseconds of a [`Time`] are less than 2^121.
const WORK_PER_NANO: u128 = 1000 << (TICK_BITS + ONE_BITS);

pub(super) type FlowQueues<const M: usize, P> = Queues<M, P, DrgpsFlow<M>, u64>;

/// A flow in the fluid.
#[derive(Clone, Copy, Debug)]
pub struct DrgpsFlow<const M: usize> {
    /// The first packet that has not come to the flow's head in the fluid, or `NIL`.
    next: u32,
    /// The slot that the head packet was in. It may have been served and its slot reused, which `started` tells.
    head: u32,
    /// Waiting packets that have started in the fluid.
    pub(super) started: u32,
    /// Whether the flow is backlogged in the fluid.
    active: bool,
    /// tbar of the head packet.
    normalised: [u32; M],
    /// Finish tag of the head packet, or of the last one.
    finish: Tag,
    /// Measured less estimated service of earlier packets that the fluid has not counted, in nanoseconds.
    correction: i64,
}

impl<const M: usize> Default for DrgpsFlow<M> {
    fn default() -> Self {
        Self {
            next: NIL,
            head: NIL,
            started: 0,
            active: false,
            normalised: [0; M],
            finish: Tag::default(),
            correction: 0,
        }
    }
}

impl<const M: usize> DrgpsFlow<M> {
    pub(super) fn has_next(&self) -> bool {
        self.next != NIL
    }

    /// A packet took so many nanoseconds more than the fluid was told.
    pub(super) fn correct(&mut self, nanos: i64) {
        self.correction = self.correction.saturating_add(nanos);
    }

    /// A head packet's service in nanoseconds, with what earlier packets took more or less than estimated: at least one.
    fn corrected(&mut self, service: i64) -> i64 {
        let total = service.saturating_add(self.correction);
        self.correction = total.saturating_sub(1).min(0);
        total.max(1)
    }

    fn lower(&mut self, ticks: u64) {
        self.finish = self.finish.lowered(ticks);
    }
}

/// tbar_r = time on r / dominant time in units of 2^-31, to the nearest. A packet of no time counts as one of the first resource.
fn normalised<const M: usize>(cost: &ResourceVec<M>) -> [u32; M] {
    let dominant = cost.dominant_resource();
    let longest = cost.dominant_time().as_nanos();
    let mut parts = [0; M];
    for (r, part) in parts.iter_mut().enumerate() {
        *part = match cost[r].as_nanos() {
            time if r == dominant || (time == longest && time > 0) => 1 << ONE_BITS,
            0 => 0,
            // At most 2^31, as time < longest.
            time if longest < 1 << (64 - ONE_BITS - 1) => (((time << ONE_BITS) + longest / 2) / longest) as u32,
            time => (((u128::from(time) << ONE_BITS) + u128::from(longest / 2)) / u128::from(longest)) as u32,
        };
    }
    parts
}

/// The fluid.
#[derive(Clone, Debug)]
pub(super) struct Fluid<const M: usize> {
    /// Until when time has been counted.
    clock: Time,
    /// Time that is not in V yet.
    work: u128,
    /// How much work there must be for the first head packet to end; the largest number if none will.
    due: u128,
    /// V in ticks.
    virtual_time: u64,
    /// V when the fluid last began to serve after a rest, later than any finish before it.
    busy_since: u64,
    /// Sum over backlogged flows of weight (thousandths) times normalised time (2^-31), per resource.
    load: [u128; M],
    /// Backlogged flows by the finish tags of their head packets.
    finishes: IndexedHeap<u64>,
    rebase_at: u64,
    rebases: u32,
}

impl<const M: usize> Fluid<M> {
    pub(super) fn new(rebase_at: u64) -> Self {
        Self {
            clock: Time::ZERO,
            work: 0,
            due: u128::MAX,
            virtual_time: 0,
            busy_since: 0,
            load: [0; M],
            finishes: IndexedHeap::default(),
            rebase_at,
            rebases: 0,
        }
    }

    pub(super) fn rebases(&self) -> u32 {
        self.rebases
    }

    /// Every event until `now`.
    pub(super) fn settle<P>(&mut self, now: Time, queues: &mut FlowQueues<M, P>, eligible: &mut Eligible) {
        self.work += u128::from(now.since(self.clock).as_nanos()) * WORK_PER_NANO;
        self.clock = now;
        while self.work >= self.due {
            self.end_first(queues, eligible);
        }
        if self.finishes.is_empty() {
            self.work = 0;
        }
    }

    /// The first whole nanosecond at which a head packet has ended if nothing else happens. After the last settling.
    pub(super) fn next_event(&self) -> Time {
        let nanos = self.due.saturating_sub(self.work).div_ceil(WORK_PER_NANO);
        let at = u128::from(self.clock.as_nanos()) + nanos;
        Time::from_nanos(u64::try_from(at).unwrap_or(u64::MAX))
    }

    /// A packet has arrived at a flow without unstarted packets. Settled before.
    pub(super) fn arrive<P>(&mut self, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>, eligible: &mut Eligible) {
        let state = &mut queues.flow_mut(flow).state;
        state.next = slot;
        if state.active {
            return;
        }
        state.active = true;
        // No credit for what was too much charged before: the flow gave its claim up when it left.
        state.correction = state.correction.max(0);
        self.bring_up_to_date();
        if self.finishes.is_empty() {
            self.virtual_time = self.virtual_time.saturating_add(1);
            self.busy_since = self.virtual_time;
        }
        let state = &mut queues.flow_mut(flow).state;
        // What was left below a tick counts until the fluid rests, so that flows that come and go lose nothing, and no longer, so that it
        // never has more to do since its last rest than there was.
        state.finish = match state.finish.ticks >= self.busy_since {
            true => state.finish.at_tick(self.virtual_time),
            false => Tag::at(self.virtual_time),
        };
        self.take_head(flow, queues, eligible);
        self.find_due();
    }

    /// The flow leaves with all its packets. Settled before.
    pub(super) fn remove<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        if queues.flow(flow).state.active {
            self.bring_up_to_date();
            self.leave(flow, queues);
            self.find_due();
        }
    }

    /// The flow's weight was `old` until now: what is left of its head packet takes the new one. Settled before.
    pub(super) fn reweigh<P>(
        &mut self,
        flow: u32,
        old: Weight,
        queues: &mut FlowQueues<M, P>,
        eligible: &mut Eligible,
    ) {
        let (state, new) = (queues.flow(flow).state, queues.flow(flow).weight());
        if !state.active {
            return;
        }
        self.bring_up_to_date();
        self.change_load(state.normalised, old, false);
        self.change_load(state.normalised, new, true);
        let left = u128::from(state.finish.ticks.saturating_sub(self.virtual_time));
        let left = (left * u128::from(old.as_milli()) / u128::from(new.as_milli())).min(LONGEST_STEP as u128) as u64;
        let finish = self.virtual_time.saturating_add(left);
        queues.flow_mut(flow).state.finish = Tag::at(finish);
        self.finishes.set(flow, finish);
        if state.started > 0 {
            // The head packet waits: it is the last of those that have started.
            *queues.stamp_mut(state.head) = finish;
            eligible.restamped(flow, queues);
        }
        self.find_due();
    }

    /// Whole ticks of the work go into V: the loads or somebody's start depend on it now.
    fn bring_up_to_date(&mut self) {
        let load = self.bottleneck();
        let ticks = self.work.checked_div(load).unwrap_or(0);
        self.work -= ticks * load;
        self.virtual_time = self.virtual_time.saturating_add(u64::try_from(ticks).unwrap_or(u64::MAX));
    }

    /// The first head packet ends and gives way to the flow's next one.
    fn end_first<P>(&mut self, queues: &mut FlowQueues<M, P>, eligible: &mut Eligible) {
        let Some((finish, flow)) = self.finishes.peek() else { return };
        self.work -= self.due;
        self.virtual_time = self.virtual_time.max(finish);
        let record = queues.flow(flow);
        if record.state.has_next() {
            self.change_load(record.state.normalised, record.weight(), false);
            self.take_head(flow, queues, eligible);
        } else {
            self.leave(flow, queues);
        }
        if self.virtual_time >= self.rebase_at {
            self.rebase(queues, eligible);
        }
        self.find_due();
    }

    /// Make the flow's next packet its head, which starts it.
    fn take_head<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>, eligible: &mut Eligible) {
        let record = queues.flow(flow);
        let (slot, weight) = (record.state.next, record.weight());
        let (cost, following) = (queues.slot(slot).cost, queues.slot(slot).next);
        let state = &mut queues.flow_mut(flow).state;
        (state.head, state.next) = (slot, following);
        state.started += 1;
        state.normalised = normalised(&cost);
        let service = state.corrected(charged(cost.dominant_time()));
        state.finish = state.finish.moved(service, weight);
        let (finish, parts) = (state.finish.ticks, state.normalised);
        self.change_load(parts, weight, true);
        self.finishes.set(flow, finish);
        *queues.stamp_mut(slot) = finish;
        eligible.started(flow, queues);
    }

    fn leave<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        record.state.active = false;
        let (parts, weight) = (record.state.normalised, record.weight());
        self.change_load(parts, weight, false);
        self.finishes.remove(flow);
    }

    fn change_load(&mut self, normalised: [u32; M], weight: Weight, joins: bool) {
        for (load, part) in self.load.iter_mut().zip(normalised) {
            let weighted = u128::from(u64::from(part) * u64::from(weight.as_milli()));
            *load = if joins { *load + weighted } else { *load - weighted };
        }
    }

    /// The load of the busiest resource: 1 / V'.
    fn bottleneck(&self) -> u128 {
        self.load.iter().copied().fold(0, u128::max)
    }

    fn find_due(&mut self) {
        self.due = self.finishes.peek().map_or(u128::MAX, |(finish, _)| {
            // What does not fit would take longer than a `Time` can tell.
            u128::from(finish.saturating_sub(self.virtual_time)).saturating_mul(self.bottleneck())
        });
    }

    /// Lower all tags: O(flows + packets), once in 19 hours of virtual time.
    fn rebase<P>(&mut self, queues: &mut FlowQueues<M, P>, eligible: &mut Eligible) {
        let by = self.virtual_time - self.rebase_at / 2;
        self.virtual_time -= by;
        self.busy_since = self.busy_since.saturating_sub(by);
        queues.flows_mut().for_each(|flow| flow.state.lower(by));
        queues.stamps_mut().for_each(|stamp| *stamp = stamp.saturating_sub(by));
        self.finishes.rekey(|tag| tag.saturating_sub(by));
        eligible.lower(by);
        self.rebases = self.rebases.wrapping_add(1);
    }
}
