//! Flows with an alpha of their own.

use dovetail_units::Part;

use super::{DirectTradeoff, Flow, Head, ONE, normalised};

impl<const M: usize, P> DirectTradeoff<M, P> {
    /// A backlogged flow gets this alpha instead of another.
    pub(super) fn give_alpha(&mut self, at: usize, alpha: Option<Part>) {
        self.run_to_now();
        if let Some((end, _)) = self.bonus_of(at) {
            self.charge(at, end);
        }
        let unit = |alpha: Option<Part>| match alpha {
            None | Some(Part::NONE) => 1000,
            Some(alpha) => i128::from(alpha.as_milli()),
        };
        let (old, new) = (unit(self.flows[at].config.alpha), unit(alpha));
        self.flows[at].config.alpha = alpha;
        let is_served = alpha.map_or(self.alpha > 0.0, |alpha| alpha > Part::NONE);
        if let Some(head) = &mut self.flows[at].head {
            head.left = (head.left * old / new).clamp(0, 1 << 95);
            // Among those that wait to start it is the last to have come.
            self.heads += 1;
            head.number = self.heads;
        }
        if is_served {
            self.start(at, self.fluid_now);
        }
        self.changed();
    }

    /// What the flow has had of bonus, by weight.
    pub(super) fn take_uncharged(&mut self, flow: usize) -> u128 {
        let record = &mut self.flows[flow];
        let bonus = std::mem::take(&mut record.uncharged);
        match record.config.alpha {
            Some(alpha) if alpha > Part::NONE => (bonus * u128::from(alpha.as_milli())).div_ceil(1000),
            _ => bonus,
        }
    }

    /// How a flow's floor serves it, and what of a tick that has left.
    pub(super) fn floor_of(&self, flow: &Flow<M, P>) -> (f64, f64) {
        match flow.config.alpha {
            None => (self.rate, self.part),
            Some(Part::NONE) => (0.0, 0.0),
            Some(_) => (self.own_rate, self.own_part),
        }
    }

    /// The load of the bottleneck, and the part of every resource that the floors leave; none if all flows have all of
    /// their fair shares.
    pub(super) fn after_floors(&self) -> (f64, Option<[f64; M]>) {
        let weighted = |r: usize, (_, f, h): (usize, &Flow<M, P>, &Head<M>)| {
            u128::from(normalised(&h.cost)[r]) * u128::from(f.config.weight.as_milli())
        };
        let unit = 1000.0 * ONE as f64;
        let load: [f64; M] =
            std::array::from_fn(|r| self.backlogged().map(|flow| weighted(r, flow)).sum::<u128>() as f64 / unit);
        let bottleneck = load.iter().copied().fold(0.0, f64::max);
        let is_whole = |f: &Flow<M, P>| f.config.alpha.map_or(self.alpha == 1.0, |alpha| alpha == Part::WHOLE);
        if self.backlogged().all(|(_, f, _)| is_whole(f)) {
            return (bottleneck, None);
        }
        let left = std::array::from_fn(|r| {
            let of = |own: bool| self.backlogged().filter(move |(_, f, _)| f.config.alpha.is_some() == own);
            let common = of(false).map(|flow| weighted(r, flow)).sum::<u128>() as f64 / unit;
            let alpha = |f: &Flow<M, P>| f.config.alpha.map_or(0, |alpha| u128::from(alpha.as_milli()));
            let own = of(true).map(|flow| weighted(r, flow) * alpha(flow.1)).sum::<u128>() as f64 / unit / 1000.0;
            ((bottleneck - (self.alpha * common + own)) / bottleneck).max(0.0)
        });
        (bottleneck, Some(left))
    }
}
