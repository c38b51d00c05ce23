//! The simulator against the max-plus recursion of a tandem of single servers under fifo.

use crate::common::{Given, pipeline, ways};
use dovetail_sim::{Buffer, Pipeline};
use proptest::prelude::*;

/// When packet k ends on resource r. `places[r]` is the number of places before resource r (`None`: unlimited;
/// blocking).
///
/// `start[k][r] = max(leave[k][r-1], leave[k-1][r])`, `end = start + cost`, and packet k may leave resource r-1 when
/// packet `k - places[r] - 1` has left resource r.
fn max_plus<const M: usize>(packets: &[Given<M>], places: &[Option<u32>; M]) -> Vec<[u64; M]> {
    let mut ends: Vec<[u64; M]> = Vec::new();
    let mut leaves: Vec<[u64; M]> = Vec::new();
    for (k, &(arrival, _, cost)) in packets.iter().enumerate() {
        let mut end = [0; M];
        let mut leave = [0; M];
        for r in 0..M {
            let here = if r == 0 { arrival } else { leave[r - 1] };
            let free = if k == 0 { 0 } else { leaves[k - 1][r] };
            end[r] = here.max(free) + cost[r];
            let room = match places.get(r + 1) {
                Some(&Some(places)) if k > places as usize => leaves[k - places as usize - 1][r + 1],
                _ => 0,
            };
            leave[r] = end[r].max(room);
        }
        ends.push(end);
        leaves.push(leave);
    }
    ends
}

fn with_places<const M: usize>(places: &[Option<u32>; M]) -> Pipeline<M> {
    let mut pipeline = pipeline();
    for (resource, places) in pipeline.resources.iter_mut().zip(places) {
        resource.buffer = places.map_or(Buffer::Unlimited, Buffer::Blocking);
    }
    pipeline
}

/// What needs nothing on a resource but the last bypasses it, which the recursion does not know (`bypass.rs` does).
fn needed(resource: usize, resources: usize) -> u64 {
    u64::from(resource + 1 < resources)
}

/// Small numbers, so that many things happen at one instant.
fn packets<const M: usize>() -> impl Strategy<Value = Vec<Given<M>>> {
    let gap = prop_oneof![Just(0u64), 0..4u64, 0..40u64];
    let cost = proptest::collection::vec(prop_oneof![0..3u64, 0..12u64], M);
    proptest::collection::vec((gap, 0..3u32, cost), 1..60).prop_map(|drawn| {
        let mut now = 0;
        let packet = |(gap, flow, cost): (u64, u32, Vec<u64>)| {
            now += gap;
            (now, flow, std::array::from_fn(|r| cost[r].max(needed(r, M))))
        };
        drawn.into_iter().map(packet).collect()
    })
}

fn places<const M: usize>() -> impl Strategy<Value = [Option<u32>; M]> {
    proptest::collection::vec(proptest::option::of(0..4u32), M).prop_map(|v| std::array::from_fn(|r| v[r]))
}

fn agrees<const M: usize>(packets: &[Given<M>], places: &[Option<u32>; M]) -> Result<(), TestCaseError> {
    let (outcome, log) = ways(packets, &with_places(places));
    let simulated: Vec<[u64; M]> = log.iter().map(|p| p.finished.map(|t| t.unwrap().as_nanos())).collect();
    prop_assert_eq!(simulated, max_plus(packets, places));
    prop_assert_eq!(outcome.tally.delivered, packets.len() as u64);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn one_resource(packets in packets::<1>(), places in places()) {
        agrees(&packets, &places)?;
    }

    #[test]
    fn two_resources(packets in packets::<2>(), places in places()) {
        agrees(&packets, &places)?;
    }

    #[test]
    fn three_resources(packets in packets::<3>(), places in places()) {
        agrees(&packets, &places)?;
    }

    #[test]
    fn four_resources(packets in packets::<4>(), places in places()) {
        agrees(&packets, &places)?;
    }
}
