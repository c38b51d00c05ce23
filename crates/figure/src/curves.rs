//! Measured points with their confidence beside ideal lines (the DRQ paper's Figs. 5 to 15).

use super::axis::{Axis, extent};
use super::lines::Quantity;
use super::marker::mark;
use super::sheet::{
    Chart, Drawn, Entry, MOST_LINES, MOST_PANELS, Mark, Sheet, chart, curve, left_out, lines_left_out, no_data,
};
use super::style::{Look, look};
use super::{FigureError, clean};
use plotters::element::PathElement;
use plotters::style::Color;

/// A measured point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Along x.
    pub x: f64,
    /// The mean.
    pub y: f64,
    /// Half the width of its confidence interval; `None`, or a value that is not finite, means unknown.
    pub half: Option<f64>,
}

/// The measured points of one thing, and its ideal curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// The name shown in the legend; curves of one name look the same in all panels.
    pub name: String,
    /// The points, in order of x.
    pub points: Vec<Measured>,
    /// The ideal, drawn dashed; empty if there is none.
    pub ideal: Vec<(f64, f64)>,
}

/// The curves of one panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurvePanel {
    /// The heading.
    pub heading: String,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// A chart of curves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurveChart {
    /// The title.
    pub title: String,
    /// Along x.
    pub x: Quantity,
    /// Along y.
    pub y: Quantity,
    /// The panels. They have the same axes, except one whose curves would lie flat at the bottom.
    pub panels: Vec<CurvePanel>,
}

/// Below this part of the highest panel, a panel has an axis of its own.
const OWN_AXIS: f64 = 0.4;
const IDEAL: (i32, i32) = (12, 8);
/// Marks this near, in parts of the axes, cover each other.
const NEAR: (f64, f64) = (0.008, 0.02);
/// Then they stand this far apart, in parts of the axis.
const APART: f64 = 0.012;

/// Measured points joined by lines, whiskers of confidence, and dashed ideal lines. The axes begin at zero and are the
/// same in all panels, except in those whose curves would lie flat at the bottom.
pub fn curves(spec: &CurveChart) -> Result<String, FigureError> {
    let mut sheet = Sheet::grid(&spec.title, spec.panels.len().min(MOST_PANELS));
    sheet.notes.extend(left_out(spec.panels.len()));
    let panels = &spec.panels[..spec.panels.len().min(MOST_PANELS)];
    let mut names: Vec<&str> = Vec::new();
    for curve in panels.iter().flat_map(|p| &p.curves) {
        if !names.contains(&curve.name.as_str()) {
            names.push(&curve.name);
        }
    }
    sheet.notes.extend(lines_left_out(names.len()));
    names.truncate(MOST_LINES);
    let entry =
        |(k, name): (usize, &&str)| Entry { name: name.to_string(), look: look(k), mark: Mark::of(k, names.len()) };
    sheet.legend = names.iter().enumerate().map(entry).collect();
    let all = || panels.iter().flat_map(|p| &p.curves);
    if all().any(|c| !c.ideal.is_empty()) {
        sheet.notes.push("Dashed: what theory says, in the same colour.".into());
    }
    if all().flat_map(|c| &c.points).any(|p| half(p) > 0.0) {
        sheet.notes.push("Whiskers: 95 % confidence over seeds.".into());
    }

    let measured = || all().flat_map(|c| &c.points).filter(|p| usable(p.x) && usable(p.y));
    let ideal = || all().flat_map(|c| &c.ideal).filter(|p| usable(p.0) && usable(p.1));
    let xs = extent(measured().map(|p| p.x).chain(ideal().map(|p| p.0)));
    let Some(xs) = xs else {
        return sheet.render(|areas| areas.iter().try_for_each(|area| no_data(area, "")));
    };
    // Room for the last points and their whiskers.
    let right = xs.1.max(0.0) + 0.015 * (xs.1 - xs.0.min(0.0));
    let x = Axis::linear(&spec.x.label, (xs.0.min(0.0), right), spec.x.factor, 8, false);
    let heights: Vec<(f64, f64)> = panels.iter().map(height).collect();
    let common = extent(heights.iter().flat_map(|h| [h.0, h.1])).unwrap_or((0.0, 1.0));
    // A panel that would be pressed to the ground has an axis of its own.
    let own = |h: &(f64, f64)| h.1 > 0.0 && h.1 < OWN_AXIS * common.1;
    if heights.iter().any(own) {
        sheet.notes.push("Mind that the panels' vertical axes differ.".into());
    }
    let axis = |h: &(f64, f64)| {
        let range = if own(h) { *h } else { common };
        Axis::linear(&spec.y.label, range, spec.y.factor, 6, true)
    };
    let axes: Vec<Axis> = heights.iter().map(axis).collect();
    sheet.render(|areas| {
        for ((area, panel), y) in areas.iter().zip(panels).zip(&axes) {
            let mut chart = chart(area, &panel.heading, &x, y)?;
            let mut places = Vec::new();
            for one in &panel.curves {
                let Some(index) = names.iter().position(|n| *n == one.name) else { continue };
                places.extend(draw(&mut chart, (&x, y), one, index)?.into_iter().map(|place| (index, place)));
            }
            marks(&chart, (&x, y), &places)?;
        }
        Ok(())
    })
}

