//! `--set key=value`: change a file without editing it.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::error::{InputError, nearest};
use super::patch::patched;

/// Most parts of a dotted key. No file goes so deep, and deeper tables would be written and dropped by deep recursion.
const MOST_PARTS: usize = 32;
/// Characters of a longer override that a message shows.
const SHOWN: usize = 40;

/// A file's text with overrides.
pub struct Changed {
    /// The text of the changed file.
    pub text: String,
    /// What the overrides made since the file had none of it: the dotted key of a table, and by which.
    made: Vec<(String, String)>,
    /// Values that stand as texts since TOML's own whole numbers do not reach so far, and the overrides.
    beyond: Vec<(String, String)>,
}

impl Changed {
    /// The override that made the table of this dotted key.
    pub fn made(&self, key: &str) -> Option<&str> {
        self.made.iter().find(|(path, _)| path == key).map(|(_, entry)| entry.as_str())
    }

    /// The override whose whole number is too large or small, if the TOML reader stumbled over one.
    pub fn beyond(&self, error: &toml::de::Error) -> Option<&str> {
        let stumbled = |value: &str| error.message().starts_with(&format!("invalid type: string {value:?}, "));
        self.beyond.iter().find(|(value, _)| stumbled(value)).map(|(_, entry)| entry.as_str())
    }
}

/// Apply `key=value` overrides to a file's text; returns the text of the changed file.
///
/// A key is a dotted path; members of a list are named by their `name` or counted from 0: `seed`, `resource.link.rate`,
/// `flows.0.rate`, `class.ipsec.cost.cpu`. The value is read as TOML, and as a string if it is none.
///
/// # Errors
/// The text is not TOML, or an override has no `=`, leads nowhere, or has a key of more than 32 parts.
pub fn apply(file: &str, text: &str, overrides: &[String]) -> Result<String, InputError> {
    changed(file, text, overrides).map(|changed| changed.text)
}

/// As [`apply`], and what was made.
pub fn changed(file: &str, text: &str, overrides: &[String]) -> Result<Changed, InputError> {
    let (mut made, mut beyond) = (Vec::new(), Vec::new());
    if overrides.is_empty() {
        return Ok(Changed { text: text.to_string(), made, beyond });
    }
    let table: Table = toml::from_str(text).map_err(|e| InputError::from_toml(file, text, &e))?;
    let mut root = Value::Table(table);
    let mut patch = Some(text.to_string());
    for entry in overrides {
        let (path, value) = set(&mut root, entry, &mut made)?;
        patch = patch.and_then(|text| patched(&text, &path, value));
        let written = entry.split_once('=').map_or("", |(_, value)| value.trim());
        if value.is_str() && is_whole(written) {
            beyond.push((written.to_string(), entry.clone()));
        }
    }
    // Lines stay where they are if possible; else it is another text of the same contents.
    let same = |text: &String| toml::from_str(text).is_ok_and(|table| alike(&Value::Table(table), &root));
    let written = || toml::to_string(&root).map_err(|e| InputError::new(file, format!("with --set: {e}")));
    let text = patch.filter(same).map_or_else(written, Ok)?;
    Ok(Changed { text, made, beyond })
}

/// The override that begins with the name of a list's member, which is why the text is wrong, and the list.
pub fn without_list<'a>(changed: &'a Changed, error: &toml::de::Error) -> Option<(&'a str, String)> {
    let table: Table = toml::from_str(&changed.text).ok()?;
    let unknown = |key: &str| error.message().contains(&format!("unknown field `{key}`"));
    let (name, entry) = changed.made.iter().find(|(key, _)| unknown(key))?;
    let is_member = |list: &Value| list.as_array().is_some_and(|all| all.iter().any(|one| member_name(one) == *name));
    let list = table.iter().find(|(_, value)| is_member(value))?.0.clone();
    Some((entry, list))
}

