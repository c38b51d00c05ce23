//! Reading ahead. With more flows than the caches hold, a packet waits for its flow's record, then for the packet that
//! it joins or follows, then for the flow's place in the order: one miss after another. A burst reads a word of each of
//! these for all its packets first, so that the processor waits for many of them at the same time.
//!
//! These are plain reads, whose values nobody uses: safe, and with an order of instructions that the processor chooses
//! itself nearly as good as prefetching.

use core::hint::black_box;

/// Flows from which on reading ahead pays: fewer are in the caches anyway, and it would only cost.
pub const WORTH: usize = 8192;

/// The same where the flows to come are looked for in a tournament, which takes longer.
pub const WORTH_BY_TAGS: usize = 32_768;

/// The most flows that are looked at ahead.
pub const MOST: usize = 64;

/// Read a word ahead.
#[inline]
pub fn word<T: Copy>(value: &T) {
    black_box(*value);
}

/// Flows that are likely to be served next, in no particular order.
#[derive(Debug)]
pub struct Ahead {
    flows: [u32; MOST],
    count: usize,
}

impl Default for Ahead {
    fn default() -> Self {
        Self { flows: [0; MOST], count: 0 }
    }
}

impl Ahead {
    /// One more, as long as there are no more than [`MOST`].
    #[inline]
    pub fn push(&mut self, flow: u32) {
        if let Some(place) = self.flows.get_mut(self.count) {
            *place = flow;
            self.count += 1;
        }
    }

    /// These flows.
    #[inline]
    pub fn flows(&self) -> &[u32] {
        &self.flows[..self.count]
    }
}
