//! `dovetail report`, and the page of `dovetail run --page`.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use dovetail_experiment::figure::DARK;
use dovetail_experiment::network::{self, NetworkSummary};
use dovetail_experiment::output::{Output, Placed};
use dovetail_experiment::report::FILES;
use dovetail_experiment::results::{AnySummary, Documents, Made, PICTURES};
use dovetail_experiment::summary::Summary;
use dovetail_experiment::table::{self, Grid};
use dovetail_page::{Cell, Fact, Form, GENERATOR, Kind, Name, Page, Picture, Table};

use crate::args::Report;
use crate::failure::Failure;
use crate::place::Place;
use crate::terminal;

/// The page in the folder that it is of.
const FILE: &str = "report.html";

/// Most groups of flows on a page; each has a row per scheduler.
const MOST_GROUPS: usize = 100;

/// Write the page of a folder of results.
pub fn report(args: Report) -> Result<(), Failure> {
    let documents = Documents::read(&args.folder).map_err(Failure::input)?;
    let file = args.out.unwrap_or_else(|| args.folder.join(FILE));
    let read: Vec<PathBuf> = FILES.iter().map(|name| args.folder.join(name)).collect();
    let page = PageFile::new(&file, &read.iter().map(PathBuf::as_path).collect::<Vec<_>>())?.write(&documents)?;
    terminal::say(&format!("wrote {}", page.place()?));
    Ok(())
}

/// What a comparison leaves: the summary, how it was made, and the pictures.
pub fn documents(summary: String, scenario: &str, pictures: Vec<(&'static str, String)>) -> Result<Documents, Failure> {
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    Documents::new(summary, &Made::new(arguments, scenario), pictures).map_err(Failure::run)
}

/// Where a page goes.
pub struct PageFile<'a> {
    path: &'a Path,
    target: PathBuf,
    inputs: Vec<PathBuf>,
}

impl<'a> PageFile<'a> {
    /// A file that can be written, is none of `inputs`, and replaces nothing but a page.
    ///
    /// # Errors
    /// Why nothing can be written there.
    pub fn new(path: &'a Path, inputs: &[&Path]) -> Result<Self, Failure> {
        let wrong = |why: &str| wrong(path, why);
        if path == Path::new("-") {
            return Err(wrong(&format!("a page goes into a file, such as {FILE}")));
        }
        if path.is_dir() {
            return Err(wrong(&format!("it is a folder; did you mean {:?}?", path.join(FILE).display().to_string())));
        }
        let target = Place::open(path, inputs).map_err(Failure::Input)?.target();
        if path.is_file() && !is_page(path) {
            return Err(wrong("a file that is no page of dovetail is there; give another name"));
        }
        Ok(Self { path, target, inputs: inputs.iter().map(|path| path.to_path_buf()).collect() })
    }

    /// As [`PageFile::new`], and none of the results in the folder `out`.
    ///
    /// # Errors
    /// Why nothing can be written there.
    pub fn beside(path: &'a Path, inputs: &[&Path], out: Option<&Path>) -> Result<Self, Failure> {
        let page = Self::new(path, inputs)?;
        let results = out.and_then(|out| out.canonicalize().ok());
        let of_results = |name: &str| results.as_ref().is_some_and(|out| out.join(name) == page.target);
        match FILES.iter().chain(&network::FILES).any(|name| of_results(name)) {
            true => Err(page.twice()),
            false => Ok(page),
        }
    }

    /// The file, by the one name of its folder that has no links in it.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Something else is to be written there.
    pub fn twice(&self) -> Failure {
        wrong(self.path, "something else is written there; give another name")
    }

    /// Write the page where it is not seen yet.
    pub fn write(self, documents: &Documents) -> Result<Written<'a>, Failure> {
        let html = html(documents)?;
        let inputs: Vec<&Path> = self.inputs.iter().map(PathBuf::as_path).collect();
        let mut place = Place::open(self.path, &inputs).map_err(Failure::Input)?;
        let mut file = place.file()?;
        file.write_all(html.as_bytes()).map_err(|e| place.unwritable(e))?;
        file.finish().map_err(Failure::run)?;
        Ok(Written { path: self.path, output: place.written() })
    }
}

/// A page that is written and not in its place yet.
pub struct Written<'a> {
    path: &'a Path,
    output: Output,
}

impl Written<'_> {
    /// Put it there; returns where, in words.
    pub fn place(self) -> Result<String, Failure> {
        let placed = self.output.commit().map_err(Failure::run)?;
        let replaced = placed.iter().any(|placed| placed.replaced);
        Ok(Placed { path: self.path.into(), replaced }.to_string())
    }
}

fn wrong(path: &Path, why: &str) -> Failure {
    Failure::Input(format!("cannot write {}: {why}", path.display()))
}

/// Whether a file says that this program wrote it.
fn is_page(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(1024).read_to_end(&mut head));
    let mark = format!("<meta name=\"generator\" content=\"{GENERATOR} ");
    read.is_ok() && String::from_utf8_lossy(&head).contains(&mark)
}

