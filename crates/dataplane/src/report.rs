//! What a run of the box comes to.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::core::{Account, Snapshot};
use crate::live::Totals;
use crate::port::PortCounters;

/// The version of [`Report`]'s form.
pub const SCHEMA: u32 = 1;

/// All accounts of a box.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// For how long it ran, seconds.
    pub ran_s: f64,
    /// The scheduled direction.
    pub forward: Snapshot,
    /// The other direction.
    pub reverse: Reverse,
    /// The ports `in` and `out`.
    pub ports: BTreeMap<&'static str, Port>,
    /// Scheduled frames that came in and are neither sent, nor dropped, nor held: 0.
    pub unaccounted: i64,
}

/// The direction that is not scheduled.
#[derive(Clone, Debug, Serialize)]
pub struct Reverse {
    /// Frames that came in.
    pub frames_in: u64,
    /// Frames that went out.
    pub frames_out: u64,
    /// Frames that were dropped, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Frames that are kept for their delay.
    pub held: u64,
}

/// What a port counted.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Port {
    /// Frames that it brought.
    pub received: u64,
    /// Frames that were lost before anybody saw them.
    pub missed: u64,
    /// Frames that were longer than a buffer.
    pub oversize: u64,
    /// Frames that it sent.
    pub sent: u64,
    /// Frames that the interface refused.
    pub unsent: u64,
}

impl Report {
    /// From the accounts of a box that ran for so many seconds.
    pub fn new(totals: Totals, ran_s: f64) -> Self {
        let unaccounted = unaccounted(&totals);
        let Totals { forward, reverse, inside, outside, .. } = totals;
        let ports = [("in", port(inside)), ("out", port(outside))].into();
        Self { schema: SCHEMA, ran_s, forward, reverse: other(&reverse), ports, unaccounted }
    }
}

/// Frames that came in less those that are sent, dropped or held, by the counts of the ports.
fn unaccounted(totals: &Totals) -> i64 {
    let frames = &totals.forward.total;
    let dropped: u64 = frames.dropped.values().sum();
    let out = totals.outside.sent + totals.outside.unsent + totals.outgoing;
    totals.inside.received as i64 - (out + dropped + frames.held) as i64
}

fn other(account: &Account) -> Reverse {
    let dropped = account.drops.iter().collect();
    Reverse { frames_in: account.frames_in, frames_out: account.frames_out, dropped, held: account.held() }
}

fn port(counters: PortCounters) -> Port {
    let PortCounters { received, missed, oversize, sent, unsent } = counters;
    Port { received, missed, oversize, sent, unsent }
}
