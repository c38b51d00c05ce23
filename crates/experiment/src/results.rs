//! What a comparison leaves to be read again: its summary, how it was made, and its pictures.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::network::{NetworkSummary, RunSummary};
use crate::output::{Output, OutputError};
use crate::scenario::or_nearby;
use crate::summary::{Run, SCHEMA, Summary};

/// The file of the summary.
pub const SUMMARY: &str = "summary.json";

/// The file that says how results were made.
pub const COMMAND: &str = "command.json";

/// A picture that a folder may hold.
#[derive(Debug)]
pub struct Shown {
    /// Its file.
    pub file: &'static str,
    /// What it shows.
    pub heading: &'static str,
    /// How to read it.
    pub explanation: &'static str,
}

/// All pictures, in the order in which they are read.
pub const PICTURES: [Shown; 7] = [
    Shown {
        file: "overview.svg",
        heading: "At a glance",
        explanation: "Use of each resource, when all was done, and how long packets of each group took on average.",
    },
    Shown {
        file: "throughput.svg",
        heading: "Throughput",
        explanation: "Of a flow of each group, beside its proportionally fair rate.",
    },
    Shown {
        file: "latency.svg",
        heading: "Latency",
        explanation: "Part of a group's packets that left within a time of their arrival: further left is better.",
    },
    Shown {
        file: "dominant-share.svg",
        heading: "Dominant shares",
        explanation: "Share of its main resource, by weight, that each flow had in each interval in which it waited. \
                      Fair sharing puts all dots on the dashed line.",
    },
    Shown {
        file: "utilization.svg",
        heading: "Use of CPU and link",
        explanation: "Busy part of each resource over time; zero while nothing was in the box. That time counts here: \
                      \"used\" in tables leaves it out.",
    },
    Shown {
        file: "gini.svg",
        heading: "Distance from ideal sharing",
        explanation: "Gini index of each resource against an ideal fluid over time: lower is fairer.",
    },
    Shown {
        file: "schedule.svg",
        heading: "Schedule",
        explanation: "When each resource served each packet: one box a packet, one colour a flow.",
    },
];

/// How results were made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "how the results were made")]
pub struct Made {
    /// Version of this document.
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// The command, an argument each.
    pub command: Vec<String>,
    /// The scenario as it was run: with what `--set` changed in it.
    pub scenario: String,
}

impl Made {
    /// By this program with these arguments.
    pub fn new(arguments: impl Iterator<Item = String>, scenario: &str) -> Self {
        let command = std::iter::once("dovetail".to_string()).chain(arguments).collect();
        Self { schema: 1, version: env!("CARGO_PKG_VERSION").into(), command, scenario: scenario.into() }
    }
}

/// The documents as they stand in files.
#[derive(Clone, Debug)]
pub struct Documents {
    /// Where they come from, for messages.
    pub folder: PathBuf,
    /// [`SUMMARY`].
    pub summary: String,
    /// [`COMMAND`].
    pub command: String,
    /// Files and contents.
    pub pictures: Vec<(&'static str, String)>,
}

/// What the documents say.
#[derive(Debug)]
pub struct Results {
    /// The summary.
    pub summary: AnySummary,
    /// How it was made.
    pub made: Made,
}

/// A summary of either kind.
#[derive(Debug)]
pub enum AnySummary {
    /// Of a pipeline.
    Pipeline(Box<Summary>),
    /// Of a network.
    Network(Box<NetworkSummary>),
}

impl AnySummary {
    /// That each run has all groups and resources, as the tables take for granted; else what differs.
    fn whole<'a>(&'a self) -> Result<(), String> {
        match self {
            Self::Pipeline(summary) => {
                let resources: Vec<&str> = summary.scenario.resources.iter().map(String::as_str).collect();
                for run in &summary.runs {
                    let own = run.resources.0.iter().map(|(name, _)| name.as_str());
                    same("resources", &run.scheduler, own.collect(), &resources)?;
                }
                let groups = |run: &'a Run| run.groups.iter().map(|group| &*group.group).collect();
                same_groups(summary.runs.iter().map(|run| (&*run.scheduler, groups(run))))
            }
            Self::Network(summary) => {
                let groups = |run: &'a RunSummary| run.groups.iter().map(|group| &*group.group).collect();
                same_groups(summary.runs.iter().map(|run| (&*run.scheduler, groups(run))))
            }
        }
    }
}

/// That each scheduler has the groups of the first one, in their order.
fn same_groups<'a>(mut runs: impl Iterator<Item = (&'a str, Vec<&'a str>)>) -> Result<(), String> {
    let Some((_, first)) = runs.next() else { return Ok(()) };
    runs.try_for_each(|(scheduler, groups)| same("groups", scheduler, groups, &first))
}

fn same(what: &str, scheduler: &str, names: Vec<&str>, expected: &[&str]) -> Result<(), String> {
    let differ = || format!("the {what} of {scheduler} are {names:?}, expected {expected:?}");
    if names == expected { Ok(()) } else { Err(differ()) }
}

