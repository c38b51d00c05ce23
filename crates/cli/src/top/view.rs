//! The view, drawn into a buffer of any size from 60 columns and 12 lines on.

use dovetail_units::BitRate;
use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row as TableRow, Table, Widget};

use super::app::{App, Link, Order};
use super::shares::{BOUND, Interval, Row, Verdict};
use crate::ctl::{NO_BOX, OTHER_BOX, START_S};
use Content::{Class, Name, Number};

/// A wider screen has further columns as long as this much is left for the first one: as for most flows of IPv4.
const NAME: u16 = 44;

/// The width of classes beside flows, at least, and where there is room.
const CLASS: [u16; 2] = [8, 24];

const KEYS: &str = "h help  q quit  space pause  Tab class  +/- alpha  sort: d c l w p x n";

const HELP: &str = " d c l    sort by dominant share, CPU, link
 w p x n  sort by waiting frames, p99 latency, drops, name
 Tab      flows of one class only, of the next one, of all
 + -      alpha up and down by 0.05
 space    stand still, and go on
 arrows, PgUp, PgDn, Home   scroll
 q, Esc, Ctrl-C             quit

 Shares are parts of the CPU budget and of the link's rate,
 since the look before. dom is the larger; x fair is dom by
 the fair share of the flow's weight, for backlogged flows:
 yellow ones have less than 0.9 of it.
 Latencies are those of all frames since the box started.
 late is how long after their time on the link was over
 frames left, in the mean since the look before.";

/// What a column has of a row.
enum Content {
    /// What the row is called.
    Name,
    /// The class of a flow, or how many flows a class has.
    Class,
    /// What stands under this title.
    Number(&'static str, fn(&Row) -> String),
}

/// A column, its width (0 is what is left), and how rows are ordered by it.
type Column = (Content, u16, Option<Order>);

const NARROW: [Column; 9] = [
    (Name, 0, Some(Order::Name)),
    (Class, CLASS[0], None),
    (Number("cpu%", |row| percent(row.shares.cpu)), 5, Some(Order::Cpu)),
    (Number("link%", |row| percent(row.shares.link)), 5, Some(Order::Link)),
    (Number("dom%", |row| percent(row.shares.dominant())), 5, Some(Order::Dominant)),
    (Number("x fair", |row| row.over_fair.map_or("-".into(), |over| format!("{over:.2}"))), 6, None),
    (Number("wait", |row| short(row.queue as f64)), 5, Some(Order::Waiting)),
    (Number("p99", |row| time(row.latency.p99)), 6, Some(Order::Latency)),
    (Number("drop/s", |row| short(row.drops_s)), 6, Some(Order::Drops)),
];

const FURTHER: [Column; 8] = [
    (Number("cpu/frame", |row| time(row.cpu_each)), 9, None),
    (Number("p50", |row| time(row.latency.p50)), 7, None),
    (Number("p90", |row| time(row.latency.p90)), 7, None),
    (Number("max", |row| time(row.latency.max)), 7, None),
    (Number("frames/s", |row| short(row.frames_s)), 9, None),
    (Number("bit/s", |row| short(row.bits_s)), 8, None),
    (Number("mark/s", |row| short(row.marked_s)), 8, None),
    (Number("weight", |row| format!("{}", row.shares.weight)), 8, None),
];

/// Draw all of it.
pub fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let classes = app.interval.as_ref().map_or(0, |interval| interval.classes.len()) as u16;
    let most = (area.height / 3).saturating_sub(1).max(1);
    let heights = [1, 5, 1, classes.min(most) + 1, 1];
    let [title, summary, _, class_area, _, flow_area, footer] = Layout::vertical([
        Constraint::Length(heights[0]),
        Constraint::Length(heights[1]),
        Constraint::Length(heights[2]),
        Constraint::Length(heights[3]),
        Constraint::Length(heights[4]),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area);
    draw_title(app, title, buffer);
    match &app.interval {
        Some(interval) => {
            Paragraph::new(summary_lines(app, interval, area.width)).render(summary, buffer);
            let rows: Vec<&Row> = interval.classes.iter().collect();
            List { of: Of::Classes, rows: &rows, from: 0 }.render(class_area, buffer);
            let (of, rows) = (Of::Flows(app.class.as_deref(), app.order), app.flows());
            List { of, rows: &rows, from: app.scroll.min(rows.len()) }.render(flow_area, buffer);
        }
        None => Paragraph::new(nothing_yet(app)).render(summary, buffer),
    }
    Paragraph::new(footer_text(app)).style(Style::new().add_modifier(Modifier::REVERSED)).render(footer, buffer);
    if app.help {
        draw_help(area, buffer);
    }
}

fn nothing_yet(app: &App) -> String {
    match &app.link {
        Link::Up => "shares are known after the second look".into(),
        Link::Down(why, _) => format!("{why}\n{NO_BOX}\n{OTHER_BOX}\n\nThis view begins when one does."),
    }
}

/// Why the box does not answer, where its last numbers take the place of that; what came of the latest command; or the keys.
fn footer_text(app: &App) -> &str {
    match &app.link {
        Link::Down(why, _) if app.interval.is_some() => why,
        _ => app.note.as_deref().unwrap_or(KEYS),
    }
}

fn draw_title(app: &App, area: Rect, buffer: &mut Buffer) {
    if let Link::Down(_, seconds) = &app.link {
        let stay = if app.interval.is_some() { ", its last numbers stay" } else { "" };
        let text = format!("NO BOX ANSWERS for {seconds} s{stay}: {}", app.socket);
        let style = Style::new().fg(Color::White).bg(Color::Red).add_modifier(Modifier::BOLD);
        return Paragraph::new(text).style(style).render(area, buffer);
    }
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let mut spans = vec![Span::styled("dovetail top  ", bold)];
    if let Some(snapshot) = &app.snapshot {
        spans.push(Span::styled(snapshot.scheduler.clone(), bold.fg(Color::Cyan)));
        let flows: u64 = snapshot.classes.iter().map(|class| class.flows).sum();
        spans.push(Span::raw(format!("  up {}, {}", hours(snapshot.time_s - START_S), counted(flows, "flow"))));
    }
    if app.paused {
        spans.push(Span::styled("  PAUSED", bold.fg(Color::Yellow)));
    }
    spans.push(Span::raw(format!("  {}", app.socket)));
    Line::from(spans).render(area, buffer);
}

fn summary_lines(app: &App, interval: &Interval, width: u16) -> Vec<Line<'static>> {
    let (cpu, link) = (interval.busy.cpu, interval.busy.link);
    let verdict = Verdict::of(cpu, link);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let numbers = format!(": CPU {} % busy, link {} %; bound is {:.0} %", percent(cpu), percent(link), 100.0 * BOUND);
    let fair = match interval.fair {
        Some(fair) => {
            format!("fair share {} % of {}", percent(fair), counted(interval.backlogged as u64, "backlogged flow"))
        }
        None => "no flow is backlogged".to_string(),
    };
    let over = format!(", over {:.1} s", interval.length_s);
    let alpha = app.alpha().map_or(String::new(), |alpha| format!("  alpha {alpha:.2} (+/-)"));
    let begin = format!("late {}  drops/s", time(interval.late));
    let drops = match interval.drops.as_slice() {
        [] => format!("{begin}  none"),
        drops => drops.iter().fold(begin, |all, (why, rate)| format!("{all}  {why} {}", short(*rate))),
    };
    vec![
        bar("CPU ", cpu, width, limit(app, "cpu")),
        bar("link", link, width, limit(app, "link")),
        Line::from(vec![Span::styled(verdict.name(), bold), Span::raw(numbers.replace("  ", " "))]),
        Line::from(format!("{fair}{over}{alpha}")),
        Line::from(drops),
    ]
}

