//! Floors: alpha w_i d of most flows, alpha_i w_i d of those with an alpha of their own, and of protected flows what
//! the floors of all others leave, gamma w_i d with a gamma of 1 or more.
//!
//! A regular flow's service, divided by alpha_i w_i, grows at the rate d whatever its alpha_i. So the flows with an
//! alpha of their own have one more virtual time U with U' = d, however many alphas there are, and a head that takes s
//! of service by weight takes s / alpha_i there. Those of which it is 0 are served by a bonus only: they have a clock
//! that stands. Protected flows have a virtual time W with W' = gamma d. V stays what it is, for all others: the alpha
//! of all can change in O(1), and gamma with it.

use core::hint::cold_path;

use dovetail_units::ResourceVec;

use super::super::bonus::Bonus;
use super::super::flow::Floor;
use super::super::ticks::{until, whole_ticks};
use super::rates::add_all;
use super::{FlowQueues, Fluid, Started};
use crate::queues::{List, TagTournament};
use crate::steps;
use crate::tag::Tag;

/// A virtual time and the regular flows that are served by it.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    pub time: u128,
    /// Virtual service of a regular flow per unit of time (eq. 27).
    pub rate: f64,
    /// Of a tick that was served beyond the virtual time.
    pub part: f64,
    /// The flows by the virtual finish times of their head packets (eq. 28).
    pub finishes: TagTournament,
}

impl Clock {
    /// Nobody is backlogged.
    pub fn stop(&mut self) {
        (self.rate, self.part) = (0.0, 0.0);
    }

    /// Time passes: whole ticks of virtual time.
    #[inline]
    pub fn run(&mut self, ticks: f64) -> u128 {
        let regular = whole_ticks(&mut self.part, ticks * self.rate);
        self.time += regular;
        regular
    }

    /// The flow whose head has ended first, if one has, and what is left of that: nothing or less.
    #[inline]
    pub fn ended(&self) -> Option<(u32, i128)> {
        let (tag, flow) = self.finishes.peek().filter(|&(tag, _)| tag <= self.time)?;
        Some((flow, self.left(tag)))
    }

    /// One that stands in the middle of what tags can be.
    fn standing() -> Self {
        Self { time: 1 << 95, ..Self::default() }
    }

    /// When so much has been served.
    #[inline]
    fn tag(&self, left: i128) -> u128 {
        let tag = self.time.wrapping_add_signed(left);
        if tag >> 96 != 0 {
            cold_path();
            return Tag::at(self.time.saturating_add_signed(left)).ticks();
        }
        tag
    }

    /// So long it takes to the end of the head that ends first.
    #[inline]
    pub fn until_first(&self) -> f64 {
        self.finishes.peek().map_or(f64::INFINITY, |(tag, _)| self.until(tag))
    }

    /// So long it takes to this virtual time.
    #[inline]
    pub fn until(&self, tag: u128) -> f64 {
        until(self.left(tag), self.part, self.rate)
    }

    /// Until this virtual time.
    #[inline]
    pub fn left(&self, tag: u128) -> i128 {
        tag as i128 - self.time as i128
    }
}

/// What there is for flows with an alpha of their own.
#[derive(Clone, Debug)]
pub(super) struct Floors<const M: usize> {
    /// Whether any flow has had one.
    pub are_used: bool,
    /// Whether any flow has been protected.
    pub protects: bool,
    /// U and its regular flows.
    pub clock: Clock,
    /// The regular flows whose own alpha is 0.
    pub still: Clock,
    /// W and its regular flows.
    pub first: Clock,
    /// Of the load, what is that of protected flows.
    pub first_load: [u128; M],
    /// Of the load, what is theirs; and the same times their alpha in thousandths.
    pub load: [u128; M],
    pub guaranteed: [u128; M],
    /// The flows of heads that have not started as their own alpha is 0, in the order in which they came.
    pub unstarted: List,
    /// Backlogged flows whose own alpha is 0.
    pub idlers: usize,
}

impl<const M: usize> Default for Floors<M> {
    fn default() -> Self {
        Self {
            are_used: false,
            protects: false,
            clock: Clock::default(),
            still: Clock::standing(),
            first: Clock::default(),
            first_load: [0; M],
            load: [0; M],
            guaranteed: [0; M],
            unstarted: List::default(),
            idlers: 0,
        }
    }
}

impl<const M: usize> Floors<M> {
    /// Whether any flow has had another floor than most.
    #[inline]
    pub fn differ(&self) -> bool {
        self.are_used || self.protects
    }

