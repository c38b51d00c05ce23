//! Pages of results: where they go, and what pages of all commands have.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use dovetail_experiment::network;
use dovetail_experiment::output::{Output, Placed};
use dovetail_experiment::report::FILES;
use dovetail_experiment::results::Made;
use dovetail_experiment::table::{self, Grid};
use dovetail_page::{Cell, Fact, Form, GENERATOR, Kind, Name, Table};

use crate::failure::Failure;
use crate::place::Place;

/// What a page is called.
pub const FILE: &str = "report.html";

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
            return Err(wrong("there is a file of this name that dovetail did not write; give another name"));
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
    ///
    /// # Errors
    /// The disk or the folder.
    pub fn write(self, html: &str) -> Result<Written<'a>, Failure> {
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

/// A table of a page, whose columns of texts name `kinds`.
pub fn table(caption: &str, grid: Grid, kinds: &[Option<Kind>]) -> Table {
    let cell = |cell: table::Cell| Cell { text: cell.text, exact: cell.exact };
    Table {
        caption: caption.into(),
        header: grid.header,
        texts: grid.texts,
        kinds: kinds.to_vec(),
        marked: None,
        rows: grid.rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect(),
    }
}

/// What a page calls its input: by its title, or by the file without its folder.
pub fn called(title: &str, file: &str) -> String {
    let name = Path::new(title).file_name().filter(|_| title == file);
    name.map_or(title.into(), |name| name.to_string_lossy().into_owned())
}

/// What there is to pick from: nothing where there is but one.
pub fn names<'a>(schedulers: impl Iterator<Item = &'a str>, groups: impl Iterator<Item = &'a str>) -> Vec<Name> {
    let of = |kind, names: Vec<&str>| -> Vec<Name> {
        let several = names.len() > 1;
        let name = |name: &&str| Name { kind, name: name.to_string() };
        names.iter().filter(|_| several).map(name).collect()
    };
    [of(Kind::Scheduler, schedulers.collect()), of(Kind::Group, groups.collect())].concat()
}

/// The meanings of those columns that the tables have.
pub fn words(tables: &[Table], meanings: &[(&str, &str)]) -> Vec<(String, String)> {
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

/// What was typed after the program's name.
pub fn arguments() -> impl Iterator<Item = String> {
    std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned())
}

/// Version, command and scenario.
pub fn made(made: &Made) -> [Fact; 3] {
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

/// A line of how a page was made.
pub fn text(what: &str, value: &str) -> Fact {
    Fact { what: what.into(), value: value.into(), form: Form::Text }
}

#[cfg(test)]
mod tests {
    use super::{called, quoted};

    #[test]
    fn an_input_without_a_title_is_called_by_its_file() {
        assert_eq!(called("CPU/link", "dir/s.toml"), "CPU/link");
        assert_eq!(called("dir/a.pcap", "dir/a.pcap"), "a.pcap");
        assert_eq!(called("-", "-"), "-");
    }

    #[test]
    fn a_shell_reads_what_was_typed() {
        assert_eq!(quoted("resource.link.rate=5"), "resource.link.rate=5");
        assert_eq!(quoted("load=100 Mbps"), "'load=100 Mbps'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
