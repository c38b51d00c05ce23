//! Sweeps: many runs of one scenario with other values of its keys, kept in one data set.
//!
//! A [`Plan`] says what varies. [`Sweep::open`] checks every combination before anything runs and finds out what is
//! there already; [`Sweep::run`] does the rest. Every run that is done is appended to a journal, and the tables are
//! made of the journal, in the plan's order. So the data set does not depend on the number of runs at a time, on their
//! order, nor on how often the sweep was interrupted.
//!
//! A run is known by a digest of all that decides its results: the scenario with its overrides, the scheduler, the
//! capture's content, and the program's sources. Seeds are keys like others and every user of randomness has a stream
//! of its own, so the same seed gives the same arrivals whatever else varies: common random numbers.

mod base;
mod dataset;
mod journal;
mod keys;
mod plan;
mod rows;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize, Serializer, de};

use crate::columns::Tables;
use crate::compare::RunError;
use crate::output::{OutputError, directory_or_none};
use crate::parallel::in_parallel;
use crate::scenario::ScenarioError;
use dataset::Dataset;
use journal::{Entry, Journal, JournalError};
pub use plan::Plan;

#[cfg(test)]
mod tests;

/// Names a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Id([u8; 20]);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let byte = |k: usize| text.get(2 * k..2 * k + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let bytes: Option<Vec<u8>> = (0..20).map(byte).collect();
        let id = bytes.and_then(|bytes| bytes.try_into().ok()).filter(|_| text.len() == 40);
        id.map(Id).ok_or_else(|| de::Error::custom("expected 40 hexadecimal digits"))
    }
}

/// How a sweep is carried out; nothing here changes its results.
pub struct Settings<'a> {
    /// Runs at the same time, at least 1.
    pub jobs: usize,
    /// When it becomes true, the sweep ends with [`SweepError::Cancelled`]; what is done stays done.
    pub cancel: &'a AtomicBool,
    /// Called after each run with the number of runs that this call has done.
    pub progress: &'a (dyn Fn(usize) + Sync),
}

/// Why a sweep did not come to its end.
#[derive(Debug)]
pub enum SweepError {
    /// The plan is wrong.
    Plan(Box<ScenarioError>),
    /// Another program writes into this folder.
    InUse(PathBuf),
    /// This file would be replaced, and is of another program, or of a sweep whose journal is gone.
    Stranger(PathBuf),
    /// The folder cannot be written.
    Output(OutputError),
    /// Runs failed: how many, and why the first did. All others are done.
    Runs(usize, String),
    /// It was cancelled.
    Cancelled,
}

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(error) => error.fmt(f),
            Self::InUse(path) => write!(f, "{}: another sweep writes into this folder", path.display()),
            Self::Stranger(path) => {
                let (path, name) = (path.display(), dataset::JOURNAL);
                write!(f, "{path}: no sweep wrote it (there is no {name} in the folder), and it would be replaced; ")?;
                f.write_str("give another folder, or remove the file if nobody needs it")
            }
            Self::Output(error) => error.fmt(f),
            Self::Runs(1, first) => write!(f, "a run failed: {first}"),
            Self::Runs(failed, first) => write!(f, "{failed} runs failed, the first one: {first}"),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for SweepError {}

impl From<ScenarioError> for SweepError {
    fn from(error: ScenarioError) -> Self {
        Self::Plan(Box::new(error))
    }
}

impl From<OutputError> for SweepError {
    fn from(error: OutputError) -> Self {
        Self::Output(error)
    }
}

/// A plan of which every combination was checked, and the folder of its results.
pub struct Sweep {
    plan: Plan,
    folder: PathBuf,
    dataset: Dataset,
    /// What was to be done when it was opened: a combination for each run.
    pending: Vec<(usize, Id)>,
}

impl Sweep {
    /// Check every combination, and look what of them is done in `folder`, which is made if it does not exist.
    ///
    /// # Errors
    /// A combination cannot be run; the folder cannot be used, or has parts of another program; it was cancelled.
    pub fn open(plan: Plan, folder: &Path, settings: &Settings<'_>) -> Result<Self, SweepError> {
        let runs = identified(&plan, settings)?;
        if let Some(file) = dataset::stranger(folder) {
            return Err(SweepError::Stranger(file));
        }
        let io = |error| OutputError::writing(folder, error);
        directory_or_none(folder)?;
        std::fs::create_dir_all(folder).map_err(io)?;
        let journal = folder.join(dataset::JOURNAL);
        let journal = Journal::open(&journal).map_err(|error| match error {
            JournalError::InUse => SweepError::InUse(folder.to_path_buf()),
            JournalError::Io(error) => OutputError::writing(&journal, error).into(),
        })?;
        let mut first: BTreeMap<Id, usize> = BTreeMap::new();
        for &(index, id) in &runs {
            first.entry(id).or_insert(index);
        }
        let is_first = |&&(index, id): &&(usize, Id)| first.get(&id) == Some(&index);
        let pending = runs.iter().filter(|(_, id)| !journal.has(id)).filter(is_first).copied().collect();
        let dataset = Dataset::new(&plan, runs, journal);
        Ok(Self { plan, folder: folder.to_path_buf(), dataset, pending })
    }

