//! What is wrong with a file, and where.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::patch::ADDED;
use crate::place::within;

/// A message about a place in a file that was written by hand.
#[derive(Clone, Debug)]
pub struct InputError {
    /// What the text is called: the file as it was given; empty if the message itself says what it is about.
    file: String,
    text: Box<str>,
    /// Bytes of `text` that are wrong; `None`: the file as a whole.
    span: Option<Range<usize>>,
    message: String,
    help: Option<Box<str>>,
    words: Box<Words>,
    /// Its line is shown to nobody.
    is_secret: bool,
}

/// What is wrong and what would be right, by themselves.
#[derive(Clone, Debug, Default)]
struct Words {
    /// What is wrong, if it is told otherwise than by its place.
    wrong: Option<String>,
    /// What would be right in its place, if that can be listed.
    expected: Vec<String>,
}

impl InputError {
    /// About the file as a whole.
    pub fn new(file: &str, message: impl Into<String>) -> Self {
        let (file, message) = (called(file).to_string(), message.into());
        Self { file, text: "".into(), span: None, message, help: None, words: Box::default(), is_secret: false }
    }

    /// About these bytes of `text`.
    pub fn at(file: &str, text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let (text, span) = as_written(text, span.start.min(text.len())..span.end.min(text.len()));
        Self { span: Some(span), text: text.into(), ..Self::new(file, message) }
    }

    /// With a hint on its own line.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into().into_boxed_str());
        self
    }

    /// Without the line of the file, if that is such a one.
    pub fn hiding(mut self, is_secret: impl Fn(&str) -> bool) -> Self {
        let line = self.span.as_ref().and_then(|span| {
            let start = self.text[..self.text.floor_char_boundary(span.start)].rfind('\n').map_or(0, |at| at + 1);
            self.text[start..].lines().next()
        });
        self.is_secret = line.is_some_and(is_secret);
        self
    }

    /// With the text that is wrong, where its place alone does not tell.
    pub fn about(mut self, wrong: &str) -> Self {
        self.words.wrong = Some(wrong.to_string());
        self
    }

    /// With the texts that would be right in the place of the wrong one.
    pub fn among(mut self, known: &[&str]) -> Self {
        self.words.expected = known.iter().map(|name| name.to_string()).collect();
        self
    }

    /// With the wrong text and those that would be right; the one that is most like it, if one is, as a hint.
    pub fn suggesting(self, wrong: &str, known: &[&str]) -> Self {
        let told = self.about(wrong).among(known);
        match told.nearest().map(|name| format!("did you mean {name:?}?")) {
            Some(help) => told.with_help(help),
            None => told,
        }
    }

    /// From what the TOML reader found.
    pub fn from_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let message = plain_words(error.message().trim());
        let known = unknown_name(&message).map_or(String::new(), |(_, known)| known.join("`"));
        let help = match (unknown_name(&message), table_for_list(text, error), text_for_list(&message)) {
            (Some((wrong, known)), ..) => {
                nearest(wrong, known.iter().copied()).map(|name| format!("did you mean `{name}`?"))
            }
            (_, Some(key), _) => Some(format!("to begin a member, write [[{key}]]")),
            (.., Some(_)) if key_before(text, error) == Some("match") => Some(RULES.into()),
            (.., one) => one.map(|one| format!("write [{one}]")),
        };
        let message = what_stands_there(message);
        let mut own = match error.span() {
            // Of the whole file.
            Some(span) if span.is_empty() && message.starts_with("missing key") => Self::new(file, message),
            Some(span) => Self::at(file, text, within(text, &span, error.message().trim()).unwrap_or(span), message),
            None => Self::new(file, message),
        };
        own.help = help.map(String::into_boxed_str);
        own.among(&known.split('`').filter(|name| !name.is_empty()).collect::<Vec<_>>())
    }
}

impl InputError {
    /// Where: the file, and line and column if they are known, as `demo.toml:3:8`; `None` if the message says it.
    pub fn place(&self) -> Option<String> {
        let place = self.span.as_ref().map(|span| {
            let before = &self.text[..self.text.floor_char_boundary(span.start)];
            let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
            format!(":{}:{column}", before.matches('\n').count() + 1)
        });
        (!self.file.is_empty()).then(|| format!("{}{}", self.file, place.unwrap_or_default()))
    }

    /// The text that is wrong, if it is known.
    pub fn wrong(&self) -> Option<&str> {
        self.words.wrong.as_deref().or_else(|| self.text.get(self.span.clone()?).filter(|text| !text.is_empty()))
    }

