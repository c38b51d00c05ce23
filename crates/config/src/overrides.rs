//! `--set key=value`: change a file without editing it.

use toml::{Table, Value};

use super::error::{InputError, nearest};

/// Apply `key=value` overrides to a file's text; returns the text of the changed file.
///
/// A key is a dotted path; members of a list are named by their `name` or counted from 0: `seed`, `resource.link.rate`,
/// `flows.0.rate`, `class.ipsec.cost.cpu`. The value is read as TOML, and as a string if it is none.
pub fn apply(file: &str, text: &str, overrides: &[String]) -> Result<String, InputError> {
    if overrides.is_empty() {
        return Ok(text.to_string());
    }
    let table: Table = toml::from_str(text).map_err(|e| InputError::from_toml(file, text, &e))?;
    let mut root = Value::Table(table);
    for entry in overrides {
        let wrong = |message: String| InputError::new(&format!("--set {entry}"), message);
        let (key, value) = entry
            .split_once('=')
            .filter(|(key, _)| !key.trim().is_empty())
            .ok_or_else(|| wrong("expected key=value, such as seed=7 or resource.link.rate=\"100 Mbps\"".into()))?;
        let mut place = &mut root;
        for part in key.trim().split('.') {
            place = step(place, part).map_err(&wrong)?;
        }
        *place = read_value(value.trim());
    }
    toml::to_string(&root).map_err(|e| InputError::new(file, format!("with --set: {e}")))
}

fn step<'a>(place: &'a mut Value, part: &str) -> Result<&'a mut Value, String> {
    match place {
        // What is not there yet is made: it is replaced by the value, or gets a member.
        Value::Table(table) => Ok(table.entry(part).or_insert_with(|| Value::Table(Table::new()))),
        Value::Array(list) => {
            let names: Vec<String> = list.iter().map(member_name).collect();
            let index = names
                .iter()
                .position(|n| n == part)
                .or_else(|| part.parse::<usize>().ok().filter(|&i| i < list.len()))
                .ok_or_else(|| no_member(part, &names))?;
            Ok(&mut list[index])
        }
        other => Err(format!("there is no {part:?} in {other}, which has no members")),
    }
}

fn member_name(member: &Value) -> String {
    let field = |key| member.get(key).and_then(Value::as_str).map(str::to_string);
    field("name").or_else(|| field("class")).unwrap_or_default()
}

fn no_member(part: &str, names: &[String]) -> String {
    let known: Vec<&str> = names.iter().map(String::as_str).filter(|n| !n.is_empty()).collect();
    match nearest(part, known.iter().copied()) {
        Some(name) => format!("there is no {part:?}; did you mean {name:?}?"),
        None if known.is_empty() => format!("there is no {part:?}; members are counted from 0"),
        None => format!("there is no {part:?}; there are {}", known.join(", ")),
    }
}

fn read_value(text: &str) -> Value {
    toml::from_str::<Table>(&format!("v = {text}"))
        .ok()
        .filter(|t| t.len() == 1)
        .and_then(|mut t| t.remove("v"))
        .unwrap_or_else(|| Value::String(text.to_string()))
}
