//! The schedule itself (the paper's Fig. 1).

use super::FigureError;
use super::axis::{Axis, extent};
use super::part::{Kind, part};
use super::sheet::{Area, Drawn, Entry, MOST_PANELS, Mark, Sheet, draw_heading, left_out, no_data};
use super::style::*;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Most boxes in one picture; the caption says how many are left out.
const MOST_BOXES: usize = 3000;
/// Most rows of one schedule that are shown.
const MOST_ROWS: usize = 32;
const ROW: i32 = 64;
const ABOVE: i32 = 56;
const BELOW: i32 = 96;
const ROW_NAME_WIDTH: i32 = 240;

/// One packet in service at one server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Service {
    /// Start of the service, in the schedule's unit of time.
    pub start: f64,
    /// End of the service, not before the start.
    pub end: f64,
    /// The packet's flow: gives the colour.
    pub flow: String,
    /// What is written into the box where it fits, as `p1`.
    pub label: String,
}

/// The services of one server of one resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The resource, and the server where it has several.
    pub name: String,
    /// The services, in any order.
    pub services: Vec<Service>,
}

/// What one scheduler did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// The scheduler, as the heading shows it.
    pub scheduler: String,
    /// The rows from top to bottom: the resources in the order in which packets pass them.
    pub rows: Vec<Row>,
}

/// Schedules as bars over time, one panel below the other with the same time axis. `unit` names the unit of time ("s",
/// "time units"). Made for small runs: of more than a few thousand services only the earliest are shown.
pub fn gantt(title: &str, unit: &str, schedules: &[Schedule]) -> Result<String, FigureError> {
    let shown = &schedules[..schedules.len().min(MOST_PANELS)];
    let horizon = horizon(shown);
    let all = || shown.iter().flat_map(|s| s.rows.iter().take(MOST_ROWS)).flat_map(|r| &r.services);
    let visible = |s: &&Service| usable(s) && horizon.is_none_or(|h| s.start < h);
    let mut flows: Vec<&str> = Vec::new();
    for service in all().filter(visible) {
        if !flows.contains(&service.flow.as_str()) {
            flows.push(&service.flow);
        }
    }
    let entry = |(k, name): (usize, &&str)| Entry { name: name.to_string(), look: look(k), mark: Mark::Box };
    let height = |s: &Schedule| ABOVE + BELOW + ROW * s.rows.len().clamp(1, MOST_ROWS) as i32;
    let mut sheet = Sheet {
        title: title.into(),
        columns: 1,
        rows: if shown.is_empty() { vec![400] } else { shown.iter().map(height).collect() },
        legend: flows.iter().enumerate().map(entry).collect(),
        notes: left_out(schedules.len()).into_iter().collect(),
    };
    let unit = shorten(unit, 200, TEXT_SIZE);
    if let Some(h) = horizon {
        sheet.notes.push(format!("Services that start at {h:.6} {unit} or later are left out."));
    }
    if shown.iter().any(|s| s.rows.len() > MOST_ROWS) {
        sheet.notes.push(format!("The first {MOST_ROWS} rows of each schedule are shown."));
    }
    let Some((first, last)) = extent(all().filter(visible).flat_map(|s| [s.start, s.end])) else {
        return sheet.render(|areas| areas.iter().try_for_each(|area| no_data(area, "")));
    };
    let last = horizon.map_or(last, |h| last.min(h));
    let ticks = if (10.0..=60.0).contains(&(last - first.min(0.0))) { 30 } else { 12 };
    let time = Axis::linear(&format!("Time ({unit})"), (first.min(0.0), last), 1.0, ticks, false).thinned(1500);
    sheet.render(|areas| {
        for (area, schedule) in areas.iter().zip(shown) {
            part(area, Kind::Scheduler, &schedule.scheduler, || draw_schedule(area, schedule, &flows, &time))?;
        }
        Ok(())
    })
}

fn usable(s: &Service) -> bool {
    s.start.is_finite() && s.end.is_finite() && s.end >= s.start && s.start.abs().max(s.end.abs()) < 1e100
}

