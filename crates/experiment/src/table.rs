//! Tables for a terminal.

use comfy_table::{
    Cell as Laid, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
};

use crate::summary::{Group, Summary};

/// A line below the header and nothing else.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Most groups that the table of groups lists per scheduler.
const MOST_GROUPS: usize = 12;

/// What the columns of the tables mean, in their order. A column of a resource has its name.
pub const COLUMNS: [(&str, &str); 14] = [
    ("makespan", "from the first arrival to the last departure"),
    ("used", "part of the time for which a resource was busy while any packet was in the box"),
    ("delivered", "packets that left the box"),
    ("lost", "part of all packets that were refused or dropped"),
    ("latency mean", "average time from a packet's arrival until it left the box"),
    ("p99", "the time within which 99 of 100 packets left"),
    ("jain", "how equally waiting flows were served: 1 is equal, 1/n if one of n gets all"),
    ("behind", "how much later than under ideal fair sharing a packet left, at worst"),
    ("flows", "flows of the group"),
    ("throughput", "bits of the whole group that left per second of makespan"),
    ("share/flow", "part of the time for which a flow used its main resource"),
    ("mean error", "average difference of predicted and actual times"),
    ("relative error", "the same, divided by the actual time"),
    ("bias", "average of predicted minus actual times"),
];

/// Columns between two columns.
const GAP: u16 = 2;

/// A table of at most this width. The first `texts` columns are texts, the others numbers. The first column and numbers
/// are never broken; headers of numbers break at spaces, and texts do if it is at all possible.
pub fn table(header: &[&str], texts: usize, rows: Vec<Vec<String>>, width: u16) -> Table {
    let words = words(header, texts, &rows);
    let room = fits(header, texts, &rows, width);
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic);
    let aligned = |(i, text): (usize, String)| {
        Laid::new(text).set_alignment(if i < texts { CellAlignment::Left } else { CellAlignment::Right })
    };
    let heading = |i: usize, text: &str| if i < texts { text.to_string() } else { text.replace(' ', "\n") };
    table.set_width(width).set_header(header.iter().enumerate().map(|(i, h)| aligned((i, heading(i, h)))));
    for row in rows {
        table.add_row(row.into_iter().enumerate().map(aligned));
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        let gap = if i + 1 < header.len() { GAP } else { 0 };
        column.set_padding((0, gap));
        if i == 0 || i >= texts {
            column.set_constraint(ColumnConstraint::ContentWidth);
        } else if room {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(words[i] + gap)));
        }
    }
    table
}

/// What each column needs so that no text is broken but at spaces.
fn words(header: &[&str], texts: usize, rows: &[Vec<String>]) -> Vec<u16> {
    let longest = |i: usize, text: &str, whole: bool| {
        let parts = text.split(' ').map(|w| w.chars().count()).max().unwrap_or(0);
        (if whole && (i == 0 || i >= texts) { text.chars().count() } else { parts }) as u16
    };
    let column = |(i, name): (usize, &&str)| {
        let cells = rows.iter().filter_map(|row| row.get(i)).map(|text| longest(i, text, true));
        cells.fold(longest(i, name, i == 0), u16::max)
    };
    header.iter().enumerate().map(column).collect()
}

/// Whether such a table fits without a text that is broken elsewhere than at a space.
pub fn fits(header: &[&str], texts: usize, rows: &[Vec<String>], width: u16) -> bool {
    words(header, texts, rows).iter().map(|w| w + GAP + 1).sum::<u16>() <= width + GAP + 1
}

/// As [`table`], but of the columns named in `optional` as many are left out, first to last, as it takes to fit without
/// breaking any text; a line below says which.
pub fn fitted(header: &[&str], texts: usize, rows: &[Vec<String>], width: u16, optional: &[&str]) -> String {
    let optional: Vec<&str> = optional.iter().copied().filter(|name| header.contains(name)).collect();
    for left_out in 0..=optional.len() {
        let kept: Vec<usize> = (0..header.len()).filter(|&i| !optional[..left_out].contains(&header[i])).collect();
        let header: Vec<&str> = kept.iter().map(|&i| header[i]).collect();
        let rows = rows.iter().map(|row| kept.iter().map(|&i| row[i].clone()).collect()).collect();
        let table = table(&header, texts, rows, width);
        // Between columns there is one more.
        let needed: u16 = table.column_max_content_widths().iter().map(|w| w + GAP + 1).sum();
        if needed <= width + GAP + 1 || left_out == optional.len() {
            let note = format!("(not shown for want of room: {})", optional[..left_out].join(", "));
            let note = if left_out == 0 { String::new() } else { format!("\n{}", wrapped(&note, width)) };
            return format!("{table}{note}");
        }
    }
    String::new()
}

