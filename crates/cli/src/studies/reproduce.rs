//! `dovetail reproduce`.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use dovetail_experiment::claim::{Check, Kind, Verdict};
use dovetail_experiment::output::Output;
use dovetail_experiment::scenario::open_capture;
use dovetail_experiment::table::table;
use dovetail_papers::{Item, ReproduceError, Reproduction, Settings};
use indicatif::ProgressBar;
use serde_json::json;

use super::page::{PageFile, Written};
use super::run::threads;
use super::{ending, progress, showcase};
use crate::args::Reproduce;
use crate::checks::{self, Columns};
use crate::failure::Failure;
use crate::terminal;

/// The file of the checks.
const CHECKS: &str = "checks.json";

/// Recompute the papers' tables and figures.
pub fn reproduce(args: Reproduce) -> Result<(), Failure> {
    if args.list {
        let items = dovetail_papers::listed(&args.ids).map_err(failure)?;
        return terminal::print(&if args.json { list_json(&items) } else { list(&items) });
    }
    if let Some(trace) = &args.trace {
        // Also when no wanted figure needs it: a wrong name is a slip.
        open_capture(trace).map_err(Failure::input)?;
    }
    let cancel = ending::end_on_interrupt();
    let inputs: Vec<&Path> = args.trace.iter().map(PathBuf::as_path).collect();
    let page = args.page.as_deref().map(|file| page(file, &inputs, &args)).transpose()?;
    let output = args.out.as_deref().map(|out| output(out, &args)).transpose()?;
    ending::leave_nothing(output.as_ref());
    let items = dovetail_papers::listed(&args.ids).map_err(failure)?;
    if (args.trace.is_some() || args.load.is_some()) && !items.iter().any(|item| item.trace_driven()) {
        let driven = dovetail_papers::list().iter().filter(|item| item.trace_driven()).map(|item| item.id);
        let driven: Vec<&str> = driven.collect();
        terminal::say(&format!("note: --trace and --load change {} only", driven.join(", ")));
    }
    let far = Far::new(items.iter().map(|item| item.weight()).sum());
    let progress = |id: &str, _| far.at(id);
    let through = |item: &Item, checks: &[Check]| {
        far.through(item);
        if far.bar.is_hidden() {
            terminal::say(&format!("{}: {}", item.id, counted(checks)));
        }
    };
    let settings = Settings {
        threads: threads(args.threads),
        cancel,
        progress: &progress,
        through: &through,
        capture: args.trace.as_deref(),
        load: args.load,
        wrong: false,
    };
    let result = dovetail_papers::run(&args.ids, &settings);
    far.bar.finish_and_clear();
    let result = result.map_err(failure)?;
    let page = page.map(|page| page.write(&showcase::html(&result, &items)?)).transpose()?;
    let mut written = output.map(|o| write(o, &result)).transpose()?.unwrap_or_default();
    written.extend(ending::uninterrupted(|| page.map(Written::place).transpose())?);
    if args.json {
        terminal::print(&result.to_json())?
    } else {
        terminal::print(&text(&result.checks, args.all))?
    }
    for path in written {
        terminal::say(&format!("wrote {path}"));
    }
    Ok(())
}

/// How far a reproduction is, on a terminal: by the weights of what is through, and of what is under way by the time
/// that it has taken, which a weight has taken so far.
struct Far {
    bar: ProgressBar,
    /// Weights that are through, and when that was.
    done: Mutex<(f64, f64)>,
}

impl Far {
    fn new(total: f64) -> Self {
        Self { bar: progress::parts(total as u64), done: Mutex::default() }
    }

    fn at(&self, id: &str) {
        let weight = dovetail_papers::item(id).map_or(0.0, Item::weight);
        let Ok(done) = self.done.lock() else { return };
        let (through, since) = *done;
        let a_weight = if through > 0.0 { since / through } else { 1.0 };
        let part = (self.bar.elapsed().as_secs_f64() - since) / a_weight;
        self.bar.set_message(id.to_string());
        // What takes longer than it should is not said to be through.
        self.bar.set_position((through + part.clamp(0.0, 0.95 * weight)) as u64);
    }

    fn through(&self, item: &Item) {
        let Ok(mut done) = self.done.lock() else { return };
        *done = (done.0 + item.weight(), self.bar.elapsed().as_secs_f64());
    }
}

fn output(folder: &Path, args: &Reproduce) -> Result<Output, Failure> {
    let names = names(args)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let inputs: Vec<&Path> = args.trace.iter().map(PathBuf::as_path).collect();
    Output::create(folder, &names, &inputs).map_err(Failure::input)
}

/// The files of `--out`.
fn names(args: &Reproduce) -> Result<Vec<String>, Failure> {
    let pictures = dovetail_papers::pictures(&args.ids).map_err(failure)?;
    Ok([CHECKS.to_string()].into_iter().chain(pictures).collect())
}

