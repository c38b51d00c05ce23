//! The latency distribution (the paper's Figs. 5c and 8a-c).

use super::axis::{Axis, extent, time_unit};
use super::sheet::{Entry, MOST_LINES, Mark, Sheet, chart, curve, lines_left_out, no_data};
use super::style::{Look, look};
use super::{FigureError, clean};

/// A distribution of latencies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cdf {
    /// The scheduler: gives the line its colour.
    pub scheduler: String,
    /// A group of flows, if the distribution is of a group only: gives the line its dash.
    pub group: Option<String>,
    /// Latency in seconds, fraction of the packets (0..1) that have at most this latency; both grow.
    pub points: Vec<(f64, f64)>,
}

impl Cdf {
    /// The distribution of `latencies` (seconds), at no more than `most` points: the quantiles at equal steps with the
    /// smallest and the largest value. Values that are not finite are left out. O(n log n).
    pub fn from_latencies(scheduler: &str, group: Option<&str>, latencies: &[f64], most: usize) -> Cdf {
        let mut sorted: Vec<f64> = latencies.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let count = n.min(most.max(2));
        let rank = |k: usize| if count < 2 { 0 } else { ((n - 1) as u128 * k as u128 / (count - 1) as u128) as usize };
        let points = (0..count).map(rank).map(|i| (sorted[i], (i + 1) as f64 / n as f64)).collect();
        Cdf { scheduler: scheduler.into(), group: group.map(Into::into), points }
    }

    fn name(&self) -> String {
        match &self.group {
            Some(group) => format!("{}, {group}", self.scheduler),
            None => self.scheduler.clone(),
        }
    }
}

/// Latency distributions, one line each. The latency axis is logarithmic when the values span over two decades, and
/// latencies of zero then stand at its left end.
pub fn latency_cdf(title: &str, cdfs: &[Cdf]) -> Result<String, FigureError> {
    let mut sheet = Sheet::grid(title, 1);
    sheet.notes.extend(lines_left_out(cdfs.len()));
    let cdfs = &cdfs[..cdfs.len().min(MOST_LINES)];
    let looks = looks(cdfs);
    sheet.legend =
        cdfs.iter().zip(&looks).map(|(cdf, look)| Entry { name: cdf.name(), look: *look, mark: Mark::Line }).collect();

    let cleaned: Vec<Vec<(f64, f64)>> = cdfs.iter().map(|c| clean(&c.points)).collect();
    let latencies = || cleaned.iter().flatten().map(|p| p.0);
    let Some((shortest, longest)) = extent(latencies()) else {
        return sheet.render(|areas| areas.iter().try_for_each(|area| no_data(area, "")));
    };
    let positive = extent(latencies().filter(|&v| v > 0.0)).unwrap_or((longest, longest));
    let y = Axis::linear("Packets with at most this latency (%)", (0.0, 1.0), 100.0, 5, false);
    let logarithmic = positive.0 > 0.0 && positive.1 > 100.0 * positive.0;
    let (factor, unit) = time_unit(if logarithmic { positive.0 * 1e3 } else { longest });
    let x = if logarithmic {
        let range = (positive.0 * factor, positive.1 * factor);
        Axis::logarithmic(&format!("Latency ({unit}), logarithmic"), range, false)
    } else {
        Axis::seconds("Latency", (shortest.min(0.0), longest), 8)
    };

    sheet.render(|areas| {
        let Some(area) = areas.first() else { return Ok(()) };
        let mut chart = chart(area, "", &x, &y)?;
        for (points, look) in cleaned.iter().zip(&looks) {
            let steps = steps(points, positive.0, longest, logarithmic.then_some(factor));
            curve(&mut chart, &x, &y, &steps, *look)?;
        }
        Ok(())
    })
}

/// Schedulers have colours, the groups of one scheduler have dashes. Without groups all lines are solid as long as
/// there are colours.
fn looks(cdfs: &[Cdf]) -> Vec<Look> {
    let mut schedulers: Vec<&str> = Vec::new();
    let mut groups: Vec<Option<&str>> = Vec::new();
    for cdf in cdfs {
        if !schedulers.contains(&cdf.scheduler.as_str()) {
            schedulers.push(&cdf.scheduler);
        }
        if !groups.contains(&cdf.group.as_deref()) {
            groups.push(cdf.group.as_deref());
        }
    }
    let dash = |group: usize| [None, Some((18, 10)), Some((6, 7)), Some((30, 8))][group % 4];
    cdfs.iter()
        .map(|cdf| {
            let scheduler = schedulers.iter().position(|s| *s == cdf.scheduler).unwrap_or(0);
            let group = groups.iter().position(|g| *g == cdf.group.as_deref()).unwrap_or(0);
            let base = look(scheduler);
            Look { color: base.color, width: base.width, dash: if groups.len() > 1 { dash(group) } else { base.dash } }
        })
        .collect()
}

/// The distribution as a line: it rises from zero at its smallest value and stays at its end to the right border.
fn steps(points: &[(f64, f64)], least: f64, longest: f64, log_factor: Option<f64>) -> Vec<(f64, f64)> {
    let place = |v: f64| log_factor.map_or(v, |factor| v.max(least) * factor);
    let fraction = |f: f64| f.clamp(0.0, 1.0);
    let mut line = Vec::with_capacity(points.len() + 2);
    line.extend(points.first().map(|p| (place(p.0), 0.0)));
    line.extend(points.iter().map(|p| (place(p.0), fraction(p.1))));
    line.extend(points.last().map(|p| (place(longest), fraction(p.1))));
    line
}
