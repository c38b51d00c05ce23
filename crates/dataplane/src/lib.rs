//! The live middlebox: real frames, real processing, the schedulers of `dovetail-sched` unchanged.
//!
//! * [`frame`]: a frame in a buffer of its own, with room to grow, and the pool that buffers come from.
//! * [`port`]: where frames come from and go to.
//! * [`module`]: what is done to a frame.

pub mod frame;
pub mod module;
pub mod port;
