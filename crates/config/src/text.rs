//! Quantities as quoted texts, checked where they stand.

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
