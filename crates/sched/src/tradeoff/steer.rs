//! `target`: alpha adjusts itself, so that every resource, or a named one, is used as much as wanted, at the highest
//! alpha that does it.
//!
//! With two resources the one that is short is always in full use; the other's use is `min(1, u_0 + k x)`, where
//! `x = 1 - alpha` is what flows may have to yield, `u_0` its use under strict fairness, which the fluid knows, and
//! `k >= 0` a property of the heads. Where heads change the mean of that is concave in x. So the slope from strict
//! fairness to here, `(u - u_0) / x`, is no less than the slope here, and a step of `(target - u)` divided by it ends
//! on the near side of the target, whatever k is. A quarter of that step is made, so that one period of delay makes
//! nothing swing either: the roots of `z^2 - z + g` are real up to g = 1/4. See `docs/theory/tradeoff-target.md`.

use dovetail_units::{Duration, Time};

use crate::contract::{Seen, Steering};

/// Alpha is turned once in such a time.
pub const PERIOD: Duration = Duration::from_millis(50);
/// Part of the step that would be right if use were a straight line.
const GAIN: f64 = 0.25;
/// No step for a smaller error.
const DEAD: f64 = 0.005;
/// The first step away from strict fairness; later ones at most double what is yielded.
const FIRST: f64 = 0.01;
/// A period in which packets waited for less than this part says nothing: what is idle then is so for want of work.
const BUSY: f64 = 0.9;
/// By how much use may stay below the target where alpha is at its least.
const SHORT: f64 = 0.02;

/// What is wanted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Target {
    /// The resource that is meant, counted along the pipeline from 0; none means every one.
    pub resource: Option<usize>,
    /// For which part of the time it is to be used while packets wait, 0 to 1.
    pub part: f64,
}

impl Target {
    /// This part of the time for every resource.
    pub const fn every(part: f64) -> Self {
        Self { resource: None, part }
    }

    fn means(&self, resource: usize) -> bool {
        self.resource.is_none_or(|named| named == resource)
    }
}

/// The controller. It hears of time, of packets that wait and of what resources did, and has no clock itself.
#[derive(Clone, Debug)]
pub struct Steer<const M: usize> {
    target: Target,
    least: f64,
    /// When the period began; none before the first call.
    since: Option<Time>,
    /// Until when time has passed.
    passed: Time,
    /// Of the period: for how long packets waited, what each resource did, and the integral of what it would do under
    /// strict fairness, in nanoseconds.
    waited: Duration,
    busy: [Duration; M],
    fair: [f64; M],
    /// 1 - alpha.
    yielded: f64,
    seen: Steering,
}

impl<const M: usize> Steer<M> {
    /// From strict fairness on, with an alpha of `least` or more.
    pub fn new(target: Target, least: f64) -> Self {
        Self {
            target,
            least,
            since: None,
            passed: Time::ZERO,
            waited: Duration::ZERO,
            busy: [Duration::ZERO; M],
            fair: [0.0; M],
            yielded: 0.0,
            seen: Steering { alpha: 1.0, seen: Seen::Use { resource: 0, used: 1.0 }, is_out_of_reach: false },
        }
    }

    /// Another target, without a start from strict fairness.
    pub fn aim(&mut self, target: Target) {
        self.target = target;
    }

    /// Another least alpha: the alpha that holds now.
    pub fn limit(&mut self, least: f64) -> f64 {
        self.least = least;
        self.yielded = self.yielded.min(1.0 - least);
        self.seen.alpha = 1.0 - self.yielded;
        self.seen.alpha
    }

    /// What it has come to.
    pub fn seen(&self) -> Steering {
        self.seen
    }

    /// A packet has used this resource for so long, divided by its servers.
    pub fn used(&mut self, resource: usize, time: Duration) {
        if let Some(busy) = self.busy.get_mut(resource) {
            *busy += time;
        }
    }

