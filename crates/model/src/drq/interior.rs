//! A primal-dual interior-point method for problem P.
//!
//! Scaled so that every capacity and the sum of weights is 1, with `mu_i` what is paid for resource i and `q_s = sum_i
//! a_is mu_i` the price that a class sees, the optimum is where
//!
//! ```text
//!     A r + t = 1,    r_s q_s = alpha_s,    t_i mu_i = 0,    all positive (or t_i, mu_i zero).
//! ```
//!
//! This is a linear program's central path with other targets: `alpha` for the products `r q`, 0 for `t mu`. So
//! Mehrotra's predictor and corrector for linear programs applies, and eliminating `r` and `t` leaves one positive
//! definite system with as many unknowns as there are resources, `(A D A' + T/M) d_mu = ...` with `D = r/q`.
//!
//! The start has `r q = alpha` already, and rates and prices take the same step. With separate steps a rate can run
//! into 0, where it jams.

use nalgebra::{DMatrix, DVector};

use super::network::Network;

/// Problem P, scaled: capacities and the sum of weights are 1.
pub(super) struct Problem {
    /// By class: the resources used, with the part of their capacity that a rate of 1 takes.
    uses: Vec<Vec<(usize, f64)>>,
    /// By class.
    weights: Vec<f64>,
    resources: usize,
    /// What weights were divided by.
    pub(super) weight_sum: f64,
}

impl Problem {
    pub(super) fn new(network: &Network) -> Self {
        let classes = network.class_list();
        let weight_sum = classes.iter().map(|class| class.weight).sum::<f64>();
        let capacity = |resource: usize| network.resources()[resource].capacity;
        let uses = classes
            .iter()
            .map(|class| {
                // A class's rate is free to be counted in any unit: in that in which its largest use is 1.
                let parts = || class.hops.iter().map(|hop| (hop.resource, hop.density / capacity(hop.resource)));
                let largest = parts().map(|part| part.1).fold(0.0, f64::max);
                parts().map(|(resource, part)| (resource, part / largest)).collect()
            })
            .collect();
        let weights = classes.iter().map(|class| class.weight / weight_sum).collect();
        Self { uses, weights, resources: network.resources().len(), weight_sum }
    }

    /// `A r`.
    fn loads(&self, rates: &[f64]) -> DVector<f64> {
        let mut loads = DVector::zeros(self.resources);
        for (uses, rate) in self.uses.iter().zip(rates) {
            for &(resource, part) in uses {
                loads[resource] += part * rate;
            }
        }
        loads
    }

    /// `A' mu`.
    fn seen(&self, paid: &DVector<f64>) -> Vec<f64> {
        self.uses.iter().map(|uses| uses.iter().map(|&(resource, part)| part * paid[resource]).sum()).collect()
    }

    /// `A D A' + diagonal`.
    fn normal_matrix(&self, d: &[f64], diagonal: &DVector<f64>) -> DMatrix<f64> {
        let mut matrix = DMatrix::from_diagonal(diagonal);
        for (uses, d) in self.uses.iter().zip(d) {
            for &(i, a) in uses {
                for &(j, b) in uses {
                    matrix[(i, j)] += a * b * d;
                }
            }
        }
        matrix
    }
}

/// What is paid for each resource, in parts of the sum of weights.
pub(super) struct Solved {
    pub(super) paid: DVector<f64>,
    pub(super) iterations: usize,
    error: f64,
}

/// The error at which to stop; rounding allows little less.
const TARGET: f64 = 1e-12;
const MOST_STEPS: usize = 200;
/// Steps go this far towards the point at which something becomes 0. Where that ends in a jam, which it seldom does,
/// shorter ones do not.
const TO_BOUNDARY: [f64; 3] = [0.9999, 0.9, 0.5];
/// A larger error is one.
const JAM: f64 = 1e-9;
/// A corrector's step is good if it is this long; otherwise a plain step towards the central path may be longer.
const LONG_STEP: f64 = 0.3;

