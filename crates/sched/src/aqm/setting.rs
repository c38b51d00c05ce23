//! What RED and DRQ have in common: the queue, its average, and the curve.

use dovetail_units::{Duration, Time};

use super::average::{AfterIdle, AverageQueue};
use super::curve::RedCurve;
use super::fraction::Fraction;
use super::{AqmDrop, AqmError, Arrival, Backlog, Unit, Verdict};

/// How a queue is managed, whatever decides about packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueConfig {
    /// In what queue, thresholds and limit are measured.
    pub unit: Unit,
    /// Lower threshold, in packets (bytes).
    pub min: u32,
    /// Upper threshold, in packets (bytes): above `min`, at most 2^30.
    pub max: u32,
    /// The probability at the upper threshold, above 0.
    pub max_p: Fraction,
    /// Weight of a new sample in the average queue, above 0.
    pub weight: Fraction,
    /// How long a packet of mean size takes on the resource, above 0: the pace of the average while the resource
    /// idles.
    pub packet: Duration,
    /// Whether to mark packets whose senders understand it.
    pub ecn: bool,
    /// The most that may wait, in packets (bytes).
    pub limit: Option<u32>,
}

impl QueueConfig {
    /// The curve of the DRQ paper, section IV.A: packets, thresholds 50 and 550, `max_p` 0.1; the averaging weight of
    /// Floyd and Jacobson, 0.002; and marks for who understands them, no limit. Given how long a packet takes on
    /// the resource.
    pub const fn new(packet: Duration) -> Self {
        Self {
            unit: Unit::Packets,
            min: 50,
            max: 550,
            // 0.1 and 0.002 in 2^-32ths.
            max_p: Fraction::from_bits(429_496_730),
            weight: Fraction::from_bits(8_589_935),
            packet,
            ecn: true,
            limit: None,
        }
    }
}

/// The averaged queue with its curve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Averaged {
    pub config: QueueConfig,
    pub curve: RedCurve,
    average: AverageQueue,
}

impl Averaged {
    /// Empty for ever so far.
    pub fn new(config: QueueConfig, gentle: bool, after_idle: AfterIdle) -> Result<Self, AqmError> {
        config.unit.check()?;
        let curve = RedCurve::new(config.min, config.max, config.max_p, gentle)?;
        let average = AverageQueue::new(config.weight, config.packet, after_idle)?;
        Ok(Self { config, curve, average })
    }

    /// The average queue in 2^-32ths of a packet (byte).
    #[inline]
    pub fn bits(&self) -> u64 {
        self.average.bits()
    }

    /// The curve's probability now.
    #[inline]
    pub fn probability(&self) -> Fraction {
        self.curve.probability(self.bits())
    }

    /// Whether the average is below the lower threshold.
    #[inline]
    pub fn is_below(&self) -> bool {
        self.curve.is_below(self.bits())
    }

    /// Whether a queue of this length is full.
    #[inline]
    pub fn is_full(&self, queue: u64) -> bool {
        self.config.limit.is_some_and(|limit| queue >= u64::from(limit))
    }

    /// A packet comes: how much waits, and whether it finds the resource idle.
    #[inline]
    pub fn arrival(&mut self, now: Time, waiting: Backlog) -> (u64, bool) {
        let queue = self.config.unit.of(waiting);
        (queue, self.average.arrival(now, queue))
    }

    /// That packet is judged; what is dropped in front of an idle resource leaves it idle.
    #[inline]
    pub fn judged(&mut self, found_idle: bool, verdict: Verdict) -> Verdict {
        if found_idle && matches!(verdict, Verdict::Drop(_)) {
            self.average.stays_idle();
        }
        verdict
    }

    /// What becomes of a packet that is to tell its sender of congestion.
    #[inline]
    pub fn notify(&self, packet: &Arrival) -> Verdict {
        if self.config.ecn && packet.ecn_capable {
            Verdict::EnqueueMarked(super::Congestion::Congested)
        } else {
            Verdict::Drop(AqmDrop::Early)
        }
    }

    /// The resource has finished a packet.
    #[inline]
    pub fn departure(&mut self, now: Time, waiting: Backlog) {
        self.average.departure(now, u64::from(waiting.packets));
    }

    /// How long a packet of mean size takes from now on.
    pub fn set_packet(&mut self, packet: Duration) -> Result<(), AqmError> {
        self.average.set_packet(packet)
    }
}
