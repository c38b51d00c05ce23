//! The fluid schedule in the background, kept in virtual time (section 5.3).
//!
//! Flows that get only the guaranteed share are *regular*: all of them advance at the rate of the virtual time V, and a
//! heap of virtual finish times tells which head packet ends first. Those with an alpha of their own have a second
//! virtual time and heap ([`floors`]). The *favoured* flows, at most as many as there are resources, are tracked one by
//! one.
//!
//! No call handles more than [`EVENTS_PER_CALL`] of the fluid's events. What is then left is handled by the calls that
//! follow, and what comes meanwhile comes in the fluid where that stands: see *Longest call* in the discipline's
//! header.

mod floors;
mod heads;
mod rates;

use alloc::vec::Vec;

use dovetail_units::{Duration, Part, ResourceVec, Time, Weight};

use super::bonus::Bonus;
use super::flow::{Floor, FluidFlow};
use super::pace::{HandedOut, Latest, Pace};
use super::ticks::{in_ticks, in_time, to_f64, whole_ticks};
use crate::anteroom::{Anteroom, Visit};
use crate::catalog::Shape;
use crate::contract::Ticket;
use crate::discipline::Choice;
use crate::newcomers::Newcomers;
use crate::note::Note;
use crate::queues::{Links, List, Order, Queues};
use crate::tag;
use crate::touch::Ahead;
use floors::{Clock, Floors};

/// So many ends of packets, and instants at which some end, are handled by a call; and so many packets start in one
/// that were not to start before alpha was above 0. An event makes up to two moves in the heaps of order (23), of which
/// a call makes no more than 48: these never end a call, but where alpha has fallen from 1.
pub const EVENTS_PER_CALL: usize = 10;

/// Queues of `M` resources under the rule `B`, and packets that have started.
pub(super) type FlowQueues<const M: usize, B, P> = Queues<M, P, FluidFlow<M, <B as Bonus<M>>::Place>, ()>;
pub(super) type Started<const M: usize> = Order<Latest<M>>;

/// A flow with a bonus.
#[derive(Clone, Copy, Debug)]
struct Favoured {
    flow: u32,
    floor: Floor,
    /// What is left of its head packet.
    left: i128,
    /// What it has had of the bonus since it was last charged for it.
    had: u128,
    /// Virtual service per unit of time beyond a regular flow's.
    bonus: f64,
}

/// The fluid schedule.
#[derive(Clone, Debug)]
pub(super) struct Fluid<const M: usize, B> {
    alpha: f64,
    /// How far the fluid has run, in ticks.
    clock: u128,
    pace: Pace<M>,
    /// When the first head packet ends if nothing else happens before, in ticks.
    due: u128,
    /// Heads that end at `clock` may be left.
    ending: bool,
    /// Up to when packets could not start because of events that were left to later calls.
    unknown_until: Time,
    /// When somebody asked for a packet and events were left to later calls.
    put_off: Option<Time>,
    /// The number of the busy period, above 0.
    period: u32,
    /// For how long the heads of this busy period use CPU and link, in all, at most: ticks of time.
    work: u128,
    /// V and its regular flows.
    common: Clock,
    /// What flows with an alpha of their own have instead.
    floors: Floors<M>,
    /// Of a tick that was served of the bonus at each end of order (23).
    bonus_part: [f64; M],
    /// Sum over backlogged flows of weight (thousandths) times normalised processing time (2^-32), per resource.
    load: [u128; M],
    favoured: [Option<Favoured>; M],
    /// By flow: what it is charged for a head packet that has not started; with alpha = 0, or its own, only.
    charges: Vec<ResourceVec<M>>,
    /// The flows of such packets that have no alpha of their own, in the order in which they came to the head.
    unstarted: List,
    links: Links,
    /// New flows that are not in it yet.
    pub(super) anteroom: Anteroom<3>,
    /// Flows have come at `clock` since the shares were last allocated.
    stale: bool,
    /// Nothing is left to do until later than the present, unless who is favoured at this instant is asked for.
    settled: bool,
    turns: B,
    switches: u64,
}

