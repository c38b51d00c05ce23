//! Theorem 3: who gets how much of what the floors leave of two resources.

/// Solve (21) for two resources by Theorem 3: the bonus dominant shares of the flow with the largest ratio of resource
/// 1 to resource 2, and of the one with the smallest.
///
/// * `left`: mu_r of (22), the parts of the resources that no floor needs; none below 0.
/// * `at_end`: asks for the normalised processing times of the flow with the largest ratio (0) and of the one with the
///   smallest (1) in order (23); only asked for one that can have a bonus.
///
/// O(1) besides what is asked for. Neither weights nor the floors themselves are in (21): with both, mu_r = 1 - d sum
/// alpha_i w_i tbar_ir, and nothing else changes. The two flows need not be those at the very ends: the order of the
/// cases sees to it that in case 3 the first one's ratio is no less than the last one's.
#[inline]
pub fn allocate(left: [f64; 2], mut at_end: impl FnMut(usize) -> [f64; 2]) -> [f64; 2] {
    let last = at_end(1);
    if left[0] * last[1] < left[1] * last[0] {
        // Case 1: resource 1 is used up, by the flow that needs least of it.
        return [0.0, left[0] / last[0]];
    }
    let first = at_end(0);
    if left[0] * first[1] > left[1] * first[0] {
        // Case 2: resource 2 is used up, by the flow that needs least of it.
        return [left[1] / first[1], 0.0];
    }
    let determinant = first[0] * last[1] - first[1] * last[0];
    if determinant <= 0.0 {
        // Case 3 with one and the same ratio: any of these flows uses up both. Nothing of a resource that they do not
        // need is no limit.
        return [0.0, (left[0] / last[0]).min(left[1] / last[1])];
    }
    // Case 3: both are used up, by two flows with complementary needs.
    let first_bonus = (left[0] * last[1] - left[1] * last[0]) / determinant;
    let last_bonus = (left[1] * first[0] - left[0] * first[1]) / determinant;
    [first_bonus.max(0.0), last_bonus.max(0.0)]
}
