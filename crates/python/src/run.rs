//! Runs, advice and reproductions.

use std::path::PathBuf;

use dovetail_config::Span;
use dovetail_experiment::advise as advice;
use dovetail_experiment::advise::goal::Goal;
use dovetail_experiment::columns::Tables;
use dovetail_experiment::compare::{Own, Settings, check, compare, run_own};
use dovetail_experiment::network::{self, NetworkScenario, NetworkSummary};
use dovetail_experiment::output::OutputError;
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::scenario::{Opened, Scenario, open, open_text};
use dovetail_experiment::summary::Summary;
use dovetail_experiment::{family, tables};
use dovetail_papers as papers;
use dovetail_sched::Spec;
use dovetail_sched::catalog::find;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::background::{Watch, in_background, reading, threads};
use crate::discipline::Scripted;
use crate::error::{Wrong, guarded};
use crate::nested::calling;
use crate::table::{Table, Wanted};
use crate::values::{given, if_converted, path, text, toml_table, toml_value, unlike, whole, wrong};

/// What is to run: `Text` has the name that messages call it.
pub enum Given {
    /// By its path.
    File(String),
    /// Its text.
    Text(&'static str, String),
}

impl Given {
    /// A path; a text if it has several lines; or a dict. `what` is the argument.
    pub fn new(scenario: &Bound<'_, PyAny>, what: &str) -> PyResult<Self> {
        if let Ok(dict) = scenario.cast::<PyDict>() {
            let table = toml_table(dict, "")?;
            let text = toml::to_string(&table).map_err(|error| Wrong::new("InputError", error))?;
            return Ok(Self::Text("<dict>", text));
        }
        if let Ok(text) = scenario.cast::<PyString>() {
            let text = text.to_string();
            if text.contains('\n') {
                return Ok(Self::Text("<text>", text));
            }
        }
        let path: Option<PathBuf> = if_converted(scenario.py(), scenario.extract())?;
        match path.and_then(|path| path.into_os_string().into_string().ok()).filter(|path| !path.is_empty()) {
            Some(path) => Ok(Self::File(path)),
            None => Err(unlike(scenario, what, "a path, a text of TOML with several lines, or a dict")),
        }
    }

    fn open(&self, overrides: &[String], profile: Option<&str>) -> Result<Opened, Wrong> {
        Ok(match self {
            Self::File(path) => open(path, overrides, profile)?,
            Self::Text(..) if profile.is_some() => {
                return Err(Wrong::argument(
                    "profile: it is for captures; a scenario says itself what its box is like",
                ));
            }
            Self::Text(name, text) => open_text(name, text, overrides, PathBuf::new())?,
        })
    }
}

/// Keys and values as `--set` takes them.
fn overrides(given: &Bound<'_, PyDict>) -> PyResult<Vec<String>> {
    let one = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let Ok(key) = key.extract::<String>() else {
            return Err(wrong(&key, |found| Wrong::argument(format!("{found}: no name of a key"))));
        };
        if key.trim().is_empty() || key.contains('=') {
            return Err(Wrong::argument(format!("{key:?}: expected a key such as seed or resource.link.rate")).into());
        }
        Ok(format!("{key}={}", toml_value(&value, &key)?))
    };
    given.iter().map(one).collect()
}

/// One that is compared.
enum Compared {
    Named(Spec),
    Own(Scripted),
}

fn compared(given: &Bound<'_, PyAny>) -> PyResult<Vec<Compared>> {
    let one = |scheduler: &Bound<'_, PyAny>| match scheduler.extract::<String>() {
        Ok(text) => Ok(Compared::Named(text.parse().map_err(Wrong::from)?)),
        Err(_) => Scripted::new(scheduler).map(Compared::Own),
    };
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        return given.try_iter()?.map(|scheduler| one(&scheduler?)).collect();
    }
    if let Some(several) = given.extract::<String>().ok().as_deref().and_then(several) {
        return Err(several.into());
    }
    Ok(vec![one(given)?])
}

