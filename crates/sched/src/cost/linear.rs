//! Processing time as a linear function of packet length.

use core::fmt;
use core::str::FromStr;

use dovetail_units::{Duration, ParseError};

/// Processing time as a linear function of packet length, `a * bytes + b` (tradeoff paper, section 5.1).
///
/// Kept in picoseconds, so that `0.00286 us/B` is exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Linear {
    per_byte_ps: u64,
    fixed_ps: u64,
}

const EXPECTED: &str = "a cost such as \"0.015 us/B + 84.5 us\" or \"21 us\"";

impl Linear {
    /// From picoseconds per byte and picoseconds per packet.
    pub const fn from_picos(per_byte: u64, fixed: u64) -> Self {
        Self { per_byte_ps: per_byte, fixed_ps: fixed }
    }

    /// Picoseconds per byte and picoseconds per packet.
    pub const fn as_picos(self) -> (u64, u64) {
        (self.per_byte_ps, self.fixed_ps)
    }

    /// The time for a packet of `bytes`, to the nearest nanosecond; saturating.
    pub fn time(self, bytes: u64) -> Duration {
        // Divisions of 64 bits are several times quicker than those of 128.
        if let Some(ps) = self.per_byte_ps.checked_mul(bytes).and_then(|ps| ps.checked_add(self.fixed_ps))
            && let Some(ps) = ps.checked_add(500)
        {
            return Duration::from_nanos(ps / 1000);
        }
        let ps = u128::from(self.per_byte_ps) * u128::from(bytes) + u128::from(self.fixed_ps);
        Duration::from_nanos(u64::try_from((ps + 500) / 1000).unwrap_or(u64::MAX))
    }
}

impl FromStr for Linear {
    type Err = ParseError;

    /// `"0.015 us/B + 84.5 us"`, `"84.5 us"`, `"0.04 us/B"`; the terms in either order.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut sum = Self::default();
        let mut seen = (false, false);
        for term in text.split('+') {
            let term = term.trim();
            let (slot, already, time) = match term.strip_suffix("/B") {
                Some(time) => (&mut sum.per_byte_ps, &mut seen.0, time),
                None => (&mut sum.fixed_ps, &mut seen.1, term),
            };
            if core::mem::replace(already, true) {
                return Err(ParseError::malformed(text, "it has two terms of one kind", EXPECTED));
            }
            *slot = picoseconds(time).map_err(|e| ParseError::malformed(text, e.problem(), EXPECTED))?;
        }
        Ok(sum)
    }
}

/// A time to the picosecond: read as if its unit were a thousand times larger.
fn picoseconds(text: &str) -> Result<u64, ParseError> {
    let duration = |t: &str| t.parse::<Duration>();
    let text = text.trim();
    let finer = [("ns", "us"), ("us", "ms"), ("µs", "ms"), ("ms", "s")];
    for (unit, thousandfold) in finer {
        if let Some(number) = text.strip_suffix(unit) {
            let mut scaled = alloc::string::String::from(number);
            scaled.push_str(thousandfold);
            // An error is about what was written.
            return duration(&scaled).map(Duration::as_nanos).map_err(|scaled| duration(text).err().unwrap_or(scaled));
        }
    }
    duration(text).map(|d| d.as_nanos().saturating_mul(1000))
}

impl fmt::Display for Linear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |ps: u64| ps as f64 / 1e6;
        match (self.per_byte_ps, self.fixed_ps) {
            (0, fixed) => write!(f, "{} us", us(fixed)),
            (per_byte, 0) => write!(f, "{} us/B", us(per_byte)),
            (per_byte, fixed) => write!(f, "{} us/B + {} us", us(per_byte), us(fixed)),
        }
    }
}