/// From zero, or below if a mean or an ideal is, to the highest end of a whisker.
fn height(panel: &CurvePanel) -> (f64, f64) {
    let measured = || panel.curves.iter().flat_map(|c| &c.points).filter(|p| usable(p.x) && usable(p.y));
    let ideal = panel.curves.iter().flat_map(|c| &c.ideal).filter(|p| usable(p.0) && usable(p.1)).map(|p| p.1);
    let ends = measured().flat_map(|p| [p.y, p.y + half(p)]).chain(ideal);
    extent(ends.chain([0.0])).unwrap_or((0.0, 1.0))
}

/// The lines and whiskers of a curve; returns where its marks belong.
fn draw(chart: &mut Chart<'_, '_>, (x, y): (&Axis, &Axis), one: &Curve, index: usize) -> Drawn<Vec<(f64, f64)>> {
    let look = look(index);
    let ideal = clean(&one.ideal);
    if !ideal.is_empty() {
        curve(chart, x, y, &ideal, Look { width: 3, dash: Some(IDEAL), ..look })?;
    }
    let measured: Vec<&Measured> = one.points.iter().filter(|p| usable(p.x) && usable(p.y)).collect();
    let points: Vec<(f64, f64)> = measured.iter().map(|p| (p.x, p.y)).collect();
    if points.len() > 1 {
        curve(chart, x, y, &points, look)?;
    }
    let at = |px: f64, py: f64| (x.at(px), y.at(py));
    let cap = 0.006 * (x.hi - x.lo);
    for point in measured.iter().filter(|p| half(p) > 0.0) {
        let (middle, low) = at(point.x, point.y - half(point));
        let low = low.max(y.lo);
        let (_, high) = at(point.x, point.y + half(point));
        let whisker = [
            vec![(middle, low), (middle, high)],
            vec![(middle - cap, low), (middle + cap, low)],
            vec![(middle - cap, high), (middle + cap, high)],
        ];
        chart.draw_series(whisker.map(|line| PathElement::new(line, look.color.stroke_width(2))))?;
    }
    Ok(points.iter().map(|&(px, py)| at(px, py)).collect())
}

/// Marks of curves in their places; those of different curves that would cover each other stand side by side.
fn marks(chart: &Chart<'_, '_>, (x, y): (&Axis, &Axis), places: &[(usize, (f64, f64))]) -> Drawn {
    let (width, height) = (x.hi - x.lo, y.hi - y.lo);
    for &(index, (px, py)) in places {
        let near = |&(_, (qx, qy)): &(usize, (f64, f64))| {
            (qx - px).abs() < NEAR.0 * width && (qy - py).abs() < NEAR.1 * height
        };
        let beside = || places.iter().filter(|other| other.0 != index && near(other));
        let before = beside().filter(|other| other.0 < index).count();
        let shift = (before as f64 - beside().count() as f64 / 2.0) * APART * width;
        mark(chart.plotting_area(), index, ((px + shift).clamp(x.lo, x.hi), py))?;
    }
    Ok(())
}

fn usable(v: f64) -> bool {
    v.is_finite() && v.abs() < 1e100
}

fn half(point: &Measured) -> f64 {
    point.half.filter(|&h| usable(h) && h > 0.0).unwrap_or(0.0)
}
