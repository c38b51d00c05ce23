//! Amounts of data, rates, weights and parts.

use core::fmt;
use core::str::FromStr;

use crate::decimal::{ParseError, Unit, parse_quantity, write_scaled};
use crate::time::Duration;

/// An amount of data in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Bytes(pub u64);

/// A link rate in bits per second; never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BitRate(u64);

/// A packet rate in packets per second, to a millionth; never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PacketRate(u64);

/// A flow's weight in thousandths: 0.001 to 1,000,000. The default is 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Weight(u32);

/// A part of a whole in thousandths: 0 to 1. The default is nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Part(u16);

/// Nanoseconds that a byte takes at one bit per second.
const BYTE_NS: u64 = 8_000_000_000;

impl BitRate {
    /// `bps` bits per second; `None` for zero.
    pub const fn from_bps(bps: u64) -> Option<Self> {
        if bps == 0 { None } else { Some(Self(bps)) }
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Time to send a byte, if it is a whole number of nanoseconds.
    pub const fn byte_time(self) -> Option<Duration> {
        if BYTE_NS.is_multiple_of(self.0) { Some(Duration::from_nanos(BYTE_NS / self.0)) } else { None }
    }

    /// Time to send `bytes`, and the part of a nanosecond (in units of 1/rate ns) that is still owed; pass it
    /// back as `carry` with the next packet, so that a long run of packets takes exactly bytes * 8 / rate.
    #[inline]
    pub const fn transmission_time(self, bytes: u64, carry: u64) -> (Duration, u64) {
        // Divisions of 64 bits are several times quicker than those of 128.
        if let Some(owed) = bytes.checked_mul(BYTE_NS)
            && let Some(owed) = owed.checked_add(carry)
        {
            return (Duration::from_nanos(owed / self.0), owed % self.0);
        }
        let owed = bytes as u128 * BYTE_NS as u128 + carry as u128;
        let ns = owed / self.0 as u128;
        let rest = (owed % self.0 as u128) as u64;
        let ns = if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 };
        (Duration::from_nanos(ns), rest)
    }
}

/// One packet in a nanosecond, in millionths of a packet per second.
const MICROS_NS: u64 = 1_000_000_000_000_000;

impl PacketRate {
    /// `micro` millionths of a packet per second; `None` for zero.
    pub const fn from_micro_pps(micro: u64) -> Option<Self> {
        if micro == 0 { None } else { Some(Self(micro)) }
    }

    /// Packets per second, for reports and random arrivals.
    pub fn as_pps(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The time from one packet to the next, if it is a whole number of nanoseconds.
    pub const fn interval(self) -> Option<Duration> {
        if MICROS_NS.is_multiple_of(self.0) { Some(Duration::from_nanos(MICROS_NS / self.0)) } else { None }
    }

    /// When the `k`-th packet (from 0) of a constant-rate source is due after its start, without accumulated rounding.
    #[inline]
    pub const fn due(self, k: u64) -> Duration {
        // Divisions of 64 bits are several times quicker than those of 128.
        if let Some(parts) = k.checked_mul(MICROS_NS) {
            return Duration::from_nanos(parts / self.0);
        }
        // A whole number of packets per second.
        if self.0.is_multiple_of(1_000_000)
            && let Some(parts) = k.checked_mul(1_000_000_000)
        {
            return Duration::from_nanos(parts / (self.0 / 1_000_000));
        }
        let ns = k as u128 * MICROS_NS as u128 / self.0 as u128;
        if ns > u64::MAX as u128 { Duration::MAX } else { Duration::from_nanos(ns as u64) }
    }
}

impl Weight {
    /// The weight 1.
    pub const ONE: Self = Self(1000);

    /// A weight of `milli` thousandths; `None` outside 1 to 1,000,000,000.
    pub const fn from_milli(milli: u32) -> Option<Self> {
        if milli == 0 || milli > 1_000_000_000 { None } else { Some(Self(milli)) }
    }

    /// The weight in thousandths.
    pub const fn as_milli(self) -> u32 {
        self.0
    }

    /// The weight as a number.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

impl Part {
    /// Nothing: 0.
    pub const NONE: Self = Self(0);
    /// The whole: 1.
    pub const WHOLE: Self = Self(1000);

