//! Everybody's rate in the fluid: the shares by (19), the flows that become favoured or regular by them, and when the
//! next head ends at these rates.

use dovetail_units::Weight;

use super::super::bonus::{Bonus, Favours};
use super::super::flow::ONE;
use super::super::ticks::{to_f64, to_u128};
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
        let load = self.load.map(|l| to_f64(l) / (1000.0 * ONE as f64));
        let place = |flow: u32| Some(queues.flow(flow).state).filter(|s| s.period == self.period).map(|s| s.place);
        let Favours { guaranteed, favoured } = self.turns.allocate(self.alpha, load, place)?;
        self.rate = guaranteed;
        self.favour(favoured, queues, started);
        self.due = self.clock + self.ticks_to_event();
        Ok(())
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
                self.turns.charge(old.flow, end, old.had);
            }
            if !is_wanted(old.flow) {
                // Eq. (30).
                self.set_finish(old.flow, self.virtual_time.saturating_add_signed(old.left));
            }
        }
        for (end, wanted) in wanted.into_iter().enumerate() {
            self.favoured[end] = wanted.map(|(flow, bonus)| {
                let old = before.iter().flatten().find(|f| f.flow == flow);
                let left = old.map_or_else(|| self.left_of_regular(flow), |f| f.left);
                let had = before[end].filter(|f| f.flow == flow).map_or(0, |f| f.had);
                Favoured { flow, left, had, bonus: bonus / queues.flow(flow).weight().as_f64() }
            });
            if let Some((flow, _)) = wanted {
                self.start(flow, self.known_at(), queues, started);
            }
        }
    }

    /// A regular flow becomes favoured: what is left of its head packet (eq. 31).
    fn left_of_regular(&mut self, flow: u32) -> i128 {
        self.switches += 1;
        let left = self.finishes.get(flow).map_or(0, |tag| tag as i128 - self.virtual_time as i128);
        self.finishes.remove(flow);
        left
    }

    /// Until the first head packet ends or a new flow enters if nothing else happens: the first tick by which it surely
    /// has. At most 2^100.
    pub(super) fn ticks_to_event(&self) -> u128 {
        let ticks = |left: i128, part: f64, rate: f64| {
            if rate > 0.0 { (to_f64(left.max(0) as u128) - part) / rate } else { f64::INFINITY }
        };
        let regular = self
            .finishes
            .peek()
            .map_or(f64::INFINITY, |(tag, _)| ticks(tag as i128 - self.virtual_time as i128, self.part, self.rate));
        // Two parts of a tick may be left over; that of a rate of nothing never becomes a whole one.
        let (spare, regular_part) = if self.rate > 0.0 { (1, self.part) } else { (0, 0.0) };
        let favoured = self.favoured.iter().zip(self.bonus_part).filter_map(|(favoured, part)| {
            favoured.map(|f| ticks(f.left + spare, regular_part + part, self.rate + f.bonus))
        });
        let opens = self.anteroom.opens().map_or(f64::INFINITY, |opens| match self.may_enter() {
            true => 0.0,
            false => ticks(opens as i128 - self.virtual_time as i128, self.part, self.rate),
        });
        to_u128(favoured.fold(regular.min(opens), f64::min)).min(1 << 100) + 1
    }

    pub(super) fn add_load(&mut self, place: B::Place, weight: Weight, joins: bool) {
        for (load, part) in self.load.iter_mut().zip(B::normalised(place)) {
            let weighted = u128::from(part) * u128::from(weight.as_milli());
            *load = if joins { *load + weighted } else { *load - weighted };
        }
    }
}
