//! Marks that keep apart what lies on one place: lines that run over each other, and levels beside them.

use super::axis::Axis;
use super::sheet::{Chart, Drawn, Entry, Mark};
use super::style::*;
use plotters::coord::CoordTranslate;
use plotters::prelude::*;

/// A level that a picture compares with, such as 1 of ratios, or a paper's value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Level {
    /// Where it is, in the units of the values.
    pub at: f64,
    /// What it is, for the legend.
    pub name: String,
}

/// Marks of a line.
const MARKS: usize = 5;

/// The corners of a mark, in drawing units around its middle; none is a circle.
const SHAPES: [&[(i32, i32)]; 6] = [
    &[],
    &[(-7, -7), (7, -7), (7, 7), (-7, 7)],
    &[(0, -10), (10, 0), (0, 10), (-10, 0)],
    &[(0, -9), (9, 7), (-9, 7)],
    &[(0, 9), (9, -7), (-9, -7)],
    &[(-3, -9), (3, -9), (3, -3), (9, -3), (9, 3), (3, 3), (3, 9), (-3, 9), (-3, 3), (-9, 3), (-9, -3), (-3, -3)],
];

/// The mark of the `index`-th thing of a picture, with its middle at `middle`.
pub(super) fn mark<C>(area: &DrawingArea<SVGBackend<'_>, C>, index: usize, middle: C::From) -> Drawn
where
    C: CoordTranslate,
{
    let color = look(index).color;
    match SHAPES[index % SHAPES.len()] {
        [] => {
            let rim = Circle::new((0, 0), 8, WHITE.stroke_width(2));
            area.draw(&(EmptyElement::at(middle) + Circle::new((0, 0), 8, color.filled()) + rim))
        }
        corners => {
            let rim = corners.iter().chain(corners.first()).copied().collect::<Vec<_>>();
            let rim = PathElement::new(rim, WHITE.stroke_width(2));
            area.draw(&(EmptyElement::at(middle) + Polygon::new(corners.to_vec(), color.filled()) + rim))
        }
    }
}

/// The mark of a paper's value: a rhomb that shows on every fill.
pub(super) fn paper_mark<C>(area: &DrawingArea<SVGBackend<'_>, C>, middle: C::From) -> Drawn
where
    C: CoordTranslate,
{
    let corners = vec![(0, -13), (11, 0), (0, 13), (-11, 0)];
    let rim = corners.iter().chain(corners.first()).copied().collect::<Vec<_>>();
    let rim = PathElement::new(rim, INK.stroke_width(4));
    area.draw(&(EmptyElement::at(middle) + Polygon::new(corners, WHITE.filled()) + rim))
}

/// Marks along lines of a panel: a line that runs below others shows by its own, as those of two lines that coincide
/// stand between each other. `lines` are the index of what each shows and its points; nothing is drawn of a single one.
pub(super) fn along(chart: &Chart<'_, '_>, x: &Axis, y: &Axis, lines: &[(usize, Vec<(f64, f64)>)], of: usize) -> Drawn {
    if of < 2 {
        return Ok(());
    }
    for (index, points) in lines.iter().filter(|(_, points)| points.len() > 1) {
        for place in evenly(points, x, y, (*index as f64 + 0.5) / of as f64) {
            mark(chart.plotting_area(), *index, place)?;
        }
    }
    Ok(())
}

/// Places on a line at equal lengths of it, in parts of the axes' lengths; the first is `offset` of such a step from
/// the line's beginning. O(points).
fn evenly(points: &[(f64, f64)], x: &Axis, y: &Axis, offset: f64) -> Vec<(f64, f64)> {
    let placed: Vec<(f64, f64)> = points.iter().map(|&(a, b)| (x.at(a), y.at(b))).collect();
    let length = |w: &[(f64, f64)]| ((w[1].0 - w[0].0) / (x.hi - x.lo)).hypot((w[1].1 - w[0].1) / (y.hi - y.lo));
    let whole: f64 = placed.windows(2).map(length).sum();
    let wanted = |k: usize| (k as f64 + offset) / MARKS as f64 * whole;
    let (mut gone, mut next, mut places) = (0.0, 0, Vec::new());
    for w in placed.windows(2) {
        let step = length(w);
        while next < MARKS && step > 0.0 && wanted(next) <= gone + step {
            let part = ((wanted(next) - gone) / step).clamp(0.0, 1.0);
            places.push((w[0].0 + part * (w[1].0 - w[0].0), w[0].1 + part * (w[1].1 - w[0].1)));
            next += 1;
        }
        gone += step;
    }
    places
}

/// Lines across a chart at levels that are on its axis.
pub(super) fn levels(chart: &mut Chart<'_, '_>, x: &Axis, y: &Axis, levels: &[Level]) -> Drawn {
    for (k, level) in levels.iter().enumerate() {
        if level.at.is_finite() && (y.lo..=y.hi).contains(&y.at(level.at)) {
            let (at, look) = (y.at(level.at), level_look(k));
            let (dash, gap) = look.dash.unwrap_or_default();
            let line = [(x.lo, at), (x.hi, at)];
            chart.draw_series(DashedLineSeries::new(line, dash, gap, look.color.stroke_width(look.width)))?;
        }
    }
    Ok(())
}

/// What a legend says of levels.
pub(super) fn level_entries(levels: &[Level]) -> impl Iterator<Item = Entry> {
    let entry = |(k, level): (usize, &Level)| Entry { name: level.name.clone(), look: level_look(k), mark: Mark::Line };
    levels.iter().enumerate().map(entry)
}

/// Levels differ by their dashes.
fn level_look(index: usize) -> Look {
    Look { color: INK, width: 3, dash: Some(if index == 0 { (14, 8) } else { (4, 6) }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_lines_that_coincide_stand_apart() {
        let axis = || Axis::linear("", (0.0, 1.0), 1.0, 5, false);
        let line = [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)];
        let of = |offset| evenly(&line, &axis(), &axis(), offset).iter().map(|p| p.0).collect::<Vec<_>>();
        let near = |a: &[f64], b: &[f64]| assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9), "{a:?} {b:?}");
        near(&of(0.25), &[0.05, 0.25, 0.45, 0.65, 0.85]);
        near(&of(0.75), &[0.15, 0.35, 0.55, 0.75, 0.95]);
        // A line without length has none, and one that goes up at once has them on its way.
        assert!(evenly(&[(0.0, 0.0), (0.0, 0.0)], &axis(), &axis(), 0.5).is_empty());
        let up = evenly(&[(0.5, 0.0), (0.5, 1.0)], &axis(), &axis(), 0.5);
        assert_eq!(up.len(), MARKS);
        assert!(up.iter().all(|p| p.0 == 0.5));
    }
}
