//! The page of a picture: title, a grid of panels, legend, caption; and the chart inside a panel.

use super::FigureError;
use super::axis::Axis;
use super::marker::{mark, paper_mark};
use super::part::{Kind, grouped, part};
use super::style::*;
use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Drawn<T = ()> = Result<T, DrawingAreaErrorKind<std::io::Error>>;
pub(super) type Chart<'c, 's> = ChartContext<'c, SVGBackend<'s>, Cartesian2d<Axis, Axis>>;

pub(super) const WIDTH: i32 = 1800;
pub(super) const MARGIN: i32 = 28;
const TITLE_HEIGHT: i32 = 70;
const LEGEND_ROW: i32 = 40;
pub(super) const CAPTION_ROW: i32 = 32;
const KEY_WIDTH: i32 = 52;
const MOST_LEGEND_ENTRIES: usize = 24;

/// Most panels in one picture; what is beyond, the caption counts.
pub(super) const MOST_PANELS: usize = 16;

/// How a legend shows what it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Line,
    /// A line with the marks of the thing of this index.
    Marked(usize),
    /// The mark of the thing of this index, alone.
    Alone(usize),
    /// The mark of a paper's values.
    Paper,
    Dot,
    Box,
}

impl Mark {
    /// Of the `index`-th of so many lines: one alone needs no marks.
    pub fn of(index: usize, lines: usize) -> Mark {
        if lines < 2 { Mark::Line } else { Mark::Marked(index) }
    }
}

/// One entry of a legend.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub name: String,
    pub look: Look,
    pub mark: Mark,
}

/// What surrounds the panels of a picture.
pub(super) struct Sheet {
    pub title: String,
    /// Panels side by side.
    pub columns: usize,
    /// Height of each row of panels, in drawing units.
    pub rows: Vec<i32>,
    pub legend: Vec<Entry>,
    pub notes: Vec<String>,
}

impl Sheet {
    /// A sheet of `panels` equal panels: one fills the width, several stand in two columns.
    pub fn grid(title: &str, panels: usize) -> Sheet {
        let columns = if panels > 1 { 2 } else { 1 };
        let height = if panels > 1 { 560 } else { 760 };
        let rows = vec![height; panels.div_ceil(columns).max(1)];
        Sheet { title: title.into(), columns, rows, legend: Vec::new(), notes: Vec::new() }
    }

    /// Draws the surroundings, lets `panels` draw into the panels (in reading order) and returns the SVG document.
    pub fn render(&self, panels: impl FnOnce(&[Area<'_>]) -> Drawn) -> Result<String, FigureError> {
        let legend = self.legend_rows();
        let notes: Vec<String> = self.notes.iter().flat_map(|n| wrap(n, WIDTH - 2 * MARGIN, TICK_SIZE)).collect();
        let body: i32 = self.rows.iter().sum();
        let footer = legend.len() as i32 * LEGEND_ROW + notes.len() as i32 * CAPTION_ROW;
        let height = TITLE_HEIGHT + body + footer + MARGIN;

        let mut svg = String::new();
        let draw = |svg: &mut String| -> Drawn {
            let root = SVGBackend::with_string(svg, (WIDTH as u32, height as u32)).into_drawing_area();
            root.fill(&WHITE)?;
            let (title, size) = fitting(&self.title, WIDTH - 2 * MARGIN, PANEL_TITLE_SIZE, TITLE_SIZE);
            let style = text(size, INK, true, Pos::new(HPos::Left, VPos::Top));
            part(&root, Kind::Title, "", || root.draw(&Text::new(title, (MARGIN, 22), style)))?;
            panels(&self.areas(&root))?;
            self.draw_legend(&root, &legend, TITLE_HEIGHT + body)?;
            let top = TITLE_HEIGHT + body + legend.len() as i32 * LEGEND_ROW;
            for (k, note) in notes.into_iter().enumerate() {
                let style = text(TICK_SIZE, FAINT_INK, false, Pos::new(HPos::Left, VPos::Top));
                root.draw(&Text::new(note, (MARGIN, top + 6 + k as i32 * CAPTION_ROW), style))?;
            }
            root.present()
        };
        match draw(&mut svg) {
            Ok(()) => Ok(at_display_size(&grouped(&svg), height)),
            Err(e) => Err(FigureError { title: self.title.clone(), reason: e.to_string() }),
        }
    }

    fn areas<'a>(&self, root: &Area<'a>) -> Vec<Area<'a>> {
        let width = (WIDTH - MARGIN) / self.columns as i32;
        let mut top = TITLE_HEIGHT;
        let mut areas = Vec::new();
        for &height in &self.rows {
            for column in 0..self.columns as i32 {
                areas.push(root.clone().shrink((column * width, top), (width, height)));
            }
            top += height;
        }
        areas
    }

