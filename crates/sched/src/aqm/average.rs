//! The average queue: an exponentially weighted moving average over packets, also while nothing comes.

use dovetail_units::{Duration, Time};

use super::AqmError;
use super::fraction::Fraction;

/// What the first packet after an idle time does to the average.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterIdle {
    /// It stands for the idle time only: `avg <- (1 - w)^m avg` (Floyd and Jacobson).
    Decay,
    /// The empty queue that it finds counts as well: `avg <- (1 - w)^(m + 1) avg` (ns-2).
    DecayAndSample,
}

/// The average queue in units of a 2^-32th packet (or byte).
///
/// * A packet that finds the resource busy: `avg <- (1 - w) avg + w q`, q what waits before it.
/// * A packet that finds it idle: [`AfterIdle`], with m the number of packets that could have been served meanwhile,
///   the idle time divided by the time of a typical packet, rounded down.
///
/// A queue above 2^31 - 1 counts as that. Each update rounds to the nearest 2^-32, so that the average is off by at
/// most 2^-33 / w.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AverageQueue {
    weight: Fraction,
    packet: Duration,
    after_idle: AfterIdle,
    average: u64,
    idle_since: Option<Time>,
    latest: Time,
}

const LONGEST: u64 = (1 << 31) - 1;

impl AverageQueue {
    /// With the weight w of a new sample, and the time of a typical packet on the resource.
    ///
    /// # Errors
    /// A weight of 0, or a time of 0.
    pub fn new(weight: Fraction, packet: Duration, after_idle: AfterIdle) -> Result<Self, AqmError> {
        if weight == Fraction::ZERO {
            return Err(AqmError { what: "averaging weight", expected: "above 0, at most 1" });
        }
        if packet == Duration::ZERO {
            return Err(AqmError { what: "time of a typical packet", expected: "above 0 s" });
        }
        Ok(Self { weight, packet, after_idle, average: 0, idle_since: None, latest: Time::ZERO })
    }

    /// The time of a typical packet changes.
    ///
    /// # Errors
    /// A time of 0. Nothing is changed then.
    pub fn set_packet(&mut self, packet: Duration) -> Result<(), AqmError> {
        self.packet = Self::new(self.weight, packet, self.after_idle)?.packet;
        Ok(())
    }

    /// The average, in 2^-32ths of a packet (or byte).
    #[inline]
    pub fn bits(&self) -> u64 {
        self.average
    }

    /// A packet comes when `queue` waits before it. Whether the resource was idle: if the packet is then dropped,
    /// [`stays_idle`](Self::stays_idle).
    #[inline]
    pub fn arrival(&mut self, now: Time, queue: u64) -> bool {
        self.latest = self.latest.max(now);
        match self.idle_since.take() {
            None => {
                self.sample(queue);
                false
            }
            Some(since) => {
                let idle = self.latest.as_nanos().saturating_sub(since.as_nanos());
                self.decay(idle / self.packet.as_nanos());
                if self.after_idle == AfterIdle::DecayAndSample {
                    self.sample(queue);
                }
                true
            }
        }
    }

    /// The packet that came last is not going to the resource, which goes on idling.
    #[inline]
    pub fn stays_idle(&mut self) {
        self.idle_since = Some(self.latest);
    }

    /// The resource finishes a packet when `queue` waits.
    #[inline]
    pub fn departure(&mut self, now: Time, queue: u64) {
        self.latest = self.latest.max(now);
        if queue == 0 {
            self.stays_idle();
        }
    }

    #[inline]
    fn sample(&mut self, queue: u64) {
        let queue = (queue.min(LONGEST) << 32) as i64;
        let difference = i128::from(queue) - i128::from(self.average);
        let change = (difference * i128::from(self.weight.bits()) + (1 << 31)) >> 32;
        self.average = (i128::from(self.average) + change) as u64;
    }

    /// `avg <- (1 - w)^times avg`.
    fn decay(&mut self, times: u64) {
        if times == 0 || self.average == 0 {
            return;
        }
        // 1 - w in 2^-64ths; it is below 1, since w is at least 2^-32.
        let mut factor = (Fraction::ONE.bits() - self.weight.bits()) << 32;
        let mut left = times;
        while left > 0 && self.average > 0 {
            if left & 1 == 1 {
                self.average = multiply(self.average, factor);
            }
            factor = multiply(factor, factor);
            left >>= 1;
        }
    }
}

/// `value * factor`, `factor` in 2^-64ths, to the nearest.
fn multiply(value: u64, factor: u64) -> u64 {
    ((u128::from(value) * u128::from(factor) + (1 << 63)) >> 64) as u64
}
