//! The fluid schedule in the background, kept in virtual time (section 5.3).
//!
//! Flows that get only the guaranteed share are *regular*: all of them advance at the rate of the virtual time V, and a heap of
//! virtual finish times tells which head packet ends first. The at most two *favoured* flows are tracked one by one.

use alloc::vec::Vec;
use core::cmp::Ordering;

use dovetail_units::{Duration, ResourceVec, Time, Weight};

use super::pace::{Latest, Pace};
use super::share::allocate;
use crate::catalog::Shape;
use crate::contract::LONGEST_TIME;
use crate::per_flow::Choice;
use crate::queues::{IndexedHeap, NIL, Order, Queues};

/// Virtual time and the fluid's clock count in units of 2^-20 ns.
const TICK_BITS: u32 = 20;
/// Normalised processing times are in units of 2^-32; the dominant one is 2^32.
const ONE: u64 = 1 << 32;

type FlowQueues<P> = Queues<2, P, FluidFlow, ()>;
/// A place in order (23) as counted from one of its ends; equals by turn.
type Place = (u64, u64);
pub(super) type Started = Order<Latest>;

/// A flow in the fluid schedule. Service is in virtual time: dominant processing time divided by the flow's weight.
#[derive(Clone, Copy, Debug)]
pub struct FluidFlow {
    /// The first packet that has not come to the flow's head in the fluid, or `NIL`.
    next: u32,
    /// Whether the flow is backlogged in the fluid.
    active: bool,
    /// Whether the head packet has started: at once when it comes to the head, but with alpha = 0 when first favoured.
    started: bool,
    /// Place of the head packet in order (23).
    ratio: Ratio,
    /// Breaks ties in that order: lower was favoured longer ago.
    turn: u64,
    /// Measured less estimated times of earlier packets on each resource, nanoseconds.
    correction: [i64; 2],
}

impl Default for FluidFlow {
    fn default() -> Self {
        Self { next: NIL, active: false, started: false, ratio: Ratio(0), turn: 0, correction: [0; 2] }
    }
}

impl FluidFlow {
    pub(super) fn has_next(&self) -> bool {
        self.next != NIL
    }

    /// The head packet's place as counted from either end.
    fn places(&self) -> [Place; 2] {
        [2 * ONE - self.ratio.0, self.ratio.0].map(|place| (place, self.turn))
    }

    /// One of the [`places`](Self::places), if the flow is backlogged.
    fn place(&self, end: usize) -> Option<Place> {
        self.active.then(|| self.places()[end])
    }

    pub(super) fn correct(&mut self, before: &ResourceVec<2>, after: &ResourceVec<2>) {
        for (r, correction) in self.correction.iter_mut().enumerate() {
            let [before, after] = [before, after].map(|cost| cost[r].as_nanos() as i64);
            *correction = correction.saturating_add(after - before);
        }
    }

    /// What a head packet takes in the fluid, with what earlier packets took more or less than estimated: at least a nanosecond of what it was to take at all.
    fn corrected(&mut self, mut cost: ResourceVec<2>) -> ResourceVec<2> {
        for (correction, time) in self.correction.iter_mut().zip(&mut cost.0) {
            if *correction != 0 {
                let total = (time.as_nanos() as i64).saturating_add(*correction);
                let least = i64::from(*time > Duration::ZERO);
                *correction = total.saturating_sub(least).min(0);
                *time = Duration::from_nanos(total.max(least) as u64).min(LONGEST_TIME);
            }
        }
        cost
    }
}

/// Whether two packets' times differ by no more than a link's rounding to nanoseconds: that shall not keep equals from taking turns.
fn are_near(a: &ResourceVec<2>, b: &ResourceVec<2>) -> bool {
    a.0.iter().zip(&b.0).all(|(a, b)| a.as_nanos().abs_diff(b.as_nanos()) <= (a.as_nanos() >> 12).max(1))
}

/// A virtual time on a clock that wraps; ordered by distance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tag(u64);

impl Tag {
    fn minus(self, other: Self) -> i64 {
        self.0.wrapping_sub(other.0) as i64
    }

    fn plus(self, span: i64) -> Self {
        Self(self.0.wrapping_add_signed(span))
    }
}

impl Ord for Tag {
    fn cmp(&self, other: &Self) -> Ordering {
        self.minus(*other).cmp(&0)
    }
}

impl PartialOrd for Tag {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// tbar_1 / tbar_2 of order (23), as a number of the same order: tbar_1 while that is below one, then 2 - tbar_2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Ratio(u64);

impl Ratio {
    fn of(cost: &ResourceVec<2>) -> Self {
        let (a, b) = (cost[0].as_nanos(), cost[1].as_nanos());
        if a >= b { Self(2 * ONE - part(b, a)) } else { Self(part(a, b)) }
    }

