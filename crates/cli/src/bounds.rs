//! `dovetail bounds`.

use dovetail_experiment::bounds::{Document, PACKETS, bounds as find};
use dovetail_experiment::table::{seconds, table};

use crate::args::Bounds;
use crate::failure::Failure;
use crate::run::{compare_with_progress, open};
use crate::terminal;

/// Run the scenario and hold it against the guarantees.
pub fn bounds(args: Bounds) -> Result<(), Failure> {
    let cancel = terminal::on_interrupt();
    let (scenario, schedulers) = open(&args.input)?;
    let runs = compare_with_progress(&scenario, &schedulers, &args.input, cancel, PACKETS)?;
    let document = find(&runs);
    if args.json {
        return terminal::print(&serde_json::to_string_pretty(&document).map_err(Failure::run)?);
    }
    terminal::print(&text(&document))
}

fn text(document: &Document) -> String {
    let cell = |value: Option<f64>| value.map_or("-".into(), seconds);
    let rows = document.bounds.iter().map(|b| {
        vec![
            b.scheduler.clone(),
            b.guarantee.to_string(),
            b.source.to_string(),
            b.remark.clone(),
            cell(b.bound_s),
            cell(b.seen_s),
            b.ratio.map_or("-".into(), |r| format!("{r:.3}")),
        ]
    });
    let header = ["scheduler", "what is bounded", "source", "conditions", "at most", "seen", "ratio"];
    table(&header, 4, rows.collect(), terminal::width()).to_string()
}
