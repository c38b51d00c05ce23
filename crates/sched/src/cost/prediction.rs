//! How times are predicted, as written.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use dovetail_units::Duration;

use super::{FitParameters, Linear, Scale, SesParameters};
use crate::spec::{Spec, SpecError, choice};

/// Whose observations make a prediction: what the keys of an [`Estimator`](super::Estimator) are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Per {
    /// The flow's own, as in the papers.
    #[default]
    Flow,
    /// Those of all flows of its class: nothing is unknown of a flow that joins a known class.
    Class,
}

/// How processing times are predicted.
///
/// * `oracle`: they are known.
/// * `0.015 us/B + 84.5 us`, or with `linear:` before it: a fixed line.
/// * `ses:alpha=0.4,scale=header,first=..,per=flow`: single exponential smoothing. `alpha` in (0, 1] to 10^-6, default
///   0.4; `scale` = `header` (default) or `payload`; `first` = what is predicted before the first observation, a time
///   such as `20 us`, with `scale=payload` a time per byte such as `0.1 us/B` (default: zero, and the first observation
///   is taken whole).
/// * `fit:alpha=0.02,first=..,per=flow`: least squares with forgetting. `alpha` in [0.001, 1] to 10^-6, default 0.02;
///   `first` = a line, default `0 us`.
/// * `per` = `flow` (default) or `class`: whose observations count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Prediction {
    /// By the truth.
    #[default]
    Oracle,
    /// By a fixed line.
    Linear(Linear),
    /// By single exponential smoothing.
    Ses(SesParameters, Per),
    /// By a line through what was observed.
    Fit(FitParameters, Per),
}

const KINDS: [&str; 4] = ["oracle", "linear", "ses", "fit"];
const SES: [&str; 4] = ["alpha", "scale", "first", "per"];
const FIT: [&str; 3] = ["alpha", "first", "per"];

impl Prediction {
    /// Whose observations make a prediction; does not matter for those that learn nothing.
    pub fn per(&self) -> Per {
        match *self {
            Self::Oracle | Self::Linear(_) => Per::Flow,
            Self::Ses(_, per) | Self::Fit(_, per) => per,
        }
    }

    /// Whether predictions can differ from the truth, so that their error is worth a report.
    pub fn predicts(&self) -> bool {
        *self != Self::Oracle
    }
}

impl FromStr for Prediction {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let text = text.trim();
        let line = text.strip_prefix("linear:").or(Some(text).filter(|t| t.starts_with(|c: char| c.is_ascii_digit())));
        if let Some(line) = line {
            return line.parse().map(Self::Linear).map_err(|e| SpecError::new(line, format!("{e}")));
        }
        if text.is_empty() {
            return Err(no_such(text));
        }
        let spec: Spec = text.parse()?;
        match spec.name.as_str() {
            "oracle" => none(&spec).map(|()| Self::Oracle),
            "linear" => Err(SpecError::new(text, "linear: the line is missing, as in \"linear:0.015 us/B + 84.5 us\"")),
            "ses" => ses(&spec),
            "fit" => fit(&spec),
            name => Err(no_such(name)),
        }
    }
}

fn no_such(name: &str) -> SpecError {
    let known = KINDS.join(", ");
    let message =
        format!("there is no prediction {name:?}; there are {known}, and lines such as \"0.015 us/B + 84.5 us\"");
    SpecError::among(name, message, KINDS.to_vec())
}

fn none(spec: &Spec) -> Result<(), SpecError> {
    match spec.parameters.first() {
        Some((name, _)) => Err(unknown(spec, name, &[])),
        None => Ok(()),
    }
}

