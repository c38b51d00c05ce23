//! The same input through several schedulers.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use dovetail_sched::catalog::Parameter;
use dovetail_sched::composition::{self, parameters};
use dovetail_sched::{DROPPED_AT_HEAD, DropReason, Scheduler, Shape, Spec, SpecError, build_all, catalog};
use dovetail_sim::record::{Latencies, PacketLog, PacketOutcome, Shortfall};
use dovetail_sim::{
    Change, End, Estimate, Metrics, MetricsOptions, Options, Outcome, Pipeline, RunResult, SimError, Workload,
    simulate, simulate_all,
};
use dovetail_units::{Duration, Time};

pub use dovetail_sched::cost::PredictionError;
pub use dovetail_sim::record::{Fairness, LatencySummary, ShareRow};

use crate::behind::{FlowBehind, Watch};
use crate::entrances::Entrances;
use crate::scenario::{Scenario, ScenarioError, nearest, unknown};

/// With more flows than this the Gini index over time, whose cost grows with them, is left out.
pub const MOST_GINI_FLOWS: usize = 1000;

/// What is wrong with a scheduler that is the same as one before it.
pub(crate) fn twice(before: &Spec, again: &Spec) -> String {
    let again = if before == again { "named twice".into() } else { format!("the same as {before}") };
    format!("it is {again}, and would give the same twice")
}

/// How a comparison is carried out; nothing here changes its results.
pub struct Settings<'a> {
    /// Runs at the same time, at least 1.
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
    /// A scheduler's description, or a parameter change, is wrong.
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
        ScenarioError::new("", with_hint(&error)).about(error.wrong()).into()
    }
}

impl From<ScenarioError> for RunError {
    fn from(error: ScenarioError) -> Self {
        Self::Spec(Box::new(error))
    }
}

/// What is wrong, with the nearest right name if one is near.
pub(crate) fn with_hint(error: &SpecError) -> String {
    match nearest(error.wrong(), error.known().iter().copied()) {
        Some(name) => format!("{error}; did you mean {name:?}?"),
        None => error.to_string(),
    }
}

/// What one scheduler made of the input.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The scheduler.
    pub scheduler: Spec,
    /// Packets in all, and how the run ended.
    pub outcome: Outcome,
    /// Time during which the system was not empty.
    pub nonempty: Duration,
    /// In pipeline order.
    pub resources: Vec<ResourceTotal>,
    /// In the order of the input.
    pub flows: Vec<FlowTotal>,
    /// Length of the recording intervals.
    pub interval: Duration,
    /// The intervals in which something was in the system.
    pub intervals: Vec<Interval>,
    /// Whether there were too many intervals to keep.
    pub truncated: bool,
    /// Fairness among flows that were backlogged together; `None` if no two ever were for a whole interval.
    pub fairness: Option<Fairness>,
    /// Part of its fair share that a backlogged flow is promised, and since when (seconds): alpha where the scheduler
    /// has that, else 1.
    pub promises: Vec<(f64, f64)>,
    /// The worst shortfall of a backlogged flow below what it is promised, if that did not change.
    pub shortfall: Option<Shortfall>,
    /// All latencies.
    pub latencies: Latencies,
    /// The first packets' ways, in order of arrival.
    pub packets: Vec<PacketWay>,
    /// Service of these packets, resource by resource.
    services: Vec<Option<Service>>,
    /// The order in which they entered the first resource or bypassed it.
    entrances: Vec<Option<u64>>,
}

impl Recorded {
    /// Give up the ways of the packets, to save memory: a run has many.
    pub fn forget_packets(&mut self) {
        (self.packets, self.services, self.entrances) = (Vec::new(), Vec::new(), Vec::new());
    }

    /// Part of its fair share that a backlogged flow is promised; `None` if it changed during the run.
    pub fn promised(&self) -> Option<f64> {
        constant(&self.promises)
    }

    /// Service of the `packet`-th packet that was kept on a resource, if it got any.
    pub fn service(&self, packet: usize, resource: usize) -> Option<Service> {
        self.services[packet * self.resources.len() + resource]
    }

    /// How many of the packets that were kept the scheduler had handed out before this one, if it came to that.
    pub fn entrance(&self, packet: usize) -> Option<u64> {
        self.entrances.get(packet).copied().flatten()
    }
}

/// A packet on a server.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// When it began.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// On which server.
    pub server: u32,
}

