//! How much a call does, counted rather than timed. In builds with debug assertions, every pass of a loop whose length
//! depends on flows or packets is a step. So is every look at the record of a flow or of a waiting packet, which also
//! reveals loops that do not count themselves.
//!
//! There is one count for the whole program: compare it before and after a call while no other thread uses a scheduler.
//! Other builds count nothing.

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