/// What there is of a resource, and what waits for it.
fn limit(app: &App, name: &str) -> String {
    let Some(resource) = app.snapshot.as_ref().and_then(|snapshot| snapshot.resources.get(name)) else {
        return String::new();
    };
    let of = match (name, resource.capacity) {
        ("cpu", Some(part)) => format!("of {} % of a core", (1e4 * part).round() / 100.0),
        (_, Some(rate)) => BitRate::from_bps(rate as u64).map_or(String::new(), |rate| format!("of {rate}")),
        (_, None) => "as fast as it takes".to_string(),
    };
    format!("{of}, {} wait", short(resource.waiting as f64))
}

fn bar(name: &str, busy: f64, width: u16, limit: String) -> Line<'static> {
    let room = usize::from(width.saturating_sub(48)).clamp(10, 100);
    let full = ((busy.clamp(0.0, 1.0) * room as f64).round() as usize).min(room);
    let color = if busy >= BOUND { Color::Red } else { Color::Green };
    Line::from(vec![
        Span::raw(format!("{name} [")),
        Span::styled("|".repeat(full), Style::new().fg(color)),
        Span::raw(format!("{}] {:>5} % {limit}", " ".repeat(room - full), percent(busy))),
    ])
}

/// What rows are.
enum Of<'a> {
    Classes,
    /// Of this class only, if one is named, in this order.
    Flows(Option<&'a str>, Order),
}

/// Rows of which those from some place on are shown.
struct List<'a> {
    of: Of<'a>,
    rows: &'a [&'a Row],
    from: usize,
}

