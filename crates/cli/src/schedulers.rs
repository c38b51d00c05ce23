//! `dovetail schedulers`.

use dovetail_experiment::scenario::nearest;
use dovetail_experiment::table::table;
use dovetail_sched::catalog;
use dovetail_sched::catalog::{Entry, Resources};

use crate::args::Schedulers;
use crate::failure::Failure;
use crate::terminal;

/// The whole family, or all about one.
pub fn schedulers(args: Schedulers) -> Result<(), Failure> {
    let Some(name) = args.name else { return terminal::print(&family()) };
    match catalog().iter().find(|e| e.name == name) {
        Some(entry) => terminal::print(&one(entry)),
        None => {
            let names: Vec<&str> = catalog().iter().map(|e| e.name).collect();
            let hint = match nearest(&name, names.iter().copied()) {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("there are {}", names.join(", ")),
            };
            Err(Failure::Input(format!("there is no scheduler {name:?}; {hint}")))
        }
    }
}

fn family() -> String {
    let header = ["name", "what it is", "parameters", "resources", "weights", "per packet"];
    let rows = catalog().iter().map(|e| {
        let parameters: Vec<&str> = e.parameters.iter().map(|p| p.name).collect();
        let parameters = if parameters.is_empty() { "-".to_string() } else { parameters.join(", ") };
        let facts = [e.name, e.summary, &parameters, resources(e), yes_no(e.weights), e.complexity];
        facts.map(String::from).to_vec()
    });
    let table = table(&header, header.len(), rows.collect(), terminal::width());
    format!(
        "{table}\n\nwritten name or name:key=value,key=value, such as tradeoff:alpha=0.85\n`dovetail schedulers NAME` tells all about one"
    )
}

fn one(entry: &Entry) -> String {
    let mut text = format!("{}: {}\n\n", entry.name, entry.summary);
    let facts = [
        ("shares", entry.shares),
        ("guarantees", entry.guarantee),
        ("per packet", entry.complexity),
        ("resources", resources(entry)),
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

fn resources(entry: &Entry) -> &'static str {
    match entry.resources {
        Resources::Any => "any number",
        Resources::Two => "two",
    }
}

fn yes_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}
