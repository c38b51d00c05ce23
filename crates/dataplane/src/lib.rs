//! The live middlebox: real frames, real processing, the schedulers of `dovetail-sched` unchanged.
//!
//! * [`core`]: the box without clock, threads or ports.
//! * [`config`]: what a box is made of, as it is written.
//! * [`classes`]: which flow is of which class.
//! * [`confine`]: what the running box gives up.
//! * [`control`], [`metrics`]: how a running box is talked to and watched.
//! * [`mod@file`]: how files that a box is made of are read.
//! * [`live`], [`driver`]: the box between two ports, by the clock or in simulated time.
//! * [`frame`]: a frame in a buffer of its own, with room to grow, and the pool that buffers come from.
//! * [`port`]: where frames come from and go to.
//! * [`module`]: what is done to a frame.
//! * [`trouble`]: what is wrong with a port, and what helps.
//! * [`watch`]: what happens to a running box, for its log.

pub mod calibrate;
pub mod classes;
pub mod config;
pub mod confine;
pub mod control;
pub mod core;
mod deadline;
pub mod driver;
pub mod file;
pub mod frame;
mod http;
pub mod live;
pub mod metrics;
pub mod module;
pub mod port;
pub mod report;
pub mod standard;
pub mod trouble;
mod wait;
pub mod watch;
