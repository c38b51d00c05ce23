//! Whether schedulers fit a scenario.

use std::collections::BTreeSet;

use dovetail_sched::catalog::Parameter;
use dovetail_sched::composition::{self, parameters};
use dovetail_sched::{Shape, Spec, SpecError, build_all, catalog};
use dovetail_units::Time;

use crate::compare::RunError;
use crate::scenario::{Scenario, ScenarioError, nearest, unknown};

/// Where no scheduler is named.
pub(crate) const NO_SCHEDULER: &str = "no scheduler to run: name one with --scheduler drfq, or schedulers = \
    [\"fifo\", \"drfq\"] at the top of the scenario";

pub(crate) fn check_over<const M: usize>(scenario: &Scenario, schedulers: &[Spec]) -> Result<Vec<String>, RunError> {
    if schedulers.is_empty() {
        return Err(ScenarioError::new("", NO_SCHEDULER).into());
    }
    let named = scenario.schedulers();
    for (index, spec) in schedulers.iter().enumerate() {
        check_one::<M>(scenario, spec)?;
        if let Some(before) = schedulers[..index].iter().find(|before| composition::same(before, spec)) {
            let message = twice(before, spec);
            // Others than the scenario's own are not its mistake.
            let error = match named == schedulers {
                true => scenario.scheduler_error(spec, &message),
                false => ScenarioError::new(&format!("scheduler {spec}"), message),
            };
            return Err(error.about(&spec.to_string()).into());
        }
    }
    let mut left_out = Vec::new();
    for (index, (_, parameter, value)) in scenario.changes().iter().enumerate() {
        let takes = |spec: &&Spec| has_parameter(spec, parameter);
        match (schedulers.iter().any(|spec| takes(&spec)), named.iter().find(takes)) {
            (true, _) => {}
            (false, Some(other)) => {
                check_one::<M>(scenario, other)?;
                left_out.push(format!(
                    "the change {parameter}={value} is left out: it is for {other}, which is not compared"
                ));
            }
            (false, None) => {
                let message = nobody_takes(parameter, schedulers);
                return Err(scenario.change_error(index, &message).into());
            }
        }
    }
    if scenario.has_own_alphas() && !schedulers.iter().any(|spec| has_parameter(spec, "alpha")) {
        left_out.push("the alpha of classes and flows is left out: no compared scheduler takes it".into());
    }
    Ok(left_out)
}

/// That the scheduler exists, fits the scenario and takes the changes of its parameters.
fn check_one<const M: usize>(scenario: &Scenario, spec: &Spec) -> Result<(), RunError> {
    let place = |e: SpecError| of_spec(&e, |message| scenario.scheduler_error(spec, message));
    let change = |index: usize, e: SpecError| of_spec(&e, |message| scenario.change_error(index, message));
    let names = scenario.names_in_values();
    let numbered = names.number_all(spec).map_err(place)?;
    let mut schedulers = build_all::<M, u32>(&numbered, shape::<M>(scenario)).map_err(place)?;
    for (index, (_, parameter, value)) in scenario.changes().iter().enumerate() {
        if has_parameter(spec, parameter) {
            let set = |value: String| schedulers.set(Time::ZERO, parameter, &value);
            names.number(parameter, value).and_then(set).map_err(|e| change(index, e))?;
        }
    }
    Ok(())
}

/// Why a parameter cannot change that none of these schedulers has.
fn nobody_takes(parameter: &str, schedulers: &[Spec]) -> String {
    let all: BTreeSet<&str> = settable(catalog().iter().flat_map(|e| e.parameters)).collect();
    if !all.contains(parameter) {
        return unknown("parameter that can change", parameter, &all.into_iter().collect::<Vec<_>>());
    }
    let own: BTreeSet<&str> = schedulers.iter().flat_map(|s| parameters(&s.name)).flat_map(settable).collect();
    let names: Vec<&str> = schedulers.iter().map(|s| s.name.as_str()).collect();
    let can = match own.is_empty() {
        true => String::new(),
        false => format!("; what can change there: {}", own.into_iter().collect::<Vec<_>>().join(", ")),
    };
    format!("{parameter} changes nothing: none of the compared schedulers ({}) has it{can}", names.join(", "))
}

fn settable<'a>(parameters: impl IntoIterator<Item = &'a Parameter>) -> impl Iterator<Item = &'a str> {
    parameters.into_iter().filter(|p| p.settable).map(|p| p.name)
}

/// What is wrong with a scheduler that is the same as one before it.
pub(crate) fn twice(before: &Spec, again: &Spec) -> String {
    let again = if before == again { "named twice".into() } else { format!("the same as {before}") };
    format!("it is {again}, and would give the same twice")
}

/// What is wrong with a scheduler's text, at the place that `error` knows.
pub(crate) fn of_spec(spec: &SpecError, error: impl FnOnce(&str) -> ScenarioError) -> ScenarioError {
    error(&with_hint(spec)).about(spec.wrong()).among(spec.known())
}

/// What is wrong, with the nearest right name if one is near.
pub(crate) fn with_hint(error: &SpecError) -> String {
    match nearest(error.wrong(), error.known().iter().copied()) {
        Some(name) => format!("{error}; did you mean {name:?}?"),
        None => error.to_string(),
    }
}

pub(crate) fn has_parameter(spec: &Spec, parameter: &str) -> bool {
    parameters(&spec.name).into_iter().flatten().any(|p| p.name == parameter)
}

pub(crate) fn shape<const M: usize>(scenario: &Scenario) -> Shape {
    Shape { servers: scenario.pipeline::<M>().servers().iter().fold(0, |sum: u32, &s| sum.saturating_add(s)) }
}
