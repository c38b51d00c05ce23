//! The tradeoff problem (19) of the paper with weights: as much dominant throughput as possible, while flow i keeps
//! `alpha * w_i * d`, where `d` is the fair share of [`drgps`].
//!
//! A flow may have an alpha of its own ([`Head::with_alpha`]), which takes the place of `alpha` for it.
//!
//! After the guarantee, `mu_r = 1 - alpha * d * sum_i w_i * tbar_ir` of resource r is left (equation (22) with weights)
//! and is given away as bonus shares so that their sum is the largest. The bonus problem has no weights in it, so order
//! (23) and the three cases of Theorem 3 stand as printed; the derivation is in `docs/theory/weighted-tradeoff.md`.
//!
//! Among optimal solutions the one with the largest total utilisation is taken (18). What freedom is then left between
//! flows with equal normalised times is settled by [`Ties`].
//!
//! `alpha = 1` is DRGPS and gives no bonus at all. (Problem (19) as printed would still give a bonus to a flow that
//! does not use the bottleneck; the paper's text defines alpha = 1 as perfect fairness, and that is what is done here.)

mod closed_form;
mod linear_program;

use crate::drgps;
use crate::error::{self, ModelError};
use crate::head::{Head, resources};

/// Who gets the bonus among flows whose head packets have equal normalised times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// The flow whose head packet has been head for longest ([`Head::seniority`]); so equals take turns, one packet
    /// each, and at most two flows are favoured at a time as in Theorem 3.
    #[default]
    Rotate,
    /// All of them, in equal parts: the symmetric fluid.
    Split,
}

/// How the bonus problem is solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solver {
    /// The closed form for two resources, the linear program otherwise.
    #[default]
    Auto,
    /// The closed form of Theorem 3; two resources only. Cost O(n).
    ClosedForm,
    /// The linear program, also for two resources. The throughput is within 1e-9
    /// of the optimum (relative), and rule (18) is applied where it changes the utilisation by more than 1e-6.
    LinearProgram,
}

/// The dominant share of each flow, and what they use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allocation {
    /// The fair dominant share `d` per unit of weight, equation (16).
    pub fair_share: f64,
    /// The dominant share of each flow, in the order of the heads given.
    pub shares: Vec<f64>,
    /// The fraction of each resource in use; at most 1 up to rounding.
    pub utilisation: Vec<f64>,
}

impl Allocation {
    /// The dominant throughput, the objective of (19): the sum of the shares.
    pub fn dominant_throughput(&self) -> f64 {
        self.shares.iter().sum()
    }

    /// Sets the utilisations from the shares.
    pub(crate) fn measure(&mut self, heads: &[Head]) {
        self.utilisation.fill(0.0);
        for (head, share) in heads.iter().zip(&self.shares) {
            for (used, tbar) in self.utilisation.iter_mut().zip(head.normalised()) {
                *used += tbar * share;
            }
        }
    }
}

/// The tradeoff allocation at one fairness level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tradeoff {
    alpha: f64,
    ties: Ties,
    solver: Solver,
}

impl Tradeoff {
    /// The allocation that guarantees the portion `alpha` of the fair share: 0 (efficiency only) to 1 (fairness only).
    ///
    /// # Errors
    /// [`ModelError::Value`] if `alpha` is outside `[0, 1]`.
    pub fn new(alpha: f64, ties: Ties) -> Result<Self, ModelError> {
        error::alpha(alpha)?;
        Ok(Self { alpha, ties, solver: Solver::Auto })
    }

    /// The same with a chosen way of solving.
    #[must_use]
    pub fn with_solver(mut self, solver: Solver) -> Self {
        self.solver = solver;
        self
    }

    /// The fairness level, in `[0, 1]`.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The tie rule.
    pub fn ties(&self) -> Ties {
        self.ties
    }

