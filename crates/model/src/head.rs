//! A backlogged flow as an allocation sees it: its head packet and its weight.

use crate::error::{self, ModelError};

/// The head packet of a backlogged flow.
///
/// `normalised[r]` is tbar_r = tau_r / tau_dominant (equation (12)): in `[0, 1]`, and exactly 1 for the dominant
/// resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    weight: f64,
    dominant_s: f64,
    normalised: Vec<f64>,
    seniority: u64,
    alpha: Option<f64>,
}

impl Head {
    /// A head packet with processing times `times_s` (seconds, one per resource) of a flow with `weight`. Seniority is
    /// 0.
    ///
    /// # Errors
    /// [`ModelError::Empty`] without resources, or if all times are zero (such a packet has no dominant resource and
    /// needs no service); [`ModelError::Value`] for a time outside 0 to 1e9 seconds or a weight
    /// outside 1e-9 to 1e9.
    pub fn new(times_s: &[f64], weight: f64) -> Result<Self, ModelError> {
        error::weight(weight)?;
        if times_s.is_empty() {
            return Err(ModelError::Empty { what: "resource" });
        }
        for &time in times_s {
            error::seconds("processing time in seconds", time)?;
        }
        if dominant(times_s) == 0.0 {
            return Err(ModelError::Empty { what: "resource with a processing time above 0" });
        }
        Ok(Self::of_valid(times_s, weight, 0))
    }

    /// As [`Head::new`] for times already known to be valid, with a positive maximum.
    pub(crate) fn of_valid(times_s: &[f64], weight: f64, seniority: u64) -> Self {
        let dominant_s = dominant(times_s);
        let normalised = times_s.iter().map(|time| time / dominant_s).collect();
        Self { weight, dominant_s, normalised, seniority, alpha: None }
    }

    /// Puts the next packet of the flow in this one's place, with times known to be valid.
    pub(crate) fn replace(&mut self, times_s: &[f64], seniority: u64) {
        self.dominant_s = dominant(times_s);
        self.seniority = seniority;
        for (slot, time) in self.normalised.iter_mut().zip(times_s) {
            *slot = time / self.dominant_s;
        }
    }

    /// The same head with a place in the order of [`Ties::Rotate`](crate::Ties::Rotate): among flows with equal
    /// normalised times the lowest number is favoured, the first in the slice where numbers are equal too.
    #[must_use]
    pub fn with_seniority(mut self, seniority: u64) -> Self {
        self.seniority = seniority;
        self
    }

    /// The head of a flow that is guaranteed this part of its fair share, 0 to 1, instead of what a
    /// [`Tradeoff`](crate::Tradeoff) guarantees to all.
    ///
    /// # Errors
    /// [`ModelError::Value`] if `alpha` is outside `[0, 1]`.
    pub fn with_alpha(self, alpha: f64) -> Result<Self, ModelError> {
        error::alpha(alpha)?;
        Ok(self.guaranteed(Some(alpha)))
    }

    /// As [`Head::with_alpha`] for a valid one, or none.
    pub(crate) fn guaranteed(mut self, alpha: Option<f64>) -> Self {
        self.alpha = alpha;
        self
    }

    /// The flow's own alpha, if it has one.
    pub fn alpha(&self) -> Option<f64> {
        self.alpha
    }

    /// The flow's weight, above 0.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The processing time on the dominant resource, in seconds, above 0.
    pub fn dominant_s(&self) -> f64 {
        self.dominant_s
    }

    /// The normalised processing times tbar_r, equation (12).
    pub fn normalised(&self) -> &[f64] {
        &self.normalised
    }

    /// The place in the order of [`Ties::Rotate`](crate::Ties::Rotate); lower is favoured first.
    pub fn seniority(&self) -> u64 {
        self.seniority
    }
}

/// The largest of the processing times: the packet's dominant processing time.
pub(crate) fn dominant(times_s: &[f64]) -> f64 {
    times_s.iter().copied().fold(0.0, f64::max)
}

/// The common number of resources of `heads`.
pub(crate) fn resources(heads: &[Head]) -> Result<usize, ModelError> {
    let first = heads.first().ok_or(ModelError::Empty { what: "backlogged flow" })?;
    let expected = first.normalised.len();
    match heads.iter().find(|head| head.normalised.len() != expected) {
        Some(odd) => Err(ModelError::Length { what: "processing times", found: odd.normalised.len(), expected }),
        None => Ok(expected),
    }
}
