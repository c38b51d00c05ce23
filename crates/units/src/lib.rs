//! Quantities with units: time, data, rates, weights, parts, and vectors over resources.
//!
//! Everything is an integer: two runs of the same scenario agree to the last bit, and no value loses
//! precision with uptime. Each quantity prints and parses as people write it: `"200 Mbps"`, `"84.5 us"`.
#![no_std]

extern crate alloc;

mod cycles;
mod decimal;
mod quantity;
mod resource;
mod time;

pub use cycles::{CycleRate, Density};
pub use decimal::ParseError;
pub use quantity::{BitRate, Bytes, PacketRate, Part, Weight};
pub use resource::ResourceVec;
pub use time::{Duration, Time};
