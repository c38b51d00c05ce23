//! What is written in a plan, part by part.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use dovetail_config::Whole;
use dovetail_sched::Spec;
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::super::base::Base;
use super::super::keys::{Bounds, Choice, Key, Place, real};
use super::{MOST_RUNS, SCHEDULER, SEED, helped};
use crate::check::of_spec;
use crate::scenario::{PROFILES, ScenarioError};

/// The file as it is written, but for the keys of the scenario.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// What is varied: a file, relative to the plan, or the scenario itself as a table.
    scenario: Option<Spanned<Value>>,
    /// Or a capture.
    capture: Option<Spanned<String>>,
    /// And the box that it went through.
    profile: Option<Spanned<String>>,
    /// How many values are drawn for each key of `random`.
    samples: Option<Spanned<Whole<1, MOST_RUNS>>>,
    /// Seed of that. Default 1.
    design_seed: Option<u64>,
    /// Keys and their values, of which all combinations are run.
    pub grid: Option<Spanned<IgnoredAny>>,
    /// Keys and ranges.
    pub random: Option<Spanned<IgnoredAny>>,
}

/// A key as it is written, with what stands behind it.
pub struct WrittenKey {
    /// Its name, with those of the tables that it is in.
    pub name: String,
    span: Range<usize>,
    random: bool,
    values: Values,
    value_span: Range<usize>,
}

/// What stands behind a key.
enum Values {
    List(Vec<Choice>),
    One(Value),
}

/// Reads the parts of a plan's text.
pub struct Reader<'a> {
    /// What messages call the plan.
    pub label: &'a str,
    /// Its text.
    pub text: &'a str,
}

