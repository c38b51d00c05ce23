//! The mathematics without packets: fluid schedules, bounds, indices.

use dovetail_model::drq::{Hop, Network, solve};
use dovetail_model::fluid::{self, Input, Outcome, Policy};
use dovetail_model::{Allocation, Head, ModelError, Ties, Tradeoff, bounds, drgps as fair};
use dovetail_sim::record;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Wrong, guarded};
use crate::values::{given, text, whole};

/// Do this, and raise what goes wrong.
fn solved<T>(work: impl FnOnce() -> Result<T, ModelError>) -> PyResult<T> {
    Ok(guarded(work)?.map_err(Wrong::from)?)
}

fn ties(name: Option<&Bound<'_, PyAny>>) -> PyResult<Ties> {
    match name.map_or(Ok("rotate".to_string()), |name| text(name, "ties"))?.as_str() {
        "rotate" => Ok(Ties::Rotate),
        "split" => Ok(Ties::Split),
        other => Err(Wrong::argument(format!("ties: {other:?}: expected \"rotate\" or \"split\"")).about(other).into()),
    }
}

fn number(value: &Bound<'_, PyAny>, name: &str) -> PyResult<f64> {
    given(value, name, "a number")
}

fn numbers(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<f64>> {
    given(value, name, "a list of numbers")
}

/// Processing times by flow, and weights.
type Flows = (Vec<Vec<f64>>, Option<Vec<f64>>);

fn flows(times_s: &Bound<'_, PyAny>, weights: Option<&Bound<'_, PyAny>>) -> PyResult<Flows> {
    let times_s = given(times_s, "times_s", "a list of numbers for each flow")?;
    Ok((times_s, weights.map(|weights| numbers(weights, "weights")).transpose()?))
}

/// How many resources or flows.
fn count(value: &Bound<'_, PyAny>, name: &str) -> PyResult<usize> {
    Ok(whole(value, name, name, 0..=u64::from(u32::MAX))? as usize)
}

fn heads(times_s: &[Vec<f64>], weights: Option<&[f64]>) -> Result<Vec<Head>, ModelError> {
    if let Some(weights) = weights.filter(|weights| weights.len() != times_s.len()) {
        return Err(ModelError::Length { what: "weights", found: weights.len(), expected: times_s.len() });
    }
    let weight = |flow: usize| weights.map_or(1.0, |weights| weights[flow]);
    times_s.iter().enumerate().map(|(flow, times)| Head::new(times, weight(flow))).collect()
}

fn shares<'py>(py: Python<'py>, allocation: Allocation) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("fair_share", allocation.fair_share)?;
    found.set_item("utilization", &allocation.utilisation)?;
    found.set_item("shares", allocation.shares)?;
    Ok(found)
}

#[pyfunction]
#[pyo3(signature = (times_s, weights=None))]
fn drgps<'py>(
    py: Python<'py>,
    times_s: &Bound<'py, PyAny>,
    weights: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (times_s, weights) = flows(times_s, weights)?;
    shares(py, solved(|| fair::allocate(&heads(&times_s, weights.as_deref())?))?)
}

#[pyfunction]
#[pyo3(signature = (times_s, alpha, weights=None, ties=None))]
fn tradeoff<'py>(
    py: Python<'py>,
    times_s: &Bound<'py, PyAny>,
    alpha: &Bound<'py, PyAny>,
    weights: Option<&Bound<'py, PyAny>>,
    ties: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (times_s, weights) = flows(times_s, weights)?;
    let (alpha, ties) = (number(alpha, "alpha")?, self::ties(ties)?);
    shares(py, solved(|| Tradeoff::new(alpha, ties)?.allocate(&heads(&times_s, weights.as_deref())?))?)
}

/// A flow's packets: when each comes, and what it needs on each resource.
type FlowOfPackets = Vec<(f64, Vec<f64>)>;

