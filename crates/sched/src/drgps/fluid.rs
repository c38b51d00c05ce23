//! The DRGPS fluid in the background, kept in virtual time.
//!
//! Every backlogged flow advances at the rate of the virtual time V, so the order in which head packets end is that of
//! their finish tags, whatever the rate is: a heap of them is all that an event needs, and no flow but the one whose
//! head ends is visited.
//!
//! The rate is `V' = 1 / max_r load_r`, `load_r = sum of w_i tbar_ir`. Time that has passed is kept as work, in units
//! of a tick times a load, and V moves by work / load in whole ticks; what is left over stays work. So nothing is
//! rounded away, and the fluid does exactly as much as time has passed.
//!
//! Ranges, for 2^32 flows of weights up to 2^30 thousandths: tags are below 2^96 ticks, a load below 2^93, and the
//! nanoseconds of a [`Time`] are less than 2^127 of work. A distance times a load may be more than 128 bits hold, and
//! is more than all time then: it saturates.

use core::mem;

use dovetail_units::{Duration, ResourceVec, Time, Weight};

use super::eligible::Eligible;
use crate::anteroom::{Anteroom, Visit};
use crate::newcomers::Newcomers;
use crate::one_resource::{charged, most_events};
use crate::queues::{NIL, Queues, TagHeap};
use crate::steps;
use crate::tag::{self, TICK_BITS, Tag};

/// Normalised processing times are in units of 2^-31; the dominant one is 2^31.
const ONE_BITS: u32 = 31;
/// Work of a nanosecond: ticks times thousandths of weight times 2^-31.
const WORK_PER_NANO: u128 = 1000 << (TICK_BITS + ONE_BITS);
/// What a flow may be owed, or owe, in nanoseconds: a packet's service and that are less than 2^62.
const MOST_OWED: i64 = 1 << 61;
/// On a resource that is not dominant, a head packet has one part in 2^3 of what earlier ones took more or less.
const PART_BITS: u32 = 3;

pub(super) type FlowQueues<const M: usize, P> = Queues<M, P, DrgpsFlow<M>, u128>;

/// A flow in the fluid.
#[derive(Clone, Copy, Debug)]
pub struct DrgpsFlow<const M: usize> {
    /// The first packet that has not come to the flow's head in the fluid, or `NIL`.
    next: u32,
    /// The slot that the head packet was in. It may have been served and its slot reused, which `started` tells.
    head: u32,
    /// Waiting packets that have started in the fluid.
    pub(super) started: u32,
    /// Whether the flow is backlogged in the fluid, if it was in this busy period.
    active: bool,
    pub(super) visit: Visit,
    /// The fluid's busy period in which it was so last.
    busy_period: u64,
    /// tbar of the head packet.
    normalised: [u32; M],
    /// Finish tag of the head packet, or of the last one.
    finish: Tag,
    /// Measured less estimated service of earlier packets that the fluid has not counted, in nanoseconds.
    correction: i64,
    /// Measured less estimated times on each resource that are in no head packet's proportions yet, in nanoseconds.
    unlike: [i64; M],
    /// What the fluid is charged on resource 0 for waiting packets that have started, in nanoseconds.
    planned: u64,
}

impl<const M: usize> Default for DrgpsFlow<M> {
    fn default() -> Self {
        Self {
            next: NIL,
            head: NIL,
            started: 0,
            active: false,
            visit: Visit::default(),
            busy_period: 0,
            normalised: [0; M],
            finish: Tag::default(),
            correction: 0,
            unlike: [0; M],
            planned: 0,
        }
    }
}

impl<const M: usize> DrgpsFlow<M> {
    pub(super) fn has_next(&self) -> bool {
        self.next != NIL
    }

    /// A packet took so many nanoseconds more than the fluid was told: of service, and on this resource.
    pub(super) fn correct(&mut self, service: i64, resource: usize, nanos: i64) {
        for (sum, more) in [(&mut self.correction, service), (&mut self.unlike[resource], nanos)] {
            *sum = sum.saturating_add(more).clamp(-MOST_OWED, MOST_OWED);
        }
    }

