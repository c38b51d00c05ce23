//! What a file is, and what one that is wrong was meant to be.

use std::ops::Range;

use serde::de::DeserializeOwned;

use crate::place;
use crate::{InputError, nearest};

/// Files that are told by a key which no file of another kind has, but for `resource`, and who takes them.
const KINDS: [(&str, &str); 6] = [
    ("grid", "it is the plan of a sweep ([grid]): `dovetail sweep` takes that"),
    ("random", "it is the plan of a sweep ([random]): `dovetail sweep` takes that"),
    ("ports", "it configures a box ([ports]): `dovetail live` takes that"),
    ("live", "it is a scenario of the lab (live = ...): `dovetail lab run` takes that"),
    ("resource", "it describes a pipeline ([[resource]]): `dovetail run` takes that"),
    ("hop", "it describes a network ([[hop]]): `dovetail run` takes that"),
];

/// Whether the text, which is no `T`, is something else.
pub fn other_kind<T: DeserializeOwned>(text: &str) -> Option<&'static str> {
    let table: toml::Table = toml::from_str(text).ok()?;
    let unknown = |key: &str| {
        let told = toml::from_str::<T>(&format!("{key} = 0")).err();
        told.is_some_and(|error| error.message().contains(&format!("unknown field `{key}`")))
    };
    // A box may have a resource as well.
    let is_of_box = || ["ports", "scheduler", "link", "cpu", "control"].iter().any(|key| table.contains_key(*key));
    let told = |key: &str| unknown(key) || key == "resource" && !unknown("ports") && !is_of_box();
    let mut kinds = KINDS.iter().filter(|(key, _)| table.contains_key(*key));
    kinds.clone().all(|(key, _)| told(key)).then(|| kinds.next())?.map(|(_, kind)| *kind)
}

/// The TOML reader says which words a key takes only if the value is a text. For another value, this asks with a text.
pub fn words<T: DeserializeOwned>(text: &str, error: &toml::de::Error) -> Option<(Range<usize>, String)> {
    let span = error.span().filter(|_| error.message().trim() == "wanted string or table")?;
    let value = &text[span.clone()];
    let quoted = toml::Value::String(value.to_string()).to_string();
    let told = toml::from_str::<T>(&[&text[..span.start], &quoted, &text[span.end..]].concat()).err()?;
    let (_, expected) = told.message().split_once(", expected ")?;
    Some((span, format!("`{value}`: expected a quoted text, {expected}")))
}

/// The key that was meant to be the one that is missing: where it stands, what it is, and what it should be. As long as
/// that one is missing, the TOML reader may not know which others there are.
pub fn misspelt<T: DeserializeOwned>(text: &str, error: &toml::de::Error) -> Option<(Range<usize>, String, String)> {
    let missing = error.message().trim().strip_prefix("missing field `")?.strip_suffix('`')?;
    let keys = place::keys(text, &error.span()?)?;
    let near = nearest(missing, keys.iter().map(|(key, _)| key.as_str()))?;
    let (key, span) = keys.iter().find(|(key, _)| key == near)?;
    // In the place of a key that is known, one that is not would be told.
    let other = [&text[..span.start], &format!("{NO_KEY:?}"), &text[span.end..]].concat();
    let told = toml::from_str::<T>(&other).err()?;
    (told.message() == error.message()).then(|| (span.clone(), key.clone(), missing.to_string()))
}

/// The error of a text that has neither a key nor the head of a section in any line: it is no TOML at all, and the
/// place at which the TOML reader gave up says nothing.
pub fn no_toml<T: DeserializeOwned>(name: &str, text: &str) -> Option<InputError> {
    // What stands in Markdown as an example does not make it TOML.
    let mut fenced = false;
    let own = |line: &&str| {
        fenced ^= line.starts_with("```");
        !fenced
    };
    let wrong = toml::from_str::<toml::Table>(text).is_err() && !text.lines().filter(own).any(is_of_toml);
    wrong.then(|| {
        let message = "it does not look like TOML: expected lines such as key = \"value\" and [section]";
        InputError::new(name, message).with_help(format!("the keys are {}", keys::<T>().join(", ")))
    })
}

