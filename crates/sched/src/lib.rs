//! The packet schedulers: one contract ([`Scheduler`]), one file per discipline.
//!
//! Sans-I/O: time comes in as an argument, packets are opaque payloads, and nothing here reads a clock, allocates
//! per packet in the steady state, or draws a random number. The same code runs in the simulator and on live traffic.
//!
//! * [`contract`]: what a scheduler is asked and what it answers.
//! * [`per_flow`]: per-flow queues, limits and books, once for all disciplines; a [`Discipline`] only decides whose
//!   head packet is next.
//! * [`fifo`], [`drfq`], [`tradeoff`]: the disciplines.
//! * [`catalog`]: their names, parameters and guarantees; [`catalog::build`] makes one from a text such as
//!   `tradeoff:alpha=0.85`.
//! * [`cost`]: estimates of a packet's processing times.
#![no_std]

extern crate alloc;

pub mod catalog;
pub mod contract;
pub mod cost;
pub mod drfq;
pub mod fifo;
pub mod per_flow;
pub mod queues;
pub mod spec;
pub mod tradeoff;

pub use catalog::{Shape, build, catalog};
pub use contract::{
    DropReason, FlowConfig, FlowId, LONGEST_TIME, Limit, Next, Packet, Progress, Refused, Scheduler, Served, Stats, Ticket,
    UnknownFlow,
};
pub use per_flow::{Choice, Discipline, PerFlow};
pub use spec::{Spec, SpecError};