    /// What a head packet of this service takes of each resource, with what earlier packets took more or less. All of
    /// that where it makes up the service, so that this is what the dominant resource gives. Elsewhere a part at a
    /// time, so that it makes no difference how many are measured between two heads, and at least a nanosecond of what
    /// it was to take at all.
    fn in_proportion(&mut self, mut cost: ResourceVec<M>, service: i64) -> ResourceVec<M> {
        for (unlike, time) in self.unlike.iter_mut().zip(&mut cost.0) {
            let told = time.as_nanos() as i64;
            let part = (told + (*unlike >> PART_BITS)).clamp(told.min(1), service);
            let taken = if told + *unlike >= service { service } else { part };
            *unlike -= taken - told;
            *time = Duration::from_nanos(taken as u64);
        }
        cost
    }

    /// A head packet's service in nanoseconds, with what earlier packets took more or less than estimated: at least
    /// one.
    fn corrected(&mut self, service: i64) -> i64 {
        let total = service.saturating_add(self.correction);
        self.correction = total.saturating_sub(1).min(0);
        total.max(1)
    }
}

/// tbar_r = time on r / service in units of 2^-31, to the nearest. A packet of no time counts as one of the first
/// resource, and none counts for nothing.
fn normalised<const M: usize>(cost: &ResourceVec<M>, service: i64) -> [u32; M] {
    let service = service as u64;
    let mut parts = cost.0.map(|time| match time.as_nanos() {
        time if time == service => 1 << ONE_BITS,
        0 => 0,
        // At most 2^31, as time < service.
        time if service < 1 << (64 - ONE_BITS - 1) => (((time << ONE_BITS) + service / 2) / service) as u32,
        time => (((u128::from(time) << ONE_BITS) + u128::from(service / 2)) / u128::from(service)) as u32,
    });
    let least = if cost.dominant_time() == Duration::ZERO { 1 << ONE_BITS } else { 1 };
    let dominant = &mut parts[cost.dominant_resource()];
    *dominant = least.max(*dominant);
    parts
}

/// The fluid.
#[derive(Clone, Debug)]
pub(super) struct Fluid<const M: usize> {
    /// Until when time has been counted.
    clock: Time,
    /// Time that is not in V yet.
    work: u128,
    /// For how long it works for flows that were removed before it goes on, in nanoseconds.
    pause: u64,
    /// For how long resource 0 is busy with what was handed out, by what the fluid is charged for it, in nanoseconds.
    busy: u64,
    /// How much work there must be for the first head packet to end; the largest number if none will.
    due: u128,
    /// V in ticks.
    virtual_time: u128,
    /// How often the fluid has begun to serve after a rest.
    busy_periods: u64,
    /// Sum over backlogged flows of weight (thousandths) times normalised time (2^-31), per resource.
    load: [u128; M],
    /// Backlogged flows by the finish tags of their head packets: those that end with them, and those that go on.
    finishes: [TagHeap; 2],
    /// Sum over backlogged flows of the weight (thousandths).
    weights: u64,
    /// Sum over them of the finish tag times the weight, modulo 2^128. [`left`](Self::left) needs the distances from V
    /// only: 2^104 for each of the longest packets.
    weighted_finishes: u128,
    /// New flows that are not in it yet.
    pub(super) anteroom: Anteroom,
    /// For tests: a call ends so many head packets.
    pub(super) events: Option<usize>,
    /// The most work that was late after a call.
    worst_lag: u128,
}

impl<const M: usize> Fluid<M> {
    pub(super) fn new(newcomers: Newcomers) -> Self {
        Self {
            clock: Time::ZERO,
            work: 0,
            pause: 0,
            busy: 0,
            due: u128::MAX,
            virtual_time: 0,
            busy_periods: 0,
            load: [0; M],
            finishes: [TagHeap::default(), TagHeap::default()],
            weights: 0,
            weighted_finishes: 0,
            anteroom: Anteroom::new(newcomers),
            events: None,
            worst_lag: 0,
        }
    }

    /// The events until `now`, as far as one call may.
    pub(super) fn settle<P>(&mut self, now: Time, queues: &mut FlowQueues<M, P>, eligible: &mut Eligible) {
        let mut late = self.pass(now, queues, eligible);
        let flows = self.finishes.iter().map(TagHeap::len).sum();
        for _ in 0..self.events.unwrap_or_else(|| most_events(flows)) {
            if !self.lags() {
                break;
            }
            steps::take(1);
            self.end_first(queues, eligible);
            if late > 0 && eligible.first(queues).is_some() {
                // Since something waits for it.
                late = late.min(u64::try_from(self.work / WORK_PER_NANO).unwrap_or(u64::MAX));
                self.work -= u128::from(mem::take(&mut late)) * WORK_PER_NANO;
            }
        }
        // What is left is heads that have been served: the fluid needs no more time for them than it would one after
        // another.
        if self.lags() && queues.packets() == 0 && self.work >> ONE_BITS >= self.left() {
            self.rest();
        }
        if self.is_empty() {
            (self.work, self.pause) = (0, 0);
        }
        if self.lags() {
            self.worst_lag = self.worst_lag.max(self.work);
        }
    }

