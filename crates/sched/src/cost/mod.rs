//! Estimates of processing times, before a packet is processed, and what the truth teaches.
//!
//! * [`Prediction`]: which kind of estimate, as written: `oracle`, `0.015 us/B + 84.5 us`,
//!   `ses:alpha=0.4,scale=payload`, `fit`.
//! * [`Estimator`]: it at work on one resource: [`estimate`](Estimator::estimate) a packet when it arrives,
//!   [`observe`](Estimator::observe) it when it has been processed. Keys are dense indices of the caller's: flows or
//!   classes, as [`Prediction::per`] says.
//! * [`Resize`]: how many bytes come out of processing per byte that goes in.
//! * [`PredictionError`]: how far estimates were off.
//!
//! Nothing here reads a clock. Everything is O(1) and an integer; memory is taken when a key is first observed, never
//! per packet. What is remembered fades exponentially, so neither size nor precision changes with uptime. Times count
//! at most [`LONGEST_TIME`].

mod error;
mod fit;
mod linear;
mod prediction;
mod resize;
mod ses;

use alloc::vec::Vec;

use dovetail_units::Duration;

pub use error::PredictionError;
pub use fit::{Fit, FitParameters};
pub use linear::Linear;
pub use prediction::{Per, Prediction};
pub use resize::Resize;
pub use ses::{Scale, Ses, SesParameters};

use crate::contract::LONGEST_TIME;

/// Estimates of processing times on one resource.
///
/// ```
/// use dovetail_sched::cost::{Estimator, Prediction};
/// use dovetail_units::Duration;
///
/// let prediction: Prediction = "ses:alpha=0.5".parse().unwrap();
/// let mut estimator = Estimator::new(&prediction);
/// let unknown = Duration::ZERO;
/// assert_eq!(estimator.estimate(7, 1000, unknown), Duration::ZERO);
/// estimator.observe(7, 1000, Duration::from_micros(20));
/// estimator.observe(7, 1000, Duration::from_micros(40));
/// assert_eq!(estimator.estimate(7, 1000, unknown), Duration::from_micros(30));
/// ```
#[derive(Clone, Debug)]
pub enum Estimator {
    /// The caller's truth.
    Oracle,
    /// A fixed linear function of the size.
    Linear(Linear),
    /// Single exponential smoothing.
    Ses(Ses),
    /// A line through what was observed.
    Fit(Fit),
}

impl Estimator {
    /// Nothing is observed yet.
    pub fn new(prediction: &Prediction) -> Self {
        match *prediction {
            Prediction::Oracle => Self::Oracle,
            Prediction::Linear(linear) => Self::Linear(linear),
            Prediction::Ses(parameters, _) => Self::Ses(Ses::new(parameters)),
            Prediction::Fit(parameters, _) => Self::Fit(Fit::new(parameters)),
        }
    }

    /// How long a packet of `size` bytes and this key will take, to the nearest nanosecond. `truth` is what only the
    /// oracle looks at; a caller that does not know it passes anything. O(1).
    pub fn estimate(&self, key: u32, size: u32, truth: Duration) -> Duration {
        let time = match self {
            Self::Oracle => truth,
            Self::Linear(linear) => linear.time(u64::from(size)),
            Self::Ses(ses) => ses.estimate(key, size),
            Self::Fit(fit) => fit.estimate(key, size),
        };
        time.min(LONGEST_TIME)
    }

    /// A packet of `size` bytes and this key took `used`. O(1), amortised where the key is a new one.
    pub fn observe(&mut self, key: u32, size: u32, used: Duration) {
        let used = used.min(LONGEST_TIME);
        match self {
            Self::Oracle | Self::Linear(_) => {}
            Self::Ses(ses) => ses.observe(key, size, used),
            Self::Fit(fit) => fit.observe(key, size, used),
        }
    }

    /// The key's flow or class is gone: what was learnt of it does not hold for the next one of this key.
    pub fn forget(&mut self, key: u32) {
        match self {
            Self::Oracle | Self::Linear(_) => {}
            Self::Ses(ses) => ses.forget(key),
            Self::Fit(fit) => fit.forget(key),
        }
    }
}

/// A value for every key that was observed.
#[derive(Clone, Debug)]
struct Keyed<T>(Vec<Option<T>>);

impl<T> Keyed<T> {
    const fn new() -> Self {
        Self(Vec::new())
    }

    fn get(&self, key: u32) -> Option<&T> {
        self.0.get(key as usize)?.as_ref()
    }

    fn slot(&mut self, key: u32) -> &mut Option<T> {
        let at = key as usize;
        if self.0.len() <= at {
            self.0.resize_with(at + 1, || None);
        }
        &mut self.0[at]
    }

    fn forget(&mut self, key: u32) {
        if let Some(slot) = self.0.get_mut(key as usize) {
            *slot = None;
        }
    }
}

/// `part` millionths of the way from `old` to `new`, to the nearest unit; halves go up. Both below 2^60.
fn smoothed(old: u64, new: u64, part: u32) -> u64 {
    let (part, old, new) = (u128::from(part), u128::from(old), u128::from(new));
    ((new * part + old * (MILLION - part) + MILLION / 2) / MILLION) as u64
}

/// The parts of one in which alpha counts.
const MILLION: u128 = 1_000_000;
/// Binary places of levels.
const PLACES: u32 = 20;
