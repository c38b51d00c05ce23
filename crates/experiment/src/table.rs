//! Tables for a terminal.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width};

use crate::behind::starving;
use crate::compare::Recorded;
use crate::scenario::Scenario;
use crate::story::story;
use crate::summary::{Group, Summary};

/// A line below the header and nothing else.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Most groups that the table of groups lists per scheduler.
const MOST_GROUPS: usize = 12;

/// What the columns of the tables mean, in their order. A column of a resource has its name.
pub const COLUMNS: [(&str, &str); 14] = [
    ("makespan", "from the first arrival to the last departure"),
    ("used", "busy part of a resource while any packet was in the box"),
    ("delivered", "packets that left the box"),
    ("lost", "part of all packets that was refused or dropped"),
    ("latency mean", "average time from a packet's arrival until it left the box"),
    ("p99", "the time within which 99 of 100 packets left"),
    ("jain", "how equal services were: 1 all the same, 1/n one flow of n alone"),
    ("behind", "how much later a packet left than under ideal fair sharing"),
    ("flows", "flows of the group"),
    ("throughput", "bits of the whole group that left per second of makespan"),
    ("share/flow", "part of the makespan for which a flow had its main resource"),
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
        Cell::new(text).set_alignment(if i < texts { CellAlignment::Left } else { CellAlignment::Right })
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

/// A text broken at spaces, but for those between a number and its unit, into lines of at most this width; lines after
/// the first are indented.
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
        match words.last_mut().filter(|last| unit(word) && last.ends_with(|c: char| c.is_ascii_digit())) {
            Some(number) => {
                number.push(' ');
                number.push_str(word);
            }
            None => words.push(word.to_string()),
        }
    }
    words
}

/// What a comparison comes to, for people: a line per scheduler, then a line per scheduler and group.
pub fn comparison(scenario: &Scenario, runs: &[Recorded], width: u16) -> String {
    let summary = Summary::new(scenario, runs);
    let mut text = format!("{}\n\n", overview(&summary, width));
    text.push_str(&groups(&summary, width));
    if summary.runs.iter().any(|run| run.prediction.is_some()) {
        text.push_str(&format!("\n\n{}", predictions(&summary, width)));
    }
    text.push_str(&format!("\n\n{}", starving(runs, width)));
    for sentence in story(&summary) {
        text.push_str(&format!("\n{}", wrapped(&sentence, width)));
    }
    text.push_str(&notes(&summary, runs, width));
    text
}

fn overview(summary: &Summary, width: u16) -> String {
    let mut header = vec!["scheduler".to_string(), "makespan".to_string()];
    header.extend(summary.scenario.resources.iter().map(|name| format!("{name} used")));
    header.extend(["delivered", "lost", "latency mean", "p99", "jain", "behind"].map(String::from));
    let rows = summary.runs.iter().map(|run| {
        let mut row = vec![run.scheduler.clone(), run.makespan_s.map_or("-".into(), seconds)];
        row.extend(run.resources.0.iter().map(|(_, r)| percent(r.utilization)));
        let latency = run.latency_s;
        row.push(run.packets.delivered.to_string());
        row.push(percent(run.packets.lost() as f64 / run.packets.offered.max(1) as f64));
        row.push(latency.map_or("-".into(), |l| seconds(l.mean)));
        row.push(latency.map_or("-".into(), |l| seconds(l.p99)));
        row.push(run.fairness.as_ref().map_or("-".into(), |f| format!("{:.3}", f.jain)));
        row.push(seconds(run.behind.time_s));
        row
    });
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    fitted(&header, 1, &rows.collect::<Vec<_>>(), width, &["delivered", "jain", "p99"])
}

