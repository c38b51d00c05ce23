//! The papers' tables and figures, computed and compared.
//!
//! [`list`] says what there is, [`run`] computes: for each table or figure a handful of [`Check`]s with a verdict that
//! follows from the numbers, and pictures. What the papers say, and the tolerances with their reasons, is data:
//! `expected.toml` beside the scenario files, all built into the program.

mod atfq;
mod bench;
mod caption;
mod catalogue;
mod drfq;
mod drq;
mod expected;
mod sabrina;
mod seconds;
mod tradeoff;
mod wrong;

use std::fmt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use dovetail_model::ModelError;
use dovetail_trace::MixtureError;
use serde::Serialize;

use dovetail_experiment::claim::Check;
use dovetail_experiment::compare::RunError;
use dovetail_experiment::scenario::{ScenarioError, nearest};
use dovetail_figure::FigureError;

pub use catalogue::{Item, PAPERS, Status, item, list};

/// Version of the JSON document.
pub const SCHEMA: u32 = 3;

/// How a reproduction is carried out. Only `capture`, `load` and `wrong` change its results.
pub struct Settings<'a> {
    /// How many runs may go on at the same time, at least 1.
    pub threads: usize,
    /// When it becomes true, the reproduction ends with [`RunError::Cancelled`].
    pub cancel: &'a AtomicBool,
    /// Called from time to time with the id of the table or figure under way and the packets simulated so far, all
    /// runs together.
    pub progress: &'a (dyn Fn(&str, u64) + Sync),
    /// Called with the checks of a table or figure when it is finished.
    pub through: &'a dyn Fn(&'static Item, &[Check]),
    /// For the trace-driven figures: replay this capture instead of synthesised traffic.
    pub capture: Option<&'a Path>,
    /// For these figures too: the load of the busier resource, in multiples of what it can do. `None` keeps the
    /// scenario's.
    pub load: Option<f64>,
    /// Replace every discipline by a wrong one, under which no claim should hold: packet schedulers by order of
    /// arrival; in networks DRQ and DRR-RED by RED-RED, and RED-RED by DRR-RED.
    pub wrong: bool,
}

/// The result.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Reproduction {
    /// [`SCHEMA`].
    pub schema: u32,
    /// In the order of [`list`].
    pub checks: Vec<Check>,
    /// File name and SVG text of each picture.
    #[serde(skip)]
    pub pictures: Vec<(String, String)>,
}

impl Reproduction {
    /// As JSON. The same checks give the same text.
    pub fn to_json(&self) -> String {
        // Strings, numbers and null: there is nothing that cannot be written.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// Why there is no result.
#[derive(Debug)]
pub enum ReproduceError {
    /// An id that cannot be computed: unknown, or nothing to compute.
    Id(String),
    /// The capture or a scenario.
    Scenario(Box<ScenarioError>),
    /// A simulation failed or was cancelled.
    Run(RunError),
    /// The fluid model failed.
    Model(ModelError),
    /// No traffic could be made.
    Traffic(MixtureError),
    /// A temporary file could not be written.
    Temporary(std::io::Error),
    /// A picture could not be drawn.
    Figure(FigureError),
    /// The built-in expected values cannot be read.
    Expected(String),
}

impl fmt::Display for ReproduceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(message) => f.write_str(message),
            Self::Scenario(error) => error.fmt(f),
            Self::Run(error) => error.fmt(f),
            Self::Model(error) => error.fmt(f),
            Self::Traffic(error) => error.fmt(f),
            Self::Temporary(error) => write!(f, "a temporary file for the synthesised traffic: {error}"),
            Self::Figure(error) => error.fmt(f),
            Self::Expected(message) => write!(f, "expected.toml: {message}"),
        }
    }
}

impl std::error::Error for ReproduceError {}

macro_rules! from {
    ($($error:ty => $wrap:expr),* $(,)?) => {
        $(impl From<$error> for ReproduceError {
            fn from(error: $error) -> Self {
                $wrap(error)
            }
        })*
    };
}

from! {
    ScenarioError => |e| Self::Scenario(Box::new(e)),
    RunError => Self::Run,
    ModelError => Self::Model,
    MixtureError => Self::Traffic,
    std::io::Error => Self::Temporary,
    FigureError => Self::Figure,
}

