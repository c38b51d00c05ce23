//! What a flow pays for a packet whose time was predicted: the estimate or the measured time. Also the single charge of
//! the composite disciplines (`pcfq`, `cbcs`) for all resources.

use dovetail_units::{Duration, ResourceVec};

use crate::catalog::Parameter;
use crate::spec::{Spec, SpecError, choice};

/// The parameter that says whether charges are corrected.
pub const PARAMETER: Parameter = Parameter {
    name: "charge",
    value: "estimated | measured",
    default: "measured",
    meaning: "what a flow pays for a packet in the end: the estimated time, or the measured one",
    settable: false,
};

/// What a flow pays for a packet in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Charge {
    /// The estimate that it was served by.
    Estimated,
    /// What was measured.
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
#[inline]
pub(crate) fn total<const M: usize>(cost: &ResourceVec<M>) -> Duration {
    // None is longer than 2^40 ns.
    Duration::from_nanos(cost.iter().fold(0, |sum, time| sum.wrapping_add(time.as_nanos())))
}