    /// A flow becomes backlogged, or is so no more.
    pub fn count(&mut self, floor: Floor, enters: bool) {
        if floor == Floor::Nothing {
            self.idlers = if enters { self.idlers + 1 } else { self.idlers - 1 };
        }
    }

    /// A head of a flow with this floor, and of so much load, joins or leaves.
    #[cold]
    #[inline(never)]
    pub fn add_load(&mut self, floor: Floor, load: [u64; M], joins: bool) {
        match floor {
            Floor::Common => {}
            Floor::Own(milli) => {
                add_all(&mut self.load, load, joins);
                // Of 63 and 10 bits.
                for (sum, load) in self.guaranteed.iter_mut().zip(load) {
                    let part = u128::from(load) * u128::from(milli);
                    *sum = if joins { *sum + part } else { *sum - part };
                }
            }
            Floor::Nothing => add_all(&mut self.load, load, joins),
            Floor::First => add_all(&mut self.first_load, load, joins),
        }
    }

    /// Regular flows that are not served by V.
    pub fn heads(&self) -> usize {
        self.clock.finishes.len() + self.still.finishes.len() + self.first.finishes.len()
    }

    /// As [`Clock::ended`], of flows that are not served by V.
    #[inline]
    pub fn ended(&self) -> Option<(u32, i128)> {
        if !self.differ() {
            return None;
        }
        self.clock.ended().or_else(|| self.still.ended()).or_else(|| self.first.ended())
    }

    /// Nobody is backlogged any more. O(1).
    pub fn clear(&mut self) {
        self.clock.finishes.clear();
        self.still.finishes.clear();
        self.first.finishes.clear();
        (self.load, self.guaranteed, self.first_load, self.idlers) = ([0; M], [0; M], [0; M], 0);
    }
}

impl<const M: usize, B: Bonus<M>> Fluid<M, B> {
    /// Whether a flow with this floor is served while it is regular.
    pub(super) fn is_served(&self, floor: Floor) -> bool {
        match floor {
            Floor::Common => self.alpha > 0.0,
            Floor::Own(_) | Floor::First => true,
            Floor::Nothing => false,
        }
    }

    /// The clock that serves flows with this floor.
    #[inline]
    pub(super) fn clock(&self, floor: Floor) -> &Clock {
        if floor == Floor::Common { &self.common } else { self.other_clock(floor) }
    }

    /// Apart, or the compiler makes a table of both, and a jump by that takes longer.
    #[cold]
    #[inline(never)]
    fn other_clock(&self, floor: Floor) -> &Clock {
        match floor {
            Floor::Common => &self.common,
            Floor::Own(_) => &self.floors.clock,
            Floor::Nothing => &self.floors.still,
            Floor::First => &self.floors.first,
        }
    }

    #[inline]
    fn clock_mut(&mut self, floor: Floor) -> &mut Clock {
        if floor == Floor::Common { &mut self.common } else { self.other_clock_mut(floor) }
    }

    #[cold]
    #[inline(never)]
    fn other_clock_mut(&mut self, floor: Floor) -> &mut Clock {
        match floor {
            Floor::Common => &mut self.common,
            Floor::Own(_) => &mut self.floors.clock,
            Floor::Nothing => &mut self.floors.still,
            Floor::First => &mut self.floors.first,
        }
    }

    /// The flow becomes regular; so much is left of its head.
    pub(super) fn set_regular(&mut self, flow: u32, floor: Floor, left: i128) {
        let clock = self.clock_mut(floor);
        clock.finishes.lower(flow, clock.tag(left));
    }

    /// So much is left of the next head of a regular flow.
    pub(super) fn set_next(&mut self, flow: u32, floor: Floor, left: i128) {
        let clock = self.clock_mut(floor);
        clock.finishes.set(flow, clock.tag(left));
    }

    /// A flow with this floor is regular no more: what is left of its head, if it was.
    pub(super) fn take_from_clock(&mut self, flow: u32, floor: Floor) -> Option<i128> {
        let clock = self.clock_mut(floor);
        clock.finishes.take(flow).map(|tag| clock.left(tag))
    }

    /// What is left of the head of a regular flow.
    pub(super) fn left_of_regular(&self, flow: u32, floor: Floor) -> Option<i128> {
        let clock = self.clock(floor);
        clock.finishes.get(flow).map(|tag| clock.left(tag))
    }

