//! Processing densities of application classes (DRQ, assumption A1 and equation (1)).

use alloc::vec::Vec;

use dovetail_units::Density;

use super::AqmError;
use super::fraction::Fraction;

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
        Some(Density::from_micro(fixed.as_micro().saturating_add(self.per_bit.as_micro())))
    }
}

/// Binary digits of an average below the resolution of a [`Density`], so that small weights move it.
const FINE: u32 = 24;

/// The average density of every class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Densities {
    /// In 2^-24ths of a [`Density`]'s unit.
    averages: Vec<u128>,
    weight: Fraction,
}

impl Densities {
    /// The classes' densities to begin with, and the weight lambda of a new packet; 0 keeps them as they are. Classes
    /// beyond the last count as the last.
    ///
    /// # Errors
    /// Without a class.
    pub fn new(classes: &[Density], weight: Fraction) -> Result<Self, AqmError> {
        if classes.is_empty() {
            return Err(AqmError { what: "table of densities", expected: "at least one class" });
        }
        Ok(Self { averages: classes.iter().map(|&density| fine(density)).collect(), weight })
    }

    fn index(&self, class: u32) -> usize {
        (class as usize).min(self.averages.len().saturating_sub(1))
    }

    /// The class's average density, rounded down.
    pub fn of(&self, class: u32) -> Density {
        let average = self.averages.get(self.index(class));
        average.map_or(Density::ONE, |average| Density::from_micro((average >> FINE) as u64))
    }

    /// All densities times `to / from`, rounded down, at most the largest [`Density`]; `from` of 0 changes nothing.
    pub fn rescale(&mut self, to: u64, from: u64) {
        let most = fine(Density::from_micro(u64::MAX));
        for average in &mut self.averages {
            let scaled = average.saturating_mul(u128::from(to)).checked_div(u128::from(from));
            *average = scaled.unwrap_or(*average).min(most);
        }
    }

    /// Equation (1): `w <- (1 - lambda) w + lambda sample`, to the nearest 2^-24 of a millionth of a cycle per bit: the
    /// average is off by at most `2^-25 / lambda` of these.
    pub fn observe(&mut self, class: u32, sample: Density) {
        let index = self.index(class);
        if let Some(average) = self.averages.get_mut(index) {
            // Both are below 2^88, the weight is at most 2^32.
            let difference = fine(sample) as i128 - *average as i128;
            let change = (difference * i128::from(self.weight.bits()) + (1 << 31)) >> 32;
            *average = (*average as i128 + change) as u128;
        }
    }
}

fn fine(density: Density) -> u128 {
    u128::from(density.as_micro()) << FINE
}
