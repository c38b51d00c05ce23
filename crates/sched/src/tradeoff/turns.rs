//! Whose turn it is to be favoured: the flows near either end of order (23) share its bonus by weight, one packet after
//! another.
//!
//! Near an end is who is in one class with the flow at the end, or in the next one. Classes are intervals of the
//! logarithm of the ratio, half as wide as the tolerance: whoever is within half the tolerance of the end is near it,
//! whichever boundary is between them, and nobody who is farther than the tolerance is.
//!
//! Of these it is the turn of the one with the least *finish*: what it has had of the bonus, divided by its weight, and
//! its whole head packet. Who becomes backlogged starts with as much as anybody near that end has had (self-clocked
//! fair queueing, of bonus), so that new flows and small first packets bring no turn earlier.

use alloc::vec::Vec;
use core::hint::select_unpredictable;

use dovetail_units::{Duration, ResourceVec, Weight};

use super::bonus::{Bonus, Favours};
use super::flow::{ONE, Ratio};
use super::share;
use crate::queues::{Entry, NIL, Tournament, Unfinished};
use crate::{tag, touch};

/// So many flows are moved in the heaps, or put into them after a rest, in a call; what is left waits for the next one.
const MOVES: usize = 48;
/// Finishes are below 2^94 ticks, places below 2^34.
const FINISH_BITS: u32 = 94;
const LAST_FINISH: u128 = (1 << FINISH_BITS) - 1;
/// Logarithms of ratios, to base 2, are in units of 2^-20.
const LOG_BITS: u32 = 20;
/// The logarithm of a time that is not there is one less than that of the least that is.
const LOG_RANGE: u64 = 33 << LOG_BITS;
/// The slope of [`log2`] times what it is the logarithm of: at least 21/16, so that a class of so much is as wide as
/// the tolerance at most.
const LEAST_SLOPE: f64 = 21.0 / 16.0;

/// One flow's part in the turns: two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Turn {
    /// By end: what it is counted to have had of the bonus, in ticks of virtual time.
    had: [u128; 2],
    /// By end: its longest head since it was last up to the others.
    longest: [u128; 2],
    /// Virtual service time of its head.
    head: u128,
    /// Of a tick that earlier services have left, in thousandths of the weight.
    part: u32,
    /// The place of its head in order (23) when it was last put into the heaps, and by end the class of that.
    ratio: Ratio,
    classes: [u64; 2],
    /// For how long the head uses CPU and link, in all, at most: ticks of time. Of two resources that is below 2^64.
    work: u64,
    /// Where it is in the list of those that are not in the heaps, if that names it there.
    at: u32,
    /// Whether it is backlogged, or was when all left at once, which leaves nobody in the heaps.
    is_in: bool,
}

/// Class and finish of a flow in a heap, in words of 64 bits.
#[derive(Clone, Copy, Eq, PartialOrd, Ord, Debug)]
struct Stand {
    high: u64,
    low: u64,
    flow: u64,
}

impl PartialEq for Stand {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // One branch, not three.
        (self.high ^ other.high) | (self.low ^ other.low) | (self.flow ^ other.flow) == 0
    }
}

impl Entry<u128> for Stand {
    // Classes are below 2^34: no key is as great, and one more than this still fits.
    const NONE: Self = Self { high: u64::MAX, low: 0, flow: u32::MAX as u64 };
    type Parts = u128;
    type Rest = u64;

    #[inline]
    fn parts(self) -> (u128, u64) {
        (self.key(), self.flow)
    }

    #[inline]
    fn whole(key: u128, flow: u64) -> Self {
        Self { high: (key >> 64) as u64, low: key as u64, flow }
    }

    #[inline]
    fn new(key: u128, flow: u32) -> Self {
        Self { high: (key >> 64) as u64, low: key as u64, flow: flow.into() }
    }

    #[inline]
    fn key(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }

    #[inline]
    fn flow(self) -> u32 {
        self.flow as u32
    }

    #[inline]
    fn precedes(&self, other: &Self) -> bool {
        // Five instructions: a carry and a borrow.
        self.key() < other.key().wrapping_add(u128::from(self.flow < other.flow))
    }

    // Word by word, or it would go through memory.
    #[inline]
    fn select(is_first: bool, first: Self, second: Self) -> Self {
        let word = |first: u64, second: u64| select_unpredictable(is_first, first, second);
        Self {
            high: word(first.high, second.high),
            low: word(first.low, second.low),
            flow: word(first.flow, second.flow),
        }
    }
}

