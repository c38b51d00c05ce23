//! The JSON summary of a comparison: `docs/reference/json.md` describes it.

use dovetail_sched::DropReason;
use dovetail_sim::End;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

use crate::compare::{FlowTotal, LatencySummary, PredictionError, Recorded};
use crate::scenario::Scenario;

/// Version of the document.
pub const SCHEMA: u32 = 1;

/// Reason under which packets lost between resources are counted.
pub const AFTER_PROCESSING: &str = "after-processing";

/// The whole document.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What came in.
    pub scenario: Input,
    /// Per scheduler, in the order in which they were named.
    pub runs: Vec<Run>,
}

/// What came in.
#[derive(Debug, Serialize)]
pub struct Input {
    /// File.
    pub name: String,
    /// Title.
    pub title: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// Names of the resources, in order.
    pub resources: Vec<String>,
    /// Length of the recording interval.
    pub interval_s: f64,
    /// The replayed capture, if any.
    pub capture: Option<Capture>,
}

/// A replayed capture: every record is accounted for.
#[derive(Debug, Serialize)]
pub struct Capture {
    /// Packets read: `flow_packets + no_flow_packets`.
    pub records: u64,
    /// Packets that belong to a flow.
    pub flow_packets: u64,
    /// Packets that belong to none.
    pub no_flow_packets: u64,
    /// What could not be read, in words.
    pub damage: Option<String>,
    /// Packets whose time went backwards.
    pub clamped_times: u64,
    /// Times faster than recorded.
    pub speed: f64,
}

/// One scheduler's run.
#[derive(Debug, Serialize)]
pub struct Run {
    /// The scheduler as it was named.
    pub scheduler: String,
    /// From the first arrival to the last departure; `null` if nothing was delivered.
    pub makespan_s: Option<f64>,
    /// Time during which the system was not empty.
    pub nonempty_s: f64,
    /// `drained`, or `horizon` if it was cut off.
    pub end: &'static str,
    /// All packets.
    pub packets: Packets,
    /// By name.
    pub resources: Resources,
    /// Over all delivered packets; `null` if nothing was delivered.
    pub latency_s: Option<Latency>,
    /// Prediction errors of all flows; `null` if schedulers are told the truth.
    pub prediction: Option<Predictions>,
    /// Flows of one group together.
    pub groups: Vec<Group>,
    /// Every flow.
    pub flows: Vec<Flow>,
    /// Among flows backlogged together; `null` if no two ever were for a whole interval.
    pub fairness: Option<Fairness>,
}

/// Where packets went: `offered = delivered + the sum of dropped + unfinished`.
#[derive(Debug, Serialize, Clone, Default)]
pub struct Packets {
    /// Arrived.
    pub offered: u64,
    /// Left the last resource.
    pub delivered: u64,
    /// Lost, by reason; `after-processing` are those that had already been worked on.
    pub dropped: BTreeMap<&'static str, u64>,
    /// In the system when the run ended.
    pub unfinished: u64,
}

/// Resources by name, kept in pipeline order.
#[derive(Debug)]
pub struct Resources(pub Vec<(String, Resource)>);

impl Serialize for Resources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, resource)| (name, resource)))
    }
}

/// One resource.
#[derive(Debug, Serialize)]
pub struct Resource {
    /// Busy part of the time during which the system was not empty, 0 to 1.
    pub utilization: f64,
    /// Service time over all servers.
    pub busy_s: f64,
    /// Parallel servers.
    pub servers: u32,
    /// Against an ideal fluid, over the intervals; `null` with too many flows.
    pub gini_s: Option<Gini>,
}

/// The Gini index of a resource at the ends of the recording intervals, seconds.
#[derive(Debug, Serialize)]
pub struct Gini {
    /// Mean.
    pub mean: f64,
    /// Largest.
    pub max: f64,
}

/// How far predictions were off.
#[derive(Debug, Serialize)]
pub struct Predicted {
    /// Packets that were predicted and then processed.
    pub packets: u64,
    /// Mean of |predicted - actual|, seconds.
    pub mean_absolute_s: f64,
    /// Mean of |predicted - actual| / actual over the packets that took any time.
    pub mean_relative: Option<f64>,
    /// Sum of |predicted - actual| over the sum of actual.
    pub weighted_relative: Option<f64>,
    /// Mean of predicted - actual, seconds.
    pub bias_s: f64,
}

/// By the names of those resources on which times are predicted.
pub type Predictions = BTreeMap<String, Predicted>;