    /// Time has passed until `now`, in which packets waited or not and `fair` is the use of each resource under strict
    /// fairness, 0 to 1. The new alpha, if it turns. O(M).
    pub fn pass(&mut self, now: Time, waits: bool, fair: [f64; M]) -> Option<f64> {
        let Some(since) = self.since else {
            (self.since, self.passed) = (Some(now), now);
            return None;
        };
        let time = now.since(self.passed);
        self.passed = self.passed.max(now);
        if waits {
            self.waited += time;
            self.fair.iter_mut().zip(fair).for_each(|(sum, fair)| *sum += fair * time.as_nanos() as f64);
        }
        let period = self.passed.since(since);
        if period < PERIOD {
            return None;
        }
        let turned = self.turn(period);
        (self.since, self.waited) = (Some(self.passed), Duration::ZERO);
        (self.busy, self.fair) = ([Duration::ZERO; M], [0.0; M]);
        turned
    }

    /// A period is over.
    fn turn(&mut self, period: Duration) -> Option<f64> {
        let (period, waited) = (period.as_nanos() as f64, self.waited.as_nanos() as f64);
        if waited < BUSY * period {
            return None;
        }
        let use_of = |r: usize| (self.busy[r].as_nanos() as f64 / period).min(1.0);
        let meant = || (0..M).filter(|&r| self.target.means(r));
        let resource = meant().min_by(|&a, &b| use_of(a).total_cmp(&use_of(b)))?;
        let used = use_of(resource);
        let before = self.yielded;
        // What every one needs, the most of any.
        let wanted = meant().map(|r| self.step(use_of(r), self.fair[r] / waited)).fold(0.0, f64::max);
        self.yielded = wanted.clamp(0.0, 1.0 - self.least);
        let alpha = 1.0 - self.yielded;
        let is_least = self.yielded >= 1.0 - self.least && before >= 1.0 - self.least;
        let is_out_of_reach = is_least && used < self.target.part - SHORT;
        self.seen = Steering { alpha, seen: Seen::Use { resource, used }, is_out_of_reach };
        (self.yielded != before).then_some(alpha)
    }

