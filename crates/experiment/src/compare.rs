//! The same input through several schedulers.

use std::cell::Cell;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dovetail_sched::composition::parts;
use dovetail_sched::promise::Alpha;
use dovetail_sched::tradeoff;
use dovetail_sched::{Scheduler, Spec, SpecError, build_all};
use dovetail_sim::record::PacketLog;
use dovetail_sim::{
    Change, Deferred, End, Flow, Metrics, MetricsOptions, Options, Outcome, Pipeline, SimError, Workload, deferred,
    simulate, simulate_all,
};
use dovetail_units::Part;

use crate::behind::Watch;
use crate::check::{check_over, has_parameter, of_spec, shape};
use crate::entrances::Entrances;
pub use crate::memory::Kept;
use crate::memory::Load;
use crate::parallel::{Threads, in_parallel};
use crate::recorded::{MOST_GINI_FLOWS, Recorded, recorded};
use crate::scenario::{Scenario, ScenarioError};
use crate::steered::Steering;

/// How a comparison is carried out; nothing here changes its results.
pub struct Settings<'a> {
    /// Threads to use, at least 1. One that no run needs records what another one runs.
    pub threads: usize,
    /// When it becomes true, the comparison ends with [`RunError::Cancelled`].
    pub cancel: &'a AtomicBool,
    /// Called from time to time with the packets that arrived so far, all runs together.
    pub progress: &'a (dyn Fn(u64) + Sync),
    /// Keep the ways of this many packets of each run.
    pub packet_log: usize,
}

