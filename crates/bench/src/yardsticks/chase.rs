//! One load after another, each from where the one before says: what a miss costs where nothing overlaps.

use dovetail_testkit::random::Random;

use crate::frames::shuffle;
use crate::subject::{BACKLOG, Subject};

/// As many lines of 64 bytes as there are packets, in a random cycle.
pub struct Chase {
    lines: Vec<[u64; 8]>,
    at: u64,
}

impl Chase {
    pub fn new(flows: usize, mut random: Random) -> Self {
        let count = flows * BACKLOG;
        let mut order: Vec<usize> = (0..count).collect();
        shuffle(&mut order, &mut random);
        let mut lines = vec![[0; 8]; count];
        for (k, &from) in order.iter().enumerate() {
            lines[from][0] = order[(k + 1) % count] as u64;
        }
        Self { lines, at: 0 }
    }
}

impl Subject for Chase {
    fn turn(&mut self, burst: usize) -> u64 {
        (0..burst).for_each(|_| self.at = self.lines[self.at as usize][0]);
        self.at
    }
}
