//! What one run gave.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use arrayvec::ArrayVec;
use dovetail_sched::composition;
use dovetail_sched::{DROPPED_AT_HEAD, DropReason, Spec};
use dovetail_sim::record::{self, FlowResult, Freed, Latencies, PacketLog, PacketOutcome, PacketRecord, Shortfall};
use dovetail_sim::{Estimate, Flow, FlowName, Outcome, RunResult, Workload};
use dovetail_units::{Duration, Time};

pub use dovetail_sched::cost::PredictionError;
pub use dovetail_sim::record::{Distribution, Fairness, LatencySummary, ShareRow, jain};

use crate::behind::FlowBehind;
use crate::scenario::MAX_RESOURCES;
use crate::steered::Steering;

/// With more flows than this the Gini index over time, whose cost grows with them, is left out.
pub const MOST_GINI_FLOWS: usize = 1000;

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
    pub flows: Arc<Vec<FlowTotal>>,
    /// Length of the recording intervals.
    pub interval: Duration,
    /// The intervals in which something was in the system.
    pub intervals: Vec<Interval>,
    /// Whether there were too many intervals to keep.
    pub truncated: bool,
    /// Fairness among flows that were backlogged together; `None` if no two ever were for a whole interval.
    pub fairness: Option<Fairness>,
    /// Part of its fair share that a backlogged flow without one of its own is promised, and since when (seconds):
    /// alpha where the scheduler has that, else 1.
    pub promises: Vec<(f64, f64)>,
    /// By flow, the part that it is promised instead, where the scheduler has an alpha; empty where no flow has one.
    pub own_promises: Vec<Option<f64>>,
    /// The worst shortfall of a backlogged flow below what it is promised, if that did not change.
    pub shortfall: Option<Shortfall>,
    /// What an alpha that adjusts itself came to.
    pub steering: Option<Steering>,
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

    /// Part of its fair share that a backlogged flow without one of its own is promised; `None` if it changed during
    /// the run.
    pub fn promised(&self) -> Option<f64> {
        constant(&self.promises)
    }

    /// Part of its fair share that this flow is promised while it is backlogged; `None` if it changed during the run.
    pub fn promised_to(&self, flow: usize) -> Option<f64> {
        self.own_promise(flow).or(self.promised())
    }

    /// Part of its fair share that this flow is promised instead of what all are.
    pub fn own_promise(&self, flow: usize) -> Option<f64> {
        self.own_promises.get(flow).copied().flatten()
    }

    /// Latencies of a flow's packets; `None` if none was delivered. O(packets of the flow).
    pub fn latency(&self, flow: usize) -> Option<LatencySummary> {
        self.latencies.of_flow(flow).summary()
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

/// What a flow is, whatever the scheduler.
#[derive(Clone, Debug)]
pub struct FlowFacts {
    /// Its name.
    pub name: FlowName,
    /// What it has in common with others.
    pub kind: Arc<FlowKind>,
}

impl Deref for FlowFacts {
    type Target = FlowKind;

    fn deref(&self) -> &FlowKind {
        &self.kind
    }
}

/// What flows of a kind have in common, in memory once.
#[derive(Clone, Debug)]
pub struct FlowKind {
    /// Their group.
    pub group: Arc<str>,
    /// Their weight.
    pub weight: f64,
    /// Their weight on each resource, where they differ, for schedulers that look at them one by one.
    pub weights: Option<PerResource<f64>>,
}

/// A value for each resource.
pub type PerResource<T> = ArrayVec<T, MAX_RESOURCES>;

/// The kinds that there are: flows that share their terms and their group are of one.
#[derive(Default)]
struct Kinds(BTreeMap<(usize, usize), Arc<FlowKind>>);

impl Kinds {
    fn facts<const M: usize>(&mut self, flow: &Flow<M>) -> FlowFacts {
        let kind = || FlowKind {
            group: Arc::clone(&flow.group),
            weight: flow.weight.as_f64(),
            weights: flow.weight_on.map(|on| on.iter().map(|weight| weight.as_f64()).collect()),
        };
        let shared = (Arc::as_ptr(&flow.terms).addr(), flow.group.as_ptr().addr());
        let kind = self.0.entry(shared).or_insert_with(|| Arc::new(kind()));
        FlowFacts { name: flow.name.clone(), kind: Arc::clone(kind) }
    }
}

impl FlowKind {
    /// The weight on this resource.
    pub fn weight_on(&self, resource: usize) -> f64 {
        self.weights.as_ref().and_then(|weights| weights.get(resource)).copied().unwrap_or(self.weight)
    }
}

/// A flow over the whole run.
#[derive(Clone, Debug)]
pub struct FlowTotal {
    /// What it is.
    facts: FlowFacts,
    /// Packets that arrived.
    pub offered: u64,
    /// Packets that left the last resource.
    pub delivered: u64,
    /// Packets in the system at the end.
    pub unfinished: u32,
    /// Bytes that arrived.
    pub bytes_offered: u64,
    /// Bytes that left the last resource.
    pub bytes: u64,
    /// Seconds of service on each resource, over all servers.
    pub service: PerResource<f64>,
    /// Seconds of service on the packets' dominant resources.
    pub dominant_service: f64,
    /// Mean dominant time of its packets, seconds.
    pub mean_dominant_time: f64,
    /// Seconds with at least one packet in the system.
    pub backlogged: f64,
    /// How far it was behind the fair fluid, and behind what is promised to it.
    pub behind: FlowBehind,
    /// Boxed, as few flows have any.
    losses: Option<Box<Losses>>,
    /// None where only the truth was told.
    predictions: Option<Box<PerResource<Option<PredictionError>>>>,
}

/// What became of a flow's packets that were lost.
#[derive(Clone, Debug)]
pub struct Losses {
    /// Packets refused on arrival, in the order of `DropReason::ALL`.
    pub refused: [u64; DropReason::ALL.len()],
    /// Packets lost between resources.
    pub dropped: u64,
    /// Packets that the scheduler dropped while they waited.
    pub dropped_waiting: u64,
    /// Seconds that the dropped ones would have needed on each resource from there on.
    pub service: PerResource<f64>,
}

impl<const M: usize> From<record::Losses<M>> for Losses {
    fn from(losses: record::Losses<M>) -> Self {
        let record::Losses { refused, dropped, dropped_waiting, service } = losses;
        Self { refused, dropped, dropped_waiting, service: service.iter().map(|s| s.as_secs_f64()).collect() }
    }
}

impl Deref for FlowTotal {
    type Target = FlowFacts;

    fn deref(&self) -> &FlowFacts {
        &self.facts
    }
}

impl FlowTotal {
    fn new<const M: usize>(
        facts: FlowFacts,
        total: FlowResult<M>,
        behind: FlowBehind,
        predictions: Option<Box<PerResource<Option<PredictionError>>>>,
    ) -> Self {
        let losses = total.losses();
        Self {
            facts,
            offered: total.offered,
            delivered: total.delivered,
            unfinished: total.unfinished,
            bytes_offered: total.bytes_offered,
            bytes: total.bytes_delivered,
            service: total.service.iter().map(|s| s.as_secs_f64()).collect(),
            dominant_service: total.dominant_service,
            mean_dominant_time: total.mean_dominant_time,
            backlogged: total.backlogged.as_secs_f64(),
            behind,
            losses: (losses.packets() > 0).then(|| Box::new(losses.into())),
            predictions,
        }
    }

    /// What it is.
    pub(crate) fn facts(&self) -> FlowFacts {
        self.facts.clone()
    }

    /// What was lost.
    pub fn losses(&self) -> Losses {
        let none = || Losses {
            refused: [0; DropReason::ALL.len()],
            dropped: 0,
            dropped_waiting: 0,
            service: self.service.iter().map(|_| 0.0).collect(),
        };
        self.losses.as_deref().cloned().unwrap_or_else(none)
    }

    /// How far predictions of its times were off on this resource; `None` where the truth was told.
    pub fn prediction(&self, resource: usize) -> Option<PredictionError> {
        self.predictions.as_ref()?.get(resource).copied().flatten()
    }

    /// Dominant service per second of a run of this [span](Outcome::span).
    pub fn dominant_share(&self, span_s: f64) -> f64 {
        if span_s > 0.0 { self.dominant_service / span_s } else { 0.0 }
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
    /// [`MOST_GINI_FLOWS`] flows, and where [little is kept](crate::compare::Kept::Little).
    pub gini: Option<Vec<f64>>,
    /// The flows that had packets in the system; of a run by [`compare_each`](crate::compare::compare_each) only those
    /// that had throughout the full interval.
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

/// How far predictions for a flow were off, if anything was predicted that somebody used.
fn predictions<const M: usize>(
    spec: &Spec,
    flow: &Flow<M>,
    total: &FlowResult<M>,
) -> Option<Box<PerResource<Option<PredictionError>>>> {
    let used = |r: usize| total.prediction(r).filter(|_| !sees_new_length(spec, &flow.estimate[r], r));
    total.is_predicted().then(|| Box::new((0..M).map(used).collect()))
}

/// What `result` says, in plain numbers, with the packets that were kept and how far each flow was behind.
pub(crate) fn recorded<const M: usize>(
    spec: &Spec,
    (promises, own): (Vec<(f64, f64)>, Vec<Option<f64>>),
    workload: &Workload<M>,
    mut result: RunResult<M>,
    (log, entrances): (&PacketLog<M>, Vec<Option<u64>>),
    behind: Vec<FlowBehind>,
) -> Recorded {
    let servers: Vec<f64> = result.resources.iter().map(|r| f64::from(r.servers)).collect();
    let fairness = result.fairness(0..u64::MAX);
    let of_all = constant(&promises);
    // Where that changed, a flow with a part of its own could be held against it, but not the others.
    let shortfall = of_all.and_then(|part| {
        let part_of = |flow: u32| own.get(flow as usize).copied().flatten().unwrap_or(part);
        result.shortfall(part_of, 0..u64::MAX)
    });
    let mut intervals = Vec::with_capacity(result.series.intervals.len());
    while let Some((row, shares)) = result.series.pop() {
        let length = row.length.as_secs_f64();
        let utilization = row.busy.iter().zip(&servers).map(|(b, s)| b.as_secs_f64() / (s * length)).collect();
        intervals.push(Interval {
            start: result.series.start(row.index).as_secs_f64(),
            length,
            utilization,
            nonempty: row.nonempty.as_secs_f64(),
            fair: row.fair,
            gini: row.gini.map(|gini| gini.to_vec()),
            shares,
        });
    }
    intervals.reverse();
    let mut flows = Vec::with_capacity(result.flows.len());
    let mut kinds = Kinds::default();
    for (flow, (total, behind)) in workload.flows.iter().rev().zip(Freed::new(result.flows).zip(Freed::new(behind))) {
        let predictions = predictions(spec, flow, &total);
        flows.push(FlowTotal::new(kinds.facts(flow), total, behind, predictions));
    }
    flows.reverse();
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
        flows: Arc::new(flows),
        interval: result.series.interval,
        intervals,
        truncated: result.series.truncated,
        fairness,
        promises,
        own_promises: own,
        shortfall,
        steering: None,
        latencies: result.latencies,
        packets: log.records().iter().map(packet_way).collect(),
        services: log.records().iter().flat_map(services).collect(),
        entrances,
    }
}

fn packet_way<const M: usize>(record: &PacketRecord<M>) -> PacketWay {
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

fn services<const M: usize>(record: &PacketRecord<M>) -> [Option<Service>; M] {
    std::array::from_fn(|r| {
        Some(Service { start: record.started[r]?, end: record.finished[r]?, server: record.server[r] })
    })
}
