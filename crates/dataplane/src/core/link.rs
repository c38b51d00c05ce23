//! The link: frames leave one after another at its rate.

use dovetail_units::{BitRate, Duration};

/// How fast frames leave. Exact over any number of frames: parts of a nanosecond are carried.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    rate: Option<BitRate>,
    carry: u64,
}

impl Pace {
    /// This rate; `None` is as fast as the port takes them.
    pub fn new(rate: Option<BitRate>) -> Self {
        Self { rate, carry: 0 }
    }

    /// The rate.
    pub fn rate(&self) -> Option<BitRate> {
        self.rate
    }

    /// How long the next frame, of this many bytes, occupies the link.
    pub fn take(&mut self, bytes: usize) -> Duration {
        let Some(rate) = self.rate else { return Duration::ZERO };
        let (time, carry) = rate.transmission_time(bytes as u64, self.carry);
        self.carry = carry;
        time
    }

    /// How long a frame of this many bytes occupies the link, to the nanosecond below.
    pub fn estimate(&self, bytes: usize) -> Duration {
        self.rate.map_or(Duration::ZERO, |rate| rate.transmission_time(bytes as u64, 0).0)
    }
}

/// How much later than due frames left the link, since the worker was away or woke late.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lateness {
    /// Of all frames that left.
    pub sum: Duration,
    /// Of the one that was latest.
    pub longest: Duration,
}

impl Lateness {
    /// A frame left so late.
    pub fn left(&mut self, late: Duration) {
        self.sum += late;
        self.longest = self.longest.max(late);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_frames_take_what_their_bits_take() {
        let mut pace = Pace::new(BitRate::from_bps(7_000_000));
        let total: Duration = (0..1_000_000).map(|_| pace.take(801)).sum();
        assert_eq!(total.as_nanos(), 801 * 8 * 1_000_000 * 1000 / 7);
    }
}
