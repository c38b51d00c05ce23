//! The packet-level simulator: sources send packets of flows through a scheduler into a pipeline of resources, and
//! recorders are told about every packet.
//!
//! * [`Workload`]: flows with their costs and weights; sources: [`Generator`] (constant rate, Poisson, on/off) and
//!   [`List`] (fixed arrivals, replayed captures).
//! * [`Pipeline`]: resources in series, with parallel servers and buffers between them, or without any waiting between
//!   them.
//! * [`run`]: a simulation that gives a [`RunResult`]. [`simulate`] takes any [`Recorder`] instead; [`simulate_all`]
//!   also puts schedulers between the resources.
//! * [`network`]: TCP flows over networks of CPUs and links.
//!
//! There is no I/O and no clock. Times are integer nanoseconds, events are ordered by (time, sequence), and every
//! random source draws from its own named [`stream`]. So equal inputs give equal results to the last bit.
//!
//! ```
//! use dovetail_sched::{Shape, build};
//! use dovetail_sim::*;
//!
//! // Packets of 800 bytes: 21 us of CPU, then a link of 200 Mb/s.
//! let cost = [Cost::Linear("21 us".parse()?), Cost::Link("200 Mbps".parse()?)];
//! let constant = Pattern::Constant("40 kpps".parse()?);
//! let source = Generator { packets: Some(1000), ..Generator::new(0, constant, Size::Fixed(800)) };
//! let workload =
//!     Workload { flows: vec![Flow::new("video", cost)], sources: vec![Source::Generator(source)] };
//!
//! let mut scheduler = build(&"drfq".parse()?, Shape::default())?;
//! let pipeline = Pipeline::new(["cpu", "link"]);
//! let result = run(&workload, &pipeline, &mut *scheduler, MetricsOptions::default(), Options::default())?;
//!
//! // The link is the bottleneck: 1000 times 32 us, after the first packet's 21 us of CPU.
//! assert_eq!(result.outcome.makespan().unwrap().to_string(), "32.021 ms");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
mod agenda;
mod arrivals;
mod between;
mod costs;
mod deferred;
mod engine;
mod error;
#[cfg(all(debug_assertions, not(test)))]
mod instances;
mod job;
pub mod network;
mod pipeline;
mod predictors;
mod random;
pub mod record;
mod recorder;
mod validate;
mod workload;

pub use deferred::{Deferred, deferred};
pub use dovetail_trace::Arrival;
pub use engine::{Change, End, Options, Outcome, Tally, run, simulate, simulate_all};
pub use error::SimError;
pub use pipeline::{Buffer, Pipeline, Resource};
pub use random::{Stream, stream};
pub use record::{Metrics, MetricsOptions, RunResult};
pub use recorder::{Recorder, SimPacket};
pub use workload::{
    Cost, Estimate, Flow, FlowName, FlowTerms, Generator, List, Listed, ListedIter, Pattern, Resize, Size, Source,
    Spell, TimeScale, Workload,
};
