//! `dovetail bounds`.

use dovetail_experiment::bounds::{Document, PACKETS, bounds as find};
use dovetail_experiment::compare::compare;
use dovetail_experiment::table::{seconds, table, wrapped};

use super::ending;
use super::run::{open, with_progress};
use crate::args::Bounds;
use crate::failure::Failure;
use crate::terminal;

/// Run the scenario and hold it against the guarantees.
pub fn bounds(args: Bounds) -> Result<(), Failure> {
    let cancel = ending::end_on_interrupt();
    let (scenario, schedulers) = open(&args.input)?;
    let runs = with_progress(&scenario, &schedulers, &args.input, cancel, PACKETS, |settings| {
        compare(&scenario, &schedulers, settings)
    })?;
    let document = find(&scenario, &runs);
    if args.json {
        return terminal::print(&serde_json::to_string_pretty(&document).map_err(Failure::run)?);
    }
    terminal::print(&text(&document))
}

fn text(document: &Document) -> String {
    let cell = |value: Option<f64>| value.map_or("-".into(), seconds);
    let mut notes: Vec<String> = Vec::new();
    let rows = document.bounds.iter().map(|b| {
        let note = format!("{}: {}", b.source, b.remark);
        let number = notes.iter().position(|n| *n == note).unwrap_or_else(|| {
            notes.push(note);
            notes.len() - 1
        });
        let ratio = b.ratio.map_or("-".into(), |r| format!("{r:.3}"));
        let guarantee = format!("{} [{}]", b.guarantee, number + 1);
        vec![b.scheduler.clone(), guarantee, cell(b.bound_s), cell(b.seen_s), ratio]
    });
    let header = ["scheduler", "guarantee", "at most", "seen", "ratio"];
    let mut text = table(&header, 2, rows.collect(), terminal::width()).to_string();
    text.push('\n');
    for (k, note) in notes.iter().enumerate() {
        let note = wrapped(&format!("[{}] {note}", k + 1), terminal::width());
        text.push_str(&format!("\n{note}"));
    }
    text
}