fn schedule(
    flows: &[FlowOfPackets],
    alpha: Option<f64>,
    weights: Option<&[f64]>,
    ties: Ties,
) -> Result<Outcome, ModelError> {
    let resources = flows.iter().flatten().next().map_or(0, |(_, times)| times.len());
    let mut input = Input::new(resources)?;
    if let Some(weights) = weights.filter(|weights| weights.len() != flows.len()) {
        return Err(ModelError::Length { what: "weights", found: weights.len(), expected: flows.len() });
    }
    for (index, packets) in flows.iter().enumerate() {
        let flow = input.add_flow(weights.map_or(1.0, |weights| weights[index]))?;
        for (arrival, times) in packets {
            input.push(flow, *arrival, times)?;
        }
    }
    let policy = alpha.map_or(Ok(Policy::Drgps), |alpha| Tradeoff::new(alpha, ties).map(Policy::Tradeoff))?;
    fluid::run(&input, &policy)
}

#[pyfunction]
#[pyo3(signature = (flows, alpha=None, weights=None, ties=None))]
fn fluid_schedule<'py>(
    py: Python<'py>,
    flows: &Bound<'py, PyAny>,
    alpha: Option<&Bound<'py, PyAny>>,
    weights: Option<&Bound<'py, PyAny>>,
    ties: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let flows: Vec<FlowOfPackets> = given(flows, "flows", "a list of (arrival, [times]) for each flow")?;
    let alpha = alpha.map(|alpha| number(alpha, "alpha")).transpose()?;
    let weights = weights.map(|weights| numbers(weights, "weights")).transpose()?;
    let ties = self::ties(ties)?;
    let outcome = py.detach(|| guarded(|| schedule(&flows, alpha, weights.as_deref(), ties)));
    let outcome = outcome?.map_err(Wrong::from)?;
    let of_flows = |of: fn(&Outcome, usize) -> &[f64]| -> Vec<Vec<f64>> {
        (0..flows.len()).map(|flow| of(&outcome, flow).to_vec()).collect()
    };
    let curves: Vec<Vec<(f64, f64)>> = (0..flows.len()).map(|flow| outcome.service_curve(flow).to_vec()).collect();
    let utilization: Vec<(f64, Vec<f64>)> =
        outcome.utilisation().iter().map(|(time, levels)| (time, levels.to_vec())).collect();
    let found = PyDict::new(py);
    found.set_item("makespan_s", outcome.makespan_s())?;
    found.set_item("starts_s", of_flows(Outcome::starts_s))?;
    found.set_item("finishes_s", of_flows(Outcome::finishes_s))?;
    found.set_item("service", curves)?;
    found.set_item("utilization", utilization)?;
    Ok(found)
}

/// A hop: the resource's number, and the density on a CPU, in cycles per bit.
type Visit = (usize, Option<f64>);

#[pyfunction]
fn proportional<'py>(
    py: Python<'py>,
    resources: &Bound<'py, PyAny>,
    flows: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let resources: Vec<(String, f64)> = given(resources, "resources", "a list of (\"cpu\" or \"link\", capacity)")?;
    let flows: Vec<(f64, Vec<Visit>)> =
        given(flows, "flows", "a list of (weight, [(number of a resource, density or None)])")?;
    let mut network = Network::new();
    for (kind, capacity) in &resources {
        match kind.as_str() {
            "cpu" => solved(|| network.add_cpu(*capacity))?,
            "link" => solved(|| network.add_link(*capacity))?,
            other => {
                let message = format!("resources: {other:?}: expected \"cpu\" or \"link\"");
                return Err(Wrong::argument(message).about(other).into());
            }
        };
    }
    for (weight, visits) in &flows {
        let hop = |&(resource, density): &Visit| density.map_or_else(|| Hop::link(resource), |d| Hop::cpu(resource, d));
        let hops: Vec<Hop> = visits.iter().map(hop).collect();
        solved(|| network.add_flow(*weight, &hops))?;
    }
    let solution = py.detach(|| guarded(|| solve(&network)));
    let solution = solution?.map_err(Wrong::from)?;
    let found = PyDict::new(py);
    found.set_item("rates_bps", solution.rates)?;
    found.set_item("prices", solution.prices)?;
    Ok(found)
}