/// A text broken at spaces, but for those between a number and its unit and beside ±, into lines of at most this width;
/// lines after the first are indented.
pub fn wrapped(text: &str, width: u16) -> String {
    let mut lines = vec![String::new()];
    for word in words_with_units(text) {
        let line = lines.last_mut().map_or(0, |l| l.chars().count());
        if line > 0 && line + 1 + word.chars().count() > usize::from(width) {
            lines.push(String::from("  "));
        }
        if let Some(line) = lines.last_mut() {
            if !line.trim().is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
    }
    lines.join("\n")
}

fn words_with_units(text: &str) -> Vec<String> {
    let unit = |word: &str| ["%", "s", "ms", "us", "ns"].contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let joined = |last: &&mut String| {
            word == "±" || last.ends_with('±') || unit(word) && last.ends_with(|c: char| c.is_ascii_digit())
        };
        match words.last_mut().filter(joined) {
            Some(number) => {
                number.push(' ');
                number.push_str(word);
            }
            None => words.push(word.to_string()),
        }
    }
    words
}

/// A table before it is laid out, for a terminal or for a page.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Heads of the columns.
    pub header: Vec<String>,
    /// The first so many columns are texts, the others numbers. An empty first text means the one above.
    pub texts: usize,
    /// Rows.
    pub rows: Vec<Vec<Cell>>,
    /// Columns that may be left out where there is no room, first to last.
    pub optional: Vec<&'static str>,
}

/// A cell of a [`Grid`].
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// As people read it.
    pub text: String,
    /// The number, where it is one.
    pub exact: Option<f64>,
}

impl Cell {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), exact: None }
    }

    /// A number in the form that `shown` gives it; a dash if there is none.
    pub fn number(value: impl Into<Option<f64>>, shown: impl Fn(f64) -> String) -> Self {
        let exact = value.into();
        Self { text: exact.map_or("-".into(), shown), exact }
    }

    /// A whole number.
    pub fn count(count: u64) -> Self {
        Self { text: count.to_string(), exact: Some(count as f64) }
    }
}

impl Grid {
    /// As text of at most this width, see [`fitted`].
    pub fn fitted(&self, width: u16) -> String {
        let header: Vec<&str> = self.header.iter().map(String::as_str).collect();
        let texts = |row: &Vec<Cell>| row.iter().map(|cell| cell.text.clone()).collect();
        fitted(&header, self.texts, &self.rows.iter().map(texts).collect::<Vec<_>>(), width, &self.optional)
    }
}

/// What a comparison comes to, for people: a line per scheduler, then a line per scheduler and group.
pub fn comparison(summary: &Summary, width: u16) -> String {
    let mut text = format!("{}\n\n", overview(summary).fitted(width));
    text.push_str(&groups(summary, MOST_GROUPS).fitted(width));
    if summary.runs.iter().any(|run| run.prediction.is_some()) {
        text.push_str(&format!("\n\n{}", predictions(summary).fitted(width)));
    }
    text.push('\n');
    for sentence in &summary.sentences {
        text.push_str(&format!("\n{}", wrapped(sentence, width)));
    }
    text.push('\n');
    if let Some(more) = summary.runs.first().map(|r| r.groups.len()).filter(|&n| n > MOST_GROUPS) {
        text.push_str(&format!("\nnote: {} more groups: see --json", more - MOST_GROUPS));
    }
    for note in &summary.notes {
        text.push_str(&format!("\n{}", wrapped(&format!("note: {note}"), width)));
    }
    text
}

/// A row per scheduler.
pub fn overview(summary: &Summary) -> Grid {
    let mut header = vec!["scheduler".to_string(), "makespan".to_string()];
    header.extend(summary.scenario.resources.iter().map(|name| format!("{name} used")));
    header.extend(["delivered", "lost", "latency mean", "p99", "jain", "behind"].map(String::from));
    let rows = summary.runs.iter().map(|run| {
        let mut row = vec![Cell::text(&run.scheduler), Cell::number(run.makespan_s, seconds)];
        row.extend(run.resources.0.iter().map(|(_, r)| Cell::number(r.utilization, percent)));
        let latency = run.latency_s;
        row.push(Cell::count(run.packets.delivered));
        row.push(Cell::number(run.packets.part_lost(), percent));
        row.push(Cell::number(latency.map(|l| l.mean), seconds));
        row.push(Cell::number(latency.map(|l| l.p99), seconds));
        row.push(Cell::number(run.fairness.as_ref().map(|f| f.jain), |jain| format!("{jain:.3}")));
        row.push(Cell::number(run.behind.time_s, seconds));
        row
    });
    Grid { header, texts: 1, rows: rows.collect(), optional: vec!["delivered", "jain", "p99"] }
}

/// A row per group and scheduler, of the first `most` groups.
pub fn groups(summary: &Summary, most: usize) -> Grid {
    let header = ["group", "scheduler", "flows", "throughput", "share/flow", "lost", "latency mean", "p99", "behind"];
    let mut rows = Vec::new();
    let names: Vec<&str> =
        summary.runs.first().map_or(Vec::new(), |r| r.groups.iter().map(|g| g.group.as_str()).collect());
    for (index, name) in names.iter().enumerate().take(most) {
        for (k, run) in summary.runs.iter().enumerate() {
            let label = if k == 0 { name.to_string() } else { String::new() };
            rows.push(group_row(label, &run.scheduler, &run.groups[index]));
        }
    }
    Grid { header: header.map(String::from).into(), texts: 2, rows, optional: vec!["flows", "p99", "lost", "behind"] }
}

