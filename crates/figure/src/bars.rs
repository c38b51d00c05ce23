//! Means with whiskers, most often of one standard deviation (the paper's Figs. 5a, 5b, 6 and 7).

use super::FigureError;
use super::axis::{Axis, extent};
use super::marker::{Level, level_entries, levels, mark, paper_mark};
use super::part::{Kind, part};
use super::sheet::{Chart, Drawn, Entry, Mark, Sheet, chart, no_data};
use super::style::*;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const MOST_CATEGORIES: usize = 40;

/// What the whiskers of most charts mean.
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
    /// What a paper says of each category, drawn as a rhomb; empty if it says nothing.
    pub paper: Vec<Option<f64>>,
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
    /// A logarithmic value axis, for values over decades (latencies of elephants and mice). Values are marks then, as
    /// a logarithm has no zero for bars to stand on, and those of zero or less are not shown.
    pub log: bool,
    /// Levels to compare with, such as 1 of ratios.
    pub levels: Vec<Level>,
}

/// Grouped bars from zero with whiskers to each side of the mean.
pub fn bars_with_error(spec: &BarChart) -> Result<String, FigureError> {
    let mut sheet = Sheet::grid(&spec.title, 1);
    let entry = |(k, s): (usize, &BarSeries)| Entry {
        name: s.name.clone(),
        look: look(k),
        mark: if spec.log { Mark::Alone(k) } else { Mark::Box },
    };
    sheet.legend = spec.series.iter().enumerate().map(entry).collect();
    if spec.series.iter().flat_map(|s| &s.paper).any(Option::is_some) {
        sheet.legend.push(Entry { name: "the paper's values".into(), look: look(0), mark: Mark::Paper });
    }
    sheet.legend.extend(level_entries(&spec.levels));
    let categories = spec.categories.len().min(MOST_CATEGORIES);
    if categories < spec.categories.len() {
        sheet.notes.push(format!("The first {categories} of {} categories are shown.", spec.categories.len()));
    }

    let values =
        || spec.series.iter().flat_map(|s| s.values.iter().take(categories)).filter_map(|b| shown(b, spec.log));
    let papers = spec.series.iter().flat_map(|s| s.paper.iter().take(categories)).flatten().copied();
    let compared = papers.chain(spec.levels.iter().map(|l| l.at)).filter(|v| v.is_finite());
    let ends = values().flat_map(|b| [b.mean, b.mean + b.std, b.mean - b.std]).chain(compared);
    let ends = ends.filter(|&v| !spec.log || v > 0.0);
    let Some((lowest, highest)) = extent(ends) else {
        return sheet.render(|areas| areas.iter().try_for_each(|area| no_data(area, "")));
    };
    if values().any(|b| b.std > 0.0) {
        let what = if spec.log { "Marks" } else { "Bars" };
        sheet.notes.push(format!("{what} are means, whiskers {}.", spec.whiskers));
    }
    let y = if spec.log {
        Axis::logarithmic(&spec.y_label, (lowest / 1.5, highest * 1.5), true)
    } else {
        // A deviation beyond all is none that can be seen.
        let of_all = spec.y_label.ends_with("(%)") && values().all(|b| b.mean <= 100.0 + 1e-9);
        let top = if of_all { highest.min(100.0) } else { highest };
        Axis::linear(&spec.y_label, (lowest.min(0.0), top.max(0.0)), 1.0, 6, true)
    };
    let mut x = Axis::linear(&spec.x_label, (0.0, categories as f64), 1.0, 1, false);
    x.ticks.clear();

    sheet.render(|areas| {
        let Some(area) = areas.first() else { return Ok(()) };
        let mut chart = chart(area, "", &x, &y)?;
        name_categories(&chart, &spec.categories[..categories])?;
        for (k, series) in spec.series.iter().enumerate() {
            part(area, Kind::Scheduler, &series.name, || {
                for (category, bar) in series.values.iter().take(categories).enumerate() {
                    let Some(bar) = shown(bar, spec.log) else { continue };
                    let slot = 0.8 / spec.series.len() as f64;
                    let left = category as f64 + 0.1 + slot * k as f64;
                    let name = &spec.categories[category];
                    part(area, Kind::Group, name, || match spec.log {
                        true => {
                            whisker(&mut chart, &y, (left, slot), bar)?;
                            mark(chart.plotting_area(), k, (left + slot / 2.0, y.at(bar.mean)))
                        }
                        false => draw_bar(&mut chart, &y, (left, slot * 0.94), bar, look(k)),
                    })?;
                }
                Ok(())
            })?;
        }
        levels(&mut chart, &x, &y, &spec.levels)?;
        for (k, series) in spec.series.iter().enumerate() {
            let said = series.paper.iter().take(categories).enumerate();
            for (category, value) in said.filter_map(|(c, v)| Some((c, (*v).filter(|v| usable(*v, spec.log))?))) {
                let slot = 0.8 / spec.series.len() as f64;
                let middle = category as f64 + 0.1 + slot * (k as f64 + 0.5);
                paper_mark(chart.plotting_area(), (middle, y.at(value)))?;
            }
        }
        Ok(())
    })
}

/// The bar if it can be shown, its deviation set to zero if not known.
fn shown(bar: &Option<Bar>, log: bool) -> Option<Bar> {
    let bar = (*bar)?;
    let std = if usable(bar.std, true) { bar.std } else { 0.0 };
    usable(bar.mean, log).then_some(Bar { mean: bar.mean, std })
}

fn usable(value: f64, above_zero: bool) -> bool {
    value.is_finite() && value.abs() < 1e100 && (!above_zero || value > 0.0)
}

fn draw_bar(chart: &mut Chart<'_, '_>, y: &Axis, (left, width): (f64, f64), bar: Bar, look: Look) -> Drawn {
    let corners = [(left, 0.0), (left + width, y.at(bar.mean))];
    chart.draw_series(std::iter::once(Rectangle::new(corners, look.color.filled())))?;
    whisker(chart, y, (left, width), bar)
}

fn whisker(chart: &mut Chart<'_, '_>, y: &Axis, (left, width): (f64, f64), bar: Bar) -> Drawn {
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
