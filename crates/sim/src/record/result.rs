//! What the standard recorder yields.

use dovetail_sched::DropReason;
use dovetail_sched::cost::PredictionError;
use dovetail_units::{Duration, ResourceVec, Weight};

use crate::engine::Outcome;
use crate::record::latency::Latencies;
use crate::record::series::Series;

/// Everything that is known of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct RunResult<const M: usize> {
    /// Packets in all, end of the run, makespan.
    pub outcome: Outcome,
    /// In pipeline order.
    pub resources: [ResourceResult; M],
    /// Time during which at least one packet was in the system.
    pub nonempty: Duration,
    /// In the order of the workload.
    pub flows: Vec<FlowResult<M>>,
    /// What happened in each interval.
    pub series: Series<M>,
    /// From arrival to leaving the last resource, of all packets that were delivered.
    pub latencies: Latencies,
}

/// A resource over the whole run.
#[derive(Clone, PartialEq, Debug)]
pub struct ResourceResult {
    /// Its name.
    pub name: String,
    /// Its parallel servers.
    pub servers: u32,
    /// Service time, summed over the servers; time blocked does not count.
    pub busy: Duration,
    /// Utilisation given a non-empty system (tradeoff paper, section 2.2): `busy` divided by servers times the time
    /// during which any packet was in the system.
    pub utilization: f64,
}

/// A flow over the whole run.
///
/// `offered = delivered + losses().packets() + unfinished`.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowResult<const M: usize> {
    /// Its weight.
    pub weight: Weight,
    /// Packets that arrived.
    pub offered: u64,
    /// Packets that left the last resource.
    pub delivered: u64,
    /// Packets in the system when the run ended: of all flows together less than 2^32.
    pub unfinished: u32,
    /// Bytes that arrived.
    pub bytes_offered: u64,
    /// Bytes that left the last resource.
    pub bytes_delivered: u64,
    /// Service received on each resource, in time on one server.
    pub service: ResourceVec<M>,
    /// Service on the packets' dominant resources in seconds, divided by the resource's number of servers. A packet's
    /// dominant resource is that with the longest time so divided, the first of equals; where weights differ by
    /// resource, with the longest time by weight.
    pub dominant_service: f64,
    /// Mean time of an admitted packet on its dominant resource, in the seconds of
    /// [`ShareRow::service`](super::ShareRow::service).
    pub mean_dominant_time: f64,
    /// Time with at least one packet in queue or pipeline.
    pub backlogged: Duration,
    /// `None` if nothing was lost, and the scheduler is told the truth everywhere.
    pub(crate) rare: Option<Box<Rare<M>>>,
}

/// What few flows have.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Rare<const M: usize> {
    pub losses: Losses<M>,
    /// By resource; `None` if the scheduler is told the truth everywhere.
    pub predictions: Option<[Option<PredictionError>; M]>,
}

/// What became of a flow's packets that were lost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Losses<const M: usize> {
    /// Packets the scheduler did not take, in the order of [`DropReason::ALL`].
    pub refused: [u64; DropReason::ALL.len()],
    /// Packets that found a buffer between two resources full.
    pub dropped: u64,
    /// Packets that the scheduler dropped while they waited.
    pub dropped_waiting: u64,
    /// Time that the dropped ones would have needed on the resources from which they were kept, on one server.
    pub service: ResourceVec<M>,
}

impl<const M: usize> Losses<M> {
    /// All of them.
    pub fn packets(&self) -> u64 {
        self.refused.iter().sum::<u64>() + self.dropped + self.dropped_waiting
    }
}

impl<const M: usize> Default for Losses<M> {
    /// Nothing was lost.
    fn default() -> Self {
        Self { refused: [0; DropReason::ALL.len()], dropped: 0, dropped_waiting: 0, service: ResourceVec::ZERO }
    }
}

impl<const M: usize> FlowResult<M> {
    /// What was lost.
    pub fn losses(&self) -> Losses<M> {
        self.rare.as_ref().map_or(Losses::default(), |rare| rare.losses)
    }

    /// How far predictions were off on a resource, per server; of the packets that were processed there. `None` where
    /// the scheduler is told the truth.
    pub fn prediction(&self, resource: usize) -> Option<PredictionError> {
        self.rare.as_ref()?.predictions?[resource]
    }

    /// Whether anything was predicted.
    pub fn is_predicted(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.predictions.is_some())
    }
}
