//! Every discipline passes the suite: by its defaults, and with each of its parameters.

use dovetail_sched::catalog;
use dovetail_testkit::conformance::{check, fuzz};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

#[test]
fn every_discipline_of_the_catalogue_conforms() {
    for entry in catalog() {
        check(entry.name).unwrap();
    }
}

#[test]
fn with_other_parameters_too() {
    for spec in [
        "drfq:mode=dovetail",
        "drfq:delta=20 us",
        "drfq:window=1",
        "tradeoff:alpha=1",
        "tradeoff:alpha=0",
        "tradeoff:alpha=0.1",
    ] {
        check(spec).unwrap();
    }
}

#[test]
fn operations_that_shrink() {
    let config = ProptestConfig {
        cases: 200,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        ..ProptestConfig::default()
    };
    let specs: Vec<&str> = catalog().iter().map(|e| e.name).collect();
    let input = (0..specs.len(), prop::collection::vec(any::<u8>(), 0..2000));
    let result = TestRunner::new(config).run(&input, |(spec, bytes)| {
        prop_assert_eq!(fuzz(specs[spec], &bytes), Ok(()));
        Ok(())
    });
    result.unwrap();
}