    /// The legend's entries in rows that fit the width.
    fn legend_rows(&self) -> Vec<Vec<(i32, String, Option<&Entry>)>> {
        let mut rows: Vec<Vec<(i32, String, Option<&Entry>)>> = Vec::new();
        let mut x = WIDTH;
        let shown = self.legend.iter().take(MOST_LEGEND_ENTRIES);
        let mut entries: Vec<(String, Option<&Entry>)> =
            shown.map(|e| (shorten(&e.name, WIDTH / 2, TEXT_SIZE), Some(e))).collect();
        if self.legend.len() > MOST_LEGEND_ENTRIES {
            entries.push((format!("and {} more", self.legend.len() - MOST_LEGEND_ENTRIES), None));
        }
        for (name, entry) in entries {
            let width = if entry.is_some() { KEY_WIDTH } else { 0 } + text_width(&name, TEXT_SIZE) + 36;
            if x + width > WIDTH - MARGIN {
                rows.push(Vec::new());
                x = MARGIN + 12;
            }
            if let Some(row) = rows.last_mut() {
                row.push((x, name, entry));
            }
            x += width;
        }
        rows
    }

    fn draw_legend(&self, root: &Area, rows: &[Vec<(i32, String, Option<&Entry>)>], top: i32) -> Drawn {
        let style = text(TEXT_SIZE, INK, false, Pos::new(HPos::Left, VPos::Center));
        for (k, row) in rows.iter().enumerate() {
            let y = top + k as i32 * LEGEND_ROW + LEGEND_ROW / 2;
            for (x, name, entry) in row {
                let mut text_x = *x;
                if let Some(entry) = entry {
                    draw_key(root, entry, (*x, y))?;
                    text_x += KEY_WIDTH;
                }
                root.draw(&Text::new(name.as_str(), (text_x, y), style.clone()))?;
            }
        }
        Ok(())
    }
}

fn draw_key(root: &Area, entry: &Entry, (x, y): (i32, i32)) -> Drawn {
    let color = entry.look.color;
    match entry.mark {
        Mark::Line => line(root, vec![(x, y), (x + KEY_WIDTH - 12, y)], entry.look),
        Mark::Marked(index) => {
            line(root, vec![(x, y), (x + KEY_WIDTH - 12, y)], entry.look)?;
            mark(root, index, (x + (KEY_WIDTH - 12) / 2, y))
        }
        Mark::Alone(index) => mark(root, index, (x + KEY_WIDTH - 26, y)),
        Mark::Paper => paper_mark(root, (x + KEY_WIDTH - 26, y)),
        Mark::Dot => root.draw(&Circle::new((x + KEY_WIDTH - 26, y), 7, color.filled())),
        Mark::Box => root.draw(&Rectangle::new([(x + 14, y - 12), (x + KEY_WIDTH - 12, y + 12)], color.filled())),
    }
}

/// A line in pixel coordinates of `area`.
pub(super) fn line(area: &Area, points: Vec<(i32, i32)>, look: Look) -> Drawn {
    let style = look.color.stroke_width(look.width);
    match look.dash {
        None => area.draw(&PathElement::new(points, style)),
        Some((dash, gap)) => area.draw(&DashedPathElement::new(points, dash, gap, style)),
    }
}

