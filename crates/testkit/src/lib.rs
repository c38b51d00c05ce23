//! Oracles and the suite that every scheduler passes. For tests only.
//!
//! A discipline of another crate [registers](dovetail_sched::catalog::register) itself and calls [`suite::check`] in a
//! test: then it is held to the same as those of the catalogue, by what its entry says of itself.
//!
//! * [`calls`]: single calls with very many flows, and for how long the longest one takes.
//! * [`conformance`]: the suite, and [`model`]: a scheduler's books kept from outside.
//! * [`direct`]: the tradeoff discipline by the paper's direct O(n) implementation.
//! * [`naive_drfq`]: DRFQ as its definition reads.
//! * [`naive_drgps`]: the trackers of the DRGPS fluid as the definition reads.
//! * [`gaming`]: what a flow gains by playing.
//! * [`habits`]: a scheduler whose owner repeats itself, or asks what may bypass.
//! * [`mod@line`]: two resources that need equally long for every packet.
//! * [`no_wait`]: a pipeline without buffers, by plain recursion.
//! * [`naive_composite`], [`naive_pcfq`], [`naive_cbcs`]: PCFQ and CBCS as their equations read.
//! * [`operation`]: what a scheduler's owner may do, as data, and made from bytes (random or from a fuzzer).
//! * [`suite`]: all of it for one spec.
//! * [`twins`]: two schedulers under one sequence of operations, which must answer alike.
//! * [`parameters`]: whether a discipline's parameters do what the catalogue says.
//! * [`random`]: a small seeded generator.
//! * [`range`]: fairness over the whole range of weights and processing times.

pub mod calls;
pub mod conformance;
pub mod direct;
pub mod gaming;
pub mod habits;
pub mod line;
pub mod model;
pub mod naive_cbcs;
pub mod naive_composite;
pub mod naive_drfq;
pub mod naive_drgps;
pub mod naive_pcfq;
pub mod no_wait;
pub mod operation;
pub mod parameters;
pub mod random;
pub mod range;
pub mod suite;
pub mod twins;
