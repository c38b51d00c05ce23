//! What the fluid keeps with every flow, and the place of a packet in order (23).

use core::hint::select_unpredictable;

use dovetail_units::{Duration, Part, ResourceVec};

use crate::anteroom::Visit;
use crate::contract::{LONGEST_TIME, Took};
use crate::queues::NIL;

/// Normalised processing times are in units of 2^-32; the dominant one is 2^32.
pub(super) const ONE: u64 = 1 << 32;

/// The largest correction either way, in nanoseconds: more than four million of the longest times.
const MOST: i64 = 1 << 62;

/// By which clock the fluid serves a flow's floor, `alpha_i w_i d`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Floor {
    /// By V, which runs at alpha d for all flows without an alpha of their own. Service is dominant processing time
    /// divided by the weight.
    Common,
    /// By U, which runs at d. Service is that divided by the flow's own alpha too: so many thousandths, above 0.
    Own(u16),
    /// By none: its own alpha is 0. Service is as in `Common`.
    Nothing,
    /// By W, which runs at what all others leave: the flow is protected. Service is as in `Common`.
    First,
}

impl Floor {
    /// That of a flow that is not protected and has this alpha of its own, if any.
    pub(super) fn of(alpha: Option<Part>) -> Self {
        match alpha {
            None => Self::Common,
            Some(Part::NONE) => Self::Nothing,
            Some(part) => Self::Own(part.as_milli()),
        }
    }

    fn milli(self) -> u16 {
        if let Self::Own(milli) = self { milli } else { Part::WHOLE.as_milli() }
    }

    /// Service that is left here, as it is with another floor.
    pub(super) fn convert(self, left: i128, to: Self) -> i128 {
        (left * i128::from(self.milli()) / i128::from(to.milli())).clamp(0, 1 << 95)
    }

    /// The service in time by weight, rounded up.
    pub(super) fn by_weight(self, service: u128) -> u128 {
        match self {
            Self::Own(milli) => (service * u128::from(milli)).div_ceil(u128::from(Part::WHOLE.as_milli())),
            Self::Common | Self::Nothing | Self::First => service,
        }
    }

    /// By what a dominant share is divided, with this weight, as a rate of service.
    pub(super) fn scale(self, weight: f64) -> f64 {
        match self {
            Self::Own(milli) => weight * f64::from(milli) / 1000.0,
            Self::Common | Self::Nothing | Self::First => weight,
        }
    }
}

/// A flow in the fluid schedule. Service is in virtual time: dominant processing time divided by the flow's weight, and
/// by its own alpha if it has one.
#[derive(Clone, Copy, Debug)]
pub struct FluidFlow<const M: usize, L> {
    /// The first packet that has not come to the flow's head in the fluid, or `NIL`.
    pub(super) next: u32,
    /// The busy period of the fluid in which the flow is, or was last, backlogged there; 0 is none.
    pub(super) period: u32,
    /// In which proportions the head packet needs the resources.
    pub(super) place: L,
    /// Measured less estimated times of earlier packets on each resource, nanoseconds.
    correction: [i64; M],
    /// Whether the head packet has started: at once when it comes to the head, but with alpha = 0 when first favoured.
    pub(super) started: bool,
    pub(super) visit: Visit,
    pub(super) floor: Floor,
    /// Of a tick that divisions by its own alpha have left, in thousandths of that.
    rest: u16,
}

impl<const M: usize, L: Default> Default for FluidFlow<M, L> {
    fn default() -> Self {
        let (visit, place) = (Visit::default(), L::default());
        let floor = Floor::Common;
        Self { next: NIL, period: 0, started: false, visit, place, correction: [0; M], floor, rest: 0 }
    }
}

impl<const M: usize, L> FluidFlow<M, L> {
    pub(super) fn has_next(&self) -> bool {
        self.next != NIL
    }

