//! Flows with an alpha of their own, and protected ones.

use dovetail_sched::FlowConfig;
use dovetail_units::Part;

use super::{DirectTradeoff, Flow, Head, ONE, normalised};

/// What a flow is guaranteed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Floor {
    /// The scheduler's alpha.
    Common,
    /// So many thousandths, above 0.
    Own(u128),
    Nothing,
    /// First what all others leave.
    First,
}

impl Floor {
    pub(super) fn of<const M: usize>(config: &FlowConfig<M>, protected: Option<u16>) -> Self {
        match config.alpha {
            _ if protected.is_some() && config.class == protected => Self::First,
            None => Self::Common,
            Some(Part::NONE) => Self::Nothing,
            Some(alpha) => Self::Own(u128::from(alpha.as_milli())),
        }
    }

    /// Whether a flow that gets no bonus is served, where the scheduler's alpha is this.
    pub(super) fn serves(self, alpha: f64) -> bool {
        match self {
            Self::Common => alpha > 0.0,
            Self::Own(_) | Self::First => true,
            Self::Nothing => false,
        }
    }

    fn milli(self) -> u128 {
        if let Self::Own(milli) = self { milli } else { 1000 }
    }
}

/// What floors come to.
pub(super) struct Floors<const M: usize> {
    /// The load of the bottleneck.
    pub bottleneck: f64,
    /// So many of their fair shares protected flows have.
    pub gamma: f64,
    /// The part of every resource that the floors leave; none if all flows have all of their fair shares.
    pub left: Option<[f64; M]>,
}

impl<const M: usize, P> DirectTradeoff<M, P> {
    pub(super) fn floor(&self, config: &FlowConfig<M>) -> Floor {
        Floor::of(config, self.protected)
    }

    /// A flow with this floor has been there.
    pub(super) fn has(&mut self, floor: Floor) {
        self.has_own |= matches!(floor, Floor::Own(_) | Floor::Nothing);
        self.has_first |= floor == Floor::First;
    }

    /// A backlogged flow gets this alpha and this class instead of others.
    pub(super) fn give_floor(&mut self, at: usize, alpha: Option<Part>, class: Option<u16>) {
        self.run_to_now();
        if let Some((end, _)) = self.bonus_of(at) {
            self.charge(at, end);
        }
        let old = self.floor(&self.flows[at].config);
        (self.flows[at].config.alpha, self.flows[at].config.class) = (alpha, class);
        let new = self.floor(&self.flows[at].config);
        let is_served = new.serves(self.alpha);
        let (old, new) = (old.milli() as i128, new.milli() as i128);
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
        let bonus = std::mem::take(&mut self.flows[flow].uncharged);
        match self.floor(&self.flows[flow].config) {
            Floor::Own(alpha) => (bonus * alpha).div_ceil(1000),
            _ => bonus,
        }
    }

    /// How a flow's floor serves it, and what of a tick that has left.
    pub(super) fn floor_of(&self, flow: &Flow<M, P>) -> (f64, f64) {
        match self.floor(&flow.config) {
            Floor::Common => (self.rate, self.part),
            Floor::Own(_) => (self.own_rate, self.own_part),
            Floor::Nothing => (0.0, 0.0),
            Floor::First => (self.first_rate, self.first_part),
        }
    }

    /// What the floors of those that are backlogged come to.
    pub(super) fn after_floors(&self) -> Floors<M> {
        let unit = 1000.0 * ONE as f64;
        let sum = |r: usize, part: &dyn Fn(Floor) -> u128| {
            let weighted = |(_, f, h): (usize, &Flow<M, P>, &Head<M>)| {
                let load = u128::from(normalised(&h.cost)[r]) * u128::from(f.config.weight.as_milli());
                load * part(self.floor(&f.config))
            };
            self.backlogged().map(weighted).sum::<u128>() as f64 / unit
        };
        let is = |wanted: Floor| move |floor: Floor| u128::from(floor == wanted);
        let load: [f64; M] = std::array::from_fn(|r| sum(r, &|_| 1));
        let bottleneck = load.iter().copied().fold(0.0, f64::max);
        let is_whole = |f: &Flow<M, P>| match self.floor(&f.config) {
            Floor::Common => self.alpha == 1.0,
            Floor::Own(alpha) => alpha == 1000,
            Floor::Nothing => false,
            Floor::First => true,
        };
        if self.backlogged().all(|(_, f, _)| is_whole(f)) {
            return Floors { bottleneck, gamma: 1.0, left: None };
        }
        let own = |floor: Floor| if let Floor::Own(alpha) = floor { alpha } else { 0 };
        let guaranteed = |r: usize| self.alpha * sum(r, &is(Floor::Common)) + sum(r, &own) / 1000.0;
        let first = |r: usize| sum(r, &is(Floor::First));
        let most = |r: usize| (bottleneck - guaranteed(r)) / first(r);
        let gamma = (0..M).filter(|&r| first(r) > 0.0).map(most).fold(f64::INFINITY, f64::min).max(1.0);
        let gamma = if gamma.is_finite() { gamma } else { 1.0 };
        let left = std::array::from_fn(|r| {
            let floors = guaranteed(r) + gamma * first(r);
            ((bottleneck - floors) / bottleneck).max(0.0)
        });
        Floors { bottleneck, gamma, left: Some(left) }
    }
}
