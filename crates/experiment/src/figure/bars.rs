//! Means with whiskers, most often of one standard deviation (the paper's Figs. 5a, 5b, 6 and 7).

use super::FigureError;
use super::axis::{Axis, extent};
use super::sheet::{Chart, Drawn, Entry, Mark, Sheet, chart, no_data};
use super::style::*;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const MOST_CATEGORIES: usize = 40;

/// What most whiskers are.
pub const STANDARD_DEVIATION: &str = "one standard deviation to each side";

/// A mean and its spread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bar {
    /// The mean.
    pub mean: f64,
    /// One standard deviation; negative or not finite counts as not known.
    pub std: f64,
}

/// One bar in each category.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarSeries {
    /// The name shown in the legend.
    pub name: String,
    /// A value for each category; `None` where there is none.
    pub values: Vec<Option<Bar>>,
}

/// A chart of grouped bars.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarChart {
    /// The title.
    pub title: String,
    /// What the categories are, with its unit, below the axis.
    pub x_label: String,
    /// What the values are, with their unit.
    pub y_label: String,
    /// The categories from left to right.
    pub categories: Vec<String>,
    /// The bars of each category from left to right.
    pub series: Vec<BarSeries>,
    /// What whiskers mean, such as [`STANDARD_DEVIATION`].
    pub whiskers: &'static str,
    /// A logarithmic value axis, for values over decades (latencies of elephants and mice). Bars then stand on a power
    /// of ten below half the smallest value, and values of zero or less are not shown.
    pub log: bool,
}

/// Grouped bars from zero with whiskers to each side of the mean.
pub fn bars_with_error(spec: &BarChart) -> Result<String, FigureError> {
    let mut sheet = Sheet::grid(&spec.title, 1);
    let entry = |(k, s): (usize, &BarSeries)| Entry { name: s.name.clone(), look: look(k), mark: Mark::Box };
    sheet.legend = spec.series.iter().enumerate().map(entry).collect();
    let categories = spec.categories.len().min(MOST_CATEGORIES);
    if categories < spec.categories.len() {
        sheet.notes.push(format!("The first {categories} of {} categories are shown.", spec.categories.len()));
    }

    let values =
        || spec.series.iter().flat_map(|s| s.values.iter().take(categories)).filter_map(|b| shown(b, spec.log));
    let ends = values().flat_map(|b| [b.mean, b.mean + b.std, b.mean - b.std]).filter(|&v| !spec.log || v > 0.0);
    let Some((lowest, highest)) = extent(ends) else {
        return sheet.render(|areas| areas.iter().try_for_each(|area| no_data(area, "")));
    };
    if values().any(|b| b.std > 0.0) {
        sheet.notes.push(format!("Bars are means, whiskers {}.", spec.whiskers));
    }
    let y = if spec.log {
        Axis::logarithmic(&spec.y_label, (lowest / 2.0, highest), true)
    } else {
        Axis::linear(&spec.y_label, (lowest.min(0.0), highest.max(0.0)), 1.0, 6, true)
    };
    let mut x = Axis::linear(&spec.x_label, (0.0, categories as f64), 1.0, 1, false);
    x.ticks.clear();

    sheet.render(|areas| {
        let Some(area) = areas.first() else { return Ok(()) };
        let mut chart = chart(area, "", &x, &y)?;
        name_categories(&chart, &spec.categories[..categories])?;
        for (k, series) in spec.series.iter().enumerate() {
            for (category, bar) in series.values.iter().take(categories).enumerate() {
                let Some(bar) = shown(bar, spec.log) else { continue };
                let slot = 0.8 / spec.series.len() as f64;
                let left = category as f64 + 0.1 + slot * k as f64;
                draw_bar(&mut chart, &y, (left, slot * 0.94), bar, look(k))?;
            }
        }
        Ok(())
    })
}

/// The bar if it can be shown, its deviation set to zero if not known.
fn shown(bar: &Option<Bar>, log: bool) -> Option<Bar> {
    let bar = (*bar)?;
    let usable = |v: f64| v.is_finite() && v.abs() < 1e100;
    let std = if usable(bar.std) && bar.std > 0.0 { bar.std } else { 0.0 };
    (usable(bar.mean) && (!log || bar.mean > 0.0)).then_some(Bar { mean: bar.mean, std })
}

fn draw_bar(chart: &mut Chart<'_, '_>, y: &Axis, (left, width): (f64, f64), bar: Bar, look: Look) -> Drawn {
    let floor = if y.log { y.lo } else { 0.0 };
    let corners = [(left, floor), (left + width, y.at(bar.mean))];
    chart.draw_series(std::iter::once(Rectangle::new(corners, look.color.filled())))?;
    if bar.std <= 0.0 {
        return Ok(());
    }
    let below = bar.mean - bar.std;
    let low = if y.log && below <= 0.0 { y.lo } else { y.at(below).max(y.lo) };
    let high = y.at(bar.mean + bar.std).min(y.hi);
    let middle = left + width / 2.0;
    let half = width * 0.18;
    let whisker = [
        vec![(middle, low), (middle, high)],
        vec![(middle - half, low), (middle + half, low)],
        vec![(middle - half, high), (middle + half, high)],
    ];
    chart.draw_series(whisker.map(|line| PathElement::new(line, INK.stroke_width(3))))?;
    Ok(())
}

/// Names below the categories: all if they fit, else as many at equal steps as fit.
fn name_categories(chart: &Chart<'_, '_>, categories: &[String]) -> Drawn {
    let plot = chart.plotting_area();
    let (width, _) = plot.dim_in_pixel();
    let slot = width as i32 / categories.len().max(1) as i32;
    let step = (110 / slot.max(1)).max(0) as usize + 1;
    let style = text(TICK_SIZE, INK, false, Pos::new(HPos::Center, VPos::Top));
    let bottom = plot.as_coord_spec().get_y_range().start;
    for (k, name) in categories.iter().enumerate().step_by(step) {
        let name = shorten(name, slot * step as i32 - 12, TICK_SIZE);
        let at = (k as f64 + 0.5, bottom);
        let label = EmptyElement::at(at) + Text::new(name, (0, 12), style.clone());
        plot.draw(&label)?;
    }
    Ok(())
}
