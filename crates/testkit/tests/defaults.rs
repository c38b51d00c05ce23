//! What a parameter's default says is what holds without it.

use dovetail_sched::{Scheduler, Shape, SpecError, build, catalog};
use dovetail_testkit::habits::{Habit, Owned};
use dovetail_testkit::random::Random;
use dovetail_testkit::twins::Twins;

fn made(spec: &str) -> Result<Box<dyn Scheduler<2, u32>>, SpecError> {
    build(&spec.parse()?, Shape::default())
}

#[test]
fn a_default_that_is_written_changes_nothing() {
    let mut compared = Vec::new();
    for entry in catalog() {
        for parameter in entry.parameters {
            let written = format!("{}:{}={}", entry.name, parameter.name, parameter.default);
            // Some are words that stand for no value.
            let Ok(subject) = made(&written) else { continue };
            let [subject, oracle] = [subject, made(entry.name).unwrap()].map(|inner| Owned::new(inner, Habit::None));
            let mut twins = Twins::new(subject, oracle, ("quantum", &["5 us"]));
            assert_eq!(twins.run(&mut Random::new(1).take(12_000)), Ok(()), "{written}");
            compared.push(written);
        }
    }
    assert!(compared.contains(&"tradeoff:alpha=0.85".into()) && compared.len() > 10, "{compared:?}");
}
