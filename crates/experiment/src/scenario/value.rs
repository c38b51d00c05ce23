//! Quantities in scenario files: strings with a unit, checked where they stand.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use dovetail_sched::cost::Prediction;
use dovetail_sched::{Limit, SpecError, TimeLimit};
use dovetail_sim::Resize;
use dovetail_units::{Bytes, Duration};
use serde::de::{self, Deserialize, Deserializer, Visitor};

use dovetail_config::{ByResource, Text, nearest, number, unknown};

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
                    "{text:?}: expected \"unlimited\", \"none\", \"no-wait\" or a number of packets such as \"64 \
                     packets\""
                )
            }),
        }
    }
}

fn packets(text: &str) -> Option<u32> {
    let number = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet"))?;
    number.trim().parse().ok()
}

/// A flow's queue limit: `"unlimited"`, `"200 packets"`, `"64 kB"`, `"20 ms to 30 ms of cpu"`, or one of each joined by
/// `", "`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QueueLimit {
    /// In packets and bytes.
    limit: Limit,
    /// In time on the resource of this name: closed above the upper, open again below the lower one.
    time: Option<(String, Duration, Duration)>,
}

impl QueueLimit {
    /// The limit over these resources.
    ///
    /// # Errors
    ///
    /// There is none of this name.
    pub fn over(&self, resources: &[String]) -> Result<Limit, String> {
        let Some((name, lower, upper)) = &self.time else { return Ok(self.limit) };
        let known: Vec<&str> = resources.iter().map(String::as_str).collect();
        let resource = known.iter().position(|r| r == name).ok_or_else(|| unknown("resource", name, &known))?;
        Ok(Limit { time: Some(TimeLimit { resource, upper: *upper, lower: *lower }), ..self.limit })
    }
}

impl FromStr for QueueLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut own = Self::default();
        if text.trim() == "unlimited" {
            return Ok(own);
        }
        let limit = &mut own.limit;
        let mut given: [Option<&str>; 3] = [None; 3];
        for part in text.split(',').map(str::trim) {
            let kind = if let Some(most) = packets(part) {
                limit.packets = Some(most);
                0
            } else if let Ok(most) = part.parse::<Bytes>() {
                limit.bytes = Some(most);
                1
            } else if let Some((resource, lower, upper)) = time_of(part) {
                if lower > upper {
                    return Err(format!("{part:?}: the smaller time comes first, as in \"20 ms to 30 ms of cpu\""));
                }
                own.time = Some((resource, lower, upper));
                2
            } else {
                return Err(format!(
                    "{text:?}: expected \"unlimited\", \"200 packets\", \"64 kB\", \"30 ms of cpu\", \"20 ms to 30 ms \
                     of cpu\" or one of each such as \"200 packets, 64 kB\""
                ));
            };
            if let Some(before) = given[kind].replace(part) {
                let what = ["packets", "bytes", "processing time"][kind];
                return Err(format!("{text:?}: {before:?} and {part:?} both limit the {what}; expected one of them"));
            }
        }
        if limit.packets == Some(0) || limit.bytes == Some(Bytes(0)) {
            return Err(format!("{text:?}: a queue has room for at least one packet"));
        }
        Ok(own)
    }
}

/// `30 ms of cpu` or `20 ms to 30 ms of cpu`: name, lower and upper time.
fn time_of(text: &str) -> Option<(String, Duration, Duration)> {
    let (times, resource) = text.split_once(" of ")?;
    let (lower, upper) = times.split_once(" to ").unwrap_or((times, times));
    Some((resource.trim().to_string(), lower.trim().parse().ok()?, upper.trim().parse().ok()?))
}

/// A part of one as a percentage, `"0 %"` to `"100 %"`; in millionths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Part(pub u32);

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number: Option<f64> = text.trim().strip_suffix('%').and_then(|n| n.trim().parse().ok());
        let valid = number.filter(|percent| (0.0..=100.0).contains(percent));
        valid
            .map(|percent| Self((percent * 1e4).round() as u32))
            .ok_or_else(|| format!("{text:?}: expected a percentage from \"0 %\" to \"100 %\""))
    }
}

/// Processing times by the names of resources.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Costs<T>(pub ByResource<Text<T>>);

impl<T> Default for Costs<T> {
    fn default() -> Self {
        Self(ByResource::default())
    }
}

impl<'de, T> Deserialize<'de> for Costs<T>
where
    T: FromStr,
    T::Err: fmt::Display,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CostsVisitor(PhantomData))
    }
}

