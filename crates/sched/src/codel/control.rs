//! CoDel's decision about the packet at the head of a queue (RFC 8289, section 5).

use dovetail_units::{Duration, Time};

use crate::catalog::Parameter;
use crate::spec::{Spec, SpecError};

pub(crate) const TARGET: Parameter = Parameter {
    name: "target",
    value: "a time above 0 s",
    default: "5 ms",
    meaning: "the wait that is acceptable if it lasts",
    settable: false,
};

pub(crate) const INTERVAL: Parameter = Parameter {
    name: "interval",
    value: "a time above 0 s",
    default: "100 ms",
    meaning: "how long packets may wait for longer than target until the first is dropped; about the longest usual \
              round trip",
    settable: false,
};

/// CoDel's two parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Law {
    /// The wait that is acceptable if it lasts.
    pub target: Duration,
    /// So long may packets wait longer before the first one is dropped.
    pub interval: Duration,
}

impl Law {
    pub(crate) fn from_spec(spec: &Spec) -> Result<Self, SpecError> {
        let time = |parameter: &Parameter| {
            let text = spec.value(parameter.name).unwrap_or(parameter.default);
            let time = text.parse().ok().filter(|&time: &Duration| time > Duration::ZERO);
            time.ok_or_else(|| SpecError::bad_value(parameter.name, text, "a time above 0 s such as 5 ms"))
        };
        Ok(Self { target: time(&TARGET)?, interval: time(&INTERVAL)? })
    }

    /// When the next packet is dropped if one was at `time`, the `count`-th in a row: `time` and interval /
    /// sqrt(count), down to whole nanoseconds.
    fn next_drop(&self, time: Time, count: u32) -> Time {
        let interval = u128::from(self.interval.as_nanos());
        let pause = (interval * interval / u128::from(count.max(1))).isqrt();
        time + Duration::from_nanos(u64::try_from(pause).unwrap_or(u64::MAX))
    }
}

/// What was decided about the packet before, if the queue's turn has not ended with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Turn {
    /// It was served: a turn begins.
    #[default]
    Begins,
    /// It was the first one that was dropped. The next one is served.
    HasBegunToDrop,
    /// It was dropped, and more may be.
    GoesOnDropping,
}

/// A queue's state, called as in the RFC's pseudo code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Control {
    /// When packets have waited too long for an interval, if they wait too long now.
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
    turn: Turn,
}

impl Control {
    /// The head packet has waited for so long, and so many bytes stand behind it; `longest` is the longest packet's
    /// length. Whether it is dropped. To be asked once at each turn of the queue, and again after each drop. O(1).
    pub fn drops(&mut self, law: &Law, now: Time, waited: Duration, behind: u64, longest: u32) -> bool {
        let may_drop = self.may_drop(law, now, waited, behind, longest);
        match self.turn {
            Turn::HasBegunToDrop => {
                self.turn = Turn::Begins;
                return false;
            }
            Turn::Begins if !self.dropping => {
                if may_drop {
                    self.begin(law, now);
                    self.turn = Turn::HasBegunToDrop;
                }
                return may_drop;
            }
            Turn::GoesOnDropping if may_drop => self.drop_next = law.next_drop(self.drop_next, self.count),
            _ => (),
        }
        self.dropping = may_drop;
        let drops = may_drop && now >= self.drop_next;
        self.count = self.count.saturating_add(u32::from(drops));
        self.turn = if drops { Turn::GoesOnDropping } else { Turn::Begins };
        drops
    }

    /// The queue has no packet at its turn.
    pub fn is_empty_at_its_turn(&mut self) {
        (self.first_above, self.dropping, self.turn) = (None, false, Turn::Begins);
    }

    /// The RFC's `dodequeue`.
    fn may_drop(&mut self, law: &Law, now: Time, waited: Duration, behind: u64, longest: u32) -> bool {
        if waited < law.target || behind <= u64::from(longest) {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            Some(time) => now >= time,
            None => {
                self.first_above = Some(now + law.interval);
                false
            }
        }
    }

    /// Packets are dropped from now on; if they were until a short while ago, as often as then.
    fn begin(&mut self, law: &Law, now: Time) {
        let since = self.count.saturating_sub(self.last_count);
        let recently = now < (0..16).fold(self.drop_next, |time, _| time + law.interval);
        self.count = if since > 1 && recently { since } else { 1 };
        self.dropping = true;
        self.drop_next = law.next_drop(now, self.count);
        self.last_count = self.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_come_faster_by_the_square_root_of_their_number() {
        let law = Law { target: Duration::from_nanos(5), interval: Duration::from_nanos(100) };
        let next = |count| law.next_drop(Time::from_nanos(1_000), count).as_nanos();
        assert_eq!([1, 2, 4, 100, u32::MAX].map(next), [1_100, 1_070, 1_050, 1_010, 1_000]);
        let longest = Law { interval: Duration::from_nanos(u64::MAX), ..law };
        assert_eq!(longest.next_drop(Time::from_nanos(1), 1), Time::MAX);
    }
}