/// Order (23) with the turns of those near its ends.
#[derive(Clone, Debug)]
pub struct Turns {
    /// Of two classes; 0 where only equals are near.
    width: u64,
    flows: Vec<Turn>,
    /// By end: the most that anybody has had.
    most: [u128; 2],
    /// By end: backlogged flows by class and finish, those in even classes and those in odd ones, so that both classes
    /// near an end come first. Who moved back, to the other heap, or left stands there too until it comes first.
    heaps: [[Tournament<u128, Stand>; 2]; 2],
    /// By end: whose turn it was found to be.
    firsts: [First; 2],
    /// Who took a head last and is not in the heaps with it yet, or [`NIL`]. How far an entry comes there no branch
    /// could guess, and it takes long to find out: what else is done for a head comes first.
    comes: u32,
    /// Nobody has a bonus for now, so who takes another head is not put into the heaps.
    rests: bool,
    /// Those who took one since, each once. Some may have left.
    unplaced: Vec<u32>,
    /// Of [`MOVES`], in this call.
    moves: usize,
}

/// Whose turn it is at an end.
#[derive(Clone, Copy, Debug)]
struct First {
    /// By heap of the end, as bits: since it was found out, nothing has changed for the flow that stands first in it,
    /// and nobody has come before that. In one byte, as both are looked at just after one was written.
    known: u8,
    flow: Option<u32>,
    /// The normalised processing times of its head.
    times: [f64; 2],
}

impl First {
    const UNKNOWN: Self = Self { known: 0, flow: None, times: [1.0; 2] };
    /// Of both heaps.
    const KNOWN: u8 = 0b11;
}

impl Bonus<2> for Turns {
    type Place = Ratio;
    const SPARE: u32 = 30;
    const EVENTS: usize = super::EVENTS_PER_CALL;

    #[inline]
    fn place(cost: &ResourceVec<2>) -> Ratio {
        Ratio::of(cost)
    }

    #[inline]
    fn normalised(place: Ratio) -> [u64; 2] {
        place.normalised()
    }

    /// Flows whose ratios differ by this part are near.
    fn new(tolerance: f64) -> Self {
        // No more than the natural logarithm of 1 + tolerance, and the rounding of two logarithms less.
        let logarithm = tolerance - tolerance * tolerance / 2.0;
        let width = (logarithm * LEAST_SLOPE * f64::from(1 << LOG_BITS)) as u64;
        Self {
            width: width.saturating_sub(3),
            flows: Vec::new(),
            most: [0; 2],
            heaps: Default::default(),
            firsts: [First::UNKNOWN; 2],
            comes: NIL,
            rests: false,
            unplaced: Vec::new(),
            moves: MOVES,
        }
    }

    #[inline]
    fn touch(&self, flow: u32) {
        if let Some(turn) = self.flows.get(flow as usize) {
            touch::word(&turn.had[0]);
            touch::word(&turn.work);
        }
        if !self.rests {
            self.heaps.iter().flatten().for_each(|heap| heap.touch_two(flow));
        }
    }

    /// The next call has begun.
    fn next_call(&mut self) {
        self.moves = MOVES;
    }

    /// The flow is removed.
    fn forget(&mut self, flow: u32) {
        if let Some(turn) = self.flows.get_mut(flow as usize) {
            turn.part = 0;
        }
    }

    /// Who leaves stands where it was until it comes first.
    #[inline]
    fn leave(&mut self, flow: u32) {
        self.let_come();
        self.flows[flow as usize].is_in = false;
        self.look_again(flow);
    }

    /// The flow becomes backlogged.
    #[inline]
    fn join(&mut self, flow: u32) {
        if self.flows.len() <= flow as usize {
            self.flows.resize(flow as usize + 1, Turn::NEW);
        }
        let turn = &mut self.flows[flow as usize];
        (turn.had, turn.longest) = (self.most, [0; 2]);
        // It may stand anywhere in the heaps, or nowhere.
        (turn.is_in, turn.head) = (true, u128::MAX);
    }