/// A resource over the whole run.
#[derive(Clone, Debug)]
pub struct ResourceTotal {
    /// Its name.
    pub name: String,
    /// Parallel servers.
    pub servers: u32,
    /// Service time over all servers.
    pub busy: Duration,
    /// Busy time given a non-empty system, 0 to 1.
    pub utilization: f64,
}

/// A flow over the whole run.
#[derive(Clone, Debug)]
pub struct FlowTotal {
    /// Its name.
    pub name: String,
    /// Its group.
    pub group: String,
    /// Its weight.
    pub weight: f64,
    /// Its weight on each resource, for schedulers that look at them one by one.
    pub weights: Vec<f64>,
    /// Packets that arrived.
    pub offered: u64,
    /// Packets that left the last resource.
    pub delivered: u64,
    /// Packets refused on arrival, in the order of `DropReason::ALL`.
    pub refused: [u64; DropReason::ALL.len()],
    /// Packets lost between resources.
    pub dropped: u64,
    /// Packets that the scheduler dropped while they waited.
    pub dropped_waiting: u64,
    /// Packets in the system at the end.
    pub unfinished: u64,
    /// Bytes that arrived.
    pub bytes_offered: u64,
    /// Bytes that left the last resource.
    pub bytes: u64,
    /// Seconds of service on each resource, over all servers.
    pub service: Vec<f64>,
    /// Seconds that packets lost between resources would have needed on each resource from there on.
    pub lost_service: Vec<f64>,
    /// Seconds of service on the packets' dominant resources.
    pub dominant_service: f64,
    /// Mean dominant time of its packets, seconds.
    pub mean_dominant_time: f64,
    /// Seconds with at least one packet in the system.
    pub backlogged: f64,
    /// How far it was behind the fair fluid, and behind what is promised to it.
    pub behind: FlowBehind,
    /// Latencies of its packets.
    pub latency: Option<LatencySummary>,
    /// How far predictions of its times were off on each resource; `None` where the truth was told.
    pub prediction: Vec<Option<PredictionError>>,
}

impl FlowTotal {
    /// Dominant service per second of a run of this makespan.
    pub fn dominant_share(&self, makespan_s: f64) -> f64 {
        if makespan_s > 0.0 { self.dominant_service / makespan_s } else { 0.0 }
    }
}

/// One interval in which something was in the system.
#[derive(Clone, Debug)]
pub struct Interval {
    /// When it begins, seconds.
    pub start: f64,
    /// Its length, seconds.
    pub length: f64,
    /// Busy part of each resource, 0 to 1.
    pub utilization: Vec<f64>,
    /// Seconds with something in the system.
    pub nonempty: f64,
    /// Integral of the fair dominant share of a flow of weight 1, seconds.
    pub fair: f64,
    /// The Gini index of each resource against an ideal fluid at the interval's end, seconds; `None` with more than
    /// [`MOST_GINI_FLOWS`] flows.
    pub gini: Option<Vec<f64>>,
    /// The flows that had packets in the system.
    pub shares: Vec<ShareRow>,
}

/// What became of one packet.
#[derive(Clone, Debug)]
pub struct PacketWay {
    /// Its flow.
    pub flow: u32,
    /// Its length in bytes.
    pub size: u32,
    /// When it came.
    pub arrival: Time,
    /// `delivered`, `unfinished`, the reason of its refusal, `aqm-head` or `after-processing`.
    pub outcome: &'static str,
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
    with_resources!(scenario.resources(), M => compare_over::<M>(scenario, schedulers, settings))
}

/// A scheduler that is not in the catalogue.
pub trait Own {
    /// What results call it.
    fn name(&self) -> &str;
    /// A new one for this number of resources, without flows.
    fn build<const M: usize>(&self) -> Box<dyn Scheduler<M, u32>>;
}

/// Put the scenario's input through a scheduler of the caller's own, on the calling thread. It takes none of the
/// scenario's parameter changes.
///
/// # Errors
/// The run fails, or is cancelled.
pub fn run_own(scenario: &Scenario, own: &impl Own, settings: &Settings<'_>) -> Result<Recorded, RunError> {
    with_resources!(scenario.resources(), M => {
        let (workload, pipeline) = (scenario.workload::<M>(), scenario.pipeline::<M>());
        let spec = Spec { name: own.name().to_string(), parameters: Vec::new() };
        let mut scheduler = own.build::<M>();
        record(scenario, &workload, &pipeline, &spec, settings, &AtomicU64::new(0), |recorder, options| {
            simulate(&workload, &pipeline, scheduler.as_mut(), recorder, options)
        })
    })
}

