//! The packet-level simulator: sources, a pipeline of resources behind a scheduler, recorders.
mod arrivals;
mod costs;
mod engine;
mod error;
mod pipeline;
mod random;
pub mod record;
mod recorder;
mod stage;
mod validate;
mod workload;

pub use engine::{Change, End, Options, Outcome, Tally, run, simulate};
pub use error::SimError;
pub use pipeline::{Buffer, Pipeline, Resource};
pub use random::{Stream, stream};
pub use record::{Metrics, MetricsOptions, RunResult};
pub use recorder::{Recorder, SimPacket};
pub use workload::{Arrival, Cost, Estimate, Flow, Generator, List, Pattern, Size, Source, Spell, TimeScale, Workload};
