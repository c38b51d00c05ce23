//! A step in slices of its time.

use std::sync::atomic::AtomicBool;

use dovetail_dataplane::core::Snapshot;
use dovetail_lab::now;
use dovetail_lab::scenario::{Measured, Traffic};
use dovetail_units::{Duration, Time};

use super::inside::Inside;
use super::window::Observation;
use crate::failure::Failure;

/// Equal parts in which a step is measured: they tell how sure its means are.
const PARTS: u64 = 10;

/// What a slice of time is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// It is a part of the step, which is held against theory and simulation.
    Step,
    /// Only the cost of frames is measured, for the simulation.
    Costs,
}

/// The slices of a step that is measured for `time`. Its parts follow one another; or each has as much time for costs
/// around it, half before and half after, so that what drifts is the same for both.
pub fn slices(time: Duration, costs: bool) -> Vec<(Purpose, Duration)> {
    let part = (Purpose::Step, time.divided_by(PARTS));
    let costs = costs.then(|| (Purpose::Costs, time.divided_by(2 * PARTS)));
    (0..PARTS).flat_map(|_| costs.into_iter().chain([part]).chain(costs)).collect()
}

/// What happened in a slice of time, or in several.
pub struct Slice {
    /// How long it was.
    pub time: Duration,
    /// What came of the traffic.
    pub traffic: Measured,
    /// What the box did.
    pub inside: Observation,
}

impl Slice {
    /// This one and a later one, without what happened between them.
    pub fn and(self, later: Self) -> Self {
        Self {
            time: self.time + later.time,
            traffic: self.traffic.and(later.traffic),
            inside: self.inside.and(later.inside),
        }
    }
}

/// Looks at traffic and box one after the other.
pub struct Looks<'r, 'a> {
    inside: &'r mut Inside<'a>,
    traffic: &'r mut Traffic<'a>,
    stop: &'r AtomicBool,
    /// When the last look was.
    pub at: Time,
    snapshot: Snapshot,
}

impl<'r, 'a> Looks<'r, 'a> {
    /// The first.
    pub fn begin(
        inside: &'r mut Inside<'a>,
        traffic: &'r mut Traffic<'a>,
        stop: &'r AtomicBool,
    ) -> Result<Self, Failure> {
        traffic.measure()?;
        let at = now();
        let snapshot = inside.snapshot()?;
        Ok(Self { inside, traffic, stop, at, snapshot })
    }

    /// The next, when it is `due`: what happened since the last.
    pub fn next(&mut self, due: Time) -> Result<Slice, Failure> {
        self.inside.wait(due.since(now()), self.stop)?;
        let traffic = self.traffic.measure()?;
        let at = now();
        let snapshot = self.inside.snapshot()?;
        let slice = Slice { time: at - self.at, traffic, inside: Observation::new(&self.snapshot, &snapshot) };
        (self.at, self.snapshot) = (at, snapshot);
        Ok(slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_measured_for_its_time_whatever_lies_between() {
        let time = Duration::from_secs(11);
        for (costs, times) in [(false, [11, 0]), (true, [11, 11])] {
            let slices = slices(time, costs);
            let of = |purpose| slices.iter().filter(|slice| slice.0 == purpose).map(|slice| slice.1).sum::<Duration>();
            assert_eq!([of(Purpose::Step), of(Purpose::Costs)], times.map(Duration::from_secs));
        }
    }

    #[test]
    fn what_drifts_evenly_is_the_same_for_both() {
        let (mut begun, mut sums) = (0, [0, 0]);
        for (purpose, time) in slices(Duration::from_secs(11), true) {
            let end = begun + u128::from(time.as_nanos());
            // What a steady drift adds up to, twice.
            sums[usize::from(purpose == Purpose::Costs)] += end * end - begun * begun;
            begun = end;
        }
        assert_eq!(sums[0], sums[1]);
    }
}