    /// The normalised processing times, in units of 2^-32.
    fn normalised(self) -> [u64; 2] {
        if self.0 >= ONE { [ONE, 2 * ONE - self.0] } else { [self.0, ONE] }
    }

    fn normalised_f64(self) -> [f64; 2] {
        self.normalised().map(|t| t as f64 / ONE as f64)
    }
}

/// `small / large` in units of 2^-32, to the nearest; 0 / 0 counts as 1.
fn part(small: u64, large: u64) -> u64 {
    match (small, large) {
        (_, 0) => ONE,
        (s, l) if l < 1 << 31 => ((s << 32) + l / 2) / l,
        (s, l) => (((u128::from(s) << 32) + u128::from(l / 2)) / u128::from(l)) as u64,
    }
}

/// As `value as f64`; most values have 64 bits, from which the processor converts itself.
fn to_f64(value: u128) -> f64 {
    u64::try_from(value).map_or_else(|_| wide_to_f64(value), |value| value as f64)
}

/// Apart, or the compiler takes both ways for one.
#[cold]
#[inline(never)]
fn wide_to_f64(value: u128) -> f64 {
    value as f64
}

/// As `value as u128`.
fn to_u128(value: f64) -> u128 {
    if value < u64::MAX as f64 { u128::from(value as u64) } else { value as u128 }
}

/// The first instant that is not before this many ticks.
fn in_time(ticks: u128) -> Time {
    Time::from_nanos(u64::try_from(ticks.div_ceil(1 << TICK_BITS)).unwrap_or(u64::MAX))
}

/// An instant in ticks.
fn in_ticks(time: Time) -> u128 {
    u128::from(time.as_nanos()) << TICK_BITS
}

/// Normalised processing times of the flow at this end of order (23), which is noted; as if they were equal where no flow is backlogged.
fn at_end<P>(end: usize, order: &mut IndexedHeap<Place>, queues: &FlowQueues<P>, flow: &mut Option<u32>) -> [f64; 2] {
    *flow = order.first(|flow| queues.flow(flow).state.place(end)).map(|(_, flow)| flow);
    flow.map_or([1.0; 2], |flow| queues.flow(flow).state.ratio.normalised_f64())
}

/// A flow with a bonus.
#[derive(Clone, Copy, Debug)]
struct Favoured {
    flow: u32,
    /// What is left of its head packet.
    left: i64,
    /// Virtual service per unit of time.
    rate: f64,
}

/// The fluid schedule.
#[derive(Clone, Debug)]
pub(super) struct Fluid {
    alpha: f64,
    /// How far the fluid has run, in ticks.
    clock: u128,
    pace: Pace,
    /// When the first head packet ends if nothing else happens before, in ticks.
    due: u128,
    virtual_time: Tag,
    /// V': virtual service of a regular flow per unit of time (eq. 27).
    rate: f64,
    /// Sum over backlogged flows of weight (thousandths) times normalised processing time (2^-32), per resource.
    load: [u128; 2],
    favoured: [Option<Favoured>; 2],
    /// By flow: what it is charged for a head packet that has not started; with alpha = 0 only.
    unstarted: Vec<ResourceVec<2>>,
    /// Flows have come at `clock` since the shares were last allocated.
    stale: bool,
    /// Regular flows by the virtual finish times of their head packets (eq. 28).
    finishes: IndexedHeap<Tag>,
    /// Backlogged flows in order (23) from its start and from its end. Flows that moved back or left stand where they were until they come first.
    places: [IndexedHeap<Place>; 2],
    turns: u64,
    switches: u64,
}

impl Fluid {
    pub(super) fn new(alpha: f64, shape: Shape) -> Self {
        Self {
            alpha,
            clock: 0,
            pace: Pace::new(shape),
            due: u128::MAX,
            virtual_time: Tag(0),
            rate: 0.0,
            load: [0; 2],
            favoured: [None; 2],
            unstarted: Vec::new(),
            stale: false,
            finishes: IndexedHeap::default(),
            places: Default::default(),
            turns: 0,
            switches: 0,
        }
    }

    pub(super) fn switches(&self) -> u64 {
        self.switches
    }

    pub(super) fn stood_still(&self) -> Duration {
        self.pace.stood_still()
    }

    /// Every event until `now`. In between nothing is brought up to date, so that nothing is rounded.
    pub(super) fn settle<P>(&mut self, now: Time, queues: &mut FlowQueues<P>, started: &mut Started) {
        self.pace.pass(now);
        self.hold(queues, started);
        if self.now() > self.clock {
            self.refresh(queues, started);
        }
        while self.step(queues, started) {
            self.hold(queues, started);
        }
    }

