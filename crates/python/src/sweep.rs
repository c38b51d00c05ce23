//! Sweeps: the runs of a plan, here or in other processes, and their tables.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dovetail_experiment::scenario::beside;
use dovetail_experiment::sweep;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::background::{Watch, in_background, reading};
use crate::error::{Wrong, guarded};
use crate::run::{Given, thread_count};
use crate::table::{Table, Wanted};
use crate::values::path;

/// The plan of a sweep that was read.
#[pyclass(frozen, module = "dovetail._native")]
pub struct Plan {
    name: String,
    text: String,
    folder: PathBuf,
    plan: sweep::Plan,
}

impl Plan {
    fn read(name: String, text: String, folder: PathBuf) -> Result<Self, Wrong> {
        let plan = sweep::Plan::parse(&name, &text, &folder)?;
        Ok(Self { name, text, folder, plan })
    }
}

#[pymethods]
impl Plan {
    /// From a path, a text or a dict, whose files are looked for in the current folder; or, as `source` gives it, from
    /// a name, a text and a folder.
    #[new]
    #[pyo3(signature = (plan, text=None, folder=None))]
    fn new(py: Python<'_>, plan: &Bound<'_, PyAny>, text: Option<String>, folder: Option<PathBuf>) -> PyResult<Self> {
        if let (Some(text), Some(folder)) = (text, folder) {
            let name: String = plan.extract()?;
            return reading(py, || Self::read(name, text, folder));
        }
        let given = Given::new(plan, "plan")?;
        reading(py, || match given {
            Given::Text(name, text) => {
                let folder = std::env::current_dir().map_err(|error| Wrong::new("RunError", error))?;
                Self::read(name.to_string(), text, folder)
            }
            Given::File(path) => {
                let path = PathBuf::from(path);
                let text = sweep::Plan::text(&path)?;
                // As seen from everywhere: workers of a cluster may have other current folders.
                let here = std::env::current_dir().map_err(|error| Wrong::new("RunError", error))?;
                let folder = here.join(beside(&path));
                Self::read(path.display().to_string(), text, folder)
            }
        })
    }

    /// Its name, text and folder: what another process needs to read it.
    #[getter]
    fn source(&self) -> (String, String, PathBuf) {
        (self.name.clone(), self.text.clone(), self.folder.clone())
    }

    /// Run the combination of this number: what `Sweep.add` takes.
    fn run<'py>(&self, py: Python<'py>, task: usize) -> PyResult<Bound<'py, PyBytes>> {
        let run = in_background(py, None, |watch: &Watch<'_>| Ok(self.plan.run(task, watch.cancel)?))?;
        Ok(PyBytes::new(py, &run))
    }
}

/// A plan and the folder of its results, which is this program's until `tables` was called.
#[pyclass(frozen, module = "dovetail._native")]
pub struct Sweep {
    sweep: Mutex<Option<sweep::Sweep>>,
    /// How many rows the table of runs will have.
    #[pyo3(get)]
    rows: usize,
}

impl Sweep {
    fn open(&self) -> MutexGuard<'_, Option<sweep::Sweep>> {
        self.sweep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Do this with it, if its tables were not taken.
    fn with<T>(&self, work: impl FnOnce(&mut sweep::Sweep) -> Result<T, Wrong>) -> Result<T, Wrong> {
        match self.open().as_mut() {
            Some(sweep) => work(sweep),
            None => Err(Wrong::argument("the sweep has ended")),
        }
    }
}

#[pymethods]
impl Sweep {
    #[new]
    fn new(py: Python<'_>, plan: &Plan, out: &Bound<'_, PyAny>, jobs: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let out = path(out, "out")?;
        let jobs = thread_count(jobs, "jobs")?;
        let Plan { name, text, folder, .. } = plan;
        let (name, text, folder) = (name.clone(), text.clone(), folder.clone());
        let own = reading(py, move || Ok(sweep::Plan::parse(&name, &text, &folder)?))?;
        in_background(py, None, |watch: &Watch<'_>| {
            let settings = sweep::Settings { jobs, cancel: watch.cancel, progress: &|_| () };
            let sweep = sweep::Sweep::open(own, &out, &settings)?;
            Ok(Self { rows: sweep.rows(), sweep: Mutex::new(Some(sweep)) })
        })
    }

    /// The numbers of the combinations that are still to be run.
    fn tasks(&self) -> PyResult<Vec<usize>> {
        Ok(self.with(|sweep| Ok(sweep.tasks()))?)
    }

    /// Do what is still to be done, here.
    fn run(&self, py: Python<'_>, jobs: Option<&Bound<'_, PyAny>>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let jobs = thread_count(jobs, "jobs")?;
        in_background(py, progress, |watch: &Watch<'_>| {
            self.with(|sweep| {
                watch.total(sweep.pending() as f64);
                let progress = |done: usize| watch.done(done as u64);
                Ok(sweep.run(&sweep::Settings { jobs, cancel: watch.cancel, progress: &progress })?)
            })
        })
    }

    /// Begin the tables for runs that are added.
    fn begin(&self, py: Python<'_>) -> PyResult<()> {
        Ok(py.detach(|| self.with(|sweep| Ok(sweep.begin().map_err(sweep::SweepError::from)?)))?)
    }

    /// Add what `Plan.run` made of a task.
    fn add(&self, py: Python<'_>, run: &[u8]) -> PyResult<()> {
        Ok(py.detach(|| self.with(|sweep| Ok(sweep.add(run)?)))?)
    }

    /// Write what was added.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        Ok(py.detach(|| self.with(|sweep| Ok(sweep.end().map_err(sweep::SweepError::from)?)))?)
    }

    /// Give the folder up.
    fn close(&self) {
        self.open().take();
    }

    /// The tables of runs and groups. The folder is given up.
    fn tables(&self, py: Python<'_>) -> PyResult<(Table, Table)> {
        let taken = self.open().take();
        let table = |sweep: &sweep::Sweep, name: &str| {
            let mut wanted = Wanted::new(name);
            sweep.tables(&mut wanted).map_err(sweep::SweepError::from)?;
            wanted.found().unwrap_or_else(|| Err(Wrong::new("InternalError", "there is no such table")))
        };
        let both = py.detach(|| {
            guarded(|| match &taken {
                Some(sweep) => Ok((table(sweep, "runs")?, table(sweep, "groups")?)),
                None => Err(Wrong::argument("the sweep has ended")),
            })
        });
        Ok(both??)
    }
}
