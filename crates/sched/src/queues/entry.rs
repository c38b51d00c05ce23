//! What heap and tournament keep of a flow.

use core::hint::select_unpredictable;

use dovetail_units::Time;

/// What flows are ordered by.
pub trait Key: Copy + Ord {
    /// None is greater.
    const LAST: Self;
}

impl Key for u64 {
    const LAST: Self = Self::MAX;
}

impl Key for u128 {
    const LAST: Self = Self::MAX;
}

impl<const M: usize> Key for [u128; M] {
    const LAST: Self = [u128::MAX; M];
}

impl Key for Time {
    const LAST: Self = Self::MAX;
}

/// The key and its index, which is below 2^32 - 1, in one.
pub trait Entry<K>: Copy + Ord {
    /// Greater than that of any flow.
    const NONE: Self;
    /// The part that is handed over first. A function gets both parts in registers; a large entry as a whole would go
    /// through memory.
    type Parts: Copy;
    /// The other part; `()` if there is none.
    type Rest: Copy;
    /// Take it apart.
    fn parts(self) -> (Self::Parts, Self::Rest);
    /// Put it together again.
    fn whole(parts: Self::Parts, rest: Self::Rest) -> Self;
    /// Ordered by key, equal keys by index.
    fn new(key: K, flow: u32) -> Self;
    /// The key.
    fn key(self) -> K;
    /// The flow's index.
    fn flow(self) -> u32;
    /// Whether it is [`NONE`](Self::NONE).
    #[inline]
    fn is_none(self) -> bool {
        self.flow() == u32::MAX
    }
    /// As `<`, without a branch where the key allows it.
    fn precedes(&self, other: &Self) -> bool;
    /// The first or the second one.
    #[inline]
    fn select(is_first: bool, first: Self, second: Self) -> Self {
        select_unpredictable(is_first, first, second)
    }
}

impl<K: Key> Entry<K> for (K, u32) {
    const NONE: Self = (K::LAST, u32::MAX);
    type Parts = K;
    type Rest = u32;

    #[inline]
    fn parts(self) -> (K, u32) {
        self
    }

    #[inline]
    fn whole(key: K, flow: u32) -> Self {
        (key, flow)
    }

    fn new(key: K, flow: u32) -> Self {
        (key, flow)
    }

    fn key(self) -> K {
        self.0
    }

    fn flow(self) -> u32 {
        self.1
    }

    #[inline]
    fn precedes(&self, other: &Self) -> bool {
        (self.0 < other.0) | ((self.0 == other.0) & (self.1 < other.1))
    }
}

/// A key below 2^96 and the flow's index in 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Packed(u128);

impl Entry<u128> for Packed {
    const NONE: Self = Self(u128::MAX);
    type Parts = Self;
    type Rest = ();

    #[inline]
    fn parts(self) -> (Self, ()) {
        (self, ())
    }

    #[inline]
    fn whole(entry: Self, (): ()) -> Self {
        entry
    }

    #[inline]
    fn new(key: u128, flow: u32) -> Self {
        debug_assert!(key >> 96 == 0);
        Self(key << 32 | u128::from(flow))
    }

    #[inline]
    fn key(self) -> u128 {
        self.0 >> 32
    }

    #[inline]
    fn flow(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    fn precedes(&self, other: &Self) -> bool {
        self.0 < other.0
    }
}

/// More flows had to be moved than were allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unfinished;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_entry_keeps_both_to_the_last_bit() {
        let last = (1 << 96) - 1;
        for (key, flow) in [(0, 0), (last, u32::MAX), (last, 0), (0, u32::MAX), (1 << 95, 77)] {
            let entry = Packed::new(key, flow);
            assert_eq!((entry.key(), entry.flow()), (key, flow));
        }
        assert!(Packed::new(1, 0) > Packed::new(0, u32::MAX));
    }
}
