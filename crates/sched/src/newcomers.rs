//! Where a flow stands that becomes backlogged: the parameter `newcomers` of the disciplines whose published form gives
//! it something for free.

use crate::catalog::Parameter;
use crate::spec::{Spec, SpecError, choice};

/// The parameter.
pub const PARAMETER: Parameter = Parameter {
    name: "newcomers",
    value: "pay | free",
    default: "pay",
    meaning: "whether a flow that becomes backlogged first pays for what it gets, or, as published, is given it, by \
        which new flows can starve others",
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
