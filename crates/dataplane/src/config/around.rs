//! What stands around the ports: faults on purpose, and captures of what passes.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use dovetail_config::{InputError, Text};
use dovetail_units::{Duration, Time};
use serde::Deserialize;

use crate::port::Port;
use crate::port::decorate::{Faults, Faulty, Recorded};

/// What happens on purpose to frames that ports bring.
#[derive(Clone, PartialEq, Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct FaultTable {
    /// Other seeds draw other frames. Default 1.
    seed: Option<u64>,
    /// To frames that the port `in` brings.
    #[serde(rename = "in")]
    inside: Option<PortFaults>,
    /// And the port `out`.
    #[serde(rename = "out")]
    outside: Option<PortFaults>,
}

/// Parts of all frames, each drawn apart. Default none.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PortFaults {
    /// Are lost.
    drop: Option<Text<Part>>,
    /// Come twice.
    duplicate: Option<Text<Part>>,
    /// Come with a flipped bit.
    corrupt: Option<Text<Part>>,
    /// Come later.
    delay: Option<Text<Part>>,
    /// By so much. Default 1 ms.
    delay_by: Option<Text<Duration>>,
}

/// Captures of what ports bring and take.
#[derive(Clone, PartialEq, Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordTable {
    /// What passes the port `in`.
    #[serde(rename = "in")]
    inside: Option<PathBuf>,
    /// What passes the port `out`.
    #[serde(rename = "out")]
    outside: Option<PathBuf>,
}

/// A part of all frames, `"0 %"` to `"100 %"`, as a probability.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Part(f64);

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number: Option<f64> = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
        let percent = number.filter(|percent| (0.0..=100.0).contains(percent));
        percent
            .map(|percent| Self(percent / 100.0))
            .ok_or_else(|| format!("{text:?}: expected a part of all frames such as \"1 %\""))
    }
}

impl PortFaults {
    fn faults(&self) -> Faults {
        let part = |part: &Option<Text<Part>>| part.map_or(0.0, |part| part.0.0);
        Faults {
            drop: part(&self.drop),
            duplicate: part(&self.duplicate),
            corrupt: part(&self.corrupt),
            delay: part(&self.delay),
            delay_by: self.delay_by.map_or(Duration::from_millis(1), |by| by.0),
        }
    }
}

impl RecordTable {
    /// Files that are written.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.inside, &self.outside].into_iter().flatten().map(PathBuf::as_path)
    }
}

/// The ports `in` and `out` with what stands around them: captures see what the box sees.
pub(super) fn around(
    ports: [Box<dyn Port>; 2],
    faults: &FaultTable,
    record: &RecordTable,
    folder: &Path,
    epoch: Time,
) -> Result<[Box<dyn Port>; 2], InputError> {
    let [inside, outside] = ports;
    let seed = faults.seed.unwrap_or(1);
    let inside = decorate(inside, faults.inside.as_ref(), seed, record.inside.as_deref(), folder, epoch)?;
    let outside =
        decorate(outside, faults.outside.as_ref(), seed.wrapping_add(1), record.outside.as_deref(), folder, epoch)?;
    Ok([inside, outside])
}

fn decorate(
    mut port: Box<dyn Port>,
    faults: Option<&PortFaults>,
    seed: u64,
    record: Option<&Path>,
    folder: &Path,
    epoch: Time,
) -> Result<Box<dyn Port>, InputError> {
    if let Some(faults) = faults {
        let wrong = |key: &str| InputError::new("faults", format!("`{key}` is no probability"));
        port = Box::new(Faulty::new(port, &faults.faults(), seed).map_err(wrong)?);
    }
    if let Some(path) = record {
        let recorded = Recorded::new(port, &folder.join(path), epoch);
        port = Box::new(recorded.map_err(|error| InputError::new("record", error.to_string()))?);
    }
    Ok(port)
}
