//! `name:key=value,key=value`: how a discipline and its parameters are written.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use dovetail_units::Duration;

use crate::catalog::{Entry, find};

/// A discipline's name and parameters, as written; [`build`](crate::build) checks them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Spec {
    /// The discipline's name.
    pub name: String,
    /// Parameters in the order written.
    pub parameters: Vec<(String, String)>,
}

/// Why a spec or a parameter is wrong. [`wrong`](Self::wrong) and [`known`](Self::known) let a caller name the nearest
/// valid text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpecError {
    message: String,
    wrong: String,
    known: Vec<&'static str>,
}

impl SpecError {
    /// A message about the text `wrong`.
    pub fn new(wrong: &str, message: impl Into<String>) -> Self {
        Self { message: message.into(), wrong: wrong.to_string(), known: Vec::new() }
    }

    /// The discipline has no such parameter (that can be changed).
    pub fn unknown_parameter(entry: &Entry, name: &str) -> Self {
        Self::no_such_parameter(entry.name, name, entry.parameters.iter().map(|p| p.name).collect())
    }

    /// What is called `scheduler` has no parameter `name`, only the `known` ones.
    pub(crate) fn no_such_parameter(scheduler: &str, name: &str, known: Vec<&'static str>) -> Self {
        let message = match known.as_slice() {
            [] => format!("{scheduler} has no parameters, so no {name:?}"),
            names => format!("{scheduler} has no parameter {name:?}; it has {}", names.join(", ")),
        };
        Self { known, ..Self::new(name, message) }
    }

    /// There is no such discipline.
    pub fn unknown_name(name: &str, known: Vec<&'static str>) -> Self {
        let message = format!("there is no scheduler {name:?}; there are {}", known.join(", "));
        Self { known, ..Self::new(name, message) }
    }

    /// There is no such discipline as `part`, which the composition `name` has.
    pub(crate) fn unknown_part(name: &str, part: &str, known: Vec<&'static str>) -> Self {
        let message =
            format!("{name}: there is no scheduler {part:?}; part of a composition can be {}", known.join(", "));
        Self { known, ..Self::new(part, message) }
    }

    /// The composition `name` has no discipline's name at this byte, beside a plus sign.
    pub(crate) fn missing_part(name: &str, at: usize) -> Self {
        let (before, after) = name.split_at(at);
        let place = match (before.is_empty(), after.is_empty()) {
            (true, _) => "before the first plus sign".to_string(),
            (_, true) => "after the last plus sign".to_string(),
            _ => format!("between the plus signs after {:?}", before.trim_end_matches('+')),
        };
        Self::new(name, format!("{name}: a scheduler's name is missing {place}; a composition is written like drr+drr"))
    }

    /// A message about the text `wrong`, in whose place one of `known` would be right.
    pub fn among(wrong: &str, message: impl Into<String>, known: Vec<&'static str>) -> Self {
        Self { known, ..Self::new(wrong, message) }
    }

    /// A parameter's value is not what it must be.
    pub fn bad_value(parameter: &str, value: &str, expected: &str) -> Self {
        Self::new(value, format!("{parameter}={value}: expected {expected}"))
    }

    /// The offending text.
    pub fn wrong(&self) -> &str {
        &self.wrong
    }

    /// The texts that would be right in its place, if they can be listed.
    pub fn known(&self) -> &[&'static str] {
        &self.known
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for SpecError {}

impl Spec {
    /// The value of a parameter, if it is given.
    pub fn value(&self, parameter: &str) -> Option<&str> {
        self.parameters.iter().find(|(name, _)| name == parameter).map(|(_, value)| value.as_str())
    }
}

/// What values of parameters may name, such as `cpu 95 %` and `calls 5 ms`. Disciplines know both by number only.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    /// The resources along the pipeline.
    pub resources: Vec<String>,
    /// The classes, in the order of [`FlowConfig::class`](crate::FlowConfig::class).
    pub classes: Vec<String>,
}

impl Names {
    /// The same scheduler with numbers instead of names.
    ///
    /// # Errors
    /// As [`number`](Self::number).
    pub fn number_all(&self, spec: &Spec) -> Result<Spec, SpecError> {
        let number = |(name, value): &(String, String)| Ok((name.clone(), self.number(name, value)?));
        let parameters = spec.parameters.iter().map(number).collect::<Result<_, _>>()?;
        Ok(Spec { name: spec.name.clone(), parameters })
    }

