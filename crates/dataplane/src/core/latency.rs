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
    /// Since the start, but for the half second that goes on.
    all: Histogram<u32>,
    recent: Option<Box<Recent>>,
}

#[derive(Clone, Debug)]
struct Recent {
    /// The number of the half second that goes on, since time zero.
    half: u64,
    now: Histogram<u32>,
    /// The half second before.
    last: Histogram<u32>,
    /// Parts of a minute with their numbers, in turn.
    parts: Vec<(u64, Histogram<u32>)>,
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
        let recent = (detail == Detail::Class).then(|| Box::new(Recent::new(detail)));
        Self { detail, all: empty(detail.digits()), recent }
    }

    /// A frame left now, which had stayed for so long.
    pub fn count(&mut self, now: Time, stayed: Duration) {
        let stayed = stayed.as_nanos();
        match &mut self.recent {
            Some(recent) => {
                recent.go_on(now, &mut self.all);
                recent.now.saturating_record(stayed);
            }
            None => {
                self.all.saturating_record(stayed);
                if self.all.len() >= FEW {
                    self.recent = Some(Box::new(Recent::new(self.detail)));
                }
            }
        }
    }

    /// What is known now.
    pub fn at(&self, now: Time) -> Stays {
        let none = || empty(self.detail.digits());
        let mut stays = Stays { all: self.all.clone(), second: none(), minute: none() };
        if let Some(recent) = &self.recent {
            add(&mut stays.all, &recent.now);
            recent.at(now, &mut stays);
        }
        stays
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

impl Recent {
    fn new(detail: Detail) -> Self {
        let none = || empty(detail.digits());
        let parts = (0..detail.parts()).map(|_| (0, none())).collect();
        Self { half: 0, now: none(), last: none(), parts }
    }

    /// Half seconds of a part of a minute.
    fn length(&self) -> u64 {
        MINUTE / self.parts.len() as u64
    }

    /// If another half second has begun, the one that went on is over.
    fn go_on(&mut self, now: Time, all: &mut Histogram<u32>) {
        let half = now.as_nanos() / HALF;
        if half == self.half {
            return;
        }
        if !self.now.is_empty() {
            add(all, &self.now);
            let number = self.half / self.length();
            let place = (number % self.parts.len() as u64) as usize;
            let part = &mut self.parts[place];
            if part.0 != number {
                part.0 = number;
                part.1.reset();
            }
            add(&mut part.1, &self.now);
        }
        std::mem::swap(&mut self.last, &mut self.now);
        if half != self.half + 1 {
            self.last.reset();
        }
        self.now.reset();
        self.half = half;
    }

    fn at(&self, now: Time, stays: &mut Stays) {
        let half = now.as_nanos() / HALF;
        if half == self.half {
            add(&mut stays.second, &self.last);
        }
        if half <= self.half + 1 {
            add(&mut stays.second, &self.now);
        }
        let (number, parts) = (half / self.length(), self.parts.len() as u64);
        let is_recent = |part: u64| part + parts > number;
        self.parts.iter().filter(|(part, _)| is_recent(*part)).for_each(|(_, part)| add(&mut stays.minute, part));
        if is_recent(self.half / self.length()) {
            add(&mut stays.minute, &self.now);
        }
    }
}

#[cfg(test)]
mod tests {
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
        assert!(latencies.recent.is_none());
        (0..FEW).for_each(|k| latencies.count(at(1100 + k), Duration::from_nanos(MS)));
        assert_eq!(counts(&latencies, 1200).0, [2 * FEW - 1, FEW - 1, FEW - 1]);
    }
}
