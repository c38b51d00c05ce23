//! `dovetail schedulers`.

use dovetail_experiment::family::{document, find, listed};
use dovetail_experiment::table::{fits, table, wrapped};
use dovetail_experiment::timetable::broken;
use dovetail_sched::aqm::scheme::about;
use dovetail_sched::catalog::Entry;
use dovetail_sched::gain::{Gain, ORDINARY, Strategy};

use crate::args::Schedulers;
use crate::composition;
use crate::failure::Failure;
use crate::terminal;

/// A logarithm whose space is no place to break a line.
const LOG: &str = "log\u{a0}";

/// The whole family, or all about one.
pub fn schedulers(args: Schedulers) -> Result<(), Failure> {
    if args.json {
        let document = document(args.name.as_deref()).map_err(Failure::input)?;
        return terminal::print(&serde_json::to_string_pretty(&document).map_err(Failure::run)?);
    }
    if let Some((name, (parts, parameters))) = args.name.as_deref().and_then(|name| Some((name, about(name)?))) {
        return terminal::print(&composition::in_networks(name, parts, &parameters, terminal::width()));
    }
    let parts = args.name.as_deref().map(find).transpose().map_err(Failure::input)?;
    terminal::print(&match (args.name, parts.as_deref()) {
        (_, Some(&[entry])) => all_about(entry, terminal::width()),
        (Some(name), Some(parts)) => composition::all_about(&name, parts, terminal::width()),
        _ => family(terminal::width()),
    })
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
            "per packet: the average cost of a packet; longest call: the most that a single call takes; with n busy \
             flows, and x packets in a loop"
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
    if entry.brief.fairness == "none" {
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
