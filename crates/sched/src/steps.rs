//! How much a call does, counted and not timed: in builds with debug assertions every pass of a loop whose length
//! depends on flows or packets is a step, and so is every look at the record of a flow or of a packet that waits, by
//! which also a loop is seen that does not count itself.
//!
//! The count is one for the whole program: compare it before and after a call while no other thread uses a scheduler.
//! In other builds nothing is counted.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Steps so far; always 0 in builds without debug assertions.
pub fn taken() -> u64 {
    TAKEN.load(Relaxed)
}

/// So many steps are taken.
#[inline]
pub(crate) fn take(steps: usize) {
    if cfg!(debug_assertions) {
        TAKEN.fetch_add(steps as u64, Relaxed);
    }
}