impl<const M: usize, B: Bonus<M>> Fluid<M, B> {
    pub(super) fn new(alpha: f64, tolerance: f64, shape: Shape) -> Self {
        Self {
            alpha,
            clock: 0,
            pace: Pace::new(shape),
            due: u128::MAX,
            ending: false,
            unknown_until: Time::ZERO,
            put_off: None,
            period: 1,
            work: 0,
            common: Clock::default(),
            floors: Floors::default(),
            bonus_part: [0.0; M],
            load: [0; M],
            favoured: [None; M],
            charges: Vec::new(),
            unstarted: List::default(),
            links: Links::default(),
            anteroom: Anteroom::new(Newcomers::default()),
            stale: false,
            settled: false,
            turns: B::new(tolerance),
            switches: 0,
        }
    }

    pub(super) fn switches(&self) -> u64 {
        self.switches
    }

    pub(super) fn share(&self, flow: u32, weight: f64, alpha: Option<Part>) -> f64 {
        let rate = if alpha.is_some() { self.floors.clock.rate } else { self.common.rate };
        let favoured = self.favoured.iter().flatten().find(|f| f.flow == flow);
        weight * alpha.map_or(1.0, Part::as_f64) * rate + favoured.map_or(0.0, |f| f.bonus * f.floor.scale(weight))
    }

    /// What every resource would be used for under strict fairness among those that are backlogged, 0 to 1: `d L_r`.
    pub(super) fn fair_use(&self) -> [f64; M] {
        let bottleneck = self.load.iter().copied().max().unwrap_or(0);
        self.load.map(|load| if bottleneck > 0 { to_f64(load) / to_f64(bottleneck) } else { 0.0 })
    }

    pub(super) fn stood_still(&self) -> Duration {
        self.pace.stood_still()
    }

    /// By how much the events that are left to later calls lie back, in fluid time.
    pub(super) fn lag(&self) -> Duration {
        if self.lags() { self.pace.now().since(in_time(self.clock)) } else { Duration::ZERO }
    }

    /// Every event until `now`, but no more than a call may. In between nothing is brought up to date, so that nothing
    /// is rounded.
    #[inline]
    pub(super) fn settle<P>(&mut self, now: Time, queues: &mut FlowQueues<M, B, P>, started: &mut Started<M>) {
        self.turns.next_call();
        if !self.is_settled(now) {
            self.pass(now, queues, started);
        }
    }

    /// Whether nothing is left to do until `now`.
    #[inline]
    pub(super) fn is_settled(&self, now: Time) -> bool {
        self.settled && now == self.pace.now_in_real_time()
    }

    /// The flows whose heads are likely to end next.
    pub(super) fn ahead(&self, flows: usize, ahead: &mut Ahead) {
        self.common.finishes.ahead(flows, ahead);
    }

    /// Flows whose heads are likely to end in a while, sooner and soon.
    #[inline]
    pub(super) fn coming(&self) -> Option<[u32; 3]> {
        self.common.finishes.coming()
    }

    /// Whether a flow that stands so is backlogged.
    #[inline]
    pub(super) fn has(&self, state: &FluidFlow<M, B::Place>) -> bool {
        state.period == self.period
    }

    /// Read ahead what a flow's next head touches.
    #[inline]
    pub(super) fn touch(&self, flow: u32) {
        self.common.finishes.touch_two(flow);
        self.turns.touch(flow);
    }

    /// Time has passed until `now`.
    #[inline(never)]
    fn pass<P>(&mut self, now: Time, queues: &mut FlowQueues<M, B, P>, started: &mut Started<M>) {
        self.pace.pass(now);
        self.hold(queues, started);
        let may_be_over = queues.packets() == 0 && self.work > 0;
        let is_idle = !self.ending && !self.stale && self.due > self.now();
        if is_idle && !may_be_over && self.unstarted.is_empty() {
            self.settled = true;
            return;
        }
        self.catch_up(queues, started);
    }

