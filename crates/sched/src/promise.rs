//! What a discipline promises its flows, as values: whoever holds it to that asks here, not by its name.

use crate::catalog::Parameter;
use crate::spec::Spec;

/// A discipline's promise to flows that stay backlogged.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    /// What is divided by weight.
    pub counted: Counted,
    /// The fluid that it follows, where that runs by the clock: it expects resources that work at the same time.
    pub fluid: Option<Fluid>,
    /// By how much a flow may be behind its part.
    pub lag: Lag,
    /// By how much two flows' services by weight may differ, under this spec over so many resources; `None` where
    /// nothing is promised, or less than for packets of any length and weight.
    pub apart: fn(&Spec, usize) -> Option<Apart>,
}

/// What counts as service of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// Nothing is shared: a flow gets what it offers.
    Nothing,
    /// Its bytes, in turns of so many.
    Bytes {
        /// Bytes of a turn.
        turn: u32,
    },
    /// Its time on the one resource that is shared.
    Shared,
    /// Its time on the resource where it takes longest.
    Dominant,
    /// Its time on the resource that is most in demand.
    Bottleneck,
    /// Its times on all resources together.
    Total,
    /// By how much it lengthens the time for which its flow alone would keep a pipeline without buffers: of a flow's
    /// first packet all its times, of the next ones less.
    Active,
}

/// A schedule in which flows are served at the same time, in parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fluid {
    /// Generalized processor sharing of one resource, for the order of service: the scheduler never waits for it.
    Gps,
    /// Equal dominant shares. With several resources the scheduler waits for it.
    DominantShares,
    /// At least alpha times these, the rest to those that fill the resources. The scheduler waits for it.
    Tradeoff,
}

/// Packets by which one of n flows may be behind its part of the service, if all packets take the same time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Lag {
    /// So many.
    Packets(f64),
    /// So many for each of the n - 1 others.
    PerOther(f64),
    /// What start or finish tags let services by weight differ: `s / w_i + s / w_j`.
    Tags,
    /// As tags, and what one round gives by weight: at most a packet of the lightest flow.
    Rounds,
}

/// By how much the services by weight of two flows that stay backlogged may differ. s is a flow's packet time, w its
/// weight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Apart {
    /// So many times s / w of both together. Tags allow 1. Rounds allow what a round gives besides, which is at most
    /// the larger of the two: 2. The first and the last packet may be counted differently by different measures
    /// (estimate, active time): one more.
    Packets(f64),
    /// So many times the longer s of the two by either w.
    Longest(f64),
}

impl Promise {
    /// None.
    pub const NOTHING: Self = Self { counted: Counted::Nothing, fluid: None, lag: Lag::Rounds, apart: |_, _| None };

    /// What start or finish tags keep.
    pub const fn by_tags(counted: Counted) -> Self {
        Self { counted, fluid: None, lag: Lag::Tags, apart: |_, _| Some(Apart::Packets(3.0)) }
    }

    /// What turns keep.
    pub const fn by_rounds(counted: Counted) -> Self {
        Self { lag: Lag::Rounds, ..Self::by_tags(counted) }
    }
}

/// What turns of a fixed quantum keep, which may be longer than packets are: nothing for all lengths.
pub(crate) fn unless_quantum(spec: &Spec, _resources: usize) -> Option<Apart> {
    spec.value("quantum").is_none().then_some(Apart::Packets(3.0))
}

/// The parameter that says which part of its fair share, 0 to 1, every flow is promised. A discipline
/// [has it as a fact](crate::catalog::Entry::fact); one without it promises all of the fair share.
#[derive(Clone, Copy, Debug)]
pub struct Alpha(pub Parameter);

impl Alpha {
    /// As `spec` has it, or its default; `None` if that is no number.
    pub fn of(&self, spec: &Spec) -> Option<f64> {
        spec.value(self.0.name).unwrap_or(self.0.default).parse().ok()
    }
}
