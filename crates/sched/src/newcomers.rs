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

/// R: up to where new flows have been served in a virtual time, and where the next one begins there. New is a flow that
/// is set up while packets wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newest {
    newcomers: Newcomers,
    reached: u128,
    /// The epoch that this is of.
    epoch: u64,
}

impl Newest {
    /// With new flows that stand so.
    pub(crate) fn new(newcomers: Newcomers) -> Self {
        Self { newcomers, reached: 0, epoch: 0 }
    }

    /// Whether a flow is new that is set up while so many packets wait.
    pub(crate) fn is_new(&self, packets: u64) -> bool {
        self.newcomers == Newcomers::Pay && packets > 0
    }

    /// Where a new flow begins at this virtual time.
    pub(crate) fn start(&self, virtual_time: u128, epoch: u64) -> u128 {
        if self.epoch == epoch { self.reached.max(virtual_time) } else { virtual_time }
    }

    /// A new flow, or one that is removed, was served up to there; whether that counts.
    pub(crate) fn reach(&mut self, finish: u128, epoch: u64) -> bool {
        let pays = self.newcomers == Newcomers::Pay;
        if pays {
            self.reached = if self.epoch == epoch { self.reached.max(finish) } else { finish };
            self.epoch = epoch;
        }
        pays
    }
}