    /// The allocation for `heads`: one backlogged flow's head packet each, all for the same resources.
    ///
    /// # Errors
    /// As [`drgps::allocate`]; [`ModelError::ClosedForm`] if the closed form is asked for other than two resources;
    /// [`ModelError::Solver`] if the linear program's solver gives up (normalised times that span more than about six
    /// orders of magnitude).
    pub fn allocate(&self, heads: &[Head]) -> Result<Allocation, ModelError> {
        resources(heads)?;
        let mut allocation = Allocation::default();
        self.allocate_into(heads, &mut allocation)?;
        Ok(allocation)
    }

    /// As [`Tradeoff::allocate`] into a buffer that is used again; `heads` are not empty and agree in their resources.
    pub(crate) fn allocate_into(&self, heads: &[Head], allocation: &mut Allocation) -> Result<(), ModelError> {
        drgps::weighted_loads(heads, &mut allocation.utilisation);
        let fair = drgps::fair_share(&allocation.utilisation);
        allocation.fair_share = fair;
        allocation.shares.clear();
        allocation.shares.extend(heads.iter().map(|head| self.alpha_of(head) * (head.weight() * fair)));
        if heads.iter().any(|head| self.alpha_of(head) < 1.0) {
            self.turn_loads_into_remaining(heads, &mut allocation.utilisation);
            self.add_bonus(heads, &allocation.utilisation, &mut allocation.shares)?;
        }
        allocation.measure(heads);
        Ok(())
    }

    /// What the flow is guaranteed: its own alpha, or that of all.
    fn alpha_of(&self, head: &Head) -> f64 {
        head.alpha().unwrap_or(self.alpha)
    }

    /// `mu_r = 1 - alpha * load_r / max load`, equation (22). The bottleneck's is `1 - alpha` without rounding, and no
    /// other is below it: a quotient of at most 1 stays at most 1 in floating point. Where flows have an alpha of their
    /// own, `mu_r = 1 - sum_i alpha_i w_i tbar_ir / max load`.
    fn turn_loads_into_remaining(&self, heads: &[Head], loads: &mut [f64]) {
        let bottleneck = loads.iter().copied().fold(0.0, f64::max);
        let alike = heads.iter().all(|head| head.alpha().is_none());
        for (r, load) in loads.iter_mut().enumerate() {
            let floor = |head: &Head| self.alpha_of(head) * head.weight() * head.normalised()[r];
            *load = match alike {
                true => 1.0 - self.alpha * (*load / bottleneck),
                false => (1.0 - heads.iter().map(floor).sum::<f64>() / bottleneck).max(0.0),
            };
        }
    }

    fn add_bonus(&self, heads: &[Head], remaining: &[f64], shares: &mut [f64]) -> Result<(), ModelError> {
        match (self.solver, remaining) {
            (Solver::Auto | Solver::ClosedForm, &[cpu, link]) => {
                closed_form::add_bonus(heads, [cpu, link], self.ties, shares);
                Ok(())
            }
            (Solver::ClosedForm, _) => Err(ModelError::ClosedForm { resources: remaining.len() }),
            (Solver::Auto | Solver::LinearProgram, _) => linear_program::add_bonus(heads, remaining, self.ties, shares),
        }
    }
}

/// Gives `bonus` to the flows whose normalised times equal those of `like`, as `ties` says.
fn distribute(heads: &[Head], like: usize, bonus: f64, ties: Ties, shares: &mut [f64]) {
    let profile = heads[like].normalised();
    let equals = || heads.iter().enumerate().filter(|(_, head)| head.normalised() == profile);
    match ties {
        Ties::Rotate => {
            let senior = equals().min_by_key(|(_, head)| head.seniority()).map_or(like, |(index, _)| index);
            shares[senior] += bonus;
        }
        Ties::Split => {
            let part = bonus / equals().count() as f64;
            for (index, _) in equals() {
                shares[index] += part;
            }
        }
    }
}

/// The largest bonus that one profile alone can take: `min_r mu_r / tbar_r` over the resources it uses.
fn alone(profile: &[f64], remaining: &[f64]) -> f64 {
    let limits = profile.iter().zip(remaining).filter(|(tbar, _)| **tbar > 0.0).map(|(tbar, mu)| mu / tbar);
    limits.fold(f64::INFINITY, f64::min)
}
