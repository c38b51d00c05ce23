//! `target`: steps of load and of costs, with ten to a hundred flows.

use dovetail_sched::tradeoff::{Target, Tradeoff};
use dovetail_sched::{Scheduler, Seen, Steering};
use dovetail_units::Time;

use crate::plant::{Plant, SECOND};

const TARGET: f64 = 0.95;
/// Means are over so many periods: single ones are noisy, by a packet and by what happens to wait.
const WINDOW: usize = 4;

/// The lower use of the two, as means over windows of periods.
fn least(seen: &[([f64; 2], f64)]) -> Vec<f64> {
    let mean =
        |window: &[([f64; 2], f64)], r: usize| window.iter().map(|(used, _)| used[r]).sum::<f64>() / WINDOW as f64;
    seen.windows(WINDOW).map(|window| mean(window, 0).min(mean(window, 1))).collect()
}

/// What was seen of a step.
#[derive(Debug)]
struct Settled {
    /// After so many periods the use stays within three points of the target: the two that an error may have, and one
    /// of noise in windows of 0.2 s; or above it, where alpha is above 0.99, and strict fairness alone uses as much.
    periods: usize,
    /// By how much it is above the target at most.
    over: f64,
    /// The mean error of the last second, and the alpha at its end.
    error: f64,
    alpha: f64,
}

impl Settled {
    fn is_right(&self) -> bool {
        self.error.abs() <= 0.02 || (self.error > 0.0 && self.alpha > 0.99)
    }
}

fn settled(seen: &[([f64; 2], f64)]) -> Settled {
    let least = least(seen);
    let is_off = |k: &usize| {
        let used = least[*k];
        (used - TARGET).abs() > 0.03 && (used < TARGET || seen[k + WINDOW - 1].1 <= 0.99)
    };
    let periods = (0..least.len()).rev().find(is_off).map_or(0, |k| k + 1);
    let over = least.iter().map(|used| used - TARGET).fold(0.0, f64::max);
    let last = &least[least.len() - 17..];
    let alpha = seen.last().map_or(1.0, |(_, alpha)| *alpha);
    Settled { periods, over, error: last.iter().sum::<f64>() / last.len() as f64 - TARGET, alpha }
}

/// With ten to a hundred flows, a load that goes from 0.8 to 1.5 and back, and again; and costs of the CPU that are
/// then 30 % higher, and lower.
#[test]
fn use_settles_after_steps_of_load_and_costs_and_does_not_swing() {
    for flows in [12, 30, 60, 99] {
        let mut own = Plant::new(
            Tradeoff::new(0.2).unwrap().target(Target::every(TARGET)),
            flows,
            &[
                (0, 0.8, 1.0),
                (2 * SECOND, 1.5, 1.0),
                (5 * SECOND, 0.8, 1.0),
                (6 * SECOND, 1.5, 1.0),
                (9 * SECOND, 1.5, 1.3),
                (14 * SECOND, 1.5, 0.7),
            ],
        );
        own.record(2 * SECOND);
        assert_eq!(own.steering().alpha, 1.0, "{flows} flows: there is no want of resources");
        let up = settled(&own.record(5 * SECOND));
        own.record(6 * SECOND);
        let again = settled(&own.record(9 * SECOND));
        let dearer = settled(&own.record(14 * SECOND));
        let cheaper = settled(&own.record(18 * SECOND));
        for (name, step) in [("up", &up), ("again", &again), ("dearer", &dearer), ("cheaper", &cheaper)] {
            println!("{flows} flows, {name}: {step:.3?}");
        }
        // From below: doubling from the first step on, log2(0.1 / 0.01) periods, then a quarter of what is left each, a
        // dozen until 25 points are fewer than one; it does not pass the target by more than the noise of a window.
        for step in [&up, &cheaper] {
            assert!(step.periods <= 30 && step.over < 0.01 && step.is_right(), "{flows} flows: {step:?}");
        }
        // From above the use is at most full until then, and what is yielded falls by a few per cent a period.
        for step in [&again, &dearer] {
            assert!(step.periods <= 70 && step.is_right(), "{flows} flows: {step:?}");
        }
    }
}

/// A flow that was promised more has that throughout, as nothing below the least alpha is ever yielded.
#[test]
fn alpha_is_never_below_its_value_and_what_cannot_be_had_is_said() {
    let mut own = Plant::new(Tradeoff::new(0.97).unwrap().target(Target::every(TARGET)), 30, &[(0, 1.5, 1.0)]);
    let seen = own.record(3 * SECOND);
    assert!(seen.iter().all(|(_, alpha)| *alpha >= 0.97 - 1e-12));
    let Steering { alpha, seen: Seen::Use { resource, used }, is_out_of_reach } = own.steering() else { panic!() };
    assert!(is_out_of_reach && (alpha - 0.97).abs() < 1e-12, "{:?}", own.steering());
    assert!(resource == 0 && (0.75..0.93).contains(&used), "{:?}", own.steering());
    // Changed while it runs: a lower alpha, another target, none.
    let now = Time::from_nanos(own.now);
    own.scheduler.set(now, "alpha", "0.5").unwrap();
    let step = settled(&own.record(6 * SECOND));
    assert!(step.error.abs() <= 0.02 && !own.steering().is_out_of_reach, "{step:?}");
    own.scheduler.set(Time::from_nanos(own.now), "target", "90 %").unwrap();
    let seen = own.record(10 * SECOND);
    let last: f64 = least(&seen)[60..].iter().sum::<f64>() / (least(&seen).len() - 60) as f64;
    assert!((last - 0.9).abs() <= 0.02, "{last}");
    own.scheduler.set(Time::from_nanos(own.now), "target", "0 90 %").unwrap();
    for (parameter, value, words) in
        [("target", "2 90 %", "such as 0 95 %"), ("target", "95", "such as 95 %"), ("target", "101 %", "such as 95 %")]
    {
        let error = own.scheduler.set(Time::from_nanos(own.now), parameter, value).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    own.scheduler.set(Time::from_nanos(own.now), "target", "none").unwrap();
    assert_eq!(own.scheduler.steering(), None);
}
