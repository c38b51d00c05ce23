//! How long frames stayed: since the box started, in the last minute, and in the last second.
//!
//! A frame is counted once, in the half second that goes on. When that is over its counts go to the half minute or
//! ten seconds that go on, and to those since the start: so what a frame costs does not depend on how many windows
//! there are.

use dovetail_units::{Duration, Time};
use hdrhistogram::Histogram;

/// The longest latency that is told apart from longer ones.
const LONGEST: u64 = 60_000_000_000;

/// The shortest latency that is told apart from shorter ones.
const SHORTEST: u64 = 1_000;

/// The last second is made of two of these.
const HALF: u64 = 500_000_000;

/// Half seconds of a minute.
const MINUTE: u64 = 120;

/// A flow has windows once so many of its frames have left: one of a few packets, of which a flood can bring very
/// many, has none.
const FEW: u64 = 32;

fn empty(digits: u8) -> Histogram<u32> {
    let histogram = Histogram::new_with_bounds(SHORTEST, LONGEST, digits);
    #[expect(clippy::expect_used, reason = "the bounds are constants that the library takes")]
    histogram.expect("constant bounds")
}

fn add(to: &mut Histogram<u32>, more: &Histogram<u32>) {
    // All tell apart the same range.
    let _ = to.add(more);
}

/// How finely latencies are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// Of a class: two decimal digits, the last minute in parts of ten seconds.
    Class,
    /// Of a flow, of which there are many: one digit, halves of a minute.
    Flow,
}

impl Detail {
    fn digits(self) -> u8 {
        if self == Self::Class { 2 } else { 1 }
    }

    /// Parts of the last minute.
    fn parts(self) -> u64 {
        if self == Self::Class { 6 } else { 2 }
    }
}

/// Latencies of the frames that left, nanoseconds.
#[derive(Clone, Debug)]
pub struct Latencies {
    detail: Detail,
    /// The number of the half second that goes on, since time zero.
    half: u64,
    /// In that half second, where there are windows; else there is no place to count anything.
    now: Counts,
    /// Since the start, but for the half second that goes on.
    all: Histogram<u32>,
    windows: Option<Box<Windows>>,
}

/// What is over of the last minute.
#[derive(Clone, Debug)]
struct Windows {
    /// The half second before.
    last: Histogram<u32>,
    /// Parts of a minute with their numbers, in turn.
    parts: Vec<(u64, Histogram<u32>)>,
}

/// Counts of the values that a [`Histogram`] tells apart, at the places at which it has them, behind one for zero. To
/// count a frame here takes a third of the instructions that it takes there, where the largest and the smallest value
/// are kept as well.
#[derive(Clone, Debug)]
struct Counts {
    counts: Vec<u32>,
    /// A value is told from others by its first bit and so many further ones.
    bits: u32,
}

/// Latencies of three stretches of time until some instant.
#[derive(Clone, Debug)]
pub struct Stays {
    /// Since the start.
    pub all: Histogram<u32>,
    /// Of the last half second to second.
    pub second: Histogram<u32>,
    /// Of the last minute: of a class of the last 50 to 60 s, of a flow of the last 30 to 60 s.
    pub minute: Histogram<u32>,
}

impl Latencies {
    /// None yet.
    pub fn new(detail: Detail) -> Self {
        let all = empty(detail.digits());
        let mut latencies = Self { detail, half: 0, now: Counts::nowhere(), all, windows: None };
        if detail == Detail::Class {
            latencies.open_windows();
        }
        latencies
    }

    fn open_windows(&mut self) {
        self.now = Counts::new(self.detail);
        self.windows = Some(Box::new(Windows::new(self.detail)));
    }

    /// A frame left now, which had stayed for so long.
    #[inline]
    pub fn count(&mut self, now: Time, stayed: Duration) {
        if now.as_nanos().wrapping_sub(self.half * HALF) >= HALF {
            self.end_half(now.as_nanos() / HALF);
        }
        if !self.now.count(stayed.as_nanos()) {
            self.count_elsewhere(stayed.as_nanos());
        }
    }

