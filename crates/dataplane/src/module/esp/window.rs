//! Which sequence numbers have come (RFC 4303 section 3.4.3, in blocks as RFC 6479 proposes).

/// Bits of a block.
const BLOCK: u32 = 64;

/// The last so many sequence numbers.
#[derive(Clone, Debug)]
pub(super) struct ReplayWindow {
    highest: u32,
    size: u32,
    /// Bit `n % 64` of block `n / 64`, in turn: `n` has come. One block more than the window needs, so that whole ones
    /// can be emptied.
    seen: Vec<u64>,
}

impl ReplayWindow {
    pub fn new(size: u32) -> Self {
        let blocks = size.div_ceil(BLOCK) + 1;
        Self { highest: 0, size, seen: vec![0; blocks as usize] }
    }

    fn place(&self, sequence: u32) -> (usize, u64) {
        ((sequence / BLOCK) as usize % self.seen.len(), 1 << (sequence % BLOCK))
    }

    pub fn is_new(&self, sequence: u32) -> bool {
        let (block, bit) = self.place(sequence);
        match self.highest.checked_sub(sequence) {
            _ if sequence == 0 => false,
            None => true,
            Some(age) => age < self.size && self.seen[block] & bit == 0,
        }
    }

    /// It has come; it is new.
    pub fn note(&mut self, sequence: u32) {
        if sequence > self.highest {
            let (from, to) = (self.highest / BLOCK, sequence / BLOCK);
            let blocks = self.seen.len() as u32;
            (0..(to - from).min(blocks)).for_each(|back| self.seen[((to - back) % blocks) as usize] = 0);
            self.highest = sequence;
        }
        let (block, bit) = self.place(sequence);
        self.seen[block] |= bit;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// As a set of all numbers that have come.
        #[test]
        fn it_knows_what_has_come(size in 32u32..300, steps in prop::collection::vec((0u32..700, 0u32..400), 1..200)) {
            let (mut window, mut come, mut highest) = (ReplayWindow::new(size), BTreeSet::new(), 0u32);
            for (ahead, back) in steps {
                let sequence = (highest + ahead).saturating_sub(back);
                let expected = sequence > 0 && !come.contains(&sequence) && sequence + size > highest;
                prop_assert_eq!(window.is_new(sequence), expected, "{} of {}", sequence, highest);
                if expected {
                    window.note(sequence);
                    come.insert(sequence);
                    highest = highest.max(sequence);
                }
            }
        }
    }

    #[test]
    fn the_last_numbers_are_numbers_too() {
        let mut window = ReplayWindow::new(1024);
        for sequence in [1, u32::MAX - 1000, u32::MAX, u32::MAX - 1] {
            assert!(window.is_new(sequence));
            window.note(sequence);
            assert!(!window.is_new(sequence));
        }
        assert!(!window.is_new(u32::MAX - 1024) && window.is_new(u32::MAX - 1023) && !window.is_new(1));
    }
}
