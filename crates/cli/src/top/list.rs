//! Rows of classes and flows, with as many columns as there is room for.

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Row as TableRow, Table, Widget};

use super::app::Order;
use super::shares::Row;
use super::words::{cut, flow, percent, short, time};
use Content::{Class, Fair, Name, Number, Third};

/// A wider screen has further columns as long as this much is left for the first one: as for most flows of IPv4.
const NAME: u16 = 44;

/// The width of classes beside flows, at least, and where there is room.
const CLASS: [u16; 2] = [7, 24];

/// A flow with so many times its fair share has far more than that.
const MUCH: f64 = 1.5;

/// What a column has of a row.
enum Content {
    /// What the row is called.
    Name,
    /// The class of a flow, or how many flows a class has.
    Class,
    /// Its share by what is fair, with a colour.
    Fair,
    /// Its part of the third resource, if the box has one.
    Third,
    /// What stands under this title.
    Number(&'static str, fn(&Row) -> String),
}

/// A column, its width (0 is what is left), how rows are ordered by it, and from which width of the screen on it is
/// there.
type Column = (Content, u16, Option<Order>, u16);

const NARROW: [Column; 10] = [
    (Name, 0, Some(Order::Name), 0),
    (Class, CLASS[0], None, 70),
    (Number("cpu%", |row| percent(row.shares.cpu)), 5, Some(Order::Cpu), 0),
    (Third, 7, None, 0),
    (Number("link%", |row| percent(row.shares.link)), 5, Some(Order::Link), 0),
    (Number("dom%", |row| percent(row.shares.dominant())), 5, Some(Order::Dominant), 90),
    (Fair, 6, None, 0),
    (Number("wait", |row| short(row.queue as f64)), 5, Some(Order::Waiting), 60),
    (Number("p99", |row| time(row.latency.p99)), 6, Some(Order::Latency), 50),
    (Number("drop/s", |row| short(row.drops_s)), 6, Some(Order::Drops), 60),
];

const FURTHER: [Column; 10] = [
    (Number("p99 1m", |row| time(row.minute.p99)), 7, None, 0),
    (Number("p99 all", |row| time(row.all.p99)), 7, None, 0),
    (Number("cpu/frame", |row| time(row.cpu_each)), 9, None, 0),
    (Number("p50", |row| time(row.latency.p50)), 7, None, 0),
    (Number("p90", |row| time(row.latency.p90)), 7, None, 0),
    (Number("max", |row| time(row.latency.max)), 7, None, 0),
    (Number("frames/s", |row| short(row.frames_s)), 8, None, 0),
    (Number("bit/s", |row| short(row.bits_s)), 7, None, 0),
    (Number("mark/s", |row| short(row.marked_s)), 7, None, 0),
    (Number("weight", |row| format!("{}", row.shares.weight)), 7, None, 0),
];

/// What rows are.
pub enum Of<'a> {
    /// Classes.
    Classes,
    /// Flows: of this class only, if one is named, in this order.
    Flows(Option<&'a str>, Order),
}

/// How rows are judged.
#[derive(Clone, Copy, Debug)]
pub struct Judge {
    /// What of the fair share is enough for a flow that is backlogged.
    pub enough: f64,
    /// Whether some flow has less.
    pub starves: bool,
}

impl Judge {
    /// Whether one of these has too little.
    pub fn of(enough: f64, rows: &[Row]) -> Self {
        Self { enough, starves: rows.iter().any(|row| row.over_fair.is_some_and(|over| over < enough)) }
    }

    /// Too little of what is due; or far more than that, at the expense of another or of nobody.
    fn fair_style(self, row: &Row) -> Style {
        let color = match row.over_fair {
            Some(over) if over < self.enough => Color::Yellow,
            Some(over) if over > MUCH && self.starves => Color::Red,
            Some(over) if over > MUCH => Color::Magenta,
            _ => return Style::new(),
        };
        Style::new().fg(color).add_modifier(Modifier::BOLD)
    }
}

/// Rows of which those from some place on are shown.
pub struct List<'a> {
    /// What they are.
    pub of: Of<'a>,
    /// All of them.
    pub rows: &'a [&'a Row],
    /// The first that is shown.
    pub from: usize,
    /// How they are judged.
    pub judge: Judge,
    /// The name of the box's third resource.
    pub third: Option<&'a str>,
}

impl List<'_> {
    /// Columns and their widths; 0 is what is left.
    fn columns(&self, width: u16) -> Vec<(&'static Column, u16)> {
        let of_one_class = matches!(self.of, Of::Flows(Some(_), _));
        let there = |column: &&Column| self.third.is_some() || !matches!(column.0, Third);
        let narrow = NARROW.iter().filter(there).filter(|column| width >= column.3);
        let mut columns: Vec<(&Column, u16)> = narrow.map(|column| (column, column.1)).collect();
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

    /// Draw them.
    pub fn render(&self, area: Rect, buffer: &mut Buffer) {
        let columns = self.columns(area.width);
        let lines = usize::from(area.height.saturating_sub(1));
        let classes = matches!(self.of, Of::Classes);
        let first = usize::from(area.width.saturating_sub(beside_first(&columns)));
        let header = columns.iter().map(|&(column, _)| {
            let cell = match column.0 {
                Name => left(&cut(&self.title(lines), first)),
                Class if classes => right("flows"),
                Class => left("class"),
                Fair => right("x fair"),
                Third => right(&format!("{}%", cut(self.third.unwrap_or_default(), 6))),
                Number(title, _) => right(title),
            };
            cell.style(self.heading(column))
        });
        let header = TableRow::new(header).style(Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED));
        let body = self.rows.iter().skip(self.from).take(lines).map(|row| {
            let cells = columns.iter().map(|&((content, ..), width)| match content {
                Name if classes => left(&cut(&row.name, first)),
                Name => left(&flow(&row.name, first)),
                Class if classes => right(&row.flows.to_string()),
                Class => left(&cut(&row.class, usize::from(width))),
                Fair => right(&row.over_fair.map_or("-".into(), |over| format!("{over:.2}")))
                    .style(self.judge.fair_style(row)),
                Third => right(&percent(row.shares.third)),
                Number(_, text) => right(&text(row)),
            });
            TableRow::new(cells).style(self.row_style(row))
        });
        let widths = columns.iter().map(|&(_, width)| match width {
            0 => Constraint::Fill(1),
            width => Constraint::Length(width),
        });
        Widget::render(Table::new(body, widths).header(header).column_spacing(1), area, buffer);
    }

    /// Who has too little stands out as a whole.
    fn row_style(&self, row: &Row) -> Style {
        match row.over_fair {
            Some(over) if over < self.judge.enough => Style::new().fg(Color::Yellow),
            _ => Style::new(),
        }
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
