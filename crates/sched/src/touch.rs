//! Reading ahead. With more flows than the caches hold, a packet waits for its flow's record, then for the packet that
//! it joins or follows, then for the flow's place in the order: one miss after another. A burst reads a word of each of
//! these for all its packets first, so that the processor waits for many of them at the same time. A single call reads
//! one of them for each of a few flows that come later.
//!
//! These are plain reads, whose values nobody uses: safe, and with an order of instructions that the processor chooses
//! itself nearly as good as prefetching.

use core::hint::black_box;

/// How many flows there are to be for reading ahead to pay: fewer are in the caches anyway, and it would only cost.
#[derive(Clone, Copy, Debug)]
pub struct Worth {
    /// In bursts.
    pub in_bursts: usize,
    /// In single calls.
    pub singly: usize,
}

/// Where only bursts read ahead.
pub const IN_BURSTS: Worth = Worth { in_bursts: 8192, singly: usize::MAX };

/// Where flows have turns.
pub const BY_TURNS: Worth = Worth { in_bursts: 8192, singly: 8192 };

/// Where the flows to come are looked for in a tournament, which takes longer.
pub const BY_TAGS: Worth = Worth { in_bursts: 16_384, singly: 131_072 };

/// Where a fluid puts packets into an order of service.
pub const BY_FLUID: Worth = Worth { in_bursts: 8192, singly: 131_072 };

/// How many flows there are to be for reading ahead what the fluid looks at next to pay.
pub const UPCOMING_FROM: usize = 32_768;

/// The most packets for which is read ahead.
pub const MOST: usize = 64;

/// The most flows that are looked at ahead: half as many again, as they are a guess.
const MOST_FLOWS: usize = MOST + MOST / 2;

/// Read a word ahead.
#[inline]
pub fn word<T: Copy>(value: &T) {
    black_box(*value);
}

/// Flows that are likely to be served next, in no particular order.
#[derive(Debug)]
pub struct Ahead {
    /// And a place that is written whenever there are as many as are looked at.
    flows: [u32; MOST_FLOWS + 1],
    count: usize,
}

impl Default for Ahead {
    fn default() -> Self {
        Self { flows: [0; MOST_FLOWS + 1], count: 0 }
    }
}

impl Ahead {
    /// One more, as long as there is room.
    #[inline]
    pub fn push(&mut self, flow: u32) {
        self.push_if(true, flow);
    }

    /// The same, if it `is` one: without a branch, where nobody could guess it.
    #[inline]
    pub fn push_if(&mut self, is: bool, flow: u32) {
        self.flows[self.count] = flow;
        self.count = (self.count + usize::from(is)).min(MOST_FLOWS);
    }

    /// These flows.
    #[inline]
    pub fn flows(&self) -> &[u32] {
        &self.flows[..self.count]
    }
}