    /// What is to be yielded for a resource whose use was `used` and would be `fair` if nothing were.
    fn step(&self, used: f64, fair: f64) -> f64 {
        if fair >= self.target.part {
            return self.yielded * (1.0 - GAIN);
        }
        let error = self.target.part - used;
        if error.abs() < DEAD {
            return self.yielded;
        }
        let most = self.yielded.max(FIRST);
        // What is not told apart from strict fairness counts as steep.
        let slope = (used - fair).max(2.0 * DEAD) / most;
        self.yielded + (GAIN * error / slope).clamp(-most, most)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// The use of the second resource of a pipeline whose first is always in use: the mean of min(1, u_0 + k x) over
    /// these.
    fn use_of(plants: &[(f64, f64)], yielded: f64) -> f64 {
        plants.iter().map(|(fair, slope)| (fair + slope * yielded).min(1.0)).sum::<f64>() / plants.len() as f64
    }

    /// The uses of the second resource over so many periods, each with this noise.
    fn run(steer: &mut Steer<2>, plants: &[(f64, f64)], periods: u64, noise: impl Fn(u64) -> f64) -> Vec<f64> {
        let fair = plants.iter().map(|plant| plant.0).sum::<f64>() / plants.len() as f64;
        let mut seen = Vec::new();
        steer.pass(steer.passed, false, [0.0; 2]);
        for k in 0..periods {
            let used = (use_of(plants, 1.0 - steer.seen().alpha) + noise(k)).clamp(0.0, 1.0);
            seen.push(used);
            steer.used(0, PERIOD);
            steer.used(1, Duration::from_nanos((used * PERIOD.as_nanos() as f64) as u64));
            steer.pass(steer.passed + PERIOD, true, [1.0, fair]);
        }
        seen
    }

    fn used(steer: &Steer<2>) -> (usize, f64) {
        let Seen::Use { resource, used } = steer.seen().seen else { panic!("{:?}", steer.seen()) };
        (resource, used)
    }

    const PLANTS: [&[(f64, f64)]; 6] = [
        &[(0.7, 1.0)],
        &[(0.7, 20.0)],
        &[(0.5, 0.6)],
        &[(0.9, 0.3)],
        &[(0.6, 0.5), (0.7, 3.0), (0.8, 9.0)],
        &[(0.2, 1.0), (0.9, 0.2)],
    ];

    #[test]
    fn use_comes_to_the_target_from_below_and_never_passes_it_by_more_than_the_first_step_does() {
        for plants in PLANTS {
            let mut steer = Steer::<2>::new(Target::every(0.95), 0.0);
            let seen = run(&mut steer, plants, 80, |_| 0.0);
            let first = use_of(plants, FIRST).max(0.95);
            let settled = seen.iter().rposition(|used| (used - 0.95).abs() > 0.02).map_or(0, |k| k + 1);
            let reachable = use_of(plants, 1.0) >= 0.95;
            assert!(seen.iter().all(|used| *used <= first + 1e-9), "{plants:?}: {seen:.3?}");
            assert!(!reachable || settled <= 40, "{plants:?}: settled after {settled}: {seen:.3?}");
            assert_eq!(steer.seen().is_out_of_reach, !reachable, "{plants:?}: {:?}", steer.seen());
        }
    }

    #[test]
    fn after_a_step_of_costs_use_comes_to_the_target_without_passing_it() {
        for (before, after) in [((0.7, 1.0), (0.55, 1.0)), ((0.55, 1.0), (0.7, 1.0)), ((0.8, 0.4), (0.6, 4.0))] {
            let mut steer = Steer::<2>::new(Target::every(0.95), 0.0);
            run(&mut steer, &[before], 60, |_| 0.0);
            let start = use_of(&[after], 1.0 - steer.seen().alpha);
            let seen = run(&mut steer, &[after], 160, |_| 0.0);
            // From above it stays above, from below it stays below; the dead zone is where it rests.
            let side = if start > 0.95 { 1.0 } else { -1.0 };
            assert!(seen.iter().all(|used| (used - 0.95) * side >= -DEAD), "{before:?} {after:?}: {seen:.3?}");
            assert!((seen[159] - 0.95).abs() < 0.02, "{before:?} {after:?}: {seen:.3?}");
        }
    }

    #[test]
    fn noise_is_not_amplified() {
        // Of one point, in no order.
        let noise = |k: u64| ((k * 7919 + 13) % 101) as f64 / 50.5 * 0.017 - 0.017;
        for plants in PLANTS.iter().filter(|plants| use_of(plants, 1.0) >= 0.95) {
            let mut steer = Steer::<2>::new(Target::every(0.95), 0.0);
            run(&mut steer, plants, 60, noise);
            let seen = run(&mut steer, plants, 400, noise);
            let mean = seen.iter().sum::<f64>() / 400.0;
            assert!((mean - 0.95).abs() < 0.02, "{plants:?}: {mean}");
        }
    }

    #[test]
    fn a_resource_that_is_not_named_may_idle() {
        let mut steer = Steer::<2>::new(Target { resource: Some(0), part: 0.95 }, 0.0);
        run(&mut steer, &[(0.6, 1.0)], 60, |_| 0.0);
        assert_eq!((steer.seen().alpha, used(&steer).0), (1.0, 0));
        steer.aim(Target { resource: Some(1), part: 0.9 });
        run(&mut steer, &[(0.6, 1.0)], 60, |_| 0.0);
        let (resource, used) = used(&steer);
        assert!((used - 0.9).abs() < 0.02 && resource == 1, "{:?}", steer.seen());
    }

    #[test]
    fn where_nothing_waits_alpha_rests() {
        let mut steer = Steer::<2>::new(Target::every(0.95), 0.0);
        for _ in 0..100 {
            assert_eq!(steer.pass(steer.passed + PERIOD, false, [0.0; 2]), None);
        }
        assert_eq!(steer.seen().alpha, 1.0);
    }

    #[test]
    fn alpha_stays_at_or_above_its_least_and_says_so() {
        let mut steer = Steer::<2>::new(Target::every(0.95), 0.8);
        run(&mut steer, &[(0.6, 1.0)], 60, |_| 0.0);
        let seen = steer.seen();
        assert!(
            (seen.alpha - 0.8).abs() < 1e-9 && seen.is_out_of_reach && (used(&steer).1 - 0.8).abs() < 1e-6,
            "{seen:?}"
        );
        // A lower one is enough.
        steer.limit(0.6);
        run(&mut steer, &[(0.6, 1.0)], 60, |_| 0.0);
        assert!(!steer.seen().is_out_of_reach && (used(&steer).1 - 0.95).abs() < 0.02, "{:?}", steer.seen());
    }
}
