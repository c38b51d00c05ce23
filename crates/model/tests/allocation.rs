//! The allocations of one moment: the paper's examples, degenerate cases, and the closed form against the linear
//! program.

use dovetail_model::{Allocation, Head, ModelError, Solver, Ties, Tradeoff, drgps};
use proptest::prelude::*;

/// A few roundings of numbers around 1.
const ROUNDING: f64 = 1e-14;

fn heads(times: &[&[f64]]) -> Vec<Head> {
    times.iter().map(|times| Head::new(times, 1.0).expect("valid times")).collect()
}

fn tradeoff(alpha: f64, times: &[&[f64]]) -> Allocation {
    Tradeoff::new(alpha, Ties::Rotate).and_then(|policy| policy.allocate(&heads(times))).expect("valid input")
}

fn assert_close(found: &[f64], expected: &[f64]) {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= ROUNDING;
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(close),
        "found {found:?}, expected {expected:?}"
    );
}

#[test]
fn fig_2_fair_shares_are_three_fifths_and_use_two_thirds_of_the_link() {
    let fair = drgps::allocate(&heads(&[&[2.0, 3.0], &[9.0, 1.0]])).expect("valid");
    assert_close(&fair.shares, &[3.0 / 5.0, 3.0 / 5.0]);
    assert_close(&fair.utilisation, &[1.0, 2.0 / 3.0]);
}

/// Sections 1 and 3.3 of the paper disagree about which flow gets 24/25. 2/3 * 24/25 + 9/25 = 1 on the CPU and
/// 24/25 + 1/9 * 9/25 = 1 on the link: flow 1 gets 24/25, as section 1 says. The other way round the CPU would be asked
/// for 2/3 * 9/25 + 24/25 = 1.2.
#[test]
fn fig_1_efficient_shares_are_24_and_9_of_25_and_use_both_resources() {
    let efficient = tradeoff(0.0, &[&[2.0, 3.0], &[9.0, 1.0]]);
    assert_close(&efficient.shares, &[24.0 / 25.0, 9.0 / 25.0]);
    assert_close(&efficient.utilisation, &[1.0, 1.0]);
}

#[test]
fn drgps_gives_the_published_dominant_shares() {
    let cases: [(&[&[f64]], f64); 5] = [
        (&[&[2.0, 10.0], &[10.0, 4.0]], 0.7143),
        (&[&[2.0, 10.0], &[10.0, 4.0], &[3.0, 10.0]], 0.4167),
        (&[&[4.0, 1.0], &[1.0, 2.0]], 0.6667),
        (&[&[6.0, 1.0], &[1.0, 7.0], &[1.0, 1.0]], 0.4615),
        (&[&[1.0, 0.2], &[0.1, 1.0]], 0.8333),
    ];
    for (times, published) in cases {
        let fair = drgps::allocate(&heads(times)).expect("valid");
        // Published with four decimals.
        assert!(fair.shares.iter().all(|share| (share - published).abs() <= 0.5e-4), "{times:?}: {fair:?}");
    }
}

#[test]
fn a_flow_alone_gets_its_whole_dominant_resource_at_any_alpha() {
    for alpha in [0.0, 0.3, 1.0] {
        for times in [[3.0, 2.0], [0.0, 5.0], [5.0, 0.0], [4.0, 4.0]] {
            assert_close(&tradeoff(alpha, &[&times]).shares, &[1.0]);
        }
    }
}

#[test]
fn flows_with_one_dominant_resource_leave_the_bonus_to_the_one_that_uses_the_other_most() {
    // d = 1/3; each keeps 1/6, and the remaining half of resource 1 goes where it brings most of resource 2 to use.
    let shared = tradeoff(0.5, &[&[1.0, 0.2], &[1.0, 0.9], &[1.0, 0.5]]);
    assert_close(&shared.shares, &[1.0 / 6.0, 1.0 / 6.0 + 0.5, 1.0 / 6.0]);
}

#[test]
fn resources_not_used_at_all_need_no_special_case() {
    let apart = tradeoff(0.5, &[&[1.0, 0.0], &[1.0, 0.0], &[0.0, 1.0]]);
    assert_close(&apart.shares, &[0.75, 0.25, 1.0]);
    let one_only = tradeoff(0.5, &[&[1.0, 0.0], &[3.0, 0.0]]);
    assert_close(&one_only.shares, &[0.75, 0.25]);
}

