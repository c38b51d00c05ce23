//! Python's values, checked, as what they stand for.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use dovetail_sched::{Limit, TimeLimit};
use dovetail_units::{Bytes, Duration, Part, Time, Weight};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml::{Table, Value};

use crate::error::Wrong;

/// What a message shows of a value; or what its own `__repr__` raises.
pub fn shown(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = value.repr()?.to_string();
    Ok(match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    })
}

/// What is wrong with a value, of which the message shows what is found; or what showing it raises.
pub fn wrong(value: &Bound<'_, PyAny>, message: impl FnOnce(&str) -> Wrong) -> PyErr {
    shown(value).map_or_else(|raised| raised, |found| message(&found).about(&found).into())
}

/// A whole number in this range, of what is called `name` and counts in `unit`, which is empty if it counts nothing.
pub fn whole(value: &Bound<'_, PyAny>, name: &str, unit: &str, range: RangeInclusive<u64>) -> PyResult<u64> {
    let number = match value.is_instance_of::<PyBool>() {
        true => None,
        // Also the whole numbers of other libraries.
        false => if_converted(value.py(), value.extract::<u64>())?,
    };
    number.filter(|number| range.contains(number)).ok_or_else(|| {
        let of = if unit.is_empty() { String::new() } else { format!(" of {unit}") };
        unlike(value, name, &format!("a whole number{of} from {} to {}", range.start(), range.end()))
    })
}

