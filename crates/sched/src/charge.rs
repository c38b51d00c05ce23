//! What the composite disciplines (`pcfq`, `cbcs`) have in common: one charge for all resources, as estimated or as measured.

use dovetail_units::{Duration, ResourceVec};

use crate::catalog::Parameter;
use crate::spec::{Spec, SpecError, choice};

/// The parameter that says whether charges are corrected.
pub const PARAMETER: Parameter = Parameter {
    name: "charge",
    value: "estimated | measured",
    default: "measured",
    meaning: "what a flow pays in the end: the estimate, as in the papers, or the time that was measured",
    settable: false,
};

/// What a flow pays for a packet in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Charge {
    /// The estimate that it was served by.
    Estimated,
    /// What was measured on every resource.
    #[default]
    Measured,
}

impl Charge {
    /// As `spec` says.
    pub(crate) fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        let choices = [("estimated", Self::Estimated), ("measured", Self::Measured)];
        spec.value(PARAMETER.name).map_or(Ok(Self::default()), |value| choice(PARAMETER.name, value, choices))
    }
}

/// A packet's total cost: its times on all resources together (Ptc in the papers).
pub(crate) fn total<const M: usize>(cost: &ResourceVec<M>) -> Duration {
    Duration::from_nanos(cost.iter().fold(0, |sum, time| sum.saturating_add(time.as_nanos())))
}