    /// Handle what is due by now.
    #[inline(never)]
    fn catch_up<P>(&mut self, queues: &mut FlowQueues<M, B, P>, started: &mut Started<M>) {
        self.clear_if_over(queues);
        // Once a packet waits, it stays the first one.
        let mut none_waits = started.is_empty();
        self.start_waiting(queues, started);
        let mut events = B::EVENTS;
        while self.step(&mut events, queues, started) {
            if none_waits && !started.is_empty() {
                self.hold(queues, started);
                none_waits = false;
            }
        }
        if none_waits {
            self.hold(queues, started);
        }
        if self.lags() {
            self.unknown_until = self.pace.now();
        }
        let are_left = self.lags() || self.due <= self.now();
        self.settled = !are_left && (self.unstarted.is_empty() || self.alpha == 0.0);
    }

    /// Whether events that should have been handled by now are left to later calls.
    fn lags(&self) -> bool {
        self.ending || if self.stale { self.now() > self.clock } else { self.due <= self.now() }
    }

    /// Whether that is so, or who is favoured at this instant is.
    fn is_behind(&self) -> bool {
        self.stale || self.lags()
    }

    /// The present, in ticks of fluid time.
    fn now(&self) -> u128 {
        in_ticks(self.pace.now())
    }

    /// Fluid time stands still while the packet that has started first and waits for the CPU is late.
    fn hold<P>(&mut self, queues: &FlowQueues<M, B, P>, started: &Started<M>) {
        if let Some((_, latest)) = started.front(queues) {
            self.pace.hold(latest);
        }
    }

    /// When all packets have been handed out and there was time enough for those in the fluid one after another on CPU
    /// and link, then that one is empty: with one resource always in full use it takes no longer. So much more is
    /// allowed for rounding: four ticks for each head, and the 2^30th part.
    fn clear_if_over<P>(&mut self, queues: &FlowQueues<M, B, P>) {
        if self.work == 0 || queues.packets() > 0 {
            return;
        }
        let heads = (self.common.finishes.len() + self.floors.heads()) as u128 + 2;
        if self.now() - self.clock <= self.work + (self.work >> B::SPARE) + 4 * heads {
            return;
        }
        let Some(next) = self.period.checked_add(1) else { return };
        self.period = next;
        self.common.finishes.clear();
        self.floors.clear();
        self.turns.clear();
        (self.work, self.load, self.favoured) = (0, [0; M], [None; M]);
        (self.ending, self.stale) = (false, false);
        self.stop();
    }

    /// Nobody is backlogged.
    fn stop(&mut self) {
        self.due = u128::MAX;
        self.common.stop();
        self.floors.clock.stop();
        self.floors.first.stop();
        self.bonus_part = [0.0; M];
    }

    fn is_backlogged<P>(&self, flow: u32, queues: &FlowQueues<M, B, P>) -> bool {
        queues.flow(flow).state.period == self.period
    }

    /// The packet of this cost, which was the first to wait, is handed out: its number. Settled before.
    pub(super) fn hand_out(&mut self, cost: &ResourceVec<M>) -> u64 {
        self.pace.hand_out(cost)
    }

    /// A packet has left a resource, where it needed `used`: its ticket says how much later it may start on each link.
    pub(super) fn leaves(&mut self, ticket: &mut Ticket<M>, resource: usize, used: Duration) {
        let mut packet: HandedOut<M> = ticket.note();
        self.pace.leaves(&mut packet, resource, &ticket.charged, used);
        ticket.note_anew(packet.write());
    }

    /// A packet that was handed out under this number starts on this link, with this latest start. Settled before.
    pub(super) fn starts_on_link(&mut self, link: usize, number: u64, latest: Time) {
        self.pace.on_link(link, number, latest);
    }

    /// A packet that was handed out under this number comes to no resource from this one on. Settled before.
    pub(super) fn ends(&mut self, number: u64, resource: usize) {
        self.pace.ends(number, resource);
    }