/// A point in time.
pub fn time(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Time> {
    whole(value, name, "nanoseconds", 0..=u64::MAX).map(Time::from_nanos)
}

/// A span of time. Processing times beyond what schedulers tell apart are theirs to shorten, as everywhere.
pub fn span(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Duration> {
    whole(value, name, "nanoseconds", 0..=u64::MAX).map(Duration::from_nanos)
}

/// Processing times, one for each of so many resources.
pub fn spans(value: &Bound<'_, PyAny>, name: &str, resources: usize) -> PyResult<Vec<Duration>> {
    let wrong = || unlike(value, name, &format!("{resources} whole numbers of nanoseconds, one for each resource"));
    // Not all of one that has no end.
    let times = value.try_iter().and_then(|times| times.take(resources + 1).collect());
    let times: Vec<Bound<'_, PyAny>> = if_converted(value.py(), times)?.ok_or_else(wrong)?;
    if times.len() != resources {
        return Err(wrong());
    }
    times.iter().enumerate().map(|(k, one)| span(one, &format!("{name}[{k}]"))).collect()
}

/// What a conversion made of a value; none if it was refused with one of the exceptions that Python refuses values
/// with, be it by the value's own methods. Any other that these raise is raised, such as KeyboardInterrupt.
pub fn if_converted<T>(py: Python<'_>, result: PyResult<T>) -> PyResult<Option<T>> {
    let is_refused = |error: &PyErr| {
        error.is_instance_of::<PyTypeError>(py)
            || error.is_instance_of::<PyValueError>(py)
            || error.is_instance_of::<PyOverflowError>(py)
    };
    match result {
        Err(error) if is_refused(&error) => Ok(None),
        result => result.map(Some),
    }
}

/// What Python's own conversions make of it.
pub fn given<'a, 'py, T: FromPyObject<'a, 'py, Error = PyErr>>(
    value: &'a Bound<'py, PyAny>,
    name: &str,
    expected: &str,
) -> PyResult<T> {
    if_converted(value.py(), value.extract())?.ok_or_else(|| unlike(value, name, expected))
}

/// A path, which is not empty.
pub fn path(value: &Bound<'_, PyAny>, name: &str) -> PyResult<PathBuf> {
    let path: PathBuf = given(value, name, "a path")?;
    if path.as_os_str().is_empty() { Err(unlike(value, name, "a path")) } else { Ok(path) }
}

/// A text, which can be written as UTF-8.
pub fn text(value: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    given(value, name, "a text")
}

/// A weight.
pub fn weight(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Weight> {
    let number = number(value)?.filter(|number| (0.001..=1e6).contains(number));
    let milli = number.map(|number| (number * 1000.0).round() as u32);
    milli.and_then(Weight::from_milli).ok_or_else(|| unlike(value, name, "a number from 0.001 to 1000000"))
}

/// A part of a whole, to the nearest thousandth; a smaller part is not 0.
pub fn part(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Part> {
    let number = number(value)?.filter(|number| *number == 0.0 || (0.001..=1.0).contains(number));
    let milli = number.map(|number| (number * 1000.0).round() as u16);
    milli.and_then(Part::from_milli).ok_or_else(|| unlike(value, name, "0 or a number from 0.001 to 1"))
}

/// A number, which Python's truth values are no more than its texts.
fn number(value: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    if value.is_instance_of::<PyBool>() { Ok(None) } else { if_converted(value.py(), value.extract()) }
}

/// That the argument of this name is not what is expected.
pub fn unlike(value: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyErr {
    wrong(value, |found| Wrong::argument(format!("{name}: {found}: expected {expected}")))
}

/// The limit of a queue: of packets, bytes, and processing time as (resource, upper, lower).
pub fn limit(
    packets: Option<&Bound<'_, PyAny>>,
    bytes: Option<&Bound<'_, PyAny>>,
    time: Option<&Bound<'_, PyAny>>,
    resources: usize,
) -> PyResult<Limit> {
    let packets = packets.map(|most| whole(most, "packets", "packets", 1..=u64::from(u32::MAX))).transpose()?;
    let bytes = bytes.map(|most| whole(most, "bytes", "bytes", 1..=u64::MAX)).transpose()?;
    let time = time.map(|time| time_limit(time, resources)).transpose()?;
    Ok(Limit { packets: packets.map(|most| most as u32), bytes: bytes.map(Bytes), time })
}

fn time_limit(value: &Bound<'_, PyAny>, resources: usize) -> PyResult<TimeLimit> {
    let parts: Option<Vec<Bound<'_, PyAny>>> = if_converted(value.py(), value.extract())?;
    let Some([resource, upper, lower]) = parts.as_deref() else {
        return Err(unlike(value, "time", "(resource, upper, lower), the two in nanoseconds"));
    };
    let resource = whole(resource, "time[0]", "", 0..=resources as u64 - 1)? as usize;
    Ok(TimeLimit { resource, upper: span(upper, "time[1]")?, lower: span(lower, "time[2]")? })
}

/// Lists and dicts stand in each other to this depth at most.
const DEEPEST: usize = 64;

/// A value as TOML has it; `path` is where it stands.
pub fn toml_value(value: &Bound<'_, PyAny>, path: &str) -> PyResult<Value> {
    let py = value.py();
    let wrong = |why: &str| wrong(value, |found| Wrong::new("InputError", format!("{path}: {found}: {why}")));
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Value::Boolean(truth.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text.to_string()));
    }
    if value.is_instance_of::<PyFloat>() {
        return if_converted(py, value.extract())?.map(Value::Float).ok_or_else(|| wrong("it is not a number"));
    }
    // Of one that contains itself there is no end.
    if path.split('.').count() > DEEPEST {
        return Err(wrong("it is nested too deeply, or contains itself"));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        return toml_table(table, path).map(Value::Table);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let one = |(k, member): (usize, PyResult<Bound<'_, PyAny>>)| toml_value(&member?, &format!("{path}.{k}"));
        return value.try_iter()?.enumerate().map(one).collect::<PyResult<_>>().map(Value::Array);
    }
    if value.is_instance_of::<PyInt>() || value.hasattr("__index__")? {
        let number: Option<i64> = if_converted(py, value.call_method0("__index__").and_then(|n| n.extract()))?;
        return number.map(Value::Integer).ok_or_else(|| wrong("a whole number beyond 64 bits"));
    }
    if let Some(number) = if_converted(py, value.extract::<f64>())? {
        return Ok(Value::Float(number));
    }
    if value.hasattr("__fspath__")? {
        let path: Option<String> = if_converted(py, value.call_method0("__fspath__").and_then(|path| path.extract()))?;
        return path.map(Value::String).ok_or_else(|| wrong("its name is not a text"));
    }
    Err(wrong("expected a text, a number, True or False, a list or a dict"))
}

/// A dict as a table.
pub fn toml_table(dict: &Bound<'_, PyDict>, path: &str) -> PyResult<Table> {
    let mut table = Table::new();
    // Of a copy: what is asked of a value may change the dict.
    for (key, value) in dict.copy()? {
        let Some(name) = if_converted(dict.py(), key.extract::<String>())? else {
            let place = if path.is_empty() { "the scenario" } else { path };
            let message = |found: &str| format!("{place}: the key {found}: expected a text");
            return Err(wrong(&key, |found| Wrong::new("InputError", message(found))));
        };
        let place = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let value = toml_value(&value, &place)?;
        table.insert(name, value);
    }
    Ok(table)
}
