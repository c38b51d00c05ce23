//! The latency distribution (the paper's Figs. 5c and 8a-c).

use super::axis::{Axis, extent, time_unit};
use super::marker::along;
use super::part::{Kind, part};
use super::sheet::{Entry, MOST_LINES, MOST_PANELS, Mark, Sheet, chart, curve, left_out, lines_left_out, no_data};
use super::style::{Look, look, nested_width};
use super::{FigureError, clean};

/// A distribution of latencies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cdf {
    /// The scheduler: gives the line its colour.
    pub scheduler: String,
    /// A group of flows, if the distribution is of a group only: gives the line its panel.
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
        Self::from_ranks(scheduler, group, sorted.len() as u64, |rank| sorted[rank as usize], most)
    }

    /// The same of `count` latencies (seconds), of which `nth` tells the one of a rank, from 0.
    pub fn from_ranks(scheduler: &str, group: Option<&str>, count: u64, nth: impl Fn(u64) -> f64, most: usize) -> Cdf {
        let steps = count.min(most.max(2) as u64);
        let rank = |k: u64| match steps {
            1 => 0,
            _ => (u128::from(count - 1) * u128::from(k) / u128::from(steps - 1)) as u64,
        };
        let points = (0..steps).map(rank).map(|at| (nth(at), (at + 1) as f64 / count as f64)).collect();
        Cdf { scheduler: scheduler.into(), group: group.map(Into::into), points }
    }
}

/// Latency distributions: a panel for each group and a line for each scheduler, all over the same axes. The latency
/// axis is logarithmic when the values span over two decades, and latencies of zero then stand at its left end.
pub fn latency_cdf(title: &str, cdfs: &[Cdf]) -> Result<String, FigureError> {
    let mut groups: Vec<Option<&str>> = Vec::new();
    let mut schedulers: Vec<&str> = Vec::new();
    for cdf in cdfs {
        if !groups.contains(&cdf.group.as_deref()) {
            groups.push(cdf.group.as_deref());
        }
        if !schedulers.contains(&cdf.scheduler.as_str()) {
            schedulers.push(&cdf.scheduler);
        }
    }
    let mut sheet = Sheet::grid(title, groups.len().min(MOST_PANELS));
    sheet.notes.extend(left_out(groups.len()).into_iter().chain(lines_left_out(schedulers.len())));
    groups.truncate(MOST_PANELS);
    schedulers.truncate(MOST_LINES);
    // Those that come later are narrower, so that equal lines show.
    let look_of = |k: usize| Look { width: nested_width(k, schedulers.len()), ..look(k) };
    let entry = |(k, name): (usize, &&str)| Entry {
        name: name.to_string(),
        look: look_of(k),
        mark: Mark::of(k, schedulers.len()),
    };
    sheet.legend = schedulers.iter().enumerate().map(entry).collect();

    let index = |cdf: &Cdf| schedulers.iter().position(|s| *s == cdf.scheduler);
    let of_group = |group: &Option<&str>| -> Vec<Line> {
        let own = cdfs.iter().filter(|c| c.group.as_deref() == *group);
        own.filter_map(|c| Some((index(c)?, clean(&c.points)))).collect()
    };
    let panels: Vec<Vec<Line>> = groups.iter().map(of_group).collect();
    let latencies = || panels.iter().flatten().flat_map(|(_, points)| points).map(|p| p.0);
    let Some((shortest, longest)) = extent(latencies()) else {
        return sheet.render(|areas| areas.iter().try_for_each(|area| no_data(area, "")));
    };
    // The few that leave at once must not press all others together.
    let early = |(_, points): &Line| points.iter().find(|p| p.0 > 0.0 && p.1 >= EARLY).map(|p| p.0);
    let positive = extent(panels.iter().flatten().filter_map(early).chain([longest])).unwrap_or((longest, longest));
    let y = Axis::linear("Packets within this time (%)", (0.0, 1.0), 100.0, 5, false);
    let logarithmic = positive.0 > 0.0 && positive.1 > 100.0 * positive.0;
    if logarithmic && latencies().any(|v| v < positive.0) {
        sheet.notes.push(format!("Latencies below {} are drawn at the left end.", brief(positive.0)));
    }
    let x = if logarithmic {
        Axis::logarithmic_times("Latency", (positive.0 / 1.2, positive.1))
    } else {
        Axis::seconds("Latency", (shortest.min(0.0), longest), 8)
    };

    sheet.render(|areas| {
        for ((area, group), lines) in areas.iter().zip(&groups).zip(&panels) {
            let heading = group.unwrap_or_default();
            part(area, Kind::Group, heading, || {
                if lines.iter().all(|(_, points)| points.is_empty()) {
                    return no_data(area, heading);
                }
                let mut chart = chart(area, heading, &x, &y)?;
                let line = |(k, points): &Line| (*k, steps(points, logarithmic.then_some(positive.0), longest));
                let lines: Vec<Line> = lines.iter().map(line).collect();
                for (index, points) in &lines {
                    let draw = || curve(&mut chart, &x, &y, points, look_of(*index));
                    part(area, Kind::Scheduler, schedulers[*index], draw)?;
                }
                for line in &lines {
                    let draw = || along(&chart, &x, &y, std::slice::from_ref(line), schedulers.len());
                    part(area, Kind::Scheduler, schedulers[line.0], draw)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// This part of a line may stand at the left end of a logarithmic axis.
const EARLY: f64 = 0.02;

/// A time in two digits.
fn brief(seconds: f64) -> String {
    let (factor, unit) = time_unit(seconds);
    let value = seconds * factor;
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// The index of a scheduler and its distribution.
type Line = (usize, Vec<(f64, f64)>);

/// A rise by more than this part shows: between so few packets nothing left.
const STEP: f64 = 0.01;

/// The distribution as a line: it rises from zero at its smallest value and stays at its end to the right border.
/// Nothing is left of `least`.
fn steps(points: &[(f64, f64)], least: Option<f64>, longest: f64) -> Vec<(f64, f64)> {
    let place = |v: f64| least.map_or(v, |least| v.max(least));
    let fraction = |f: f64| f.clamp(0.0, 1.0);
    let mut line: Vec<(f64, f64)> = Vec::with_capacity(points.len() + 2);
    line.extend(points.first().map(|p| (place(p.0), 0.0)));
    for point in points.iter().map(|p| (place(p.0), fraction(p.1))) {
        if let Some(before) = line.last().filter(|before| point.1 - before.1 > STEP && point.0 > before.0) {
            line.push((point.0, before.1));
        }
        line.push(point);
    }
    line.extend(points.last().map(|p| (place(longest), fraction(p.1))));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_of_few_packets_no_part_has_left() {
        let four = [(1.0, 0.25), (3.0, 0.5), (3.0, 0.75), (9.0, 1.0)];
        let line =
            [(1.0, 0.0), (1.0, 0.25), (3.0, 0.25), (3.0, 0.5), (3.0, 0.75), (9.0, 0.75), (9.0, 1.0), (12.0, 1.0)];
        assert_eq!(steps(&four, None, 12.0), line);
        let many: Vec<(f64, f64)> = (1..=500).map(|k| (f64::from(k), f64::from(k) / 500.0)).collect();
        assert_eq!(steps(&many, None, 500.0).len(), 502, "steps that nobody sees take no points");
    }
}