    /// The backlogged flow has another head, for which CPU and link are used for `work` ticks: its virtual service
    /// time.
    #[inline(always)]
    fn take_head(&mut self, flow: u32, ratio: Ratio, (time, weight): (Duration, Weight), work: u128) -> u128 {
        self.let_come();
        let turn = &mut self.flows[flow as usize];
        let (service, part) = tag::virtual_time(time.as_nanos() as i64, weight, turn.part);
        let service = (service as u128).max(1);
        (turn.part, turn.work) = (part, work as u64);
        // No further forward than it stands: the heaps need not know yet.
        let stays = turn.ratio == ratio && service >= turn.head;
        turn.head = service;
        if !self.rests && !stays {
            turn.stand_at(ratio, self.width);
        }
        for end in 0..2 {
            let is_up = turn.had[end] + service >= self.most[end];
            turn.longest[end] = select_unpredictable(is_up, service, turn.longest[end].max(service));
        }
        if self.rests {
            self.leave_out(flow);
        } else if stays {
            self.look_again(flow);
        } else {
            self.comes = flow;
        }
        service
    }

    /// [`take_head`](Self::take_head)'s `work`.
    #[inline]
    fn work(&self, flow: u32) -> u128 {
        self.flows[flow as usize].work.into()
    }

    /// What is left of services and finishes is to be scaled: the flow's weight has changed.
    #[inline(never)]
    fn scale(&mut self, flow: u32, scale: impl Fn(i128) -> i128) {
        self.let_come();
        let turn = &mut self.flows[flow as usize];
        turn.head = scale(turn.head as i128) as u128;
        self.set_place(flow);
    }

    /// The flow has had so much of an end's bonus. Who was long not near an end, and had nothing meanwhile, is not
    /// given it now.
    fn charge(&mut self, flow: u32, end: usize, bonus: u128) {
        if bonus > 0 {
            self.let_come();
            let turn = &mut self.flows[flow as usize];
            let least = self.most[end].saturating_sub(turn.longest[end]);
            turn.had[end] = turn.had[end].max(least) + bonus;
            self.most[end] = self.most[end].max(turn.had[end]);
            self.look_again_at(end, flow);
        }
    }

    fn rest(&mut self) {
        self.let_come();
        self.rests = true;
    }

    /// Nobody is backlogged any more. O(1).
    fn clear(&mut self) {
        self.comes = NIL;
        self.unplaced.clear();
        self.heaps.iter_mut().flatten().for_each(Tournament::clear);
        self.firsts = [First::UNKNOWN; 2];
    }

    /// Theorem 3 for the flows whose turn it is at the ends.
    #[inline(always)]
    fn allocate(&mut self, left: [f64; 2], place: impl Fn(u32) -> Option<Ratio>) -> Result<Favours<2>, Unfinished> {
        self.let_come();
        if self.rests {
            self.place_all(&place)?;
        }
        let mut found = Ok(());
        let bonus = share::allocate(left, |end| {
            if self.firsts[end].known != First::KNOWN {
                found = found.and(self.find_first(end));
            }
            self.firsts[end].times
        });
        found?;
        Ok([0, 1].map(|end| self.firsts[end].flow.filter(|_| bonus[end] > 0.0).map(|flow| (flow, bonus[end]))))
    }
}

impl Turns {
    /// Find out whose turn it is at this end; the error is that too many flows had to be moved for one call.
    #[inline(never)]
    fn find_first(&mut self, end: usize) -> Result<(), Unfinished> {
        let Self { flows, heaps, firsts, moves, .. } = self;
        let known = &mut firsts[end].known;
        while *known != First::KNOWN {
            // Mostly of one only, and no branch could guess which.
            let half = usize::from(*known & 1);
            let key = |flow: u32| {
                let turn = &flows[flow as usize];
                (turn.is_in & (turn.half(end) == half), turn.key(end))
            };
            heaps[end][half].correct(moves, key)?;
            *known |= 1 << half;
        }
        let flow = self.least_near(end);
        let times = flow.map_or([1.0; 2], |flow| self.flows[flow as usize].ratio.normalised_f64());
        (self.firsts[end].flow, self.firsts[end].times) = (flow, times);
        Ok(())
    }

    /// Who has the least finish of those near this end, which come first in their heaps.
    #[inline]
    fn least_near(&self, end: usize) -> Option<u32> {
        // One by one: an array of both would go through memory.
        let [even, odd] = &self.heaps[end];
        let (Some((a, a_flow)), Some((b, b_flow))) = (even.peek(), odd.peek()) else {
            return even.peek().or(odd.peek()).map(|(_, flow)| flow);
        };
        let are_near = (a >> FINISH_BITS).abs_diff(b >> FINISH_BITS) <= self.reach();
        // Without a branch, which could not be guessed: who is not near is in another class.
        let counts = select_unpredictable(are_near, LAST_FINISH, u128::MAX);
        let is_a = Stand::new(a & counts, a_flow).precedes(&Stand::new(b & counts, b_flow));
        Some(select_unpredictable(is_a, a_flow, b_flow))
    }

