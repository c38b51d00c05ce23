//! The disciplines that share one resource: service orders for a pencil, published bounds against independent
//! computations, and the arithmetic of tags.

mod bounds;
mod fluid;
mod numbers;
mod orders;
mod server;
mod specs;
mod traffic;

/// All of them.
pub const ALL: [&str; 5] = ["drr", "wfq", "wf2q+", "sfq", "scfq"];

/// What rounding can add up to, in nanoseconds of virtual time. A tag is within one tick, 2^-16 ns, of its exact value,
/// and a bound compares at most four of them; 64-bit floating point adds less than 10^-6 ns at the times that occur
/// here (below 10^9 ns, relative error 2^-53 per step, below 10^4 steps).
pub const ROUNDING: f64 = 4.0 / 65_536.0 + 1e-6;
