//! What a flow can gain by playing with things that its share should not depend on.

/// How a flow may try to get more than its share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Strategy {
    /// Keep a queue much deeper, or much shorter, than its rivals.
    QueueDepth,
    /// Have weights and processing times of another size: all weights, or all times, times a factor.
    Scale,
    /// Be set up earlier or later than its rivals.
    SetupOrder,
    /// Use a new flow for every burst; the old ones stay, without packets.
    NewFlows,
    /// Be removed and added again for every burst.
    RemoveAndAdd,
    /// Empty its queue of few packets in a turn and refill it at once.
    Refill,
    /// Send bursts, and nothing in between.
    OnOff,
    /// Have estimates that are too low, or too high, and are corrected by measurement.
    FalseEstimates,
    /// Send a small packet first and large ones behind it, in ever new flows.
    SmallFirst,
    /// Have false estimates in ever new flows, or be removed before measurement corrects them.
    FalseAndNew,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::QueueDepth,
        Self::Scale,
        Self::SetupOrder,
        Self::NewFlows,
        Self::RemoveAndAdd,
        Self::Refill,
        Self::OnOff,
        Self::FalseEstimates,
        Self::SmallFirst,
        Self::FalseAndNew,
    ];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueDepth => "queue depth",
            Self::Scale => "scale",
            Self::SetupOrder => "set-up order",
            Self::NewFlows => "new flows",
            Self::RemoveAndAdd => "remove and add",
            Self::Refill => "refill",
            Self::OnOff => "on and off",
            Self::FalseEstimates => "false estimates",
            Self::SmallFirst => "small first",
            Self::FalseAndNew => "false and new",
        }
    }
}

/// The most that a flow gains by a strategy under a discipline's defaults: its service as a multiple of the fair share
/// of one flow, among rivals that are backlogged throughout.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gain {
    /// By what.
    pub strategy: Strategy,
    /// The multiple; infinite where the rivals can be starved.
    pub most: f64,
    /// Why it is so much: a proof, a search, or where it stands.
    pub reason: &'static str,
}

/// By false estimates in ever new flows, where each is charged what its packets are said to take: 16 in the search, and
/// what whole packets leave open.
pub(crate) const AS_TOLD: Gain = Gain {
    strategy: Strategy::FalseAndNew,
    most: 16.0 * ORDINARY,
    reason: "the factor by which it understates its times, 16 in the search: it is gone before they are corrected",
};

/// The gain that a discipline need not list: what whole packets leave open in a finite run.
pub const ORDINARY: f64 = 1.05;