/// Why there is no result.
#[derive(Clone, Debug)]
pub enum RunError {
    /// A scheduler's description, or a parameter change, is wrong; or there is not enough memory.
    Spec(Box<ScenarioError>),
    /// The run failed.
    Sim {
        /// Under which scheduler.
        scheduler: String,
        /// What happened.
        error: SimError,
    },
    /// It was cancelled.
    Cancelled,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spec(error) => error.fmt(f),
            Self::Sim { scheduler, error } => write!(f, "{scheduler}: {error}"),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<SpecError> for RunError {
    fn from(error: SpecError) -> Self {
        of_spec(&error, |message| ScenarioError::new("", message)).into()
    }
}

impl From<ScenarioError> for RunError {
    fn from(error: ScenarioError) -> Self {
        Self::Spec(Box::new(error))
    }
}

/// Run `body` with the constant `$m` equal to `$resources`, which is 1 to 4.
macro_rules! with_resources {
    ($resources:expr, $m:ident => $body:expr) => {
        match $resources {
            1 => {
                const $m: usize = 1;
                $body
            }
            2 => {
                const $m: usize = 2;
                $body
            }
            3 => {
                const $m: usize = 3;
                $body
            }
            _ => {
                const $m: usize = 4;
                $body
            }
        }
    };
}

/// Put the scenario's input through each of `schedulers`, several at a time; results in their order, the same for any
/// number of threads.
pub fn compare(scenario: &Scenario, schedulers: &[Spec], settings: &Settings<'_>) -> Result<Vec<Recorded>, RunError> {
    compare_each(scenario, schedulers, settings, Kept::All, |run| run)
}

/// As [`compare`], of each run only what `keep` makes of it, which takes as much memory as `kept` says: the runs need
/// not be in memory together. Unless all is kept, intervals have shares only of flows that were backlogged throughout;
/// if little is, they have no [Gini index](crate::recorded::Interval::gini).
// All that is generic, so that callers are compiled without the schedulers and the simulator.
pub fn compare_each<T: Send>(
    scenario: &Scenario,
    schedulers: &[Spec],
    settings: &Settings<'_>,
    kept: Kept,
    keep: impl Fn(Recorded) -> T + Sync,
) -> Result<Vec<T>, RunError> {
    let places: Vec<Mutex<Option<T>>> = schedulers.iter().map(|_| Mutex::default()).collect();
    let put = |place: usize, run: Recorded| {
        let value = keep(run);
        if let Ok(mut place) = places[place].lock() {
            *place = Some(value);
        }
    };
    run_each(scenario, schedulers, settings, kept, &put)?;
    places.into_iter().map(|place| place.into_inner().ok().flatten().ok_or(RunError::Cancelled)).collect()
}

fn run_each(
    scenario: &Scenario,
    schedulers: &[Spec],
    settings: &Settings<'_>,
    kept: Kept,
    put: &(dyn Fn(usize, Recorded) + Sync),
) -> Result<(), RunError> {
    with_resources!(scenario.resources(), M => compare_over::<M>(scenario, schedulers, settings, kept, put))
}

/// A scheduler that is not in the catalogue.
pub trait Own {
    /// What results call it.
    fn name(&self) -> &str;
    /// A new one for this number of resources, without flows.
    fn build<const M: usize>(&self) -> Box<dyn Scheduler<M, u32>>;
}

/// Put the scenario's input through a scheduler of the caller's own, which stays on the calling thread. It takes none
/// of the scenario's parameter changes.
///
/// # Errors
/// The run fails, or is cancelled.
pub fn run_own(scenario: &Scenario, own: &impl Own, settings: &Settings<'_>) -> Result<Recorded, RunError> {
    with_resources!(scenario.resources(), M => {
        let (workload, pipeline) = (scenario.workload::<M>(), scenario.pipeline::<M>());
        let spec = Spec { name: own.name().to_string(), parameters: Vec::new() };
        let mut scheduler = own.build::<M>();
        let recording = Recording::of(1, settings, Kept::All);
        record(scenario, &workload, &pipeline, &spec, &recording, |recorder, options| {
            simulate(&workload, &pipeline, scheduler.as_mut(), recorder, options)
        })
    })
}

/// Check that these schedulers exist, are named once, fit the scenario and take its parameter changes. Changes that
/// none of them takes, but a scheduler that the scenario names, are left out; they are checked as if it ran, and
/// returned in words. So are alphas of classes and flows that none of these takes.
pub fn check(scenario: &Scenario, schedulers: &[Spec]) -> Result<Vec<String>, RunError> {
    with_resources!(scenario.resources(), M => check_over::<M>(scenario, schedulers))
}

/// `put` hears of every run, with the place of its scheduler among `schedulers`.
fn compare_over<const M: usize>(
    scenario: &Scenario,
    schedulers: &[Spec],
    settings: &Settings<'_>,
    kept: Kept,
    put: &(dyn Fn(usize, Recorded) + Sync),
) -> Result<(), RunError> {
    check_over::<M>(scenario, schedulers)?;
    let (workload, pipeline) = (scenario.workload::<M>(), scenario.pipeline::<M>());
    let together = settings.threads.min(schedulers.len());
    Load::of(&workload, scenario.expected_packets(), (schedulers.len(), together), kept).check()?;
    let recording = Recording::of(schedulers.len(), settings, kept);
    let mut places: Vec<(usize, &Spec)> = schedulers.iter().enumerate().collect();
    // The slowest first, so that it is not left to run alone in the end.
    places.sort_by_key(|(_, spec)| spec.name != tradeoff::ENTRY.name);
    let one = |&(place, spec): &(usize, &Spec)| {
        let run = run_one(scenario, &workload, &pipeline, spec, &recording)?;
        put(place, run);
        recording.threads.give_back();
        Ok(())
    };
    let results = in_parallel(settings.threads, settings.cancel, &places, one);
    results.into_iter().try_for_each(|result| result.unwrap_or(Err(RunError::Cancelled)))
}

fn run_one<const M: usize>(
    scenario: &Scenario,
    workload: &Workload<M>,
    pipeline: &Pipeline<M>,
    spec: &Spec,
    recording: &Recording<'_>,
) -> Result<Recorded, RunError> {
    let names = scenario.names_in_values();
    let numbered = names.number_all(spec)?;
    let schedulers = build_all::<M, u32>(&numbered, shape::<M>(scenario))?;
    let mut steering = None;
    let mut recorded = record(scenario, workload, pipeline, spec, recording, |recorder, options| {
        // Gone before the results take memory.
        let mut schedulers = schedulers;
        let outcome = simulate_all(workload, pipeline, &mut schedulers, recorder, options);
        steering = schedulers.entrance.scheduler.steering();
        outcome
    })?;
    recorded.steering = steering.and_then(|told| Steering::of(told, &names));
    Ok(recorded)
}

/// What is told of the runs under way, and what is recorded of them.
struct Recording<'a> {
    settings: &'a Settings<'a>,
    /// Packets that arrived so far in all runs.
    done: AtomicU64,
    /// Each run has one.
    threads: Threads,
    /// What of a run is wanted.
    kept: Kept,
}

impl<'a> Recording<'a> {
    fn of(runs: usize, settings: &'a Settings<'a>, kept: Kept) -> Self {
        Self { settings, done: AtomicU64::new(0), threads: Threads::new(settings.threads, runs), kept }
    }
}

