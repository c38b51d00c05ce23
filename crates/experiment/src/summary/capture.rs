//! What is told of a replayed capture.

use dovetail_wire::NonFlow;
use serde::{Deserialize, Serialize};

use crate::scenario::Scenario;
use crate::table::counted;

/// A replayed capture: every record is accounted for.
#[derive(Debug, Serialize, Deserialize)]
pub struct Capture {
    /// Packets read: `flow_packets + no_flow_packets`.
    pub records: u64,
    /// Packets that belong to a flow.
    pub flow_packets: u64,
    /// Packets that belong to none.
    pub no_flow_packets: u64,
    /// Those among them whose link type is not read.
    #[serde(default)]
    pub unknown_link_packets: u64,
    /// What could not be read, in words.
    pub damage: Option<String>,
    /// Packets whose time went backwards.
    pub clamped_times: u64,
    /// Times faster than recorded.
    pub speed: f64,
    /// Seconds of long pauses that were cut.
    pub cut_s: f64,
}

impl Capture {
    /// The one that the scenario replays, if any.
    pub fn of(scenario: &Scenario) -> Option<Self> {
        let report = scenario.capture_report()?;
        Some(Self {
            records: report.records,
            flow_packets: report.flow_packets,
            no_flow_packets: report.no_flow_packets(),
            unknown_link_packets: report.no_flow(NonFlow::UnknownLinkType),
            damage: report.damage.as_ref().map(ToString::to_string),
            clamped_times: report.clamped_times,
            speed: scenario.replay_speed().unwrap_or(1.0),
            cut_s: scenario.pauses().filter(|pauses| pauses.cut).map_or(0.0, |pauses| pauses.more.as_secs_f64()),
        })
    }

    /// How many packets it has.
    pub fn packets(&self) -> String {
        let without = match self.no_flow_packets {
            0 => String::new(),
            packets => format!(" ({packets} without a flow)"),
        };
        format!("{}{without}", counted(self.records, "packet"))
    }

    /// What is wrong with it.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.damage.iter().map(|damage| format!("warning: {damage}")).collect();
        if let Some(earlier) = earlier(self.clamped_times) {
            let arrive = if self.clamped_times == 1 { "it arrives with that one" } else { "they arrive with it" };
            warnings.push(format!("warning: {earlier}; {arrive}"));
        }
        if self.unknown_link_packets > 0 {
            let (have, they) = if self.unknown_link_packets == 1 { ("has", "it has") } else { ("have", "they have") };
            let packets = counted(self.unknown_link_packets, "packet");
            warnings.push(format!(
                "warning: {packets} {have} a link type that is not read, so {they} no flow (dovetail trace info names \
                 the link type)"
            ));
        }
        if self.records == 0 {
            warnings.push("warning: the capture holds no packets".into());
        }
        warnings
    }
}

/// That so many packets have a time before the packet ahead of them.
pub fn earlier(packets: u64) -> Option<String> {
    match packets {
        0 => None,
        1 => Some("1 packet has an earlier time stamp than the packet before it".into()),
        _ => Some(format!("{packets} packets have an earlier time stamp than the packet before them")),
    }
}
