//! The scenario file as it is written. Every key that exists stands here; an unknown key is an error.

use dovetail_sched::Spec;
use dovetail_sched::cost::Linear;
use dovetail_units::{BitRate, Duration, PacketRate, Time};
use dovetail_wire::KeyKind;
use serde::Deserialize;
use toml::Spanned;

use dovetail_config::rules::Rules;
use dovetail_config::{Span, Text, Whole};

use super::flows::MAX_FLOWS;
use super::value::{Costs, Factors, Load, Parts, QueueLimit, Room, Sizes, Told, Weights};

/// A whole scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// One line for tables and pictures.
    #[serde(default)]
    pub title: String,
    /// Seed of every random stream. Default 1.
    #[serde(default = "one")]
    pub seed: u64,
    /// When the run is cut off; by default it ends when everything has left.
    pub until: Option<Text<Span>>,
    /// Width of the recording interval. Default 1 s, or shorter so that a run has some twenty.
    pub interval: Option<Spanned<Text<Span>>>,
    /// All rates of flows are multiplied alike, so that they offer the busiest resource this multiple of what it can
    /// do.
    pub load: Option<Spanned<Load>>,
    /// What to compare if the command line names no scheduler.
    #[serde(default)]
    pub schedulers: Vec<Spanned<Text<Spec>>>,
    /// The pipeline, in order.
    #[serde(default)]
    pub resource: Vec<Spanned<Resource>>,
    /// Kinds of processing.
    #[serde(default)]
    pub class: Vec<Spanned<Class>>,
    /// Groups of generated flows.
    #[serde(default)]
    pub flows: Vec<Spanned<Flows>>,
    /// A capture to replay.
    pub trace: Option<Spanned<Trace>>,
    /// Parameters to change during the run.
    #[serde(default)]
    pub change: Vec<Spanned<Change>>,
}

/// One resource of the pipeline.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// The name that costs refer to.
    pub name: String,
    /// For a link: a packet takes its length divided by this.
    pub rate: Option<Text<BitRate>>,
    /// Parallel servers. Default 1.
    #[serde(default = "one_server")]
    pub servers: Spanned<Servers>,
    /// The buffer in front of it. Default unlimited.
    pub buffer: Option<Spanned<Text<Room>>>,
    /// What happens when that is full: the packet waits where it is (`block`, default), or it is lost (`drop`).
    #[serde(default)]
    pub overflow: Overflow,
}

/// What a full buffer does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Overflow {
    /// The packet stays on the resource before, which can do nothing else meanwhile.
    #[default]
    Block,
    /// The packet is lost, with the processing already spent on it.
    Drop,
}

/// A kind of processing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// The name that flows refer to.
    pub name: String,
    /// Which packets of a capture are of it, as in a live box. Without, it is the class of all that match no other.
    #[serde(rename = "match")]
    pub rules: Rules,
    /// Processing time per resource; a resource with a rate needs none.
    #[serde(default = "no_costs")]
    pub cost: Spanned<Costs<Linear>>,
    /// How far true times may be from that, per resource.
    #[serde(default = "no_spreads")]
    pub spread: Spanned<Parts>,
    /// What processing on the first resource makes of a packet's length. Default: nothing.
    pub resize: Option<Spanned<Text<Factors>>>,
    /// What schedulers are told; by default the truth.
    #[serde(default = "no_estimates")]
    pub estimate: Spanned<Told>,
    /// Which part of its fair share each of its flows is guaranteed. Default: what the scheduler guarantees to all.
    pub alpha: Option<Spanned<f64>>,
}

/// How many servers a resource may have.
pub type Servers = Whole<1, { dovetail_sim::Resource::MAX_SERVERS }>;

/// A group of flows of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flows {
    /// The group's name. Default: its class.
    pub name: Option<String>,
    /// Its class.
    pub class: Spanned<String>,
    /// Number of flows. Default 1.
    pub count: Option<Whole<1, MAX_FLOWS>>,
    /// Weight of each flow. Default 1.
    pub weight: Option<Spanned<Weights>>,
    /// Which part of its fair share each flow is guaranteed. Default: as its class says.
    pub alpha: Option<Spanned<f64>>,
    /// Limit of each flow's queue. Default unlimited.
    pub queue: Option<Spanned<Text<QueueLimit>>>,
    /// Packet length.
    pub size: Option<Text<Sizes>>,
    /// How packets arrive. Default constant.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Constant arrivals are each later by anything up to this, equally likely. Default 0 s.
    pub jitter: Option<Spanned<Text<Duration>>>,
    /// Packets per second of each flow (while on).
    pub rate: Option<Text<PacketRate>>,
    /// Mean time on, for on/off arrivals.
    pub on: Option<Text<Span>>,
    /// Mean time off, for on/off arrivals.
    pub off: Option<Text<Span>>,
    /// When the first flow starts. Default 0 s.
    pub start: Option<Text<Time>>,
    /// The starts are spread evenly over this time: flow k of n, from 0, starts k/n of it later. Default 0 s.
    pub spread: Option<Text<Duration>>,
    /// When the flows stop sending.
    pub stop: Option<Text<Time>>,
    /// Packets of each flow at most.
    pub packets: Option<u64>,
    /// The packets one by one, instead of a rate.
    pub list: Option<Vec<Listed>>,
}

/// How packets arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At equal distances.
    #[default]
    Constant,
    /// As a Poisson process.
    Poisson,
    /// At equal distances during exponentially distributed times on, nothing during such times off.
    OnOff,
}

/// One packet of a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listed {
    /// Its arrival.
    pub at: Text<Time>,
    /// Its length.
    pub size: Text<Sizes>,
    /// Its processing time per resource, instead of the class's.
    #[serde(default)]
    pub cost: Costs<Duration>,
    /// How many such packets arrive then. Default 1.
    #[serde(default = "one")]
    pub count: u64,
}

/// A capture to replay.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The capture file, relative to the scenario; `-` is standard input. A profile has none.
    pub file: Option<Spanned<String>>,
    /// Replay this many times as fast. Default 1.
    pub speed: Option<Spanned<f64>>,
    /// Or: as fast as it takes to offer the busiest resource this part of its capacity.
    pub load: Option<Spanned<Load>>,
    /// What makes packets a flow: `5-tuple` (default), `host`, `prefix`, `to-host`, `to-prefix`, or `prefix+port` as in
    /// the tradeoff paper.
    pub key: Option<Text<KeyKind>>,
    /// Pauses between packets that are longer are cut to this, as they were recorded. Default: none is cut.
    pub gap: Option<Text<Span>>,
    /// Class of every flow that no class's rules match. Default: the one without rules; where no class has rules, each
    /// flow gets one of them at random.
    pub class: Option<Spanned<String>>,
    /// Class of the packets that carry no flow. Default: the first class.
    pub no_flow: Option<Spanned<String>>,
    /// Limit of each flow's queue. Default 200 packets.
    pub queue: Option<Spanned<Text<QueueLimit>>>,
}

/// A parameter that changes during the run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    pub at: Text<Time>,
    /// `parameter=value`, for every compared scheduler that has the parameter.
    pub set: Spanned<String>,
}

fn one() -> u64 {
    1
}

fn one_server() -> Spanned<Servers> {
    Spanned::new(0..0, Whole(1))
}

fn no_costs() -> Spanned<Costs<Linear>> {
    Spanned::new(0..0, Costs::default())
}

fn no_spreads() -> Spanned<Parts> {
    Spanned::new(0..0, Parts::default())
}

fn no_estimates() -> Spanned<Told> {
    Spanned::new(0..0, Told::default())
}
