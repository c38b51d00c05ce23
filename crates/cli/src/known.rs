//! Values that shells can complete.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

/// Reads a value by a function, and has names for shells to complete; others are values as well.
#[derive(Clone, Copy)]
pub struct Known<T>(pub fn(&str) -> Result<T, String>, pub fn() -> Vec<&'static str>);

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Known<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        let read = self.0;
        (move |text: &str| read(text)).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.1)().into_iter().map(PossibleValue::new)))
    }
}

/// Any text.
pub fn any(text: &str) -> Result<String, String> {
    Ok(text.to_string())
}

/// Schedulers of pipelines and of networks.
pub fn schedulers() -> Vec<&'static str> {
    dovetail_sched::catalog().iter().map(|entry| entry.name).chain(["drq", "red"]).collect()
}

/// Profiles that come with the program.
#[cfg(feature = "studies")]
pub fn profiles() -> Vec<&'static str> {
    dovetail_experiment::scenario::PROFILES.to_vec()
}

/// Papers and their figures.
#[cfg(feature = "studies")]
pub fn reproductions() -> Vec<&'static str> {
    dovetail_papers::PAPERS
        .iter()
        .map(|(paper, _)| *paper)
        .chain(dovetail_papers::list().iter().map(|item| item.id))
        .collect()
}
