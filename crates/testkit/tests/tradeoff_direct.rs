//! The product's virtual-time tradeoff makes the decisions of the direct implementation.

use dovetail_sched::PerFlow;
use dovetail_sched::newcomers::Newcomers;
use dovetail_sched::tradeoff::{DEFAULT_TOLERANCE, Tradeoff};
use dovetail_testkit::direct::DirectTradeoff;
use dovetail_testkit::operation::Operation;
use dovetail_testkit::random::Random;
use dovetail_testkit::twins::Twins;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const ALPHAS: &[&str] = &["0.85", "1", "0.5", "0", "0.99", "0.1", "2"];

type Both = Twins<2, PerFlow<2, u32, Tradeoff>, DirectTradeoff<2, u32>>;

/// Only equals; the default; and half of all.
const TOLERANCES: [f64; 3] = [0.0, DEFAULT_TOLERANCE, 0.5];

fn twins(alpha: f64, tolerance: usize) -> Both {
    let tolerance = TOLERANCES[tolerance];
    let subject = PerFlow::new(Tradeoff::with_tolerance(alpha, tolerance).unwrap().newcomers(Newcomers::Free));
    Twins::new(subject, DirectTradeoff::with_tolerance(alpha, tolerance), ("alpha", ALPHAS))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default()
    })]

    #[test]
    fn decides_as_the_direct_implementation(
        bytes in prop::collection::vec(any::<u8>(), 0..4000), alpha in 0.0..=1.0, tolerance in 0..3_usize,
    ) {
        prop_assert_eq!(twins(alpha, tolerance).run(&mut bytes.into_iter()), Ok(()));
    }

    #[test]
    fn decides_as_the_direct_implementation_where_packets_bypass_the_cpu(
        bytes in prop::collection::vec(any::<u8>(), 0..4000), alpha in 0.0..=1.0, tolerance in 0..3_usize,
    ) {
        let mut both = twins(alpha, tolerance);
        both.tame = |operation| match operation {
            Operation::Enqueue { flow, count, size, mut cost } if flow % 4 > 0 => {
                cost[0] = 0;
                Operation::Enqueue { flow, count, size, cost }
            }
            other => other,
        };
        prop_assert_eq!(both.run(&mut bytes.into_iter()), Ok(()));
    }
}

#[test]
fn decides_as_the_direct_implementation_over_many_identity_switches() {
    let mut both = twins(0.85, 1);
    let mut bytes = Random::new(1);
    while both.subject.discipline().identity_switches() < 30_000 {
        let operations = bytes.by_ref().take(1 << 16).collect::<Vec<u8>>();
        both.run(&mut operations.into_iter()).unwrap();
    }
}
