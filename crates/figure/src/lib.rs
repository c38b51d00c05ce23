//! Pictures of results as SVG text.
//!
//! Every function takes plain points and names and returns one SVG document. The same input gives the same bytes.
//!
//! Rules that hold for all of them:
//! - NaN and infinite values are left out; what remains empty is drawn as a picture that says "no data".
//! - Names come from users: they are escaped, and long ones are shortened with an ellipsis.
//! - Legends stand below the plots, never on the data.
//! - What a picture leaves out for the sake of size (marks, panels, legend entries) its caption says.
//!
//! The work is O(p log p) for p points, the document is bounded by a few hundred kilobytes however many points come in.

mod axis;
mod bars;
mod caption;
mod cdf;
mod curves;
mod gantt;
mod lines;
mod marker;
mod overview;
mod part;
mod scatter;
mod shares;
mod sheet;
mod style;
mod utilization;

pub use bars::{Bar, BarChart, BarSeries, STANDARD_DEVIATION, bars_with_error};
pub use caption::captioned;
pub use cdf::{Cdf, latency_cdf};
pub use curves::{Curve, CurveChart, CurvePanel, Measured, curves};
pub use gantt::{Row, Schedule, Service, gantt};
pub use lines::{LineChart, LinePanel, Quantity, lines};
pub use marker::Level;
pub use overview::{Column, Overview, overview};
pub use scatter::{Scatter, scatter_loglog};
pub use shares::{FlowShares, SharePanel, dominant_shares};
pub use sheet::DARK;
pub use utilization::{UtilizationPanel, over_time, utilization};

/// A named list of points (x, y), in the units that the function taking it states.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The name shown in the legend.
    pub name: String,
    /// The points; the order does not matter to pictures of lines, which sort by x.
    pub points: Vec<(f64, f64)>,
}

/// The drawing library refused an operation. Writing to memory does not fail, so this means a defect, not bad input.
#[derive(Debug)]
pub struct FigureError {
    title: String,
    reason: String,
}

impl std::fmt::Display for FigureError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot draw \"{}\": {}", self.title, self.reason)
    }
}

impl std::error::Error for FigureError {}

/// Finite points only, in order of x. Magnitudes that no axis can show (over 1e100) count as not finite.
fn clean(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let usable = |v: f64| v.is_finite() && v.abs() < 1e100;
    let mut kept: Vec<(f64, f64)> = points.iter().copied().filter(|&(x, y)| usable(x) && usable(y)).collect();
    kept.sort_by(|a, b| a.0.total_cmp(&b.0));
    kept
}

#[cfg(test)]
mod tests;
