//! Problem P (equations (2)-(5)) for any network: the dual-resource proportionally fair rates and the resources'
//! prices.

use super::interior::{self, Problem};
use super::network::Network;
use crate::error::ModelError;

/// The solution of problem P.
#[derive(Clone, Debug, PartialEq)]
pub struct Proportional {
    /// `r_s` by flow, in bit/s.
    pub rates: Vec<f64>,
    /// The Lagrange multipliers by resource: `theta_k` of CPUs in weight per cycle/s, `pi_l` of links in weight per
    /// bit/s. 0 (or next to it) where the resource is not a bottleneck. They are unique if the densities of the
    /// bottlenecks, as vectors over flows, are linearly independent; otherwise these are in the middle of the
    /// possible ones (two equal links in series pay half each).
    pub prices: Vec<f64>,
    /// How exactly the optimality conditions hold.
    pub residuals: Residuals,
    /// Steps of the solver, without those that ended in a jam.
    pub iterations: usize,
}

/// By how much the Karush-Kuhn-Tucker conditions of problem P are violated; all are relative and 0 is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residuals {
    /// The most by which a resource's load exceeds its capacity, as a fraction of the capacity.
    pub overload: f64,
    /// The most of price times unused capacity over all resources, as a fraction of the sum of weights.
    pub slackness: f64,
    /// The most by which equation (6) fails, `|r_s sum_i w_s^i price_i / alpha_s - 1|`.
    pub stationarity: f64,
    /// The most by which a price is below 0, as price times capacity in the sum of weights.
    pub negative_price: f64,
}

impl Residuals {
    /// The largest; NaN if any is.
    pub fn largest(&self) -> f64 {
        [self.slackness, self.stationarity, self.negative_price].into_iter().fold(self.overload, larger)
    }
}

/// Residuals above this are not called a solution. Networks with seven orders of magnitude in everything end at 1e-15.
const ACCEPTED: f64 = 1e-9;

/// Solve problem P.
///
/// Cost: some 8 to 20 steps, each O(c h^2 + m^3) for c classes of flows with h hops and m resources, and O(S) once for
/// S flows.
///
/// # Errors
/// [`ModelError::Empty`] without flows. [`ModelError::Solver`] if the conditions do not hold to 1e-9, which takes
/// capacities, weights and densities many orders of magnitude apart.
pub fn solve(network: &Network) -> Result<Proportional, ModelError> {
    if network.flows() == 0 {
        return Err(ModelError::Empty { what: "flow" });
    }
    let problem = Problem::new(network);
    let solved = interior::minimise(&problem);
    let scale: f64 = problem.weight_sum;
    let paid = &solved.paid;
    let prices: Vec<f64> =
        paid.iter().zip(network.resources()).map(|(paid, resource)| paid * scale / resource.capacity).collect();
    let per_weight: Vec<f64> = network
        .class_list()
        .iter()
        .map(|class| 1.0 / class.hops.iter().map(|hop| hop.density * prices[hop.resource]).sum::<f64>())
        .collect();
    let rates = network.flow_list().iter().map(|&(weight, class)| weight * per_weight[class]).collect();
    let mut found = Proportional { rates, prices, residuals: Residuals::NONE, iterations: solved.iterations };
    found.residuals = residuals(network, &found.rates, &found.prices)?;
    let largest = found.residuals.largest();
    // Not "largest > ACCEPTED": a NaN must not pass.
    if largest <= ACCEPTED {
        Ok(found)
    } else {
        Err(ModelError::Solver(format!("problem P is solved to {largest:.1e} only, expected {ACCEPTED:.0e}")))
    }
}

impl Residuals {
    const NONE: Self = Self { overload: 0.0, slackness: 0.0, stationarity: 0.0, negative_price: 0.0 };
}

/// How far `rates` (bit/s, by flow) and `prices` (by resource) are from the optimality conditions of problem P.
/// Computed from the flows one by one, without the solver's classes and scaling.
///
/// # Errors
/// [`ModelError::Length`] if the vectors do not fit the network.
pub fn residuals(network: &Network, rates: &[f64], prices: &[f64]) -> Result<Residuals, ModelError> {
    let expected = network.resources().len();
    if prices.len() != expected {
        return Err(ModelError::Length { what: "vector of prices", found: prices.len(), expected });
    }
    let loads = network.loads(rates)?;
    let weight_sum: f64 = network.flow_list().iter().map(|flow| flow.0).sum();
    let mut worst = Residuals::NONE;
    for ((resource, load), price) in network.resources().iter().zip(&loads).zip(prices) {
        worst.overload = larger(worst.overload, load / resource.capacity - 1.0);
        worst.slackness = larger(worst.slackness, (price * (resource.capacity - load)).abs() / weight_sum);
        worst.negative_price = larger(worst.negative_price, -price * resource.capacity / weight_sum);
    }
    for (flow, rate) in rates.iter().enumerate() {
        let (weight, hops) = network.flow(flow).ok_or(ModelError::UnknownFlow { flow, flows: network.flows() })?;
        let price: f64 = hops.iter().map(|hop| hop.density * prices[hop.resource]).sum();
        worst.stationarity = larger(worst.stationarity, (rate * price / weight - 1.0).abs());
    }
    Ok(worst)
}

/// As `max`, but NaN wins.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b <= a { a } else { b }
}
