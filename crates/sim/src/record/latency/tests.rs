use super::*;

#[test]
fn a_summary_of_1_to_100_seconds() {
    let values: Vec<u64> = (1..=100).map(|s| s * 1_000_000_000).collect();
    let summary = LatencySummary::of_sorted(&values).unwrap();
    assert_eq!((summary.mean, summary.p50, summary.p90, summary.p99, summary.max), (50.5, 50.0, 90.0, 99.0, 100.0));
    // Variance of 1..n is (n^2 - 1) / 12; the squares are exact in f64, only the root and the division round.
    assert!((summary.std - (9999.0f64 / 12.0).sqrt()).abs() < 1e-12 * summary.std);
    assert_eq!(LatencySummary::of_sorted(&[]), None);
}

fn all(distribution: &Distribution) -> Vec<u64> {
    distribution.iter().collect()
}

#[test]
fn samples_are_kept_per_flow_and_can_be_merged() {
    let mut samples = LatencySamples::new(3);
    for (flow, latency) in [(2, 5), (0, 3), (2, 1), (0, 4)] {
        samples.push(flow, latency);
    }
    let latencies = samples.into_latencies();
    assert_eq!([0, 1, 2, 3].map(|flow| all(&latencies.of_flow(flow))), [vec![3, 4], vec![], vec![1, 5], vec![]]);
    assert_eq!(all(&latencies.of_flows([0, 2])), [1, 3, 4, 5]);
    assert_eq!(all(&latencies.of_all()), [1, 3, 4, 5]);
    assert_eq!([0, 1, 3, 4].map(|rank| latencies.of_all().nth(rank)), [1, 3, 5, 5]);
    assert!(latencies.of_flow(1).is_empty());
    assert_eq!((latencies.of_flow(1).nth(0), latencies.of_flow(1).summary()), (0, None));
}

#[test]
fn latencies_are_exact_whatever_their_size() {
    let most = u64::from(u32::MAX);
    let each = [(1, most + 7), (0, most - 1), (1, 2), (0, u64::MAX), (1, most), (3, most + 1), (0, most + 3)];
    let mut samples = LatencySamples::new(4);
    each.iter().for_each(|&(flow, latency)| samples.push(flow, latency));
    let latencies = samples.into_latencies();
    for flow in 0..4 {
        let mut own: Vec<u64> = each.iter().filter(|(f, _)| *f == flow).map(|&(_, latency)| latency).collect();
        own.sort_unstable();
        assert_eq!(all(&latencies.of_flow(flow as usize)), own);
    }
    let mut sorted = each.map(|(_, latency)| latency);
    sorted.sort_unstable();
    assert_eq!(all(&latencies.of_all()), sorted);
    assert_eq!(all(&latencies.of_flows([3, 1])), [2, most, most + 1, most + 7]);
    assert_eq!(latencies.error(), 0.0);
}

/// Latencies of flows 0 to 4, of every size; flow 5 has none.
fn any(random: &mut u64) -> (u32, u64) {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let flow = (*random >> 33) % 5;
    // The flows' latencies are around 1 us, 64 us, 4 ms, 262 ms and 17 s; one in 512 is anywhere.
    let about = ((*random >> 36) % 1000 + 500) << (6 * flow);
    (flow as u32, if (*random >> 50).is_multiple_of(512) { *random } else { about })
}

/// The same packets, all kept, and in a digest of few.
fn both(packets: usize) -> [Latencies; 2] {
    let (mut exact, mut few) = (LatencySamples::new(6), LatencySamples { most: 1000, ..LatencySamples::new(6) });
    let mut random = 1;
    for _ in 0..packets {
        let (flow, latency) = any(&mut random);
        exact.push(flow, latency);
        few.push(flow, latency);
    }
    [exact, few].map(LatencySamples::into_latencies)
}

#[test]
fn a_digest_says_the_same_within_its_error() {
    let [exact, digest] = both(20_500);
    assert_eq!((exact.error(), digest.error()), (0.0, 1.0 / 1024.0));
    let groups = [vec![0], vec![1], vec![2], vec![3], vec![4], vec![5], vec![4, 0, 2], vec![], (0..7).collect()];
    let of = |flows: &Vec<usize>| [&exact, &digest].map(|latencies| latencies.of_flows(flows.iter().copied()));
    for [exact, digest] in groups.iter().map(of).chain([[exact.of_all(), digest.of_all()]]) {
        assert_eq!((exact.len(), exact.iter().count()), (digest.len(), digest.iter().count()));
        for (true_, near) in exact.iter().zip(digest.iter()) {
            assert!(true_.abs_diff(near) <= true_ / 1024, "{near} for {true_}");
        }
        let Some((exact, digest)) = exact.summary().zip(digest.summary()) else {
            assert!(exact.is_empty());
            continue;
        };
        let within = |a: f64, b: f64, part: f64| assert!((a - b).abs() <= part * a, "{b} for {a}");
        assert_eq!(exact.max, digest.max);
        // Some thousand roundings.
        within(exact.mean, digest.mean, 1e-12);
        within(exact.std, digest.std, 1e-12);
        for (exact, digest) in [(exact.p50, digest.p50), (exact.p90, digest.p90), (exact.p99, digest.p99)] {
            within(exact, digest, 1.0 / 1024.0);
        }
    }
}