/// Record what `run` does, of the scheduler that `spec` names.
fn record<const M: usize>(
    scenario: &Scenario,
    workload: &Workload<M>,
    pipeline: &Pipeline<M>,
    spec: &Spec,
    &Recording { settings, ref done, ref threads, kept: wanted }: &Recording<'_>,
    run: impl FnOnce(&mut Deferred<'_, M>, Options<'_>) -> Result<Outcome, SimError>,
) -> Result<Recorded, RunError> {
    let failed = |error| RunError::Sim { scheduler: spec.to_string(), error };
    let mut seen = 0;
    let mut report = |tally: &dovetail_sim::Tally| {
        let total = done.fetch_add(tally.offered - seen, Ordering::Relaxed) + tally.offered - seen;
        seen = tally.offered;
        (settings.progress)(total);
    };
    let changes = changes_for(scenario, spec)?;
    let options = Options {
        seed: scenario.seed(),
        horizon: scenario.until(),
        changes: changes.clone(),
        cancel: Some(settings.cancel),
        progress: Some(&mut report),
    };
    let metrics = MetricsOptions {
        interval: scenario.interval(),
        all_shares: wanted == Kept::All,
        gini: wanted != Kept::Little && workload.flows.len() <= MOST_GINI_FLOWS,
        ..MetricsOptions::default()
    };
    let kept = (PacketLog::new(settings.packet_log), Entrances::new(settings.packet_log));
    let own = own_parts(&scenario.names_in_values().number_all(spec)?, workload);
    let watch = Watch::new(workload, pipeline, spec, &promises(spec, &changes), &own);
    let mut recorder = (Metrics::new(workload, pipeline, metrics), (kept, watch));
    let taken = Cell::new(false);
    let take_thread = || {
        taken.set(threads.take());
        taken.get()
    };
    let outcome = deferred(&mut recorder, &take_thread, |recorder| run(recorder, options));
    if taken.get() {
        threads.give_back();
    }
    let outcome = outcome.map_err(failed)?;
    if outcome.end == End::Cancelled {
        return Err(RunError::Cancelled);
    }
    let (metrics, ((log, entrances), watch)) = recorder;
    let kept = (&log, entrances.into_order());
    let behind = watch.finish();
    let result = metrics.finish(outcome);
    Ok(recorded(spec, (promises(spec, &changes), own), workload, result, kept, behind))
}

fn changes_for(scenario: &Scenario, spec: &Spec) -> Result<Vec<Change>, SpecError> {
    let all = scenario.changes().into_iter();
    let own = all.filter(|(_, parameter, _)| has_parameter(spec, parameter));
    let names = scenario.names_in_values();
    own.map(|(at, parameter, value)| {
        let value = names.number(&parameter, &value)?;
        Ok(Change { at, parameter, value })
    })
    .collect()
}

/// The scheduler's alpha, if it has one.
fn alpha(spec: &Spec) -> Option<&'static Alpha> {
    parts(&spec.name).unwrap_or_default().iter().find_map(|entry| entry.fact::<Alpha>())
}

/// The flows' own parts of their fair shares, where the scheduler takes them: of a protected class, all of them. Empty
/// if no flow has one.
fn own_parts<const M: usize>(numbered: &Spec, workload: &Workload<M>) -> Vec<Option<f64>> {
    let takes = alpha(numbered).is_some();
    let protected = numbered.value("protect").and_then(|value| value.split_once(' ')?.0.parse::<u32>().ok());
    let part = |flow: &Flow<M>| match protected == Some(flow.class) {
        true => Some(Part::WHOLE),
        false => flow.alpha.filter(|_| takes),
    };
    match workload.flows.iter().any(|flow| part(flow).is_some()) {
        true => workload.flows.iter().map(|flow| part(flow).map(Part::as_f64)).collect(),
        false => Vec::new(),
    }
}

/// Part of its fair share that a scheduler promises a flow, and since when: alpha where it has that, else all of it.
fn promises(spec: &Spec, changes: &[Change]) -> Vec<(f64, f64)> {
    let alpha = alpha(spec);
    let mut steps = vec![(0.0, alpha.and_then(|alpha| alpha.of(spec)).unwrap_or(1.0))];
    let later = changes.iter().filter(|c| alpha.is_some_and(|alpha| alpha.0.name == c.parameter));
    steps.extend(later.filter_map(|c| Some((c.at.as_secs_f64(), c.value.parse().ok()?))));
    steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    steps
}