struct CostsVisitor<T>(PhantomData<T>);

impl<'de, T> Visitor<'de> for CostsVisitor<T>
where
    T: FromStr,
    T::Err: fmt::Display,
{
    type Value = Costs<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("processing times by resource, such as { cpu = \"10 us\" }")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Costs<T>, E> {
        Err(E::custom(format!("{text:?}: expected processing times by resource, such as {{ cpu = {text:?} }}")))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Costs<T>, A::Error> {
        ByResource::read(map).map(Costs)
    }
}

/// What is asked of a resource, as a multiple of what it can do.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load(pub f64);

impl<'de> Deserialize<'de> for Load {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LoadVisitor)
    }
}

struct LoadVisitor;

impl Visitor<'_> for LoadVisitor {
    type Value = Load;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a multiple of the capacity: 1.2 for 120 %")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Load, E> {
        Ok(Load(number as f64))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Load, E> {
        Ok(Load(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Load, E> {
        let percent: Option<f64> = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
        match percent.filter(|percent| percent.is_finite()) {
            Some(percent) => Err(E::custom(format!(
                "{text:?}: expected a number, a multiple of the capacity: write {} for {text}",
                number(percent / 100.0)
            ))),
            None => Err(E::invalid_type(de::Unexpected::Str(text), &self)),
        }
    }
}

/// [`Part`]s by the names of resources.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Parts(pub ByResource<Text<Part>>);

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PartsVisitor)
    }
}

struct PartsVisitor;

impl<'de> Visitor<'de> for PartsVisitor {
    type Value = Parts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of percentages by resource, such as { cpu = \"10 %\" }")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Parts, A::Error> {
        ByResource::read(map).map(Parts)
    }
}

/// A factor of lengths, `"0.25"`, or any between two with equal probability, `"0.11 to 0.36"`: 0 to 1000, to a
/// millionth.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Factors(pub Resize);

impl FromStr for Factors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("{text:?}: expected a factor from 0 to 1000 such as \"0.25\", or \"0.11 to 0.36\"");
        let factor = |part: &str| -> Option<u32> {
            let number: f64 = part.trim().parse().ok()?;
            (0.0..=1000.0).contains(&number).then(|| (number * 1e6).round() as u32)
        };
        let (least, most) = text.split_once(" to ").unwrap_or((text, text));
        let (least, most) = (factor(least).ok_or_else(expected)?, factor(most).ok_or_else(expected)?);
        match least <= most {
            true => Ok(Self(Resize { least, most })),
            false => Err(format!("{text:?}: the smaller factor comes first")),
        }
    }
}

/// What schedulers are told of a class's times.
#[derive(Clone, PartialEq, Debug)]
pub enum Told {
    /// Of its time on the first resource; the paper's case of a CPU.
    First(Estimated),
    /// By the names of resources.
    Named(ByResource<Text<Estimated>>),
}

impl Default for Told {
    fn default() -> Self {
        Self::Named(ByResource::default())
    }
}

impl<'de> Deserialize<'de> for Told {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ToldVisitor)
    }
}

struct ToldVisitor;

impl<'de> Visitor<'de> for ToldVisitor {
    type Value = Told;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an estimate such as \"ses:alpha=0.4\", or a table of them by resource")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Told, E> {
        text.parse().map(Told::First).map_err(E::custom)
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Told, A::Error> {
        ByResource::read(map).map(Told::Named)
    }
}

/// Weights of a flow.
#[derive(Clone, PartialEq, Debug)]
pub enum Weights {
    /// One for all resources.
    Same(f64),
    /// By the names of all resources.
    Named(ByResource<f64>),
}

impl<'de> Deserialize<'de> for Weights {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WeightsVisitor)
    }
}

struct WeightsVisitor;

impl<'de> Visitor<'de> for WeightsVisitor {
    type Value = Weights;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a table of numbers by resource")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Weights, E> {
        Ok(Weights::Same(number as f64))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Weights, E> {
        Ok(Weights::Same(number))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Weights, A::Error> {
        ByResource::read(map).map(Weights::Named)
    }
}

/// How a time is predicted; see [`Prediction`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Estimated(pub Prediction);

impl FromStr for Estimated {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|e: SpecError| match nearest(e.wrong(), e.known().iter().copied()) {
            Some(name) => format!("{e}; did you mean {name:?}?"),
            None => e.to_string(),
        })
    }
}