impl List<'_> {
    /// Columns and their widths; 0 is what is left.
    fn columns(&self, width: u16) -> Vec<(&'static Column, u16)> {
        let of_one_class = matches!(self.of, Of::Flows(Some(_), _));
        let mut columns: Vec<(&Column, u16)> = NARROW.iter().map(|column| (column, column.1)).collect();
        for column in &FURTHER {
            if beside_first(&columns) + column.1 + 1 + NAME > width {
                break;
            }
            columns.push((column, column.1));
        }
        let room = width.saturating_sub(beside_first(&columns) + NAME);
        for (_, width) in columns.iter_mut().filter(|(column, _)| matches!(column.0, Class)) {
            *width += room.min(CLASS[1] - CLASS[0]);
        }
        columns.retain(|(column, _)| !(of_one_class && matches!(column.0, Class)));
        columns
    }

    /// What rows are, and which of them are seen if not all are.
    fn title(&self, lines: usize) -> String {
        let (name, class) = match self.of {
            Of::Classes => ("class", None),
            Of::Flows(class, _) => ("flow", class),
        };
        let until = self.rows.len().min(self.from + lines);
        let seen = match until - self.from {
            all if all == self.rows.len() => String::new(),
            0 => format!(" none of {}", self.rows.len()),
            _ => format!(" {}-{until} of {}", self.from + 1, self.rows.len()),
        };
        format!("{name}{seen}{}", class.map_or(String::new(), |class| format!(" in {class}")))
    }

    fn heading(&self, column: &Column) -> Style {
        let sorted = matches!(self.of, Of::Flows(_, order) if column.2 == Some(order));
        if sorted { Style::new().fg(Color::Cyan) } else { Style::new() }
    }

    fn render(&self, area: Rect, buffer: &mut Buffer) {
        let columns = self.columns(area.width);
        let lines = usize::from(area.height.saturating_sub(1));
        let classes = matches!(self.of, Of::Classes);
        let first = usize::from(area.width.saturating_sub(beside_first(&columns)));
        let header = columns.iter().map(|&(column, _)| {
            let cell = match column.0 {
                Name => left(&cut(&self.title(lines), first)),
                Class if classes => right("flows"),
                Class => left("class"),
                Number(title, _) => right(title),
            };
            cell.style(self.heading(column))
        });
        let header = TableRow::new(header).style(Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED));
        let body = self.rows.iter().skip(self.from).take(lines).map(|row| {
            let cells = columns.iter().map(|&((content, ..), width)| match content {
                Name => left(&cut(&row.name, first)),
                Class if classes => right(&row.flows.to_string()),
                Class => left(&cut(&row.class, usize::from(width))),
                Number(_, text) => right(&text(row)),
            });
            TableRow::new(cells).style(row_style(row))
        });
        let widths = columns.iter().map(|&(_, width)| match width {
            0 => Constraint::Fill(1),
            width => Constraint::Length(width),
        });
        Widget::render(Table::new(body, widths).header(header).column_spacing(1), area, buffer);
    }
}

/// Backlogged flows that get clearly less than what is due to them stand out.
fn row_style(row: &Row) -> Style {
    match row.over_fair {
        Some(over) if over < 0.9 => Style::new().fg(Color::Yellow),
        _ => Style::new(),
    }
}

/// What all columns but the first take, with the space in front of each.
fn beside_first(columns: &[(&Column, u16)]) -> u16 {
    columns.iter().skip(1).map(|(_, width)| width + 1).sum()
}

fn left(text: &str) -> Cell<'static> {
    Cell::from(text.to_string())
}

fn right(text: &str) -> Cell<'static> {
    Cell::from(Line::from(text.to_string()).alignment(Alignment::Right))
}

fn draw_help(area: Rect, buffer: &mut Buffer) {
    let (width, height) = (62.min(area.width), (HELP.lines().count() as u16 + 2).min(area.height));
    let place = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    Clear.render(place, buffer);
    Paragraph::new(HELP).block(Block::bordered().title(" keys ")).render(place, buffer);
}

/// At most so many characters; `~` stands for what is cut off.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_string();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}~")
}

fn percent(part: f64) -> String {
    format!("{:.1}", 100.0 * part)
}

/// Hours, minutes and seconds.
pub(super) fn hours(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A whole number below a thousand, or three digits and a unit prefix.
pub(super) fn short(number: f64) -> String {
    let prefixes = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    match prefixes.into_iter().find(|&(size, _)| number >= 0.9995 * size) {
        Some((size, prefix)) => format!("{}{prefix}", three(number / size)),
        None if number == number.trunc() => format!("{number:.0}"),
        None => three(number),
    }
}

pub(super) fn time(seconds: Option<f64>) -> String {
    match seconds {
        None => "-".to_string(),
        Some(0.0) => "0".to_string(),
        Some(s) if s < 0.9995e-3 => format!("{}us", three(s * 1e6)),
        Some(s) if s < 0.9995 => format!("{}ms", three(s * 1e3)),
        Some(s) => format!("{}s", three(s)),
    }
}

/// Three digits.
fn three(number: f64) -> String {
    if number >= 99.95 {
        format!("{number:.0}")
    } else if number >= 9.995 {
        format!("{number:.1}")
    } else {
        format!("{number:.2}")
    }
}