fn groups(summary: &Summary, width: u16) -> String {
    let header = ["group", "scheduler", "flows", "throughput", "share/flow", "lost", "latency mean", "p99", "behind"];
    let mut rows = Vec::new();
    let names: Vec<&str> =
        summary.runs.first().map_or(Vec::new(), |r| r.groups.iter().map(|g| g.group.as_str()).collect());
    for (index, name) in names.iter().enumerate().take(MOST_GROUPS) {
        for (k, run) in summary.runs.iter().enumerate() {
            let label = if k == 0 { name.to_string() } else { String::new() };
            rows.push(group_row(label, &run.scheduler, &run.groups[index]));
        }
    }
    fitted(&header, 2, &rows, width, &["flows", "p99", "lost", "behind"])
}

/// A line per scheduler and resource whose times were predicted.
fn predictions(summary: &Summary, width: u16) -> String {
    let header = ["predicted", "scheduler", "packets", "mean error", "relative error", "bias"];
    let mut rows: Vec<Vec<String>> = Vec::new();
    for resource in &summary.scenario.resources {
        let mut label = resource.clone();
        for run in &summary.runs {
            let Some(error) = run.prediction.as_ref().and_then(|p| p.get(resource)) else { continue };
            rows.push(vec![
                std::mem::take(&mut label),
                run.scheduler.clone(),
                error.packets.to_string(),
                seconds(error.mean_absolute_s),
                error.mean_relative.map_or("-".into(), percent),
                seconds(error.bias_s),
            ]);
        }
    }
    fitted(&header, 2, &rows, width, &["packets", "bias"])
}

fn group_row(label: String, scheduler: &str, group: &Group) -> Vec<String> {
    vec![
        label,
        scheduler.to_string(),
        group.flows.to_string(),
        rate(group.throughput_bps),
        percent(group.dominant_share),
        percent(group.packets.lost() as f64 / group.packets.offered.max(1) as f64),
        group.latency_s.map_or("-".into(), |l| seconds(l.mean)),
        group.latency_s.map_or("-".into(), |l| seconds(l.p99)),
        seconds(group.behind.time_s),
    ]
}

fn notes(summary: &Summary, runs: &[Recorded], width: u16) -> String {
    let mut notes = String::from("\n");
    let mut add = |note: String| {
        notes.push('\n');
        notes.push_str(&wrapped(&format!("note: {note}"), width));
    };
    if let Some(more) = summary.runs.first().map(|r| r.groups.len()).filter(|&n| n > MOST_GROUPS) {
        add(format!("{} more groups: see --json", more - MOST_GROUPS));
    }
    if summary.runs.iter().all(|r| r.packets.offered == 0) {
        add("no packet came".into());
    } else if runs.iter().all(|r| r.flows.len() < 2) {
        add("one flow alone: nothing to compare for jain".into());
    } else if summary.runs.iter().all(|r| r.fairness.is_none()) {
        let interval = seconds(summary.scenario.interval_s);
        add(format!(
            "no two flows were backlogged for a whole interval of {interval}: nothing to compare for jain (a smaller \
             interval may help)"
        ));
    }
    if runs.iter().any(|r| r.truncated) {
        add("too many intervals to keep: pictures and fairness show the beginning only".into());
    }
    for run in summary.runs.iter().filter(|r| r.end != "drained") {
        add(format!("{}: cut off with {} packets in the system", run.scheduler, run.packets.unfinished));
    }
    notes
}

/// A time in its natural unit with four digits.
pub fn seconds(s: f64) -> String {
    let (value, unit) = match s.abs() {
        x if x >= 1.0 || x == 0.0 => (s, "s"),
        x if x >= 1e-3 => (s * 1e3, "ms"),
        x if x >= 1e-6 => (s * 1e6, "us"),
        _ => (s * 1e9, "ns"),
    };
    format!("{} {unit}", digits(value))
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

/// A part as a percentage.
pub fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn a_number_and_its_unit_stay_on_one_line() {
        assert_eq!(wrapped("it takes 85.0 % of it", 13), "it takes\n  85.0 % of\n  it");
        assert_eq!(wrapped("done after 7.1 s, not 8", 15), "done after\n  7.1 s, not 8");
    }
}