    /// The present, in ticks of fluid time.
    fn now(&self) -> u128 {
        in_ticks(self.pace.now())
    }

    /// Fluid time stands still while the packet that has started first and waits for the CPU is late.
    fn hold<P>(&mut self, queues: &FlowQueues<P>, started: &mut Started) {
        if let Some((_, latest)) = started.front(queues) {
            self.pace.hold(latest);
        }
    }

    /// The packet of this cost and these latest starts, which was the first to wait, is handed out: its number.
    pub(super) fn hand_out(&mut self, now: Time, cost: &ResourceVec<2>, latest: Latest) -> u64 {
        self.pace.pass(now);
        self.pace.hold(latest);
        self.pace.hand_out(cost)
    }

    /// A packet that was handed out under this number, with this latest start on the link, has left the CPU: its latest start now.
    pub(super) fn leaves_cpu(&self, number: u64, latest: Time) -> Time {
        self.pace.leaves_cpu(number, latest)
    }

    /// A packet that was handed out under this number starts on the link, with this latest start.
    pub(super) fn starts_on_link<P>(
        &mut self,
        now: Time,
        number: u64,
        latest: Time,
        queues: &mut FlowQueues<P>,
        started: &mut Started,
    ) {
        self.settle(now, queues, started);
        self.pace.on_link(number, latest);
    }

    /// A packet that was handed out under this number has left the link, or never comes to it.
    pub(super) fn leaves<P>(&mut self, now: Time, number: u64, queues: &mut FlowQueues<P>, started: &mut Started) {
        if self.pace.waits_for(number) {
            self.settle(now, queues, started);
        }
        self.pace.left(number);
    }

    /// The events until the first, not after `now`, at which a packet starts; if there is none, what to wait for.
    pub(super) fn find_start<P>(
        &mut self,
        now: Time,
        queues: &mut FlowQueues<P>,
        started: &mut Started,
    ) -> Option<Choice> {
        self.pace.pass(now);
        self.refresh(queues, started);
        while started.is_empty() {
            if !self.step(queues, started) {
                return Some(self.pace.real(in_time(self.due)).map_or(Choice::AwaitProgress, Choice::At));
            }
        }
        self.hold(queues, started);
        None
    }

    /// A packet has arrived at a flow without unstarted packets. Settled before.
    pub(super) fn arrive<P>(&mut self, flow: u32, slot: u32, queues: &mut FlowQueues<P>, started: &mut Started) {
        let state = &mut queues.flow_mut(flow).state;
        state.next = slot;
        if state.active {
            return;
        }
        self.run_to_now();
        let state = &mut queues.flow_mut(flow).state;
        state.active = true;
        state.turn = self.next_turn();
        if let Some(service) = self.take_head(flow, queues, started) {
            self.place(flow, queues);
            self.finishes.set(flow, self.virtual_time.plus(service));
        }
        self.stale = true;
        if self.alpha == 0.0 {
            // Who is favoured at once starts at once.
            self.refresh(queues, started);
        }
    }

    /// Allocate the shares if flows have come since. Of all that come at one instant the last decides: with alpha > 0 a flow that was favoured for no time
    /// at all has neither started by it nor been served. A burst of packets for idle flows would else ask for every one.
    fn refresh<P>(&mut self, queues: &mut FlowQueues<P>, started: &mut Started) {
        if self.stale {
            self.reallocate(queues, started);
        }
    }

    /// The flow leaves with all its packets. Settled before.
    pub(super) fn remove<P>(&mut self, flow: u32, queues: &mut FlowQueues<P>, started: &mut Started) {
        if queues.flow(flow).state.active {
            self.run_to_now();
            self.add_load(queues.flow(flow).state.ratio, queues.flow(flow).weight(), false);
            self.leave(flow, queues);
            self.reallocate(queues, started);
        }
    }

    /// The flow's weight was `old` until now. Settled before.
    pub(super) fn reweigh<P>(&mut self, flow: u32, old: Weight, queues: &mut FlowQueues<P>, started: &mut Started) {
        let (state, new) = (queues.flow(flow).state, queues.flow(flow).weight());
        if !state.active {
            return;
        }
        self.run_to_now();
        self.add_load(state.ratio, old, false);
        self.add_load(state.ratio, new, true);
        let scale = |left: i64| {
            (i128::from(left) * i128::from(old.as_milli()) / i128::from(new.as_milli())).clamp(0, 1 << 60) as i64
        };
        if let Some(tag) = self.finishes.get(flow) {
            self.finishes.set(flow, self.virtual_time.plus(scale(tag.minus(self.virtual_time))));
        }
        for favoured in self.favoured.iter_mut().flatten().filter(|f| f.flow == flow) {
            favoured.left = scale(favoured.left);
        }
        self.reallocate(queues, started);
    }

