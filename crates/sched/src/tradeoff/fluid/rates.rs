//! Everybody's rate in the fluid: the shares by (19), the flows that become favoured or regular by them, and when the
//! next head ends at these rates.

use dovetail_units::{Part, Weight};

use super::super::bonus::Bonus;
use super::super::flow::{Floor, FluidFlow, ONE};
use super::super::ticks::{to_f64, to_u128};
use super::floors::Clock;
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
        if self.load == [0; M] {
            self.stop();
            return Ok(());
        }
        let load = self.load.map(in_units);
        let bottleneck = load.iter().copied().fold(0.0, f64::max);
        let favoured = match self.left(load, bottleneck) {
            Some(left) => {
                let period = self.period;
                let place = |flow: u32| Some(queues.flow(flow).state).filter(|s| s.period == period).map(|s| s.place);
                self.turns.allocate(left, place)?
            }
            None => [None; M],
        };
        self.common.rate = self.alpha / bottleneck;
        self.floors.clock.rate = if self.floors.are_used { 1.0 / bottleneck } else { 0.0 };
        self.favour(favoured, queues, started);
        self.due = self.clock + self.ticks_to_event();
        Ok(())
    }

    /// mu_r of (22), what the floors leave of every resource: `1 - d sum alpha_i w_i tbar_ir`. None where all of the
    /// backlogged flows are guaranteed all of their shares: that is strict fairness, also towards a flow that could
    /// have more without anybody having less.
    fn left(&self, load: [f64; M], bottleneck: f64) -> Option<[f64; M]> {
        let floors = &self.floors;
        let whole = u128::from(Part::WHOLE.as_milli());
        let all_by_own = floors.guaranteed == floors.load.map(|load| load * whole);
        if all_by_own && (self.alpha >= 1.0 || floors.load == self.load) {
            return None;
        }
        let guaranteed = |r: usize| match floors.load[r] {
            0 => self.alpha * load[r],
            own => self.alpha * in_units(self.load[r] - own) + in_units(floors.guaranteed[r]) / to_f64(whole),
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
        let before = self.favoured;
        let is_wanted = |flow: u32| wanted.iter().flatten().any(|&(f, _)| f == flow);
        for (end, old) in before.iter().enumerate() {
            let Some(old) = old else { continue };
            if wanted[end].is_none_or(|(flow, _)| flow != old.flow) {
                self.turns.charge(old.flow, end, old.floor.by_weight(old.had));
            }
            if !is_wanted(old.flow) {
                // Eq. (30).
                self.set_regular(old.flow, old.floor, old.left);
            }
        }
        for (end, wanted) in wanted.into_iter().enumerate() {
            self.favoured[end] = wanted.map(|(flow, share)| {
                let (weight, floor) = (queues.flow(flow).weight().as_f64(), queues.flow(flow).state.floor());
                let old = before.iter().flatten().find(|f| f.flow == flow);
                let left = old.map_or_else(|| self.favour_regular(flow, floor), |f| f.left);
                let had = before[end].filter(|f| f.flow == flow).map_or(0, |f| f.had);
                Favoured { flow, floor, left, had, bonus: share / floor.scale(weight) }
            });
            if let Some((flow, _)) = wanted {
                self.start(flow, self.known_at(), queues, started);
            }
        }
    }

    /// A regular flow becomes favoured: what is left of its head packet (eq. 31).
    fn favour_regular(&mut self, flow: u32, floor: Floor) -> i128 {
        self.switches += 1;
        let left = self.left_of_regular(flow, floor).unwrap_or(0);
        self.take_from_clock(flow, floor);
        left
    }

    /// Until the first head packet ends or a new flow enters if nothing else happens: the first tick by which it surely
    /// has. At most 2^100.
    pub(super) fn ticks_to_event(&self) -> u128 {
        let ticks = |left: i128, part: f64, rate: f64| {
            if rate > 0.0 { (to_f64(left.max(0) as u128) - part) / rate } else { f64::INFINITY }
        };
        let until = |clock: &Clock, tag: u128| ticks(clock.left(tag), clock.part, clock.rate);
        let first = |clock: &Clock| clock.finishes.peek().map_or(f64::INFINITY, |(tag, _)| until(clock, tag));
        let regular = first(&self.common).min(first(&self.floors.clock));
        // Two parts of a tick may be left over; that of a rate of nothing never becomes a whole one.
        let favoured = self.favoured.iter().zip(self.bonus_part).filter_map(|(favoured, part)| {
            favoured.map(|f| match self.clock(f.floor) {
                clock if clock.rate > 0.0 => ticks(f.left + 1, clock.part + part, clock.rate + f.bonus),
                _ => ticks(f.left, part, f.bonus),
            })
        });
        // V that stands, as no share is guaranteed, keeps nobody out.
        let open = |clock: &Clock, tag: u128| {
            if tag <= clock.time || clock.rate == 0.0 { 0.0 } else { until(clock, tag) }
        };
        let opens = self.anteroom.opens().map_or(f64::INFINITY, |[common, own]| match self.may_enter() {
            true => 0.0,
            false => open(&self.common, common).max(open(&self.floors.clock, own)),
        });
        to_u128(favoured.fold(regular.min(opens), f64::min)).min(1 << 100) + 1
    }

    /// The head of a backlogged flow of this weight joins the load, or leaves it.
    pub(super) fn add_load(&mut self, flow: &FluidFlow<M, B::Place>, weight: Weight, joins: bool) {
        let add = |sum: &mut u128, part: u128| *sum = if joins { *sum + part } else { *sum - part };
        for (r, part) in B::normalised(flow.place).into_iter().enumerate() {
            let weighted = u128::from(part) * u128::from(weight.as_milli());
            add(&mut self.load[r], weighted);
            if let Some(alpha) = flow.alpha {
                add(&mut self.floors.load[r], weighted);
                add(&mut self.floors.guaranteed[r], weighted * u128::from(alpha.as_milli()));
            }
        }
    }
}

/// A load in units of weight 1 and the dominant time.
fn in_units(load: u128) -> f64 {
    to_f64(load) / (1000.0 * ONE as f64)
}
