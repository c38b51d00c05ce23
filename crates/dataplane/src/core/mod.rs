//! The box itself, without clock, threads or ports: frames come in with a time, and go out when their time has come.
//!
//! Two drivers use it: the worker of a live box, and the one that lets captures through in simulated time. Both tell
//! the time; the core does what is due until then, each event at its own instant. So a worker that wakes late, as every
//! worker does, changes no rate: a packet that could have started on the link 20 us ago starts 20 us ago.

mod account;
mod classify;
mod cpu;
mod crowd;
mod flows;
mod fragments;
mod latency;
mod link;
mod managed;
mod middlebox;
mod parameters;
mod queue;
mod queues;
mod reload;
mod resources;
mod setup;
mod sized;
mod snapshot;

pub use account::{Account, Books, Drops};
pub use cpu::{Budget, Charge, stopwatch};
pub use flows::{FlowLimits, Flows};
pub use fragments::FragmentLimits;
pub use middlebox::Middlebox;
pub(crate) use middlebox::STOPPED;
pub(crate) use queue::MOST_RESOURCES;
pub use queue::{Buffer, Overflow};
pub use reload::ModuleState;
pub(crate) use resources::{OUTGOING, Way};
pub use setup::{NamedModule, Setup, SetupClass, ThirdResource};
pub(crate) use sized::Handed;
pub use snapshot::{
    BufferSnapshot, ClassSnapshot, FlowSnapshot, HeavySnapshot, LateSnapshot, Latency, ModuleSnapshot, PortSnapshot,
    QueueSnapshot, ResourceSnapshot, SCHEMA, SeenSnapshot, Snapshot, SteeringSnapshot,
};