    /// Change the knob. Settled before.
    pub(super) fn set_alpha<P>(&mut self, alpha: f64, queues: &mut FlowQueues<P>, started: &mut Started) {
        self.run_to_now();
        self.alpha = alpha;
        if alpha > 0.0 {
            let backlogged = self.places[0].flows().filter(|&f| queues.flow(f).state.active);
            let mut waiting: Vec<(u64, u32)> = backlogged.map(|f| (queues.flow(f).state.turn, f)).collect();
            waiting.sort_unstable();
            for (_, flow) in waiting {
                self.start(flow, queues, started);
            }
        }
        self.reallocate(queues, started);
    }

    /// Run to the next event, unless it is after `now`; whether it was not.
    fn step<P>(&mut self, queues: &mut FlowQueues<P>, started: &mut Started) -> bool {
        if self.due > self.now() {
            return false;
        }
        self.run(self.due - self.clock);
        self.finish_due(queues, started);
        self.reallocate(queues, started);
        true
    }

    /// Until the first head packet ends if nothing else happens: the first tick by which it surely has. At most 2^100.
    fn ticks_to_event(&self) -> u128 {
        let ticks = |left: i64, rate: f64| if rate > 0.0 { left.max(0) as f64 / rate } else { f64::INFINITY };
        let regular =
            self.finishes.peek().map_or(f64::INFINITY, |(tag, _)| ticks(tag.minus(self.virtual_time), self.rate));
        let favoured = self.favoured.iter().flatten().map(|f| ticks(f.left, f.rate));
        to_u128(favoured.fold(regular, f64::min)).min(1 << 100) + 1
    }

    /// Run to `now`: something other than the end of a packet changes the shares.
    fn run_to_now(&mut self) {
        self.run(self.now() - self.clock);
    }

    fn run(&mut self, ticks: u128) {
        self.clock += ticks;
        let ticks = to_f64(ticks);
        let served = |rate: f64| (ticks * rate + 0.5) as i64;
        self.virtual_time = self.virtual_time.plus(served(self.rate));
        for favoured in self.favoured.iter_mut().flatten() {
            favoured.left -= served(favoured.rate);
        }
    }

    /// Every head packet that has ended gives way to the flow's next packet, which gets what was served beyond the end.
    fn finish_due<P>(&mut self, queues: &mut FlowQueues<P>, started: &mut Started) {
        while let Some((tag, flow)) = self.finishes.peek().filter(|&(tag, _)| tag <= self.virtual_time) {
            match self.next_head(flow, tag < self.virtual_time, queues, started) {
                Some(service) => self.finishes.set(flow, tag.plus(service)),
                None => self.leave(flow, queues),
            }
        }
        for k in 0..2 {
            while let Some(Favoured { flow, left, .. }) = self.favoured[k].filter(|f| f.left <= 0) {
                // It had its turn.
                queues.flow_mut(flow).state.turn = self.next_turn();
                match self.next_head(flow, left < 0, queues, started) {
                    Some(service) => self.favoured[k].iter_mut().for_each(|f| f.left = left + service),
                    None => self.leave(flow, queues),
                }
            }
        }
    }

    /// The flow's head packet has ended: take its next packet as the head, if there is one. `served`: it has had service already, what was
    /// served beyond the other's end, so it has started.
    fn next_head<P>(
        &mut self,
        flow: u32,
        served: bool,
        queues: &mut FlowQueues<P>,
        started: &mut Started,
    ) -> Option<i64> {
        let record = queues.flow(flow);
        self.add_load(record.state.ratio, record.weight(), false);
        let service = self.take_head(flow, queues, started)?;
        if served {
            self.start(flow, queues, started);
        }
        self.place(flow, queues);
        Some(service)
    }

    /// Make the flow's next packet its head in the fluid; returns its virtual service time.
    fn take_head<P>(&mut self, flow: u32, queues: &mut FlowQueues<P>, started: &mut Started) -> Option<i64> {
        let slot = queues.flow(flow).state.next;
        if slot == NIL {
            return None;
        }
        let (cost, following) = (queues.slot(slot).cost, queues.slot(slot).next);
        let record = queues.flow_mut(flow);
        let corrected = record.state.corrected(cost);
        let service = (record.virtual_time(corrected.dominant_time(), TICK_BITS) as i64).max(1);
        record.state.next = following;
        record.state.ratio = Ratio::of(if are_near(&cost, &corrected) { &cost } else { &corrected });
        record.state.started = false;
        self.add_load(record.state.ratio, record.weight(), true);
        if self.alpha > 0.0 {
            self.begin(flow, &corrected, queues, started);
        } else {
            self.keep_unstarted(flow, corrected);
        }
        Some(service)
    }