/// With a hint for a key that no file has, but an override: what it was meant to be.
pub fn hinting(told: InputError, overrides: &[String], meant: impl Fn(&str, &str) -> Option<String>) -> InputError {
    let unknown = |key: &str| told.message().starts_with(&format!("unknown key `{key}`"));
    let pairs = overrides.iter().filter_map(|entry| entry.split_once('='));
    let hint = pairs.filter(|(key, _)| unknown(key.trim())).find_map(|(key, value)| meant(key.trim(), value.trim()));
    match (hint, told.help()) {
        (Some(hint), Some(help)) => {
            let both = format!("{hint}; {help}");
            told.with_help(both)
        }
        (Some(hint), None) => told.with_help(hint),
        (None, _) => told,
    }
}

/// As [`apply`], to what was read of a file; in much less time, as no line has to stay where it is.
///
/// # Errors
/// An override has no `=`, leads nowhere, or has a key of more than 32 parts; the table is then of no use.
pub fn apply_to(table: Table, overrides: &[String]) -> Result<Table, InputError> {
    let mut root = Value::Table(table);
    for entry in overrides {
        set(&mut root, entry, &mut Vec::new())?;
    }
    match root {
        Value::Table(table) => Ok(table),
        _ => Ok(Table::new()),
    }
}

/// Do what an override says: the path to its value, and the value. What had to be made for it is added to `made`.
fn set<'a>(
    root: &'a mut Value,
    entry: &str,
    made: &mut Vec<(String, String)>,
) -> Result<(Vec<String>, &'a Value), InputError> {
    let wrong = |message: String| InputError::new(&format!("--set {entry}"), message);
    let (key, value) = entry
        .split_once('=')
        .filter(|(key, _)| !key.trim().is_empty())
        .ok_or_else(|| wrong("expected key=value, such as seed=7 or resource.link.rate=\"100 Mbps\"".into()))?;
    let parts = key.trim().split('.').count();
    if parts > MOST_PARTS {
        let start: String = entry.chars().take(SHOWN).collect();
        let message = format!("the key has {parts} parts between dots: expected at most {MOST_PARTS}");
        return Err(InputError::new(&format!("--set {start}..."), message));
    }
    let (mut place, mut path) = (root, String::new());
    for part in key.trim().split('.') {
        let whole = if path.is_empty() { part.to_string() } else { format!("{path}.{part}") };
        if place.as_table().is_some_and(|table| !table.contains_key(part)) {
            made.push((whole.clone(), entry.to_string()));
        }
        place = step(place, &path, part).map_err(&wrong)?;
        path = whole;
    }
    *place = read_value(value.trim());
    Ok((key.trim().split('.').map(str::to_string).collect(), place))
}

/// From what stands at `path` to its member.
fn step<'a>(place: &'a mut Value, path: &str, part: &str) -> Result<&'a mut Value, String> {
    match place {
        // What is not there yet is made: it is replaced by the value, or gets a member.
        Value::Table(table) => Ok(table.entry(part).or_insert_with(|| Value::Table(Table::new()))),
        Value::Array(list) => {
            let names: Vec<String> = list.iter().map(member_name).collect();
            let index = names
                .iter()
                .position(|n| n == part)
                .or_else(|| part.parse::<usize>().ok().filter(|&i| i < list.len()))
                .ok_or_else(|| no_member(path, part, &names))?;
            Ok(&mut list[index])
        }
        other => Err(format!("there is no {part:?} in {other}, which has no members")),
    }
}

fn member_name(member: &Value) -> String {
    let field = |key| member.get(key).and_then(Value::as_str).map(str::to_string);
    field("name").or_else(|| field("class")).unwrap_or_default()
}

fn no_member(list: &str, part: &str, names: &[String]) -> String {
    let known: Vec<&str> = names.iter().map(String::as_str).filter(|n| !n.is_empty()).collect();
    match nearest(part, known.iter().copied()) {
        Some(name) => format!("there is no {part:?} in the list {list}; did you mean {name:?}?"),
        None if known.is_empty() => format!("there is no {part:?} in the list {list}; members are counted from 0"),
        None => format!("there is no {part:?} in the list {list}; there are {}", known.join(", ")),
    }
}

fn read_value(text: &str) -> Value {
    let parsed = toml::from_str::<Table>(&format!("v = {text}")).ok().filter(|t| t.len() == 1);
    parsed.and_then(|mut t| t.remove("v")).unwrap_or_else(|| Value::String(text.to_string()))
}

