//! Exact parsing of "number unit", and printing in the largest unit that keeps the value short.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// Why a text is not the quantity that was expected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    text: String,
    problem: String,
    expected: &'static str,
}

impl ParseError {
    fn new(text: &str, problem: impl Into<String>, expected: &'static str) -> Self {
        Self { text: text.to_string(), problem: problem.into(), expected }
    }

    /// The value is zero, or rounds to it, where zero has no meaning.
    pub fn zero(text: &str, expected: &'static str) -> Self {
        let rounds = text.contains(|c: char| matches!(c, '1'..='9'));
        Self::new(text, if rounds { "it is so small that it rounds to zero" } else { "it is zero" }, expected)
    }

    /// The value is outside its range.
    pub fn out_of_range(text: &str, expected: &'static str) -> Self {
        Self::new(text, "it is out of range", expected)
    }

    /// The text as a whole is not of the expected form.
    pub fn malformed(text: &str, problem: &str, expected: &'static str) -> Self {
        Self::new(text, problem, expected)
    }

    /// What is wrong, without the text and what was expected.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}; expected {}", self.text, self.problem, self.expected)
    }
}

impl core::error::Error for ParseError {}

/// A unit: one of it is `factor * 10^exponent` of the base unit.
pub(crate) struct Unit {
    name: &'static str,
    factor: u64,
    exponent: u32,
}

impl Unit {
    pub(crate) const fn new(name: &'static str, factor: u64, exponent: u32) -> Self {
        Self { name, factor, exponent }
    }
}

/// Parse `"12.5 us"` into base units, rounded to the nearest one.
pub(crate) fn parse_quantity(text: &str, units: &[Unit], expected: &'static str) -> Result<u64, ParseError> {
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !matches!(c, '0'..='9' | '.' | '_' | '+' | '-')).unwrap_or(trimmed.len());
    // The Greek mu looks like the micro sign, which the units have.
    let (number, unit_name) = (&trimmed[..end], trimmed[end..].trim().replace('\u{3bc}', "\u{b5}"));
    if number.is_empty() {
        return Err(ParseError::new(text, "it does not start with a number", expected));
    }
    if number.starts_with('-') {
        return Err(ParseError::new(text, "it is negative", expected));
    }
    if unit_name.starts_with(',') {
        return Err(ParseError::new(text, "a decimal point belongs where the comma is", expected));
    }
    if unit_name
        .strip_prefix(['e', 'E'])
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c)))
    {
        return Err(ParseError::new(text, "numbers are written without an exponent", expected));
    }
    let Some(unit) = units.iter().find(|u| u.name == unit_name) else {
        return Err(ParseError::new(text, unit_problem(&unit_name, units), expected));
    };
    let (digits, decimals) =
        split_decimal(number).ok_or_else(|| ParseError::new(text, format!("{number:?} is not a number"), expected))?;
    scale(digits, decimals, unit).ok_or_else(|| ParseError::new(text, "it is too large", expected))
}

fn unit_problem(name: &str, units: &[Unit]) -> String {
    let known: Vec<&str> = units.iter().map(|u| u.name).filter(|n| !n.is_empty()).collect();
    let known = known.join(", ");
    if name.is_empty() {
        return format!("the unit is missing (one of {known})");
    }
    let bytes = name.strip_suffix("Bps").or(name.strip_suffix("B/s"));
    if let Some(bits) = bytes.map(|prefix| format!("{prefix}bps"))
        && let Some(unit) = units.iter().find(|unit| unit.name.eq_ignore_ascii_case(&bits))
    {
        return format!("rates are in bits: 1 {name} is 8 {}", unit.name);
    }
    match units.iter().find(|u| !u.name.is_empty() && u.name.eq_ignore_ascii_case(name)) {
        Some(unit) => format!("unknown unit {name:?}, did you mean {:?}", unit.name),
        None if known.is_empty() => format!("{name:?} does not belong here"),
        None => format!("unknown unit {name:?} (one of {known})"),
    }
}

/// All digits as one number, and how many of them stand behind the point.
fn split_decimal(number: &str) -> Option<(u128, u32)> {
    let number = number.strip_prefix('+').unwrap_or(number);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if !number.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut value: u128 = 0;
    let mut decimals = 0;
    for c in whole.chars().filter(|&c| c != '_') {
        value = value.checked_mul(10)?.checked_add(u128::from(c.to_digit(10)?))?;
    }
    for c in fraction.chars().filter(|&c| c != '_') {
        let digit = c.to_digit(10)?;
        // Digits finer than any unit's resolution cannot change the result.
        if decimals < 18 {
            value = value.checked_mul(10)?.checked_add(u128::from(digit))?;
            decimals += 1;
        }
    }
    Some((value, decimals))
}

fn scale(digits: u128, decimals: u32, unit: &Unit) -> Option<u64> {
    let raised = digits.checked_mul(u128::from(unit.factor))?.checked_mul(10u128.checked_pow(unit.exponent)?)?;
    let divisor = 10u128.pow(decimals);
    u64::try_from(raised.checked_add(divisor / 2)? / divisor).ok()
}

/// Print `value` base units in the largest of `units` (size, name; largest first) in which it is at least one.
pub(crate) fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let (size, name) = units.iter().find(|(size, _)| value >= *size).or(units.last()).copied().unwrap_or((1, ""));
    let (whole, rest) = (value / size, value % size);
    if rest == 0 {
        return write!(f, "{whole} {name}");
    }
    let width = size.ilog10() as usize;
    let fraction = format!("{rest:0width$}");
    write!(f, "{whole}.{} {name}", fraction.trim_end_matches('0'))
}
