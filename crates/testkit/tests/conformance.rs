//! Every discipline passes the suite: by its defaults, and with each of its parameters.

use dovetail_sched::catalog;
use dovetail_testkit::conformance::{VARIANTS, check, fuzz, specs};
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
    for spec in VARIANTS {
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
    let specs: Vec<&str> = specs().collect();
    let input = (0..specs.len(), 1..5usize, prop::collection::vec(any::<u8>(), 0..2000));
    let result = TestRunner::new(config).run(&input, |(spec, resources, bytes)| {
        prop_assert_eq!(fuzz(specs[spec], resources, &bytes), Ok(()));
        Ok(())
    });
    result.unwrap();
}