    /// What is wrong with it.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What helps, if that is known.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// What would be right in its place, if that can be listed.
    pub fn expected(&self) -> impl Iterator<Item = &str> {
        self.words.expected.iter().map(String::as_str)
    }

    /// That of them which is most like the wrong text, if one is.
    pub fn nearest(&self) -> Option<&str> {
        nearest(self.wrong()?, self.expected())
    }

    /// In one line, for logs: file, line and column, message, hint.
    pub fn line(&self) -> String {
        let file = self.place().map_or(String::new(), |place| format!("{place}: "));
        let help = self.help.as_ref().map_or(String::new(), |help| format!("; {help}"));
        format!("{file}{}{help}", self.message).replace('\n', " ")
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(span) = self.span.as_ref().filter(|_| !self.is_secret) else {
            let place = self.place().unwrap_or_default();
            let separator = if place.is_empty() { "" } else { ": " };
            write!(f, "{place}{separator}{}", self.message)?;
            return self.help.iter().try_for_each(|help| write!(f, "\nhelp: {help}"));
        };
        let snippet = Snippet::source(&*self.text)
            .path(&self.file)
            .line_start(1)
            .annotation(AnnotationKind::Primary.span(span.clone()));
        let mut group = Level::ERROR.no_name().primary_title(&self.message).element(snippet);
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(&**help));
        }
        let rendered = Renderer::plain().render(&[group]);
        f.write_str(rendered.trim_start_matches(": "))
    }
}

impl std::error::Error for InputError {}

/// The text without the lines that overrides have added, and where the place is in it. A line that the place itself is
/// on stays.
fn as_written(text: &str, place: Range<usize>) -> (String, Range<usize>) {
    let (mut kept, mut moved, mut at) = (String::with_capacity(text.len()), 0, 0);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if line.trim_end().ends_with(ADDED) && (place.end <= at || end <= place.start) {
            moved += if end <= place.start { line.len() } else { 0 };
        } else {
            kept.push_str(line);
        }
        at = end;
    }
    (kept, place.start - moved..place.end - moved)
}

/// A message of the TOML reader in the words of somebody who writes TOML, not Rust.
fn plain_words(message: &str) -> String {
    const WORDS: [(&str, &str); 19] = [
        ("unknown field", "unknown key"),
        ("missing field", "missing key"),
        ("duplicate field", "duplicate key"),
        ("unknown variant", "unknown value"),
        ("floating point `", "`"),
        ("integer `", "`"),
        ("boolean `", "`"),
        ("` as i128", "`"),
        ("expected u8", "expected a whole number from 0 to 255"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number from 0 to 18446744073709551615"),
        ("expected usize", "expected a whole number from 0"),
        ("u64 value was too large", "expected a whole number of at most 9223372036854775807 beside --set"),
        ("expected a string", "expected a quoted text"),
        ("expected a boolean", "expected `true` or `false`"),
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

/// A message of the wrong kind of value that begins with the value itself.
fn what_stands_there(message: String) -> String {
    let rest = ["invalid type: ", "invalid value: "].iter().find_map(|start| message.strip_prefix(start));
    match rest.and_then(|rest| rest.split_once(", expected ")) {
        Some((found, expected)) => {
            let found = found.strip_prefix("string ").unwrap_or(found);
            let found = if found.starts_with(['"', '`']) { found.into() } else { format!("a {found} stands here") };
            let expected = if expected == "a table" { "a table such as { key = \"value\" }" } else { expected };
            format!("{found}: expected {expected}")
        }
        None => message,
    }
}

/// The key that has a table, where the TOML reader finds that a list belongs.
pub(crate) fn table_for_list<'a>(text: &'a str, error: &toml::de::Error) -> Option<&'a str> {
    let read = text.get(..error.span()?.end)?;
    let (_, line) = read.rsplit_once('\n').unwrap_or(("", read));
    // Of `[a.b.c]` the place may be b alone.
    let key = line.strip_prefix('[')?.trim_matches(['[', ']', ' ']);
    (error.message().trim() == "invalid type: map, expected a sequence").then_some(key)
}

/// How a list of rules is written.
const RULES: &str = r#"write rules, such as [{ dst = "192.0.2.0/24" }] or [{ protocol = "udp", port = 53 }]"#;

/// The key whose value is wrong.
fn key_before<'a>(text: &'a str, error: &toml::de::Error) -> Option<&'a str> {
    let before = text.get(..error.span()?.start)?.trim_end().strip_suffix('=')?.trim_end();
    before.rsplit(['\n', ',', '{', ' ', '.']).next()
}