/// Numbers that are none below 0.
fn amounts(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<f64>> {
    Ok(checked(name, numbers(given, name)?)?)
}

/// A number not below 0.
fn amount(given: &Bound<'_, PyAny>, name: &str) -> PyResult<f64> {
    Ok(checked(name, vec![number(given, name)?])?[0])
}

fn checked(name: &str, mut values: Vec<f64>) -> Result<Vec<f64>, Wrong> {
    if values.is_empty() {
        return Err(Wrong::argument(format!("{name}: empty: expected at least one number")));
    }
    if let Some(wrong) = values.iter().find(|value| !(value.is_finite() && **value >= 0.0)) {
        let message = format!("{name}: {wrong}: expected numbers from 0");
        return Err(Wrong::argument(message).about(&wrong.to_string()));
    }
    values.sort_by(f64::total_cmp);
    Ok(values)
}

#[pyfunction]
fn jain(shares: &Bound<'_, PyAny>) -> PyResult<f64> {
    Ok(record::jain(&amounts(shares, "shares")?))
}

#[pyfunction]
fn gini(shares: &Bound<'_, PyAny>) -> PyResult<f64> {
    Ok(record::gini(&amounts(shares, "shares")?))
}

#[pyfunction]
fn makespan_lower_bound_s(total_times_s: &Bound<'_, PyAny>) -> PyResult<f64> {
    Ok(bounds::makespan_lower_bound_s(&amounts(total_times_s, "total_times_s")?))
}

#[pyfunction]
fn work_conserving_makespan_s(resources: &Bound<'_, PyAny>, optimum_s: &Bound<'_, PyAny>) -> PyResult<f64> {
    Ok(bounds::work_conserving_makespan_s(count(resources, "resources")?, amount(optimum_s, "optimum_s")?))
}

#[pyfunction]
fn tracking_makespan_s(
    fluid_makespan_s: &Bound<'_, PyAny>,
    flows: &Bound<'_, PyAny>,
    longest_s: &Bound<'_, PyAny>,
) -> PyResult<f64> {
    let fluid_makespan_s = amount(fluid_makespan_s, "fluid_makespan_s")?;
    Ok(bounds::tracking_makespan_s(fluid_makespan_s, count(flows, "flows")?, amount(longest_s, "longest_s")?))
}

#[pyfunction]
fn drfq_relative_fairness_s(weights: &Bound<'_, PyAny>, longest_s: &Bound<'_, PyAny>) -> PyResult<f64> {
    let weights: [f64; 2] = given(weights, "weights", "two numbers above 0")?;
    if weights.iter().any(|weight| !(weight.is_finite() && *weight > 0.0)) {
        return Err(Wrong::argument(format!("weights: {weights:?}: expected two numbers above 0")).into());
    }
    let longest_s: [f64; 2] = given(longest_s, "longest_s", "two numbers from 0")?;
    checked("longest_s", longest_s.to_vec())?;
    let flow = |k: usize| bounds::DrfqFlow { weight: weights[k], longest_dominant_s: longest_s[k] };
    Ok(bounds::drfq_relative_fairness_s(flow(0), flow(1)))
}

#[pyfunction]
fn mr3_relative_fairness_s(resources: &Bound<'_, PyAny>, longest_s: &Bound<'_, PyAny>) -> PyResult<f64> {
    Ok(bounds::mr3_relative_fairness_s(count(resources, "resources")?, amount(longest_s, "longest_s")?))
}

/// `dovetail.model`.
#[pymodule]
pub mod model {
    #[pymodule_export]
    use super::{
        drfq_relative_fairness_s, drgps, fluid_schedule, gini, jain, makespan_lower_bound_s, mr3_relative_fairness_s,
        proportional, tracking_makespan_s, tradeoff, work_conserving_makespan_s,
    };
}