    /// What to wait for if no packet has started: settled before, and what came at this instant is looked at.
    pub(super) fn find_start<P>(
        &mut self,
        queues: &mut FlowQueues<M, B, P>,
        started: &mut Started<M>,
    ) -> Option<Choice> {
        self.refresh(queues, started);
        if !started.is_empty() {
            return None;
        }
        if self.is_behind() {
            self.put_off = Some(self.pace.now_in_real_time());
            return Some(Choice::At(self.pace.soon()));
        }
        Some(self.pace.real(in_time(self.due)).map_or(Choice::AwaitProgress, Choice::At))
    }

    /// Whether the answer at this instant was that events are left to later calls, and it still is: asking once more is
    /// to get the same one.
    pub(super) fn puts_off(&self, now: Time, started: &Started<M>) -> Option<Choice> {
        (self.put_off == Some(now) && started.is_empty() && self.is_behind()).then(|| Choice::At(self.pace.soon()))
    }

    /// There is a flow at this index: room for what is kept of it with alpha = 0, which would else be made in one long
    /// call when alpha becomes so.
    pub(super) fn added(&mut self, flow: u32) {
        if self.charges.len() <= flow as usize {
            self.charges.resize(flow as usize + 1, ResourceVec::ZERO);
            self.links.make_room(flow);
        }
    }

    /// A packet has arrived at a flow without unstarted packets. Settled before.
    pub(super) fn arrive<P>(
        &mut self,
        flow: u32,
        slot: u32,
        queues: &mut FlowQueues<M, B, P>,
        started: &mut Started<M>,
    ) {
        queues.flow_mut(flow).state.next = slot;
        if self.is_backlogged(flow, queues) {
            return;
        }
        self.run_to_now();
        let (record, now) = (queues.flow_mut(flow), self.virtual_times());
        let weight = record.weight();
        if self.anteroom.admits(flow, weight, &mut record.state.visit, now) {
            self.enter(flow, queues, started);
        } else if self.may_enter() {
            self.let_in(queues, started);
        }
        self.came(queues, started);
    }

