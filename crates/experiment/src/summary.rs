//! The JSON summary of a comparison: `docs/reference/json.md` describes it.

mod capture;
mod flows;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::marker::PhantomData;

use dovetail_sim::End;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

pub use crate::compact::AFTER_PROCESSING;
pub use capture::{Capture, earlier};
pub use flows::Flows;

use crate::behind::{FlowBehind, listed, quoted, starving_of, starving_under};
use crate::compact::Dropped;
use crate::lines::Lines;
use crate::recorded::{FlowTotal, LatencySummary, PredictionError, Recorded};
use crate::scenario::Scenario;
use crate::steered::Steering;
use crate::story::{notes, story};

/// Version of the document.
pub const SCHEMA: u32 = 2;

/// The whole document.
#[derive(Debug, Serialize, Deserialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What came in.
    pub scenario: Input,
    /// What it comes to: who starves, and what efficiency costs.
    pub sentences: Vec<String>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
    /// Per scheduler, in the order in which they were named.
    pub runs: Vec<Run>,
}

/// What came in.
#[derive(Debug, Serialize, Deserialize)]
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
    /// The profile around a capture that was given alone.
    pub profile: Option<String>,
    /// The replayed capture, if any.
    pub capture: Option<Capture>,
}

/// One scheduler's run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Run {
    /// The scheduler as it was named.
    pub scheduler: String,
    /// From the first arrival to the last departure; `null` if nothing was delivered.
    pub makespan_s: Option<f64>,
    /// Time during which the system was not empty.
    pub nonempty_s: f64,
    /// `drained`, or `horizon` if it was cut off.
    pub end: Cow<'static, str>,
    /// All packets.
    pub packets: Packets,
    /// By name.
    pub resources: Resources,
    /// Over all delivered packets; `null` if nothing was delivered.
    pub latency_s: Option<Latency>,
    /// By which part of it a latency at a quantile may be wrong; absent where it is exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_error: Option<f64>,
    /// Prediction errors of all flows; `null` if schedulers are told the truth.
    pub prediction: Option<Predictions>,
    /// Flows of one group together.
    pub groups: Vec<Group>,
    /// Every flow.
    pub flows: Flows,
    /// Among flows backlogged together; `null` if no two ever were for a whole interval.
    pub fairness: Option<Fairness>,
    /// The flow that was furthest behind.
    pub behind: Behind,
    /// How many flows starve.
    pub starving: usize,
    /// What an alpha that adjusts itself came to; absent without a target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steering: Option<Steering>,
}

/// How far behind the fair fluid of the same packets flows were at worst.
#[derive(Debug, Serialize, Deserialize, Clone, Copy, Default)]
pub struct Behind {
    /// From a packet's end in the fluid until it left.
    pub time_s: f64,
    /// Packets that had left the fluid and not the box.
    pub packets: u64,
    /// As `time_s`, behind what the scheduler promises; of the packet for which that is most in rounds.
    pub due_s: f64,
    /// That, in rounds.
    pub rounds: f64,
}

impl Behind {
    fn of(flow: &FlowBehind) -> Self {
        Self { time_s: flow.time_s, packets: flow.packets.into(), due_s: flow.due_s(), rounds: flow.due_rounds }
    }

    /// Each at its worst.
    fn worst<'a>(flows: impl Iterator<Item = &'a FlowTotal>) -> Self {
        flows.map(|flow| Self::of(&flow.behind)).fold(Self::default(), |a, b| {
            let due = if b.rounds > a.rounds { b } else { a };
            Self { time_s: a.time_s.max(b.time_s), packets: a.packets.max(b.packets), ..due }
        })
    }
}

fn starving<'a>(flows: impl Iterator<Item = &'a FlowTotal>) -> usize {
    flows.filter(|flow| flow.behind.starves()).count()
}

/// Where packets went: `offered = delivered + the sum of dropped + unfinished`.
#[derive(Debug, Serialize, Deserialize, Clone, Default)]
pub struct Packets {
    /// Arrived.
    pub offered: u64,
    /// Left the last resource.
    pub delivered: u64,
    /// Lost, by reason; `after-processing` are those that had already been worked on.
    pub dropped: Dropped,
    /// In the system when the run ended.
    pub unfinished: u64,
}