    /// The half second that went on is over, and this one goes on.
    #[cold]
    fn end_half(&mut self, half: u64) {
        if let Some(windows) = &mut self.windows {
            windows.last.reset();
            self.now.move_to(&mut windows.last);
            add(&mut self.all, &windows.last);
            windows.end_half(self.half, half);
        }
        self.half = half;
    }

    /// This has no place of its own: it is longer than the longest, or the flow has no windows yet.
    #[cold]
    fn count_elsewhere(&mut self, stayed: u64) {
        if self.windows.is_some() {
            self.now.count(LONGEST);
            return;
        }
        self.all.saturating_record(stayed);
        if self.all.len() >= FEW {
            self.open_windows();
        }
    }

    /// What is known now.
    pub fn at(&self, now: Time) -> Stays {
        let none = || empty(self.detail.digits());
        let mut stays = Stays { all: self.all.clone(), second: none(), minute: none() };
        if let Some(windows) = &self.windows {
            let mut going_on = none();
            self.now.add_to(&mut going_on);
            add(&mut stays.all, &going_on);
            windows.at(now, self.half, &going_on, &mut stays);
        }
        stays
    }
}

impl Counts {
    /// Of nothing.
    fn new(detail: Detail) -> Self {
        // All values below this have a place of their own; the first digits of longer ones tell them apart.
        let bits = (2 * 10_u32.pow(detail.digits().into())).next_power_of_two().ilog2() - 1;
        Self { counts: vec![0; 1 + empty(detail.digits()).distinct_values()], bits }
    }

    /// Without a place for any value.
    fn nowhere() -> Self {
        Self { counts: Vec::new(), bits: 0 }
    }

    /// One more of this value, if it has a place.
    #[inline]
    fn count(&mut self, value: u64) -> bool {
        let units = value >> SHORTEST.ilog2();
        let longer = (units >> self.bits | 1).ilog2();
        let place = ((longer as usize) << self.bits) + (units >> longer) as usize + usize::from(value > 0);
        let Some(count) = self.counts.get_mut(place) else { return false };
        *count = count.saturating_add(1);
        true
    }

    /// The smallest value at this place.
    fn value(&self, place: usize) -> u64 {
        let Some(place) = place.checked_sub(1) else { return 0 };
        let longer = (place >> self.bits).saturating_sub(1);
        (((place - (longer << self.bits)) as u64) << longer << SHORTEST.ilog2()).max(1)
    }

    /// Count all in a histogram of the same detail as well.
    fn add_to(&self, histogram: &mut Histogram<u32>) {
        let counted = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        // It has the same places.
        counted.for_each(|(place, &count)| {
            let _ = histogram.record_n(self.value(place), count);
        });
    }

    /// Count all in a histogram of the same detail, and nothing here any more.
    fn move_to(&mut self, histogram: &mut Histogram<u32>) {
        self.add_to(histogram);
        self.counts.fill(0);
    }
}

impl Stays {
    /// Of nothing, as finely as of a class.
    pub fn none() -> Self {
        let none = || empty(Detail::Class.digits());
        Self { all: none(), second: none(), minute: none() }
    }

    /// Those of both.
    pub fn add(&mut self, other: &Self) {
        add(&mut self.all, &other.all);
        add(&mut self.second, &other.second);
        add(&mut self.minute, &other.minute);
    }
}

impl Windows {
    fn new(detail: Detail) -> Self {
        let none = || empty(detail.digits());
        Self { last: none(), parts: (0..detail.parts()).map(|_| (0, none())).collect() }
    }

    /// Half seconds of a part of a minute.
    fn length(&self) -> u64 {
        MINUTE / self.parts.len() as u64
    }

    /// `ended`, which is the last one, is over, and the half second `half` goes on.
    fn end_half(&mut self, ended: u64, half: u64) {
        if !self.last.is_empty() {
            let number = ended / self.length();
            let place = (number % self.parts.len() as u64) as usize;
            let part = &mut self.parts[place];
            if part.0 != number {
                part.0 = number;
                part.1.reset();
            }
            add(&mut part.1, &self.last);
        }
        if half != ended + 1 {
            self.last.reset();
        }
    }

