//! Lines over one or more panels (the ATFQ paper's Figs. 5 to 8).

use super::axis::{Axis, extent};
use super::marker::{Level, along, level_entries, levels};
use super::sheet::{Entry, MOST_LINES, MOST_PANELS, Mark, Sheet, chart, curve, left_out, lines_left_out, no_data};
use super::style::{Look, look, nested_width};
use super::{FigureError, Series, clean};

/// A quantity along an axis from zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quantity {
    /// What it is, with the unit in which it is shown.
    pub label: String,
    /// Shown units per unit of the points.
    pub factor: f64,
}

/// The lines of one panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinePanel {
    /// The heading.
    pub heading: String,
    /// The lines; those of one name look the same in all panels.
    pub lines: Vec<Series>,
}

/// A chart of lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineChart {
    /// The title.
    pub title: String,
    /// Along x.
    pub x: Quantity,
    /// Along y.
    pub y: Quantity,
    /// The panels, with the same axes.
    pub panels: Vec<LinePanel>,
    /// Levels to compare with, in all panels.
    pub levels: Vec<Level>,
}

/// The index of a line's name and its points.
type Line = (usize, Vec<(f64, f64)>);

/// Lines over axes from zero, in one panel or in several with the same axes. A line is thinned to what its pixels can
/// show.
pub fn lines(spec: &LineChart) -> Result<String, FigureError> {
    let mut sheet = Sheet::grid(&spec.title, spec.panels.len().min(MOST_PANELS));
    sheet.notes.extend(left_out(spec.panels.len()));
    let panels = &spec.panels[..spec.panels.len().min(MOST_PANELS)];
    let mut names: Vec<&str> = Vec::new();
    for line in panels.iter().flat_map(|p| &p.lines) {
        if !names.contains(&line.name.as_str()) {
            names.push(&line.name);
        }
    }
    sheet.notes.extend(lines_left_out(names.len()));
    names.truncate(MOST_LINES);
    let look_of = |k: usize| Look { width: nested_width(k, names.len()), ..look(k) };
    let entry =
        |(k, name): (usize, &&str)| Entry { name: name.to_string(), look: look_of(k), mark: Mark::of(k, names.len()) };
    sheet.legend = names.iter().enumerate().map(entry).chain(level_entries(&spec.levels)).collect();

    let index = |name: &str| names.iter().position(|n| *n == name);
    let cleaned: Vec<Vec<Line>> = (panels.iter())
        .map(|p| p.lines.iter().filter_map(|l| Some((index(&l.name)?, clean(&l.points)))).collect())
        .collect();
    let all = || cleaned.iter().flatten().flat_map(|(_, points)| points.iter());
    let (Some(xs), Some(ys)) =
        (extent(all().map(|p| p.0)), extent(all().map(|p| p.1).chain(spec.levels.iter().map(|l| l.at))))
    else {
        return sheet.render(|areas| areas.iter().try_for_each(|area| no_data(area, "")));
    };
    let x = Axis::linear(&spec.x.label, (xs.0.min(0.0), xs.1.max(0.0)), spec.x.factor, 8, false);
    let y = Axis::linear(&spec.y.label, (ys.0.min(0.0), ys.1.max(0.0)), spec.y.factor, 6, true);
    sheet.render(|areas| {
        for ((area, panel), lines) in areas.iter().zip(panels).zip(&cleaned) {
            if lines.iter().all(|(_, points)| points.is_empty()) {
                no_data(area, &panel.heading)?;
                continue;
            }
            let mut chart = chart(area, &panel.heading, &x, &y)?;
            levels(&mut chart, &x, &y, &spec.levels)?;
            for (index, points) in lines {
                curve(&mut chart, &x, &y, points, look_of(*index))?;
            }
            along(&chart, &x, &y, lines, names.len())?;
        }
        Ok(())
    })
}
