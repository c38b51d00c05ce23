//! Virtual time, exactly: processing time divided by weight.
//!
//! A tag counts ticks of 2^-22 ns in 96 bits. What a division by a weight leaves below a tick is kept with the tag and
//! carried to its next move, so the sum of any number of moves is right to one tick, whatever the weights and the
//! times. With the smallest weight (0.001) and nothing else backlogged a tag passes its range after 584 years; it stays
//! there then.

use core::hint::cold_path;

use dovetail_units::Weight;

/// A tag counts 2^-22 ns.
pub const TICK_BITS: u32 = 22;
/// Ticks times thousandths of weight in a nanosecond.
const PER_NANO: i64 = 1000 << TICK_BITS;
/// The last tick.
const LAST: u128 = (1 << 96) - 1;

/// A virtual time, which saturates at both ends. Tags are ordered by [`ticks`](Self::ticks), without the part of a
/// tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tag {
    low: u64,
    high: u32,
    /// What is left below a tick, in thousandths of the weight by which was last divided.
    part: u32,
}

impl Tag {
    /// At this tick, at most the last one of 2^96.
    #[inline]
    pub fn at(ticks: u128) -> Self {
        Self::default().at_tick(ticks)
    }

    /// At this tick, with the same part of a tick.
    #[inline]
    pub fn at_tick(self, ticks: u128) -> Self {
        let ticks = ticks.min(LAST);
        Self { low: ticks as u64, high: (ticks >> 64) as u32, part: self.part }
    }

    /// Whole ticks: below 2^96.
    #[inline]
    pub fn ticks(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }

    /// Moved by `nanos / weight`, which may be negative; `nanos` is less than 2^62 either way.
    #[must_use]
    #[inline]
    pub fn moved(self, nanos: i64, weight: Weight) -> Self {
        let (ticks, part) = virtual_time(nanos, weight, self.part);
        Self { part, ..self.further(ticks) }
    }

    /// So many whole ticks further on, which are less than 2^100 either way.
    #[must_use]
    #[inline]
    pub fn further(self, ticks: i128) -> Self {
        let mut ticks = self.ticks() as i128 + ticks;
        // As unsigned, what is below zero is beyond the last one too.
        if ticks as u128 > LAST {
            cold_path();
            ticks = ticks.clamp(0, LAST as i128);
        }
        Self { low: ticks as u64, high: (ticks >> 64) as u32, part: self.part }
    }

    /// Where it is when the weight, which was `old` until `now`, becomes `new`: the work from then to there, or back,
    /// is the same.
    #[must_use]
    pub fn rescaled(self, now: u128, old: Weight, new: Weight) -> Self {
        // Less than 2^96 times 2^30.
        let by = |ticks: u128| ticks * u128::from(old.as_milli()) / u128::from(new.as_milli());
        match self.ticks() >= now {
            true => Self::at(now.saturating_add(by(self.ticks() - now))),
            false => Self::at(now.saturating_sub(by(now - self.ticks()))),
        }
    }

    /// No earlier than `ticks`.
    #[must_use]
    #[inline]
    pub fn at_least(self, ticks: u128) -> Self {
        if self.ticks() < ticks { Self::at(ticks) } else { self }
    }
}

/// `nanos / weight` and `part` of a tick: whole ticks, and the part of a tick that is left, in thousandths of the
/// weight. `nanos` is less than 2^62 either way.
#[inline]
pub fn virtual_time(nanos: i64, weight: Weight, part: u32) -> (i128, u32) {
    if weight != Weight::ONE {
        cold_path();
        return divided(nanos, weight.as_milli(), part);
    }
    // What is left stays, as far as there can be so much by this weight.
    let most = Weight::ONE.as_milli() - 1;
    let part = if part > most {
        cold_path();
        most
    } else {
        part
    };
    (i128::from(nanos) << TICK_BITS, part)
}

#[inline(never)]
fn divided(nanos: i64, milli: u32, part: u32) -> (i128, u32) {
    let part = part.min(milli - 1);
    match u64::try_from(nanos).ok().and_then(|nanos| nanos.checked_mul(PER_NANO as u64)?.checked_add(part.into())) {
        Some(n) => (i128::from(n / u64::from(milli)), (n % u64::from(milli)) as u32),
        None => {
            let (n, milli) = (i128::from(nanos) * i128::from(PER_NANO) + i128::from(part), i128::from(milli));
            (n.div_euclid(milli), n.rem_euclid(milli) as u32)
        }
    }
}

/// The time of which `ticks` is the virtual time at this weight, in whole nanoseconds; below 2^64.
pub fn nanos(ticks: u128, weight: Weight) -> u64 {
    let nanos = ticks.saturating_mul(u128::from(weight.as_milli())) / PER_NANO as u128;
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(milli: u32) -> Weight {
        Weight::from_milli(milli).unwrap()
    }

    #[test]
    fn a_million_moves_are_as_exact_as_one() {
        for (nanos, milli) in [(1, 1_000_000_000), (200, 66_000_000), (30, 7), (1, 3), (1 << 40, 1), (17, 999_999_999)]
        {
            let mut tag = Tag::at(5);
            (0..1_000_000).for_each(|_| tag = tag.moved(nanos, weight(milli)));
            let ticks = i128::from(nanos) * 1_000_000 * i128::from(PER_NANO) / i128::from(milli);
            assert_eq!(tag.ticks(), 5 + ticks as u128, "{nanos} ns by {milli}/1000");
            (0..1_000_000).for_each(|_| tag = tag.moved(-nanos, weight(milli)));
            assert_eq!(tag.ticks(), 5, "back by {nanos} ns by {milli}/1000");
        }
    }

    #[test]
    fn a_weight_of_one_is_no_exception() {
        let both = |nanos, part| [virtual_time(nanos, Weight::ONE, part), divided(nanos, 1000, part)];
        for nanos in [0, 1, -1, 999, -1_000_000_007, 1 << 40, -(1 << 40), (1 << 62) - 1, 1 - (1 << 62)] {
            for part in [0, 1, 500, 999, 1000, 77_777] {
                let [short, long] = both(nanos, part);
                assert_eq!(short, long, "{nanos} ns and {part}");
            }
        }
    }

    #[test]
    fn both_ends_hold() {
        assert_eq!(Tag::at(3).moved(-1, Weight::ONE).ticks(), 0);
        assert_eq!(Tag::at(u128::MAX).moved(1 << 61, weight(1)), Tag { part: 0, ..Tag::at(LAST) });
    }

    #[test]
    fn a_tag_takes_sixteen_bytes() {
        assert_eq!(size_of::<Tag>(), 16);
    }
}
