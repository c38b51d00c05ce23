//! MR3's bounds: none is exceeded in a search among random and adversarial runs.
//!
//! For equal weights and flows whose dominant resource does not change: fairness 6 L (or (m + 3) L beyond m = 3),
//! start-up 2 (m + n - 1) L, delay (4 m + 4 n - 2) L, with n the flows of the run; how each is measured, see `measure`.
//! No tolerance: all times are whole nanoseconds, and what the rounds round is below one.

mod measure;

use dovetail_testkit::conformance;
use measure::{Case, draw, measure, search};

/// In L: a flow that is alone has m packets on their way when another comes, and a new flow that pays gets 3 L less
/// than it until its second turn.
fn fairness_bound(spec: &str, m: f64) -> f64 {
    if spec.contains("free") { 6.0 } else { f64::max(6.0, m + 3.0) }
}

/// Worst fairness, start-up and delay as parts of what is allowed.
fn parts_of_bounds<const M: usize>(case: &Case<M>, spec: &str) -> [f64; 3] {
    let (m, n, longest) = (M as f64, case.weights.len() as f64, case.longest() as f64);
    let worst = measure(case, spec, |_, _| 1.0);
    let delay = worst.delay.into_iter().max().unwrap_or(0);
    [
        worst.fairness / (fairness_bound(spec, m) * longest),
        worst.start_up as f64 / (2.0 * (m + n - 1.0) * longest),
        delay as f64 / ((4.0 * m + 4.0 * n - 2.0) * longest),
    ]
}

fn holds<const M: usize>(spec: &str, packets: usize) {
    let fresh = |random: &mut dovetail_testkit::random::Random| {
        let flows = [2, 3, 5, 8][random.below(4) as usize];
        draw::<M>(random, flows, 150)
    };
    let (worst, count) = search(M as u64, packets, fresh, |case| parts_of_bounds(case, spec));
    let [fairness, start_up, delay] = worst.map(|part| 100.0 * part);
    println!(
        "{spec}, m = {M}, {count} packets: fairness {fairness:.1} % of {} L, start-up {start_up:.1} %, delay \
         {delay:.1} %",
        fairness_bound(spec, M as f64)
    );
    assert!(worst.iter().all(|&part| part <= 1.0), "{spec}, m = {M}: {worst:?}");
}

fn all_hold(packets: usize) {
    for spec in ["mr3", "mr3:progress=finished", "mr3:newcomers=free"] {
        holds::<2>(spec, packets);
        holds::<3>(spec, packets);
        holds::<4>(spec, packets);
    }
}

#[test]
fn no_bound_is_exceeded() {
    all_hold(50_000);
}

/// `cargo test --release -p dovetail-testkit --test mr3_bounds -- --ignored --nocapture`
#[test]
#[ignore = "a long search"]
fn no_bound_is_exceeded_in_a_long_search() {
    all_hold(2_000_000);
}

#[test]
fn without_progress_control_the_bounds_do_not_hold() {
    // One flow is bound by the first resource, one by the last: the buffer between them grows for as long as they send.
    let packets = (0..2000).map(|k| (0, k % 2, [[100, 90], [10, 100]][k % 2])).collect();
    let case = Case::<2> { weights: vec![1000; 2], packets };
    let delay = |spec| measure(&case, spec, |_, _| 1.0).delay.into_iter().max().unwrap();
    // (4 m + 4 n - 2) L
    let bound = 14 * 100;
    assert!(delay("mr3:progress=none") > 10 * bound, "{}", delay("mr3:progress=none"));
    assert!(delay("mr3") <= bound, "{}", delay("mr3"));
}

#[test]
fn conforms_with_every_kind_of_progress_control() {
    for spec in ["mr3:progress=finished", "mr3:progress=none"] {
        conformance::check(spec).unwrap();
    }
}
