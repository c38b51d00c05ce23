//! Processor cycles: what a CPU can do, and what a bit of a flow needs of it.

use core::fmt;
use core::str::FromStr;

use crate::decimal::{ParseError, Unit, parse_quantity, write_scaled};
use crate::time::Duration;

/// A CPU's capacity in cycles per second; never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CycleRate(u64);

/// A processing density: CPU cycles per bit, to a millionth. Zero needs no processing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Density(u64);

/// Millionths in one.
const MICRO: u64 = 1_000_000;

impl CycleRate {
    /// `cycles` per second; `None` for zero.
    pub const fn from_cycles_per_second(cycles: u64) -> Option<Self> {
        if cycles == 0 { None } else { Some(Self(cycles)) }
    }

    /// Cycles per second.
    pub const fn as_cycles_per_second(self) -> u64 {
        self.0
    }

    /// Time to process `bytes` of this density, rounded to the nearest nanosecond; saturates.
    pub const fn processing_time(self, bytes: u64, density: Density) -> Duration {
        // Millionths of cycles, times 10^9 ns, over 10^6.
        let cycles = (bytes as u128 * 8).saturating_mul(density.0 as u128);
        let scaled = cycles.saturating_mul(1000).saturating_add(self.0 as u128 / 2);
        // A division of 64 bits is several times quicker than one of 128.
        let ns = if scaled <= u64::MAX as u128 { (scaled as u64 / self.0) as u128 } else { scaled / self.0 as u128 };
        if ns > u64::MAX as u128 { Duration::MAX } else { Duration::from_nanos(ns as u64) }
    }
}

impl Density {
    /// One cycle per bit.
    pub const ONE: Self = Self(MICRO);

    /// `micro` millionths of a cycle per bit.
    pub const fn from_micro(micro: u64) -> Self {
        Self(micro)
    }

    /// Millionths of a cycle per bit.
    pub const fn as_micro(self) -> u64 {
        self.0
    }

    /// Cycles per bit as a number.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / MICRO as f64
    }

    /// What a packet of so many bits that took so many cycles needed, rounded down; `None` without bits. Saturates.
    pub fn measured(cycles: u64, bits: u64) -> Option<Self> {
        let density = (u128::from(cycles) * u128::from(MICRO)).checked_div(u128::from(bits))?;
        Some(Self(u64::try_from(density).unwrap_or(u64::MAX)))
    }
}

const CYCLE_RATE_UNITS: &[Unit] = &[
    Unit::new("cycles/s", 1, 0),
    Unit::new("kcycles/s", 1, 3),
    Unit::new("Mcycles/s", 1, 6),
    Unit::new("Gcycles/s", 1, 9),
    Unit::new("MHz", 1, 6),
    Unit::new("GHz", 1, 9),
];

const DENSITY_UNITS: &[Unit] = &[Unit::new("cycles/bit", 1, 6), Unit::new("cycles/B", 125_000, 0)];

impl FromStr for CycleRate {
    type Err = ParseError;
    /// `"20 Mcycles/s"`, `"2.6 GHz"`; more than zero.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        const EXPECTED: &str = "a CPU capacity above zero such as \"20 Mcycles/s\"";
        Self::from_cycles_per_second(parse_quantity(text, CYCLE_RATE_UNITS, EXPECTED)?)
            .ok_or_else(|| ParseError::zero(text, EXPECTED))
    }
}

impl FromStr for Density {
    type Err = ParseError;
    /// `"0.25 cycles/bit"`, `"2 cycles/B"`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse_quantity(text, DENSITY_UNITS, "a processing density such as \"0.25 cycles/bit\"").map(Self)
    }
}

impl fmt::Display for CycleRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1_000_000_000, "Gcycles/s"), (1_000_000, "Mcycles/s"), (1_000, "kcycles/s"), (1, "cycles/s")];
        write_scaled(f, self.0, &units)
    }
}

impl fmt::Display for Density {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cycles/bit", self.as_f64())
    }
}