    /// A flow with a packet that has not started becomes backlogged in the fluid, which has run to now.
    fn enter<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, B, P>, started: &mut Started<M>) {
        let state = &mut queues.flow_mut(flow).state;
        state.period = self.period;
        let floor = state.floor;
        self.floors.count(floor, true);
        self.turns.join(flow);
        let service = self.take_head(flow, None, queues, started);
        self.set_regular(flow, floor, service as i128);
    }

    /// V, U and W as of the last change.
    fn virtual_times(&self) -> [u128; 3] {
        [self.common.time, self.floors.clock.time, self.floors.first.time]
    }

    /// Whether the next flow in front of the fluid may enter: V, U and W are there, nobody is backlogged, or V stands,
    /// as no share is guaranteed.
    fn may_enter(&self) -> bool {
        self.anteroom.opens().is_some_and(|[common, own, first]| {
            let is_there = common <= self.common.time || self.alpha == 0.0;
            let floors = &self.floors;
            self.load == [0; M] || (is_there && own <= floors.clock.time && first <= floors.first.time)
        })
    }

    /// The next flow in front of the fluid enters.
    fn let_in<P>(&mut self, queues: &mut FlowQueues<M, B, P>, started: &mut Started<M>) {
        if let (true, Some(opens)) = (self.load == [0; M], self.anteroom.opens()) {
            let clocks = [&mut self.common, &mut self.floors.clock, &mut self.floors.first];
            clocks.into_iter().zip(opens).for_each(|(clock, opens)| clock.time = clock.time.max(opens));
        }
        if let Some(flow) = self.anteroom.let_in() {
            queues.flow_mut(flow).state.visit = Visit::First;
            self.enter(flow, queues, started);
        }
    }

    /// A packet of the flow has been handed out.
    #[inline(always)]
    pub(super) fn handed_out_of<P>(&mut self, flow: u32, queues: &FlowQueues<M, B, P>) {
        let record = queues.flow(flow);
        // Mostly it is neither the last packet of all, nor of a new flow.
        let matters = queues.packets() == 0 || record.state.visit == Visit::First;
        if matters && record.packets == 0 && record.state.period == self.period {
            self.handed_out_last_of(flow, queues);
        }
    }

    /// Nothing waits of a flow that is backlogged here: what is kept of it matters to new flows, and to whether the
    /// fluid is over.
    #[inline(never)]
    fn handed_out_last_of<P>(&mut self, flow: u32, queues: &FlowQueues<M, B, P>) {
        let record = queues.flow(flow);
        self.settled &= queues.packets() > 0;
        if record.state.visit == Visit::First
            && let Some(left) = self.left_of(flow, queues)
        {
            let finish = self.finish(record.state.floor, left);
            self.anteroom.handed_out(record.weight(), self.virtual_times(), finish);
        }
    }

    /// The shares are to be allocated anew.
    fn changed<P>(&mut self, queues: &mut FlowQueues<M, B, P>, started: &mut Started<M>) {
        self.settled = false;
        self.came(queues, started);
    }

    /// A flow has come, so that the shares are to be allocated anew. Of all that comes at one instant the last decides:
    /// with alpha > 0 a flow that was favoured for no time at all has neither started by it nor been served. A burst of
    /// packets for idle flows would else ask for every one. With alpha = 0, or that of a backlogged flow, who is
    /// favoured at once starts at once.
    fn came<P>(&mut self, queues: &mut FlowQueues<M, B, P>, started: &mut Started<M>) {
        self.stale = true;
        if self.alpha == 0.0 || self.floors.idlers > 0 {
            self.refresh(queues, started);
        }
    }

    /// Allocate the shares if something has changed since.
    fn refresh<P>(&mut self, queues: &mut FlowQueues<M, B, P>, started: &mut Started<M>) {
        if self.stale && !self.ending {
            self.settled = false;
            self.stale = self.reallocate(queues, started).is_err();
        }
    }

    /// The flow leaves with all its packets. Settled before.
    pub(super) fn remove<P>(&mut self, flow: u32, queues: &mut FlowQueues<M, B, P>, started: &mut Started<M>) {
        self.turns.forget(flow);
        let is_backlogged = self.is_backlogged(flow, queues);
        if is_backlogged {
            self.run_to_now();
        }
        let (record, left) = (queues.flow(flow), self.left_of(flow, queues));
        let (state, weight) = (record.state, record.weight());
        self.settled = false;
        let finish = left.map(|left| self.finish(state.floor, left));
        let counts = self.anteroom.removed(flow, (weight, record.packets), state.visit, self.virtual_times(), finish);
        if counts && state.started && record.head == state.next {
            let left = state.floor.by_weight(left.map_or(0, |left| left.max(0) as u128));
            self.pace.stand_still(Duration::from_nanos(tag::nanos(left, weight)));
        }
        if is_backlogged {
            self.take_off(flow, queues);
            self.leave(flow, queues);
            if self.may_enter() {
                self.let_in(queues, started);
            }
            self.changed(queues, started);
        }
    }

    /// The flow's weight was `old` until now. Settled before.
    pub(super) fn reweigh<P>(
        &mut self,
        flow: u32,
        old: Weight,
        queues: &mut FlowQueues<M, B, P>,
        started: &mut Started<M>,
    ) {
        let (state, new) = (queues.flow(flow).state, queues.flow(flow).weight());
        if !self.is_backlogged(flow, queues) {
            if state.visit == Visit::Waits {
                self.run_to_now();
                self.anteroom.reweighed(flow, state.visit, old, new);
                self.changed(queues, started);
            }
            return;
        }
        self.run_to_now();
        self.add_load(state.place, state.floor, old, false);
        self.add_load(state.place, state.floor, new, true);
        let scale = |left: i128| (left * i128::from(old.as_milli()) / i128::from(new.as_milli())).clamp(0, 1 << 95);
        self.change_left(flow, state.floor, state.floor, scale);
        self.turns.scale(flow, scale);
        self.changed(queues, started);
    }

    /// The knob, before there is any flow.
    pub(super) fn begin_with(&mut self, alpha: f64) {
        self.alpha = alpha;
    }

    /// Change the knob. Settled before.
    pub(super) fn set_alpha<P>(&mut self, alpha: f64, queues: &mut FlowQueues<M, B, P>, started: &mut Started<M>) {
        self.run_to_now();
        (self.alpha, self.settled) = (alpha, false);
        self.start_waiting(queues, started);
        self.changed(queues, started);
    }

    /// Run to the next event, and handle what ends then; whether there may be more to do until `now`.
    #[inline(always)]
    fn step<P>(&mut self, events: &mut usize, queues: &mut FlowQueues<M, B, P>, started: &mut Started<M>) -> bool {
        if !self.ending {
            if self.stale && self.now() > self.clock {
                self.refresh(queues, started);
                if self.stale {
                    return false;
                }
            }
            if self.due > self.now() || *events == 0 {
                return false;
            }
            *events -= 1;
            self.run(self.due - self.clock);
        }
        self.ending = !self.finish_due(events, queues, started);
        if self.ending {
            return false;
        }
        self.settled = false;
        self.stale = self.reallocate(queues, started).is_err();
        !self.stale
    }

    /// Run to `now`, unless events are left until then: something other than the end of a packet changes the shares.
    #[inline(never)]
    fn run_to_now(&mut self) {
        let now = self.now();
        if now > self.clock && !self.lags() {
            self.run(now - self.clock);
        }
    }

    #[inline(always)]
    fn run(&mut self, ticks: u128) {
        self.clock += ticks;
        let ticks = to_f64(ticks);
        let common = self.common.run(ticks);
        let own = if self.floors.are_used { self.floors.clock.run(ticks) } else { 0 };
        let first = if self.floors.first.rate > 0.0 { self.floors.first.run(ticks) } else { 0 };
        let other = |floor: Floor| {
            core::hint::cold_path();
            match floor {
                Floor::Own(_) => own,
                Floor::First => first,
                Floor::Common | Floor::Nothing => 0,
            }
        };
        for (favoured, part) in self.favoured.iter_mut().zip(&mut self.bonus_part) {
            if let Some(favoured) = favoured {
                let bonus = whole_ticks(part, ticks * favoured.bonus);
                // Not by a table, which takes longer.
                let regular = if favoured.floor == Floor::Common { common } else { other(favoured.floor) };
                favoured.had += bonus;
                favoured.left -= (regular + bonus) as i128;
            }
        }
    }

    /// Every head packet that has ended gives way to the flow's next packet, which gets what was served beyond the end,
    /// and new flows enter; whether none is left.
    #[inline(always)]
    fn finish_due<P>(
        &mut self,
        events: &mut usize,
        queues: &mut FlowQueues<M, B, P>,
        started: &mut Started<M>,
    ) -> bool {
        loop {
            let regular = self.common.ended().or_else(|| self.floors.ended());
            let favoured = || (0..M).find(|&end| self.favoured[end].as_ref().is_some_and(|f| f.left <= 0));
            let end = if regular.is_none() { favoured() } else { None };
            if regular.is_none() && end.is_none() && !self.may_enter() {
                return true;
            }
            if *events == 0 {
                return false;
            }
            *events -= 1;
            let ended = match end.and_then(|end| self.favoured[end].as_mut().map(|f| (end, f))) {
                Some((end, favoured)) => {
                    let (had, floor) = (core::mem::take(&mut favoured.had), favoured.floor);
                    let (flow, left) = (favoured.flow, favoured.left);
                    self.turns.charge(flow, end, floor.by_weight(had));
                    Some((flow, left))
                }
                None => regular,
            };
            let Some((flow, left)) = ended else {
                self.let_in(queues, started);
                continue;
            };
            let Some(service) = self.next_head(flow, queues, started) else {
                self.leave(flow, queues);
                continue;
            };
            let (left, state) = (left + service as i128, &queues.flow(flow).state);
            match end.and_then(|end| self.favoured[end].as_mut()) {
                // Without a floor the next one has not started, so it has not ended.
                Some(favoured) => favoured.left = if state.started { left } else { left.max(1) },
                None => self.set_next(flow, state.floor, left),
            }
        }
    }
}
