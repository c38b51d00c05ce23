//! The CPU as a scheduled resource: how long a packet occupied it, and how much of it there is.

use std::sync::OnceLock;

use dovetail_sched::cost::Linear;
use dovetail_units::Duration;

/// A share of one core in millionths, above 0 and at most 1,000,000.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget(u32);

impl Budget {
    /// A whole core.
    pub const WHOLE: Self = Self(1_000_000);

    /// `None` outside 1 to 1,000,000 millionths.
    pub const fn from_millionths(millionths: u32) -> Option<Self> {
        if millionths == 0 || millionths > 1_000_000 { None } else { Some(Self(millionths)) }
    }

    /// In millionths.
    pub const fn as_millionths(self) -> u32 {
        self.0
    }

    /// How long a core of which only this share may be used is occupied by `work` of a whole one.
    pub fn occupied(self, work: Duration) -> Duration {
        if self == Self::WHOLE {
            return work;
        }
        match work.as_nanos().checked_mul(1_000_000) {
            Some(scaled) => Duration::from_nanos(scaled.div_ceil(u64::from(self.0))),
            None => {
                let scaled = u128::from(work.as_nanos()) * 1_000_000;
                Duration::from_nanos(u64::try_from(scaled.div_ceil(u128::from(self.0))).unwrap_or(u64::MAX))
            }
        }
    }
}

/// What a packet of a class is charged on the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Charge {
    /// What its processing took, by the cycle counter.
    Measured,
    /// This, whatever it took: for a CPU slower than this one, and for simulated time.
    Linear(Linear),
}

impl Charge {
    /// What a packet of this length is charged, where that is known before it is processed.
    pub fn known(self, size: u32) -> Option<Duration> {
        match self {
            Self::Measured => None,
            Self::Linear(line) => Some(line.time(u64::from(size))),
        }
    }
}

/// Times processing, and recognises what was not processing: the kernel took the core away meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    in_a_row: u32,
    /// Measurements that were not believed.
    pub outliers: u64,
}

/// Shorter than this nothing is an outlier: a preempted thread is away for longer.
const SUSPECT: Duration = Duration::from_micros(5);

/// More than this many times what was expected is suspect.
const TIMES: u64 = 8;

/// So many suspects one after another are the truth: processing has become slower.
const BELIEVED_AFTER: u32 = 8;

impl Meter {
    /// What to believe of a measurement of `took` where `expected` was, which is asked for only if need be: a suspect
    /// counts as expected.
    pub fn believe(&mut self, took: Duration, expected: impl FnOnce() -> Duration) -> Duration {
        if took < SUSPECT {
            self.in_a_row = 0;
            return took;
        }
        let expected = expected();
        if took <= expected.saturating_mul(TIMES) || expected == Duration::ZERO {
            self.in_a_row = 0;
            return took;
        }
        self.in_a_row += 1;
        if self.in_a_row >= BELIEVED_AFTER {
            return took;
        }
        self.outliers += 1;
        expected
    }
}

/// The cycle counter, and what scales it to nanoseconds.
pub(super) fn cycles() -> &'static quanta::Clock {
    static CLOCK: OnceLock<quanta::Clock> = OnceLock::new();
    CLOCK.get_or_init(quanta::Clock::new)
}

/// Time since some start by the cycle counter, in nanoseconds: fine enough for the work on one packet.
pub fn stopwatch() -> u64 {
    let clock = cycles();
    clock.delta_as_nanos(0, clock.raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_of_a_core_is_occupied_five_times_as_long() {
        let fifth = Budget::from_millionths(200_000).unwrap();
        assert_eq!(fifth.occupied(Duration::from_nanos(101)), Duration::from_nanos(505));
        assert_eq!(Budget::WHOLE.occupied(Duration::from_nanos(7)), Duration::from_nanos(7));
        assert_eq!(Budget::from_millionths(0), None);
        assert_eq!(Budget::from_millionths(1_000_001), None);
    }

    #[test]
    fn a_preempted_measurement_counts_as_expected() {
        let mut meter = Meter::default();
        let (usual, preempted) = (Duration::from_nanos(120), Duration::from_micros(60));
        assert_eq!(meter.believe(preempted, || usual), usual);
        assert_eq!(meter.believe(usual, || usual), usual);
        assert_eq!(meter.outliers, 1);
        // Nothing is known yet of a first packet.
        assert_eq!(meter.believe(preempted, || Duration::ZERO), preempted);
    }

    #[test]
    fn what_stays_slow_is_believed() {
        let mut meter = Meter::default();
        let (usual, slow) = (Duration::from_nanos(120), Duration::from_micros(60));
        let believed: Vec<Duration> = (0..9).map(|_| meter.believe(slow, || usual)).collect();
        assert_eq!(believed[..7], [usual; 7]);
        assert_eq!(believed[7..], [slow; 2]);
    }
}
