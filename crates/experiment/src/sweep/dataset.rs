//! The tables of a sweep, in parts that are written again when they have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::Id;
use super::journal::{Entry, Journal};
use super::plan::Plan;
use super::rows::Cell;
use crate::columns::{Column, Kind, Push, Tables, Value};
use crate::output::{Output, OutputError};

/// The journal's file.
pub const JOURNAL: &str = "journal.jsonl";
/// The tables, which are folders of parts.
pub const TABLES: [&str; 2] = ["runs", "groups"];
/// Runs of a part.
const PART: usize = 1000;

/// What is done of a plan.
pub struct Dataset {
    journal: Journal,
    /// In the order of the plan.
    runs: Vec<(Id, Vec<Cell>)>,
    /// Parts that a run is in.
    parts: BTreeMap<Id, Vec<usize>>,
    /// Rows of each part that are done, and that are to be.
    counts: Vec<(usize, usize)>,
    /// Parts whose files lack something.
    changed: BTreeSet<usize>,
    /// The columns of each table.
    columns: [Vec<Column>; 2],
}

impl Dataset {
    /// Of these runs of a plan.
    pub fn new(plan: &Plan, runs: Vec<(usize, Id)>, journal: Journal) -> Self {
        let own = [vec![Column::new("run", Kind::Text)], plan.columns()].concat();
        let columns = plan.measured.each_ref().map(|columns| [own.clone(), columns.clone()].concat());
        let cells = |(index, id)| (id, plan.point(index).map(|point| point.cells).unwrap_or_default());
        let runs: Vec<(Id, Vec<Cell>)> = runs.into_iter().map(cells).collect();
        let mut parts: BTreeMap<Id, Vec<usize>> = BTreeMap::new();
        let mut counts = vec![(0, 0); runs.len().div_ceil(PART)];
        for (index, (id, _)) in runs.iter().enumerate() {
            parts.entry(*id).or_default().push(index / PART);
            counts[index / PART].0 += usize::from(journal.has(id));
            counts[index / PART].1 += 1;
        }
        Self { journal, runs, parts, counts, changed: BTreeSet::new(), columns }
    }

    /// How many rows it has when all is done.
    pub fn rows(&self) -> usize {
        self.runs.len()
    }

    /// Whether this run is done.
    pub fn has(&self, run: &Id) -> bool {
        self.journal.has(run)
    }

    /// Whether this run is of the plan.
    pub fn wants(&self, run: &Id) -> bool {
        self.parts.contains_key(run)
    }

    /// Add a run. Its parts are written when they are whole, and now and then before: when the number of their rows is
    /// a power of two.
    pub fn add(&mut self, entry: &Entry, folder: &Path) -> Result<(), OutputError> {
        let path = folder.join(JOURNAL);
        self.journal.add(entry).map_err(|error| OutputError::writing(&path, error))?;
        for part in self.parts.get(&entry.run).cloned().unwrap_or_default() {
            self.changed.insert(part);
            self.counts[part].0 += 1;
            let (done, all) = self.counts[part];
            if done == all || done.is_power_of_two() {
                self.write(part, folder)?;
            }
        }
        Ok(())
    }

    /// Write all parts anew, and remove those of other plans.
    pub fn write_all(&mut self, folder: &Path) -> Result<(), OutputError> {
        for table in TABLES {
            let folder = folder.join(table);
            fs::create_dir_all(&folder).map_err(|error| OutputError::writing(&folder, error))?;
            let entries = fs::read_dir(&folder).map_err(|error| OutputError::writing(&folder, error))?;
            for entry in entries.flatten() {
                let number = number_of(&entry.file_name());
                if number.is_some_and(|part| self.counts.get(part).is_none_or(|&(done, _)| done == 0)) {
                    fs::remove_file(entry.path()).map_err(|error| OutputError::writing(&entry.path(), error))?;
                }
            }
        }
        self.changed = (0..self.counts.len()).filter(|&part| self.counts[part].0 > 0).collect();
        self.write_changed(folder)
    }

    /// Write the parts whose files lack something.
    pub fn write_changed(&mut self, folder: &Path) -> Result<(), OutputError> {
        for part in self.changed.clone() {
            self.write(part, folder)?;
        }
        Ok(())
    }

    fn write(&mut self, part: usize, folder: &Path) -> Result<(), OutputError> {
        let (name, file) = (format!("part-{part:05}"), file_of(part));
        let end = self.runs.len().min((part + 1) * PART);
        for (index, table) in TABLES.into_iter().enumerate() {
            let mut output = Output::create(folder.join(table), &[&file], &[])?;
            self.table(&mut output, &name, index, &self.runs[part * PART..end])?;
            output.commit()?;
        }
        self.changed.remove(&part);
        Ok(())
    }

    /// Hand over both tables whole.
    pub fn tables(&self, to: &mut dyn Tables) -> Result<(), OutputError> {
        TABLES.into_iter().enumerate().try_for_each(|(index, name)| self.table(to, name, index, &self.runs))
    }

    fn table(
        &self,
        to: &mut dyn Tables,
        name: &str,
        index: usize,
        runs: &[(Id, Vec<Cell>)],
    ) -> Result<(), OutputError> {
        to.table(name, &self.columns[index], &mut |push| {
            for (id, cells) in runs {
                let read = self.journal.read(id).map_err(|error| OutputError::writing(Path::new(JOURNAL), error))?;
                let Some(entry) = read else { continue };
                let measured = if index == 0 { vec![entry.row] } else { entry.groups };
                measured.iter().try_for_each(|measured| row(push, id, cells, measured))?;
            }
            Ok(())
        })
    }
}

/// The file of a part.
fn file_of(part: usize) -> String {
    format!("part-{part:05}.parquet")
}

/// Which part has this file, if one has.
fn number_of(file: &OsStr) -> Option<usize> {
    let name = file.to_str()?;
    let number = name.strip_prefix("part-")?.strip_suffix(".parquet")?.parse().ok()?;
    (file_of(number) == name).then_some(number)
}

/// A file that would be written over or removed although no sweep wrote it: one that is named as a part, in a folder
/// without a journal. Other programs name their files so, too.
pub fn stranger(folder: &Path) -> Option<PathBuf> {
    if folder.join(JOURNAL).exists() {
        return None;
    }
    let entries = TABLES.into_iter().filter_map(|table| fs::read_dir(folder.join(table)).ok()).flatten().flatten();
    entries.filter(|entry| number_of(&entry.file_name()).is_some()).map(|entry| entry.path()).min()
}

fn row(push: Push<'_>, id: &Id, own: &[Cell], measured: &[Cell]) -> Result<(), OutputError> {
    let id = id.to_string();
    let values: Vec<Value<'_>> =
        [Value::Text(&id[..16])].into_iter().chain(own.iter().chain(measured).map(Cell::value)).collect();
    push(&values)
}
