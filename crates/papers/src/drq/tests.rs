//! The figures on scaled-down runs: that they measure what is expected.

use super::super::expected::assert_covered;
use dovetail_experiment::claim::Verdict;

use super::super::{expected, with_bench};
use super::*;

/// Two short runs with so many groups of flows, which still have every scheme and every point.
fn short(groups: usize) -> Vec<String> {
    let spread = (0..groups).map(|group| format!("tcp.{group}.spread=\"0.2 s\""));
    ["seeds=2", "warm_up=\"0.5 s\"", "until=\"1 s\""].map(String::from).into_iter().chain(spread).collect()
}

#[test]
fn figure_2_is_exact() {
    let findings = fig2::reproduce().unwrap();
    assert_covered("drq-fig2", &findings);
    let checks = expected::checks(super::super::item("drq-fig2").unwrap(), &expected::all().unwrap(), &findings);
    let other: Vec<_> =
        checks.iter().filter(|c| c.verdict.is_some_and(|verdict| verdict != Verdict::Reproduced)).collect();
    assert!(other.is_empty(), "{other:#?}");
}

#[test]
fn the_dumbbell_measures_what_is_expected() {
    with_bench(|bench| {
        let points = fig5::runs(bench, |_| short(4)).unwrap();
        let room = fig5::runs_with_room(bench, &short(4)).unwrap();
        let by_weight = weights::by_weight(bench, &short(4)).unwrap();
        assert_covered("drq-fig5", &fig5::reproduce(&points, &by_weight, &room).unwrap());
        assert_covered("drq-fig6", &fig6::reproduce(&points, &room).unwrap());
        // 5 Mcycles/s for 40 flows of w = 0.25 (and their equals in CPU): 5e6 / 40 / 0.25 bit/s, of which 40 ms are 5
        // packets of 4000 bits.
        let light = points[0].group("drq", "w = 0.25").unwrap();
        assert!((light.fair_bps.unwrap() / 0.5e6 - 1.0).abs() < 1e-9);
        assert!((points[0].fair_window(light).unwrap() - 5.0).abs() < 1e-9);
        // 25 Mcycles/s and 40 Mbit/s in equal shares of each: w = 0.25 has the rate r, the others e cycles/s each: 10
        // (0.25 r + 3 e) = 25 and 10 (r + 2 e + e + e / 2) = 40, in millions: e = 12/17, r = 26/17. At 20 the
        // CPU alone limits, at 45 the link.
        let shares = fig5::equal_shares(&points[4].scenario, 25e6).unwrap();
        let by_hand = [26.0, 24.0, 12.0, 6.0].map(|part| part * 1e6 / 17.0);
        assert!(shares.iter().zip(by_hand).all(|(share, hand)| (share / hand - 1.0).abs() < 1e-6), "{shares:?}");
        assert!(fig5::equal_shares(&points[3].scenario, 20e6).is_none());
        assert!(fig5::equal_shares(&points[8].scenario, 45e6).is_none());
    });
}

#[test]
fn the_other_figures_measure_what_is_expected() {
    with_bench(|bench| {
        assert_covered("drq-fig7", &fig7::reproduce(&fig7::runs(bench, &short(5)).unwrap()).unwrap());
        assert_covered("drq-fig8", &fig8::reproduce(&fig8::runs(bench, &short(4)).unwrap()).unwrap());
        let points = parking::runs(bench, &short(10)).unwrap();
        assert_covered("drq-fig10", &parking::groups(&points).unwrap());
        assert_covered("drq-fig11", &parking::total(&points).unwrap());
        let room = parking::runs_with_room(bench, &short(10)).unwrap();
        assert_covered("drq-fig12", &parking::utilization(&points, &room).unwrap());
        let (paper, wide) =
            (edge::by_capacity(bench, &short(5)).unwrap(), edge::with_wide_core(bench, &short(5)).unwrap());
        assert_covered("drq-fig14", &edge::capacity(&paper, &wide).unwrap());
        assert_covered("drq-fig15", &edge::density(&edge::by_density(bench, &short(5)).unwrap()).unwrap());
    });
}
