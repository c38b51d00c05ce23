//! PCFQ and CBCS make the decisions of the naive ones.

use dovetail_sched::cbcs::Cbcs;
use dovetail_sched::charge::Charge;
use dovetail_sched::newcomers::Newcomers;
use dovetail_sched::pcfq::{Clock, Pcfq};
use dovetail_sched::{FlowConfig, PerFlow};
use dovetail_testkit::naive_cbcs::NaiveCbcs;
use dovetail_testkit::naive_composite::Naive;
use dovetail_testkit::naive_pcfq::NaivePcfq;
use dovetail_testkit::operation::{Event, MAX_RESOURCES, Operation};
use dovetail_testkit::random::Random;
use dovetail_testkit::twins::Twins;
use dovetail_units::{Duration, Weight};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const CHARGES: [Charge; 2] = [Charge::Estimated, Charge::Measured];
const CLOCKS: [Clock; 3] = [Clock::Served, Clock::Tags, Clock::Paper];
const QUANTA: [Option<u64>; 3] = [None, Some(7_777), Some(300_000)];
/// Refused by both.
const SETTINGS: (&str, &[&str]) = ("charge", &["estimated", "measured"]);

type Pcfqs<const M: usize> = Twins<M, PerFlow<M, u32, Pcfq>, Naive<M, u32, NaivePcfq>>;
type Cbcses<const M: usize> = Twins<M, PerFlow<M, u32, Cbcs>, Naive<M, u32, NaiveCbcs>>;

fn pcfqs<const M: usize>(charge: Charge, clock: Clock) -> Pcfqs<M> {
    let subject = PerFlow::new(Pcfq::new(charge, clock));
    let mut both = Twins::new(subject, Naive::new(NaivePcfq::new(M, charge, clock)), SETTINGS);
    both.tame = tame;
    both
}

fn cbcses<const M: usize>(charge: Charge, quantum: Option<u64>, newcomers: Newcomers) -> Cbcses<M> {
    let subject = PerFlow::new(Cbcs::new(quantum.map(Duration::from_nanos), charge, newcomers));
    let mut both = Twins::new(subject, Naive::new(NaiveCbcs::new(quantum, charge, newcomers)), SETTINGS);
    both.tame = tame;
    both
}

/// No time so long, and no weight so small, that tags stop at the longest step or that a naive round robin goes round
/// for hours; the conformance suite has those.
fn tame(operation: Operation) -> Operation {
    const LONGEST: u64 = 100_000;
    let heavy = |config: FlowConfig<MAX_RESOURCES>| {
        let within = |weight: Weight| Weight::from_milli(weight.as_milli().clamp(250, 64_000)).unwrap_or_default();
        FlowConfig { weight: within(config.weight), weight_on: config.weight_on.map(|on| on.map(within)), ..config }
    };
    match operation {
        Operation::Enqueue { flow, count, size, cost } => {
            Operation::Enqueue { flow, count, size, cost: cost.map(|time| time.min(LONGEST)) }
        }
        Operation::Progress { packet, resource, event: Event::Took(_) | Event::Times256th(_) } => {
            Operation::Progress { packet, resource, event: Event::Took(u64::from(packet) * 400) }
        }
        Operation::Wait(ns) => Operation::Wait(ns.min(1 << 40)),
        Operation::AddFlow(config) => Operation::AddFlow(heavy(config)),
        Operation::SetFlow(flow, config) => Operation::SetFlow(flow, heavy(config)),
        other => other,
    }
}

fn agree<const M: usize>(bytes: &[u8]) -> Result<(), String> {
    for charge in CHARGES {
        for clock in CLOCKS {
            let agreed = pcfqs::<M>(charge, clock).run(&mut bytes.iter().copied());
            agreed.map_err(|e| format!("pcfq, {charge:?}, {clock:?}, M = {M}: {e}"))?;
        }
        for (quantum, newcomers) in QUANTA.into_iter().flat_map(|q| [(q, Newcomers::Pay), (q, Newcomers::Free)]) {
            let agreed = cbcses::<M>(charge, quantum, newcomers).run(&mut bytes.iter().copied());
            agreed.map_err(|e| format!("cbcs, {charge:?}, {quantum:?}, {newcomers:?}, M = {M}: {e}"))?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 30, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default()
    })]

    #[test]
    fn decide_as_the_naive_ones(bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
        prop_assert_eq!(agree::<1>(&bytes), Ok(()));
        prop_assert_eq!(agree::<2>(&bytes), Ok(()));
        prop_assert_eq!(agree::<4>(&bytes), Ok(()));
    }
}

#[test]
fn for_long() {
    for seed in 0..2 {
        let bytes: Vec<u8> = Random::new(seed).take(1 << 15).collect();
        assert_eq!(agree::<2>(&bytes), Ok(()), "seed {seed}");
    }
}