    /// Rows of the finished data set.
    pub fn rows(&self) -> usize {
        self.dataset.rows()
    }

    /// Runs that are still to be done.
    pub fn pending(&self) -> usize {
        self.tasks().len()
    }

    /// The folder of the results.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Do what is still to be done. The tables have all that is done, however it ends.
    ///
    /// # Errors
    /// Runs failed; the folder cannot be written; it was cancelled.
    pub fn run(&mut self, settings: &Settings<'_>) -> Result<(), SweepError> {
        self.begin()?;
        // A disk that is full ends the sweep, not only the run.
        let stop = AtomicBool::new(false);
        let shared = Mutex::new((&mut self.dataset, Vec::new(), None, 0));
        let (plan, folder) = (&self.plan, &self.folder);
        let work = |&(index, id): &(usize, Id)| {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let result = plan.record(index, id, settings.cancel);
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let (dataset, failed, broken, done) = &mut *shared;
            match result {
                Ok(entry) => match dataset.add(&entry, folder) {
                    Ok(()) => *done += 1,
                    Err(error) => {
                        stop.store(true, Ordering::Relaxed);
                        broken.get_or_insert(error);
                    }
                },
                Err(RunError::Cancelled) => {}
                Err(error) => failed.push((index, error.to_string())),
            }
            (settings.progress)(*done);
        };
        in_parallel(settings.jobs, settings.cancel, &self.pending, work);
        let (dataset, mut failed, broken, _) = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = broken {
            return Err(error.into());
        }
        dataset.write_changed(folder)?;
        if settings.cancel.load(Ordering::Relaxed) {
            return Err(SweepError::Cancelled);
        }
        failed.sort();
        match failed.first() {
            Some((_, first)) => Err(SweepError::Runs(failed.len(), first.clone())),
            None => Ok(()),
        }
    }

    /// The combinations that are still to be done, for [`Plan::run`].
    pub fn tasks(&self) -> Vec<usize> {
        self.pending.iter().filter(|(_, id)| !self.dataset.has(id)).map(|(index, _)| *index).collect()
    }

    /// Begin the tables, for runs that are done elsewhere and then added.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn begin(&mut self) -> Result<(), OutputError> {
        self.dataset.write_all(&self.folder)
    }

    /// Add what [`Plan::run`] made of one of [`tasks`](Self::tasks), perhaps in another process. What is there already
    /// is left as it is.
    ///
    /// # Errors
    /// It is of another plan or of another version of the program; the folder cannot be written.
    pub fn add(&mut self, run: &[u8]) -> Result<(), SweepError> {
        let entry: Entry = serde_json::from_slice(run).map_err(|error| SweepError::Runs(1, error.to_string()))?;
        if self.dataset.has(&entry.run) {
            return Ok(());
        }
        if !self.dataset.wants(&entry.run) {
            let message = "it is of another plan, or of another version of dovetail";
            return Err(SweepError::Runs(1, format!("{}: {message}", entry.run)));
        }
        Ok(self.dataset.add(&entry, &self.folder)?)
    }

    /// Write what the tables lack of what was added.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn end(&mut self) -> Result<(), OutputError> {
        self.dataset.write_changed(&self.folder)
    }

    /// Hand over `runs` and `groups`, as far as they are done.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn tables(&self, to: &mut dyn Tables) -> Result<(), OutputError> {
        self.dataset.tables(to)
    }
}

/// The runs of a plan: the number of the combination, and which run it is.
fn identified(plan: &Plan, settings: &Settings<'_>) -> Result<Vec<(usize, Id)>, SweepError> {
    let all: Vec<usize> = (0..plan.combinations()).collect();
    let wrong = AtomicBool::new(false);
    let found = in_parallel(settings.jobs, settings.cancel, &all, |&index| {
        if wrong.load(Ordering::Relaxed) {
            return Ok(None);
        }
        plan.identified(index).inspect_err(|_| wrong.store(true, Ordering::Relaxed))
    });
    let mut runs = Vec::new();
    for one in found {
        match one {
            None => return Err(SweepError::Cancelled),
            Some(Ok(run)) => runs.extend(run),
            Some(Err(error)) => return Err(error.into()),
        }
    }
    Ok(runs)
}