/// Check that these schedulers exist, are named once, fit the scenario and take its parameter changes. Changes that
/// none of them takes, but a scheduler that the scenario names, are left out; they are checked as if it ran, and
/// returned in words.
pub fn check(scenario: &Scenario, schedulers: &[Spec]) -> Result<Vec<String>, RunError> {
    with_resources!(scenario.resources(), M => check_over::<M>(scenario, schedulers))
}

fn check_over<const M: usize>(scenario: &Scenario, schedulers: &[Spec]) -> Result<Vec<String>, RunError> {
    if schedulers.is_empty() {
        let message = "no scheduler to run: name one with --scheduler, or schedulers = [...] in the scenario";
        return Err(ScenarioError::new("", message).into());
    }
    let named = scenario.schedulers();
    for (index, spec) in schedulers.iter().enumerate() {
        check_one::<M>(scenario, spec)?;
        if let Some(before) = schedulers[..index].iter().find(|before| composition::same(before, spec)) {
            let message = twice(before, spec);
            // Others than the scenario's own are not its mistake.
            let error = match named == schedulers {
                true => scenario.scheduler_error(spec, &message),
                false => ScenarioError::new(&format!("scheduler {spec}"), message),
            };
            return Err(error.about(&spec.to_string()).into());
        }
    }
    let mut left_out = Vec::new();
    for (index, (_, parameter, value)) in scenario.changes().iter().enumerate() {
        let takes = |spec: &&Spec| has_parameter(spec, parameter);
        match (schedulers.iter().any(|spec| takes(&spec)), named.iter().find(takes)) {
            (true, _) => {}
            (false, Some(other)) => {
                check_one::<M>(scenario, other)?;
                left_out.push(format!(
                    "the change {parameter}={value} is left out: it is for {other}, which is not compared"
                ));
            }
            (false, None) => {
                let message = nobody_takes(parameter, schedulers);
                return Err(scenario.change_error(index, &message).into());
            }
        }
    }
    Ok(left_out)
}

/// That the scheduler exists, fits the scenario and takes the changes of its parameters.
fn check_one<const M: usize>(scenario: &Scenario, spec: &Spec) -> Result<(), RunError> {
    let place = |e: SpecError| scenario.scheduler_error(spec, &with_hint(&e)).about(e.wrong());
    let change = |index: usize, e: SpecError| scenario.change_error(index, &with_hint(&e)).about(e.wrong());
    let mut schedulers = build_all::<M, u32>(spec, shape::<M>(scenario)).map_err(place)?;
    for (index, (_, parameter, value)) in scenario.changes().iter().enumerate() {
        if has_parameter(spec, parameter) {
            schedulers.set(Time::ZERO, parameter, value).map_err(|e| change(index, e))?;
        }
    }
    Ok(())
}

/// Why a parameter cannot change that none of these schedulers has.
fn nobody_takes(parameter: &str, schedulers: &[Spec]) -> String {
    let all: BTreeSet<&str> = settable(catalog().iter().flat_map(|e| e.parameters)).collect();
    if !all.contains(parameter) {
        return unknown("parameter that can change", parameter, &all.into_iter().collect::<Vec<_>>());
    }
    let own: BTreeSet<&str> = schedulers.iter().flat_map(|s| parameters(&s.name)).flat_map(settable).collect();
    let names: Vec<&str> = schedulers.iter().map(|s| s.name.as_str()).collect();
    let can = match own.is_empty() {
        true => String::new(),
        false => format!("; what can change there: {}", own.into_iter().collect::<Vec<_>>().join(", ")),
    };
    format!("{parameter} changes nothing: none of the compared schedulers ({}) has it{can}", names.join(", "))
}

fn settable<'a>(parameters: impl IntoIterator<Item = &'a Parameter>) -> impl Iterator<Item = &'a str> {
    parameters.into_iter().filter(|p| p.settable).map(|p| p.name)
}