/// Compute the tables and figures with these ids; a paper's name stands for everything of it that is done, no id for
/// everything done.
///
/// The results do not depend on the number of threads, and are in the order of [`list`] whatever the order of `ids`.
///
/// # Errors
/// [`ReproduceError::Id`] before anything is computed; else the first failure.
pub fn run(ids: &[String], settings: &Settings<'_>) -> Result<Reproduction, ReproduceError> {
    let items = select(ids)?;
    let expected = expected::all()?;
    let bench = bench::Bench::new(settings);
    let of_sabrina = sabrina::Shared::default();
    let (of_tradeoff, of_atfq) = (tradeoff::Shared::default(), atfq::Shared::default());
    let of_drq = drq::Shared::default();
    let mut result = Reproduction { schema: SCHEMA, checks: Vec::new(), pictures: Vec::new() };
    for item in items {
        bench.begin(item.id);
        let findings = match item.paper {
            "pcfq" | "cbcs" => sabrina::reproduce(item.id, &bench, &of_sabrina)?,
            "drq" => drq::reproduce(item.id, &bench, &of_drq)?,
            "drfq" => drfq::reproduce(item.id, &bench)?,
            "atfq" => atfq::reproduce(item.id, &bench, &of_atfq)?,
            _ => tradeoff::reproduce(item.id, &bench, &of_tradeoff)?,
        };
        let declared: Vec<String> = catalogue::pictures(item).collect();
        debug_assert!(findings.pictures.iter().all(|(name, _)| declared.contains(name)), "other than {declared:?}");
        let checks = expected::checks(item, &expected, &findings);
        (settings.through)(item, &checks);
        let signed = |(name, svg): (String, String)| (name, caption::signed(&svg, item, &checks));
        result.pictures.extend(findings.pictures.into_iter().map(signed));
        result.checks.extend(checks);
    }
    Ok(result)
}

/// The names of the pictures that [`run`] may draw for these ids.
///
/// # Errors
/// [`ReproduceError::Id`].
pub fn pictures(ids: &[String]) -> Result<Vec<String>, ReproduceError> {
    Ok(select(ids)?.into_iter().flat_map(catalogue::pictures).collect())
}

/// The items of [`list`] with these ids; a paper's name stands for everything of it, no id for all.
///
/// # Errors
/// [`ReproduceError::Id`] of one that is not there.
pub fn listed(ids: &[String]) -> Result<Vec<&'static Item>, ReproduceError> {
    for id in ids {
        known(id).map_err(ReproduceError::Id)?;
    }
    Ok(list().iter().filter(|item| wanted(ids, item)).collect())
}

fn wanted(ids: &[String], item: &Item) -> bool {
    ids.is_empty() || ids.iter().any(|id| id == item.id || id == item.paper)
}

/// The wanted items, in the order of the list.
fn select(ids: &[String]) -> Result<Vec<&'static Item>, ReproduceError> {
    for id in ids {
        selectable(id).map_err(ReproduceError::Id)?;
    }
    Ok(list().iter().filter(|item| item.status == Status::Done && wanted(ids, item)).collect())
}

fn selectable(id: &str) -> Result<(), String> {
    known(id)?;
    match item(id) {
        Some(Item { status: Status::DrawingOnly, shows, .. }) => {
            Err(format!("{id} ({shows}) has nothing to compute; --list shows what has"))
        }
        _ => Ok(()),
    }
}

/// Whether it is an item's or a paper's.
fn known(id: &str) -> Result<(), String> {
    if item(id).is_some() || PAPERS.iter().any(|(paper, _)| *paper == id) {
        return Ok(());
    }
    let ids = || list().iter().map(|i| i.id);
    let named: Vec<&str> = ids().filter(|known| known.ends_with(&format!("-{id}"))).collect();
    let hint = match (named.as_slice(), nearest(id, ids().chain(PAPERS.map(|p| p.0)))) {
        (&[name], _) | (&[], Some(name)) => format!("did you mean {name:?}?"),
        (&[], None) => format!("papers are {}; --list shows all", PAPERS.map(|(paper, _)| paper).join(", ")),
        (names, _) => format!("did you mean one of {}?", names.join(", ")),
    };
    Err(format!("there is no table or figure {id:?}; {hint}"))
}

#[cfg(test)]
mod pages;
#[cfg(test)]
mod tests;

/// A bench for tests: two threads, and nobody who stops it or asks how far it is.
#[cfg(test)]
fn with_bench(test: impl Fn(&bench::Bench<'_>)) {
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let settings = Settings {
        threads: 2,
        cancel: &cancel,
        progress: &|_, _| (),
        through: &|_, _| (),
        capture: None,
        load: None,
        wrong: false,
    };
    test(&bench::Bench::new(&settings));
}