/// What is wrong with a text such as `drfq, tradeoff`, each part of which is a scheduler.
fn several(text: &str) -> Option<Wrong> {
    let parts: Vec<&str> = text.split([',', ' ']).filter(|part| !part.is_empty()).collect();
    let is_scheduler = |part: &&str| part.parse().is_ok_and(|spec: Spec| find(&spec.name).is_some());
    let message = || format!("{text:?}: several schedulers are a list; did you mean {parts:?}?");
    (parts.len() > 1 && parts.iter().all(is_scheduler)).then(|| Wrong::new("SchedulerError", message()).about(text))
}

/// What was recorded.
enum Made {
    Pipeline(Vec<Recorded>),
    Network(Box<NetworkScenario>, Vec<network::Runs>, NetworkSummary),
}

/// The results of runs.
#[pyclass(frozen, module = "dovetail._native")]
pub struct Runs {
    made: Made,
    /// The document of `dovetail run --json`.
    #[pyo3(get)]
    json: String,
    /// What there is to say about the input.
    #[pyo3(get)]
    notes: Vec<String>,
}

#[pymethods]
impl Runs {
    /// The table of this name: flows, utilization, shares, packets; of a network flows and hops. None if there is none.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Option<Table>> {
        let table = py.detach(|| {
            guarded(|| {
                let mut wanted = Wanted::new(name);
                self.hand_over(&mut wanted).map_err(|error| Wrong::new("InternalError", error))?;
                wanted.found().transpose()
            })
        });
        Ok(table??)
    }
}

impl Runs {
    fn hand_over(&self, to: &mut dyn Tables) -> Result<(), OutputError> {
        match &self.made {
            Made::Pipeline(runs) => tables::write(to, runs),
            Made::Network(scenario, runs, summary) => network::tables(to, scenario, runs, summary),
        }
    }
}

/// Compare schedulers on one input.
#[pyfunction]
#[pyo3(signature = (scenario, overrides, schedulers, profile, threads, packets, progress))]
#[allow(clippy::too_many_arguments, reason = "the package's own sources give each a name")]
pub fn run(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    overrides: &Bound<'_, PyDict>,
    schedulers: Option<&Bound<'_, PyAny>>,
    profile: Option<&Bound<'_, PyAny>>,
    threads: Option<&Bound<'_, PyAny>>,
    packets: &Bound<'_, PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Runs> {
    let (given, overrides) = (Given::new(scenario, "scenario")?, self::overrides(overrides)?);
    let (profile, threads) = (if_text(profile, "profile")?, thread_count(threads, "threads")?);
    let packets = whole(packets, "packets", "packets", 0..=1 << 40)? as usize;
    let schedulers = schedulers.map(compared).transpose()?;
    // Read first, by itself: what follows depends on what it is.
    let opened = reading(py, move || given.open(&overrides, profile.as_deref()))?;
    match opened {
        Opened::Pipeline(scenario) => {
            let own = |scenario: &Scenario| scenario.schedulers().into_iter().map(Compared::Named).collect();
            let schedulers = schedulers.unwrap_or_else(|| own(&scenario));
            pipeline(py, &scenario, &schedulers, threads, packets, progress)
        }
        Opened::Network(scenario) => of_network(py, scenario, schedulers, threads, progress),
    }
}

/// A text that may be left out.
fn if_text(given: Option<&Bound<'_, PyAny>>, name: &str) -> PyResult<Option<String>> {
    given.map(|given| text(given, name)).transpose()
}

/// How many runs at the same time, by the argument of this name.
pub fn thread_count(given: Option<&Bound<'_, PyAny>>, name: &str) -> PyResult<usize> {
    Ok(threads(given.map(|n| whole(n, name, name, 1..=1024)).transpose()?))
}