/// Whether it begins as `key = value`, or is `[section]` or `[[list]]`, perhaps not ended.
fn is_of_toml(line: &str) -> bool {
    let is_key = |text: &str| {
        let part = |c: char| c.is_ascii_alphanumeric() || "_-.'\"".contains(c);
        !text.is_empty() && text.chars().all(part)
    };
    let line = line.split('#').next().unwrap_or_default().trim();
    match line.strip_prefix('[') {
        Some(section) => is_key(section.trim_matches(['[', ']', ' '])),
        None => line.split_once('=').is_some_and(|(key, _)| is_key(key.trim())),
    }
}

/// No file has this key.
const NO_KEY: &str = "no key at all";

/// The keys of a file.
fn keys<T: DeserializeOwned>() -> Vec<String> {
    let told = toml::from_str::<T>(&format!("\"{NO_KEY}\" = 0")).err();
    let listed = told.and_then(|error| Some(error.message().split_once("expected ")?.1.to_string()));
    listed.unwrap_or_default().split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// Where a key belongs that the file has elsewhere; with what hint, and whether it stands outside of every section,
/// where no other key can be meant.
pub fn belongs<T: DeserializeOwned>(text: &str, error: &toml::de::Error) -> Option<(String, bool)> {
    let (key, _) = error.message().strip_prefix("unknown field `")?.split_once('`')?;
    let table: toml::Table = toml::from_str(text).ok()?;
    let outside = table.get(key);
    let value = outside.or_else(|| table.values().find_map(|section| section.get(key)))?;
    Some((section_of::<T>(key, value)?, outside.is_some()))
}

/// That a key of the whole file stands in a section, as a hint.
pub fn above<T: DeserializeOwned>(text: &str, error: &toml::de::Error) -> Option<String> {
    let (key, _) = error.message().strip_prefix("unknown field `")?.split_once('`')?;
    let table: toml::Table = toml::from_str(text).ok()?;
    let value = table.values().find_map(|section| inside(section, key)).filter(|value| !value.is_table())?;
    let alone = toml::from_str::<T>(&format!("{key:?} = {value}\n")).err();
    let fits = alone
        .is_none_or(|error| !["unknown", "invalid", "wanted "].iter().any(|no| error.message().trim().starts_with(no)));
    fits.then(|| format!("`{key}` stands at the top of the file, before the first section"))
}

/// The first value that this key has in the value, however deep.
fn inside<'a>(value: &'a toml::Value, key: &str) -> Option<&'a toml::Value> {
    match value {
        toml::Value::Table(table) => table.get(key).or_else(|| table.values().find_map(|value| inside(value, key))),
        toml::Value::Array(list) => list.iter().find_map(|value| inside(value, key)),
        _ => None,
    }
}

/// The sections that have this key, as a hint.
pub fn section_of<T: DeserializeOwned>(key: &str, value: &toml::Value) -> Option<String> {
    if value.is_table() {
        return None;
    }
    let takes = |open: &str, key: &str| {
        let told = toml::from_str::<T>(&format!("{open}\n{key:?} = {value}\n")).err();
        told.is_none_or(|error| {
            let no = ["unknown field", "unknown variant", "invalid type: map", "invalid type: sequence", "wanted "];
            !no.iter().any(|words| error.message().trim().starts_with(words))
        })
    };
    let holds = |open: &str| takes(open, key) && !takes(open, NO_KEY);
    let keys = keys::<T>();
    if let Some(section) = keys.iter().find(|section| holds(&format!("[{section}]"))) {
        return Some(format!("did you mean `{section}.{key}`?"));
    }
    let lists: Vec<String> = keys.iter().map(|list| format!("[[{list}]]")).filter(|open| holds(open)).collect();
    (!lists.is_empty()).then(|| format!("`{key}` is a key of each {}", lists.join(" and ")))
}
