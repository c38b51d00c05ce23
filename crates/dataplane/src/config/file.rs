//! The configuration as it is written.

use std::path::PathBuf;

use dovetail_config::rules::{Match, Rules};
use dovetail_config::{Span, Text, Whole};
use dovetail_sched::Spec;
use dovetail_sched::aqm::Encoding;
use dovetail_sched::cost::Prediction;
use dovetail_units::Duration;
use serde::Deserialize;
use toml::Spanned;

use super::around::{FaultTable, FileTable};
use super::fragments::FragmentTable;
use super::state::StateTable;
use super::third::{Costs, ResourceTable};
use super::values::{Frames, Key, LinkRate, Listen, Percent, Room, socket_name};
use crate::core::Overflow;
use crate::module::ModuleConfig;

/// The file as it is written. Every key that exists stands here; an unknown key is an error.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// One line for reports.
    #[serde(default)]
    pub title: String,
    /// What shares CPU and link.
    pub scheduler: Spanned<Text<Spec>>,
    pub ports: Ports,
    #[serde(default)]
    pub cpu: Cpu,
    /// What packets pass between CPU and link.
    #[serde(default)]
    pub resource: Vec<Spanned<ResourceTable>>,
    #[serde(default)]
    pub link: Link,
    #[serde(default)]
    pub flows: FlowTable,
    #[serde(default)]
    pub reverse: Reverse,
    /// What happens to frames on purpose.
    #[serde(default)]
    pub faults: FaultTable,
    /// What is captured on the way.
    #[serde(default)]
    pub record: FileTable,
    /// What is told line by line.
    #[serde(default)]
    pub trace: FileTable,
    #[serde(default)]
    pub control: Control,
    #[serde(default)]
    pub ecn: Ecn,
    #[serde(default)]
    pub module: Vec<Spanned<ModuleConfig>>,
    #[serde(default)]
    pub metrics: Metrics,
    /// What is done with datagrams in fragments.
    #[serde(default)]
    pub fragments: FragmentTable,
    /// What outlives a box.
    #[serde(default)]
    pub state: StateTable,
    #[serde(default)]
    pub class: Vec<Spanned<Class>>,
}

/// Where frames come in and go out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ports {
    /// Scheduled frames come in here, such as `packet:eth0` or `pcap:capture.pcap`.
    #[serde(rename = "in")]
    pub inside: Spanned<String>,
    /// And go out here.
    #[serde(rename = "out")]
    pub outside: Spanned<String>,
}

#[derive(Clone, Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct Cpu {
    /// How much of a core processing may use. Default all.
    pub budget: Option<Spanned<Text<Percent>>>,
    /// How processing times are predicted. Default `fit:per=class`.
    pub predict: Option<Spanned<Text<Prediction>>>,
}

#[derive(Clone, Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct Link {
    /// Default as fast as the port takes frames.
    pub rate: Option<Text<LinkRate>>,
    /// What may wait in front of it. Default 64 packets.
    pub buffer: Option<Spanned<Text<Frames>>>,
    #[serde(default)]
    pub overflow: Overflow,
}

#[derive(Clone, Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowTable {
    /// What tells flows apart. Default 5-tuple.
    pub key: Option<Text<Key>>,
    /// Most flows with a queue of their own. Default 16384.
    pub most: Option<Whole<1, { u32::MAX }>>,
    /// A flow without a packet for this long is forgotten. Default 60 s.
    pub idle: Option<Text<Span>>,
    /// Limit of each flow's queue. Default 200 packets.
    pub queue: Option<Spanned<Text<Room>>>,
    /// The most packets in the box at a time. Default 65536 packets.
    pub limit: Option<Text<Frames>>,
}

/// Frames in the other direction: neither scheduled nor processed.
#[derive(Clone, Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct Reverse {
    /// How long every frame is kept. Default not at all.
    pub delay: Option<Text<Duration>>,
}

/// How senders are told to slow down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Ecn {
    /// What queues note rides beside the packet; only CE leaves the box.
    #[default]
    Metadata,
    /// ECT(1) tells the next box that one before it signalled.
    Rfc3168,
    /// The DRQ paper's code points, which mean something else to everybody else.
    Paper,
    /// Not at all: what would be marked is dropped.
    Off,
}

impl Ecn {
    pub fn encoding(self) -> Option<Encoding> {
        match self {
            Self::Metadata => Some(Encoding::Metadata),
            Self::Rfc3168 => Some(Encoding::Rfc3168),
            Self::Paper => Some(Encoding::Paper),
            Self::Off => None,
        }
    }
}

/// How a running box is talked to.
#[derive(Clone, Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// The control socket. Default none.
    #[serde(default, deserialize_with = "socket_name")]
    pub socket: Option<PathBuf>,
}

/// How a running box is watched.
#[derive(Clone, Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct Metrics {
    /// Where metrics are served, such as `127.0.0.1:9100`. Default nowhere.
    pub listen: Option<Spanned<Text<Listen>>>,
    /// Whether that may be an address that other machines reach.
    #[serde(default)]
    pub remote: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Class {
    pub name: Spanned<String>,
    /// Which flows are of it. Without, it is the class of all that match no other.
    #[serde(rename = "match")]
    pub rules: Rules,
    /// Weight of each flow. Default 1.
    pub weight: Option<Spanned<f64>>,
    /// Which part of its fair share each flow is guaranteed. Default: what the scheduler guarantees to all.
    pub alpha: Option<Spanned<f64>>,
    /// Limit of each flow's queue. Default that of `[flows]`.
    pub queue: Option<Spanned<Text<Room>>>,
    /// What is done to its packets: names of modules, in order. Default nothing.
    #[serde(default)]
    pub modules: Vec<Spanned<String>>,
    /// What its packets are charged on the CPU instead of what processing took, and for how long they occupy a third
    /// resource.
    pub cost: Option<Spanned<Costs>>,
}

impl Class {
    pub fn rules(&self) -> &[Spanned<Match>] {
        self.rules.as_ref().map_or(&[], |rules| rules.get_ref())
    }
}
