//! The product's DRGPS trackers make the decisions of the naive ones, at the same times.

use dovetail_sched::PerFlow;
use dovetail_sched::drgps::{Drgps, TrackBy};
use dovetail_sched::newcomers::Newcomers;
use dovetail_testkit::conformance;
use dovetail_testkit::naive_drgps::NaiveDrgps;
use dovetail_testkit::random::Random;
use dovetail_testkit::twins::Twins;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const ORDERS: [TrackBy; 2] = [TrackBy::Start, TrackBy::Finish];
const NEWCOMERS: [Newcomers; 2] = [Newcomers::Pay, Newcomers::Free];
const NO_LIMIT: usize = usize::MAX;

type Both<const M: usize> = Twins<M, PerFlow<M, u32, Drgps<M>>, NaiveDrgps<M, u32>>;

/// A call ends so many packets in the subject's fluid.
fn twins<const M: usize>(order: TrackBy, newcomers: Newcomers, events: usize) -> Both<M> {
    let subject = PerFlow::new(Drgps::new(order, newcomers).ending(events));
    // Refused by both.
    Twins::new(subject, NaiveDrgps::new(order, newcomers), ("order", &["start", "finish"]))
}

fn agree<const M: usize>(bytes: &[u8]) -> Result<(), String> {
    for (order, newcomers) in ORDERS.into_iter().flat_map(|order| NEWCOMERS.map(|newcomers| (order, newcomers))) {
        let agreed = twins::<M>(order, newcomers, NO_LIMIT).run(&mut bytes.iter().copied());
        agreed.map_err(|e| format!("{order:?}, {newcomers:?}, M = {M}: {e}"))?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default()
    })]

    #[test]
    fn decides_as_the_naive_one(bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
        prop_assert_eq!(agree::<1>(&bytes), Ok(()));
        prop_assert_eq!(agree::<2>(&bytes), Ok(()));
        prop_assert_eq!(agree::<3>(&bytes), Ok(()));
        prop_assert_eq!(agree::<4>(&bytes), Ok(()));
    }
}

#[test]
fn starts_and_finishes_are_tracked_for_long_whatever_packets_cost() {
    // Nothing drifts: a single tick of difference would show in the instants of `At`.
    for newcomers in NEWCOMERS {
        assert_eq!(twins::<3>(TrackBy::Start, newcomers, NO_LIMIT).run(&mut Random::new(7).take(1 << 19)), Ok(()));
        assert_eq!(twins::<2>(TrackBy::Finish, newcomers, NO_LIMIT).run(&mut Random::new(3).take(1 << 19)), Ok(()));
    }
}

#[test]
fn a_fluid_that_ends_few_packets_in_a_call_decides_alike_until_it_lags() {
    for events in [1, 2, 4, 16] {
        let (mut kept_up, mut differed) = (0, 0);
        for seed in 0..200 {
            let order = ORDERS[seed as usize % 2];
            let mut both = twins::<2>(order, Newcomers::Free, events);
            let alike = both.run(&mut Random::new(seed).take(1000));
            let [_, worst] = both.subject.discipline().lag_ns();
            assert!(alike.is_ok() || worst > 0.0, "{order:?}, {events}, seed {seed}: {alike:?}");
            kept_up += u32::from(worst == 0.0);
            differed += u32::from(alike.is_err());
        }
        println!("{events} in a call: {kept_up} of 200 never lag, {differed} differ");
        assert!(kept_up > 0 && (differed > 0 || events > 2), "{events}: {kept_up} of 200 never lag, {differed} differ");
    }
}

#[test]
fn conforms_in_both_orders() {
    for spec in ["drgps:order=finish", "drgps:order=start"] {
        conformance::check(spec).unwrap();
    }
}
