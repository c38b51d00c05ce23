//! The papers' values: data beside the scenario files, read into checks.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::ReproduceError;
use super::catalogue::Item;
use super::check::{Check, Claim, Criterion};

/// One file per paper.
const FILES: [&str; 5] = [
    include_str!("../../../../scenarios/papers/tradeoff/expected.toml"),
    include_str!("../../../../scenarios/papers/atfq/expected.toml"),
    include_str!("../../../../scenarios/papers/pcfq/expected.toml"),
    include_str!("../../../../scenarios/papers/cbcs/expected.toml"),
    include_str!("../../../../scenarios/papers/drq/expected.toml"),
];

/// A value of a paper, or a statement of it, and when it counts as reproduced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expected {
    /// The table or figure, whose list it stands in.
    #[serde(skip)]
    pub id: String,
    /// Name of the quantity within the table or figure.
    pub key: String,
    /// What is compared, in words.
    pub quantity: String,
    /// The paper's value, if it prints one.
    pub paper: Option<f64>,
    /// Of the values; empty for a bare number.
    #[serde(default)]
    pub unit: String,
    /// When it counts as reproduced.
    pub criterion: Criterion,
    /// Why this tolerance; the sentence where there is no value.
    pub why: String,
}

/// All expected values.
pub(super) fn all() -> Result<Vec<Expected>, ReproduceError> {
    let mut all = Vec::new();
    for text in FILES {
        let file: BTreeMap<String, Vec<Expected>> =
            toml::from_str(text).map_err(|e| ReproduceError::Expected(e.to_string()))?;
        for (id, checks) in file {
            all.extend(checks.into_iter().map(|check| Expected { id: id.clone(), ..check }));
        }
    }
    Ok(all)
}

/// What was measured for a table or figure, and pictures of it.
#[derive(Debug, Default)]
pub(super) struct Findings {
    measured: Vec<Measured>,
    /// File name and SVG text.
    pub pictures: Vec<(String, String)>,
}

/// A measured quantity.
#[derive(Debug)]
struct Measured {
    key: String,
    /// `Err`: why there is none.
    value: Result<f64, String>,
    note: String,
}

impl Findings {
    /// The quantity `key` is `value`.
    pub fn found(&mut self, key: impl Into<String>, value: f64) {
        self.noted(key, value, "");
    }

    /// The quantity `key` is `value`, and this is to be said about it.
    pub fn noted(&mut self, key: impl Into<String>, value: f64, note: impl Into<String>) {
        self.measured.push(Measured { key: key.into(), value: Ok(value), note: note.into() });
    }

    /// There is no value of the quantity `key`, for this reason.
    pub fn missing(&mut self, key: impl Into<String>, reason: impl Into<String>) {
        self.measured.push(Measured { key: key.into(), value: Err(reason.into()), note: String::new() });
    }

    /// A value where there is one, else the reason.
    pub fn either(&mut self, key: impl Into<String>, value: Result<f64, String>) {
        self.measured.push(Measured { key: key.into(), value, note: String::new() });
    }

    /// A picture of the table or figure.
    pub fn picture(&mut self, name: &str, svg: String) {
        self.pictures.push((name.to_string(), svg));
    }

    /// The value of a quantity, if there is one.
    #[cfg(test)]
    pub fn value(&self, key: &str) -> Option<f64> {
        self.measured.iter().find(|m| m.key == key)?.value.as_ref().ok().copied()
    }

    /// Keys in the order in which they were found.
    #[cfg(test)]
    pub fn keys(&self) -> Vec<&str> {
        self.measured.iter().map(|m| m.key.as_str()).collect()
    }
}

/// The checks of a table or figure, in the order of the expected values.
pub(super) fn checks(item: &'static Item, expected: &[Expected], findings: &Findings) -> Vec<Check> {
    let own = expected.iter().filter(|e| e.id == item.id);
    own.map(|e| check(item, e, findings.measured.iter().find(|m| m.key == e.key))).collect()
}

fn check(item: &'static Item, expected: &Expected, measured: Option<&Measured>) -> Check {
    let claim = Claim {
        id: item.id.to_string(),
        figure: item.figure.to_string(),
        quantity: expected.quantity.clone(),
        unit: expected.unit.clone(),
        paper: expected.paper,
        criterion: expected.criterion,
        why: expected.why.clone(),
    };
    claim.against(match measured {
        Some(Measured { value: Ok(value), note, .. }) => Ok((*value, note)),
        Some(Measured { value: Err(reason), .. }) => Err(reason),
        None => Err("not measured"),
    })
}