/// Flows of one group together.
#[derive(Debug, Serialize)]
pub struct Group {
    /// Its name.
    pub group: String,
    /// Number of its flows.
    pub flows: usize,
    /// Their packets.
    #[serde(flatten)]
    pub packets: Packets,
    /// Delivered bits per second of makespan, all flows together.
    pub throughput_bps: f64,
    /// Mean over the flows.
    pub dominant_share: f64,
    /// Over all packets.
    pub latency_s: Option<Latency>,
    /// Prediction errors of its flows.
    pub prediction: Option<Predictions>,
}

/// One flow.
#[derive(Debug, Serialize)]
pub struct Flow {
    /// Its name.
    pub flow: String,
    /// Its group.
    pub group: String,
    /// Its weight.
    pub weight: f64,
    /// Its packets.
    #[serde(flatten)]
    pub packets: Packets,
    /// Delivered bits per second of makespan.
    pub throughput_bps: f64,
    /// Dominant service per second during which it had packets in the system.
    pub dominant_share: f64,
    /// Service on each resource, seconds over all servers.
    pub service_s: Vec<f64>,
    /// What its packets that were lost after processing would have needed there.
    pub lost_service_s: Vec<f64>,
    /// `null` if nothing was delivered.
    pub latency_s: Option<Latency>,
}

/// From arrival to leaving the last resource, seconds.
#[derive(Debug, Serialize, Clone, Copy)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90 % quantile.
    pub p90: f64,
    /// 99 % quantile.
    pub p99: f64,
    /// Longest.
    pub max: f64,
    /// Standard deviation.
    pub std: f64,
}

/// Over the intervals in which at least two flows were backlogged throughout.
#[derive(Debug, Serialize)]
pub struct Fairness {
    /// How many such intervals.
    pub intervals: usize,
    /// Jain's index of dominant service by weight, mean over the intervals.
    pub jain: f64,
    /// Gini coefficient of the same.
    pub gini: f64,
    /// Smallest service of a flow relative to its fair share in the same interval.
    pub min_over_fair: Option<f64>,
    /// Largest difference in one interval of two flows' dominant services by weight, seconds.
    pub relative_fairness_bound: f64,
    /// Largest difference in one interval of two flows' total services (all resources together) by weight, seconds.
    pub relative_fairness_total: f64,
}

impl From<LatencySummary> for Latency {
    fn from(l: LatencySummary) -> Self {
        Self { mean: l.mean, p50: l.p50, p90: l.p90, p99: l.p99, max: l.max, std: l.std }
    }
}

impl Summary {
    /// Of a comparison.
    pub fn new(scenario: &Scenario, runs: &[Recorded]) -> Self {
        let capture = scenario.capture_report().map(|report| Capture {
            records: report.records,
            flow_packets: report.flow_packets,
            no_flow_packets: report.no_flow_packets(),
            damage: report.damage.as_ref().map(ToString::to_string),
            clamped_times: report.clamped_times,
            speed: scenario.replay_speed().unwrap_or(1.0),
        });
        let input = Input {
            name: scenario.name.clone(),
            title: scenario.title().to_string(),
            seed: scenario.seed(),
            resources: scenario.resource_names(),
            interval_s: scenario.interval().as_secs_f64(),
            capture,
        };
        Self { schema: SCHEMA, scenario: input, runs: runs.iter().map(Run::new).collect() }
    }
}

impl Run {
    fn new(run: &Recorded) -> Self {
        let makespan = run.outcome.makespan().map(|m| m.as_secs_f64());
        let rate = |bytes: u64| makespan.filter(|&m| m > 0.0).map_or(0.0, |m| bytes as f64 * 8.0 / m);
        let flow = |f: &FlowTotal| Flow {
            flow: f.name.clone(),
            group: f.group.clone(),
            weight: f.weight,
            packets: Packets::of(f),
            throughput_bps: rate(f.bytes),
            dominant_share: f.dominant_share(),
            service_s: f.service.clone(),
            lost_service_s: f.lost_service.clone(),
            latency_s: f.latency.map(Latency::from),
        };
        let resource = |(k, r): (usize, &crate::compare::ResourceTotal)| Resource {
            utilization: r.utilization,
            busy_s: r.busy.as_secs_f64(),
            servers: r.servers,
            gini_s: gini(run, k),
        };
        Self {
            scheduler: run.scheduler.to_string(),
            makespan_s: makespan,
            nonempty_s: run.nonempty.as_secs_f64(),
            end: if run.outcome.end == End::Drained { "drained" } else { "horizon" },
            packets: run.flows.iter().map(Packets::of).fold(Packets::none(), Packets::and),
            resources: Resources(run.resources.iter().enumerate().map(|r| (r.1.name.clone(), resource(r))).collect()),
            latency_s: LatencySummary::of_sorted(&run.latencies.of_all()).map(Latency::from),
            prediction: prediction(run, 0..run.flows.len()),
            groups: groups(run, rate),
            flows: run.flows.iter().map(flow).collect(),
            fairness: run.fairness.map(|f| Fairness {
                intervals: f.intervals,
                jain: f.jain,
                gini: f.gini,
                min_over_fair: f.min_over_fair.map(|m| m.value),
                relative_fairness_bound: f.relative_fairness_bound,
                relative_fairness_total: f.relative_fairness_total,
            }),
        }
    }
}