fn pipeline(
    py: Python<'_>,
    scenario: &Scenario,
    schedulers: &[Compared],
    threads: usize,
    packets: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Runs> {
    let mut named: Vec<Spec> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for scheduler in schedulers {
        let name = match scheduler {
            Compared::Named(spec) => {
                named.push(spec.clone());
                continue;
            }
            Compared::Own(own) => own.name().to_string(),
        };
        if names.contains(&name) || named.iter().any(|spec| spec.to_string() == name) {
            let message = format!("two schedulers have the name {name:?}: give one of them another `name`");
            return Err(Wrong::new("SchedulerError", message).about(&name).into());
        }
        names.push(name);
    }
    let packet_log = packets / schedulers.len().max(1);
    let telling = progress.as_ref().map(|progress| progress.clone_ref(py));
    // Without disciplines of Python also if nothing is named: that is said to be wrong.
    let (mut recorded, notes) = match named.is_empty() && !schedulers.is_empty() {
        true => (Vec::new(), Vec::new()),
        false => in_background(py, telling, |watch: &Watch<'_>| {
            watch.total(scenario.expected_packets() * schedulers.len() as f64);
            let notes = check(scenario, &named)?;
            let settings =
                Settings { threads, cancel: watch.cancel, progress: &|packets| watch.done(packets), packet_log };
            Ok((compare(scenario, &named, &settings)?, notes))
        })?,
    };
    for (place, scheduler) in schedulers.iter().enumerate() {
        if let Compared::Own(own) = scheduler {
            recorded.insert(place, with_own(py, scenario, own, packet_log, progress.as_ref())?);
        }
    }
    let json = py.detach(|| guarded(|| Summary::new(scenario, &recorded).to_json()));
    let json = json?.map_err(|error| Wrong::new("RunError", error))?;
    Ok(Runs { made: Made::Pipeline(recorded), json, notes })
}

/// Here and now, under Python's lock: what the discipline does belongs to this thread, and Ctrl-C ends it.
fn with_own(
    py: Python<'_>,
    scenario: &Scenario,
    own: &Scripted,
    packet_log: usize,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Recorded> {
    let total = scenario.expected_packets();
    let tell = |packets: u64| {
        let told = Python::attach(|py| {
            py.check_signals()?;
            let total = if total.is_finite() { total as u64 } else { 0 };
            progress.map_or(Ok(()), |f| calling(|| f.call1(py, (packets, total)).map(drop)))
        });
        told.unwrap_or_else(|error| own.raised.note(error));
    };
    let settings = Settings { threads: 1, cancel: &own.raised.any, progress: &tell, packet_log };
    let result = guarded(|| run_own(scenario, own, &settings));
    own.raised.raise()?;
    py.check_signals()?;
    Ok(result?.map_err(Wrong::from)?)
}

fn of_network(
    py: Python<'_>,
    scenario: Box<NetworkScenario>,
    schedulers: Option<Vec<Compared>>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Runs> {
    let mut specs = Vec::new();
    for scheduler in schedulers.into_iter().flatten() {
        match scheduler {
            Compared::Named(spec) => specs.push(spec),
            Compared::Own(own) => {
                let message = format!("{}: disciplines of Python run in pipelines, not in networks", own.name());
                return Err(Wrong::new("SchedulerError", message).about(own.name()).into());
            }
        }
    }
    let specs = if specs.is_empty() { scenario.schedulers() } else { specs };
    let (json, runs, summary) = in_background(py, progress, |watch: &Watch<'_>| {
        let schemes = scenario.schemes(&specs)?;
        let settings = network::Settings { threads, cancel: watch.cancel, progress: &|packets| watch.done(packets) };
        let runs = network::compare(&scenario, &schemes, &settings)?;
        let summary = NetworkSummary::new(&scenario, &runs)?;
        let json = serde_json::to_string_pretty(&summary).map_err(|error| Wrong::new("RunError", error))?;
        Ok((json, runs, summary))
    })?;
    Ok(Runs { made: Made::Network(scenario, runs, summary), json, notes: Vec::new() })
}

/// The document of `dovetail advise --json`, and its text.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the package's own sources give each a name")]
pub fn advise(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    overrides: &Bound<'_, PyDict>,
    today: &Bound<'_, PyAny>,
    target: &Bound<'_, PyAny>,
    protect: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    profile: Option<&Bound<'_, PyAny>>,
    threads: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, String)> {
    let (given, overrides) = (Given::new(scenario, "scenario")?, self::overrides(overrides)?);
    let today: Spec = text(today, "today")?.parse().map_err(Wrong::from)?;
    let target: Vec<String> = self::given(target, "target", "a text such as \"cpu 95 %\", or a list of such")?;
    let protect = protect.map(|(group, time)| Ok::<_, PyErr>((text(&group, "protect")?, text(&time, "p99")?)));
    let goals = goals(&target, protect.transpose()?)?;
    let (profile, threads) = (if_text(profile, "profile")?, thread_count(threads, "threads")?);
    let opened = reading(py, move || given.open(&overrides, profile.as_deref()))?;
    in_background(py, progress, |watch: &Watch<'_>| {
        let progress = |packets| watch.done(packets);
        let written = |error: serde_json::Error| Wrong::new("RunError", error);
        match opened {
            Opened::Pipeline(scenario) => {
                watch.total(scenario.expected_packets() * advice::most_runs() as f64);
                let settings = Settings { threads, cancel: watch.cancel, progress: &progress, packet_log: 0 };
                let found = advice::advise(&scenario, &today, &goals, &settings)?;
                Ok((serde_json::to_string_pretty(&found).map_err(written)?, advice::text(&found, 100)))
            }
            Opened::Network(_) if !goals.is_empty() => {
                Err(Wrong::argument("target and protect are for pipelines ([[resource]]): this is a network ([[hop]])"))
            }
            Opened::Network(network) => {
                let settings = network::Settings { threads, cancel: watch.cancel, progress: &progress };
                let found = advice::network::advise(&network, &today, &settings)?;
                Ok((serde_json::to_string_pretty(&found).map_err(written)?, advice::network::text(&found, 100)))
            }
        }
    })
}

