//! What is wrong with a file, and where.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// A message about a place in a file that was written by hand.
#[derive(Clone, Debug)]
pub struct InputError {
    /// What the text is called: the file as it was given; empty if the message itself says what it is about.
    file: String,
    text: String,
    /// Bytes of `text` that are wrong; `None`: the file as a whole.
    span: Option<Range<usize>>,
    message: String,
    help: Option<String>,
}

impl InputError {
    /// About the file as a whole.
    pub fn new(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.to_string(), text: String::new(), span: None, message: message.into(), help: None }
    }

    /// About these bytes of `text`.
    pub fn at(file: &str, text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let span = Some(span.start.min(text.len())..span.end.min(text.len()));
        Self { span, text: text.to_string(), ..Self::new(file, message) }
    }

    /// With a hint on its own line.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With the known name that is most like the wrong one as a hint, if one is.
    pub fn suggesting(self, wrong: &str, known: &[&str]) -> Self {
        match nearest(wrong, known.iter().copied()) {
            Some(name) => self.with_help(format!("did you mean {name:?}?")),
            None => self,
        }
    }

    /// From what the TOML reader found.
    pub fn from_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let message = plain_words(error.message().trim());
        let help = unknown_name(&message)
            .and_then(|(wrong, known)| nearest(wrong, known.iter().copied()))
            .map(|name| format!("did you mean `{name}`?"));
        let mut own = match error.span() {
            Some(span) => Self::at(file, text, span, message),
            None => Self::new(file, message),
        };
        own.help = help;
        own
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(span) = &self.span else {
            let separator = if self.file.is_empty() { "" } else { ": " };
            write!(f, "{}{separator}{}", self.file, self.message)?;
            return self.help.iter().try_for_each(|help| write!(f, "\nhelp: {help}"));
        };
        let snippet = Snippet::source(&self.text)
            .path(&self.file)
            .line_start(1)
            .annotation(AnnotationKind::Primary.span(span.clone()));
        let mut group = Level::ERROR.no_name().primary_title(&self.message).element(snippet);
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help));
        }
        let rendered = Renderer::plain().render(&[group]);
        f.write_str(rendered.trim_start_matches(": "))
    }
}

impl std::error::Error for InputError {}

/// A message of the TOML reader in the words of somebody who writes TOML, not Rust.
fn plain_words(message: &str) -> String {
    const WORDS: [(&str, &str); 14] = [
        ("unknown field", "unknown key"),
        ("missing field", "missing key"),
        ("duplicate field", "duplicate key"),
        ("unknown variant", "unknown value"),
        ("floating point `", "`"),
        ("integer `", "`"),
        ("boolean `", "`"),
        ("` as i128", "`"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number, 0 or more"),
        ("expected f64", "expected a number"),
        ("sequence", "list"),
        ("invalid type: map", "invalid type: table"),
    ];
    let plain = WORDS.iter().fold(message.to_string(), |text, (rust, plain)| text.replace(rust, plain));
    match plain.split_once("expected struct ") {
        Some((start, _)) => format!("{start}expected a table"),
        None => plain,
    }
}

/// The unknown name and the known ones of the TOML reader's message.
fn unknown_name(message: &str) -> Option<(&str, Vec<&str>)> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut names = message.split('`').skip(1).step_by(2);
    Some((names.next()?, names.collect()))
}

/// The known name most like `wrong`, if one is like it at all.
pub fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|k| (likeness(&wrong.to_lowercase(), &k.to_lowercase()), k))
        .filter(|&(score, _)| score > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}

/// 1 for equal words, 0 for words that have nothing in common.
fn likeness(a: &str, b: &str) -> f64 {
    // One slip in a short word, such as `upd`, weighs more with Jaro and Winkler than it should.
    let slip = a.len().min(b.len()) >= 3 && strsim::osa_distance(a, b) == 1;
    strsim::jaro_winkler(a, b).max(if slip { 0.9 } else { 0.0 })
}

/// "there is no ...", with the nearest name or all of them.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return format!("there is no {what} {name:?}: no [[{what}]] is defined");
    }
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("there is no {what} {name:?}; did you mean {near:?}?"),
        None => format!("there is no {what} {name:?}; there are {}", known.join(", ")),
    }
}
