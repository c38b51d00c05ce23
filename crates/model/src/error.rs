//! What can be wrong with the input of a model.

use std::error::Error;
use std::fmt;
use std::ops::RangeInclusive;

/// Why a model refuses its input or could not solve it.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelError {
    /// A number is outside its range.
    Value {
        /// The quantity, in words.
        what: &'static str,
        /// The value given.
        value: f64,
        /// The range it must be in, in words.
        expected: &'static str,
    },
    /// A vector has the wrong number of entries.
    Length {
        /// The vector, in words.
        what: &'static str,
        /// The number of entries given.
        found: usize,
        /// The number of entries it must have.
        expected: usize,
    },
    /// An allocation of nothing: no backlogged flow, or no resource.
    Empty {
        /// What there is none of.
        what: &'static str,
    },
    /// A packet arrives before the packet in front of it in its flow.
    Order {
        /// The flow's index.
        flow: usize,
        /// The arrival of the packet in front, in seconds.
        previous_s: f64,
        /// The arrival given, in seconds.
        arrival_s: f64,
    },
    /// No flow has this index.
    UnknownFlow {
        /// The index given.
        flow: usize,
        /// How many flows there are.
        flows: usize,
    },
    /// No resource has this index.
    UnknownResource {
        /// The index given.
        resource: usize,
        /// How many resources there are.
        resources: usize,
    },
    /// A flow visits a resource twice.
    Repeated {
        /// The resource's index.
        resource: usize,
    },
    /// The closed form is for two resources.
    ClosedForm {
        /// The number of resources given.
        resources: usize,
    },
    /// A solver gave up; its own words.
    Solver(String),
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { what, value, expected } => write!(f, "{what} is {value}, expected {expected}"),
            Self::Length { what, found, expected } => write!(f, "{what} has {found} entries, expected {expected}"),
            Self::Empty { what } => write!(f, "no {what}: expected at least one"),
            Self::Order { flow, previous_s, arrival_s } => write!(
                f,
                "flow {flow}: a packet arrives at {arrival_s} s after one that arrived at {previous_s} s, expected \
                 arrivals in order"
            ),
            Self::UnknownFlow { flow, flows } => write!(f, "flow {flow} is unknown, there are {flows} flows"),
            Self::UnknownResource { resource, resources } => {
                write!(f, "resource {resource} is unknown, there are {resources} resources")
            }
            Self::Repeated { resource } => write!(f, "a flow visits resource {resource} twice, expected once"),
            Self::ClosedForm { resources } => {
                write!(f, "the closed form is for 2 resources, found {resources}; use the linear program")
            }
            Self::Solver(message) => write!(f, "solver: {message}"),
        }
    }
}

impl Error for ModelError {}

/// `value` if it is a weight: within nine orders of magnitude of 1, so that sums of weights neither overflow nor
/// vanish.
pub(crate) fn weight(value: f64) -> Result<f64, ModelError> {
    in_range("weight", value, 1e-9..=1e9, "a number from 1e-9 to 1e9")
}

/// `value` if it is a part of the fair share.
pub(crate) fn alpha(value: f64) -> Result<f64, ModelError> {
    in_range("alpha", value, 0.0..=1.0, "a number from 0 to 1")
}

/// `value` if it is a time that sums of many packets keep finite: up to 1e9 seconds, some thirty years.
pub(crate) fn seconds(what: &'static str, value: f64) -> Result<f64, ModelError> {
    in_range(what, value, 0.0..=1e9, "a number from 0 to 1e9")
}

/// `value` if it is in the range.
pub(crate) fn in_range(
    what: &'static str,
    value: f64,
    range: RangeInclusive<f64>,
    expected: &'static str,
) -> Result<f64, ModelError> {
    if range.contains(&value) { Ok(value) } else { Err(ModelError::Value { what, value, expected }) }
}