/// A line of values in a chart, thinned to what its pixels can show; a dot if there is but one value.
pub(super) fn curve(chart: &mut Chart<'_, '_>, x: &Axis, y: &Axis, points: &[(f64, f64)], look: Look) -> Drawn {
    let placed: Vec<(f64, f64)> = points.iter().map(|&(a, b)| (x.at(a), y.at(b))).collect();
    let (width, _) = chart.plotting_area().dim_in_pixel();
    if let [only] = placed[..] {
        chart.draw_series(std::iter::once(Circle::new(only, 6, look.color.filled())))?;
        return Ok(());
    }
    let placed = thin(&placed, x.lo, x.hi, width as usize / 2);
    let style = look.color.stroke_width(look.width);
    let dash = look.dash.filter(|_| travel(&placed, x, y) < LONGEST_DASHED);
    match dash {
        None => chart.draw_series(LineSeries::new(placed, style))?,
        Some((dash, gap)) => chart.draw_series(DashedLineSeries::new(placed, dash, gap, style))?,
    };
    Ok(())
}

/// A dashed line that goes up and down more than this many times the size of its chart is drawn solid: its dashes would
/// not be seen, and each is an element of the document.
const LONGEST_DASHED: f64 = 8.0;

/// How far a line goes along both axes, in lengths of the axes.
fn travel(placed: &[(f64, f64)], x: &Axis, y: &Axis) -> f64 {
    let part = |a: f64, b: f64, axis: &Axis| (a - b).abs() / (axis.hi - axis.lo);
    placed.windows(2).map(|w| part(w[0].0, w[1].0, x) + part(w[0].1, w[1].1, y)).sum()
}

/// Of each of `columns` slices of `lo..hi`, the first, lowest, highest and last point: the line looks the same.
/// Points come in order of x. O(points).
pub(super) fn thin(points: &[(f64, f64)], lo: f64, hi: f64, columns: usize) -> Vec<(f64, f64)> {
    if points.len() <= 4 * columns {
        return points.to_vec();
    }
    let column = |x: f64| ((x - lo) / (hi - lo) * columns as f64).floor();
    let mut kept = Vec::new();
    for slice in points.chunk_by(|a, b| column(a.0) == column(b.0)) {
        let by_y = |a: &usize, b: &usize| slice[*a].1.total_cmp(&slice[*b].1);
        let low = (0..slice.len()).min_by(by_y).unwrap_or(0);
        let high = (0..slice.len()).max_by(by_y).unwrap_or(0);
        let mut picked = [0, low, high, slice.len() - 1];
        picked.sort_unstable();
        kept.extend(picked.iter().enumerate().filter(|&(k, i)| k == 0 || picked[k - 1] != *i).map(|(_, &i)| slice[i]));
    }
    kept
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, position: &f64, (start, end): (i32, i32)) -> i32 {
        let part = (position - self.lo) / (self.hi - self.lo);
        start + (part * f64::from(end - start)).round() as i32
    }

    fn key_points<H: KeyPointHint>(&self, hint: H) -> Vec<f64> {
        if hint.weight().allow_light_points() { self.minor.clone() } else { self.ticks.clone() }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.lo..self.hi
    }
}

/// Axes, grid and heading of one panel.
pub(super) fn chart<'c, 's>(area: &'c Area<'s>, heading: &str, x: &Axis, y: &Axis) -> Drawn<Chart<'c, 's>> {
    draw_heading(area, heading)?;
    let mut chart = ChartBuilder::on(area)
        .margin_top(if heading.is_empty() { 16 } else { 62 })
        .margin_right(40)
        .margin_bottom(14)
        .margin_left(MARGIN - 10)
        .x_label_area_size(76)
        .y_label_area_size(y.label_width() + 64)
        .build_cartesian_2d(x.clone(), y.clone())?;
    let center = Pos::new(HPos::Center, VPos::Top);
    let (width, height) = area.dim_in_pixel();
    chart
        .configure_mesh()
        .bold_line_style(GRID.stroke_width(2))
        .light_line_style(LIGHT_GRID.stroke_width(2))
        .axis_style(AXIS.stroke_width(2))
        .label_style(text(TICK_SIZE, INK, false, center))
        .axis_desc_style(text(TEXT_SIZE, INK, false, center))
        .x_label_formatter(&|p| x.tick_label(*p))
        .y_label_formatter(&|p| y.tick_label(*p))
        .x_desc(shorten(&x.label, width as i32 - 300, TEXT_SIZE))
        .y_desc(shorten(&y.label, height as i32 - 120, TEXT_SIZE))
        .draw()?;
    Ok(chart)
}

