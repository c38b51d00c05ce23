//! The family of schedulers as a document: `docs/reference/json.md` describes it.

use dovetail_sched::aqm::scheme::{MANAGERS, Scheme, about, manages};
use dovetail_sched::catalog::{Entry, Parameter, Weights};
use dovetail_sched::composition::{parameters, parts};
use dovetail_sched::gain::{Gain, Strategy};
use dovetail_sched::{Spec, catalog};
use serde::Serialize;

use crate::check::of_spec;
use crate::scenario::ScenarioError;

/// All about the scheduler or composition of this name, or about every scheduler.
///
/// # Errors
/// There is none of this name.
pub fn document(name: Option<&str>) -> Result<Document, ScenarioError> {
    let Some(name) = name else { return Ok(Document::of(listed().collect())) };
    if let Some((parts, parameters)) = about(name) {
        return Ok(Document::of_scheme(name, &parts, &parameters));
    }
    Ok(match find(name)? {
        parts if parts.len() > 1 => Document::of_composition(name, &parts),
        parts => Document::of(parts),
    })
}

/// The discipline of this name, or those of a composition.
///
/// # Errors
/// There is none.
pub fn find(name: &str) -> Result<Vec<&'static Entry>, ScenarioError> {
    if let Some((name, _)) = name.split_once(':') {
        let plain = if name.is_empty() { "drr" } else { name };
        return Err(ScenarioError::new("", format!("a name without parameters is wanted here, such as {plain:?}")));
    }
    let found = match manages(name) {
        // Neither pipelines nor networks take it.
        Ok(true) => Scheme::new(&Spec { name: name.to_string(), parameters: Vec::new() }).and_then(|_| parts(name)),
        Ok(false) => parts(name),
        Err(unknown) => Err(unknown),
    };
    found.map_err(|error| of_spec(&error, |message| ScenarioError::new("", message)))
}

/// What pipelines take, and after it what only networks do.
pub fn listed() -> impl Iterator<Item = &'static Entry> {
    catalog().iter().chain(&MANAGERS)
}

/// The document of `dovetail schedulers --json`.
#[derive(Serialize)]
pub struct Document {
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    composition: Option<Composition>,
    schedulers: Vec<About>,
}

/// What several schedulers are together.
#[derive(Serialize)]
struct Composition {
    name: String,
    parameters: Vec<Takes>,
}

#[derive(Serialize)]
struct About {
    name: &'static str,
    summary: &'static str,
    shares: &'static str,
    guarantee: &'static str,
    fairness: &'static str,
    complexity: &'static str,
    longest_call: &'static str,
    gains: Vec<Gains>,
    resources: &'static str,
    weights: &'static str,
    work_conserving: &'static str,
    costs: &'static str,
    costs_ahead: &'static str,
    paper: &'static str,
    parameters: Vec<Takes>,
}

/// What a flow gains by a strategy.
#[derive(Serialize)]
struct Gains {
    strategy: &'static str,
    /// `None` if there is no limit.
    most: Option<f64>,
    reason: &'static str,
}

#[derive(Serialize)]
struct Takes {
    name: &'static str,
    value: &'static str,
    default: &'static str,
    meaning: &'static str,
    settable: bool,
}

impl Document {
    fn of(entries: Vec<&Entry>) -> Self {
        Self { schema: 1, composition: None, schedulers: entries.into_iter().map(About::of).collect() }
    }

    /// The parts stand in the order of the pipeline.
    fn of_composition(name: &str, parts: &[&Entry]) -> Self {
        let parameters = parameters(name).into_iter().flatten().map(Takes::of).collect();
        let composition = Some(Composition { name: name.to_string(), parameters });
        Self { composition, ..Self::of(parts.to_vec()) }
    }

    /// What stands in front of CPUs, and what in front of links. A name that stands for both is listed once.
    fn of_scheme(name: &str, parts: &[&Entry; 2], parameters: &[&Parameter]) -> Self {
        if parts[0].name == name {
            return Self::of(vec![parts[0]]);
        }
        let parameters = parameters.iter().copied().map(Takes::of).collect();
        let composition = Some(Composition { name: name.to_string(), parameters });
        Self { composition, ..Self::of(parts.to_vec()) }
    }
}

impl Takes {
    fn of(p: &Parameter) -> Self {
        Self { name: p.name, value: p.value, default: p.default, meaning: p.meaning, settable: p.settable }
    }
}

impl Gains {
    /// By every strategy; nothing where nothing is shared out.
    fn of(entry: &Entry) -> Vec<Self> {
        let strategies = Strategy::ALL.into_iter().filter(|_| entry.weights != Weights::None);
        let one = |Gain { strategy, most, reason }| Self {
            strategy: strategy.name(),
            most: Some(most).filter(|most| most.is_finite()),
            reason,
        };
        strategies.map(|strategy| one(entry.gain(strategy))).collect()
    }
}

impl About {
    fn of(entry: &Entry) -> Self {
        Self {
            name: entry.name,
            summary: entry.summary,
            shares: entry.shares,
            guarantee: entry.guarantee,
            fairness: entry.brief.fairness,
            complexity: entry.complexity,
            longest_call: entry.worst_call,
            gains: Gains::of(entry),
            resources: entry.shared_resources(),
            weights: entry.weights.name(),
            work_conserving: entry.work_conserving,
            costs: entry.costs,
            costs_ahead: entry.brief.costs_ahead,
            paper: entry.paper,
            parameters: entry.parameters.iter().map(Takes::of).collect(),
        }
    }
}
