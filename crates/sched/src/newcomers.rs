//! Where a flow starts when it becomes backlogged: the parameter `newcomers`. The published forms of some disciplines
//! give such a flow something for free.

use crate::catalog::Parameter;
use crate::spec::{Spec, SpecError, choice};

/// The parameter.
pub const PARAMETER: Parameter = Parameter {
    name: "newcomers",
    value: "pay | free",
    default: "pay",
    meaning: "pay: a flow that begins to send pays for its first packet; free, as published: it does not, so that a \
        stream of new flows can starve others",
    settable: false,
};

/// Where a flow stands that becomes backlogged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Newcomers {
    /// No better than one that has waited: a stream of ever new flows gets no more than one flow.
    #[default]
    Pay,
    /// As published.
    Free,
}

impl Newcomers {
    /// As `spec` says.
    pub(crate) fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        let choices = [("pay", Self::Pay), ("free", Self::Free)];
        spec.value(PARAMETER.name).map_or(Ok(Self::default()), |value| choice(PARAMETER.name, value, choices))
    }
}