    /// So many classes after the one at an end are near it, too.
    fn reach(&self) -> u128 {
        u128::from(self.width > 0)
    }

    #[inline(always)]
    fn set_place(&mut self, flow: u32) {
        if self.rests {
            self.leave_out(flow);
        } else {
            self.put_in(flow);
        }
    }

    /// Who takes another head while nobody has a bonus.
    #[inline(never)]
    fn leave_out(&mut self, flow: u32) {
        let turn = &mut self.flows[flow as usize];
        if self.unplaced.get(turn.at as usize) != Some(&flow) {
            turn.at = self.unplaced.len() as u32;
            self.unplaced.push(flow);
            // Which it stands in is found out later; all of them at once would make that call long.
            self.heaps.iter_mut().flatten().for_each(|heap| heap.make_room(flow));
        }
    }

    /// There is a bonus again; the error is that too many flows are to be put into the heaps for one call.
    #[cold]
    fn place_all(&mut self, place: impl Fn(u32) -> Option<Ratio>) -> Result<(), Unfinished> {
        while let Some(&flow) = self.unplaced.last() {
            self.moves = self.moves.checked_sub(1).ok_or(Unfinished)?;
            if let Some(ratio) = place(flow) {
                self.flows[flow as usize].stand_at(ratio, self.width);
                self.put_in(flow);
            }
            self.unplaced.pop();
        }
        self.rests = false;
        Ok(())
    }

    /// Who took a head last is put into the heaps.
    #[inline(always)]
    fn let_come(&mut self) {
        if self.comes != NIL {
            self.put_in(self.comes);
            self.comes = NIL;
        }
    }

    #[inline(never)]
    fn put_in(&mut self, flow: u32) {
        let turn = &self.flows[flow as usize];
        for (end, heaps) in self.heaps.iter_mut().enumerate() {
            heaps[turn.half(end)].lower(flow, turn.key(end));
        }
        self.look_again(flow);
    }

    /// The flow has another place, or none: it is to be found out whose turn it is where it stands first.
    #[inline(always)]
    fn look_again(&mut self, flow: u32) {
        (0..2).for_each(|end| self.look_again_at(end, flow));
    }

    #[inline(always)]
    fn look_again_at(&mut self, end: usize, flow: u32) {
        let [even, odd] = &self.heaps[end];
        self.firsts[end].known &= !(u8::from(even.is_first(flow)) | u8::from(odd.is_first(flow)) << 1);
    }
}

impl Turn {
    const NEW: Self = Self {
        had: [0; 2],
        longest: [0; 2],
        head: 0,
        work: 0,
        classes: [0; 2],
        ratio: Ratio::NONE,
        part: 0,
        at: 0,
        is_in: false,
    };

    #[inline]
    fn stand_at(&mut self, ratio: Ratio, width: u64) {
        if self.ratio != ratio {
            (self.ratio, self.classes) = (ratio, places(ratio, width).map(|place| class(place, width)));
        }
    }

    #[inline]
    fn key(&self, end: usize) -> u128 {
        u128::from(self.classes[end]) << FINISH_BITS | (self.had[end] + self.head).min(LAST_FINISH)
    }

    /// In which heap it is.
    #[inline]
    fn half(&self, end: usize) -> usize {
        (self.classes[end] % 2) as usize
    }
}

/// The class of a place: of intervals of half this width, or, where it is 0, of equal places.
fn class(place: u64, width: u64) -> u64 {
    if width == 0 {
        return place;
    }
    // Both are below 2^28: such a division takes less.
    u64::from((2 * place) as u32 / width as u32)
}

/// How far a packet is from each end of order (23): by the ratio itself where the width is 0, by its logarithm
/// otherwise.
#[inline(always)]
fn places(ratio: Ratio, width: u64) -> [u64; 2] {
    if width == 0 {
        return ratio.places();
    }
    let [cpu, link] = ratio.normalised();
    let time = cpu.min(link);
    let logarithm = if time == 0 { 0 } else { log2(time) + (1 << LOG_BITS) };
    // That of the dominant one is LOG_RANGE.
    let other = 2 * LOG_RANGE - logarithm;
    [select_unpredictable(cpu == ONE, logarithm, other), select_unpredictable(cpu == ONE, other, logarithm)]
}

