//! What a run of the box comes to.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::core::{Account, Snapshot};
use crate::live::Totals;

/// The version of [`Report`]'s form.
pub const SCHEMA: u32 = 1;

/// All accounts of a box.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// For how long it ran, seconds, until it had sent what it held when it was told to stop.
    pub ran_s: f64,
    /// The scheduled direction.
    pub forward: Snapshot,
    /// The other direction.
    pub reverse: Reverse,
    /// As in `forward`: 0.
    pub unaccounted: i64,
}

/// The direction that is not scheduled.
#[derive(Clone, Debug, Serialize)]
pub struct Reverse {
    /// Frames that came in.
    pub frames_in: u64,
    /// Frames that the box made itself: what it told senders.
    pub frames_made: u64,
    /// Frames that went out: to the port, or to wait for it.
    pub frames_out: u64,
    /// Of these, frames that wait for the port.
    pub outgoing: u64,
    /// Frames that were dropped, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Frames that are kept for their delay.
    pub held: u64,
}

impl Report {
    /// From the accounts of a box that ran for so many seconds.
    pub fn new(totals: Totals, ran_s: f64) -> Self {
        let Totals { forward, reverse, returning } = totals;
        Self { schema: SCHEMA, ran_s, unaccounted: forward.unaccounted, forward, reverse: other(&reverse, returning) }
    }
}

fn other(account: &Account, outgoing: u64) -> Reverse {
    let dropped = account.drops.iter().collect();
    let Account { frames_in, frames_made, frames_out, .. } = *account;
    Reverse { frames_in, frames_made, frames_out, outgoing, dropped, held: account.held() }
}
