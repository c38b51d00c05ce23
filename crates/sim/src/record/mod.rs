//! Recorders: the standard one ([`Metrics`], giving a [`RunResult`]), and one that keeps every packet ([`PacketLog`]).

mod fair_share;
mod fairness;
mod freed;
mod gini;
mod latency;
mod metrics;
mod packet_log;
mod result;
mod series;

pub use fairness::{Fairness, Shortfall, ShortfallBy, gini, jain};
pub use freed::Freed;
pub use latency::{Distribution, Latencies, LatencySummary, MOST_EXACT, MOST_OF_A_FLOW};
pub use metrics::{Metrics, MetricsOptions};
pub use packet_log::{PacketLog, PacketOutcome, PacketRecord};
pub use result::{FlowResult, Losses, ResourceResult, RunResult};
pub use series::{IntervalRow, Series, ShareRow};
