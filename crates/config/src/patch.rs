//! A text with one value changed and every other line where it was, so that messages name lines of the file.

use std::ops::Range;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

/// The end of a line that was added. Messages do not count it, so that their line numbers are those of the file.
pub const ADDED: &str = " # --set";

/// The text with `value` at this path; `None` if the path is not found. The caller must check the result: where a place
/// is inside a text of several lines, something else came of it.
pub fn patched(text: &str, path: &[String], value: &Value) -> Option<String> {
    let file = DeTable::parse(text).ok()?;
    in_table(text, file.get_ref(), &(0..text.len()), path, value)
}

fn in_table(text: &str, table: &DeTable<'_>, span: &Range<usize>, path: &[String], value: &Value) -> Option<String> {
    let (part, rest) = path.split_first()?;
    let Some(found) = table.get(part.as_str()) else {
        // A section that is not there may be a list, which only its reader knows.
        if !rest.is_empty() && *span == (0..text.len()) {
            return None;
        }
        let within = |inner: Value, key: &String| Value::Table([(key.clone(), inner)].into_iter().collect());
        return inserted(text, span, part, &rest.iter().rev().fold(value.clone(), within));
    };
    in_value(text, found, rest, value)
}

fn in_value(text: &str, found: &Spanned<DeValue<'_>>, path: &[String], value: &Value) -> Option<String> {
    match (found.get_ref(), path) {
        (_, []) => Some(replaced(text, &found.span(), value)),
        (DeValue::Table(table), path) => in_table(text, table, &found.span(), path, value),
        (DeValue::Array(list), [part, rest @ ..]) => {
            let named = |member: &&Spanned<DeValue<'_>>| name(member.get_ref()).as_deref() == Some(part);
            let member = list.iter().find(named).or_else(|| list.get(part.parse::<usize>().ok()?))?;
            in_value(text, member, rest, value)
        }
        _ => None,
    }
}

/// What a member of a list is called.
fn name(member: &DeValue<'_>) -> Option<String> {
    let DeValue::Table(table) = member else { return None };
    let text = |key: &str| match table.get(key)?.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    };
    text("name").or_else(|| text("class"))
}

/// The value instead of what stands there, on as many lines.
fn replaced(text: &str, place: &Range<usize>, value: &Value) -> String {
    let lines = text[place.clone()].matches('\n').count();
    format!("{}{value}{}{}", &text[..place.start], "\n".repeat(lines), &text[place.end..])
}

/// A new key in the table at this place: in its braces, or below its header on an empty line or a line of its own.
fn inserted(text: &str, table: &Range<usize>, key: &str, value: &Value) -> Option<String> {
    let bare = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let key = if bare { key.to_string() } else { Value::String(key.into()).to_string() };
    if let Some(members) = text[table.clone()].strip_prefix('{') {
        let comma = if members.trim() == "}" { "" } else { ", " };
        let end = table.end - 1;
        return Some(format!("{}{comma}{key} = {value} {}", text[..end].trim_end(), &text[end..]));
    }
    let whole = table.end == text.len() && table.start == 0;
    let start = if whole { 0 } else { text[table.start..].find('\n')? + table.start + 1 };
    let own: Vec<&str> = text[start..].split_inclusive('\n').take_while(|line| !line.starts_with('[')).collect();
    let free = |is: fn(&str) -> bool| own.iter().position(|line| line.ends_with('\n') && is(line));
    if let Some(k) = free(|line| line.trim().is_empty()) {
        let at = start + own[..k].iter().map(|line| line.len()).sum::<usize>();
        return Some(format!("{}{key} = {value}\n{}", &text[..at], &text[at + own[k].len()..]));
    }
    // A section may have to be a list, which only its reader knows.
    (!value.is_table()).then(|| format!("{}{key} = {value}{ADDED}\n{}", &text[..start], &text[start..]))
}
