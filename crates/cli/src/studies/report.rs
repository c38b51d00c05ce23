//! `dovetail report`, and the page of `dovetail run --page`.

use std::path::PathBuf;

use dovetail_experiment::network::{self, NetworkSummary};
use dovetail_experiment::report::FILES;
use dovetail_experiment::results::{AnySummary, Documents, Made, PICTURES, Shown};
use dovetail_experiment::summary::{Capture, Summary};
use dovetail_experiment::table as tables;
use dovetail_figure::DARK;
use dovetail_page::{Kind, Page, Picture};

use super::page::{FILE, PageFile, arguments, called, made, names, table, text, words};
use super::run::as_fast;
use crate::args::Report;
use crate::failure::Failure;
use crate::terminal;

/// Most groups of flows on a page; each has a row per scheduler.
const MOST_GROUPS: usize = 100;

/// Write the page of a folder of results.
pub fn report(args: Report) -> Result<(), Failure> {
    let documents = Documents::read(&args.folder).map_err(Failure::input)?;
    let file = args.out.unwrap_or_else(|| args.folder.join(FILE));
    let read: Vec<PathBuf> = FILES.iter().map(|name| args.folder.join(name)).collect();
    let page =
        PageFile::new(&file, &read.iter().map(PathBuf::as_path).collect::<Vec<_>>())?.write(&html(&documents)?)?;
    terminal::say(&format!("wrote {}", page.place()?));
    Ok(())
}

/// What a comparison leaves: the summary, how it was made, and the pictures.
pub fn documents(summary: String, scenario: &str, pictures: Vec<(&'static str, String)>) -> Result<Documents, Failure> {
    Documents::new(summary, &Made::new(arguments(), scenario), pictures).map_err(Failure::run)
}

/// The page of what a comparison has left.
pub fn html(documents: &Documents) -> Result<String, Failure> {
    let results = documents.results().map_err(Failure::input)?;
    let mut page = match &results.summary {
        AnySummary::Pipeline(summary) => pipeline(summary),
        AnySummary::Network(summary) => network(summary),
    };
    let shown = |file: &str| PICTURES.iter().find(|shown| shown.file == file);
    let of_documents = documents.pictures.iter().filter_map(|(file, svg)| Some((shown(file)?, svg)));
    let mut pictures: Vec<_> = of_documents.collect();
    pictures.sort_by_key(|(shown, _)| PICTURES.iter().position(|other| other.file == shown.file));
    let picture = |(shown, svg): (&Shown, &String)| Picture {
        heading: shown.heading.into(),
        explanation: shown.explanation.into(),
        name: documents.folder.join(shown.file).display().to_string(),
        svg: svg.clone(),
    };
    page.pictures = pictures.into_iter().map(picture).collect();
    page.dark_pictures = DARK;
    page.made.extend(made(&results.made));
    page.version = results.made.version;
    page.html().map_err(Failure::input)
}

fn pipeline(summary: &Summary) -> Page {
    let input = &summary.scenario;
    let first = summary.runs.first();
    let groups: Vec<&str> = first.map_or(Vec::new(), |run| run.groups.iter().map(|g| g.group.as_str()).collect());
    let mut tables = vec![
        table("All flows together", tables::overview(summary), &[Some(Kind::Scheduler)]),
        table("Groups of flows", tables::groups(summary, MOST_GROUPS), BY_GROUP),
    ];
    if summary.runs.iter().any(|run| run.prediction.is_some()) {
        tables.push(table("Predicted times", tables::predictions(summary), &[None, Some(Kind::Scheduler)]));
    }
    let mut notes = summary.notes.clone();
    if groups.len() > MOST_GROUPS {
        notes.push(format!("{} more groups: see summary.json", groups.len() - MOST_GROUPS));
    }
    let source = if input.profile.is_some() { "Capture" } else { "Scenario" };
    let mut made = vec![text(source, &input.name), text("Seed", &input.seed.to_string())];
    made.extend(input.profile.as_ref().map(|profile| text("Profile", profile)));
    made.extend(input.capture.as_ref().map(|capture| text("Replayed", &replayed(capture).join("\n"))));
    Page {
        title: called(&input.title, &input.name),
        sentences: summary.sentences.clone(),
        notes,
        names: names(summary.runs.iter().map(|run| &*run.scheduler), groups.iter().copied().take(MOST_GROUPS)),
        words: words(&tables, &tables::COLUMNS),
        tables,
        made,
        ..Page::default()
    }
}

/// What the terminal says of a capture, a line each.
fn replayed(capture: &Capture) -> Vec<String> {
    let mut lines = vec![format!("{}, {}", capture.packets(), as_fast(capture.speed))];
    if capture.cut_s > 0.0 {
        lines.push(format!("pauses shortened, which leaves out {} (trace.gap)", tables::seconds(capture.cut_s)));
    }
    lines.extend(capture.warnings());
    lines
}

fn network(summary: &NetworkSummary) -> Page {
    let input = &summary.network;
    let first = summary.runs.first();
    let groups = first.into_iter().flat_map(|run| run.groups.iter().map(|group| &*group.group));
    let tables = vec![
        table("Groups of flows", network::groups(summary), BY_GROUP),
        table("CPUs and links", network::hops(summary), &[Some(Kind::Scheduler)]),
    ];
    let seeds: Vec<String> = input.seeds.iter().map(ToString::to_string).collect();
    let counted = format!("{} to {} of each run", tables::seconds(input.warm_up_s), tables::seconds(input.until_s));
    Page {
        title: called(&input.title, &input.name),
        sentences: summary.sentences.clone(),
        notes: summary.notes.clone(),
        names: names(summary.runs.iter().map(|run| &*run.scheduler), groups),
        words: words(&tables, &[&network::COLUMNS[..], &tables::COLUMNS].concat()),
        tables,
        made: vec![text("Scenario", &input.name), text("Seeds", &seeds.join(", ")), text("Counted", &counted)],
        ..Page::default()
    }
}

const BY_GROUP: &[Option<Kind>] = &[Some(Kind::Group), Some(Kind::Scheduler)];
