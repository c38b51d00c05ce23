//! Numbers from 0 to 1 in steps of 2^-32.

/// A number from 0 to 1, both included, in steps of 2^-32: probabilities and averaging weights.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Fraction(u64);

impl Fraction {
    /// 0.
    pub const ZERO: Self = Self(0);
    /// 1.
    pub const ONE: Self = Self(1 << 32);

    /// So many 2^-32ths; more than 2^32 is 1.
    pub const fn from_bits(bits: u64) -> Self {
        if bits > Self::ONE.0 { Self::ONE } else { Self(bits) }
    }

    /// The nearest to `value`; `None` unless that is from 0 to 1.
    pub fn from_f64(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self((value * Self::ONE.0 as f64 + 0.5) as u64))
    }

    /// In 2^-32ths.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// As a floating-point number, exactly.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / Self::ONE.0 as f64
    }

    /// Whether an event of this probability happens, given uniform bits: exactly the fraction of all values of
    /// `random`.
    pub const fn happens(self, random: u32) -> bool {
        (random as u64) < self.0
    }
}
