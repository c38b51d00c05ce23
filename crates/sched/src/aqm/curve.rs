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
    /// Packets (or bytes) from `min` to `max`.
    rise: Divisor,
    /// From `max` to twice that.
    gentle_rise: Divisor,
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
        let (rise, gentle_rise) = (Divisor::new(max - min), Divisor::new(max));
        Ok(Self { min: u64::from(min) << 32, max: u64::from(max) << 32, max_p, gentle, rise, gentle_rise })
    }

    /// Whether the average, in 2^-32ths, is below the lower threshold.
    #[inline]
    pub fn is_below(&self, average: u64) -> bool {
        average < self.min
    }

    /// The probability at an average in 2^-32ths, rounded down to 2^-32.
    #[inline]
    pub fn probability(&self, average: u64) -> Fraction {
        // The span is whole packets, so that its 2^32 may go before the division, which is then one of 64 bits.
        let rising = |from: u64, span: Divisor, height: u64| {
            span.quotient(((u128::from(average - from) * u128::from(height)) >> 32) as u64)
        };
        let max_p = self.max_p.bits();
        if average <= self.min {
            Fraction::ZERO
        } else if average < self.max {
            Fraction::from_bits(rising(self.min, self.rise, max_p))
        } else if self.gentle && average < 2 * self.max {
            Fraction::from_bits(max_p + rising(self.max, self.gentle_rise, Fraction::ONE.bits() - max_p))
        } else {
            Fraction::ONE
        }
    }
}

/// A divisor whose quotients take two multiplications: every packet needs one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Divisor {
    value: u64,
    /// 2^64 - 1 over `value`, rounded down: at least 2^64 / value - 1.
    reciprocal: u64,
}

impl Divisor {
    /// Of a divisor above 0.
    fn new(value: u32) -> Self {
        let value = u64::from(value);
        Self { value, reciprocal: u64::MAX / value }
    }

    /// `dividend / value`, rounded down.
    #[inline]
    fn quotient(self, dividend: u64) -> u64 {
        // Less than 1 below the exact quotient before it is rounded down, so at most 1 below after.
        let least = ((u128::from(dividend) * u128::from(self.reciprocal)) >> 64) as u64;
        least + u64::from(dividend - least * self.value >= self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_those_of_a_division() {
        let powers = (0..32).map(|exponent| 1_u32 << exponent);
        for value in powers.flat_map(|power| [power - power / 3, power, power + power / 2 + 1]).chain([500, u32::MAX]) {
            let exact = u64::from(value);
            for shift in 0..64 {
                let some = 0x9e37_79b9_7f4a_7c15_u64 >> shift;
                let multiple = some / exact * exact;
                for dividend in [some, multiple, multiple.saturating_sub(1), u64::MAX >> shift] {
                    assert_eq!(Divisor::new(value).quotient(dividend), dividend / exact, "{dividend} / {value}");
                }
            }
        }
    }
}