/// Where to stop so that no more than [`MOST_BOXES`] boxes are drawn; `None` if all fit.
fn horizon(schedules: &[Schedule]) -> Option<f64> {
    let services = schedules.iter().flat_map(|s| s.rows.iter().take(MOST_ROWS)).flat_map(|r| &r.services);
    let mut starts: Vec<f64> = services.filter(|s| usable(s)).map(|s| s.start).collect();
    starts.sort_by(f64::total_cmp);
    starts.get(MOST_BOXES).copied()
}

fn draw_schedule(area: &Area, schedule: &Schedule, flows: &[&str], time: &Axis) -> Drawn {
    draw_heading(area, &schedule.scheduler)?;
    let rows = &schedule.rows[..schedule.rows.len().min(MOST_ROWS)];
    let names: Vec<String> = rows.iter().map(|r| shorten(&r.name, ROW_NAME_WIDTH, TEXT_SIZE)).collect();
    let left = 60 + names.iter().map(|n| text_width(n, TEXT_SIZE)).max().unwrap_or(0);
    let (width, _) = area.dim_in_pixel();
    let right = width as i32 - 30;
    let bottom = ABOVE + ROW * rows.len().max(1) as i32;
    let place = |t: f64| left + ((time.at(t) - time.lo) / (time.hi - time.lo) * f64::from(right - left)).round() as i32;

    draw_time_axis(area, time, &place, bottom, (left + right) / 2)?;
    let name_style = text(TEXT_SIZE, INK, false, Pos::new(HPos::Right, VPos::Center));
    for (k, (row, name)) in rows.iter().zip(names).enumerate() {
        let top = ABOVE + ROW * k as i32;
        area.draw(&Text::new(name, (left - 16, top + ROW / 2), name_style.clone()))?;
        for service in row.services.iter().filter(|s| usable(s) && time.at(s.start) < time.hi) {
            let color = look(flows.iter().position(|f| *f == service.flow).unwrap_or(0)).color;
            let (from, to) = (place(service.start), place(service.end).clamp(left, right));
            let draw = || draw_box(area, [(from, top + 8), (to, top + ROW - 8)], color, &service.label);
            part(area, Kind::Flow, &service.flow, draw)?;
        }
    }
    if !rows.iter().flat_map(|r| &r.services).any(usable) {
        let style = text(TEXT_SIZE, FAINT_INK, false, Pos::new(HPos::Center, VPos::Center));
        area.draw(&Text::new("no data", ((left + right) / 2, (ABOVE + bottom) / 2), style))?;
    }
    area.draw(&PathElement::new(vec![(left, ABOVE), (left, bottom), (right, bottom)], AXIS.stroke_width(2)))
}

fn draw_time_axis(area: &Area, time: &Axis, place: &dyn Fn(f64) -> i32, bottom: i32, middle: i32) -> Drawn {
    let style = text(TICK_SIZE, INK, false, Pos::new(HPos::Center, VPos::Top));
    for &tick in &time.ticks {
        let x = place(tick);
        area.draw(&PathElement::new(vec![(x, ABOVE), (x, bottom + 8)], GRID.stroke_width(2)))?;
        area.draw(&Text::new(time.tick_label(tick), (x, bottom + 14), style.clone()))?;
    }
    let style = text(TEXT_SIZE, INK, false, Pos::new(HPos::Center, VPos::Top));
    area.draw(&Text::new(shorten(&time.label, middle, TEXT_SIZE), (middle, bottom + 46), style))
}

/// A box with a white border that keeps neighbours apart, unless it is too narrow for one; its label where it fits.
fn draw_box(area: &Area, [(x0, y0), (x1, y1)]: [(i32, i32); 2], color: RGBColor, label: &str) -> Drawn {
    let x1 = x1.max(x0 + 1);
    area.draw(&Rectangle::new([(x0, y0), (x1, y1)], color.filled()))?;
    if x1 - x0 > 14 {
        area.draw(&Rectangle::new([(x0, y0), (x1, y1)], WHITE.stroke_width(2)))?;
    }
    let label = shorten(label, 4 * ROW, TEXT_SIZE);
    let fits = |size: &i32| text_width(&label, *size) <= x1 - x0 - 4;
    let Some(size) = [TEXT_SIZE, 20, 16].into_iter().find(fits) else { return Ok(()) };
    let style = text(size, ink_on(color), false, Pos::new(HPos::Center, VPos::Center));
    area.draw(&Text::new(label, ((x0 + x1) / 2, (y0 + y1) / 2), style))
}
