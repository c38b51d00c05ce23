//! Equations (1) to (5) of the ATFQ paper against a flow that is alone in a pipeline without buffers.

use dovetail_sched::atfq::active_time::{gap, growth};
use dovetail_testkit::no_wait::NoWait;
use dovetail_testkit::random::Random;
use dovetail_units::ResourceVec;

fn alone<const M: usize>(seed: u64) {
    let mut random = Random::new(seed);
    let mut pipeline = NoWait::<M>::default();
    let mut before: Option<(ResourceVec<M>, u64, u64)> = None;
    for _ in 0..1000 {
        let largest = [3, 10, 100_000][random.below(3) as usize];
        let cost = ResourceVec::from_nanos(std::array::from_fn(|_| random.between(0, largest)));
        let start = pipeline.start(&cost);
        let end = pipeline.free_at(M - 1);
        if let Some((last, started, ended)) = before {
            assert_eq!(start, started + last[0].as_nanos() + gap(&last, &cost), "{last:?} then {cost:?}");
            assert_eq!(end - ended, growth(&last, &cost), "{last:?} then {cost:?}");
        }
        before = Some((cost, start, end));
    }
}

#[test]
fn timestamps_are_the_times_of_a_flow_that_is_alone() {
    for seed in 0..20 {
        alone::<1>(seed);
        alone::<2>(seed);
        alone::<3>(seed);
        alone::<4>(seed);
        alone::<5>(seed);
    }
}