/// The page of what a comparison has left.
fn html(documents: &Documents) -> Result<String, Failure> {
    let results = documents.results().map_err(Failure::input)?;
    let mut page = match &results.summary {
        AnySummary::Pipeline(summary) => pipeline(summary),
        AnySummary::Network(summary) => network(summary),
    };
    let shown = |file: &str| PICTURES.iter().find(|shown| shown.file == file);
    let of_documents = documents.pictures.iter().filter_map(|(file, svg)| Some((shown(file)?, svg)));
    let mut pictures: Vec<_> = of_documents.collect();
    pictures.sort_by_key(|(shown, _)| PICTURES.iter().position(|other| other.file == shown.file));
    let picture = |(shown, svg): (&dovetail_experiment::results::Shown, &String)| Picture {
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
        table("All flows together", table::overview(summary), &[Some(Kind::Scheduler)]),
        table("Groups of flows", table::groups(summary, MOST_GROUPS), BY_GROUP),
    ];
    if summary.runs.iter().any(|run| run.prediction.is_some()) {
        tables.push(table("Predicted times", table::predictions(summary), &[None, Some(Kind::Scheduler)]));
    }
    let mut notes = summary.notes.clone();
    if groups.len() > MOST_GROUPS {
        notes.push(format!("{} more groups: see summary.json", groups.len() - MOST_GROUPS));
    }
    let mut made = vec![text("Scenario", &input.name), text("Seed", &input.seed.to_string())];
    made.extend(input.profile.as_ref().map(|profile| text("Profile", profile)));
    made.extend(input.capture.as_ref().map(|capture| {
        let speed = table::digits(capture.speed);
        text("Capture", &format!("{} packets, {speed} times as fast as recorded", capture.records))
    }));
    Page {
        title: input.title.clone(),
        sentences: summary.sentences.clone(),
        notes,
        names: names(summary.runs.iter().map(|run| &*run.scheduler), groups.iter().copied().take(MOST_GROUPS)),
        words: words(&tables, &table::COLUMNS),
        tables,
        made,
        ..Page::default()
    }
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
    let counted = format!("{} to {} of each run", table::seconds(input.warm_up_s), table::seconds(input.until_s));
    Page {
        title: input.title.clone(),
        sentences: summary.sentences.clone(),
        notes: summary.notes.clone(),
        names: names(summary.runs.iter().map(|run| &*run.scheduler), groups),
        words: words(&tables, &[&network::COLUMNS[..], &table::COLUMNS].concat()),
        tables,
        made: vec![text("Scenario", &input.name), text("Seeds", &seeds.join(", ")), text("Counted", &counted)],
        ..Page::default()
    }
}

const BY_GROUP: &[Option<Kind>] = &[Some(Kind::Group), Some(Kind::Scheduler)];

fn table(caption: &str, grid: Grid, kinds: &[Option<Kind>]) -> Table {
    let cell = |cell: table::Cell| Cell { text: cell.text, exact: cell.exact };
    Table {
        caption: caption.into(),
        header: grid.header,
        texts: grid.texts,
        kinds: kinds.to_vec(),
        rows: grid.rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect(),
    }
}

/// What there is to pick from: nothing where there is but one.
fn names<'a>(schedulers: impl Iterator<Item = &'a str>, groups: impl Iterator<Item = &'a str>) -> Vec<Name> {
    let of = |kind, names: Vec<&str>| -> Vec<Name> {
        let several = names.len() > 1;
        let name = |name: &&str| Name { kind, name: name.to_string() };
        names.iter().filter(|_| several).map(name).collect()
    };
    [of(Kind::Scheduler, schedulers.collect()), of(Kind::Group, groups.collect())].concat()
}

/// The meanings of those columns that the tables have.
fn words(tables: &[Table], meanings: &[(&str, &str)]) -> Vec<(String, String)> {
    let has = |word: &str| {
        let ends = |head: &String| head == word || head.strip_suffix(word).is_some_and(|before| before.ends_with(' '));
        tables.iter().flat_map(|table| &table.header).any(ends)
    };
    let mut known: Vec<(String, String)> = Vec::new();
    for (word, meaning) in meanings.iter().filter(|(word, _)| has(word)) {
        if !known.iter().any(|(other, _)| other == word) {
            known.push((word.to_string(), meaning.to_string()));
        }
    }
    known
}

/// Version, command and scenario.
fn made(made: &Made) -> [Fact; 3] {
    let command: Vec<Cow<'_, str>> = made.command.iter().map(|word| quoted(word)).collect();
    [
        text("Version", &format!("{GENERATOR} {}", made.version)),
        Fact { what: "Command".into(), value: command.join(" "), form: Form::Code },
        Fact { what: "Input, as run".into(), value: made.scenario.clone(), form: Form::File },
    ]
}

/// A word as a shell reads it.
fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")).into(),
    }
}

fn text(what: &str, value: &str) -> Fact {
    Fact { what: what.into(), value: value.into(), form: Form::Text }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_reads_what_was_typed() {
        assert_eq!(quoted("resource.link.rate=5"), "resource.link.rate=5");
        assert_eq!(quoted("load=100 Mbps"), "'load=100 Mbps'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