    /// The value of this parameter with what it names first, if it does, by its number.
    ///
    /// # Errors
    /// It names a class or a resource that is not there.
    pub fn number(&self, parameter: &str, value: &str) -> Result<String, SpecError> {
        let of_class = parameter == "protect";
        let names = if of_class { &self.classes } else { &self.resources };
        let rest = |name: &str| value.strip_prefix(name).and_then(|rest| rest.strip_prefix(' '));
        // A name may begin with another one and a space.
        let named = names.iter().enumerate().filter_map(|(number, name)| Some((number, rest(name)?)));
        let named = named.min_by_key(|(_, rest)| rest.len());
        // What is wrong behind the name is told here, where the name is known.
        let fits = |rest: &str| match parameter {
            "protect" => rest.parse::<Duration>().is_ok_and(|time| time > Duration::ZERO),
            "target" => part(rest).is_some(),
            _ => true,
        };
        match named.filter(|(_, rest)| fits(rest)) {
            Some((number, rest)) => Ok(format!("{number} {rest}")),
            None if of_class && value != "none" => {
                let known = names.join(", ");
                let expected = format!("one of the classes {known}, and a time above 0, as in calls 5 ms");
                Err(SpecError::bad_value(parameter, value, &expected))
            }
            None if parameter == "target" && !names.is_empty() && !self.may_be_target(value) => {
                let expected = match value.starts_with(char::is_alphabetic) {
                    true => format!(
                        "one of the resources {}, and how much of it, such as {} 95 %",
                        names.join(", "),
                        names[0]
                    ),
                    false => format!(
                        "how much every resource is to be used, such as 95 %, or one of them, such as {} 95 %, or none",
                        names[0]
                    ),
                };
                Err(SpecError::bad_value(parameter, value, &expected))
            }
            None => Ok(value.to_string()),
        }
    }

    /// Whether this can be a target that names no resource: a part of the time, maybe behind a number, or `none`. What
    /// is no part of the time is left to the scheduler: the target of `codel` is a time.
    fn may_be_target(&self, value: &str) -> bool {
        if value.starts_with(char::is_alphabetic) {
            return value == "none";
        }
        let of_one = value.split_once(' ').and_then(|(number, used)| Some((number.parse::<usize>().ok()?, used)));
        let is_there = |(number, used)| number < self.resources.len() && part(used).is_some();
        !value.ends_with('%') || part(value).is_some() || of_one.is_some_and(is_there)
    }
}

/// A part of the time, written as 0 % to 100 %.
pub(crate) fn part(text: &str) -> Option<f64> {
    let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

/// What the value of a parameter stands for that has so few.
pub(crate) fn choice<T, const N: usize>(
    parameter: &str,
    value: &str,
    choices: [(&'static str, T); N],
) -> Result<T, SpecError> {
    let names = choices.each_ref().map(|&(name, _)| name);
    let found = choices.into_iter().find(|&(name, _)| name == value).map(|(_, choice)| choice);
    let message = || format!("{parameter}={value}: expected {}", names.join(" or "));
    found.ok_or_else(|| SpecError::among(value, message(), names.to_vec()))
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(n, r)| (n, Some(r)));
        if let Some((first, parameters)) = name.trim().split_once(char::is_whitespace).filter(|_| name.contains('=')) {
            let meant = format!("{first}:{}", parameters.split_whitespace().collect::<Vec<_>>().join(","));
            let message = format!("{text:?}: expected a colon before the parameters, as in {meant}");
            return Err(SpecError::new(text, message));
        }
        if let Some(meant) = with_alpha(text) {
            return Err(SpecError::new(text, format!("there is no scheduler {text:?}; did you mean {meant}?")));
        }
        let name = name.trim();
        if name.is_empty() {
            return Err(SpecError::new(
                text,
                format!("{text:?}: a scheduler is written name or name:key=value,key=value"),
            ));
        }
        let mut parameters: Vec<(String, String)> = Vec::new();
        for part in rest.into_iter().flat_map(|r| r.split(',')) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(SpecError::new(part, no_pair(text, name, part, parameters.last())));
            };
            let (key, value) = (key.trim(), value.trim());
            if parameters.iter().any(|(k, _)| k == key) {
                return Err(SpecError::new(key, format!("{text:?}: {key:?} is given twice")));
            }
            parameters.push((key.to_string(), value.to_string()));
        }
        Ok(Self { name: name.to_string(), parameters })
    }
}

/// What was meant by `tradeoff=0.85` or `alpha=0.85`.
fn with_alpha(text: &str) -> Option<String> {
    let is_alpha = |value: &str| value.parse().is_ok_and(|value: f64| (0.0..=1.0).contains(&value));
    let (before, value) = text.split_once('=').filter(|(_, value)| is_alpha(value))?;
    let name = if before == "alpha" { "tradeoff" } else { before };
    find(name).filter(|entry| entry.has("alpha")).map(|_| format!("{name}:alpha={value}"))
}

/// What is wrong with a part without an equals sign, which may be the decimals of the value `before` it, or an alpha.
fn no_pair(text: &str, name: &str, part: &str, before: Option<&(String, String)>) -> String {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let part_of_one = part.trim().parse().is_ok_and(|value: f64| (0.0..=1.0).contains(&value));
    match before {
        Some((key, value)) if number(value) && number(part.trim_end_matches([' ', '%'])) => {
            format!("{text:?}: a decimal point belongs where the comma is: {key}={value}.{part}")
        }
        None if part_of_one && find(name).is_some_and(|entry| entry.has("alpha")) => {
            format!("{text:?}: {part:?} is not of the form key=value; did you mean {name}:alpha={part}?")
        }
        _ => format!("{text:?}: {part:?} is not of the form key=value"),
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (i, (key, value)) in self.parameters.iter().enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}