impl Reader<'_> {
    fn at(&self, span: Range<usize>, message: impl Into<String>) -> ScenarioError {
        ScenarioError::at(self.label, self.text, span, message)
    }

    /// How many samples there are, and the seed of their values.
    pub fn samples(&self, file: &Written) -> Result<(usize, u64), ScenarioError> {
        let samples = match (&file.samples, &file.random) {
            (None, None) => 1,
            (Some(samples), Some(_)) => samples.get_ref().0 as usize,
            (Some(samples), None) => {
                return Err(self.at(samples.span(), "samples of what? expected ranges of keys in [random]"));
            }
            (None, Some(random)) => {
                return Err(self.at(random.span(), "how many? expected samples = 100 at the top of the plan"));
            }
        };
        match &file.grid {
            None if file.random.is_none() => Err(ScenarioError::new(
                self.label,
                "it varies nothing: expected [grid] with keys and lists of values, such as seed = [1, 2, 3]",
            )),
            _ => Ok((samples, file.design_seed.unwrap_or(1))),
        }
    }

    /// What is varied; `keys` are.
    pub fn base(&self, file: &Written, folder: &Path, keys: &[String]) -> Result<Base, ScenarioError> {
        let placed = |span: Range<usize>, error: ScenarioError| match error.place() {
            // A file that was read speaks for itself.
            Some(place) if place.contains(".toml:") => error,
            _ => helped(self.at(span, error.message()), &error),
        };
        match (&file.scenario, &file.capture) {
            (Some(scenario), None) => {
                if let Some(profile) = &file.profile {
                    let message = "a profile is for a capture; a scenario says itself what its box is like";
                    return Err(self.at(profile.span(), message));
                }
                match scenario.get_ref() {
                    Value::String(name) => {
                        Base::scenario(&folder.join(name)).map_err(|error| placed(scenario.span(), error))
                    }
                    Value::Table(table) => Base::table(self.label, table, folder),
                    other => {
                        let message = format!("`{other}`: expected a file's name, or a scenario as a table");
                        Err(self.at(scenario.span(), message))
                    }
                }
            }
            (None, Some(capture)) => {
                let profile = file.profile.as_ref().map(|profile| {
                    let (name, beside) = (profile.get_ref(), folder.join(profile.get_ref()));
                    let known = PROFILES.contains(&name.as_str()) || !beside.is_file();
                    if known { name.clone() } else { beside.display().to_string() }
                });
                Base::capture(&folder.join(capture.get_ref()), profile.as_deref(), keys).map_err(|error| {
                    let of_profile = error.place().is_some_and(|place| place.starts_with("--profile"));
                    placed(file.profile.as_ref().filter(|_| of_profile).unwrap_or(capture).span(), error)
                })
            }
            (Some(_), Some(capture)) => Err(self.at(capture.span(), "expected a scenario or a capture, not both")),
            (None, None) => {
                let message = "of what? expected scenario = \"FILE.toml\" or capture = \"FILE.pcap\"";
                Err(ScenarioError::new(self.label, message))
            }
        }
    }

    /// The keys of a section, in the order in which they are written.
    pub fn entries(&self, section: &str) -> Result<Vec<WrittenKey>, ScenarioError> {
        let Ok(file) = DeTable::parse(self.text) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        match file.get_ref().get(section).map(|section| (section.get_ref(), section.span())) {
            Some((DeValue::Table(table), _)) => self.walk(table, "", section == "random", &mut found)?,
            Some((_, span)) => return Err(self.at(span, format!("expected a table, written [{section}]"))),
            None => {}
        }
        found.sort_by_key(|entry| entry.span.start);
        Ok(found)
    }

    fn walk(
        &self,
        table: &DeTable<'_>,
        path: &str,
        random: bool,
        found: &mut Vec<WrittenKey>,
    ) -> Result<(), ScenarioError> {
        for (key, value) in table {
            let (span, value_span) = (key.span(), value.span());
            let dot = if path.is_empty() { "" } else { "." };
            let name = format!("{path}{dot}{}", key.get_ref());
            let values = match value.get_ref() {
                DeValue::Table(inner) => {
                    self.walk(inner, &name, random, found)?;
                    continue;
                }
                DeValue::Array(list) => {
                    let choice = |member: &Spanned<DeValue<'_>>| {
                        let span = member.span();
                        Ok(Choice { value: self.value(&span)?, span })
                    };
                    Values::List(list.iter().map(choice).collect::<Result<_, ScenarioError>>()?)
                }
                _ => Values::One(self.value(&value_span)?),
            };
            found.push(WrittenKey { name, span, random, values, value_span });
        }
        Ok(())
    }

    /// What stands there.
    fn value(&self, span: &Range<usize>) -> Result<Value, ScenarioError> {
        let text = format!("v = {}", &self.text[span.clone()]);
        let value = toml::from_str::<Table>(&text).ok().and_then(|mut table| table.remove("v"));
        let value = value.ok_or_else(|| self.at(span.clone(), "expected a value"))?;
        if real(&value).is_some_and(|number| !number.is_finite()) {
            return Err(self.at(span.clone(), format!("{value}: expected a number")));
        }
        Ok(value)
    }

    /// The schedulers that the plan names, or those of the scenario.
    pub fn schedulers(&self, written: &[WrittenKey], base: &Base) -> Result<Vec<Spec>, ScenarioError> {
        let Some(entry) = written.iter().find(|entry| entry.name == SCHEDULER) else {
            let own = base.schedulers()?;
            if own.is_empty() {
                let message = "no scheduler to run: expected scheduler = [\"drfq\", ...] in [grid]";
                return Err(ScenarioError::new(self.label, message));
            }
            return Ok(own);
        };
        let Values::List(choices) = &entry.values else { return Err(self.no_list(entry)) };
        let one = |choice: &Choice| {
            let Some(text) = choice.value.as_str() else {
                return Err(self.at(choice.span.clone(), "expected a quoted text such as \"drfq\""));
            };
            text.parse().map_err(|error| of_spec(&error, |message| self.at(choice.span.clone(), message)))
        };
        choices.iter().map(one).collect()
    }

    fn no_list(&self, entry: &WrittenKey) -> ScenarioError {
        let text = &self.text[entry.value_span.clone()];
        self.at(entry.value_span.clone(), format!("{}: expected a list of values", entry.name))
            .with_help(format!("write [{text}]"))
    }

    /// A key with its values.
    pub fn key(
        &self,
        entry: WrittenKey,
        base: &Base,
        schedulers: &[Spec],
        (samples, drawn): (usize, u64),
    ) -> Result<Key, ScenarioError> {
        let place = match entry.name.as_str() {
            SCHEDULER => Place::Scheduler,
            name if schedulers.iter().any(|spec| base.parameters(spec).contains(&name)) => Place::Parameter,
            _ => Place::Scenario,
        };
        for (other, own) in [("schedulers", SCHEDULER), ("seeds", SEED)] {
            if entry.name == other {
                let error = self.at(entry.span.clone(), format!("{other:?}: each run has one"));
                return Err(error.with_help(format!("write {own} = [...]")));
            }
        }
        let choices = match (&entry.values, entry.random) {
            (Values::List(choices), false) if choices.is_empty() => {
                let message = format!("{}: the list is empty; expected at least one value", entry.name);
                return Err(self.at(entry.value_span, message));
            }
            (Values::List(choices), false) => choices.clone(),
            (Values::One(Value::String(text)), random) if place != Place::Scheduler && text.contains(" to ") => {
                let wrong = |message: String| self.at(entry.value_span.clone(), format!("{}: {message}", entry.name));
                let bounds: Bounds = text.parse().map_err(wrong)?;
                let values = match random {
                    true => bounds.draw(drawn, &entry.name, samples),
                    false => bounds.each(MOST_RUNS as usize).ok_or_else(|| {
                        wrong(format!(
                            "{text:?}: in [grid] expected whole numbers, at most {MOST_RUNS}, such as \"1 to 20\""
                        ))
                    })?,
                };
                values.into_iter().map(|value| Choice { value, span: entry.value_span.clone() }).collect()
            }
            (_, true) => {
                let message = format!("{}: expected a range such as \"0.5 to 1.0\" or \"10 us to 80 us\"", entry.name);
                return Err(self.at(entry.value_span, message));
            }
            (Values::One(_), false) => return Err(self.no_list(&entry)),
        };
        Ok(Key::new(entry.name, entry.span, place, entry.random, choices))
    }

    /// That nothing is said twice.
    pub fn check(&self, keys: &[Key], schedulers: &[Spec]) -> Result<(), ScenarioError> {
        for (index, key) in keys.iter().enumerate() {
            if keys[..index].iter().any(|before| before.name == key.name) {
                return Err(self.at(key.span.clone(), format!("{}: it is in [grid] and in [random]", key.name)));
            }
            let mut before = BTreeSet::new();
            for (choice, cell) in key.choices.iter().zip(&key.cells).filter(|_| !key.random) {
                if !before.insert(format!("{cell:?}")) {
                    let message = format!("{}: {} is there twice", key.name, choice.value);
                    return Err(self.at(choice.span.clone(), message));
                }
            }
            let named = |spec: &&Spec| key.place == Place::Parameter && spec.value(&key.name).is_some();
            if let Some(spec) = schedulers.iter().find(named) {
                let message = format!("{}: the scheduler {spec} has a value of its own for it", key.name);
                return Err(self.at(key.span.clone(), message));
            }
        }
        Ok(())
    }
}
