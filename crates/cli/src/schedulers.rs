//! `dovetail schedulers`.

use dovetail_experiment::scenario::nearest;
use dovetail_experiment::table::{fits, table, wrapped};
use dovetail_sched::catalog;
use dovetail_sched::catalog::{Entry, Parameter};
use serde::Serialize;

use crate::args::Schedulers;
use crate::composition;
use crate::failure::Failure;
use crate::terminal;

/// A logarithm whose space is no place to break a line.
const LOG: &str = "log\u{a0}";

/// The whole family, or all about one.
pub fn schedulers(args: Schedulers) -> Result<(), Failure> {
    if !args.json
        && let Some(name) = args.name.as_deref()
        && let Some(text) = composition::in_networks(name).or_else(|| composition::all_about(name))
    {
        return terminal::print(&text);
    }
    let one = args.name.as_deref().map(find).transpose()?;
    match one {
        _ if args.json => {
            let entries = one.map_or(catalog(), std::slice::from_ref);
            terminal::print(&serde_json::to_string_pretty(&Document::of(entries)).map_err(Failure::run)?)
        }
        Some(entry) => terminal::print(&all_about(entry)),
        None => terminal::print(&family(terminal::width())),
    }
}

fn find(name: &str) -> Result<&'static Entry, Failure> {
    catalog().iter().find(|e| e.name == name).ok_or_else(|| {
        let names: Vec<&str> = catalog().iter().map(|e| e.name).collect();
        let hint = match nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean {near:?}?"),
            None => format!("there are {}", names.join(", ")),
        };
        Failure::Input(format!("there is no scheduler {name:?}; {hint}"))
    })
}

fn family(width: u16) -> String {
    let mut header =
        vec!["name", "fair in", "resources", "weights", "per packet", "work conserving", "costs ahead", "published"];
    let row = |e: &Entry| {
        let (brief, per_packet) = (e.brief, e.complexity.replace("log ", LOG));
        let facts = [e.name, brief.fairness, e.shared_resources(), yes_no(e.weights), &per_packet];
        let facts = facts.into_iter().chain([brief.work_conserving, brief.costs_ahead, brief.paper]);
        facts.map(String::from).collect()
    };
    let mut rows: Vec<Vec<String>> = catalog().iter().map(row).collect();
    if !fits(&header, header.len(), &rows, width) {
        header.pop();
        rows.iter_mut().for_each(|row| row.truncate(header.len()));
    }
    let (composed, networks) = (composition::note(), composition::network_note());
    let notes = [
        "per packet: n backlogged flows",
        "costs ahead: whether a packet's processing times must be known before it is served: on arrival (yes) or at the head of its queue",
        "written name or name:key=value,key=value, such as tradeoff:alpha=0.85; `dovetail schedulers NAME` tells all about one",
        &composed,
        &networks,
    ];
    let notes = notes.map(|note| wrapped(note, width)).join("\n");
    format!("{}\n\n{notes}", table(&header, header.len(), rows, width))
}

fn all_about(entry: &Entry) -> String {
    let mut text = format!("{}: {}\n\n", entry.name, entry.summary);
    let facts = [
        ("shares", entry.shares),
        ("guarantees", entry.guarantee),
        ("per packet", entry.complexity),
        ("resources", entry.shared_resources()),
        ("weights", yes_no(entry.weights)),
        ("work conserving", entry.work_conserving),
        ("processing times", entry.costs),
        ("source", entry.paper),
    ];
    for (what, fact) in facts {
        text.push_str(&format!("  {what:<17} {fact}\n"));
    }
    if entry.parameters.is_empty() {
        text.push_str("\nno parameters\n");
        return text;
    }
    text.push_str("\nparameters\n");
    for p in entry.parameters {
        let running = if p.settable { "; can change while running" } else { "" };
        text.push_str(&format!("  {} = {}\n", p.name, p.value));
        text.push_str(&format!("      {}\n      default: {}{running}\n", p.meaning, p.default));
    }
    text
}

fn yes_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

/// The document of `dovetail schedulers --json`.
#[derive(Serialize)]
struct Document {
    schema: u32,
    schedulers: Vec<About>,
}

#[derive(Serialize)]
struct About {
    name: &'static str,
    summary: &'static str,
    shares: &'static str,
    guarantee: &'static str,
    fairness: &'static str,
    complexity: &'static str,
    resources: &'static str,
    weights: bool,
    work_conserving: &'static str,
    costs: &'static str,
    costs_ahead: &'static str,
    paper: &'static str,
    parameters: Vec<Takes>,
}

#[derive(Serialize)]
struct Takes {
    name: &'static str,
    value: &'static str,
    default: &'static str,
    meaning: &'static str,
    settable: bool,
}

impl Document {
    fn of(entries: &[Entry]) -> Self {
        Self { schema: 1, schedulers: entries.iter().map(About::of).collect() }
    }
}

impl About {
    fn of(entry: &Entry) -> Self {
        let takes = |p: &Parameter| Takes {
            name: p.name,
            value: p.value,
            default: p.default,
            meaning: p.meaning,
            settable: p.settable,
        };
        Self {
            name: entry.name,
            summary: entry.summary,
            shares: entry.shares,
            guarantee: entry.guarantee,
            fairness: entry.brief.fairness,
            complexity: entry.complexity,
            resources: entry.shared_resources(),
            weights: entry.weights,
            work_conserving: entry.work_conserving,
            costs: entry.costs,
            costs_ahead: entry.brief.costs_ahead,
            paper: entry.paper,
            parameters: entry.parameters.iter().map(takes).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_fits_any_terminal_and_breaks_no_name() {
        for width in [80, 100, 140] {
            let text = family(width);
            println!("{text}\n");
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines.iter().all(|l| l.chars().count() <= usize::from(width)), "{width}:\n{text}");
            for entry in catalog() {
                let own = lines.iter().filter(|l| l.split_whitespace().next() == Some(entry.name));
                assert_eq!(own.count(), 1, "{} at {width}:\n{text}", entry.name);
            }
        }
    }

    #[test]
    fn a_row_is_one_line_where_there_is_room() {
        let text = family(160);
        let table: Vec<&str> = text.lines().take_while(|l| !l.is_empty()).collect();
        assert_eq!(table.len(), catalog().len() + 2, "{text}");
    }
}