/// Resources by name, in the order of the pipeline.
pub type Resources = InOrder<Resource>;

/// Things by name, kept in the order in which they stand.
#[derive(Debug)]
pub struct InOrder<T>(pub Vec<(String, T)>);

impl<T: Serialize> Serialize for InOrder<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, thing)| (name, thing)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for InOrder<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = InOrder<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("members by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(InOrder(members))
            }
        }
        deserializer.deserialize_map(Members(PhantomData))
    }
}

/// One resource.
#[derive(Debug, Serialize, Deserialize)]
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
#[derive(Debug, Serialize, Deserialize)]
pub struct Gini {
    /// Mean.
    pub mean: f64,
    /// Largest.
    pub max: f64,
}

/// How far predictions were off.
#[derive(Debug, Serialize, Deserialize)]
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
#[derive(Debug, Serialize, Deserialize)]
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
    /// Of the flow that was furthest behind.
    pub behind: Behind,
    /// How many of its flows starve.
    pub starving: usize,
    /// Prediction errors of its flows.
    pub prediction: Option<Predictions>,
}

/// From arrival to leaving the last resource, seconds.
#[derive(Debug, Serialize, Deserialize, Clone, Copy)]
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
#[derive(Debug, Serialize, Deserialize)]
pub struct Fairness {
    /// How many such intervals.
    pub intervals: usize,
    /// Jain's index of dominant service by weight, mean over the intervals.
    pub jain: f64,
    /// Gini coefficient of the same.
    pub gini: f64,
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

/// What a summary says of one run. Much less than the run itself.
#[derive(Debug)]
pub struct Told {
    run: Run,
    /// Who starves, in a sentence.
    starving: Option<String>,
    /// Number of its flows.
    flows: usize,
    /// Whether there were too many intervals to keep.
    truncated: bool,
}

impl Told {
    /// Of this run; with a record of each flow, or without, where only tables are wanted.
    pub fn new(run: &Recorded, with_flows: bool) -> Self {
        let mut told = Run::new(run);
        if with_flows {
            told.flows = Flows::of(run);
        }
        Self { run: told, starving: starving_under(run), flows: run.flows.len(), truncated: run.truncated }
    }
}

impl Summary {
    /// Of a comparison.
    pub fn new(scenario: &Scenario, runs: &[Recorded]) -> Self {
        Self::of(scenario, runs.iter().map(|run| Told::new(run, true)).collect())
    }

    /// Of a comparison of which this is told.
    pub fn of(scenario: &Scenario, runs: Vec<Told>) -> Self {
        let input = Input {
            name: scenario.name.clone(),
            title: scenario.title().to_string(),
            seed: scenario.seed(),
            resources: scenario.resource_names(),
            interval_s: scenario.interval().as_secs_f64(),
            profile: scenario.profile.clone(),
            capture: Capture::of(scenario),
        };
        let alone = runs.iter().all(|told| told.flows < 2);
        let truncated = runs.iter().any(|told| told.truncated);
        let mut starving = Vec::new();
        let told = |told: Told| {
            starving.push((told.run.scheduler.clone(), told.starving));
            told.run
        };
        let runs = runs.into_iter().map(told).collect();
        let sentences = starving_of(starving);
        let mut summary = Self { schema: SCHEMA, scenario: input, sentences, notes: Vec::new(), runs };
        summary.sentences.extend(story(&summary));
        summary.notes = notes(&summary, alone, truncated);
        summary.notes.extend(unmatched(scenario));
        summary
    }
}

/// Says which classes of a capture no packet is of.
fn unmatched(scenario: &Scenario) -> Option<String> {
    let names: Vec<String> = scenario.unmatched_classes().map(|class| quoted(class).into_owned()).collect();
    let classes = if names.len() == 1 { "class" } else { "classes" };
    (!names.is_empty()).then(|| format!("no packet matched the {classes} {}", listed(&names, "and")))
}

impl Summary {
    /// As JSON: members on lines of their own, but each flow and group on one line: there may be many thousands.
    ///
    /// # Errors
    /// None is known.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let mut out = Vec::new();
        self.write_json(&mut out)?;
        String::from_utf8(out).map_err(serde::ser::Error::custom)
    }

