//! The bonus shares as a linear program, for any number of resources.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};

use super::{Ties, alone, distribute};
use crate::error::ModelError;
use crate::head::Head;

/// How much of the first stage's optimum the second may give up, relative: rounding of the solver, not a choice.
const STAGE_SLACK: f64 = 1e-9;

/// The second stage's answer is taken only if it uses more by this, in resources: less is what the slack alone can buy,
/// and the first stage's corner is then the more accurate answer.
const STAGE_GAIN: f64 = 1e-6;

/// Adds the optimal bonus for remaining shares `mu` (none below 0) to `shares`: first the largest sum (19), then among
/// those the largest total utilisation (18). The remaining shares are scaled to a largest of 1, because the solver's
/// tolerance is absolute. Flows with equal normalised times are one variable, shared out by `ties`.
pub(super) fn add_bonus(heads: &[Head], mu: &[f64], ties: Ties, shares: &mut [f64]) -> Result<(), ModelError> {
    let scale = mu.iter().copied().fold(0.0, f64::max);
    if scale == 0.0 {
        return Ok(());
    }
    let mu: Vec<f64> = mu.iter().map(|left| left / scale).collect();
    let mu = mu.as_slice();
    let profiles = distinct_profiles(heads);
    let throughput = vec![1.0; profiles.len()];
    let best = solve(heads, &profiles, mu, &throughput, None)?;
    let most: f64 = best.iter().sum();
    let uses: Vec<f64> = profiles.iter().map(|&index| heads[index].normalised().iter().sum()).collect();
    let used = |bonus: &[f64]| uses.iter().zip(bonus).map(|(use_of_one, bonus)| use_of_one * bonus).sum::<f64>();
    // Resources that are all used up cannot be used more.
    let bonus = if used(&best) + STAGE_GAIN >= mu.iter().sum() {
        best
    } else {
        let fuller = solve(heads, &profiles, mu, &uses, Some(most * (1.0 - STAGE_SLACK)))?;
        if used(&fuller) > used(&best) + STAGE_GAIN { fuller } else { best }
    };
    for (&like, bonus) in profiles.iter().zip(within_remaining(heads, &profiles, mu, bonus)) {
        if bonus > 0.0 {
            distribute(heads, like, bonus * scale, ties, shares);
        }
    }
    Ok(())
}

/// One flow of each group with equal normalised times, in order.
fn distinct_profiles(heads: &[Head]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..heads.len()).collect();
    let profile = |index: usize| heads[index].normalised();
    order.sort_by(|&a, &b| profile(a).partial_cmp(profile(b)).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(&b)));
    order.dedup_by(|later, earlier| profile(*later) == profile(*earlier));
    order
}

/// Maximises `sum_i objective_i * bonus_i` under the resources' remaining shares, and `sum_i bonus_i >= floor` if
/// given.
fn solve(
    heads: &[Head],
    profiles: &[usize],
    mu: &[f64],
    objective: &[f64],
    floor: Option<f64>,
) -> Result<Vec<f64>, ModelError> {
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let bonus: Vec<Variable> = profiles
        .iter()
        .zip(objective)
        .map(|(&index, &gain)| problem.add_var(gain, (0.0, alone(heads[index].normalised(), mu))))
        .collect();
    for (resource, &left) in mu.iter().enumerate() {
        let terms = profiles.iter().zip(&bonus).map(|(&index, &bonus)| (bonus, heads[index].normalised()[resource]));
        let terms: Vec<_> = terms.filter(|&(_, tbar)| tbar > 0.0).collect();
        problem.add_constraint(terms, ComparisonOp::Le, left);
    }
    if let Some(floor) = floor {
        problem.add_constraint(bonus.iter().map(|&bonus| (bonus, 1.0)), ComparisonOp::Ge, floor);
    }
    let outcome = problem.solve().map_err(|error| ModelError::Solver(error.to_string()))?;
    let solution =
        outcome.into_solution().map_err(|_| ModelError::Solver("interrupted before an answer".to_owned()))?;
    Ok(bonus.iter().map(|&bonus| solution.var_value(bonus).max(0.0)).collect())
}

/// The solver meets constraints within a tolerance; shrinks its answer by that much so that no resource is oversold.
fn within_remaining(heads: &[Head], profiles: &[usize], mu: &[f64], mut bonus: Vec<f64>) -> Vec<f64> {
    let mut scale: f64 = 1.0;
    for (resource, &left) in mu.iter().enumerate() {
        let used: f64 = profiles.iter().zip(&bonus).map(|(&i, bonus)| heads[i].normalised()[resource] * bonus).sum();
        if used > left {
            scale = scale.min(left / used);
        }
    }
    bonus.iter_mut().for_each(|bonus| *bonus *= scale);
    bonus
}