/// A row per resource whose times were predicted, and scheduler.
pub fn predictions(summary: &Summary) -> Grid {
    let header = ["predicted", "scheduler", "packets", "mean error", "relative error", "bias"];
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for resource in &summary.scenario.resources {
        let mut label = resource.clone();
        for run in &summary.runs {
            let Some(error) = run.prediction.as_ref().and_then(|p| p.get(resource)) else { continue };
            rows.push(vec![
                Cell::text(std::mem::take(&mut label)),
                Cell::text(&run.scheduler),
                Cell::count(error.packets),
                Cell::number(error.mean_absolute_s, seconds),
                Cell::number(error.mean_relative, percent),
                Cell::number(error.bias_s, seconds),
            ]);
        }
    }
    Grid { header: header.map(String::from).into(), texts: 2, rows, optional: vec!["packets", "bias"] }
}

fn group_row(label: String, scheduler: &str, group: &Group) -> Vec<Cell> {
    vec![
        Cell::text(label),
        Cell::text(scheduler),
        Cell::count(group.flows as u64),
        Cell::number(group.throughput_bps, rate),
        Cell::number(group.dominant_share, percent),
        Cell::number(group.packets.part_lost(), percent),
        Cell::number(group.latency_s.map(|l| l.mean), seconds),
        Cell::number(group.latency_s.map(|l| l.p99), seconds),
        Cell::number(group.behind.time_s, seconds),
    ]
}

/// A time in its natural unit with four digits.
pub fn seconds(s: f64) -> String {
    let (a_second, unit) = natural(s);
    format!("{} {unit}", digits(s * a_second))
}

/// The same, and how far off it may be in the same unit, such as `22.75 ± 1.200 ms`.
pub fn seconds_within(s: f64, half: f64) -> String {
    let (a_second, unit) = natural(s);
    format!("{} ± {} {unit}", digits(s * a_second), digits(half * a_second))
}

/// The natural unit of a time, and how many of it make a second.
fn natural(s: f64) -> (f64, &'static str) {
    match s.abs() {
        x if x >= 1.0 || x == 0.0 => (1.0, "s"),
        x if x >= 1e-3 => (1e3, "ms"),
        x if x >= 1e-6 => (1e6, "us"),
        _ => (1e9, "ns"),
    }
}

/// A rate in its natural unit with four digits.
pub fn rate(bps: f64) -> String {
    let (value, unit) = match bps {
        x if x >= 1e9 => (bps / 1e9, "Gbps"),
        x if x >= 1e6 => (bps / 1e6, "Mbps"),
        x if x >= 1e3 => (bps / 1e3, "kbps"),
        _ => (bps, "bps"),
    };
    format!("{} {unit}", digits(value))
}

/// A number with four digits.
pub fn digits(value: f64) -> String {
    match value.abs() {
        x if x >= 1000.0 => format!("{value:.0}"),
        x if x >= 100.0 => format!("{value:.1}"),
        x if x >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// How many times as fast or as much: as [`digits`], and of a small part three digits that count.
pub fn times(factor: f64) -> String {
    if factor <= 0.0 || factor >= 0.1 {
        return digits(factor);
    }
    let decimals = (2.0 - factor.log10().floor()) as usize;
    format!("{factor:.decimals$}")
}

/// A number of things, such as `1 packet` and `2 packets`.
pub fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A part as a percentage.
pub fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

#[cfg(test)]
mod tests {
    use super::{seconds_within, times, wrapped};

    #[test]
    fn a_number_and_its_unit_stay_on_one_line() {
        assert_eq!(wrapped("it takes 85.0 % of it", 13), "it takes\n  85.0 % of\n  it");
        assert_eq!(wrapped("done after 7.1 s, not 8", 15), "done after\n  7.1 s, not 8");
        assert_eq!(wrapped("it is 5.1 ± 0.3 % more", 16), "it is\n  5.1 ± 0.3 %\n  more");
    }

    #[test]
    fn however_slowly_it_goes_the_number_is_told() {
        let told = [1200.0, 2.0, 0.5, 0.1, 0.05, 0.0004, 1e-12, 0.0].map(times);
        assert_eq!(told, ["1200", "2.000", "0.500", "0.100", "0.0500", "0.000400", "0.00000000000100", "0.000"]);
    }

    #[test]
    fn how_far_off_a_time_may_be_has_its_unit() {
        assert_eq!(seconds_within(0.02275, 0.0005), "22.75 ± 0.500 ms");
        assert_eq!(seconds_within(999e-6, 0.0012), "999.0 ± 1200 us");
    }
}