fn compare_over<const M: usize>(
    scenario: &Scenario,
    schedulers: &[Spec],
    settings: &Settings<'_>,
) -> Result<Vec<Recorded>, RunError> {
    check_over::<M>(scenario, schedulers)?;
    let (workload, pipeline) = (scenario.workload::<M>(), scenario.pipeline::<M>());
    let (next, done) = (AtomicUsize::new(0), AtomicU64::new(0));
    let results: Vec<Mutex<Option<Result<Recorded, RunError>>>> = schedulers.iter().map(|_| Mutex::new(None)).collect();
    let worker = || {
        while let Some(spec) = schedulers.get(next.fetch_add(1, Ordering::Relaxed)) {
            let index = schedulers.iter().position(|s| std::ptr::eq(s, spec)).unwrap_or(0);
            let result = run_one(scenario, &workload, &pipeline, spec, settings, &done);
            if let Ok(mut slot) = results[index].lock() {
                *slot = Some(result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..settings.threads.min(schedulers.len()) {
            scope.spawn(worker);
        }
        worker();
    });
    let taken = results.into_iter().map(|m| m.into_inner().ok().flatten().unwrap_or(Err(RunError::Cancelled)));
    taken.collect()
}

fn run_one<const M: usize>(
    scenario: &Scenario,
    workload: &Workload<M>,
    pipeline: &Pipeline<M>,
    spec: &Spec,
    settings: &Settings<'_>,
    done: &AtomicU64,
) -> Result<Recorded, RunError> {
    let mut schedulers = build_all::<M, u32>(spec, shape::<M>(scenario))?;
    record(scenario, workload, pipeline, spec, settings, done, |recorder, options| {
        simulate_all(workload, pipeline, &mut schedulers, recorder, options)
    })
}

/// What hears of a run.
type Recorders<const M: usize> = (Metrics<M>, ((PacketLog<M>, Entrances), Watch<M>));

/// Record what `run` does, of the scheduler that `spec` names.
fn record<const M: usize>(
    scenario: &Scenario,
    workload: &Workload<M>,
    pipeline: &Pipeline<M>,
    spec: &Spec,
    settings: &Settings<'_>,
    done: &AtomicU64,
    run: impl FnOnce(&mut Recorders<M>, Options<'_>) -> Result<Outcome, SimError>,
) -> Result<Recorded, RunError> {
    let failed = |error| RunError::Sim { scheduler: spec.to_string(), error };
    let mut seen = 0;
    let mut report = |tally: &dovetail_sim::Tally| {
        let total = done.fetch_add(tally.offered - seen, Ordering::Relaxed) + tally.offered - seen;
        seen = tally.offered;
        (settings.progress)(total);
    };
    let changes = changes_for(scenario, spec);
    let options = Options {
        seed: scenario.seed(),
        horizon: scenario.until(),
        changes: changes.clone(),
        cancel: Some(settings.cancel),
        progress: Some(&mut report),
    };
    let gini = workload.flows.len() <= MOST_GINI_FLOWS;
    let metrics = MetricsOptions { interval: scenario.interval(), gini, ..MetricsOptions::default() };
    let kept = (PacketLog::new(settings.packet_log), Entrances::new(settings.packet_log));
    let watch = Watch::new(workload, pipeline, &promises(spec, &changes));
    let mut recorder = (Metrics::new(workload, pipeline, metrics), (kept, watch));
    let outcome = run(&mut recorder, options).map_err(failed)?;
    if outcome.end == End::Cancelled {
        return Err(RunError::Cancelled);
    }
    let (metrics, ((log, entrances), watch)) = recorder;
    let mut recorded = recorded(spec, promises(spec, &changes), workload, metrics.finish(outcome), &log);
    for (flow, behind) in recorded.flows.iter_mut().zip(watch.finish()) {
        flow.behind = behind;
    }
    Ok(Recorded { entrances: entrances.into_order(), ..recorded })
}

fn shape<const M: usize>(scenario: &Scenario) -> Shape {
    Shape { servers: scenario.pipeline::<M>().servers().iter().fold(0, |sum: u32, &s| sum.saturating_add(s)) }
}

fn has_parameter(spec: &Spec, parameter: &str) -> bool {
    parameters(&spec.name).into_iter().flatten().any(|p| p.name == parameter)
}

fn changes_for(scenario: &Scenario, spec: &Spec) -> Vec<Change> {
    let all = scenario.changes().into_iter();
    let own = all.filter(|(_, parameter, _)| has_parameter(spec, parameter));
    own.map(|(at, parameter, value)| Change { at, parameter, value }).collect()
}

/// Part of its fair share that a scheduler promises a flow, and since when: alpha where it has that, else all of it.
fn promises(spec: &Spec, changes: &[Change]) -> Vec<(f64, f64)> {
    const ALPHA: &str = "alpha";
    let parameters = parameters(&spec.name).into_iter().flatten();
    let default = parameters.filter(|p| p.name == ALPHA).map(|p| p.default).next();
    let written = spec.parameters.iter().find(|(key, _)| key == ALPHA).map(|(_, value)| value.as_str());
    let first = written.or(default).and_then(|value| value.parse().ok()).unwrap_or(1.0);
    let later = changes.iter().filter(|c| c.parameter == ALPHA);
    let mut steps = vec![(0.0, first)];
    steps.extend(later.filter_map(|c| Some((c.at.as_secs_f64(), c.value.parse().ok()?))));
    steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    steps
}

fn constant(promises: &[(f64, f64)]) -> Option<f64> {
    match promises {
        [(_, part)] => Some(*part),
        _ => None,
    }
}

/// Whether the scheduler in front of a further resource sees the length that a packet has there, so that nobody uses
/// what is predicted of it.
fn sees_new_length(spec: &Spec, estimate: &Estimate, resource: usize) -> bool {
    let separate = composition::parts(&spec.name).is_ok_and(|parts| parts.len() > 1);
    separate && resource > 0 && matches!(estimate, Estimate::Resized { .. })
}

fn recorded<const M: usize>(
    spec: &Spec,
    promises: Vec<(f64, f64)>,
    workload: &Workload<M>,
    result: RunResult<M>,
    log: &PacketLog<M>,
) -> Recorded {
    let servers: Vec<f64> = result.resources.iter().map(|r| f64::from(r.servers)).collect();
    let fairness = result.fairness(0..u64::MAX);
    let shortfall = constant(&promises).and_then(|part| result.shortfall(part, 0..u64::MAX));
    let intervals = (result.series.iter())
        .map(|(row, shares)| {
            let length = row.length.as_secs_f64();
            let utilization = row.busy.iter().zip(&servers).map(|(b, s)| b.as_secs_f64() / (s * length)).collect();
            Interval {
                start: result.series.start(row.index).as_secs_f64(),
                length,
                utilization,
                nonempty: row.nonempty.as_secs_f64(),
                fair: row.fair,
                gini: row.gini.map(|gini| gini.to_vec()),
                shares: shares.to_vec(),
            }
        })
        .collect();
    let flows = (workload.flows.iter().zip(&result.flows))
        .map(|(flow, total)| FlowTotal {
            name: flow.name.clone(),
            group: flow.group.clone(),
            weight: flow.weight.as_f64(),
            weights: flow.weights().iter().map(|weight| weight.as_f64()).collect(),
            offered: total.offered,
            delivered: total.delivered,
            refused: total.refused,
            dropped: total.dropped,
            dropped_waiting: total.dropped_waiting,
            unfinished: total.unfinished,
            bytes_offered: total.bytes_offered,
            bytes: total.bytes_delivered,
            service: total.service.iter().map(|s| s.as_secs_f64()).collect(),
            lost_service: total.lost.iter().map(|s| s.as_secs_f64()).collect(),
            dominant_service: total.dominant_service,
            mean_dominant_time: total.mean_dominant_time,
            backlogged: total.backlogged.as_secs_f64(),
            behind: FlowBehind::default(),
            latency: total.latency,
            prediction: (0..M)
                .map(|r| total.prediction[r].filter(|_| !sees_new_length(spec, &flow.estimate[r], r)))
                .collect(),
        })
        .collect();
    Recorded {
        scheduler: spec.clone(),
        outcome: result.outcome,
        nonempty: result.nonempty,
        resources: (result.resources.iter())
            .map(|r| ResourceTotal {
                name: r.name.clone(),
                servers: r.servers,
                busy: r.busy,
                utilization: r.utilization,
            })
            .collect(),
        flows,
        interval: result.series.interval,
        intervals,
        truncated: result.series.truncated,
        fairness,
        promises,
        shortfall,
        latencies: result.latencies.unwrap_or_default(),
        packets: log.records().iter().map(packet_way).collect(),
        services: log.records().iter().flat_map(services).collect(),
        entrances: Vec::new(),
    }
}

fn packet_way<const M: usize>(record: &dovetail_sim::record::PacketRecord<M>) -> PacketWay {
    PacketWay {
        flow: record.packet.flow,
        size: record.packet.size,
        arrival: record.packet.arrival,
        outcome: match record.outcome {
            PacketOutcome::Delivered => "delivered",
            PacketOutcome::Refused(reason) => reason.name(),
            PacketOutcome::Dropped(0) => DROPPED_AT_HEAD,
            PacketOutcome::Dropped(_) => "after-processing",
            PacketOutcome::Unfinished => "unfinished",
        },
    }
}

fn services<const M: usize>(record: &dovetail_sim::record::PacketRecord<M>) -> [Option<Service>; M] {
    std::array::from_fn(|r| {
        Some(Service { start: record.started[r]?, end: record.finished[r]?, server: record.server[r] })
    })
}