#[test]
fn equal_flows_take_turns_by_seniority_or_split() {
    let times: [&[f64]; 3] = [&[1.0, 0.5], &[2.0, 1.0], &[4.0, 2.0]];
    let ranked: Vec<Head> =
        heads(&times).into_iter().zip([7, 3, 5]).map(|(head, rank)| head.with_seniority(rank)).collect();
    let shares = |ties| Tradeoff::new(0.4, ties).and_then(|policy| policy.allocate(&ranked)).expect("valid").shares;
    let kept = 0.4 / 3.0;
    assert_close(&shares(Ties::Rotate), &[kept, kept + 0.6, kept]);
    assert_close(&shares(Ties::Split), &[1.0 / 3.0; 3]);
}

#[test]
fn bad_input_is_refused_with_a_reason() {
    for alpha in [-0.1, 1.1, f64::NAN] {
        let refused = Tradeoff::new(alpha, Ties::Split);
        assert!(matches!(refused, Err(ModelError::Value { what: "alpha", .. })), "{alpha}: {refused:?}");
    }
    assert!(matches!(Head::new(&[0.0, 0.0], 1.0), Err(ModelError::Empty { .. })));
    assert!(matches!(Head::new(&[], 1.0), Err(ModelError::Empty { .. })));
    assert!(matches!(Head::new(&[1.0, -1.0], 1.0), Err(ModelError::Value { .. })));
    assert!(matches!(Head::new(&[1.0, f64::INFINITY], 1.0), Err(ModelError::Value { .. })));
    assert!(matches!(Head::new(&[1.0, 1.0], 0.0), Err(ModelError::Value { what: "weight", .. })));
    assert!(matches!(drgps::allocate(&[]), Err(ModelError::Empty { .. })));
    let uneven = heads(&[&[1.0, 2.0], &[1.0]]);
    assert!(matches!(drgps::allocate(&uneven), Err(ModelError::Length { found: 1, expected: 2, .. })));
    let policy = Tradeoff::new(0.5, Ties::Split).expect("valid").with_solver(Solver::ClosedForm);
    let three = heads(&[&[1.0, 2.0, 3.0]]);
    assert_eq!(policy.allocate(&three), Err(ModelError::ClosedForm { resources: 3 }));
}

/// The table of `docs/theory/tradeoff-floors.md`: who has to give way.
#[test]
fn guarantees_by_flow_leave_a_bonus_to_whoever_makes_most_of_it() {
    let of = |alphas: [f64; 2]| {
        let [p, q] = [[3.0, 1.0], [1.0, 2.0]].map(|times| Head::new(&times, 1.0).expect("valid times"));
        let heads = [p.with_alpha(alphas[0]), q.with_alpha(alphas[1])].map(|head| head.expect("valid alpha"));
        // The scheduler's own alpha is nobody's.
        Tradeoff::new(0.3, Ties::Rotate).and_then(|policy| policy.allocate(&heads)).expect("valid input")
    };
    for (alphas, shares, link) in [
        ([1.0, 1.0], [2.0 / 3.0, 2.0 / 3.0], 8.0 / 9.0),
        ([1.0, 0.7], [2.0 / 3.0, 2.0 / 3.0], 8.0 / 9.0),
        ([0.7, 1.0], [0.6, 0.8], 1.0),
        ([0.7, 0.7], [0.6, 0.8], 1.0),
    ] {
        let Allocation { shares: found, utilisation, .. } = of(alphas);
        assert_close(&found, &shares);
        assert_close(&utilisation, &[1.0, link]);
    }
    assert!(matches!(heads(&[&[1.0]])[0].clone().with_alpha(1.1), Err(ModelError::Value { what: "alpha", .. })));
}

/// Times from 0 to 20 in whole numbers: equal ratios, zeros and equal dominant resources all occur often, and
/// normalised times are within the solver's recommended range of six orders of magnitude.
fn any_heads(resources: usize) -> impl Strategy<Value = Vec<Head>> {
    let times = prop::collection::vec(0u8..=20, resources).prop_filter("needs service", |t| t.iter().any(|&t| t > 0));
    let head = (times, 1u8..=8).prop_map(|(times, weight)| {
        let times: Vec<f64> = times.into_iter().map(f64::from).collect();
        Head::new(&times, f64::from(weight)).expect("valid times")
    });
    prop::collection::vec(head, 1..12)
}

fn any_alpha() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..1.0]
}

fn any_ties() -> impl Strategy<Value = Ties> {
    prop_oneof![Just(Ties::Rotate), Just(Ties::Split)]
}

