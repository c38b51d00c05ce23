//! Ticks of virtual and of fluid time, and floating point, which is used for rates only.

use dovetail_units::Time;

use crate::tag::TICK_BITS;

/// As `value as f64`; most values have 63 bits, from which the processor converts itself.
#[inline]
pub(super) fn to_f64(value: u128) -> f64 {
    i64::try_from(value).map_or_else(|_| wide_to_f64(value), |value| value as f64)
}

/// Apart, or the compiler takes both ways for one.
#[cold]
#[inline(never)]
fn wide_to_f64(value: u128) -> f64 {
    value as f64
}

/// What is left of a head, or nothing if it has ended, as a number.
#[inline]
fn left_to_f64(left: i128) -> f64 {
    i64::try_from(left as u128).map_or_else(|_| wide_to_f64(left.max(0) as u128), |left| left as f64)
}

/// So long it takes at this rate to serve what is left, beyond the part of a tick that has been.
#[inline]
pub(super) fn until(left: i128, part: f64, rate: f64) -> f64 {
    if rate > 0.0 { (left_to_f64(left) - part) / rate } else { f64::INFINITY }
}

/// The lesser of two numbers, neither of which is NaN: one instruction.
#[inline]
pub(super) fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// As `value as u128`.
#[inline]
pub(super) fn to_u128(value: f64) -> u128 {
    if value < i64::MAX as f64 { (value as i64).max(0) as u128 } else { wide_to_u128(value) }
}

#[cold]
#[inline(never)]
fn wide_to_u128(value: f64) -> u128 {
    value as u128
}

/// The first instant that is not before this many ticks.
pub(super) fn in_time(ticks: u128) -> Time {
    Time::from_nanos(u64::try_from(ticks.div_ceil(1 << TICK_BITS)).unwrap_or(u64::MAX))
}

/// An instant in ticks.
pub(super) fn in_ticks(time: Time) -> u128 {
    u128::from(time.as_nanos()) << TICK_BITS
}

/// Whole ticks of what is served in addition to `part` of one, and the part of a tick that is left.
#[inline]
pub(super) fn whole_ticks(part: &mut f64, served: f64) -> u128 {
    let total = *part + served;
    if total < i64::MAX as f64 {
        // Neither is below nothing.
        let whole = total as i64;
        *part = total - whole as f64;
        return (whole as u64).into();
    }
    let whole = wide_to_u128(total);
    *part = total - wide_to_f64(whole);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_one_word_are_no_exception() {
        let word = i128::from(i64::MAX);
        for left in [i128::MIN, -word, -1, 0, 1, (1 << 53) + 1, word, word + 1, 1 << 95] {
            assert_eq!(left_to_f64(left), left.max(0) as f64, "{left}");
        }
        for served in [0.0, 0.25, 3.75, 1e15, 9.2e18, 9.3e18, 1e30] {
            for before in [0.0, 0.5, 0.999] {
                let (mut part, total) = (before, before + served);
                assert_eq!(whole_ticks(&mut part, served), total as u128, "{served} and {before}");
                assert_eq!(part, total - total as u128 as f64, "{served} and {before}");
            }
        }
    }

    #[test]
    fn nothing_ends_at_a_rate_of_nothing() {
        assert_eq!([until(3, 0.5, 0.25), until(-3, 0.5, 0.25)], [10.0, -2.0]);
        assert_eq!(until(3, 0.5, 0.0), f64::INFINITY);
    }
}