    /// A head's service by weight as the flow's floor has it. What is left below a tick counts for the next head.
    pub(super) fn by_floor(&mut self, service: u128) -> u128 {
        let Floor::Own(milli) = self.floor else { return service };
        let total = service * u128::from(Part::WHOLE.as_milli()) + u128::from(self.rest.min(milli - 1));
        self.rest = (total % u128::from(milli)) as u16;
        total / u128::from(milli)
    }

    pub(super) fn correct(&mut self, Took { resource, used }: Took, before: Duration) {
        let [before, after] = [before, used].map(|time| time.as_nanos() as i64);
        let correction = &mut self.correction[resource];
        // Small enough for the sum with a packet's time to fit.
        *correction = (*correction + after - before).clamp(-MOST, MOST);
    }

    /// What a head packet takes in the fluid, with what earlier packets took more or less than estimated: at least a
    /// nanosecond of what it was to take at all.
    pub(super) fn corrected(&mut self, mut cost: ResourceVec<M>) -> ResourceVec<M> {
        for (correction, time) in self.correction.iter_mut().zip(&mut cost.0) {
            if *correction != 0 {
                let total = time.as_nanos() as i64 + *correction;
                let least = i64::from(*time > Duration::ZERO);
                *correction = (total - least).min(0);
                *time = Duration::from_nanos(total.max(least) as u64).min(LONGEST_TIME);
            }
        }
        cost
    }
}

/// Whether two packets' times differ by no more than a link's rounding to nanoseconds: that shall not keep equals from
/// taking turns.
pub(super) fn are_near<const M: usize>(a: &ResourceVec<M>, b: &ResourceVec<M>) -> bool {
    a.0.iter().zip(&b.0).all(|(a, b)| a.as_nanos().abs_diff(b.as_nanos()) <= (a.as_nanos() >> 12).max(1))
}

/// tbar_1 / tbar_2 of order (23), as a number of the same order: tbar_1 while that is below one, then 2 - tbar_2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Ratio(pub(super) u64);

impl Ratio {
    /// That of no packet.
    pub(super) const NONE: Self = Self(u64::MAX);

    #[inline]
    pub(super) fn of(cost: &ResourceVec<2>) -> Self {
        let (a, b) = (cost[0].as_nanos(), cost[1].as_nanos());
        // No branch could guess which is dominant.
        let part = part(a.min(b), a.max(b));
        Self(select_unpredictable(a >= b, 2 * ONE - part, part))
    }

    /// The normalised processing times, in units of 2^-32.
    #[inline]
    pub(super) fn normalised(self) -> [u64; 2] {
        [self.0.min(ONE), (2 * ONE - self.0).min(ONE)]
    }

    #[inline]
    pub(super) fn normalised_f64(self) -> [f64; 2] {
        self.normalised().map(|t| t as i64 as f64 / ONE as f64)
    }

    /// How far the packet is from each end of order (23).
    pub(super) fn places(self) -> [u64; 2] {
        [2 * ONE - self.0, self.0]
    }
}

/// Normalised processing times of a packet on any number of resources, in units of 2^-32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times<const M: usize>(pub(super) [u64; M]);

impl<const M: usize> Default for Times<M> {
    fn default() -> Self {
        Self([ONE; M])
    }
}

impl<const M: usize> Times<M> {
    pub(super) fn of(cost: &ResourceVec<M>) -> Self {
        let longest = cost.dominant_time().as_nanos();
        Self(cost.0.map(|time| part(time.as_nanos(), longest)))
    }
}

/// `small / large` in units of 2^-32, to the nearest; 0 / 0 counts as 1.
#[inline]
fn part(small: u64, large: u64) -> u64 {
    match (small, large) {
        (_, 0) => ONE,
        (s, l) if l < 1 << 31 => ((s << 32) + l / 2) / l,
        (s, l) => (((u128::from(s) << 32) + u128::from(l / 2)) / u128::from(l)) as u64,
    }
}