pub(super) fn minimise(problem: &Problem) -> Solved {
    let [whole, shorter @ ..] = TO_BOUNDARY;
    let mut best = attempt(problem, whole);
    for to_boundary in shorter {
        if best.error <= JAM {
            break;
        }
        let other = attempt(problem, to_boundary);
        if other.error < best.error {
            best = other;
        }
    }
    best
}

/// With steps that go so far towards the boundary.
fn attempt(problem: &Problem, to_boundary: f64) -> Solved {
    let mut point = Point::inside(problem);
    let mut best = Solved { paid: point.paid.clone(), iterations: 0, error: f64::INFINITY };
    let mut stalled = 0;
    for iterations in 1..=MOST_STEPS {
        let Some((step, length)) = point.step(problem, to_boundary) else { break };
        point.advance(problem, &step, length);
        let error = point.error(problem);
        stalled = if error < 0.9 * best.error { 0 } else { stalled + 1 };
        if error < best.error {
            best = Solved { paid: point.paid.clone(), iterations, error };
        }
        if best.error <= TARGET || stalled > 20 {
            break;
        }
    }
    best
}

struct Point {
    rates: Vec<f64>,
    /// Unused part of each resource, `t`.
    spare: DVector<f64>,
    /// `mu`.
    paid: DVector<f64>,
    /// `q`, always `A' mu`.
    seen: Vec<f64>,
}

struct Step {
    rates: Vec<f64>,
    spare: DVector<f64>,
    paid: DVector<f64>,
    seen: Vec<f64>,
}

impl Point {
    /// Prices so high that every resource is at most half loaded by the rates that they ask for.
    fn inside(problem: &Problem) -> Self {
        let rates_at =
            |seen: &[f64]| -> Vec<f64> { problem.weights.iter().zip(seen).map(|(w, seen)| w / seen).collect() };
        let seen = problem.seen(&DVector::from_element(problem.resources, 1.0));
        let price = 2.0 * problem.loads(&rates_at(&seen)).max();
        let paid = DVector::from_element(problem.resources, price);
        let seen = problem.seen(&paid);
        let rates = rates_at(&seen);
        let spare = problem.loads(&rates).map(|load| 1.0 - load);
        Self { rates, spare, paid, seen }
    }

    /// The worst of overload and price times spare capacity if classes took the rates that the prices ask for, and of
    /// the distance that is still to go: where a resource is just full, its price is as far from 0 as the root of
    /// `t mu`.
    fn error(&self, problem: &Problem) -> f64 {
        let rates: Vec<f64> = problem.weights.iter().zip(&self.seen).map(|(weight, seen)| weight / seen).collect();
        let loads = problem.loads(&rates);
        let worst = |(load, paid): (&f64, &f64)| (load - 1.0).max((paid * (1.0 - load)).abs());
        let violation = loads.iter().zip(self.paid.iter()).map(worst).fold(0.0, f64::max);
        violation.max(self.spare.component_mul(&self.paid).max().sqrt())
    }

    /// A direction and how far to go: `to_boundary` of the way on which everything stays above 0, at most 1. `None` if
    /// the system cannot be solved in floating point.
    fn step(&self, problem: &Problem, to_boundary: f64) -> Option<(Step, f64)> {
        let d: Vec<f64> = self.rates.iter().zip(&self.seen).map(|(rate, seen)| rate / seen).collect();
        let length = |step: &Step| (to_boundary * self.boundary(step)).min(1.0);
        let system = System::new(problem.normal_matrix(&d, &self.spare.component_div(&self.paid)))?;
        let residual = problem.loads(&self.rates).map(|load| 1.0 - load) - &self.spare;
        let no_products = (vec![0.0; self.rates.len()], DVector::zeros(problem.resources));
        let predictor = self.direction(problem, &system, &residual, &no_products, 0.0);
        let mean = self.spare.dot(&self.paid) / problem.resources as f64;
        let most = length(&predictor);
        let ahead = (&self.spare + &predictor.spare * most).dot(&(&self.paid + &predictor.paid * most));
        let centre = mean * (ahead / problem.resources as f64 / mean).clamp(0.0, 1.0).powi(3);
        let products = (
            predictor.rates.iter().zip(&predictor.seen).map(|(a, b)| a * b).collect(),
            predictor.spare.component_mul(&predictor.paid),
        );
        let corrected = self.direction(problem, &system, &residual, &products, centre);
        let corrected_length = length(&corrected);
        if corrected_length >= LONG_STEP {
            return Some((corrected, corrected_length));
        }
        let plain = self.direction(problem, &system, &residual, &no_products, 0.3 * mean);
        let plain_length = length(&plain);
        Some(if plain_length > corrected_length { (plain, plain_length) } else { (corrected, corrected_length) })
    }

