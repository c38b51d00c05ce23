//! Quantities over time: utilisation (the tradeoff paper's Fig. 3), the Gini index (the CBCS paper's Figs. 4 and 5),
//! delays.

use super::axis::{Axis, extent, time_unit};
use super::marker::along;
use super::part::{Kind, part};
use super::sheet::{Entry, MOST_LINES, MOST_PANELS, Mark, Sheet, chart, curve, left_out, lines_left_out, no_data};
use super::style::{Look, look, nested_width};
use super::{FigureError, Series, clean};

/// The utilisation of each resource under one scheduler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UtilizationPanel {
    /// The scheduler, as the heading shows it.
    pub scheduler: String,
    /// Per resource: time in seconds, busy share of its capacity (0..1).
    pub resources: Vec<Series>,
}

/// The index of a resource's name and its points.
type Line = (usize, Vec<(f64, f64)>);

/// Utilisation over time: one panel per scheduler with the same axes, one line per resource; the note stands below.
pub fn utilization(title: &str, panels: &[UtilizationPanel], note: Option<&str>) -> Result<String, FigureError> {
    lines(title, panels, note, |highest| Axis::linear("Utilisation (%)", (0.0, highest.max(1.0)), 100.0, 6, true))
}

/// A quantity over time, zero or more, in a unit that suits it where `y_label` ends in "(s)": one panel per scheduler
/// with the same axes, one line per resource (or whatever the names of the series say).
pub fn over_time(title: &str, y_label: &str, panels: &[UtilizationPanel]) -> Result<String, FigureError> {
    let axis = |highest: f64| match y_label.strip_suffix(" (s)") {
        Some(label) => {
            let (factor, unit) = time_unit(highest);
            Axis::linear(&format!("{label} ({unit})"), (0.0, highest * 1.03), factor, 6, true)
        }
        None => Axis::linear(y_label, (0.0, highest * 1.03), 1.0, 6, true),
    };
    lines(title, panels, None, axis)
}

fn from_zero(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    clean(points).into_iter().map(|(t, value)| (t, value.max(0.0))).collect()
}

fn lines(
    title: &str,
    panels: &[UtilizationPanel],
    note: Option<&str>,
    y_axis: impl Fn(f64) -> Axis,
) -> Result<String, FigureError> {
    let mut sheet = Sheet::grid(title, panels.len().min(MOST_PANELS));
    sheet.notes.extend(note.map(str::to_string));
    sheet.notes.extend(left_out(panels.len()));
    let panels = &panels[..panels.len().min(MOST_PANELS)];

    let mut names: Vec<&str> = Vec::new();
    for resource in panels.iter().flat_map(|p| &p.resources) {
        if !names.contains(&resource.name.as_str()) {
            names.push(&resource.name);
        }
    }
    sheet.notes.extend(lines_left_out(names.len()));
    names.truncate(MOST_LINES);
    let look_of = |k: usize| Look { width: nested_width(k, names.len()), ..look(k) };
    let entry =
        |(k, name): (usize, &&str)| Entry { name: name.to_string(), look: look_of(k), mark: Mark::of(k, names.len()) };
    sheet.legend = names.iter().enumerate().map(entry).collect();

    let index = |name: &str| names.iter().position(|n| *n == name);
    let drawn = |p: &UtilizationPanel| -> Vec<Line> {
        p.resources.iter().filter_map(|r| Some((index(&r.name)?, from_zero(&r.points)))).collect()
    };
    let cleaned: Vec<Vec<Line>> = panels.iter().map(drawn).collect();
    let all = || cleaned.iter().flatten().flat_map(|(_, points)| points.iter());
    let Some((first, last)) = extent(all().map(|p| p.0)) else {
        return sheet.render(|areas| areas.iter().try_for_each(|area| no_data(area, "")));
    };
    let (_, highest) = extent(all().map(|p| p.1)).unwrap_or((0.0, 1.0));
    let x = Axis::seconds("Time", (first.min(0.0), last), 8);
    let y = y_axis(highest);

    sheet.render(|areas| {
        for ((area, panel), lines) in areas.iter().zip(panels).zip(&cleaned) {
            part(area, Kind::Scheduler, &panel.scheduler, || {
                if lines.iter().all(|(_, points)| points.is_empty()) {
                    return no_data(area, &panel.scheduler);
                }
                let mut chart = chart(area, &panel.scheduler, &x, &y)?;
                for (index, points) in lines {
                    curve(&mut chart, &x, &y, points, look_of(*index))?;
                }
                along(&chart, &x, &y, lines, names.len())
            })?;
        }
        Ok(())
    })
}