/// A panel's heading, of a size that fits the panel's width if one does, or cut to it.
pub(super) fn draw_heading(area: &Area, heading: &str) -> Drawn {
    let (width, _) = area.dim_in_pixel();
    let (heading, size) = fitting(heading, width as i32 - 2 * MARGIN, TICK_SIZE, PANEL_TITLE_SIZE);
    let style = text(size, INK, true, Pos::new(HPos::Left, VPos::Top));
    area.draw(&Text::new(heading, (MARGIN, 12), style))
}

/// A panel without anything to show.
pub(super) fn no_data(area: &Area, heading: &str) -> Drawn {
    draw_heading(area, heading)?;
    let (width, height) = area.dim_in_pixel();
    let (width, height) = (width as i32, height as i32);
    area.draw(&Rectangle::new([(MARGIN, 50), (width - 40, height - 20)], GRID.stroke_width(2)))?;
    let style = text(PANEL_TITLE_SIZE, FAINT_INK, false, Pos::new(HPos::Center, VPos::Center));
    area.draw(&Text::new("no data", (width / 2, height / 2), style))
}

/// Most lines in one panel; what is beyond, the caption counts.
pub(super) const MOST_LINES: usize = 32;

/// The note about lines beyond [`MOST_LINES`], if there are any.
pub(super) fn lines_left_out(lines: usize) -> Option<String> {
    (lines > MOST_LINES).then(|| format!("The first {MOST_LINES} of {lines} lines are shown."))
}

/// The note about panels beyond [`MOST_PANELS`], if there are any.
pub(super) fn left_out(panels: usize) -> Option<String> {
    (panels > MOST_PANELS).then(|| format!("The first {MOST_PANELS} of {panels} panels are shown."))
}

/// Rules of style on dark pages: a dark ground, light ink, and lighter blue, wine red and grey. White ink on boxes
/// stays as it is.
pub const DARK: &str = "rect[fill='#FFFFFF'] { fill: #16181c } [stroke='#FFFFFF'] { stroke: #16181c }
text[fill='#222222'] { fill: #e6e6e6 } text[fill='#5F5F5F'] { fill: #a8a8a8 } [stroke='#222222'] { stroke: #e6e6e6 }
[stroke='#787878'] { stroke: #8a8a8a } [stroke='#E0E0E0'] { stroke: #3a3d44 } [stroke='#F2F2F2'] { stroke: #24262b }
[stroke='#0072B2'] { stroke: #3b9fe0 } [fill='#0072B2'] { fill: #2b86c5 }
[stroke='#882255'] { stroke: #d6609f } [fill='#882255'] { fill: #b8437f }
[stroke='#6E6E6E'] { stroke: #9a9a9a } rect[fill='#6E6E6E'] { fill: #808080 }
";

/// Scales the drawing units to pixels by a view box on the document's first element.
fn at_display_size(svg: &str, height: i32) -> String {
    let drawn = format!("<svg width=\"{WIDTH}\" height=\"{height}\"");
    let (w, h) = (WIDTH / UNITS_PER_PIXEL, height / UNITS_PER_PIXEL);
    let svg = svg.replacen(&drawn, &format!("<svg width=\"{w}\" height=\"{h}\""), 1);
    svg.replacen('\n', &format!("\n<style>@media (prefers-color-scheme: dark) {{\n{DARK}}}</style>\n"), 1)
}
