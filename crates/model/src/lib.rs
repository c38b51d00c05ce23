//! The mathematics without packets: fluid schedules and the bounds of the papers.
//!
//! A *fluid* schedule serves every backlogged flow's head packet on all resources at once and at the same progress
//! (W. Wang, C. Feng, B. Li, B. Liang, "On the Fairness-Efficiency Tradeoff for Packet Processing with Multiple
//! Resources", CoNEXT 2014, section 3.1; called "the paper" in this crate). It is the reference that the packet
//! schedulers follow and are measured against.
//!
//! - [`head`]: a backlogged flow's head packet: processing times, normalised times, weight.
//! - [`drgps`]: the fair allocation, equation (16), for any number of resources and any weights.
//! - [`tradeoff`]: problem (19): closed form for two resources (Theorem 3), linear program for any number.
//! - [`fluid`]: the evolution of either over a finite input: makespan, packet times, dominant service, utilisation.
//! - [`bounds`]: the theorems' guarantees as numbers; [`bounds_composite`]: those of PCFQ and CBCS.
//! - [`drq`]: TCP flows on CPUs and links: dual-resource proportional fairness and the Reno/DRQ fluid model.
//!
//! All times are `f64` seconds, all shares fractions of a resource in `[0, 1]`. Nothing here reads a clock or draws a
//! random number; the same input gives the same bits.
//!
//! ```
//! use dovetail_model::{Head, Ties, Tradeoff};
//!
//! // The paper's Fig. 1: processing times <2, 3> and <9, 1> on CPU and link.
//! let heads = [Head::new(&[2.0, 3.0], 1.0)?, Head::new(&[9.0, 1.0], 1.0)?];
//! let fair = Tradeoff::new(1.0, Ties::Rotate)?.allocate(&heads)?;
//! assert!(fair.shares.iter().all(|share| (share - 0.6).abs() < 1e-15));
//! let efficient = Tradeoff::new(0.0, Ties::Rotate)?.allocate(&heads)?;
//! assert!((efficient.shares[0] - 24.0 / 25.0).abs() < 1e-15);
//! assert!((efficient.shares[1] - 9.0 / 25.0).abs() < 1e-15);
//! # Ok::<(), dovetail_model::ModelError>(())
//! ```

pub mod bounds;
pub mod bounds_composite;
pub mod drgps;
pub mod drq;
mod error;
pub mod fluid;
pub mod head;
#[cfg(all(debug_assertions, not(test)))]
mod instances;
pub mod tradeoff;

pub use error::ModelError;
pub use head::Head;
pub use tradeoff::{Allocation, Solver, Ties, Tradeoff};