/// Each share keeps its guarantee and no resource is used above 1. `utilisation` sums at most 12 products of numbers up
/// to 1 behind a division: fewer than 40 roundings of at most 2^-53 each.
fn assert_feasible(heads: &[Head], alpha: f64, found: &Allocation) {
    let tolerance = 40.0 * f64::EPSILON;
    for (head, share) in heads.iter().zip(&found.shares) {
        assert!(*share >= alpha * head.weight() * found.fair_share - tolerance, "{found:?}");
    }
    assert!(found.utilisation.iter().all(|used| *used <= 1.0 + tolerance), "{found:?}");
}

proptest! {
    #[test]
    fn drgps_saturates_a_resource_with_equal_weighted_shares(heads in any_heads(4)) {
        let fair = drgps::allocate(&heads).expect("valid");
        assert_feasible(&heads, 1.0, &fair);
        let busiest = fair.utilisation.iter().copied().fold(0.0, f64::max);
        prop_assert!((busiest - 1.0).abs() <= 40.0 * f64::EPSILON, "{fair:?}");
        for (head, share) in heads.iter().zip(&fair.shares) {
            prop_assert_eq!(*share, head.weight() * fair.fair_share);
        }
    }

    #[test]
    fn alpha_one_is_drgps_to_the_last_bit(heads in (2usize..4).prop_flat_map(any_heads), ties in any_ties()) {
        let fair = drgps::allocate(&heads).expect("valid");
        for solver in [Solver::Auto, Solver::LinearProgram] {
            let policy = Tradeoff::new(1.0, ties).expect("valid").with_solver(solver);
            prop_assert_eq!(policy.allocate(&heads).expect("solved"), fair.clone());
        }
    }

    /// Both solve (19), then (18). The linear program gives up at most its second stage's slack, 1e-9 of an optimum of
    /// at most 2 (two resources), and its constraint tolerance of 1e-7 on shares that sum to at most 2 in at most three
    /// constraints is scaled away: objectives agree within 1e-6.
    #[test]
    fn closed_form_and_linear_program_agree(heads in any_heads(2), alpha in any_alpha(), ties in any_ties()) {
        let solve = |solver| Tradeoff::new(alpha, ties).map(|t| t.with_solver(solver)).and_then(|t| t.allocate(&heads));
        let closed = solve(Solver::ClosedForm).expect("closed form");
        let program = solve(Solver::LinearProgram).expect("linear program");
        assert_feasible(&heads, alpha, &closed);
        assert_feasible(&heads, alpha, &program);
        let gap = |a: f64, b: f64| (a - b).abs();
        prop_assert!(gap(closed.dominant_throughput(), program.dominant_throughput()) < 1e-6, "{closed:?} {program:?}");
        let used = |found: &Allocation| found.utilisation.iter().sum::<f64>();
        prop_assert!(gap(used(&closed), used(&program)) < 2e-6, "{closed:?} {program:?}");
    }

    /// Times over thirty orders of magnitude: no share is negative or oversold, and one resource is used up.
    #[test]
    fn closed_form_stands_extreme_times(
        times in prop::collection::vec((-20.0..9.0, -20.0..9.0, -9.0..9.0), 1..12),
        alpha in any_alpha(), ties in any_ties(),
    ) {
        let power = |exponent: f64| 10f64.powf(exponent);
        let head = |&(cpu, link, weight): &(f64, f64, f64)| Head::new(&[power(cpu), power(link)], power(weight));
        let heads: Vec<Head> = times.iter().map(head).collect::<Result<_, _>>().expect("valid times");
        let found = Tradeoff::new(alpha, ties).and_then(|t| t.allocate(&heads)).expect("valid");
        assert_feasible(&heads, alpha, &found);
        let busiest = found.utilisation.iter().copied().fold(0.0, f64::max);
        prop_assert!((busiest - 1.0).abs() <= 40.0 * f64::EPSILON, "{found:?}");
    }

    /// Two flows with opposite needs, however little each has of the other resource: both resources are used up, so
    /// Cramer's rule tells the shares, here without any cancellation.
    #[test]
    fn closed_form_is_exact_at_ratios_from_1e_minus_15_to_1e15(
        small in prop::array::uniform2(-15.0..-0.4), alpha in 0.0..0.5, ties in any_ties(), swap in any::<bool>(),
    ) {
        let [p, q] = small.map(|exponent: f64| 10f64.powf(exponent));
        let times = if swap { [[q, 1.0], [1.0, p]] } else { [[1.0, p], [q, 1.0]] };
        let heads = times.map(|times| Head::new(&times, 1.0).expect("valid times"));
        let found = Tradeoff::new(alpha, ties).and_then(|t| t.allocate(&heads)).expect("valid");
        let fair = 1.0 / (1.0 + p.max(q));
        let left = [1.0 - alpha * fair * (1.0 + q), 1.0 - alpha * fair * (1.0 + p)];
        let of_two = [(left[0] - q * left[1]) / (1.0 - p * q), (left[1] - p * left[0]) / (1.0 - p * q)];
        let expected = of_two.map(|bonus| alpha * fair + bonus);
        for k in 0..2 {
            let share = found.shares[if swap { 1 - k } else { k }];
            prop_assert!((share - expected[k]).abs() <= 40.0 * f64::EPSILON, "{expected:?} {found:?}");
        }
    }

    /// At alpha = 0 nothing is kept of either resource, so flows with different dominant resources use up both.
    #[test]
    fn closed_form_uses_up_both_resources_at_any_ratio(
        times in prop::collection::vec((-15.0..15.0, -9.0..9.0), 1..12), ties in any_ties(),
    ) {
        let power = |exponent: f64| 10f64.powf(exponent);
        let ends = [(-12.0, 0.0), (12.0, 0.0)];
        let head = |&(ratio, time): &(f64, f64)| {
            Head::new(&[power(ratio.min(0.0) + time), power(time - ratio.max(0.0))], 1.0)
        };
        let heads: Vec<Head> = ends.iter().chain(&times).map(head).collect::<Result<_, _>>().expect("valid times");
        let found = Tradeoff::new(0.0, ties).and_then(|t| t.allocate(&heads)).expect("valid");
        prop_assert!(found.utilisation.iter().all(|used| (used - 1.0).abs() <= 40.0 * f64::EPSILON), "{found:?}");
    }

    /// With (18), only equal flows are interchangeable, and `Split` settles them: the shares themselves agree. Giving
    /// up 1e-9 of throughput moves a share by 1e-9 over the smallest price difference; different normalised times of
    /// whole numbers up to 20 are at least 1/380 apart, and so is a price from zero: 1e-9 * 380^2 < 2e-4. The solver's
    /// constraint tolerance of 1e-7 over a determinant of at least 1/380 adds 4e-5.
    #[test]
    fn shares_are_unique_when_equal_flows_split(heads in any_heads(2), alpha in any_alpha()) {
        let solve = |solver| {
            Tradeoff::new(alpha, Ties::Split).map(|t| t.with_solver(solver)).and_then(|t| t.allocate(&heads))
        };
        let closed = solve(Solver::ClosedForm).expect("closed form");
        let program = solve(Solver::LinearProgram).expect("linear program");
        for (a, b) in closed.shares.iter().zip(&program.shares) {
            prop_assert!((a - b).abs() < 3e-4, "{closed:?} {program:?}");
        }
    }

    /// A third resource that always needs the mean of the other two never limits anything, so the throughput of the
    /// linear program for three resources is the closed form's for two. (Same tolerance as above.)
    #[test]
    fn a_third_resource_that_never_limits_changes_nothing(heads in any_heads(2), alpha in any_alpha()) {
        let with_third = |head: &Head| {
            let (t, dominant) = (head.normalised(), head.dominant_s());
            let times = [t[0] * dominant, t[1] * dominant, (t[0] + t[1]) / 2.0 * dominant];
            Head::new(&times, head.weight()).expect("valid")
        };
        let three: Vec<Head> = heads.iter().map(with_third).collect();
        let throughput = |heads: &[Head]| {
            Tradeoff::new(alpha, Ties::Split).and_then(|t| t.allocate(heads)).expect("solved").dominant_throughput()
        };
        prop_assert!((throughput(&heads) - throughput(&three)).abs() < 1e-6);
    }

    #[test]
    fn at_most_two_flows_are_favoured_when_ties_rotate(heads in any_heads(2), alpha in any_alpha()) {
        let found = Tradeoff::new(alpha, Ties::Rotate).and_then(|t| t.allocate(&heads)).expect("valid");
        let kept = |head: &Head| alpha * (head.weight() * found.fair_share);
        prop_assert!(heads.iter().zip(&found.shares).filter(|(head, share)| **share > kept(head)).count() <= 2);
    }

    #[test]
    fn linear_program_for_more_resources_is_feasible_and_beats_the_guarantee(
        heads in (3usize..6).prop_flat_map(any_heads), alpha in any_alpha(), ties in any_ties(),
    ) {
        let found = Tradeoff::new(alpha, ties).and_then(|t| t.allocate(&heads)).expect("solved");
        assert_feasible(&heads, alpha, &found);
        let fair: f64 = heads.iter().map(|head| head.weight() * found.fair_share).sum();
        // DRGPS itself is a solution of (19), so the optimum is at least its throughput, within the tolerance above.
        prop_assert!(found.dominant_throughput() >= fair - 1e-6, "{found:?}");
    }
}
