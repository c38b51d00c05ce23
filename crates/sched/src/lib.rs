//! The packet schedulers: one contract ([`Scheduler`]), one file per discipline.
//!
//! Time comes in as an argument and packets are opaque payloads. Nothing here does I/O, reads a clock, draws a random
//! number, or allocates per packet in the steady state. The same code runs in the simulator and on live traffic.
//!
//! To use a scheduler, start with [`Scheduler`], which has an example, and [`build`]. To write one, start with
//! [`Discipline`], which has an example too.
//!
//! * [`contract`]: what callers ask a scheduler, and what it answers.
//! * [`per_flow`]: queues, limits and counts of packets, implemented once for all disciplines. A [`discipline`] only
//!   decides whose first packet is next. [`queues`]: what it finds in the queues, and heaps and lists for its flows.
//! * [`fifo`], [`drfq`], [`mr3`], [`gmr3`], [`drgps`], [`tradeoff`], [`atfq`]: the disciplines.
//! * [`drr`], [`wfq`], [`wf2q_plus`], [`sfq`], [`scfq`]: disciplines that share one resource; [`one_resource`] is what
//!   they have in common.
//! * [`pcfq`], [`cbcs`]: disciplines that share the total time on all resources; [`charge`] is what they have in
//!   common.
//! * [`mod@catalog`]: their names, parameters and guarantees; [`catalog::build`] makes one from a text such as
//!   `tradeoff:alpha=0.85`.
//! * [`bottleneck`]: shares whichever resource is in most demand, for comparison.
//! * [`composition`]: one single-resource discipline in front of each resource, such as `drr+drr`; [`gate`] before
//!   each.
//! * [`tag`]: exact virtual time; [`flow_tags`]: a flow's position in it; [`newcomers`]: the position of a flow that
//!   becomes backlogged. [`gain`]: what a flow can gain by strategy. [`promise`]: what it is promised.
//! * [`touch`]: fetches from memory at once what the next packets need.
//! * [`steps`]: how much a call does, counted in tests.
//! * [`cost`]: estimates of packets' processing times, learnt from measurements.
//! * [`aqm`]: active queue management, which decides about single packets of a queue: RED and DRQ. [`codel`]: CoDel and
//!   FQ-CoDel.
#![no_std]

extern crate alloc;

mod anteroom;
pub mod aqm;
pub mod atfq;
pub mod bottleneck;
mod carrier;
pub mod catalog;
pub mod cbcs;
pub mod charge;
pub mod codel;
pub mod composition;
pub mod contract;
pub mod cost;
pub mod discipline;
pub mod drfq;
pub mod drgps;
pub mod drr;
pub mod fifo;
pub mod flow_tags;
pub mod gain;
pub mod gate;
pub mod gmr3;
#[cfg(all(debug_assertions, not(test)))]
mod instances;
pub mod mr3;
pub mod newcomers;
mod note;
pub mod one_resource;
pub mod pcfq;
pub mod per_flow;
pub mod progress_control;
pub mod promise;
pub mod queues;
mod register;
pub mod scfq;
pub mod sfq;
pub mod spec;
pub mod steps;
pub mod tag;
pub mod touch;
pub mod tradeoff;
pub mod turns;
pub mod wf2q_plus;
pub mod wfq;
pub mod window;

pub use catalog::{Shape, build, catalog};
pub use composition::{Schedulers, build_all};
pub use contract::{
    DROPPED_AT_HEAD, DropReason, FlowConfig, FlowId, LONGEST_TIME, Limit, Next, Packet, Progress, Refused, Scheduler,
    Seen, Served, Stats, Steering, Ticket, TimeLimit, Took, UnknownFlow,
};
pub use discipline::{Choice, Discipline};
pub use note::{Note, Words};
pub use per_flow::PerFlow;
pub use spec::{Names, Spec, SpecError};