/// The binary logarithm of a value up to [`ONE`] in units of 2^-[`LOG_BITS`], within 0.01: x + 11/32 x (1 - x) beyond
/// the power of two. Its slope, times its argument, is between 21/16 and 3/2 everywhere (1.44 of a logarithm).
#[inline(always)]
fn log2(value: u64) -> u64 {
    let power = value.ilog2();
    let beyond = (value << LOG_BITS >> power) - (1 << LOG_BITS);
    let bent = (beyond * ((1 << LOG_BITS) - beyond)) >> LOG_BITS;
    (u64::from(power) << LOG_BITS) + beyond + ((11 * bent) >> 5)
}

/// Which of these packets are near this end of order (23) under a tolerance: see the module. For the direct
/// implementation, which asks for every packet.
pub fn near_end(ratios: &[[u64; 2]], end: usize, tolerance: f64) -> Vec<bool> {
    let turns = Turns::new(tolerance);
    let place =
        |&[cpu, link]: &[u64; 2]| places(if cpu >= ONE { Ratio(2 * ONE - link) } else { Ratio(cpu) }, turns.width)[end];
    let classes: Vec<u64> = ratios.iter().map(|r| class(place(r), turns.width)).collect();
    let at_end = classes.iter().copied().min().unwrap_or(0);
    classes.iter().map(|&class| u128::from(class - at_end) <= turns.reach()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_by_the_resource_that_is_not_dominant() {
        let width = Turns::new(0.06).width;
        let place = |times| places(Ratio::of(&ResourceVec::from_nanos(times)), width);
        let [cpu, link] = place([1, 8]);
        assert_eq!((link, cpu), (30 << LOG_BITS, (66 - 30) << LOG_BITS));
        assert_eq!(place([8, 1]), [link, cpu]);
        assert_eq!([[5, 5], [5, 0], [0, 5]].map(place), [[LOG_RANGE; 2], [0, 2 * LOG_RANGE], [2 * LOG_RANGE, 0]]);
    }

    #[test]
    fn a_flow_has_two_cache_lines() {
        assert_eq!(size_of::<Turn>(), 128);
    }

    #[test]
    fn after_a_rest_it_is_the_turn_of_the_same_flows() {
        let mut state: u64 = 1;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        // The second one never rests.
        let mut both = [Turns::new(0.06), Turns::new(0.06)];
        let mut places: [Option<Ratio>; 100] = [None; 100];
        let (mut with_bonus, mut unfinished, mut seen) = (true, 0, [0; 100]);
        for _ in 0..60_000 {
            let flow = random(100) as u32;
            let place = &mut places[flow as usize];
            match (random(8), *place) {
                (0, Some(_)) => {
                    *place = None;
                    both.iter_mut().for_each(|turns| turns.leave(flow));
                }
                (_, before) => {
                    let cost = ResourceVec::from_nanos([1 + random(4), 1 + random(4)]);
                    *place = Some(Ratio::of(&cost));
                    for turns in &mut both {
                        if before.is_none() {
                            turns.join(flow);
                        }
                        turns.take_head(flow, Ratio::of(&cost), (cost.dominant_time(), Weight::ONE), 0);
                    }
                }
            }
            if random(500) == 0 {
                with_bonus = !with_bonus;
            }
            if random(5000) == 0 {
                places = [None; 100];
                both.iter_mut().for_each(Turns::clear);
            }
            if !with_bonus {
                both[0].rest();
                continue;
            }
            let left = [random(10) as f64 / 10.0, random(10) as f64 / 10.0];
            let favours = both.each_mut().map(|turns| {
                loop {
                    turns.next_call();
                    if let Ok(favours) = turns.allocate(left, |flow| places[flow as usize]) {
                        return favours;
                    }
                    unfinished += 1;
                }
            });
            assert_eq!(favours[0], favours[1]);
            for (end, favoured) in favours[0].iter().enumerate() {
                let Some((flow, _)) = *favoured else { continue };
                let bonus = u128::from(random(1 << 20));
                both.iter_mut().for_each(|turns| turns.charge(flow, end, bonus));
                seen[flow as usize] += 1;
            }
        }
        assert!(unfinished > 10 && seen.iter().all(|&times| times > 10), "{unfinished} {seen:?}");
    }
}