/// The quoted text that stands where a list belongs, by a message in plain words.
fn text_for_list(message: &str) -> Option<&str> {
    message.strip_prefix("invalid type: string ")?.strip_suffix(", expected a list")
}

/// The unknown name and the known ones of the TOML reader's message.
fn unknown_name(message: &str) -> Option<(&str, Vec<&str>)> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut names = message.split('`').skip(1).step_by(2);
    Some((names.next()?, names.collect()))
}

/// The known name most like `wrong`, if one is like it at all: that with the fewest slips, of which two letters in each
/// other's place are the least; then the most like it by Jaro and Winkler, the first of equals.
pub fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    known
        .map(|name| (Likeness::of(&wrong, &name.to_lowercase()), name))
        .filter(|(likeness, _)| likeness.plausible)
        .min_by(|(a, _), (b, _)| a.slips.cmp(&b.slips).then(b.score.total_cmp(&a.score)))
        .map(|(_, name)| name)
}

/// How like two words are.
struct Likeness {
    /// Damerau and Levenshtein's distance, and whether none of it is a swap of neighbours.
    slips: (usize, bool),
    /// Jaro and Winkler's, from 0 to 1, the same word.
    score: f64,
    /// Whether one may have been meant by the other.
    plausible: bool,
}

impl Likeness {
    fn of(a: &str, b: &str) -> Self {
        let (distance, score) = (strsim::damerau_levenshtein(a, b), strsim::jaro_winkler(a, b));
        // One slip in a short word, such as `upd`, weighs more with Jaro and Winkler than it should.
        let one_slip = a.len().min(b.len()) >= 3 && distance == 1;
        let swapped = strsim::levenshtein(a, b) > distance;
        Self { slips: (distance, !swapped), score, plausible: one_slip || score > 0.75 || is_shortened(a, b) }
    }
}

/// Whether `short` is `name` without at most half of its letters, but for the first.
fn is_shortened(short: &str, name: &str) -> bool {
    let mut left = name.chars();
    let in_order = short.chars().all(|letter| left.any(|other| other == letter));
    in_order && 2 * short.len() >= name.len() && short.chars().next() == name.chars().next()
}

/// What messages call a file of this name, where `-` is standard input.
pub fn called(name: &str) -> &str {
    if name == "-" { "standard input" } else { name }
}

/// A number as a person writes it: with an exponent where digits would have to be counted.
pub fn number(value: f64) -> String {
    let countable = value == 0.0 || (1e-6..1e9).contains(&value.abs()) || !value.is_finite();
    if countable { value.to_string() } else { format!("{value:e}") }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_has_the_fewest_slips_and_a_swap_is_the_least() {
        let networks = ["red", "drq", "fifo", "drr", "wfq", "wf2q+", "sfq", "scfq"];
        for (wrong, right) in [("dqr", "drq"), ("drrr", "drr"), ("rde", "red"), ("FIFO", "fifo"), ("wf2q", "wf2q+")] {
            assert_eq!(nearest(wrong, networks.into_iter()), Some(right), "{wrong}");
            assert_eq!(
                nearest(wrong, networks.into_iter().rev()),
                Some(right),
                "{wrong}: the order of names decides nothing"
            );
        }
        assert_eq!(nearest("trade", ["tradeoff", "drr"].into_iter()), Some("tradeoff"), "begun and not ended");
        assert_eq!(nearest("pkt", ["pcap", "packet"].into_iter()), Some("packet"), "letters left out");
        assert_eq!(nearest("pt", ["packet"].into_iter()), None, "too many of them");
        for wrong in ["", "x", "quick", "tradeoff"] {
            assert_eq!(nearest(wrong, networks.into_iter()), None, "{wrong}");
        }
    }

    #[test]
    fn what_would_be_right_is_told_by_itself() {
        let error = InputError::new("a.toml", "no").suggesting("dqr", &["drq", "drr"]);
        assert_eq!(
            (error.wrong(), error.nearest(), error.help()),
            (Some("dqr"), Some("drq"), Some("did you mean \"drq\"?"))
        );
        assert_eq!(error.expected().collect::<Vec<_>>(), ["drq", "drr"]);
        let none = InputError::new("a.toml", "no");
        assert_eq!((none.nearest(), none.expected().count()), (None, 0));
    }

    #[test]
    fn numbers_are_as_short_as_a_person_writes_them() {
        let cases = [(1e300, "1e300"), (0.5, "0.5"), (1e6, "1000000"), (-2.5e9, "-2.5e9"), (1e-9, "1e-9"), (0.0, "0")];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(number(f64::NAN), "NaN");
        assert_eq!(number(f64::INFINITY), "inf");
    }
}
