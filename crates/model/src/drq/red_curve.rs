//! RED's probability as a function of the average queue, and its filter in continuous time (equations (10)-(14)).

use crate::error::{ModelError, in_range};

/// The gentle RED curve, equations (10) and (13): 0 up to `low`, rising to `max_p` at `high`, then to 1 at twice
/// `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedCurve {
    low: f64,
    high: f64,
    max_p: f64,
}

impl RedCurve {
    /// Thresholds in bits, `0 <= low < high`, and `0 < max_p <= 1`.
    ///
    /// # Errors
    /// [`ModelError::Value`] for anything else, and above 1e18 bits.
    pub fn new(low: f64, high: f64, max_p: f64) -> Result<Self, ModelError> {
        let low = in_range("lower threshold in bits", low, 0.0..=1e18, "a number from 0 to 1e18")?;
        let high = in_range("upper threshold in bits", high, 0.0..=1e18, "a number above the lower threshold")?;
        if low >= high {
            let expected = "a number above the lower threshold";
            return Err(ModelError::Value { what: "upper threshold in bits", value: high, expected });
        }
        let max_p = in_range("max_p", max_p, f64::MIN_POSITIVE..=1.0, "a number above 0, at most 1")?;
        Ok(Self { low, high, max_p })
    }

    /// The probability at an average queue of so many bits.
    pub fn probability(&self, average: f64) -> f64 {
        if average <= self.low {
            0.0
        } else if average <= self.high {
            self.max_p * (average - self.low) / (self.high - self.low)
        } else {
            (self.max_p + (1.0 - self.max_p) * (average - self.high) / self.high).min(1.0)
        }
    }

    /// The average queue in bits at which the probability is this. For 0 and less the largest such, `low`; for 1 and
    /// more the smallest.
    pub fn average(&self, probability: f64) -> f64 {
        let probability = probability.clamp(0.0, 1.0);
        if probability <= self.max_p {
            self.low + (self.high - self.low) * probability / self.max_p
        } else {
            self.high + self.high * ((probability - self.max_p) / (1.0 - self.max_p))
        }
    }

    /// The larger of the curve's two slopes, `max(max_p / (high - low), (1 - max_p) / high)`, per bit.
    pub fn steepest(&self) -> f64 {
        (self.max_p / (self.high - self.low)).max((1.0 - self.max_p) / self.high)
    }
}

/// A resource's queue: its curve and how its length is averaged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedQueue {
    pub(super) curve: RedCurve,
    /// `-ln(1 - lambda) / eta`, per second. `None`: the queue itself.
    pub(super) filter: Option<f64>,
}

impl RedQueue {
    /// The probability follows the queue itself: the paper's `y^ = y`, for filters faster than the model's time scale.
    pub fn unfiltered(curve: RedCurve) -> Self {
        Self { curve, filter: None }
    }

    /// The queue is sampled every `interval_s` (eta; with RED usually every packet's arrival) and averaged with this
    /// weight (lambda), equation (12); in continuous time the filter's rate is `-ln(1 - lambda) / eta`, equation
    /// (11).
    ///
    /// # Errors
    /// [`ModelError::Value`] unless the weight is above 0 and below 1 and the interval from 1e-12 to 1e9 s.
    pub fn averaged(curve: RedCurve, weight: f64, interval_s: f64) -> Result<Self, ModelError> {
        let weight = in_range("averaging weight", weight, f64::MIN_POSITIVE..=1.0, "a number above 0 and below 1")?;
        if weight == 1.0 {
            let expected = "a number above 0 and below 1; 1 is an unfiltered queue";
            return Err(ModelError::Value { what: "averaging weight", value: weight, expected });
        }
        let interval_s = in_range("sampling interval in s", interval_s, 1e-12..=1e9, "a number from 1e-12 to 1e9")?;
        Ok(Self { curve, filter: Some(-(-weight).ln_1p() / interval_s) })
    }

    /// The curve.
    pub fn curve(&self) -> &RedCurve {
        &self.curve
    }
}
