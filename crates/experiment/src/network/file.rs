//! The scenario file of a network as it is written. Every key that exists stands here; an unknown key is an error.

use dovetail_sched::Spec;
use dovetail_units::{BitRate, Bytes, CycleRate, Density, Duration, Time};
use serde::Deserialize;
use toml::Spanned;

use super::value::{Access, FlowRate, Packets, RoundTrips};
use dovetail_config::{Span, Text, Whole};
use dovetail_sim::network::MOST_FLOWS;

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
    /// Runs with as many seeds, from `seed` on. Default 1.
    pub seeds: Option<Whole<1, 1000>>,
    /// What happens before is not counted. Default a quarter of `until`.
    pub warm_up: Option<Spanned<Text<Duration>>>,
    /// When a run ends.
    pub until: Text<Span>,
    /// What to compare if the command line names no scheduler.
    #[serde(default)]
    pub schedulers: Vec<Spanned<Text<Spec>>>,
    /// How DRQ's state gets from box to box. Default paper.
    #[serde(default)]
    pub ecn: Ecn,
    /// The boxes on the way.
    #[serde(default)]
    pub hop: Vec<Spanned<Hop>>,
    /// Kinds of processing.
    #[serde(default)]
    pub class: Vec<Spanned<Class>>,
    /// Long-lived TCP flows.
    #[serde(default)]
    pub tcp: Vec<Spanned<Tcp>>,
    /// Short TCP flows.
    #[serde(default)]
    pub web: Vec<Spanned<Web>>,
}

/// How packets carry DRQ's state from box to box; within a box it rides beside the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ecn {
    /// In the paper's code points, which leave senders without ECN the same state: every packet carries it.
    #[default]
    Paper,
    /// In those of RFC 3168: packets whose senders know ECN carry it.
    Rfc3168,
    /// Congestion only.
    Metadata,
}

/// A box: a CPU, a link, or a CPU and then a link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// The name that routes refer to.
    pub name: String,
    /// Capacity of its CPU.
    pub cpu: Option<Text<CycleRate>>,
    /// Rate of its link.
    pub rate: Option<Text<BitRate>>,
    /// Propagation delay behind it. Default 0 s.
    pub delay: Option<Text<Duration>>,
    /// Most packets that wait in front of its CPU, and of its link. Default 1200 packets.
    pub queue: Option<Text<Packets>>,
    /// Most packets of each flow that wait, where flows have queues of their own. Default 20 packets.
    pub flow_queue: Option<Text<Packets>>,
    /// Its scheduler, whatever is compared elsewhere.
    pub scheduler: Option<Spanned<Text<Spec>>>,
}

/// A kind of processing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// The name that flows refer to.
    pub name: String,
    /// Cycles per bit.
    pub density: Text<Density>,
}

/// How TCP senders behave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Reno by the RFCs.
    Reno,
    /// NewReno by the RFCs.
    #[default]
    Newreno,
    /// CUBIC by the RFCs.
    Cubic,
    /// Reno as in ns-2.
    Ns2Reno,
    /// NewReno as in ns-2.
    Ns2Newreno,
}

/// A group of long-lived flows of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// The group's name. Default: its class.
    pub name: Option<String>,
    /// Its class.
    pub class: Spanned<String>,
    /// The boxes that its data passes.
    pub route: Spanned<Vec<String>>,
    /// Two-way propagation delay.
    pub rtt: Spanned<Text<RoundTrips>>,
    /// Number of flows. Default 1.
    pub count: Option<Spanned<Whole<1, MOST_FLOWS>>>,
    /// When the first starts. Default 0 s.
    pub start: Option<Spanned<Text<Time>>>,
    /// The starts are spread evenly over this time, at most up to the run's end. Default 0 s.
    pub spread: Option<Spanned<Text<Duration>>>,
    /// Default newreno.
    #[serde(default)]
    pub variant: Variant,
    /// Whether the ends understand marks. Default true.
    #[serde(default = "yes")]
    pub ecn: bool,
    /// Length of a data packet. Default 1500 B.
    pub packet: Option<Spanned<Text<Bytes>>>,
    /// Rate of each sender's own access link. Default unlimited.
    pub access: Option<Text<Access>>,
    /// Receivers acknowledge every second segment, or after so long. Default every segment at once.
    pub delayed_ack: Option<Spanned<Text<Span>>>,
    /// The senders' shortest retransmission timeout. Default 1 s, 200 ms as in ns-2.
    pub min_rto: Option<Spanned<Text<Duration>>>,
}

/// Short flows that come as a Poisson process.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// The group's name. Default: its class.
    pub name: Option<String>,
    /// Its class.
    pub class: Spanned<String>,
    /// The boxes that its data passes.
    pub route: Spanned<Vec<String>>,
    /// Two-way propagation delay.
    pub rtt: Spanned<Text<RoundTrips>>,
    /// Flows per second.
    pub rate: Spanned<Text<FlowRate>>,
    /// Mean length of a flow in packets. Default 30.
    pub mean: Option<Spanned<f64>>,
    /// Shape of the Pareto distribution of lengths. Default 1.2.
    pub shape: Option<Spanned<f64>>,
    /// Default newreno.
    #[serde(default)]
    pub variant: Variant,
    /// Whether the ends understand marks. Default true.
    #[serde(default = "yes")]
    pub ecn: bool,
    /// Length of a data packet. Default 1500 B.
    pub packet: Option<Spanned<Text<Bytes>>>,
    /// Rate of each sender's own access link. Default unlimited.
    pub access: Option<Text<Access>>,
    /// Receivers acknowledge every second segment, or after so long. Default every segment at once.
    pub delayed_ack: Option<Spanned<Text<Span>>>,
    /// The senders' shortest retransmission timeout. Default 1 s, 200 ms as in ns-2.
    pub min_rto: Option<Spanned<Text<Duration>>>,
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}