/// Where the page goes: not where one of these files does.
fn page<'a>(file: &'a Path, inputs: &[&Path], args: &Reproduce) -> Result<PageFile<'a>, Failure> {
    let page = PageFile::new(file, inputs)?;
    let out = args.out.as_ref().and_then(|out| out.canonicalize().ok());
    let of_results = |name: &String| out.as_ref().is_some_and(|out| out.join(name) == page.target());
    match names(args)?.iter().any(of_results) {
        true => Err(page.twice()),
        false => Ok(page),
    }
}

fn failure(error: ReproduceError) -> Failure {
    match error {
        ReproduceError::Run(error) => error.into(),
        ReproduceError::Id(_) | ReproduceError::Scenario(_) => Failure::input(error),
        other => Failure::run(other),
    }
}

fn write(mut output: Output, result: &Reproduction) -> Result<Vec<String>, Failure> {
    output.write(CHECKS, result.to_json().as_bytes()).map_err(Failure::run)?;
    for (name, svg) in &result.pictures {
        output.write(name, svg.as_bytes()).map_err(Failure::run)?;
    }
    let paths = ending::uninterrupted(|| output.commit()).map_err(Failure::run)?;
    Ok(paths.iter().map(ToString::to_string).collect())
}

fn list(items: &[&Item]) -> String {
    let rows = items.iter().map(|i| [i.id, i.figure, i.shows, i.status.name()].map(String::from).to_vec());
    table(&["id", "figure", "what it shows", "computed"], 4, rows.collect(), terminal::width()).to_string()
}

fn list_json(items: &[&Item]) -> String {
    let items = items.iter().map(
        |i| json!({"id": i.id, "paper": i.paper, "figure": i.figure, "shows": i.shows, "status": i.status.name()}),
    );
    format!("{:#}", json!({"schema": 1, "items": items.collect::<Vec<_>>()}))
}

/// A line per table or figure with what its claims come to, the claims that differ with the reasons, and, if `all` is
/// wanted, every claim and what stands beside the claims.
fn text(checks: &[Check], all: bool) -> String {
    let tables = [Kind::Claim, Kind::Derived].map(|kind| figures(checks, kind));
    let tables: Vec<String> = tables.into_iter().flatten().collect();
    let mut text = format!("{}\n\n{}", tables.join("\n\n"), checks::count(checks));
    for check in checks.iter().filter(|c| c.verdict == Some(Verdict::Differs)) {
        text.push_str(&format!("\n\ndiffers: {}, {}: {}: {}", check.id, check.quantity, values(check), check.why));
    }
    if all {
        for (kind, title) in [
            (Kind::Claim, "Claims"),
            (Kind::Derived, "Derived by hand"),
            (Kind::Explanation, "Explanations"),
            (Kind::Sensitivity, "Other readings"),
        ] {
            let of_kind: Vec<Check> = checks.iter().filter(|c| c.kind == kind).cloned().collect();
            if !of_kind.is_empty() {
                let lines = checks::lines(&of_kind, Columns { id: true, claim: "paper", found: "ours" });
                text.push_str(&format!("\n\n{title}:\n\n{lines}"));
            }
        }
    }
    text
}

/// The paper's value and ours.
pub(super) fn values(check: &Check) -> String {
    let ours = check.ours.map_or_else(|| "-".into(), |value| format!("{value:.4}"));
    let of_unit = if check.unit.is_empty() { String::new() } else { format!(" {}", check.unit) };
    match check.paper {
        Some(paper) => format!("{paper} in the paper, {ours}{of_unit} here"),
        None => format!("{ours}{of_unit} here"),
    }
}

/// A line per table or figure that has checks of this kind; of claims also where they stand with another figure.
fn figures(checks: &[Check], kind: Kind) -> Option<String> {
    let derived = |own: &[Check]| own.iter().any(|check| check.kind == Kind::Derived);
    let rows = dovetail_papers::list().iter().filter_map(|item| {
        let own: Vec<Check> = checks.iter().filter(|c| c.id == item.id).cloned().collect();
        let [reproduced, differ, neither] = checks::verdicts(&own, kind);
        let numbers = [reproduced + differ + neither, reproduced, differ, neither];
        let texts = [item.id.to_string(), item.shows.to_string()];
        let wanted = !own.is_empty() && derived(&own) == (kind == Kind::Derived);
        wanted.then(|| texts.into_iter().chain(numbers.map(|n| n.to_string())).collect())
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let counts = if kind == Kind::Derived { "derived" } else { "claims" };
    let header = ["id", "what it shows", counts, "reproduced", "differ", "not comparable"];
    (!rows.is_empty()).then(|| table(&header, 2, rows, terminal::width()).to_string())
}

/// The claims of a table or figure in a few words, or its derived values.
pub(super) fn counted(checks: &[Check]) -> String {
    let kind = if checks.iter().any(|check| check.kind == Kind::Derived) { Kind::Derived } else { Kind::Claim };
    let [reproduced, differ, neither] = checks::verdicts(checks, kind);
    let others = if neither == 0 { String::new() } else { format!(", {neither} not comparable") };
    let mark = if kind == Kind::Derived { " (derived)" } else { "" };
    format!("{reproduced} reproduced, {differ} differ{others}{mark}")
}