/// A folder does not hold results, in words.
#[derive(Debug, PartialEq, Eq)]
pub struct ResultsError(String);

impl fmt::Display for ResultsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ResultsError {}

/// What tells one kind of summary from the other.
#[derive(Deserialize)]
#[serde(expecting = "a summary of results")]
struct Head {
    schema: u32,
    network: Option<serde::de::IgnoredAny>,
}

impl Documents {
    /// Of a comparison.
    pub fn new(summary: String, made: &Made, pictures: Vec<(&'static str, String)>) -> serde_json::Result<Self> {
        let command = serde_json::to_string_pretty(made)?;
        Ok(Self { folder: PathBuf::new(), summary, command, pictures })
    }

    /// From the folder of `dovetail run --out`.
    ///
    /// # Errors
    /// It holds no results, or they cannot be read.
    pub fn read(folder: &Path) -> Result<Self, ResultsError> {
        let text = |path: &Path| match path.metadata()?.is_file() {
            true => std::fs::read_to_string(path),
            // A device or a pipe may go on without end.
            false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not an ordinary file")),
        };
        let read = |file: &str| match text(&folder.join(file)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ResultsError(format!("{}: cannot be read: {error}", folder.join(file).display()))),
        };
        check(folder)?;
        let needed = |file: &str| read(file)?.ok_or_else(|| missing(folder, file));
        let (summary, command) = (needed(SUMMARY)?, needed(COMMAND)?);
        let pictures = PICTURES.iter().filter_map(|shown| Some((shown.file, read(shown.file).transpose()?)));
        let pictures = pictures.map(|(file, svg)| Ok((file, svg?))).collect::<Result<_, ResultsError>>()?;
        Ok(Self { folder: folder.into(), summary, command, pictures })
    }

    /// Write them where they are not seen yet.
    ///
    /// # Errors
    /// The disk or the folder.
    pub fn write(&self, out: &mut Output) -> Result<(), OutputError> {
        out.write(SUMMARY, self.summary.as_bytes())?;
        out.write(COMMAND, self.command.as_bytes())?;
        self.pictures.iter().try_for_each(|(file, svg)| out.write(file, svg.as_bytes()))
    }

    /// What they say.
    ///
    /// # Errors
    /// They are of another version, or damaged.
    pub fn results(&self) -> Result<Results, ResultsError> {
        let head: Head = self.parsed(SUMMARY, &self.summary)?;
        if head.schema != SCHEMA {
            let place = self.folder.join(SUMMARY);
            let told = format!("{}: it has schema {}, expected {SCHEMA}: run again", place.display(), head.schema);
            return Err(ResultsError(told));
        }
        let summary = match head.network {
            Some(_) => AnySummary::Network(self.parsed(SUMMARY, &self.summary)?),
            None => AnySummary::Pipeline(self.parsed(SUMMARY, &self.summary)?),
        };
        summary.whole().map_err(|why| {
            ResultsError(format!("{}: {why}: it is damaged: run again", self.folder.join(SUMMARY).display()))
        })?;
        Ok(Results { summary, made: self.parsed(COMMAND, &self.command)? })
    }

    fn parsed<'a, T: Deserialize<'a>>(&self, file: &str, text: &'a str) -> Result<T, ResultsError> {
        serde_json::from_str(text)
            .map_err(|error| ResultsError(format!("{}: {error}: run again", self.folder.join(file).display())))
    }
}

/// That it is a folder.
fn check(folder: &Path) -> Result<(), ResultsError> {
    let shown = folder.display();
    match folder.metadata() {
        Err(error) => Err(ResultsError(format!("{shown}: cannot be read: {error}{}", or_nearby(folder)))),
        Ok(there) if there.is_dir() => Ok(()),
        Ok(_) => {
            let of_results = folder.parent().filter(|parent| parent.join(SUMMARY).is_file());
            let parent = of_results.map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
            Err(ResultsError(format!("{shown}: it is a file: expected {EXPECTED}{}", meant(parent))))
        }
    }
}

const EXPECTED: &str = "a folder that `dovetail run --out` has written";

/// What a folder without a file of results may be.
fn missing(folder: &Path, file: &str) -> ResultsError {
    let has = |name: &str| folder.join(name).exists();
    let what = match () {
        () if file == COMMAND => "an earlier version wrote it: run again".to_string(),
        () if has("checks.json") => format!("it is of `dovetail reproduce`, expected {EXPECTED}"),
        () if has("runs") && has("groups") => format!("it is of `dovetail sweep`, expected {EXPECTED}"),
        () => format!("expected {EXPECTED}"),
    };
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut inside: Vec<PathBuf> = folders.filter(|path| path.join(SUMMARY).is_file()).collect();
    inside.sort();
    let near = inside.first().filter(|_| file == SUMMARY).map(PathBuf::as_path);
    ResultsError(format!("{}: there is no {file} in it: {what}{}", folder.display(), meant(near)))
}

fn meant(path: Option<&Path>) -> String {
    path.map_or(String::new(), |path| format!("; did you mean {:?}?", path.display().to_string()))
}