    /// What is left of the head of a flow, if it is backlogged.
    pub(super) fn left_of<P>(&self, flow: u32, queues: &FlowQueues<M, B, P>) -> Option<i128> {
        if !self.is_backlogged(flow, queues) {
            return None;
        }
        let favoured = self.favoured.iter().flatten().find(|f| f.flow == flow);
        let floor = queues.flow(flow).state.floor;
        favoured.map_or_else(|| self.left_of_regular(flow, floor), |favoured| Some(favoured.left))
    }

    /// When a head of which so much is left ends by V, by U and by W, if its flow gets no bonus from now on.
    pub(super) fn finish(&self, floor: Floor, left: i128) -> [u128; 3] {
        let end = self.clock(floor).time.saturating_add_signed(left);
        match floor {
            Floor::Common => [end, 0, 0],
            Floor::Own(_) => [0, end, 0],
            Floor::Nothing => [0; 3],
            Floor::First => [0, 0, end],
        }
    }

    /// What is left of the head of a backlogged flow, which had the floor `old`, becomes another as it gets the floor
    /// `new`. If it is favoured, it is charged for its bonus.
    pub(super) fn change_left(&mut self, flow: u32, old: Floor, new: Floor, change: impl Fn(i128) -> i128) {
        for (slot, favoured) in self.favoured.iter_mut().enumerate() {
            if let Some(favoured) = favoured.as_mut().filter(|f| f.flow == flow) {
                self.turns.charge(flow, slot, old.by_weight(core::mem::take(&mut favoured.had)));
                (favoured.floor, favoured.left) = (new, change(favoured.left));
                return;
            }
        }
        if let Some(left) = self.take_from_clock(flow, old) {
            self.set_regular(flow, new, change(left));
        }
    }

    /// The flow has this floor from now on. Settled before, if it is backlogged.
    pub(in super::super) fn guarantee<P>(
        &mut self,
        flow: u32,
        new: Floor,
        queues: &mut FlowQueues<M, B, P>,
        started: &mut Started<M>,
    ) {
        let before = queues.flow(flow).state;
        let old = before.floor;
        if old == new {
            return;
        }
        self.floors.are_used |= matches!(new, Floor::Own(_) | Floor::Nothing);
        self.floors.protects |= new == Floor::First;
        if !self.is_backlogged(flow, queues) {
            queues.flow_mut(flow).state.floor = new;
            return;
        }
        self.run_to_now();
        let weight = queues.flow(flow).weight();
        self.add_load(before.place, old, weight, false);
        let record = queues.flow_mut(flow);
        record.state.floor = new;
        let after = record.state;
        self.add_load(after.place, new, weight, true);
        self.floors.count(old, false);
        self.floors.count(new, true);
        self.change_left(flow, old, new, |left| old.convert(left, new));
        if !after.started {
            self.forget_unstarted(flow, old);
            self.keep_unstarted(flow, new, self.charges[flow as usize]);
            if self.is_served(new) {
                self.start(flow, self.pace.now(), queues, started);
            }
        }
        self.changed(queues, started);
    }

    /// With alpha above 0 every head has started, those that waited for it as fast as calls allow.
    pub(super) fn start_waiting<P>(&mut self, queues: &mut FlowQueues<M, B, P>, started: &mut Started<M>) {
        if self.alpha > 0.0 {
            for _ in 0..B::EVENTS {
                let Some(flow) = self.unstarted.first() else { return };
                steps::take(1);
                self.start(flow, self.pace.now(), queues, started);
            }
        }
    }

    /// The flow's head packet, which is charged so much, does not start yet.
    pub(super) fn keep_unstarted(&mut self, flow: u32, floor: Floor, charged: ResourceVec<M>) {
        self.charges[flow as usize] = charged;
        let list = if floor == Floor::Nothing { &mut self.floors.unstarted } else { &mut self.unstarted };
        self.links.push_back(list, flow);
    }

    /// The flow's head packet has started, or is no more.
    pub(super) fn forget_unstarted(&mut self, flow: u32, floor: Floor) {
        let list = if floor == Floor::Nothing { &mut self.floors.unstarted } else { &mut self.unstarted };
        self.links.remove(list, flow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_hold_at_both_ends() {
        let clock = Clock { time: 1 << 95, ..Clock::default() };
        assert_eq!([-7, 0, 7].map(|left| clock.tag(left)), [(1 << 95) - 7, 1 << 95, (1 << 95) + 7]);
        assert_eq!([-(1 << 95) - 1, i128::MIN].map(|left| clock.tag(left)), [0; 2]);
        assert_eq!([1 << 95, i128::MAX].map(|left| clock.tag(left)), [(1 << 96) - 1; 2]);
    }
}
