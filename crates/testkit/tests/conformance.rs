//! Every discipline passes the suite: by its defaults, and with each of its parameters.

use dovetail_sched::catalog;
use dovetail_testkit::conformance::{VARIANTS, check, fuzz, specs};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

/// All that does not conform, together.
fn conform<'a>(specs: impl Iterator<Item = &'a str>) {
    let wrong: Vec<String> = specs.filter_map(|spec| check(spec).err()).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_discipline_of_the_catalogue_conforms() {
    conform(catalog().iter().map(|e| e.name));
}

#[test]
fn with_other_parameters_too() {
    conform(VARIANTS.iter().copied());
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
