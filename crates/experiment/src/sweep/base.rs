//! What a plan varies: the text of a scenario.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use dovetail_config::override_table;
use dovetail_sched::Spec;
use dovetail_sched::aqm::scheme;
use dovetail_sched::catalog::additions;
use sha1::{Digest, Sha1};
use toml::{Table, Value};

use super::Id;
use super::journal::Entry;
use super::rows::{self, Line};
use crate::columns::Column;
use crate::compare::{Kept, RunError, Settings, check, compare_each};
use crate::network::{self, NetworkScenario, NetworkSummary, is_network};
use crate::scenario::{Given, PROFILES, Profile, Scenario, ScenarioError, beside, open_input};
use crate::summary::Run;

/// The program's sources and the libraries that it is built with: what else decides the results of a run.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("DOVETAIL_SOURCES"));

/// The text, and where it is from.
pub struct Base {
    /// What messages call it.
    label: String,
    text: String,
    /// The same, read.
    table: Table,
    folder: PathBuf,
    /// Overrides of every run.
    fixed: Vec<String>,
    network: bool,
    /// How the last capture was read that was, and a scenario that holds it.
    loaded: Mutex<Option<(String, Arc<Scenario>)>>,
    /// Digests of the captures' contents.
    digests: Mutex<BTreeMap<PathBuf, String>>,
}

/// A scenario of either kind with overrides.
pub enum Varied {
    /// A pipeline without its capture.
    Pipeline(Box<Scenario>),
    /// A network.
    Network(Box<NetworkScenario>),
}

impl Base {
    /// The scenario in this file.
    pub fn scenario(path: &Path) -> Result<Self, ScenarioError> {
        let label = path.display().to_string();
        let Given::Scenario(text) = open_input(&label)? else {
            return Err(ScenarioError::new(&label, "it is not a scenario; for a capture write capture = \"...\""));
        };
        Self::text(label, text, beside(path).to_path_buf())
    }

    /// The scenario in this table of a plan.
    pub fn table(plan: &str, table: &Table, folder: &Path) -> Result<Self, ScenarioError> {
        let label = format!("{plan} (scenario)");
        let text = toml::to_string(table).map_err(|error| ScenarioError::new(&label, error.to_string()))?;
        Self::text(label, text, folder.to_path_buf())
    }

    fn text(label: String, text: String, folder: PathBuf) -> Result<Self, ScenarioError> {
        let network = is_network(&text);
        let fixed = if network { vec!["seeds=1".to_string()] } else { Vec::new() };
        let base = Self { fixed, network, ..Self::of(label, text, folder)? };
        base.opens()
    }

    /// This capture, in a profile of this name or in this file. `keys` are overridden somewhere.
    pub fn capture(path: &Path, profile: Option<&str>, keys: &[String]) -> Result<Self, ScenarioError> {
        let label = path.display().to_string();
        if let Given::Scenario(_) = open_input(&label)? {
            return Err(ScenarioError::new(&label, "it is not a capture; for a scenario write scenario = \"...\""));
        }
        let profile = Profile::find(profile.unwrap_or(PROFILES[0]))?;
        let text = profile.text_for(&keys.iter().map(|key| format!("{key}=")).collect::<Vec<_>>());
        let absolute = std::path::absolute(path).map_err(|e| ScenarioError::new(&label, e.to_string()))?;
        let file = Value::String(absolute.to_string_lossy().into_owned());
        let base = Self::of(format!("profile {}", profile.name), text, PathBuf::new())?;
        let base = Self { fixed: vec![format!("trace.file={file}")], ..base };
        base.opens()
    }

    fn of(label: String, text: String, folder: PathBuf) -> Result<Self, ScenarioError> {
        let table = toml::from_str(&text).map_err(|error| ScenarioError::from_toml(&label, &text, &error))?;
        let (loaded, digests) = (Mutex::default(), Mutex::default());
        Ok(Self { label, text, table, folder, fixed: Vec::new(), network: false, loaded, digests })
    }

    /// That it can be run as it is, its capture included.
    fn opens(self) -> Result<Self, ScenarioError> {
        if let Varied::Pipeline(scenario) = self.varied(&[])? {
            self.loaded(*scenario, &[])?;
        }
        Ok(self)
    }

    /// The scenario as it was read last, if it replays a capture.
    pub fn replayed(&self) -> Option<Arc<Scenario>> {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.as_ref().map(|(_, scenario)| Arc::clone(scenario))
    }

