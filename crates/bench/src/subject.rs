//! What is measured: packets come and go.

use dovetail_testkit::random::Random;

use crate::frames::{Frames, shuffle};

/// Packets in each flow's queue, on average.
pub const BACKLOG: usize = 4;
/// The most packets that come before as many go.
pub const LONGEST_BURST: usize = 32;

/// Something that packets pass through.
pub trait Subject {
    /// So many packets come, at most [`LONGEST_BURST`], and as many go; what was read of these.
    fn turn(&mut self, burst: usize) -> u64;

    /// So many turns, in one call.
    fn turns(&mut self, turns: usize, burst: usize) -> u64 {
        (0..turns).map(|_| self.turn(burst)).sum()
    }
}

/// Which flow's packet comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrivals {
    /// Any flow's: neutral.
    Random,
    /// That of the flow just served, whose record is hot.
    Served,
    /// Any flow's, and nothing waits when it comes.
    Alone,
}

/// Flows that send packets, and the packets' frames.
pub struct Senders {
    pub frames: Frames,
    flows: usize,
    random: Random,
    pub draws: Draws,
}

/// Random numbers of a linear congruential generator: what the loop itself draws costs a few instructions. Who draws
/// many takes a copy, and puts it back: each number waits for the one before, which is then in a register.
#[derive(Clone, Copy)]
pub struct Draws(u64);

impl Draws {
    /// A number below `bound`, which is below 2^32.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 32) * bound) >> 32
    }
}

impl Senders {
    pub fn new(flows: usize, mut random: Random) -> Self {
        let frames = Frames::new(flows * BACKLOG + LONGEST_BURST, &mut random);
        let draws = Draws(random.bits());
        Self { frames, flows, random, draws }
    }

    /// The flows of the packets that wait at the beginning.
    pub fn first(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.flows * BACKLOG).map(|k| k % self.flows).collect();
        shuffle(&mut order, &mut self.random);
        order
    }

    /// Some flow.
    pub fn flow(&mut self) -> usize {
        self.draws.below(self.flows as u64) as usize
    }
}
