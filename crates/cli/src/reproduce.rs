//! `dovetail reproduce`.

use std::path::{Path, PathBuf};

use dovetail_experiment::report::Output;
use dovetail_experiment::reproduce::{self, Check, Item, ReproduceError, Reproduction, Settings, Verdict};
use dovetail_experiment::scenario::open_capture;
use dovetail_experiment::table::table;
use serde_json::json;

use crate::args::Reproduce;
use crate::checks::{self, Columns};
use crate::failure::Failure;
use crate::run::{failure as run_failure, threads};
use crate::terminal;

/// The file of the checks.
const CHECKS: &str = "checks.json";

/// Recompute the papers' tables and figures.
pub fn reproduce(args: Reproduce) -> Result<(), Failure> {
    if args.list {
        let items = reproduce::listed(&args.ids).map_err(failure)?;
        return terminal::print(&if args.json { list_json(&items) } else { list(&items) });
    }
    if let Some(trace) = &args.trace {
        // Also when no wanted figure needs it: a wrong name is a slip.
        open_capture(trace).map_err(Failure::input)?;
    }
    let cancel = terminal::on_interrupt();
    let output = args.out.as_deref().map(|out| output(out, &args)).transpose()?;
    let bar = terminal::spinner();
    let progress = |id: &str, packets: u64| {
        bar.set_message(id.to_string());
        bar.set_position(packets);
    };
    let settings =
        Settings { threads: threads(args.threads), cancel, progress: &progress, capture: args.trace.as_deref() };
    let result = reproduce::run(&args.ids, &settings);
    bar.finish_and_clear();
    let result = result.map_err(failure)?;
    let written = output.map(|o| write(o, &result)).transpose()?;
    if args.json {
        terminal::print(&result.to_json())?
    } else {
        terminal::print(&text(&result.checks))?
    }
    for path in written.iter().flatten() {
        terminal::say(&format!("wrote {path}"));
    }
    Ok(())
}

fn output(folder: &Path, args: &Reproduce) -> Result<Output, Failure> {
    let pictures = reproduce::pictures(&args.ids).map_err(failure)?;
    let names: Vec<&str> = [CHECKS].into_iter().chain(pictures.iter().map(String::as_str)).collect();
    let inputs: Vec<&Path> = args.trace.iter().map(PathBuf::as_path).collect();
    Output::create(folder, &names, &inputs).map_err(Failure::input)
}

fn failure(error: ReproduceError) -> Failure {
    match error {
        ReproduceError::Run(error) => run_failure(error),
        ReproduceError::Id(_) | ReproduceError::Scenario(_) => Failure::input(error),
        other => Failure::run(other),
    }
}

fn write(mut output: Output, result: &Reproduction) -> Result<Vec<String>, Failure> {
    output.write(CHECKS, result.to_json().as_bytes()).map_err(Failure::run)?;
    for (name, svg) in &result.pictures {
        output.write(name, svg.as_bytes()).map_err(Failure::run)?;
    }
    let paths = output.commit().map_err(Failure::run)?;
    Ok(paths.iter().map(ToString::to_string).collect())
}

fn list(items: &[&Item]) -> String {
    let rows = items.iter().map(|i| [i.id, i.figure, i.shows, i.status.name()].map(String::from).to_vec());
    table(&["id", "", "what it shows", "here"], 4, rows.collect(), terminal::width()).to_string()
}

fn list_json(items: &[&Item]) -> String {
    let items = items.iter().map(
        |i| json!({"id": i.id, "paper": i.paper, "figure": i.figure, "shows": i.shows, "status": i.status.name()}),
    );
    format!("{:#}", json!({"schema": 1, "items": items.collect::<Vec<_>>()}))
}

/// A line per check, then the reasons of those that differ.
fn text(checks: &[Check]) -> String {
    let mut text = checks::lines(checks, Columns { id: true, claim: "paper", found: "ours" });
    text.push_str(&format!("\n\n{}", checks::count(checks)));
    for check in checks.iter().filter(|c| c.verdict == Verdict::Differs) {
        text.push_str(&format!("\n\ndiffers: {}, {}: {}", check.id, check.quantity, check.why));
    }
    text
}