    /// Newton's direction to `r q = alpha` and `t mu = centre`, with the second-order `products` of the predictor.
    fn direction(
        &self,
        problem: &Problem,
        system: &System,
        residual: &DVector<f64>,
        products: &(Vec<f64>, DVector<f64>),
        centre: f64,
    ) -> Step {
        let wanted = |class: usize| (problem.weights[class] - products.0[class]) / self.seen[class] - self.rates[class];
        let by_class: Vec<f64> = (0..self.rates.len()).map(wanted).collect();
        let by_resource =
            DVector::from_fn(problem.resources, |i, _| (centre - products.1[i]) / self.paid[i] - self.spare[i]);
        let paid = system.solve(&(problem.loads(&by_class) + &by_resource - residual));
        let seen = problem.seen(&paid);
        let rate = |class: usize| by_class[class] - self.rates[class] / self.seen[class] * seen[class];
        let rates = (0..self.rates.len()).map(rate).collect();
        let spare = by_resource - self.spare.component_div(&self.paid).component_mul(&paid);
        Step { rates, spare, paid, seen }
    }

    /// How many of this step make something 0.
    fn boundary(&self, step: &Step) -> f64 {
        let primal = self.rates.iter().zip(&step.rates).chain(self.spare.iter().zip(step.spare.iter()));
        let dual = self.seen.iter().zip(&step.seen).chain(self.paid.iter().zip(step.paid.iter()));
        let shrinking = primal.chain(dual).filter(|(_, change)| **change < 0.0);
        shrinking.map(|(value, change)| -value / change).fold(f64::INFINITY, f64::min)
    }

    fn advance(&mut self, problem: &Problem, step: &Step, length: f64) {
        for (rate, change) in self.rates.iter_mut().zip(&step.rates) {
            *rate += length * change;
        }
        self.spare += &step.spare * length;
        self.paid += &step.paid * length;
        self.seen = problem.seen(&self.paid);
    }
}

/// A factorised positive definite system, scaled to a diagonal of 1.
struct System {
    factor: nalgebra::Cholesky<f64, nalgebra::Dyn>,
    scale: DVector<f64>,
}

impl System {
    /// Added to the scaled diagonal: dependent bottlenecks (two equal links in series) make the system singular but for
    /// rounding. It turns the direction by next to nothing, and the next step takes that back.
    const RIDGE: f64 = 1e-13;

    fn new(mut matrix: DMatrix<f64>) -> Option<Self> {
        let scale = matrix.diagonal().map(|entry| 1.0 / entry.sqrt());
        for ((i, j), entry) in (0..matrix.len()).map(|k| (k % scale.len(), k / scale.len())).zip(matrix.iter_mut()) {
            *entry *= scale[i] * scale[j];
        }
        for i in 0..scale.len() {
            matrix[(i, i)] = 1.0 + Self::RIDGE * scale.len() as f64;
        }
        nalgebra::Cholesky::new(matrix).map(|factor| Self { factor, scale })
    }

    fn solve(&self, right: &DVector<f64>) -> DVector<f64> {
        self.factor.solve(&right.component_mul(&self.scale)).component_mul(&self.scale)
    }
}
