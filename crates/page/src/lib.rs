//! Results as one HTML page that needs nothing else: what they come to, tables, pictures, and how they were made.
//!
//! [`Page`] says what is on it, [`Page::html`] writes it. Texts may hold anything; pictures are held against a list of
//! what may be in them ([`mod@picture`]). The page loads nothing, and its own script is all that may run in it.

mod markup;
pub mod picture;

pub use picture::{Picture, PictureError};

/// Begins the content of the element `<meta name="generator">` of every page.
pub const GENERATOR: &str = "Dovetail";

/// What is on a page, from top to bottom.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Title.
    pub title: String,
    /// The results in words, a sentence each.
    pub sentences: Vec<String>,
    /// What the reader may want to copy.
    pub lines: Option<Lines>,
    /// What else a reader should know.
    pub notes: Vec<String>,
    /// Names that the reader may pick to see them alone in all pictures and tables.
    pub names: Vec<Name>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Pictures.
    pub pictures: Vec<Picture>,
    /// Longer material, in chapters. A list at the top links to them.
    pub chapters: Vec<Chapter>,
    /// Rules of style within `@media (prefers-color-scheme: dark)` for the pictures.
    pub dark_pictures: &'static str,
    /// Words, mostly heads of columns, and what they mean.
    pub words: Vec<(String, String)>,
    /// How it was made.
    pub made: Vec<Fact>,
    /// Version of the program.
    pub version: String,
}

/// Lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// What they are for.
    pub heading: String,
    /// The lines.
    pub text: String,
}

/// What a [`Name`] stands for. Elements of pictures carry it as an attribute `data-KIND`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A scheduler.
    Scheduler,
    /// A group of flows.
    Group,
    /// A flow.
    Flow,
}

/// Something that pictures and tables show in several places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
}

/// Sections that belong together.
#[derive(Clone, Debug, Default)]
pub struct Chapter {
    /// Heading.
    pub heading: String,
    /// Its sections.
    pub sections: Vec<Section>,
}

/// A section: its result in words, numbers, and pictures.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its name in links: letters, digits and dashes.
    pub id: String,
    /// What it is called in the list of sections.
    pub name: String,
    /// Heading.
    pub heading: String,
    /// The result, in a sentence.
    pub sentence: String,
    /// Numbers.
    pub table: Table,
    /// Remarks below the numbers.
    pub notes: Vec<String>,
    /// Pictures.
    pub pictures: Vec<Picture>,
}

/// A table. Its first columns are texts, the others numbers.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Caption.
    pub caption: String,
    /// Heads of the columns.
    pub header: Vec<String>,
    /// Number of columns of texts. An empty text repeats the one above.
    pub texts: usize,
    /// What the names in the columns of texts stand for.
    pub kinds: Vec<Option<Kind>>,
    /// Rows stand out whose last text this is.
    pub marked: Option<String>,
    /// Rows, as long as the header.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// As it is shown.
    pub text: String,
    /// The number in full, where it is one.
    pub exact: Option<f64>,
}

/// A line that says how a page was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What.
    pub what: String,
    /// Its value.
    pub value: String,
    /// How it is shown.
    pub form: Form,
}

/// How the value of a [`Fact`] is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As text.
    Text,
    /// As what is typed.
    Code,
    /// As a file, folded up.
    File,
}

impl Kind {
    /// As in attributes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::Group => "group",
            Self::Flow => "flow",
        }
    }
}

impl Page {
    /// The file.
    ///
    /// # Errors
    /// If a picture is none.
    pub fn html(&self) -> Result<String, PictureError> {
        markup::page(self)
    }
}