    /// Time passes, but for what resource 0 is late, which has been free by the estimates while something waits that
    /// has started. If nothing does: for how long it has been free, nanoseconds of which are in the work.
    fn pass<P>(&mut self, now: Time, queues: &FlowQueues<M, P>, eligible: &mut Eligible) -> u64 {
        let mut passed = now.since(self.clock).as_nanos();
        self.clock = now;
        let waits = eligible.first(queues).is_some();
        if waits {
            passed = passed.min(self.busy);
        }
        let paused = passed.min(self.pause);
        let free = if waits { 0 } else { passed - self.busy.max(paused).min(passed) };
        self.pause -= paused;
        self.busy = self.busy.saturating_sub(passed);
        self.work = self.work.saturating_add(u128::from(passed - paused) * WORK_PER_NANO);
        free
    }

    /// Whether a head packet is due to end: what happens now meets the fluid as of V, and what passed since is still to
    /// come.
    pub(super) fn lags(&self) -> bool {
        self.work >= self.due
    }

    /// By how many nanoseconds the fluid lags as of the last settling, and the most that it ever did.
    pub(super) fn lag_ns(&self) -> [f64; 2] {
        let now = if self.lags() { self.work } else { 0 };
        [now, self.worst_lag].map(|work| work as f64 / WORK_PER_NANO as f64)
    }

    /// The first whole nanosecond at which a head packet has ended if nothing else happens. After the last settling.
    pub(super) fn next_event(&self) -> Time {
        let nanos = self.due.saturating_sub(self.work).div_ceil(WORK_PER_NANO);
        let at = u128::from(self.clock.as_nanos()) + u128::from(self.pause) + nanos;
        Time::from_nanos(u64::try_from(at).unwrap_or(u64::MAX))
    }

    /// A packet has arrived at a flow without unstarted packets. Settled before.
    pub(super) fn arrive<P>(&mut self, flow: u32, slot: u32, queues: &mut FlowQueues<M, P>, eligible: &mut Eligible) {
        let active = self.is_active(flow, queues);
        let state = &mut queues.flow_mut(flow).state;
        state.next = slot;
        if active {
            let [ending, going_on] = &mut self.finishes;
            ending.remove(flow);
            return going_on.set(flow, state.finish.ticks());
        }
        self.bring_up_to_date();
        let record = queues.flow_mut(flow);
        let weight = record.weight();
        if self.anteroom.admits(flow, weight, &mut record.state.visit, [self.virtual_time]) {
            self.enter(flow, queues, eligible);
        } else if self.is_empty() {
            self.let_in(queues, eligible);
        }
        self.find_due();
    }

    /// The next flow in front of the fluid enters.
    fn let_in<P>(&mut self, queues: &mut FlowQueues<M, P>, eligible: &mut Eligible) {
        let Some([opens]) = self.anteroom.opens() else { return };
        self.virtual_time = self.virtual_time.max(opens);
        if let Some(flow) = self.anteroom.let_in() {
            queues.flow_mut(flow).state.visit = Visit::First;
            self.enter(flow, queues, eligible);
        }
    }