/// Over the intervals in which there was anything in the system.
fn gini(run: &Recorded, resource: usize) -> Option<Gini> {
    let values = || run.intervals.iter().filter_map(|i| i.gini.as_ref()?.get(resource).copied());
    let count = values().count();
    (count > 0).then(|| Gini { mean: values().sum::<f64>() / count as f64, max: values().fold(0.0, f64::max) })
}

/// Of these flows together.
pub fn prediction(run: &Recorded, flows: impl IntoIterator<Item = usize>) -> Option<Predictions> {
    let mut errors = vec![PredictionError::default(); run.resources.len()];
    for flow in flows {
        for (sum, own) in errors.iter_mut().zip(&run.flows[flow].prediction) {
            own.iter().for_each(|own| sum.add(own));
        }
    }
    let predicted = |error: &PredictionError| {
        Some(Predicted {
            packets: error.packets(),
            mean_absolute_s: error.mean_absolute_s()?,
            mean_relative: error.mean_relative(),
            weighted_relative: error.weighted_relative(),
            bias_s: error.bias_s()?,
        })
    };
    let named = run.resources.iter().zip(&errors).filter_map(|(r, error)| Some((r.name.clone(), predicted(error)?)));
    Some(named.collect::<Predictions>()).filter(|named| !named.is_empty())
}

impl Packets {
    fn none() -> Self {
        let reasons = DropReason::ALL.iter().map(|r| r.name()).filter(|&n| n != DropReason::UnknownFlow.name());
        Self { dropped: reasons.chain([AFTER_PROCESSING]).map(|name| (name, 0)).collect(), ..Self::default() }
    }

    fn of(flow: &FlowTotal) -> Self {
        let mut own =
            Self { offered: flow.offered, delivered: flow.delivered, unfinished: flow.unfinished, ..Self::none() };
        for (reason, count) in DropReason::ALL.iter().zip(flow.refused) {
            if let Some(total) = own.dropped.get_mut(reason.name()) {
                *total += count;
            }
        }
        own.dropped.insert(AFTER_PROCESSING, flow.dropped);
        own
    }

    fn and(mut self, other: Self) -> Self {
        self.offered += other.offered;
        self.delivered += other.delivered;
        self.unfinished += other.unfinished;
        for (reason, count) in other.dropped {
            *self.dropped.entry(reason).or_default() += count;
        }
        self
    }

    /// Lost packets of all reasons.
    pub fn lost(&self) -> u64 {
        self.dropped.values().sum()
    }
}

/// Groups in the order of their first flow.
fn groups(run: &Recorded, rate: impl Fn(u64) -> f64) -> Vec<Group> {
    let mut members: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut place: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, flow) in run.flows.iter().enumerate() {
        let at = *place.entry(&flow.group).or_insert_with(|| {
            members.push((&flow.group, Vec::new()));
            members.len() - 1
        });
        members[at].1.push(i);
    }
    let group = |(name, ids): (&str, Vec<usize>)| {
        let flows = || ids.iter().map(|&i| &run.flows[i]);
        Group {
            group: name.to_string(),
            flows: ids.len(),
            packets: flows().map(Packets::of).fold(Packets::none(), Packets::and),
            throughput_bps: rate(flows().map(|f| f.bytes).sum()),
            dominant_share: flows().map(FlowTotal::dominant_share).sum::<f64>() / ids.len() as f64,
            latency_s: LatencySummary::of_sorted(&run.latencies.of_flows(ids.iter().copied())).map(Latency::from),
            prediction: prediction(run, ids.iter().copied()),
        }
    };
    members.into_iter().map(group).collect()
}
