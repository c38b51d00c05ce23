//! `dovetail schedulers`.

use dovetail_experiment::scenario::nearest;
use dovetail_experiment::table::{fits, table, wrapped};
use dovetail_experiment::timetable::broken;
use dovetail_sched::Spec;
use dovetail_sched::aqm::scheme::{MANAGERS, Scheme, about, manages};
use dovetail_sched::catalog;
use dovetail_sched::catalog::{Entry, Parameter, Weights};
use dovetail_sched::composition::{parameters, parts};
use dovetail_sched::gain::{Gain, ORDINARY, Strategy};
use serde::Serialize;

use crate::args::Schedulers;
use crate::composition;
use crate::failure::Failure;
use crate::terminal;

/// A logarithm whose space is no place to break a line.
const LOG: &str = "log\u{a0}";

/// The whole family, or all about one.
pub fn schedulers(args: Schedulers) -> Result<(), Failure> {
    if let Some((name, (parts, parameters))) = args.name.as_deref().and_then(|name| Some((name, about(name)?))) {
        if args.json {
            return print_json(&Document::of_scheme(name, &parts, &parameters));
        }
        return terminal::print(&composition::in_networks(name, parts, &parameters, terminal::width()));
    }
    let parts = args.name.as_deref().map(find).transpose()?;
    if args.json {
        let document = match (&args.name, parts) {
            (Some(name), Some(parts)) if parts.len() > 1 => Document::of_composition(name, &parts),
            (_, parts) => Document::of(parts.unwrap_or_else(|| listed().collect())),
        };
        return print_json(&document);
    }
    terminal::print(&match (args.name, parts.as_deref()) {
        (_, Some(&[entry])) => all_about(entry, terminal::width()),
        (Some(name), Some(parts)) => composition::all_about(&name, parts, terminal::width()),
        _ => family(terminal::width()),
    })
}

fn print_json(document: &Document) -> Result<(), Failure> {
    terminal::print(&serde_json::to_string_pretty(document).map_err(Failure::run)?)
}

/// The discipline of this name, or those of a composition.
fn find(name: &str) -> Result<Vec<&'static Entry>, Failure> {
    if let Some((name, _)) = name.split_once(':') {
        return Err(Failure::Input(format!("a name without parameters is wanted here, such as {name:?}")));
    }
    let found = match manages(name) {
        // Neither pipelines nor networks take it.
        Ok(true) => Scheme::new(&Spec { name: name.to_string(), parameters: Vec::new() }).and_then(|_| parts(name)),
        Ok(false) => parts(name),
        Err(unknown) => Err(unknown),
    };
    found.map_err(|error| {
        Failure::Input(match nearest(error.wrong(), error.known().iter().copied()) {
            Some(near) => format!("{error}; did you mean {near:?}?"),
            None => error.to_string(),
        })
    })
}

/// What pipelines take, and after it what only networks do.
fn listed() -> impl Iterator<Item = &'static Entry> {
    catalog().iter().chain(&MANAGERS)
}

