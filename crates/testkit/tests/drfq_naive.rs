//! The product's DRFQ makes the decisions that its definition asks for.

use dovetail_sched::drfq::{Drfq, Window};
use dovetail_sched::{FlowConfig, PerFlow};
use dovetail_testkit::naive_drfq::{self, Memory, NaiveDrfq};
use dovetail_testkit::operation::{Event, MAX_RESOURCES, Operation};
use dovetail_testkit::random::Random;
use dovetail_testkit::twins::Twins;
use dovetail_units::{Duration, Weight};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Tags count 2^-12 ns, and the longest memory is 2^61 of them.
const LONGEST_MEMORY: i128 = 1 << 61;

type Both<const M: usize> = Twins<M, PerFlow<M, u64, Drfq<M>>, NaiveDrfq<M, u64>>;

fn twins<const M: usize>(delta: Duration, rebase_at: u64) -> Both<M> {
    let memory = match delta {
        Duration::ZERO => Memory::Memoryless,
        _ => Memory::Delta((i128::from(delta.as_nanos()) << 12).min(LONGEST_MEMORY).min(i128::from(rebase_at / 4))),
    };
    let subject = PerFlow::new(Drfq::new(delta, Window::Backlogged { least: 4 }).rebasing_at(rebase_at));
    let oracle = NaiveDrfq::new(memory, naive_drfq::Window::Backlogged(4));
    let mut both = Twins::new(subject, oracle, ("window", &["1", "2", "8", "0", "100"]));
    both.tame = tame;
    both
}

/// Tags that lie further apart than the longest memory count as equal when they are lowered. Processing times that get there within a
/// test are left out here; the conformance suite has them.
fn tame(operation: Operation) -> Operation {
    const LONGEST: u64 = 30_000;
    let tame_config =
        |config: FlowConfig<MAX_RESOURCES>| FlowConfig { weight: config.weight.max(Weight::ONE), ..config };
    match operation {
        Operation::Enqueue { flow, count, size, cost } => {
            Operation::Enqueue { flow, count, size, cost: cost.map(|time| time.min(LONGEST)) }
        }
        Operation::Progress { packet, resource, event: Event::Took(_) | Event::Times256th(_) } => {
            Operation::Progress { packet, resource, event: Event::Took(u64::from(packet) * 100) }
        }
        Operation::AddFlow(config) => Operation::AddFlow(tame_config(config)),
        Operation::SetFlow(flow, config) => Operation::SetFlow(flow, tame_config(config)),
        other => other,
    }
}

fn modes() -> impl Strategy<Value = Duration> {
    prop_oneof![Just(Duration::ZERO), Just(Duration::MAX), (1..100_000u64).prop_map(Duration::from_nanos),]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn decides_as_the_definition(bytes in prop::collection::vec(any::<u8>(), 0..4000), delta in modes()) {
        prop_assert_eq!(twins::<1>(delta, u64::MAX).run(&mut bytes.iter().copied()), Ok(()));
        prop_assert_eq!(twins::<2>(delta, u64::MAX).run(&mut bytes.iter().copied()), Ok(()));
        prop_assert_eq!(twins::<3>(delta, u64::MAX).run(&mut bytes.iter().copied()), Ok(()));
    }
}

#[test]
fn lowering_all_tags_does_not_change_the_order() {
    for delta in [Duration::ZERO, Duration::from_micros(20), Duration::MAX] {
        // 2^36 tag units are 16 ms of virtual time: some thousand packets.
        let mut both = twins::<2>(delta, 1 << 36);
        let agreed = both.run(&mut Random::new(3).take(1 << 20));
        assert_eq!(agreed, Ok(()), "delta {delta}, {} rebases", both.subject.discipline().rebases());
        assert!(both.subject.discipline().rebases() > 10, "{}", both.subject.discipline().rebases());
    }
}
