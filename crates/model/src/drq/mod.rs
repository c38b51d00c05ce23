//! Dual-resource proportional fairness for TCP, and DRQ's fluid model.
//!
//! M. Shin, S. Chong, I. Rhee, "Dual-resource TCP/AQM for Processing-constrained Networks", IEEE INFOCOM 2006; called
//! "the paper" in this module. TCP flows share CPUs and links; flow s needs `w_s` cycles per bit on a CPU. DRQ marks
//! packets so that the rates of TCP Reno maximise `sum_s alpha_s log r_s`.
//!
//! - [`Network`]: CPUs, links, and the flows through them.
//! - [`solve`]: problem P, equations (2)-(6), for any network.
//! - [`Single`]: one CPU and one link: the three regimes in closed form, and the equal rates of RED without DRQ.
//! - [`RenoNetwork`]: TCP Reno sources and DRQ's RED curves; its equilibrium and conditions C1 and C2 (Proposition 1).
//! - [`Fluid`]: the same in time, equations (7)-(15).
//! - [`stability()`]: Proposition 2.
//!
//! What the paper leaves open and how it is read here:
//! - `v_k`, the CPU queue "in bits": bits arrive at `sum x_s` and leave in the mix that is in the queue, at `C_k v_k /
//!   z_k`.
//! - `R` and `Gamma` of Proposition 2 are of the resources that somebody uses.
//! - A CPU's price can be above 1 without harm to the marking if its density is small; condition C1 is kept as printed,
//!   since the pre-marking probability itself cannot exceed 1.
//!
//! ```
//! use dovetail_model::drq::{Hop, Network, solve};
//!
//! // Fig. 2: four flows with 1, 2, 4 and 8 cycles/bit; the CPU is the bottleneck and they get a quarter of it each.
//! let densities = [1.0, 2.0, 4.0, 8.0];
//! let mut network = Network::new();
//! let (cpu, link) = (network.add_cpu(8e6)?, network.add_link(40e6)?);
//! for density in densities {
//!     network.add_flow(1.0, &[Hop::cpu(cpu, density), Hop::link(link)])?;
//! }
//! let fair = solve(&network)?;
//! assert!((fair.rates[0] - 2e6).abs() < 1.0 && (fair.rates[3] - 0.25e6).abs() < 1.0);
//! // With plain RED on both, all get the same and the link carries less than a third of that.
//! assert!((network.equal_rates()?[0] - 8e6 / 15.0).abs() < 1.0);
//! # Ok::<(), dovetail_model::ModelError>(())
//! ```

mod fluid;
mod interior;
mod network;
mod proportional;
mod red_curve;
mod reno;
mod single;
mod stability;

pub use fluid::{Fluid, FluidState};
pub use network::{Hop, Kind, Network, Resource};
pub use proportional::{Proportional, Residuals, residuals, solve};
pub use red_curve::{RedCurve, RedQueue};
pub use reno::{Equilibrium, Reno, RenoHop, RenoNetwork, marking};
pub use single::{Regime, Single, SingleAllocation};
pub use stability::{Stability, stability};