fn family(width: u16) -> String {
    let mut header = vec![
        "name",
        "fair in",
        "resources",
        "weights",
        "per packet",
        "longest call",
        "work conserving",
        "costs ahead",
        "published",
    ];
    let row = |e: &Entry| {
        let (brief, per_packet, longest) =
            (e.brief, e.complexity.replace("log ", LOG), e.brief.longest_call.replace("log ", LOG));
        let facts = [e.name, brief.fairness, e.shared_resources(), e.weights.name(), &per_packet, &longest];
        let facts = facts.into_iter().chain([brief.work_conserving, brief.costs_ahead, brief.paper]);
        facts.map(String::from).collect()
    };
    let mut rows: Vec<Vec<String>> = listed().map(row).collect();
    for optional in ["longest call", "published"] {
        if let Some(at) = header.iter().position(|&name| name == optional)
            && !fits(&header, header.len(), &rows, width)
        {
            header.remove(at);
            rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
    }
    let (composed, networks) = (composition::note(), composition::network_note());
    let per_packet = match header.contains(&"longest call") {
        true => {
            "per packet, longest call: with n busy flows, x packets of a loop; the first on average, the second for \
             any single call"
        }
        false => "per packet: n backlogged flows",
    };
    let notes = [
        per_packet,
        "costs ahead: whether a packet's processing times must be known before it is served, and when: on arrival \
         (yes) or at the head of its queue",
        "written name or name:key=value,key=value, such as tradeoff:alpha=0.85; `dovetail schedulers NAME` tells all \
         about one",
        &composed,
        &networks,
    ];
    let notes = notes.map(|note| wrapped(note, width)).join("\n");
    format!("{}\n\n{notes}", table(&header, header.len(), rows, width))
}

/// What a flow gains by playing: in a line, and one more for each strategy by which it is more than usual.
fn gains(entry: &Entry) -> Vec<String> {
    if entry.weights == Weights::None {
        return vec!["by sending more than others, because nothing is shared".to_string()];
    }
    let more = |strategy| Some(entry.gain(strategy)).filter(|gain| gain.most > ORDINARY);
    let beyond: Vec<Gain> = Strategy::ALL.into_iter().filter_map(more).collect();
    let but = if beyond.is_empty() { "" } else { ", except by" };
    // Strategies of which the same is to be said stand together.
    let alike = |a: &Gain, b: &Gain| a.most == b.most && a.reason == b.reason;
    let line = |gains: &[Gain]| {
        let names: Vec<&str> = gains.iter().map(|gain| gain.strategy.name()).collect();
        let Gain { most, reason, .. } = gains[0];
        let most =
            if most.is_finite() { format!("{most:.2} times") } else { "everything, and its rivals starve".into() };
        format!("{}: {most} ({reason})", names.join(", "))
    };
    let first = format!("at most {ORDINARY} times its share by any strategy tried{but}");
    [first].into_iter().chain(beyond.chunk_by(alike).map(line)).collect()
}

fn all_about(entry: &Entry, width: u16) -> String {
    let mut text = format!("{}: {}\n\n", entry.name, entry.summary);
    let gains = gains(entry).join("\n");
    let facts = [
        ("shares", entry.shares),
        ("guarantees", entry.guarantee),
        ("per packet", entry.complexity),
        ("longest call", entry.worst_call),
        ("a flow gains", &gains),
        ("resources", entry.shared_resources()),
        ("weights", entry.weights.name()),
        ("work conserving", entry.work_conserving),
        ("processing times", entry.costs),
        ("source", entry.paper),
    ];
    for (what, fact) in facts {
        // Further lines stand below the first.
        let lines = fact.lines().flat_map(|line| broken(line, width.saturating_sub(22)));
        let fact = lines.collect::<Vec<_>>().join(&format!("\n{:<20}", ""));
        text.push_str(&format!("  {what:<17} {fact}\n"));
    }
    if entry.parameters.is_empty() {
        text.push_str("\nno parameters\n");
        return text;
    }
    text.push_str("\nparameters\n");
    entry.parameters.iter().for_each(|p| text.push_str(&composition::parameter(p, width)));
    text
}

/// The document of `dovetail schedulers --json`.
#[derive(Serialize)]
struct Document {
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    composition: Option<Composition>,
    schedulers: Vec<About>,
}

/// What several schedulers are together.
#[derive(Serialize)]
struct Composition {
    name: String,
    parameters: Vec<Takes>,
}

#[derive(Serialize)]
struct About {
    name: &'static str,
    summary: &'static str,
    shares: &'static str,
    guarantee: &'static str,
    fairness: &'static str,
    complexity: &'static str,
    longest_call: &'static str,
    gains: Vec<Gains>,
    resources: &'static str,
    weights: &'static str,
    work_conserving: &'static str,
    costs: &'static str,
    costs_ahead: &'static str,
    paper: &'static str,
    parameters: Vec<Takes>,
}

/// What a flow gains by a strategy.
#[derive(Serialize)]
struct Gains {
    strategy: &'static str,
    /// `None` if there is no limit.
    most: Option<f64>,
    reason: &'static str,
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
    fn of(entries: Vec<&Entry>) -> Self {
        Self { schema: 1, composition: None, schedulers: entries.into_iter().map(About::of).collect() }
    }

    /// The parts stand in the order of the pipeline.
    fn of_composition(name: &str, parts: &[&Entry]) -> Self {
        let parameters = parameters(name).into_iter().flatten().map(Takes::of).collect();
        let composition = Some(Composition { name: name.to_string(), parameters });
        Self { composition, ..Self::of(parts.to_vec()) }
    }

    /// What stands in front of CPUs, and what in front of links. A name that stands for both is listed once.
    fn of_scheme(name: &str, parts: &[&Entry; 2], parameters: &[&Parameter]) -> Self {
        if parts[0].name == name {
            return Self::of(vec![parts[0]]);
        }
        let parameters = parameters.iter().copied().map(Takes::of).collect();
        let composition = Some(Composition { name: name.to_string(), parameters });
        Self { composition, ..Self::of(parts.to_vec()) }
    }
}

impl Takes {
    fn of(p: &Parameter) -> Self {
        Self { name: p.name, value: p.value, default: p.default, meaning: p.meaning, settable: p.settable }
    }
}

impl Gains {
    /// By every strategy; nothing where nothing is shared out.
    fn of(entry: &Entry) -> Vec<Self> {
        let strategies = Strategy::ALL.into_iter().filter(|_| entry.weights != Weights::None);
        let one = |Gain { strategy, most, reason }| Self {
            strategy: strategy.name(),
            most: Some(most).filter(|most| most.is_finite()),
            reason,
        };
        strategies.map(|strategy| one(entry.gain(strategy))).collect()
    }
}

impl About {
    fn of(entry: &Entry) -> Self {
        Self {
            name: entry.name,
            summary: entry.summary,
            shares: entry.shares,
            guarantee: entry.guarantee,
            fairness: entry.brief.fairness,
            complexity: entry.complexity,
            longest_call: entry.worst_call,
            gains: Gains::of(entry),
            resources: entry.shared_resources(),
            weights: entry.weights.name(),
            work_conserving: entry.work_conserving,
            costs: entry.costs,
            costs_ahead: entry.brief.costs_ahead,
            paper: entry.paper,
            parameters: entry.parameters.iter().map(Takes::of).collect(),
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
            for entry in listed() {
                let own = lines.iter().filter(|l| l.split_whitespace().next() == Some(entry.name));
                assert_eq!(own.count(), 1, "{} at {width}:\n{text}", entry.name);
            }
        }
    }

    #[test]
    fn a_row_is_one_line_where_there_is_room() {
        let text = family(180);
        let table: Vec<&str> = text.lines().take_while(|l| !l.is_empty()).collect();
        assert_eq!(table.len(), listed().count() + 2, "{text}");
    }
}
