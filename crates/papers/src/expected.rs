//! The papers' values: data beside the scenario files, read into checks.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::ReproduceError;
use super::catalogue::Item;
use dovetail_experiment::claim::{Check, Claim, Criterion, Kind, Verdict};

/// One file per paper.
const FILES: [&str; 6] = [
    include_str!("../../../scenarios/papers/tradeoff/expected.toml"),
    include_str!("../../../scenarios/papers/atfq/expected.toml"),
    include_str!("../../../scenarios/papers/pcfq/expected.toml"),
    include_str!("../../../scenarios/papers/cbcs/expected.toml"),
    include_str!("../../../scenarios/papers/drq/expected.toml"),
    include_str!("../../../scenarios/papers/drfq/expected.toml"),
];

/// What stands before a quantity that was found so, wherever it is told.
const VARIED: &str = "found by varying: ";

/// A value of a paper, or a statement of it, and when it counts as reproduced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expected {
    /// The table or figure, whose list it stands in.
    #[serde(skip)]
    pub id: String,
    /// Name of the quantity within the table or figure; of several the one that is furthest from the criterion counts.
    pub key: Keys,
    /// What is compared, in words.
    pub quantity: String,
    /// The paper's value, if it prints one.
    pub paper: Option<f64>,
    /// Of the values; empty for a bare number.
    #[serde(default)]
    pub unit: String,
    /// When it counts as reproduced: of a claim or what is derived, and of nothing else.
    pub criterion: Option<Criterion>,
    /// What it is: a claim unless it says something else.
    #[serde(default)]
    pub kind: Kind,
    /// Whether the reading was found by varying what the paper leaves open until it fitted.
    #[serde(default)]
    pub varied: bool,
    /// Of a claim that also holds where every discipline serves in order of arrival: why that is so.
    pub blind: Option<String>,
    /// Of a claim that differs: why it does, and what has confirmed that.
    pub cause: Option<String>,
    /// Why this tolerance; the sentence where there is no value.
    pub why: String,
}

/// Names of quantities.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Keys {
    /// Of one.
    One(String),
    /// Of several.
    Several(Vec<String>),
}

impl Keys {
    /// In order.
    pub fn all(&self) -> &[String] {
        match self {
            Self::One(key) => std::slice::from_ref(key),
            Self::Several(keys) => keys,
        }
    }
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

/// What the paper prints of these quantities of a table or figure, for its picture.
pub(super) fn papers_values(id: &str, keys: &[String]) -> Result<Vec<Option<f64>>, ReproduceError> {
    let all = all()?;
    let of = |key: &String| all.iter().find(|e| e.id == id && e.key.all() == std::slice::from_ref(key))?.paper;
    Ok(keys.iter().map(of).collect())
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

    /// What was found of the quantities that this is about: of several the value that is furthest from the criterion,
    /// with all of them in the note; or why there is none.
    fn worst(&self, expected: &Expected) -> Result<(f64, String), String> {
        let find = |key: &String| {
            let measured = self.measured.iter().find(|m| m.key == *key).ok_or("not measured")?;
            Ok::<_, String>((measured.value.clone()?, measured.note.as_str()))
        };
        let keys = expected.key.all();
        let found = keys.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let [(value, note)] = found[..] else {
            let told = |(key, (value, note)): (&String, &(f64, &str))| match *note {
                "" => format!("{key} {value:.4}"),
                note => format!("{key} {value:.4} ({note})"),
            };
            let note: Vec<String> = keys.iter().zip(&found).map(told).collect();
            let criterion = expected.criterion.ok_or("several quantities without a criterion")?;
            let distance = |value: f64| criterion.distance(expected.paper, value);
            let worst =
                found.iter().map(|(value, _)| *value).reduce(|a, b| match distance(a) >= distance(b) || a.is_nan() {
                    true => a,
                    false => b,
                });
            return Ok((worst.unwrap_or(f64::NAN), note.join(", ")));
        };
        Ok((value, note.to_string()))
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
    own.map(|e| check(item, e, findings.worst(e))).collect()
}

fn check(item: &'static Item, expected: &Expected, found: Result<(f64, String), String>) -> Check {
    let claim = Claim {
        id: item.id.to_string(),
        figure: item.figure.to_string(),
        quantity: if expected.varied { format!("{VARIED}{}", expected.quantity) } else { expected.quantity.clone() },
        unit: expected.unit.clone(),
        paper: expected.paper,
        criterion: expected.criterion,
        kind: expected.kind,
        why: expected.why.clone(),
    };
    let found = found.as_ref().map(|(value, note)| (*value, note.as_str())).map_err(String::as_str);
    let mut check = Check { blind: expected.blind.clone(), ..claim.against(found) };
    if let (Some(Verdict::Differs), Some(cause)) = (check.verdict, &expected.cause) {
        check.why.push_str(". Cause: ");
        check.why.push_str(cause);
    }
    check
}

/// That exactly what is expected of this table or figure was found.
#[cfg(test)]
#[track_caller]
pub(super) fn assert_covered(id: &str, findings: &Findings) {
    let expected = all().unwrap();
    let own = expected.iter().filter(|e| e.id == id);
    let wanted: std::collections::BTreeSet<&str> = own.flat_map(|e| e.key.all()).map(String::as_str).collect();
    let mut found = findings.keys();
    found.sort_unstable();
    assert_eq!(found, wanted.into_iter().collect::<Vec<_>>(), "{id}");
    let declared = super::pictures(&[id.to_string()]).unwrap();
    let drawn = findings.pictures.iter().map(|(name, _)| name);
    assert_eq!(drawn.filter(|name| !declared.contains(name)).collect::<Vec<_>>(), [""; 0], "{id}");
}