fn unknown(spec: &Spec, name: &str, known: &[&'static str]) -> SpecError {
    SpecError::no_such_parameter(&spec.name, name, known.to_vec())
}

fn ses(spec: &Spec) -> Result<Prediction, SpecError> {
    let (mut parameters, mut per) = (SesParameters::default(), Per::default());
    let mut first = None;
    for (name, value) in &spec.parameters {
        match name.as_str() {
            "alpha" => parameters.alpha = alpha(value, 1, "a number from 0.000001 to 1")?,
            "scale" => {
                parameters.scale = choice(name, value, [("header", Scale::Header), ("payload", Scale::Payload)])?
            }
            "first" => first = Some(value),
            "per" => per = choice(name, value, [("flow", Per::Flow), ("class", Per::Class)])?,
            _ => return Err(unknown(spec, name, &SES)),
        }
    }
    parameters.first = first.map(|value| first_level(value, parameters.scale)).transpose()?;
    Ok(Prediction::Ses(parameters, per))
}

fn fit(spec: &Spec) -> Result<Prediction, SpecError> {
    let (mut parameters, mut per) = (FitParameters::default(), Per::default());
    for (name, value) in &spec.parameters {
        match name.as_str() {
            "alpha" => parameters.alpha = alpha(value, 1_000, "a number from 0.001 to 1")?,
            "first" => parameters.first = value.parse().map_err(|e| SpecError::new(value, format!("first={e}")))?,
            "per" => per = choice(name, value, [("flow", Per::Flow), ("class", Per::Class)])?,
            _ => return Err(unknown(spec, name, &FIT)),
        }
    }
    Ok(Prediction::Fit(parameters, per))
}

fn alpha(value: &str, least: u32, expected: &str) -> Result<u32, SpecError> {
    let millionths = millionths(value).and_then(|m| u32::try_from(m).ok());
    millionths.filter(|m| (least..=1_000_000).contains(m)).ok_or_else(|| SpecError::bad_value("alpha", value, expected))
}

/// A plain number in millionths, to the nearest: read as if it were milliseconds.
fn millionths(value: &str) -> Option<u64> {
    let mut time = String::from(value);
    time.push_str(" ms");
    time.parse().ok().map(Duration::as_nanos)
}

fn first_level(value: &str, scale: Scale) -> Result<u64, SpecError> {
    let line: Linear = value.parse().map_err(|e| SpecError::new(value, format!("first={e}")))?;
    match (scale, line.as_picos()) {
        (Scale::Header, (0, fixed)) => Ok(fixed),
        (Scale::Payload, (per_byte, 0)) => Ok(per_byte),
        (Scale::Header, _) => Err(SpecError::bad_value("first", value, "a time such as \"20 us\", with scale=header")),
        (Scale::Payload, _) => {
            Err(SpecError::bad_value("first", value, "a time per byte such as \"0.1 us/B\", with scale=payload"))
        }
    }
}

impl fmt::Display for Prediction {
    /// As it can be read; what is not a default is named.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Oracle => f.write_str("oracle"),
            Self::Linear(line) => write!(f, "linear:{line}"),
            Self::Ses(parameters, per) => {
                write!(f, "ses:alpha={}", f64::from(parameters.alpha) / 1e6)?;
                if parameters.scale == Scale::Payload {
                    f.write_str(",scale=payload")?;
                }
                match (parameters.first, parameters.scale) {
                    (None, _) => {}
                    (Some(ps), Scale::Header) => write!(f, ",first={}", Linear::from_picos(0, ps))?,
                    (Some(ps), Scale::Payload) => write!(f, ",first={} us/B", ps as f64 / 1e6)?,
                }
                write_per(f, *per)
            }
            Self::Fit(parameters, per) => {
                write!(f, "fit:alpha={}", f64::from(parameters.alpha) / 1e6)?;
                if parameters.first != Linear::default() {
                    write!(f, ",first={}", parameters.first)?;
                }
                write_per(f, *per)
            }
        }
    }
}

fn write_per(f: &mut fmt::Formatter<'_>, per: Per) -> fmt::Result {
    f.write_str(if per == Per::Class { ",per=class" } else { "" })
}
