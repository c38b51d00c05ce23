//! The plan of a sweep: a scenario, and what of it varies.

mod written;

use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dovetail_sched::Spec;
use dovetail_trace::CaptureReader;
use toml::{Spanned, Value};

use super::base::Base;
use super::journal::Entry;
use super::keys::{Choice, Key, Place, plain};
use super::rows::Cell;
use super::{Id, SweepError};
use crate::columns::Column;
use crate::compare::RunError;
use crate::scenario::{Scenario, ScenarioError, beside, nearest, or_nearby};

use written::{Reader, Written};

/// The most combinations of a plan.
pub const MOST_RUNS: u32 = 1_000_000;
/// The scheduler's key, and that of the seed.
pub const SCHEDULER: &str = "scheduler";
const SEED: &str = "seed";

/// A plan that was read.
pub struct Plan {
    /// What messages call it.
    label: String,
    text: String,
    /// What is varied.
    pub(super) base: Base,
    /// What varies: the slowest first.
    pub(super) keys: Vec<Key>,
    samples: usize,
    /// The columns of what is measured.
    pub(super) measured: [Vec<Column>; 2],
    /// Where all of it is at fault.
    whole: Range<usize>,
}

/// One combination.
#[derive(Clone, Debug)]
pub struct Point {
    /// The scheduler with its parameters.
    pub scheduler: Spec,
    /// The overrides of the scenario.
    pub overrides: Vec<String>,
    /// The values in the plan's columns.
    pub cells: Vec<Cell>,
}

/// `nearby` names the file that may have been meant, if one is known.
fn unreadable(name: &str, error: &std::io::Error, nearby: &str) -> ScenarioError {
    ScenarioError::new(name, format!("cannot be read: {error}{nearby}"))
}

/// The text of a plan.
fn decoded(name: &str, bytes: Vec<u8>) -> Result<String, ScenarioError> {
    if CaptureReader::new(&*bytes, name).is_ok() {
        return Err(ScenarioError::new(name, "is a capture; a sweep takes a plan")
            .with_help("a plan names it, as in capture = \"traffic.pcap\", and lists values of keys in [grid]"));
    }
    dovetail_config::decode(name, bytes)
}

