//! Quantities as quoted texts, and numbers, checked where they stand.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use dovetail_units::Duration;
use serde::de::{self, Deserialize, Deserializer, Visitor};

use crate::number;

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

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
        let digits = value.to_string();
        digits.parse().map_err(|e: T::Err| E::custom(e.to_string().replace(&digits, &number(value))))
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

/// A whole number from `LEAST` to `MOST`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Whole<const LEAST: u32, const MOST: u32>(pub u32);

impl<'de, const LEAST: u32, const MOST: u32> Deserialize<'de> for Whole<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WholeVisitor)
    }
}

struct WholeVisitor<const LEAST: u32, const MOST: u32>;

impl<const LEAST: u32, const MOST: u32> Visitor<'_> for WholeVisitor<LEAST, MOST> {
    type Value = Whole<LEAST, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {LEAST} to {MOST}")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        let within = u32::try_from(number).ok().filter(|number| (LEAST..=MOST).contains(number));
        within.map(Whole).ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        match i64::try_from(number) {
            Ok(number) => self.visit_i64(number),
            Err(_) => Err(E::invalid_value(de::Unexpected::Unsigned(number), &self)),
        }
    }
}
