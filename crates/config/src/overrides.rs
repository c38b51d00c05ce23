//! `--set key=value`: change a file without editing it.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::error::{InputError, nearest};

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
/// The text is no TOML, or an override is none or leads nowhere.
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
    for entry in overrides {
        let wrong = |message: String| InputError::new(&format!("--set {entry}"), message);
        let (key, value) = entry
            .split_once('=')
            .filter(|(key, _)| !key.trim().is_empty())
            .ok_or_else(|| wrong("expected key=value, such as seed=7 or resource.link.rate=\"100 Mbps\"".into()))?;
        let (mut place, mut path) = (&mut root, String::new());
        for part in key.trim().split('.') {
            let whole = if path.is_empty() { part.to_string() } else { format!("{path}.{part}") };
            if place.as_table().is_some_and(|table| !table.contains_key(part)) {
                made.push((whole.clone(), entry.clone()));
            }
            place = step(place, &path, part).map_err(&wrong)?;
            path = whole;
        }
        *place = read_value(value.trim());
        if place.is_str() && is_whole(value.trim()) {
            beyond.push((value.trim().to_string(), entry.clone()));
        }
    }
    let text = toml::to_string(&root).map_err(|e| InputError::new(file, format!("with --set: {e}")))?;
    Ok(Changed { text, made, beyond })
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

/// Whether it is written as TOML writes whole numbers: also in hexadecimal digits, and with `_` between digits.
fn is_whole(text: &str) -> bool {
    toml::from_str::<BTreeMap<String, i128>>(&format!("v = {text}")).is_ok()
}
