//! Everybody's rate in the fluid: the shares by (19), the flows that become favoured or regular by them, and when the
//! next head ends at these rates.

use dovetail_units::{Part, Weight};

use super::super::bonus::Bonus;
use super::super::flow::{Floor, ONE};
use super::super::ticks::{lesser, to_f64, to_u128, until};
use super::floors::{Clock, Floors};
use super::{Favoured, FlowQueues, Fluid, Started};
use crate::queues::Unfinished;

impl<const M: usize, B: Bonus<M>> Fluid<M, B> {
    /// Who is favoured from now on, and everybody's rate. The error is that too many flows had to be moved
    /// for one call; nothing has changed then.
    pub(super) fn reallocate<P>(
        &mut self,
        queues: &mut FlowQueues<M, B, P>,
        started: &mut Started<M>,
    ) -> Result<(), Unfinished> {
        let load = self.load.map(in_units);
        let bottleneck = load.iter().copied().fold(0.0, f64::max);
        if bottleneck == 0.0 {
            self.stop();
            return Ok(());
        }
        let first = self.first_part(load, bottleneck);
        let favoured = match self.left(load, bottleneck, first) {
            Some(left) => {
                let period = self.period;
                let place = |flow: u32| {
                    let state = &queues.flow(flow).state;
                    (state.period == period).then_some(state.place)
                };
                self.turns.allocate(left, place)?
            }
            None => {
                // With an alpha of their own flows come and go, and with them the bonus.
                if !self.floors.differ() {
                    self.turns.rest();
                }
                [None; M]
            }
        };
        // Not rounded to nothing: V that stands keeps no new flow out, and one that only creeps does.
        self.common.rate = if self.alpha > 0.0 { (self.alpha / bottleneck).max(f64::MIN_POSITIVE) } else { 0.0 };
        // Without such floors both rates are 0 and stay so.
        if self.floors.differ() {
            self.floors.clock.rate = if self.floors.are_used { 1.0 / bottleneck } else { 0.0 };
            self.floors.first.rate = if first > 0.0 { first / bottleneck } else { 0.0 };
        }
        self.favour(favoured, queues, started);
        self.due = self.clock + self.ticks_to_event();
        Ok(())
    }

    /// `sum alpha_i w_i tbar_ir` of the backlogged flows that are not protected, on resource r, where floors differ.
    fn guaranteed(&self, load: [f64; M], r: usize) -> f64 {
        let whole = to_f64(u128::from(Part::WHOLE.as_milli()));
        match (self.floors.load[r], self.floors.first_load[r]) {
            (0, 0) => self.alpha * load[r],
            (own, first) => {
                self.alpha * in_units(self.load[r] - own - first) + in_units(self.floors.guaranteed[r]) / whole
            }
        }
    }

    /// Whether all flows that are not protected are guaranteed all of their shares, where some are backlogged.
    fn is_strict(&self) -> bool {
        if !self.floors.differ() {
            return self.alpha >= 1.0;
        }
        let Floors { load, guaranteed, first_load, .. } = &self.floors;
        let all_by_own = *guaranteed == load.map(|load| load * u128::from(Part::WHOLE.as_milli()));
        let are_all = || (0..M).all(|r| load[r] + first_load[r] == self.load[r]);
        all_by_own && (self.alpha >= 1.0 || are_all())
    }

    /// gamma: so many of their fair shares the protected flows have, 1 or more, which is all that the floors of the
    /// others leave of the resource that is short for them. W goes on at d while none of them is backlogged.
    fn first_part(&self, load: [f64; M], bottleneck: f64) -> f64 {
        if !self.floors.protects {
            return 0.0;
        }
        let first = self.floors.first_load;
        if first == [0; M] || self.is_strict() {
            return 1.0;
        }
        let most = |r: usize| (bottleneck - self.guaranteed(load, r)) / in_units(first[r]);
        (0..M).filter(|&r| first[r] > 0).map(most).fold(f64::INFINITY, f64::min).max(1.0)
    }

    /// mu_r of (22), what the floors leave of every resource: `1 - d sum alpha_i w_i tbar_ir`. None where all of the
    /// backlogged flows are guaranteed all of their shares: that is strict fairness, also towards a flow that could
    /// have more without anybody having less.
    fn left(&self, load: [f64; M], bottleneck: f64, first: f64) -> Option<[f64; M]> {
        if self.is_strict() {
            return None;
        }
        if !self.floors.differ() {
            return Some(load.map(|load| ((bottleneck - self.alpha * load) / bottleneck).max(0.0)));
        }
        let guaranteed = |r: usize| match self.floors.first_load[r] {
            0 => self.guaranteed(load, r),
            of_first => self.guaranteed(load, r) + first * in_units(of_first),
        };
        // A sum of several may be rounded to more than all.
        Some(core::array::from_fn(|r| ((bottleneck - guaranteed(r)) / bottleneck).max(0.0)))
    }