    /// Put the flow into order (23), or move it to its new place.
    fn place<P>(&mut self, flow: u32, queues: &FlowQueues<P>) {
        for (heap, place) in self.places.iter_mut().zip(queues.flow(flow).state.places()) {
            heap.lower(flow, place);
        }
    }

    /// Take a flow out whose load is already taken off.
    fn leave<P>(&mut self, flow: u32, queues: &mut FlowQueues<P>) {
        queues.flow_mut(flow).state.active = false;
        self.finishes.remove(flow);
        for favoured in &mut self.favoured {
            *favoured = favoured.filter(|f| f.flow != flow);
        }
    }

    fn add_load(&mut self, ratio: Ratio, weight: Weight, joins: bool) {
        for (load, part) in self.load.iter_mut().zip(ratio.normalised()) {
            let weighted = u128::from(part) * u128::from(weight.as_milli());
            *load = if joins { *load + weighted } else { *load - weighted };
        }
    }

    fn next_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    /// Theorem 3: who is favoured from now on, and everybody's rate.
    fn reallocate<P>(&mut self, queues: &mut FlowQueues<P>, started: &mut Started) {
        self.stale = false;
        if self.load == [0; 2] {
            self.due = u128::MAX;
            return;
        }
        let load = self.load.map(|l| to_f64(l) / (1000.0 * ONE as f64));
        let (mut first, mut last) = (None, None);
        let [from_start, from_end] = &mut self.places;
        let of_first = || at_end(0, from_start, queues, &mut first);
        let of_last = || at_end(1, from_end, queues, &mut last);
        let shares = allocate(self.alpha, load, of_first, of_last);
        self.rate = shares.guaranteed;
        let before = self.favoured;
        let with_bonus = |(flow, bonus): (Option<u32>, f64)| flow.filter(|_| bonus > 0.0).map(|flow| (flow, bonus));
        let wanted = [(first, shares.first_bonus), (last, shares.last_bonus)].map(with_bonus);
        let is_wanted = |flow: u32| wanted.iter().flatten().any(|&(f, _)| f == flow);
        for old in before.iter().flatten().filter(|f| !is_wanted(f.flow)) {
            // Eq. (30).
            self.finishes.set(old.flow, self.virtual_time.plus(old.left));
        }
        for (k, wanted) in wanted.into_iter().enumerate() {
            self.favoured[k] = wanted.map(|(flow, bonus)| {
                let left = before.iter().flatten().find(|f| f.flow == flow).map(|f| f.left);
                let rate = shares.guaranteed + bonus / queues.flow(flow).weight().as_f64();
                Favoured { flow, left: left.unwrap_or_else(|| self.favour(flow)), rate }
            });
            if let Some((flow, _)) = wanted {
                self.start(flow, queues, started);
            }
        }
        self.due = self.clock + self.ticks_to_event();
    }

    /// A regular flow becomes favoured: what is left of its head packet (eq. 31).
    fn favour(&mut self, flow: u32) -> i64 {
        self.switches += 1;
        let left = self.finishes.get(flow).map_or(0, |tag| tag.minus(self.virtual_time));
        self.finishes.remove(flow);
        left
    }

    /// The flow's head packet starts in the fluid, if it has not before.
    fn start<P>(&mut self, flow: u32, queues: &mut FlowQueues<P>, started: &mut Started) {
        if !queues.flow(flow).state.started {
            let charged = self.unstarted[flow as usize];
            self.begin(flow, &charged, queues, started);
        }
    }

    /// The flow's head packet, which is charged so much, starts in the fluid.
    fn begin<P>(&mut self, flow: u32, charged: &ResourceVec<2>, queues: &mut FlowQueues<P>, started: &mut Started) {
        queues.flow_mut(flow).state.started = true;
        started.push_back(queues.id(flow), self.pace.plan(in_time(self.clock), charged));
    }

    /// The flow's head packet, which is charged so much, does not start yet.
    fn keep_unstarted(&mut self, flow: u32, charged: ResourceVec<2>) {
        let place = flow as usize;
        if self.unstarted.len() <= place {
            self.unstarted.resize(place + 1, ResourceVec::ZERO);
        }
        self.unstarted[place] = charged;
    }
}
