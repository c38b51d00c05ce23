//! Processing densities of application classes (DRQ, assumption A1 and equation (1)).

use alloc::vec::Vec;

use super::AqmError;
use super::fraction::Fraction;

/// CPU cycles per bit, in steps of 2^-32; at most some 4e9.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Density(u64);

impl Density {
    /// 1 cycle per bit; what links count.
    pub const ONE: Self = Self(1 << 32);

    /// So many 2^-32ths of a cycle per bit.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// In 2^-32ths of a cycle per bit.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The nearest to so many cycles per bit; `None` unless that is from 0 to 2^31.
    pub fn from_f64(cycles_per_bit: f64) -> Option<Self> {
        let range = 0.0..=2_147_483_648.0;
        range.contains(&cycles_per_bit).then_some(Self((cycles_per_bit * 4_294_967_296.0 + 0.5) as u64))
    }

    /// As a floating-point number, to its precision.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 4_294_967_296.0
    }

    /// What a packet of so many bits that took so many cycles needed; `None` without bits. Saturating.
    pub fn measured(cycles: u64, bits: u64) -> Option<Self> {
        let density = (u128::from(cycles) << 32).checked_div(u128::from(bits))?;
        Some(Self(u64::try_from(density).unwrap_or(u64::MAX)))
    }
}

/// A class's processing time as a function of the packet's size: `mu + nu M` cycles for M bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Affine {
    /// `mu`: cycles per packet.
    pub per_packet: u64,
    /// `nu`: cycles per bit.
    pub per_bit: Density,
}

impl Affine {
    /// `mu / M + nu`; `None` without bits. Saturating.
    pub fn density(self, bits: u64) -> Option<Density> {
        let fixed = Density::measured(self.per_packet, bits)?;
        Some(Density(fixed.0.saturating_add(self.per_bit.0)))
    }
}

/// The average density of every class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Densities {
    classes: Vec<Density>,
    weight: Fraction,
}

impl Densities {
    /// The classes' densities to begin with, and the weight lambda of a new packet; 0 keeps them as they are. Classes beyond the last
    /// count as the last.
    ///
    /// # Errors
    /// Without a class.
    pub fn new(classes: Vec<Density>, weight: Fraction) -> Result<Self, AqmError> {
        if classes.is_empty() {
            return Err(AqmError { what: "table of densities", expected: "at least one class" });
        }
        Ok(Self { classes, weight })
    }

    fn index(&self, class: u32) -> usize {
        (class as usize).min(self.classes.len().saturating_sub(1))
    }

    /// The class's average density.
    pub fn of(&self, class: u32) -> Density {
        self.classes.get(self.index(class)).copied().unwrap_or(Density::ONE)
    }

    /// Equation (1): `w <- (1 - lambda) w + lambda sample`, to the nearest 2^-32.
    pub fn observe(&mut self, class: u32, sample: Density) {
        let index = self.index(class);
        if let Some(density) = self.classes.get_mut(index) {
            let difference = i128::from(sample.0) - i128::from(density.0);
            let change = (difference * i128::from(self.weight.bits()) + (1 << 31)) >> 32;
            density.0 = (i128::from(density.0) + change) as u64;
        }
    }
}