    /// The half second `current` is `going_on`.
    fn at(&self, now: Time, current: u64, going_on: &Histogram<u32>, stays: &mut Stays) {
        let half = now.as_nanos() / HALF;
        if half == current {
            add(&mut stays.second, &self.last);
        }
        if half <= current + 1 {
            add(&mut stays.second, going_on);
        }
        let (number, parts) = (half / self.length(), self.parts.len() as u64);
        let is_recent = |part: u64| part + parts > number;
        self.parts.iter().filter(|(part, _)| is_recent(*part)).for_each(|(_, part)| add(&mut stays.minute, part));
        if is_recent(current / self.length()) {
            add(&mut stays.minute, going_on);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * MS)
    }

    /// Frames since the start, of the last minute and of the last second, and the median of the last second in ms.
    fn counts(latencies: &Latencies, ms: u64) -> ([u64; 3], u64) {
        let stays = latencies.at(at(ms));
        ([&stays.all, &stays.minute, &stays.second].map(Histogram::len), stays.second.value_at_quantile(0.5) / MS)
    }

    #[test]
    fn what_was_slow_a_while_ago_is_no_longer_in_the_windows() {
        for detail in [Detail::Class, Detail::Flow] {
            let mut latencies = Latencies::new(detail);
            // A hundred frames a second: ten seconds of 500 ms each, then of 1 ms each.
            let mut leave = |from: u64, until: u64, stayed: u64| {
                (from..until).for_each(|k| latencies.count(at(1000 + 10 * k), Duration::from_nanos(stayed * MS)));
                counts(&latencies, 1000 + 10 * until - 1)
            };
            let ([all, _, second], median) = leave(0, 1000, 500);
            assert!(all == 1000 && (50..=100).contains(&second), "{detail:?} {second}");
            assert!((490..=530).contains(&median), "{detail:?} {median}");
            let (_, median) = leave(1000, 1200, 1);
            assert!(median <= 1, "{detail:?} {median}");
            let ([all, minute, _], _) = leave(1200, 20_000, 1);
            assert_eq!(all, 20_000);
            let window = if detail == Detail::Class { 5000..=6000 } else { 3000..=6000 };
            assert!(window.contains(&minute), "{detail:?} {minute}");
        }
    }

    proptest! {
        #[test]
        fn counts_are_those_of_a_histogram(values in prop::collection::vec((0..64_u32, any::<u64>()), 1..40)) {
            for detail in [Detail::Class, Detail::Flow] {
                let [mut histogram, mut added] = [(); 2].map(|()| empty(detail.digits()));
                let mut counts = Counts::new(detail);
                for value in values.iter().map(|(bits, value)| value >> bits) {
                    if !counts.count(value) {
                        counts.count(LONGEST);
                    }
                    histogram.saturating_record(value);
                }
                counts.add_to(&mut added);
                prop_assert_eq!(&added, &histogram);
                prop_assert_eq!((added.min(), added.max()), (histogram.min(), histogram.max()));
            }
        }
    }

    #[test]
    fn windows_are_empty_once_nothing_leaves_any_more() {
        let mut latencies = Latencies::new(Detail::Class);
        (0..100).for_each(|k| latencies.count(at(1000 + k), Duration::from_nanos(MS)));
        assert_eq!(counts(&latencies, 1100).0, [100; 3]);
        assert_eq!(counts(&latencies, 2000).0, [100, 100, 0]);
        assert_eq!(counts(&latencies, 70_000).0, [100, 0, 0]);
        latencies.count(at(70_000), Duration::from_nanos(MS));
        assert_eq!(counts(&latencies, 70_100).0, [101, 1, 1]);
    }

    #[test]
    fn a_flow_of_few_frames_has_no_windows() {
        let mut latencies = Latencies::new(Detail::Flow);
        (0..FEW - 1).for_each(|k| latencies.count(at(1000 + k), Duration::from_nanos(MS)));
        assert!(latencies.windows.is_none());
        (0..FEW).for_each(|k| latencies.count(at(1100 + k), Duration::from_nanos(MS)));
        assert_eq!(counts(&latencies, 1200).0, [2 * FEW - 1, FEW - 1, FEW - 1]);
    }
}