/// Whether they are equal, where `nan` equals itself: it is refused, and that has to be told of its own line.
fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Float(one), Value::Float(other)) => one == other || one.is_nan() && other.is_nan(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
        }
        (Value::Table(one), Value::Table(other)) => {
            let alike = |(key, one)| other.get(key).is_some_and(|other| alike(one, other));
            one.len() == other.len() && one.iter().all(alike)
        }
        _ => one == other,
    }
}

/// Whether it is written as TOML writes whole numbers: also in hexadecimal digits, and with `_` between digits.
fn is_whole(text: &str) -> bool {
    toml::from_str::<BTreeMap<String, i128>>(&format!("v = {text}")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# A comment.\nrate = \"1 kpps\"\n\n[[class]]\nname = \"a\"\ncost = { cpu = \"1 us\" }\n\n\
                        [trace]\nfile = \"x\"\nlist = [\n  1,\n  2,\n]\n\n[[flows]]\nclass = \"a\"\n";

    fn with(overrides: &[&str]) -> String {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        apply("s.toml", FILE, &overrides).unwrap()
    }

    #[track_caller]
    fn lines_stay(overrides: &[&str]) {
        let changed = with(overrides);
        for header in ["[[class]]", "[trace]", "[[flows]]"] {
            let line = |text: &str| text.lines().position(|line| line == header);
            assert_eq!(line(&changed), line(FILE), "{header} in\n{changed}");
        }
    }

    #[test]
    fn lines_stay_where_they_are() {
        lines_stay(&["rate=2 kpps"]);
        lines_stay(&["seed=3"]);
        lines_stay(&["class.a.cost.cpu=2 us"]);
        lines_stay(&["class.0.cost.link=2 us"]);
        lines_stay(&["class.a.weight=2", "trace.load=2", "seed=3"]);
        lines_stay(&["trace.list=[1]"]);
        lines_stay(&["trace.load=nan", "trace.list=[1, nan]"]);
        assert!(with(&["seed=3"]).starts_with("# A comment.\nrate = \"1 kpps\"\nseed = 3\n[[class]]"));
    }

    #[test]
    fn a_file_without_a_free_line_keeps_its_line_numbers() {
        const DENSE: &str = "[[class]]\nname = \"a\"\n[[flows]]\nclass = \"a\"\nfoo = 1\n";
        let changes = ["seed=3", "class.a.weight=2"].map(String::from);
        let changed = apply("s.toml", DENSE, &changes).unwrap();
        assert_eq!(changed.lines().count(), DENSE.lines().count() + 2, "{changed}");
        let message = |text: &str| {
            let at = text.find("foo").unwrap();
            InputError::at("s.toml", text, at..at + 3, "unknown key").to_string()
        };
        assert_eq!(message(&changed), message(DENSE));
        let at = changed.find("seed").unwrap();
        let added = InputError::at("s.toml", &changed, at..at + 4, "unknown key");
        assert_eq!((added.place().as_deref(), added.wrong()), (Some("s.toml:1:1"), Some("seed")));
    }

    #[test]
    fn a_key_may_be_deep_but_not_bottomless() {
        let deep = |parts: usize| format!("{}=1", vec!["a"; parts].join("."));
        assert!(with(&[&deep(32)]).contains("a.a.a"), "{}", with(&[&deep(32)]));
        for parts in [33, 20_001] {
            let said = apply("s.toml", FILE, &[deep(parts)]).err().unwrap().to_string();
            let shown = "a.".repeat(20);
            assert_eq!(said, format!("--set {shown}...: the key has {parts} parts between dots: expected at most 32"));
            assert!(apply_to(Table::new(), &[deep(parts)]).is_err());
        }
    }

    #[test]
    fn what_finds_no_room_is_in_the_text_all_the_same() {
        let changed = with(&["flows.a.size=1 B", "flows.a.queue=2 B"]);
        assert!(changed.contains("size = \"1 B\"") && changed.contains("queue = \"2 B\""), "{changed}");
    }
}
