//! Theorem 3: who gets how much of the two resources.

/// The outcome of the tradeoff problem (19) for two resources.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shares {
    /// alpha * d: the guaranteed dominant share per unit of weight, which is V' (eq. 27).
    pub guaranteed: f64,
    /// Bonus dominant share of the flow with the largest ratio of resource 1 to resource 2.
    pub first_bonus: f64,
    /// Bonus dominant share of the flow with the smallest ratio.
    pub last_bonus: f64,
}

/// Solve (19) by Theorem 3.
///
/// * `alpha`: the knob, 0 to 1.
/// * `load`: sum over backlogged flows of weight times normalised processing time, per resource; one of them above
///   zero.
/// * `at_end`: asks for the normalised processing times of the flow with the largest ratio (0) and of the one with the
///   smallest (1) in order (23); only asked for one that can have a bonus.
///
/// O(1) besides what is asked for. With weights, mu_r = 1 - alpha d load_r; nothing else changes (Theorem 3 with eq. 22
/// so read).
pub fn allocate(alpha: f64, load: [f64; 2], at_end: impl FnMut(usize) -> [f64; 2]) -> Shares {
    let bottleneck = load[0].max(load[1]);
    if alpha >= 1.0 {
        // Strict fairness, also towards a flow that could have more without anybody having less.
        return Shares { guaranteed: alpha / bottleneck, first_bonus: 0.0, last_bonus: 0.0 };
    }
    let left = load.map(|l| (bottleneck - alpha * l) / bottleneck);
    let (first_bonus, last_bonus) = bonus(left, at_end);
    Shares { guaranteed: alpha / bottleneck, first_bonus, last_bonus }
}

/// The bonus shares of the first and the last flow, given what is left of each resource.
///
/// They need not be those at the very ends: the order of the cases sees to it that in case 3 the first one's ratio is
/// no less than the last one's.
fn bonus(left: [f64; 2], mut at_end: impl FnMut(usize) -> [f64; 2]) -> (f64, f64) {
    let last = at_end(1);
    if left[0] * last[1] < left[1] * last[0] {
        // Case 1: resource 1 is used up, by the flow that needs least of it.
        return (0.0, left[0] / last[0]);
    }
    let first = at_end(0);
    if left[0] * first[1] > left[1] * first[0] {
        // Case 2: resource 2 is used up, by the flow that needs least of it.
        return (left[1] / first[1], 0.0);
    }
    let determinant = first[0] * last[1] - first[1] * last[0];
    if determinant <= 0.0 {
        // Case 3 with one and the same ratio: any of these flows uses up both.
        return (0.0, (left[0] / last[0]).min(left[1] / last[1]));
    }
    // Case 3: both are used up, by two flows with complementary needs.
    let first_bonus = (left[0] * last[1] - left[1] * last[0]) / determinant;
    let last_bonus = (left[1] * first[0] - left[0] * first[1]) / determinant;
    (first_bonus.max(0.0), last_bonus.max(0.0))
}
