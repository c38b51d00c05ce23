//! Quantities of networks in scenario files.

use std::str::FromStr;

use dovetail_sim::network::RoundTrip;
use dovetail_units::{BitRate, Duration, ParseError};

/// A number of packets, at least one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packets(pub u32);

impl FromStr for Packets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().strip_suffix("packets").or_else(|| text.trim().strip_suffix("packet"));
        match number.and_then(|n| n.trim().parse().ok()) {
            Some(0) => Err(format!("{text:?}: a queue has room for at least one packet")),
            Some(packets) => Ok(Self(packets)),
            None => Err(format!("{text:?}: expected a number of packets such as \"1200 packets\"")),
        }
    }
}

/// Round-trip times: one, or any between two with equal probability. Above zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundTrips(pub RoundTrip);

impl FromStr for RoundTrips {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |problem: &str| {
            format!("{text:?}: {problem}; expected a round trip such as \"40 ms\", or \"20 ms to 60 ms\"")
        };
        let time = |part: &str| match part.parse::<Duration>() {
            Ok(Duration::ZERO) => Err(wrong("it is zero")),
            Ok(time) => Ok(time),
            Err(error) => Err(wrong(error.problem())),
        };
        let (min, max) = text.split_once(" to ").unwrap_or((text, text));
        let (min, max) = (time(min)?, time(max)?);
        if min > max {
            return Err(format!("{text:?}: the shorter time comes first"));
        }
        Ok(Self(RoundTrip { min, max }))
    }
}

/// Rate of an access link, or `unlimited`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Access(pub Option<BitRate>);

impl FromStr for Access {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "unlimited" => Ok(Self(None)),
            rate => rate.parse().map(|rate| Self(Some(rate))).map_err(|e: ParseError| format!("{e}, or \"unlimited\"")),
        }
    }
}

/// Flows per second, above zero.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlowRate(pub f64);

impl FromStr for FlowRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().strip_suffix("flows/s").map(str::trim);
        // As all quantities: digits, no exponents.
        let digits = number.filter(|n| n.bytes().all(|b| b.is_ascii_digit() || b == b'.'));
        match digits.and_then(|n| n.parse::<f64>().ok()) {
            Some(rate) if rate > 0.0 && rate <= 1e9 => Ok(Self(rate)),
            Some(_) => Err(format!("{text:?}: it is out of range; expected more than 0, at most 1000000000 flows/s")),
            None => Err(format!("{text:?}: expected a rate such as \"100 flows/s\"")),
        }
    }
}
