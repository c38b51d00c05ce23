//! `tradeoff` of three and four resources makes the decisions of the direct implementation, which solves the linear
//! program anew at every event.

use dovetail_sched::newcomers::Newcomers;
use dovetail_sched::tradeoff::{DEFAULT_TOLERANCE, TradeoffOfMany};
use dovetail_sched::{PerFlow, Shape};
use dovetail_testkit::direct::DirectTradeoff;
use dovetail_testkit::operation::Operation;
use dovetail_testkit::random::Random;
use dovetail_testkit::twins::Twins;

const ALPHAS: &[&str] = &["0.85", "1", "0.5", "0", "0.99", "0.1", "2"];

type Both<const M: usize> = Twins<M, PerFlow<M, u32, TradeoffOfMany<M>>, DirectTradeoff<M, u32>>;

fn twins<const M: usize>(alpha: f64, tolerance: f64) -> Both<M> {
    let subject = TradeoffOfMany::with(alpha, tolerance, Shape { servers: M as u32 }).unwrap();
    let subject = PerFlow::new(subject.newcomers(Newcomers::Free));
    Twins::new(subject, DirectTradeoff::with_tolerance(alpha, tolerance), ("alpha", ALPHAS))
}

/// Of every seed some 600 operations, or as many as of so many bytes; every fourth time with packets that bypass the
/// CPU or the resource after it.
fn search<const M: usize>(seeds: std::ops::Range<u64>, bytes: usize) {
    for seed in seeds {
        let mut random = Random::new(seed);
        let alpha = if random.below(8) == 0 { 0.0 } else { random.below(1001) as f64 / 1000.0 };
        let tolerance = [0.0, DEFAULT_TOLERANCE, 0.5][random.below(3) as usize];
        let mut both = twins::<M>(alpha, tolerance);
        // With fewer flows there are fewer vertices.
        both.flows_at_most = 14 - 2 * M;
        if random.below(4) == 0 {
            both.tame = |operation| match operation {
                Operation::Enqueue { flow, count, size, mut cost } if flow % 4 > 0 => {
                    cost[usize::from(flow % 4 == 2)] = 0;
                    Operation::Enqueue { flow, count, size, cost }
                }
                other => other,
            };
        }
        let operations: Vec<u8> = random.take(bytes).collect();
        let result = both.run(&mut operations.into_iter());
        assert_eq!(result, Ok(()), "seed {seed}, {M} resources, alpha {alpha}, tolerance {tolerance}");
    }
}

#[test]
fn decides_as_the_direct_implementation_of_three_resources() {
    search::<3>(0..400, 2000);
    // Packets go past a resource before others that were handed out earlier come there.
    search::<3>(44609..44610, 1000);
}

#[test]
fn decides_as_the_direct_implementation_of_four_resources() {
    search::<4>(0..100, 2000);
}

#[test]
#[ignore = "minutes; `make search` runs it"]
fn decides_as_the_direct_implementation_in_100_000_searches() {
    search::<3>(1_000..71_000, 1000);
    search::<4>(1_000..31_000, 1000);
}

#[test]
fn decides_as_the_direct_implementation_over_many_identity_switches() {
    let mut both = twins::<3>(0.85, DEFAULT_TOLERANCE);
    both.flows_at_most = 8;
    let mut bytes = Random::new(1);
    while both.subject.discipline().identity_switches() < 10_000 {
        let operations = bytes.by_ref().take(1 << 16).collect::<Vec<u8>>();
        both.run(&mut operations.into_iter()).unwrap();
    }
}
