//! The product's DRFQ makes the decisions that its definition asks for.

use dovetail_sched::drfq::{Drfq, Window};
use dovetail_sched::newcomers::Newcomers;
use dovetail_sched::{FlowConfig, PerFlow};
use dovetail_testkit::naive_drfq::{self, Memory, NaiveDrfq};
use dovetail_testkit::operation::{MAX_RESOURCES, Operation};
use dovetail_testkit::random::Random;
use dovetail_testkit::twins::Twins;
use dovetail_units::{Duration, Weight};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const NEWCOMERS: [Newcomers; 2] = [Newcomers::Pay, Newcomers::Free];

type Both<const M: usize> = Twins<M, PerFlow<M, u32, Drfq<M>>, NaiveDrfq<M, u32>>;

fn twins<const M: usize>(delta: Duration, newcomers: Newcomers) -> Both<M> {
    let memory = match delta {
        Duration::ZERO => Memory::Memoryless,
        _ => Memory::Delta(i128::from(delta.as_nanos()) << 22),
    };
    let subject = PerFlow::new(Drfq::new(delta, Window::Backlogged { least: 4 }, newcomers));
    let oracle = NaiveDrfq::new(memory, naive_drfq::Window::Backlogged(4), newcomers);
    let mut both = Twins::new(subject, oracle, ("window", &["1", "2", "8", "0", "100"]));
    if newcomers == Newcomers::Free {
        both.tame = tame;
    }
    both
}

/// Tickets bear tags that are no more than 26 days from V: lighter flows' longest packets get there within a test.
fn tame(operation: Operation) -> Operation {
    let heavy = |config: FlowConfig<MAX_RESOURCES>| FlowConfig { weight: config.weight.max(Weight::ONE), ..config };
    match operation {
        Operation::AddFlow(config) => Operation::AddFlow(heavy(config)),
        Operation::SetFlow(flow, config) => Operation::SetFlow(flow, heavy(config)),
        other => other,
    }
}

fn agree<const M: usize>(delta: Duration, bytes: &[u8]) -> Result<(), String> {
    NEWCOMERS.into_iter().try_for_each(|newcomers| {
        let agreed = twins::<M>(delta, newcomers).run(&mut bytes.iter().copied());
        agreed.map_err(|e| format!("delta {delta}, {newcomers:?}, M = {M}: {e}"))
    })
}

fn modes() -> impl Strategy<Value = Duration> {
    prop_oneof![Just(Duration::ZERO), Just(Duration::MAX), (1..100_000u64).prop_map(Duration::from_nanos),]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default()
    })]

    #[test]
    fn decides_as_the_definition(bytes in prop::collection::vec(any::<u8>(), 0..4000), delta in modes()) {
        prop_assert_eq!(agree::<1>(delta, &bytes), Ok(()));
        prop_assert_eq!(agree::<2>(delta, &bytes), Ok(()));
        prop_assert_eq!(agree::<3>(delta, &bytes), Ok(()));
    }
}

#[test]
fn for_long() {
    for delta in [Duration::ZERO, Duration::from_micros(20), Duration::MAX] {
        let bytes: Vec<u8> = Random::new(3).take(1 << 18).collect();
        assert_eq!(agree::<2>(delta, &bytes), Ok(()));
    }
}
