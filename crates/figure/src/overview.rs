//! A run at a glance: a row for each scheduler, and for each quantity a column of bars with their numbers.

use super::FigureError;
use super::part::{Kind, part};
use super::sheet::{Area, Drawn, MARGIN, Sheet, no_data};
use super::style::*;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Most columns; what is beyond, the caption counts.
const MOST_COLUMNS: usize = 12;
/// Most rows of one picture.
const MOST_ROWS: usize = 16;
/// Columns of one band of the picture.
const ACROSS: usize = 4;
const ROW: i32 = 46;
const ABOVE: i32 = 62;
const BELOW: i32 = 26;
const NAME_WIDTH: i32 = 330;
const NUMBER_WIDTH: i32 = 152;

/// One quantity under every scheduler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// What is shown, as people say it.
    pub heading: String,
    /// The group of flows that the quantity is of.
    pub group: Option<String>,
    /// The value where a bar has its full length; the largest of the values if there is none.
    pub full: Option<f64>,
    /// A value for each scheduler and how it is written; `None` where there is none.
    pub values: Vec<Option<(f64, String)>>,
}

/// The picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overview {
    /// The title.
    pub title: String,
    /// The schedulers, from top to bottom.
    pub schedulers: Vec<String>,
    /// The quantities, in bands: every band begins a new line of columns, and has a colour for each scheduler.
    pub bands: Vec<Vec<Column>>,
    /// What stands below.
    pub note: Option<String>,
}

/// Bars from zero, each column with a scale of its own, the number behind each bar.
pub fn overview(spec: &Overview) -> Result<String, FigureError> {
    let rows = spec.schedulers.len().min(MOST_ROWS);
    let mut left = MOST_COLUMNS;
    let mut bands: Vec<&[Column]> = Vec::new();
    for band in &spec.bands {
        for part in band[..band.len().min(left)].chunks(ACROSS) {
            bands.push(part);
        }
        left -= band.len().min(left);
    }
    let height = ABOVE + ROW * rows as i32 + BELOW;
    let mut sheet = Sheet::grid(&spec.title, 1);
    sheet.notes.extend(spec.note.clone());
    let all: usize = spec.bands.iter().map(Vec::len).sum();
    if all > MOST_COLUMNS {
        sheet.notes.push(format!("The first {MOST_COLUMNS} of {all} columns are shown."));
    }
    if rows < spec.schedulers.len() {
        sheet.notes.push(format!("The first {rows} of {} schedulers are shown.", spec.schedulers.len()));
    }
    let usable = |column: &Column| column.values.iter().take(rows).flatten().any(|(v, _)| shown(*v));
    if !bands.iter().any(|band| band.iter().any(usable)) {
        return sheet.render(|areas| areas.iter().try_for_each(|area| no_data(area, "")));
    }
    sheet.rows = vec![height; bands.len()];
    sheet.render(|areas| {
        areas.iter().zip(&bands).try_for_each(|(area, band)| draw_band(area, &spec.schedulers[..rows], band))
    })
}

fn shown(value: f64) -> bool {
    value.is_finite() && (0.0..1e100).contains(&value)
}

fn draw_band(area: &Area, schedulers: &[String], columns: &[Column]) -> Drawn {
    let name_style = text(TEXT_SIZE, INK, false, Pos::new(HPos::Left, VPos::Center));
    for (k, name) in schedulers.iter().enumerate() {
        let middle = ABOVE + ROW * k as i32 + ROW / 2;
        let name = shorten(name, NAME_WIDTH - 40, TEXT_SIZE);
        let draw = || area.draw(&Text::new(name, (28, middle), name_style.clone()));
        part(area, Kind::Scheduler, &schedulers[k], draw)?;
    }
    let most = columns.iter().map(|column| heading_size(&column.heading, slot(area))).min().unwrap_or(TICK_SIZE);
    for (c, column) in columns.iter().enumerate() {
        let draw = || draw_column(area, schedulers, column, c, most);
        match &column.group {
            Some(group) => part(area, Kind::Group, group, draw)?,
            None => draw()?,
        }
    }
    Ok(())
}

/// The width of a column.
fn slot(area: &Area) -> i32 {
    (area.dim_in_pixel().0 as i32 - NAME_WIDTH) / ACROSS as i32
}

/// The `c`-th column of a band, with a heading of at most this size.
fn draw_column(area: &Area, schedulers: &[String], column: &Column, c: usize, most: i32) -> Drawn {
    let slot = slot(area);
    let (from, room) = (NAME_WIDTH + slot * c as i32, slot - NUMBER_WIDTH - 24);
    draw_column_heading(area, &column.heading, from, slot - 2 * MARGIN, most)?;
    let largest = column.values.iter().flatten().map(|(v, _)| *v).filter(|v| shown(*v)).fold(0.0, f64::max);
    let full = column.full.unwrap_or(largest).max(largest);
    for (k, (value, written)) in column.values.iter().take(schedulers.len()).enumerate().filter_map(present) {
        let top = ABOVE + ROW * k as i32;
        let length = if full > 0.0 { value / full } else { 0.0 };
        let end = from + ((length * f64::from(room)).round() as i32).max(3);
        part(area, Kind::Scheduler, &schedulers[k], || {
            if column.full.is_some() {
                let track = [(from, top + 8), (from + room, top + ROW - 8)];
                area.draw(&Rectangle::new(track, GRID.stroke_width(2)))?;
            }
            area.draw(&Rectangle::new([(from, top + 8), (end, top + ROW - 8)], look(k).color.filled()))?;
            let style = text(TEXT_SIZE, INK, false, Pos::new(HPos::Left, VPos::Center));
            let at = if column.full.is_some() { from + room } else { end };
            let written = shorten(written, NUMBER_WIDTH, TEXT_SIZE);
            area.draw(&Text::new(written, (at + 12, top + ROW / 2), style))
        })?;
    }
    Ok(())
}

/// The size of a column's heading alone: all of a band that stand in one line have the smallest of theirs.
fn heading_size(heading: &str, slot: i32) -> i32 {
    let width = slot - 2 * MARGIN;
    match wrap(heading, width * 10 / 11, TICK_SIZE).len() {
        0 | 1 => fitting(heading, width, TICK_SIZE, PANEL_TITLE_SIZE).1,
        _ => PANEL_TITLE_SIZE,
    }
}

/// A column's heading in one line, or in two where it is long, which must not cost it its end.
fn draw_column_heading(area: &Area, heading: &str, from: i32, width: i32, most: i32) -> Drawn {
    let line = |heading: &str, top: i32, most: i32| {
        let (heading, size) = fitting(heading, width, TICK_SIZE, most);
        let style = text(size, INK, true, Pos::new(HPos::Left, VPos::Top));
        area.draw(&Text::new(heading, (from, top), style))
    };
    // Bold letters are a tenth wider.
    match wrap(heading, width * 10 / 11, TICK_SIZE).split_first() {
        Some((first, rest)) if !rest.is_empty() => {
            line(first, 2, TICK_SIZE)?;
            line(&rest.join(" "), 30, TICK_SIZE)
        }
        _ => line(heading, 12, most),
    }
}

/// The value of a row, if it has one that can be shown.
fn present((row, value): (usize, &Option<(f64, String)>)) -> Option<(usize, (f64, &str))> {
    let (value, written) = value.as_ref()?;
    shown(*value).then_some((row, (*value, written.as_str())))
}
