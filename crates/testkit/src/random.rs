//! A small seeded generator (SplitMix64), so that a failure is repeated from its seed alone.

/// The generator's state.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Seeded.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
}

impl Iterator for Random {
    type Item = u8;
    /// An endless stream of bytes.
    fn next(&mut self) -> Option<u8> {
        Some((self.bits() >> 56) as u8)
    }
}
