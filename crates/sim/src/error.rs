//! What can be wrong with a run.

use core::fmt;

use dovetail_sched::SpecError;
use dovetail_units::Time;

use crate::network::MOST_FLOWS;

/// Why a run could not start or go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SimError {
    /// The workload, pipeline or options are not usable; the message says which part, what it is and what was expected.
    Invalid(String),
    /// The scheduler refused a parameter change.
    Parameter {
        /// When.
        at: Time,
        /// Why.
        error: SpecError,
    },
    /// The scheduler holds packets back although nothing more will happen.
    Stalled {
        /// When.
        at: Time,
        /// Packets that wait.
        waiting: u64,
        /// What it answered.
        answer: &'static str,
    },
    /// A packet would finish after the last instant there is (584 years).
    TooLong {
        /// The packet's flow.
        flow: u32,
        /// When its processing would have begun.
        at: Time,
    },
    /// More flows of a network are under way at once than there may be ([`MOST_FLOWS`](crate::network::MOST_FLOWS)).
    TooManyFlows {
        /// When.
        at: Time,
        /// The class of the flow for which there is no room.
        class: String,
    },
    /// More than 2^32 - 1 packets wait or are in the pipeline at once.
    TooManyPackets {
        /// When.
        at: Time,
    },
}

impl SimError {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(message) => f.write_str(message),
            Self::Parameter { at, error } => write!(f, "parameter change at {at}: {error}"),
            Self::Stalled { at, waiting, answer } => write!(
                f,
                "at {at} the scheduler answers {answer} although {waiting} packets wait and nothing else will happen"
            ),
            Self::TooLong { flow, at } => {
                write!(f, "a packet of flow {flow} that starts at {at} would finish after the last instant (584 years)")
            }
            Self::TooManyFlows { at, class } => write!(
                f,
                "at {at} flows of {class:?} come on top of {MOST_FLOWS} that are under way, which are the most there \
                 may be: they come faster than they end"
            ),
            Self::TooManyPackets { at } => write!(f, "at {at} more than 4294967295 packets are in the system"),
        }
    }
}

impl std::error::Error for SimError {}
