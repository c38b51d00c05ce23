//! Quantities in scenario files: strings with a unit, checked where they stand.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use dovetail_sched::Limit;
use dovetail_units::{Bytes, Duration};
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A value that is written as a string and read by its `FromStr`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Text<T>(pub T);

impl<'de, T> Deserialize<'de> for Text<T>
where
    T: FromStr,
    T::Err: fmt::Display,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor(PhantomData)).map(Text)
    }
}

struct TextVisitor<T>(PhantomData<T>);

impl<T> Visitor<'_> for TextVisitor<T>
where
    T: FromStr,
    T::Err: fmt::Display,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quoted text with its unit")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    // A bare number gets the message of the quantity itself: which unit is missing.
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

/// Packet lengths: one length, or any between two with equal probability. At least 1 byte, at most 1 GiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// The smallest length, bytes.
    pub least: u32,
    /// The largest length, bytes.
    pub most: u32,
}

const LONGEST: u64 = 1 << 30;

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let length = |part: &str| -> Result<u32, String> {
            let bytes = part.trim().parse::<Bytes>().map_err(|e| e.to_string())?.0;
            match bytes {
                0 => Err(format!("{text:?}: a packet has at least 1 byte")),
                1..=LONGEST => Ok(bytes as u32),
                _ => Err(format!("{text:?}: a packet has at most 1 GiB")),
            }
        };
        let (least, most) = text.split_once(" to ").unwrap_or((text, text));
        let (least, most) = (length(least)?, length(most)?);
        if least > most {
            return Err(format!("{text:?}: the smaller length comes first"));
        }
        Ok(Self { least, most })
    }
}

/// The room of a buffer between two resources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    /// As much as comes.
    Unlimited,
    /// This many packets; none is a pipeline without buffer.
    Packets(u32),
    /// No buffer, and packets pass all resources without waiting.
    NoWait,
}

impl FromStr for Room {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "unlimited" => Ok(Self::Unlimited),
            "none" => Ok(Self::Packets(0)),
            "no-wait" => Ok(Self::NoWait),
            other => packets(other).map(Self::Packets).ok_or_else(|| {
                format!(
                    "{text:?}: expected \"unlimited\", \"none\", \"no-wait\" or a number of packets such as \"64 packets\""
                )
            }),
        }
    }
}

fn packets(text: &str) -> Option<u32> {
    let number = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet"))?;
    number.trim().parse().ok()
}

/// A flow's queue limit: `"unlimited"`, `"200 packets"`, `"64 kB"`, or both joined by `", "`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueLimit(pub Limit);

impl FromStr for QueueLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut limit = Limit::default();
        if text.trim() == "unlimited" {
            return Ok(Self(limit));
        }
        for part in text.split(',').map(str::trim) {
            if let Some(most) = packets(part) {
                limit.packets = Some(most);
            } else if let Ok(most) = part.parse::<Bytes>() {
                limit.bytes = Some(most);
            } else {
                return Err(format!(
                    "{text:?}: expected \"unlimited\", \"200 packets\", \"64 kB\" or \"200 packets, 64 kB\""
                ));
            }
        }
        if limit.packets == Some(0) || limit.bytes == Some(Bytes(0)) {
            return Err(format!("{text:?}: a queue has room for at least one packet"));
        }
        Ok(Self(limit))
    }
}

/// A positive span of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<Duration>() {
            Ok(Duration::ZERO) => Err(format!("{text:?}: it is zero; expected a time above zero")),
            Ok(span) => Ok(Self(span)),
            Err(error) => Err(error.to_string()),
        }
    }
}
