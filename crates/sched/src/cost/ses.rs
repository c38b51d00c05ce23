//! Single exponential smoothing (PCFQ paper and CBCS paper, section 2.1, equations (1) and (2)).
//!
//! ```text
//! F_t+1 = SF (alpha X_t + (1 - alpha) F_t)        SF = 1 or L_t+1 / L_t
//! ```
//!
//! X is a packet's true time, F its prediction, L its length. With payload scaling both sides are divided by the
//! length: what is smoothed is time per byte, so that any number of packets may arrive before the truth of the first is
//! known, in any order of lengths; with one packet at a time it is equation (2) to the letter.
//!
//! Levels count 2^-20 ns (per byte) and are rounded to the nearest unit, so that they stay within 1 / (2 alpha) units
//! of the exact recursion for ever: half a nanosecond (per byte) at the smallest alpha of 10^-6, 1.2 10^-6 ns at 0.4. A
//! packet of no bytes counts as one byte.
//!
//! Cold start. The papers set F to zero and smooth from there, which keeps predictions too low for some 1 / alpha
//! packets. Here the first observation is taken whole, and zero is predicted before it. With `first` that is predicted
//! before the first observation, and smoothed with it: `first=0 s` is what the papers do.

use dovetail_units::Duration;

use super::{Keyed, PLACES, smoothed};
use crate::contract::LONGEST_TIME;

/// What a packet's time depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scale {
    /// Not on its length: only headers are processed.
    #[default]
    Header,
    /// Proportionally on its length: the payload is processed.
    Payload,
}

/// How to smooth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SesParameters {
    /// The part of the newest observation, in millionths: 1 to 1,000,000. Values beyond count as the nearest of these.
    pub alpha: u32,
    /// What times depend on.
    pub scale: Scale,
    /// What is predicted before the first observation, in picoseconds: per packet, or per byte with payload scaling.
    pub first: Option<u64>,
}

impl Default for SesParameters {
    /// alpha = 0.4, header scaling, the first observation taken whole.
    fn default() -> Self {
        Self { alpha: 400_000, scale: Scale::Header, first: None }
    }
}

/// Single exponential smoothing, for every key on its own.
#[derive(Clone, Debug)]
pub struct Ses {
    parameters: SesParameters,
    /// In 2^-20 ns, per byte with payload scaling; at most 2^60.
    levels: Keyed<u64>,
}

impl Ses {
    /// Nothing is observed yet.
    pub fn new(parameters: SesParameters) -> Self {
        let alpha = parameters.alpha.clamp(1, 1_000_000);
        Self { parameters: SesParameters { alpha, ..parameters }, levels: Keyed::new() }
    }

    /// As [`Estimator::estimate`](super::Estimator::estimate).
    pub fn estimate(&self, key: u32, size: u32) -> Duration {
        let level = self.levels.get(key).copied().or(self.first()).unwrap_or(0);
        let time = u128::from(level) * u128::from(self.units(size));
        let ns = (time + (1 << (PLACES - 1))) >> PLACES;
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)).min(LONGEST_TIME)
    }

    /// As [`Estimator::observe`](super::Estimator::observe).
    pub fn observe(&mut self, key: u32, size: u32, used: Duration) {
        let units = self.units(size);
        let seen = ((used.min(LONGEST_TIME).as_nanos() << PLACES) + units / 2) / units;
        let (first, alpha) = (self.first(), self.parameters.alpha);
        let level = self.levels.slot(key);
        *level = Some(level.or(first).map_or(seen, |old| smoothed(old, seen, alpha)));
    }

    /// As [`Estimator::forget`](super::Estimator::forget).
    pub fn forget(&mut self, key: u32) {
        self.levels.forget(key);
    }

    fn first(&self) -> Option<u64> {
        let level = |ps: u64| (u128::from(ps) << PLACES) / 1000;
        self.parameters.first.map(|ps| level(ps).min(1 << 60) as u64)
    }

    /// How many times the level a packet takes.
    fn units(&self, size: u32) -> u64 {
        match self.parameters.scale {
            Scale::Header => 1,
            Scale::Payload => u64::from(size.max(1)),
        }
    }
}