    /// `milli` thousandths; `None` above 1000.
    pub const fn from_milli(milli: u16) -> Option<Self> {
        if milli > Self::WHOLE.0 { None } else { Some(Self(milli)) }
    }

    /// The part in thousandths.
    pub const fn as_milli(self) -> u16 {
        self.0
    }

    /// The part as a number from 0 to 1.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self::ONE
    }
}

const BYTE_UNITS: &[Unit] = &[
    Unit::new("B", 1, 0),
    Unit::new("kB", 1, 3),
    Unit::new("MB", 1, 6),
    Unit::new("GB", 1, 9),
    Unit::new("KiB", 1 << 10, 0),
    Unit::new("MiB", 1 << 20, 0),
    Unit::new("GiB", 1 << 30, 0),
];

const BIT_RATE_UNITS: &[Unit] = &[
    Unit::new("bps", 1, 0),
    Unit::new("kbps", 1, 3),
    Unit::new("Mbps", 1, 6),
    Unit::new("Gbps", 1, 9),
    Unit::new("Tbps", 1, 12),
    Unit::new("bit/s", 1, 0),
    Unit::new("kbit/s", 1, 3),
    Unit::new("Mbit/s", 1, 6),
    Unit::new("Gbit/s", 1, 9),
];

const PACKET_RATE_UNITS: &[Unit] = &[Unit::new("pps", 1, 6), Unit::new("kpps", 1, 9), Unit::new("Mpps", 1, 12)];

const WEIGHT_UNITS: &[Unit] = &[Unit::new("", 1, 3)];

const PART_UNITS: &[Unit] = &[Unit::new("", 1, 3)];

impl FromStr for Bytes {
    type Err = ParseError;
    /// `"800 B"`, `"1.4 kB"`, `"64 KiB"`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse_quantity(text, BYTE_UNITS, "a size such as \"800 B\" or \"64 KiB\"").map(Self)
    }
}

impl FromStr for BitRate {
    type Err = ParseError;
    /// `"200 Mbps"`, `"10 Gbit/s"`; more than zero.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        const EXPECTED: &str = "a rate above zero such as \"200 Mbps\"";
        Self::from_bps(parse_quantity(text, BIT_RATE_UNITS, EXPECTED)?).ok_or_else(|| ParseError::zero(text, EXPECTED))
    }
}

impl FromStr for PacketRate {
    type Err = ParseError;
    /// `"2000 pps"`, `"0.5 pps"`, `"20 kpps"`; more than zero.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        const EXPECTED: &str = "a packet rate above zero such as \"2000 pps\"";
        Self::from_micro_pps(parse_quantity(text, PACKET_RATE_UNITS, EXPECTED)?)
            .ok_or_else(|| ParseError::zero(text, EXPECTED))
    }
}

impl FromStr for Weight {
    type Err = ParseError;
    /// `"1"`, `"0.5"`: 0.001 to 1,000,000.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        const EXPECTED: &str = "a weight from 0.001 to 1000000";
        let milli = parse_quantity(text, WEIGHT_UNITS, EXPECTED)?;
        u32::try_from(milli).ok().and_then(Self::from_milli).ok_or_else(|| ParseError::out_of_range(text, EXPECTED))
    }
}

impl FromStr for Part {
    type Err = ParseError;
    /// `"0.7"`, `"1"`: 0 to 1, to the nearest thousandth. What would be rounded to 0 is refused.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        const EXPECTED: &str = "0 or a number from 0.001 to 1 such as \"0.7\"";
        let milli = parse_quantity(text, PART_UNITS, EXPECTED)?;
        if milli == 0 && text.contains(|c: char| matches!(c, '1'..='9')) {
            return Err(ParseError::zero(text, EXPECTED));
        }
        u16::try_from(milli).ok().and_then(Self::from_milli).ok_or_else(|| ParseError::out_of_range(text, EXPECTED))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &[(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"), (1, "B")])
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &[(1_000_000_000, "Gbps"), (1_000_000, "Mbps"), (1_000, "kbps"), (1, "bps")])
    }
}

impl fmt::Display for PacketRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pps", self.as_pps())
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.as_f64())
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.as_f64())
    }
}
