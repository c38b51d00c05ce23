//! DRQ's three states of a packet (Fig. 3), and how a packet carries them.

use super::fraction::Fraction;

/// What the resources so far have noted in a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Congestion {
    /// Nothing: the paper's ECN 00.
    #[default]
    Initial,
    /// One resource has signalled to those after it: 10.
    Signalled,
    /// The sender is to slow down: 11.
    Congested,
}

impl Congestion {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Initial, Self::Signalled, Self::Congested];
}

/// Fig. 3: a packet's state behind a resource of intra-resource probability `delta` and inter-resource probability
/// `epsilon`, given two independent draws of 32 uniform bits.
pub const fn advance(
    state: Congestion,
    delta: Fraction,
    epsilon: Fraction,
    delta_draw: u32,
    epsilon_draw: u32,
) -> Congestion {
    match state {
        Congestion::Congested => Congestion::Congested,
        _ if delta.happens(delta_draw) => Congestion::Congested,
        Congestion::Initial if epsilon.happens(epsilon_draw) => Congestion::Signalled,
        Congestion::Signalled if epsilon.happens(epsilon_draw) => Congestion::Congested,
        same => same,
    }
}

/// How packets carry the state in the two ECN bits of the IP header. What each means beside other users of the bits is
/// told in `docs/theory/drq.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// The paper's: 00 initial, 10 signalling, 11 congestion. It takes the bits from everybody else: RFC 3168 senders
    /// send 10, which here is "signalling". For simulation, and for networks without RFC 3168.
    Paper,
    /// Of RFC 3168's code points: ECT(0) = 10 initial, ECT(1) = 01 signalling, CE = 11 congestion; 00 is a sender
    /// without ECN, whose packets carry no state from box to box. For a chain of boxes whose senders all use
    /// ECT(0); the last must restore it with [`Encoding::restore`].
    Rfc3168,
    /// The state rides beside the packet inside one box and only CE leaves it: a sender's ECT(0) or ECT(1) comes out as
    /// it came in. The choice for anything live.
    Metadata,
}

/// What an ECN field says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The packet's state.
    pub congestion: Congestion,
    /// Whether the sender understands marks. The paper's encoding does not tell; there it is `None` and somebody else
    /// must know.
    pub ecn_capable: Option<bool>,
}

impl Encoding {
    /// What a packet that comes in with this ECN field (the lower two bits) says.
    pub const fn read(self, field: u8) -> Reading {
        use Congestion::{Congested, Initial, Signalled};
        let congestion = match (self, field & 3) {
            (_, 0b11) => Congested,
            (Self::Paper, 0b10) | (Self::Rfc3168, 0b01) => Signalled,
            _ => Initial,
        };
        let ecn_capable = match self {
            Self::Paper => None,
            Self::Rfc3168 | Self::Metadata => Some(field & 3 != 0),
        };
        Reading { congestion, ecn_capable }
    }

    /// The ECN field with which a packet that came with `field` leaves in this state. A sender without ECN (00) keeps
    /// 00 with RFC 3168 and metadata: what would be congestion-marked was dropped.
    pub const fn write(self, field: u8, congestion: Congestion) -> u8 {
        use Congestion::{Congested, Initial, Signalled};
        match (self, field & 3, congestion) {
            (Self::Paper, _, Initial) => 0b00,
            (Self::Paper, _, Signalled) => 0b10,
            (Self::Paper, _, Congested) => 0b11,
            (Self::Rfc3168 | Self::Metadata, 0b00, _) => 0b00,
            (Self::Rfc3168 | Self::Metadata, _, Congested) => 0b11,
            (Self::Rfc3168, _, Initial) => 0b10,
            (Self::Rfc3168, _, Signalled) => 0b01,
            (Self::Metadata, field, _) => field,
        }
    }

    /// The ECN field with which a packet leaves the last DRQ box: no signal goes further.
    pub const fn restore(self, field: u8) -> u8 {
        match (self, field & 3) {
            (Self::Paper, 0b10) => 0b00,
            (Self::Rfc3168, 0b01) => 0b10,
            (_, field) => field,
        }
    }
}
