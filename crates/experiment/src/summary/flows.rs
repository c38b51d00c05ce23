//! The flows of a run in the JSON summary: there are many thousands, so each is made when it is written.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Behind, Latency, Packets, makespan_s, rate, span_s};
use crate::compact::{Named, by_resource};
use crate::recorded::{FlowTotal, LatencySummary, PerResource, Recorded};

/// One flow.
#[derive(Debug, Serialize, Deserialize)]
struct FlowSummary {
    /// Its name, group and weight.
    #[serde(flatten)]
    named: Named,
    /// Its packets.
    #[serde(flatten)]
    packets: Packets,
    /// Delivered bits per second of makespan.
    throughput_bps: f64,
    /// Dominant service per second of makespan, or of all the time that a run lasted that was cut off.
    dominant_share: f64,
    /// Service on each resource, seconds over all servers.
    #[serde(with = "by_resource")]
    service_s: PerResource<f64>,
    /// What its packets that were lost after processing would have needed there.
    #[serde(with = "by_resource")]
    lost_service_s: PerResource<f64>,
    /// `null` if nothing was delivered.
    latency_s: Option<Latency>,
    /// How far behind it was.
    behind: Behind,
    /// Whether it was behind what is promised to it by more than the order of packets explains.
    starves: bool,
}

impl FlowSummary {
    fn of(total: &FlowTotal, latency: Option<LatencySummary>, [makespan_s, span_s]: [f64; 2]) -> Self {
        Self {
            named: Named(total.facts()),
            packets: Packets::of(total),
            throughput_bps: rate(total.bytes, makespan_s),
            dominant_share: total.dominant_share(span_s),
            service_s: total.service.clone(),
            lost_service_s: total.losses().service,
            latency_s: latency.map(Latency::from),
            behind: Behind::of(&total.behind),
            starves: total.behind.starves(),
        }
    }
}

/// Every flow of a run, in a document a list.
#[derive(Debug)]
pub struct Flows(Kept);

#[derive(Debug)]
enum Kept {
    /// What was recorded of them, shared with the run; of the latencies what is told, as these are many; and the run's
    /// makespan and span.
    Recorded { totals: Arc<Vec<FlowTotal>>, latencies: Vec<Option<LatencySummary>>, times_s: [f64; 2] },
    /// As they stand in a document.
    Read(Vec<FlowSummary>),
}

impl Flows {
    /// None.
    pub(super) fn none() -> Self {
        Self(Kept::Read(Vec::new()))
    }

    /// Of this run.
    pub(super) fn of(run: &Recorded) -> Self {
        let latencies = (0..run.flows.len()).map(|flow| run.latency(flow)).collect();
        Self(Kept::Recorded { totals: Arc::clone(&run.flows), latencies, times_s: [makespan_s(run), span_s(run)] })
    }
}

impl Serialize for Flows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Kept::Recorded { totals, latencies, times_s } => {
                let flow = |(total, latency): (&FlowTotal, &_)| FlowSummary::of(total, *latency, *times_s);
                serializer.collect_seq(totals.iter().zip(latencies).map(flow))
            }
            Kept::Read(flows) => serializer.collect_seq(flows),
        }
    }
}

impl<'de> Deserialize<'de> for Flows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Kept::Read(Vec::deserialize(deserializer)?)))
    }
}