    /// These flows are favoured from now on, with so much bonus.
    fn favour<P>(
        &mut self,
        wanted: [Option<(u32, f64)>; M],
        queues: &mut FlowQueues<M, B, P>,
        started: &mut Started<M>,
    ) {
        let is_wanted = |flow: u32| wanted.iter().flatten().any(|&(f, _)| f == flow);
        let mut moved = [None; M];
        for (end, wanted) in wanted.iter().enumerate() {
            let Some(Favoured { flow, floor, left, had, .. }) = self.favoured[end] else { continue };
            if wanted.is_some_and(|(wanted, _)| wanted == flow) {
                continue;
            }
            self.favoured[end] = None;
            self.turns.charge(flow, end, floor.by_weight(had));
            if is_wanted(flow) {
                moved[end] = Some((flow, left));
            } else {
                // Eq. (30).
                self.set_regular(flow, floor, left);
            }
        }
        for (end, wanted) in wanted.into_iter().enumerate() {
            let Some((flow, share)) = wanted else { continue };
            let record = queues.flow(flow);
            let (weight, floor, has_started) = (record.weight(), record.state.floor, record.state.started);
            let bonus = if weight == Weight::ONE && floor == Floor::Common {
                share
            } else {
                share / floor.scale(weight.as_f64())
            };
            if let Some(favoured) = &mut self.favoured[end] {
                favoured.bonus = bonus;
            } else {
                let old = moved.iter().flatten().find(|&&(f, _)| f == flow);
                let left = old.map_or_else(|| self.favour_regular(flow, floor), |&(_, left)| left);
                self.favoured[end] = Some(Favoured { flow, floor, left, had: 0, bonus });
            }
            if !has_started {
                self.start(flow, self.known_at(), queues, started);
            }
        }
    }

    /// A regular flow becomes favoured: what is left of its head packet (eq. 31).
    fn favour_regular(&mut self, flow: u32, floor: Floor) -> i128 {
        self.switches += 1;
        self.take_from_clock(flow, floor).unwrap_or(0)
    }

    /// Until the first head packet ends or a new flow enters if nothing else happens: the first tick by which it surely
    /// has. At most 2^100.
    #[inline(always)]
    fn ticks_to_event(&self) -> u128 {
        let mut least = self.common.until_first();
        if self.floors.differ() {
            least = lesser(least, lesser(self.floors.clock.until_first(), self.floors.first.until_first()));
        }
        let favoured: [f64; M] = core::array::from_fn(|end| self.until_favoured(end));
        least = favoured.into_iter().fold(least, lesser);
        if let Some(opens) = self.anteroom.opens() {
            least = lesser(self.until_one_enters(opens), least);
        }
        to_u128(least).min(1 << 100) + 1
    }

    /// Until the head of the flow that is favoured at this end has ended.
    #[inline(always)]
    fn until_favoured(&self, end: usize) -> f64 {
        let (Some(f), part) = (&self.favoured[end], self.bonus_part[end]) else { return f64::INFINITY };
        let clock = self.clock(f.floor);
        // Two parts of a tick may be left over; that of a rate of nothing never becomes a whole one.
        match clock.rate > 0.0 {
            true => until(f.left + 1, clock.part + part, clock.rate + f.bonus),
            false => until(f.left, part, f.bonus),
        }
    }

    /// Until all three clocks have come so far.
    #[inline(never)]
    fn until_one_enters(&self, [common, own, first]: [u128; 3]) -> f64 {
        if self.may_enter() {
            return 0.0;
        }
        // V that stands, as no share is guaranteed, keeps nobody out.
        let open = |clock: &Clock, tag: u128| {
            if tag <= clock.time || clock.rate == 0.0 { 0.0 } else { clock.until(tag) }
        };
        open(&self.common, common).max(open(&self.floors.clock, own)).max(open(&self.floors.first, first))
    }

    /// The head of a backlogged flow of this floor and weight joins the load, or leaves it.
    #[inline(always)]
    pub(super) fn add_load(&mut self, place: B::Place, floor: Floor, weight: Weight, joins: bool) {
        // Of 33 and 30 bits.
        let weighted = B::normalised(place).map(|part| part * u64::from(weight.as_milli()));
        add_all(&mut self.load, weighted, joins);
        if floor != Floor::Common {
            self.floors.add_load(floor, weighted, joins);
        }
    }
}

/// These loads join, or leave.
#[inline(always)]
pub(super) fn add_all<const M: usize>(sums: &mut [u128; M], loads: [u64; M], join: bool) {
    for (sum, load) in sums.iter_mut().zip(loads.map(u128::from)) {
        *sum = if join { *sum + load } else { *sum - load };
    }
}

/// A load in units of weight 1 and the dominant time.
#[inline]
fn in_units(load: u128) -> f64 {
    to_f64(load) / (1000.0 * ONE as f64)
}