    /// The same, written to `out` in small parts.
    ///
    /// # Errors
    /// Writing fails.
    pub fn write_json(&self, out: impl io::Write) -> serde_json::Result<()> {
        self.serialize(&mut serde_json::Serializer::with_formatter(out, Lines::default()))
    }
}

/// Seconds; 0 if nothing was delivered.
fn makespan_s(run: &Recorded) -> f64 {
    run.outcome.makespan().map_or(0.0, |makespan| makespan.as_secs_f64())
}

/// Seconds of its [span](dovetail_sim::Outcome::span); 0 if nothing came.
fn span_s(run: &Recorded) -> f64 {
    run.outcome.span().map_or(0.0, |span| span.as_secs_f64())
}

/// Bits per second of makespan.
fn rate(bytes: u64, makespan_s: f64) -> f64 {
    if makespan_s > 0.0 { bytes as f64 * 8.0 / makespan_s } else { 0.0 }
}

impl Run {
    /// Without a record of each flow.
    pub(crate) fn new(run: &Recorded) -> Self {
        let resource = |(k, r): (usize, &crate::recorded::ResourceTotal)| Resource {
            utilization: r.utilization,
            busy_s: r.busy.as_secs_f64(),
            servers: r.servers,
            gini_s: gini(run, k),
        };
        Self {
            scheduler: run.scheduler.to_string(),
            makespan_s: run.outcome.makespan().map(|m| m.as_secs_f64()),
            nonempty_s: run.nonempty.as_secs_f64(),
            end: if run.outcome.end == End::Drained { "drained" } else { "horizon" }.into(),
            packets: run.flows.iter().map(Packets::of).fold(Packets::default(), Packets::and),
            resources: InOrder(run.resources.iter().enumerate().map(|r| (r.1.name.clone(), resource(r))).collect()),
            latency_s: run.latencies.of_all().summary().map(Latency::from),
            latency_error: Some(run.latencies.error()).filter(|&error| error > 0.0),
            prediction: prediction(run, 0..run.flows.len()),
            groups: groups(run),
            flows: Flows::none(),
            fairness: run.fairness.map(|f| Fairness {
                intervals: f.intervals,
                jain: f.jain,
                gini: f.gini,
                relative_fairness_bound: f.relative_fairness_bound,
                relative_fairness_total: f.relative_fairness_total,
            }),
            behind: Behind::worst(run.flows.iter()),
            starving: starving(run.flows.iter()),
            steering: run.steering.clone(),
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
        for (r, sum) in errors.iter_mut().enumerate() {
            run.flows[flow].prediction(r).iter().for_each(|own| sum.add(own));
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
    fn of(flow: &FlowTotal) -> Self {
        let FlowTotal { offered, delivered, unfinished, .. } = *flow;
        Self { offered, delivered, unfinished: unfinished.into(), dropped: Dropped::of(flow) }
    }

    fn and(self, other: Self) -> Self {
        Self {
            offered: self.offered + other.offered,
            delivered: self.delivered + other.delivered,
            unfinished: self.unfinished + other.unfinished,
            dropped: self.dropped.and(&other.dropped),
        }
    }

    /// Lost packets of all reasons.
    pub fn lost(&self) -> u64 {
        self.dropped.sum()
    }

    /// The same per offered packet.
    pub fn part_lost(&self) -> f64 {
        self.lost() as f64 / self.offered.max(1) as f64
    }
}

/// Groups in the order of their first flow.
fn groups(run: &Recorded) -> Vec<Group> {
    let (makespan_s, span_s) = (makespan_s(run), span_s(run));
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
            packets: flows().map(Packets::of).fold(Packets::default(), Packets::and),
            throughput_bps: rate(flows().map(|f| f.bytes).sum(), makespan_s),
            dominant_share: flows().map(|f| f.dominant_share(span_s)).sum::<f64>() / ids.len() as f64,
            latency_s: run.latencies.of_flows(ids.iter().copied()).summary().map(Latency::from),
            prediction: prediction(run, ids.iter().copied()),
            behind: Behind::worst(flows()),
            starving: starving(flows()),
        }
    };
    members.into_iter().map(group).collect()
}
