//! Points over two logarithmic axes (the paper's Fig. 9: latency of each flow by its size).

use super::axis::{Axis, extent};
use super::sheet::{Entry, Mark, Sheet, chart, no_data};
use super::style::look;
use super::{FigureError, Series, clean};
use plotters::prelude::*;
use std::collections::BTreeSet;

/// Most marks in one picture: about 100 bytes each.
const MOST_MARKS: usize = 6000;
/// Side of the square, in drawing units, within which marks of a series are drawn once.
const CELL: f64 = 4.0;

/// A cloud of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scatter {
    /// The title.
    pub title: String,
    /// The quantity along x with its unit.
    pub x_label: String,
    /// The quantity along y with its unit.
    pub y_label: String,
    /// The points; x and y above zero.
    pub series: Vec<Series>,
}

/// A scatter plot over two logarithmic axes. Points with a coordinate of zero or less cannot be shown, and the caption
/// counts them; marks that would cover each other are drawn once; of too many, every k-th is shown and the caption says
/// so.
pub fn scatter_loglog(spec: &Scatter) -> Result<String, FigureError> {
    let mut sheet = Sheet::grid(&spec.title, 1);
    let entry = |(k, s): (usize, &Series)| Entry { name: s.name.clone(), look: look(k), mark: Mark::Dot };
    sheet.legend = spec.series.iter().enumerate().map(entry).collect();

    let finite: Vec<Vec<(f64, f64)>> = spec.series.iter().map(|s| clean(&s.points)).collect();
    let visible = |p: &&(f64, f64)| p.0 > 0.0 && p.1 > 0.0;
    let positive: Vec<Vec<(f64, f64)>> = finite.iter().map(|s| s.iter().filter(visible).copied().collect()).collect();
    let count = |all: &[Vec<(f64, f64)>]| all.iter().map(Vec::len).sum::<usize>();
    let hidden = count(&finite) - count(&positive);
    if hidden > 0 {
        sheet.notes.push(format!("Points with a value of zero or less, which have no place on these axes: {hidden}."));
    }
    let all = || positive.iter().flatten();
    let (Some(xs), Some(ys)) = (extent(all().map(|p| p.0)), extent(all().map(|p| p.1))) else {
        return sheet.render(|areas| areas.iter().try_for_each(|area| no_data(area, "")));
    };
    let x = Axis::logarithmic(&format!("{}, logarithmic", spec.x_label), xs, true);
    let y = Axis::logarithmic(&format!("{}, logarithmic", spec.y_label), ys, true);

    let marks = apart(&positive, &x, &y);
    let step = marks.len().div_ceil(MOST_MARKS).max(1);
    if step > 1 {
        sheet.notes.push(format!("One in {step} of {} distinct points is shown.", marks.len()));
    }
    sheet.render(|areas| {
        let Some(area) = areas.first() else { return Ok(()) };
        let mut chart = chart(area, "", &x, &y)?;
        let dot = |&(k, px, py): &(usize, f64, f64)| Circle::new((px, py), 5, look(k).color.mix(0.75).filled());
        chart.draw_series(marks.iter().step_by(step).map(dot))?;
        Ok(())
    })
}

/// The places of the points on the axes, one per series and cell.
fn apart(series: &[Vec<(f64, f64)>], x: &Axis, y: &Axis) -> Vec<(usize, f64, f64)> {
    let (width, height) = ((x.hi - x.lo) / 1600.0 * CELL, (y.hi - y.lo) / 600.0 * CELL);
    let mut drawn: BTreeSet<(usize, i64, i64)> = BTreeSet::new();
    let mut marks = Vec::new();
    for (k, points) in series.iter().enumerate() {
        for &(a, b) in points {
            let (px, py) = (x.at(a), y.at(b));
            if drawn.insert((k, (px / width).round() as i64, (py / height).round() as i64)) {
                marks.push((k, px, py));
            }
        }
    }
    marks
}
