//! RED's probability as a function of the average queue.

use super::AqmError;
use super::fraction::Fraction;

/// The highest upper threshold, so that twice it fits into 32 bits.
pub(super) const MOST_THRESHOLD: u32 = 1 << 30;

/// RED's curve: 0 below `min`, rising to `max_p` at `max`; then, if gentle, to 1 at twice `max`, else 1 from `max` on.
///
/// DRQ paper, equation (10); S. Floyd, "Recommendation on using the gentle variant of RED", 2000.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RedCurve {
    min: u64,
    max: u64,
    max_p: Fraction,
    gentle: bool,
}

impl RedCurve {
    /// Thresholds in packets (or bytes).
    ///
    /// # Errors
    /// Unless `min < max <= 2^30` and `max_p` is above 0.
    pub fn new(min: u32, max: u32, max_p: Fraction, gentle: bool) -> Result<Self, AqmError> {
        if min >= max || max > MOST_THRESHOLD {
            return Err(AqmError { what: "upper threshold", expected: "above the lower one, at most 2^30" });
        }
        if max_p == Fraction::ZERO {
            return Err(AqmError { what: "max_p", expected: "above 0, at most 1" });
        }
        Ok(Self { min: u64::from(min) << 32, max: u64::from(max) << 32, max_p, gentle })
    }

    /// Whether the average, in 2^-32ths, is below the lower threshold.
    pub fn is_below(&self, average: u64) -> bool {
        average < self.min
    }

    /// The probability at an average in 2^-32ths, rounded down to 2^-32.
    pub fn probability(&self, average: u64) -> Fraction {
        // The span is whole packets, so that its 2^32 may go before the division, which is then one of 64 bits.
        let rising = |from: u64, span: u64, height: u64| {
            let product = (u128::from(average - from) * u128::from(height)) >> 32;
            product as u64 / (span >> 32)
        };
        let max_p = self.max_p.bits();
        if average <= self.min {
            Fraction::ZERO
        } else if average < self.max {
            Fraction::from_bits(rising(self.min, self.max - self.min, max_p))
        } else if self.gentle && average < 2 * self.max {
            Fraction::from_bits(max_p + rising(self.max, self.max, Fraction::ONE.bits() - max_p))
        } else {
            Fraction::ONE
        }
    }
}