impl Plan {
    /// Read the plan in this file; `-` is standard input. Files that it names are looked for [beside] it.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn open(path: &Path) -> Result<Self, ScenarioError> {
        if path == Path::new("-") {
            let name = "standard input";
            let bytes = dovetail_config::bytes(std::io::stdin()).map_err(|error| unreadable(name, &error, ""))?;
            return match bytes.is_empty() {
                true => Err(ScenarioError::new(name, "it is empty: expected a plan (TOML)")),
                false => Self::parse(name, &decoded(name, bytes)?, Path::new("")),
            };
        }
        Self::parse(&path.display().to_string(), &Self::text(path)?, beside(path))
    }

    /// The text of the plan in this file.
    ///
    /// # Errors
    /// It cannot be read, or is not a text.
    pub fn text(path: &Path) -> Result<String, ScenarioError> {
        let name = path.display().to_string();
        if path.is_dir() {
            let goes_on =
                format!("a sweep whose results are there goes on by its plan: dovetail sweep PLAN --out {name}");
            return Err(ScenarioError::new(&name, "is a folder; a sweep takes a plan").with_help(goes_on));
        }
        let bytes = File::open(path).and_then(dovetail_config::bytes);
        decoded(&name, bytes.map_err(|error| unreadable(&name, &error, &or_nearby(path)))?)
    }

    /// The plan in this text, which messages call `name`; files are looked for in `folder`.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(name: &str, text: &str, folder: &Path) -> Result<Self, ScenarioError> {
        let dovetail_config::Read { label, text, file } = dovetail_config::read::<Written>(name, text, &[])?;
        let reader = Reader { label: &label, text: &text };
        let (samples, drawn) = reader.samples(&file)?;
        let written = reader.entries("grid")?.into_iter().chain(reader.entries("random")?).collect::<Vec<_>>();
        let names: Vec<String> = written.iter().map(|entry| entry.name.clone()).collect();
        let base = reader.base(&file, folder, &names)?;
        let schedulers = reader.schedulers(&written, &base)?;
        let mut keys = Vec::new();
        for entry in written {
            keys.push(reader.key(entry, &base, &schedulers, (samples, drawn))?);
        }
        reader.check(&keys, &schedulers)?;
        let scheduler_first = implied(SCHEDULER, schedulers.iter().map(|spec| Value::String(spec.to_string())));
        let missing = |name: &str| !keys.iter().any(|key| key.name == name);
        if missing(SCHEDULER) {
            keys.insert(0, scheduler_first);
        }
        if !keys.iter().any(|key| key.name == SEED) {
            let seeds: Result<Vec<Value>, _> =
                base.seeds()?.into_iter().map(|seed| i64::try_from(seed).map(Value::Integer)).collect();
            let message = "its seed is above 9223372036854775807; expected seed = [...] in [grid]";
            let seeds = seeds.map_err(|_| ScenarioError::new(base.label(), message))?;
            keys.push(implied(SEED, seeds.into_iter()));
        }
        let grid = file.grid.as_ref().or(file.random.as_ref());
        let whole = grid.map_or(0..0, Spanned::span);
        let measured = base.measured(&base.varied(&[])?);
        let plan = Self { label, text, base, keys, samples, measured, whole };
        plan.check_size()?;
        plan.check_columns()?;
        Ok(plan)
    }

    /// The scenario as it is, if it replays a capture, and whether all runs replay it as fast.
    pub fn replayed(&self) -> Option<(Arc<Scenario>, bool)> {
        Some((self.base.replayed()?, !self.keys.iter().any(Key::sets_speed)))
    }

    fn check_size(&self) -> Result<(), ScenarioError> {
        let of_grid = self.keys.iter().filter(|key| !key.random).map(|key| key.choices.len() as u128);
        let all = of_grid.fold(self.samples as u128, u128::saturating_mul);
        if all <= u128::from(MOST_RUNS) {
            return Ok(());
        }
        let factors: Vec<String> = (self.keys.iter().filter(|key| !key.random && key.choices.len() > 1))
            .map(|key| format!("{} {}", key.choices.len(), key.name))
            .chain((self.samples > 1).then(|| format!("{} samples", self.samples)))
            .collect();
        let message = format!("{all} combinations ({}); at most {MOST_RUNS} are possible", factors.join(" x "));
        Err(ScenarioError::at(&self.label, &self.text, self.whole.clone(), message))
    }

    /// That no two columns have the same name.
    fn check_columns(&self) -> Result<(), ScenarioError> {
        let mut taken: BTreeSet<String> = self.measured.iter().flatten().map(|column| column.name.clone()).collect();
        taken.extend(["run".to_string(), "sample".to_string()]);
        for key in &self.keys {
            if !taken.insert(key.column.name.clone()) {
                let message = format!("{}: another column has this name in the results", key.column.name);
                return Err(self.at(key.span.clone(), message));
            }
        }
        Ok(())
    }

    /// An error about a place of the plan.
    fn at(&self, span: Range<usize>, message: impl Into<String>) -> ScenarioError {
        ScenarioError::at(&self.label, &self.text, span, message)
    }

    /// How many combinations there are; some are the same run.
    pub(super) fn combinations(&self) -> usize {
        self.keys.iter().filter(|key| !key.random).map(|key| key.choices.len()).product::<usize>() * self.samples
    }

    /// The columns of the plan's own values.
    pub(super) fn columns(&self) -> Vec<Column> {
        let mut columns: Vec<Column> = self.keys.iter().map(|key| key.column.clone()).collect();
        if self.keys.iter().any(|key| key.random) {
            columns.insert(0, Column::optional("sample", crate::columns::Kind::U64));
        }
        columns
    }

    /// Which value of each key the combination of this number has.
    fn choices(&self, index: usize) -> (usize, Vec<usize>) {
        let mut rest = index;
        let mut chosen = vec![0; self.keys.len()];
        for (key, chosen) in self.keys.iter().zip(&mut chosen).rev().filter(|(key, _)| !key.random) {
            *chosen = rest % key.choices.len();
            rest /= key.choices.len();
        }
        for (_, chosen) in self.keys.iter().zip(&mut chosen).filter(|(key, _)| key.random) {
            *chosen = rest;
        }
        (rest, chosen)
    }

    /// Run the combination of this number; what [`Sweep::add`](super::Sweep::add) takes, in any process.
    ///
    /// # Errors
    /// The combination cannot be run, the run fails, or it is cancelled.
    pub fn run(&self, index: usize, cancel: &AtomicBool) -> Result<Vec<u8>, SweepError> {
        let (_, id) = self.identified(index)?.ok_or(SweepError::Cancelled)?;
        let entry = self.record(index, id, cancel).map_err(|error| match error {
            RunError::Cancelled => SweepError::Cancelled,
            other => SweepError::Runs(1, other.to_string()),
        })?;
        serde_json::to_vec(&entry).map_err(|error| SweepError::Runs(1, error.to_string()))
    }

    /// Run the combination of this number, which is this run.
    pub(super) fn record(&self, index: usize, id: Id, cancel: &AtomicBool) -> Result<Entry, RunError> {
        let point = self.point(index).ok_or(RunError::Cancelled)?;
        self.base.run(id, &point.overrides, &point.scheduler, cancel).map_err(|error| match error {
            RunError::Cancelled => error,
            other => {
                let message = format!("{} with {}: {other}", point.scheduler, point.overrides.join(" "));
                ScenarioError::new("", message).into()
            }
        })
    }

    /// Which run the combination of this number is, if it is one.
    ///
    /// # Errors
    /// It cannot be run.
    pub(super) fn identified(&self, index: usize) -> Result<Option<(usize, Id)>, ScenarioError> {
        let Some(point) = self.point(index) else { return Ok(None) };
        let checked = self.base.varied(&point.overrides).and_then(|varied| {
            self.base.takes(&varied, &point.scheduler)?;
            self.base.like(&varied, &self.measured)?;
            self.base.id(&varied, &point.overrides, &point.scheduler)
        });
        checked.map(|id| Some((index, id))).map_err(|error| self.blamed(index, &error))
    }

    /// The combination of this number; `None` if it differs from an earlier one in nothing but parameters that its
    /// scheduler lacks.
    pub(super) fn point(&self, index: usize) -> Option<Point> {
        let (sample, chosen) = self.choices(index);
        let at = self.keys.iter().position(|key| key.place == Place::Scheduler)?;
        let mut scheduler: Spec = self.keys[at].text(chosen[at]).parse().ok()?;
        let known = self.base.parameters(&scheduler);
        let has = |key: &Key| key.place != Place::Parameter || known.contains(&key.name.as_str());
        let (mut overrides, mut cells) = (Vec::new(), Vec::new());
        for (key, &chosen) in self.keys.iter().zip(&chosen) {
            match key.place {
                _ if !has(key) => {
                    if chosen > 0 && !key.random {
                        return None;
                    }
                    cells.push(Cell::None);
                    continue;
                }
                Place::Scheduler => {}
                Place::Parameter => scheduler.parameters.push((key.name.clone(), key.text(chosen))),
                Place::Scenario => overrides.push(key.set(chosen)),
            }
            cells.push(key.cells[chosen].clone());
        }
        let mut random = self.keys.iter().filter(|key| key.random).peekable();
        if random.peek().is_some() {
            let sampled = random.any(has);
            if !sampled && sample > 0 {
                return None;
            }
            cells.insert(0, if sampled { Cell::U64(sample as u64 + 1) } else { Cell::None });
        }
        Some(Point { scheduler, overrides, cells })
    }

    /// The error of a combination, told of the value of the plan that is at fault by itself, if one is.
    fn blamed(&self, index: usize, error: &ScenarioError) -> ScenarioError {
        let (_, chosen) = self.choices(index);
        let alone = |key: &Key, chosen: usize| match key.place {
            Place::Scheduler => {
                let spec: Spec = key.text(chosen).parse().ok()?;
                self.base.takes(&self.base.varied(&[]).ok()?, &spec).err()
            }
            Place::Parameter => None,
            Place::Scenario => self.base.varied(&[key.set(chosen)]).err(),
        };
        for (key, &chosen) in self.keys.iter().zip(&chosen) {
            let Some(error) = alone(key, chosen) else { continue };
            return self.told(key, chosen, &error);
        }
        let set: Vec<String> = (self.keys.iter().zip(&chosen))
            .filter(|(key, _)| key.choices.len() > 1)
            .map(|(key, &chosen)| format!("{} = {}", key.name, key.choices[chosen].value))
            .collect();
        // A parameter's value.
        let parameter = self.keys.iter().zip(&chosen).find(|(key, chosen)| {
            key.place == Place::Parameter
                && error.message().starts_with(&format!("{}={}", key.name, key.text(**chosen)))
        });
        match parameter {
            Some((key, &chosen)) => self.told(key, chosen, error),
            None => helped(self.at(self.whole.clone(), format!("with {}: {}", set.join(", "), error.message())), error),
        }
    }

    /// The error of a key with one of its values.
    fn told(&self, key: &Key, chosen: usize, error: &ScenarioError) -> ScenarioError {
        let of_key =
            error.message().starts_with("unknown key") || error.place().is_some_and(|p| p.starts_with("--set"));
        let span = if of_key { key.span.clone() } else { key.choices[chosen].span.clone() };
        let unknown = error.message().starts_with("unknown key") && !key.name.contains('.');
        if unknown {
            let known: Vec<&str> = error.message().split('`').skip(3).step_by(2).collect();
            return self.unknown(key, &known);
        }
        let name = if key.place == Place::Parameter { String::new() } else { format!("{}: ", key.name) };
        helped(self.at(span, format!("{name}{}", error.message())), error)
    }

    /// A key that neither the scenario nor a scheduler has.
    fn unknown(&self, key: &Key, known: &[&str]) -> ScenarioError {
        let specs = self.keys.iter().find(|key| key.place == Place::Scheduler);
        let specs = specs.into_iter().flat_map(|key| key.choices.iter().filter_map(|c| plain(&c.value).parse().ok()));
        let parameters: BTreeSet<&str> = specs.flat_map(|spec: Spec| self.base.parameters(&spec)).collect();
        let all = known.iter().copied().chain(parameters.iter().copied()).chain([SCHEDULER]);
        let message = format!(
            "{:?} is neither a key of {} nor a parameter of the plan's schedulers",
            key.name,
            self.base.label()
        );
        let error = self.at(key.span.clone(), message);
        match nearest(&key.name, all) {
            Some(near) => error.with_help(format!("did you mean {near:?}?")),
            None => {
                error.with_help(format!("keys are written as for --set, such as \"resource.link.rate\" or {SEED:?}"))
            }
        }
    }
}

fn helped(error: ScenarioError, from: &ScenarioError) -> ScenarioError {
    match from.help() {
        Some(help) => error.with_help(help),
        None => error,
    }
}

/// A key that the plan does not name.
fn implied(name: &str, values: impl Iterator<Item = Value>) -> Key {
    let place = if name == SCHEDULER { Place::Scheduler } else { Place::Scenario };
    Key::new(name.to_string(), 0..0, place, false, values.map(|value| Choice { value, span: 0..0 }).collect())
}
