//! Dual-resource proportional fairness for TCP, and DRQ's fluid model.
//!
//! M. Shin, S. Chong, I. Rhee, "Dual-resource TCP/AQM for Processing-constrained Networks", IEEE INFOCOM 2006; called "the
//! paper" in this module. TCP flows share CPUs and links; flow s needs `w_s` cycles per bit on a CPU. DRQ marks packets so that
//! the rates of TCP Reno maximise `sum_s alpha_s log r_s`.
//!
//! - [`Network`]: CPUs, links, and the flows through them.
//! - [`solve`]: problem P, equations (2)-(6), for any network.
//! - [`Single`]: one CPU and one link: the three regimes in closed form, and the equal rates of RED without DRQ.

mod interior;
mod network;
mod proportional;
mod single;

pub use network::{Hop, Kind, Network, Resource};
pub use proportional::{Proportional, Residuals, residuals, solve};
pub use single::{Regime, Single, SingleAllocation};