fn goals(target: &[String], protect: Option<(String, String)>) -> Result<Vec<Goal>, Wrong> {
    let used = |text: &String| text.parse().map_err(|what| Wrong::argument(format!("target: {what}")).about(text));
    let mut goals = target.iter().map(used).collect::<Result<Vec<Goal>, _>>()?;
    if let Some((group, time)) = protect {
        let Span(p99) = time.parse().map_err(|what| Wrong::argument(format!("p99: {what}")).about(&time))?;
        goals.push(Goal::Protect { group, p99 });
    }
    Ok(goals)
}

/// The document of `dovetail reproduce --json`, and the pictures by file name.
#[pyfunction]
pub fn reproduce(
    py: Python<'_>,
    ids: &Bound<'_, PyAny>,
    capture: Option<&Bound<'_, PyAny>>,
    load: Option<&Bound<'_, PyAny>>,
    threads: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Vec<(String, String)>)> {
    let ids: Vec<String> = given(ids, "ids", "texts")?;
    let capture = capture.map(|capture| path(capture, "capture")).transpose()?;
    let load: Option<f64> = load.map(|load| given(load, "load", "a number above 0")).transpose()?;
    if let Some(load) = load.filter(|load| !(load.is_finite() && *load > 0.0)) {
        return Err(Wrong::argument(format!("load: {load}: expected a number above 0"))
            .about(&load.to_string())
            .into());
    }
    let threads = thread_count(threads, "threads")?;
    in_background(py, progress, |watch: &Watch<'_>| {
        let settings = papers::Settings {
            threads,
            cancel: watch.cancel,
            progress: &|_, packets| watch.done(packets),
            through: &|_, _| (),
            capture: capture.as_deref(),
            load,
            wrong: false,
        };
        let result = papers::run(&ids, &settings)?;
        Ok((result.to_json(), result.pictures))
    })
}

/// The document of `dovetail schedulers --json`.
#[pyfunction]
pub fn schedulers(name: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
    let name = if_text(name, "name")?;
    let document =
        guarded(|| family::document(name.as_deref()))?.map_err(|error| Wrong::of_input("SchedulerError", &error))?;
    Ok(serde_json::to_string_pretty(&document).map_err(|error| Wrong::new("InternalError", error))?)
}