    /// A flow with a packet that has not started becomes backlogged in the fluid, which is up to date.
    fn enter<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>, eligible: &mut Eligible) {
        self.busy_periods += u64::from(self.is_empty());
        let state = &mut queues.flow_mut(flow).state;
        state.active = true;
        // No credit for what was too much charged before: the flow gave its claim up when it left.
        state.correction = state.correction.max(0);
        // What was left below a tick counts until the fluid rests, so that flows that come and go lose nothing, and no
        // longer, so that it never has more to do since its last rest than there was.
        state.finish = match state.busy_period == self.busy_periods {
            true => state.finish.at_tick(self.virtual_time),
            false => Tag::at(self.virtual_time),
        };
        state.busy_period = self.busy_periods;
        self.weights += u64::from(queues.flow(flow).weight().as_milli());
        self.take_head(flow, queues, eligible);
    }

    /// The flow leaves with all its packets. Settled before.
    pub(super) fn remove<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>, eligible: &mut Eligible) {
        let (state, active) = (queues.flow(flow).state, self.is_active(flow, queues));
        if active {
            self.bring_up_to_date();
        }
        let (weight, now) = (queues.flow(flow).weight(), [self.virtual_time]);
        let (packets, finish) = (queues.flow(flow).packets, active.then(|| [state.finish.ticks()]));
        let counts = self.anteroom.removed(flow, (weight, packets), state.visit, now, finish);
        if active {
            if counts && state.started == 0 {
                let left = state.finish.ticks().saturating_sub(self.virtual_time);
                self.pause = self.pause.saturating_add(tag::nanos(left, weight));
            }
            self.leave(flow, queues);
            if self.is_empty() {
                self.let_in(queues, eligible);
            }
        }
        self.find_due();
    }

    /// A packet of the flow, of this cost, has been handed out.
    pub(super) fn handed_out<P>(&mut self, flow: u32, cost: &ResourceVec<M>, queues: &mut FlowQueues<M, P>) {
        let state = &mut queues.flow_mut(flow).state;
        // The last one that waits of those that have started has what is left.
        let planned = if state.started == 0 { state.planned } else { state.planned.min(cost[0].as_nanos()) };
        state.planned -= planned;
        self.busy = self.busy.saturating_add(planned);
        if queues.flow(flow).packets == 0 && self.is_active(flow, queues) {
            let record = queues.flow(flow);
            let (visit, finish) = (record.state.visit, [record.state.finish.ticks()]);
            if visit == Visit::First {
                self.anteroom.handed_out(record.weight(), [self.present()], finish);
                self.find_due();
            }
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
        self.bring_up_to_date();
        if !self.is_active(flow, queues) {
            self.anteroom.reweighed(flow, state.visit, old, new);
            return self.find_due();
        }
        self.count_head(&state, old, false);
        let milli = |weight: Weight| u128::from(weight.as_milli());
        // Less than 2^96 times 2^30.
        let left = state.finish.ticks().saturating_sub(self.virtual_time) * milli(old) / milli(new);
        let state = &mut queues.flow_mut(flow).state;
        state.finish = Tag::at(self.virtual_time.saturating_add(left));
        let (state, finish) = (*state, state.finish.ticks());
        self.count_head(&state, new, true);
        self.weights = self.weights - u64::from(old.as_milli()) + u64::from(new.as_milli());
        self.finishes[usize::from(state.has_next())].set(flow, finish);
        if state.started > 0 {
            // The head packet waits: it is the last of those that have started.
            *queues.stamp_mut(state.head) = finish;
            eligible.restamped(flow, queues);
        }
        self.find_due();
    }

    /// While the fluid lags and nothing that has started waits: the packet that will start first does so at once, and
    /// takes the place of the one before it, of which it has the finish tag as ever. Those that end until then are of
    /// flows that go.
    pub(super) fn start_early<P>(&mut self, queues: &mut FlowQueues<M, P>, eligible: &mut Eligible) {
        let [_, going_on] = &self.finishes;
        match going_on.peek() {
            Some((_, flow)) => self.take_next(flow, queues, eligible),
            None => self.let_in(queues, eligible),
        }
        self.find_due();
    }

    fn is_active<P>(&self, flow: u32, queues: &FlowQueues<M, P>) -> bool {
        let state = &queues.flow(flow).state;
        state.active && state.busy_period == self.busy_periods
    }

    fn is_empty(&self) -> bool {
        self.finishes.iter().all(TagHeap::is_empty)
    }

    /// V with the whole ticks of the work. A fluid that lags stands.
    fn present(&self) -> u128 {
        let ticks = if self.lags() { 0 } else { self.work.checked_div(self.bottleneck()).unwrap_or(0) };
        self.virtual_time.saturating_add(ticks)
    }

    /// Whole ticks of the work go into V: the loads or somebody's start depend on it now.
    fn bring_up_to_date(&mut self) {
        let present = self.present();
        self.work -= (present - self.virtual_time) * self.bottleneck();
        self.virtual_time = present;
    }

    /// The head packet that ends first.
    fn first(&self) -> Option<(u128, u32)> {
        let [ending, going_on] = &self.finishes;
        match (ending.peek(), going_on.peek()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The first head packet ends and gives way to the flow's next one; or a new flow enters, if that is first.
    fn end_first<P>(&mut self, queues: &mut FlowQueues<M, P>, eligible: &mut Eligible) {
        self.work -= self.due;
        let Some((finish, flow)) = self.first().filter(|&(end, _)| self.anteroom.opens().is_none_or(|[o]| end <= o))
        else {
            self.let_in(queues, eligible);
            return self.find_due();
        };
        self.virtual_time = self.virtual_time.max(finish);
        if queues.flow(flow).state.has_next() {
            self.take_next(flow, queues, eligible);
        } else {
            self.leave(flow, queues);
            if self.is_empty() {
                self.let_in(queues, eligible);
            }
        }
        self.find_due();
    }

    /// The flow's head gives way to its next packet.
    fn take_next<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>, eligible: &mut Eligible) {
        let record = queues.flow(flow);
        self.count_head(&record.state, record.weight(), false);
        self.take_head(flow, queues, eligible);
    }

    /// Make the flow's next packet its head, which starts it.
    fn take_head<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>, eligible: &mut Eligible) {
        let record = queues.flow(flow);
        let (slot, weight) = (record.state.next, record.weight());
        let (cost, following) = (queues.slot(slot).cost, queues.slot(slot).next);
        let state = &mut queues.flow_mut(flow).state;
        (state.head, state.next) = (slot, following);
        state.started += 1;
        let service = state.corrected(charged(cost.dominant_time()));
        let cost = state.in_proportion(cost, service);
        state.normalised = normalised(&cost, service);
        state.planned = state.planned.saturating_add(cost[0].as_nanos());
        state.finish = state.finish.moved(service, weight);
        let (state, finish) = (*state, state.finish.ticks());
        self.count_head(&state, weight, true);
        let [ending, going_on] = &mut self.finishes;
        if state.has_next() {
            going_on.set(flow, finish);
        } else {
            going_on.remove(flow);
            ending.set(flow, finish);
        }
        *queues.stamp_mut(slot) = finish;
        eligible.started(flow, queues);
    }

    fn leave<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, P>) {
        let record = queues.flow_mut(flow);
        record.state.active = false;
        let (state, weight) = (record.state, record.weight());
        self.count_head(&state, weight, false);
        self.weights -= u64::from(weight.as_milli());
        self.finishes[usize::from(state.has_next())].remove(flow);
    }

    /// Every flow leaves: none was active in a busy period that is new. O(1).
    fn rest(&mut self) {
        self.finishes.iter_mut().for_each(TagHeap::clear);
        (self.load, self.weights, self.weighted_finishes) = ([0; M], 0, 0);
        self.busy_periods += 1;
        self.find_due();
    }

    /// A head packet joins the sums, or leaves them.
    fn count_head(&mut self, state: &DrgpsFlow<M>, weight: Weight, joins: bool) {
        for (load, part) in self.load.iter_mut().zip(state.normalised) {
            let weighted = u128::from(u64::from(part) * u64::from(weight.as_milli()));
            *load = if joins { *load + weighted } else { *load - weighted };
        }
        let weighted = state.finish.ticks().wrapping_mul(u128::from(weight.as_milli()));
        self.weighted_finishes = match joins {
            true => self.weighted_finishes.wrapping_add(weighted),
            false => self.weighted_finishes.wrapping_sub(weighted),
        };
    }

    /// Sum over the head packets of their dominant time that is left, in ticks times thousandths of weight. At every
    /// moment some resource is busy, and gives no more than `1 / (sum of w tbar)` of itself, so all of them end in no
    /// more time than that.
    fn left(&self) -> u128 {
        self.weighted_finishes.wrapping_sub(self.virtual_time.wrapping_mul(u128::from(self.weights)))
    }

    /// The load of the busiest resource: 1 / V'.
    fn bottleneck(&self) -> u128 {
        self.load.iter().copied().fold(0, u128::max)
    }

    fn find_due(&mut self) {
        let first =
            self.first().map(|(finish, _)| finish).into_iter().chain(self.anteroom.opens().map(|[opens]| opens)).min();
        self.due = first.map_or(u128::MAX, |at| at.saturating_sub(self.virtual_time).saturating_mul(self.bottleneck()));
    }
}