    /// Seeds of the runs of a plan that names none.
    pub fn seeds(&self) -> Result<Vec<u64>, ScenarioError> {
        Ok(match self.network {
            true => NetworkScenario::parse(&self.label, &self.text, &[])?.seeds(),
            false => match self.varied(&[])? {
                Varied::Pipeline(scenario) => vec![scenario.seed()],
                Varied::Network(scenario) => vec![scenario.seed()],
            },
        })
    }

    /// Schedulers of the runs of a plan that names none.
    pub fn schedulers(&self) -> Result<Vec<Spec>, ScenarioError> {
        Ok(match self.varied(&[])? {
            Varied::Pipeline(scenario) => scenario.schedulers(),
            Varied::Network(scenario) => scenario.schedulers(),
        })
    }

    /// What messages call it.
    pub fn label(&self) -> &str {
        &self.label
    }

    fn all(&self, overrides: &[String]) -> Vec<String> {
        self.fixed.iter().chain(overrides).cloned().collect()
    }

    /// With these overrides.
    pub fn varied(&self, overrides: &[String]) -> Result<Varied, ScenarioError> {
        let quick = || {
            let text = self.overridden(overrides).ok().and_then(|table| toml::to_string(&table).ok())?;
            self.read(&text, &[]).ok()
        };
        // Only if something is wrong do lines matter.
        quick().map_or_else(|| self.read(&self.text, &self.all(overrides)), Ok)
    }

    fn read(&self, text: &str, overrides: &[String]) -> Result<Varied, ScenarioError> {
        let label = &self.label;
        Ok(match self.network {
            true => Varied::Network(Box::new(NetworkScenario::parse(label, text, overrides)?)),
            false => {
                let scenario = Scenario::unloaded(label, label, text, overrides, self.folder.clone())?;
                Varied::Pipeline(Box::new(scenario))
            }
        })
    }

    /// The parameters of this scheduler, or none if there is no such scheduler.
    pub fn parameters(&self, scheduler: &Spec) -> Vec<&'static str> {
        let parameters = match self.network {
            true => dovetail_sched::aqm::scheme::about(&scheduler.name).map(|(_, parameters)| parameters),
            false => None,
        };
        let parameters = parameters.or_else(|| dovetail_sched::composition::parameters(&scheduler.name));
        parameters.into_iter().flatten().map(|parameter| parameter.name).collect()
    }

    /// All that decides what the run of this scheduler comes to, as a digest.
    pub fn id(&self, varied: &Varied, overrides: &[String], scheduler: &Spec) -> Result<Id, ScenarioError> {
        let mut table = self.overridden(overrides)?;
        for said_otherwise in ["title", "schedulers"] {
            table.remove(said_otherwise);
        }
        if let Some(trace) = table.get_mut("trace").and_then(Value::as_table_mut) {
            trace.remove("file");
        }
        let capture = match varied {
            Varied::Pipeline(scenario) => scenario.capture_file().map(|file| self.digest(&file)).transpose()?,
            Varied::Network(_) => None,
        };
        let capture = capture.unwrap_or_default();
        let parts = scheme::parts(&scheduler.name).unwrap_or_default();
        let additions = additions().filter(|(name, _)| parts.contains(name));
        let revisions: String = additions.map(|(_, revision)| format!("{revision}\n")).collect();
        let text = format!("dovetail {VERSION}\n{revisions}scheduler {scheduler}\ncapture {capture}\n{table}");
        Ok(Id(Sha1::digest(text).into()))
    }

    fn overridden(&self, overrides: &[String]) -> Result<Table, ScenarioError> {
        override_table(self.table.clone(), &self.all(overrides))
    }

    fn digest(&self, capture: &Path) -> Result<String, ScenarioError> {
        let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(digest) = digests.get(capture) {
            return Ok(digest.clone());
        }
        let wrong = |error: std::io::Error| ScenarioError::new(&capture.display().to_string(), error.to_string());
        let (mut file, mut sum, mut piece) = (File::open(capture).map_err(wrong)?, Sha1::new(), vec![0; 1 << 16]);
        loop {
            match file.read(&mut piece).map_err(wrong)? {
                0 => break,
                length => sum.update(&piece[..length]),
            }
        }
        let digest = Id(sum.finalize().into()).to_string();
        digests.insert(capture.to_path_buf(), digest.clone());
        Ok(digest)
    }

    /// With its capture, which is read again only if the overrides have it read otherwise than last.
    fn loaded(&self, scenario: Scenario, overrides: &[String]) -> Result<Scenario, ScenarioError> {
        let Some(file) = scenario.capture_file() else { return Ok(scenario) };
        let is_stream = |file: &Path| file.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir());
        if file == Path::new("-") || is_stream(&file) {
            let message = "a sweep reads its capture more than once: expected a file, not standard input or a pipe";
            return Err(ScenarioError::new(&file.display().to_string(), message));
        }
        let table = self.overridden(overrides)?;
        let trace = |key: &str| table.get("trace").and_then(|trace| trace.get(key)).map(Value::to_string);
        let classes = table.get("class").and_then(Value::as_array).into_iter().flatten();
        let rules: Vec<Option<String>> = classes.map(|class| class.get("match").map(Value::to_string)).collect();
        let how = format!("{file:?} {:?} {:?} {rules:?}", trace("key"), trace("gap"));
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.as_ref().is_none_or(|(last, _)| *last != how) {
            *loaded = None;
            let all = self.all(overrides);
            let read = Scenario::parse(&self.label, &self.text, &all, self.folder.clone())?;
            *loaded = Some((how, Arc::new(read)));
        }
        let with_packets = loaded.as_ref().map(|(_, scenario)| Arc::clone(scenario));
        drop(loaded);
        with_packets.map_or(Ok(scenario.clone()), |other| scenario.loaded_as(&other))
    }

    /// That the scheduler can run there.
    pub fn takes(&self, varied: &Varied, scheduler: &Spec) -> Result<(), ScenarioError> {
        let schedulers = std::slice::from_ref(scheduler);
        match varied {
            Varied::Network(scenario) => scenario.schemes(schedulers).map(drop),
            Varied::Pipeline(scenario) => match check(scenario, schedulers) {
                Err(RunError::Spec(error)) => Err(*error),
                Err(other) => Err(ScenarioError::new("", other.to_string())),
                Ok(_) => Ok(()),
            },
        }
    }

    /// Run it.
    ///
    /// # Errors
    /// The run fails, or is cancelled.
    pub fn run(&self, id: Id, overrides: &[String], scheduler: &Spec, cancel: &AtomicBool) -> Result<Entry, RunError> {
        let schedulers = std::slice::from_ref(scheduler);
        let failed = |message: String| RunError::from(ScenarioError::new("", message));
        match self.varied(overrides)? {
            Varied::Pipeline(scenario) => {
                let scenario = self.loaded(*scenario, overrides)?;
                let settings = Settings { threads: 1, cancel, progress: &|_| (), packet_log: 0 };
                let runs = compare_each(&scenario, schedulers, &settings, Kept::Little, |run| Run::new(&run))?;
                let run = runs.first().ok_or(RunError::Cancelled)?;
                let groups = run.groups.iter().map(|group| rows::of_group(Some(group)).cells).collect();
                Ok(Entry { run: id, row: rows::of_run(&scenario.resource_names(), Some(run)).cells, groups })
            }
            Varied::Network(scenario) => {
                let schemes = scenario.schemes(schedulers)?;
                let settings = network::Settings { threads: 1, cancel, progress: &|_| () };
                let runs = network::compare(&scenario, &schemes, &settings)?;
                let summary = NetworkSummary::new(&scenario, &runs).map_err(|error| failed(error.to_string()))?;
                let run = summary.runs.first().ok_or(RunError::Cancelled)?;
                let groups = run.groups.iter().map(|group| rows::of_network_group(Some(group)).cells).collect();
                Ok(Entry { run: id, row: rows::of_network(&hops(&scenario), Some(run)).cells, groups })
            }
        }
    }

    /// That what comes of it stands in the same columns as what comes of the scenario as it is.
    pub fn like(&self, varied: &Varied, columns: &[Vec<Column>; 2]) -> Result<(), ScenarioError> {
        if self.measured(varied) == *columns {
            return Ok(());
        }
        let message = "its resources are not those of the other runs, so it would not fit into one table with them";
        Err(ScenarioError::new("", message))
    }

    /// The columns of what a run and a group come to.
    pub fn measured(&self, varied: &Varied) -> [Vec<Column>; 2] {
        let lines: [Line; 2] = match varied {
            Varied::Pipeline(scenario) => [rows::of_run(&scenario.resource_names(), None), rows::of_group(None)],
            Varied::Network(scenario) => [rows::of_network(&hops(scenario), None), rows::of_network_group(None)],
        };
        lines.map(|line| line.columns)
    }
}

fn hops(scenario: &NetworkScenario) -> Vec<String> {
    scenario.resources.iter().map(|resource| resource.name.clone()).collect()
}
