//! `red`: Random Early Detection (S. Floyd, V. Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993).
//!
//! Keeps the average queue between two thresholds by marking (or dropping) packets by chance, the more the longer the
//! average queue, so that every TCP flow is told in proportion to its rate.
//!
//! * Parameters: [`RedConfig`].
//! * Cost per packet: O(1); one division above the lower threshold; O(log idle time) after idling. State: some 100
//!   bytes.
//! * Guarantees: between marks come at most `1/p_b` packets (without `wait`) for a constant `p_b`, and the number is
//!   uniform.
//! * Example: `Red::new(RedConfig::new(QueueConfig::new(packet_time)))`.
//!
//! [`Rules::FloydJacobson`], for every packet, with q what waits before it:
//!
//! ```text
//! avg           as AverageQueue, AfterIdle::Decay
//! queue full    drop, count = 0
//! avg < min     enqueue, count = -1
//! p_b = curve(avg); 1: drop, count = 0
//! count += 1
//! in bytes:     p_b = p_b size / mean
//! without wait: p_a = p_b / (1 - count p_b), 1 from count p_b = 1 on
//! with wait:    p_a = 0 while count p_b < 1, p_b / (2 - count p_b) while it is below 2, then 1
//! with p_a:     mark, or drop if the sender or the configuration has no ECN; count = 0
//! ```
//!
//! [`Rules::Ns2`], as ns-2.35's `red.cc`, where it differs:
//! * avg with [`AfterIdle::DecayAndSample`].
//! * Nothing is marked or dropped (but by a full queue) while at most one packet (byte, in bytes) waits.
//! * `count` goes on below the threshold; the first packet at or above it is spared and sets it to 1.
//! * In bytes, count is the whole number of mean packets in the bytes since the last mark, and the size scales `p_a`
//!   instead of `p_b`.
//! * Packets of `p_b = 1` are dropped by the same draw, not unconditionally; in bytes small ones may pass.
//! * A packet that is to be marked is dropped after all if the queue is full.
//!
//! Under Poisson load these keep the mean queues that ns-2.35 keeps (`tests/aqm_red.rs`).
//!
//! Differences from the paper, with reasons:
//! * Gentle (from `max` to `2 max` the probability rises to 1) is an option, on by default: Floyd's own recommendation
//!   of 2000.
//! * Where the curve is at 1 packets are dropped even if the sender knows ECN: RFC 3168, section 7.
//! * Idle is a resource without work. The paper's "queue empty" depends on whether the packet being served counts.
//! * `wait` is ns-2's, from Floyd's later work: marks are spaced between `1/p_b` and `2/p_b` packets, never in a row.

use dovetail_units::{Duration, Time};

use super::average::AfterIdle;
use super::fraction::Fraction;
use super::setting::{Averaged, QueueConfig};
use super::{Aqm, AqmDrop, AqmError, Arrival, Backlog, Unit, Verdict};
use crate::catalog::{Brief, Entry, ManagesQueue, Parameter, Resources, Weights};
use crate::promise::Promise;

/// The thresholds, the probability and the weight, which DRQ has as well.
pub(super) const CURVE: [Parameter; 5] = [
    parameter("min", "whole packets, below max", "50", "nothing is dropped or marked below this average queue"),
    parameter(
        "max",
        "whole packets, at most 2^30",
        "550",
        "the average queue at which the probability is max_p; it is 1 at twice that",
    ),
    parameter("max_p", "from 2^-32 to 1", "0.1", "probability at max"),
    parameter("weight", "from 2^-32 to 1", "0.002", "weight of a new sample in the average queue"),
    parameter(
        "mean_packet",
        "a length such as 500 B, or none",
        "none",
        "count the queue in bytes; thresholds and limit then mean packets of this length, and under red a longer \
         packet is marked more often",
    ),
];

const PARAMETERS: [Parameter; 8] = {
    let [min, max, max_p, weight, mean_packet] = CURVE;
    [
        min,
        max,
        max_p,
        weight,
        mean_packet,
        parameter(
            "gentle",
            "yes or no",
            "yes",
            "from max to twice max the probability rises to 1; no: it is 1 from max on",
        ),
        parameter(
            "wait",
            "yes or no",
            "no",
            "let 1/p packets pass after a mark or drop before the next one, p the probability",
        ),
        parameter("rules", "paper or ns2", "paper", "as Floyd and Jacobson have it, or as ns-2"),
    ]
};

const fn parameter(name: &'static str, value: &'static str, default: &'static str, meaning: &'static str) -> Parameter {
    Parameter { name, value, default, meaning, settable: false }
}

/// What is known of it.
pub const ENTRY: Entry = Entry {
    name: "red",
    summary: "Random Early Detection: drops or marks at random, more often the longer the average queue",
    shares: "one queue in order of arrival, so that TCP flows get equal rates",
    resources: Resources::One,
    parameters: &PARAMETERS,
    complexity: "O(1)",
    worst_call: "O(1)",
    gains: &[],
    guarantee: "at a constant average, at most 1/p packets from mark to mark without `wait`, all numbers equally \
        likely",
    weights: Weights::None,
    work_conserving: "yes",
    costs: "never",
    paper: "Floyd, Jacobson, IEEE/ACM ToN 1(4), 1993",
    brief: Brief {
        fairness: "TCP rates",
        longest_call: "O(1)",
        work_conserving: "yes",
        costs_ahead: "no",
        paper: "ToN 1993",
    },
    promise: Promise::NOTHING,
    facts: &[&ManagesQueue],
};

/// Whose RED.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rules {
    /// The paper's.
    FloydJacobson,
    /// ns-2's.
    Ns2,
}

/// RED's parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RedConfig {
    /// The queue and the curve.
    pub queue: QueueConfig,
    /// Whether the probability rises to 1 between `max` and `2 max` instead of jumping there.
    pub gentle: bool,
    /// Whether marks wait for at least `1/p_b` packets after one another.
    pub wait: bool,
    /// Whose RED.
    pub rules: Rules,
}

impl RedConfig {
    /// Gentle, no `wait`, Floyd and Jacobson's rules.
    pub const fn new(queue: QueueConfig) -> Self {
        Self { queue, gentle: true, wait: false, rules: Rules::FloydJacobson }
    }
}

/// Random Early Detection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Red {
    queue: Averaged,
    wait: bool,
    rules: Rules,
    /// Packets since the last mark; -1 below the threshold.
    count: i64,
    /// Bytes since the last mark (ns-2).
    count_bytes: u64,
    /// Whether the last packet was above the threshold (ns-2).
    above: bool,
}

impl Red {
    /// With an empty queue that was always empty.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn new(config: RedConfig) -> Result<Self, AqmError> {
        let RedConfig { queue, gentle, wait, rules } = config;
        let after_idle = match rules {
            Rules::FloydJacobson => AfterIdle::Decay,
            Rules::Ns2 => AfterIdle::DecayAndSample,
        };
        let queue = Averaged::new(queue, gentle, after_idle)?;
        Ok(Self { queue, wait, rules, count: -1, count_bytes: 0, above: false })
    }

    /// The average queue in 2^-32ths of a packet (byte).
    pub fn average_bits(&self) -> u64 {
        self.queue.bits()
    }

    fn notified(&mut self) {
        self.count = 0;
        self.count_bytes = 0;
    }

    #[inline]
    fn notify(&mut self, packet: &Arrival, overload: bool) -> Verdict {
        self.notified();
        if overload { Verdict::Drop(AqmDrop::Overload) } else { self.queue.notify(packet) }
    }

    #[inline]
    fn floyd_jacobson(&mut self, packet: &Arrival, queue: u64, random: u32) -> Verdict {
        if self.queue.is_full(queue) {
            self.notified();
            return Verdict::Drop(AqmDrop::Full);
        }
        if self.queue.is_below() {
            self.count = -1;
            return Verdict::Enqueue;
        }
        let on_curve = self.queue.probability();
        if on_curve == Fraction::ONE {
            return self.notify(packet, true);
        }
        self.count = self.count.saturating_add(1);
        let scaled = self.by_size(on_curve, packet.size);
        let chance = spread(scaled, self.count.unsigned_abs(), self.wait);
        if chance.happens(random) { self.notify(packet, false) } else { Verdict::Enqueue }
    }

    #[inline]
    fn ns2(&mut self, packet: &Arrival, queue: u64, random: u32) -> Verdict {
        self.count = self.count.max(0).saturating_add(1);
        self.count_bytes = self.count_bytes.saturating_add(u64::from(packet.size));
        let mut verdict = Verdict::Enqueue;
        if self.queue.is_below() || queue <= 1 {
            self.above = false;
        } else if !self.above {
            self.above = true;
            self.count = 1;
            self.count_bytes = u64::from(packet.size);
        } else {
            verdict = self.ns2_draw(packet, random);
        }
        if self.queue.is_full(queue) {
            self.notified();
            verdict = Verdict::Drop(AqmDrop::Full);
        }
        verdict
    }

    #[inline]
    fn ns2_draw(&mut self, packet: &Arrival, random: u32) -> Verdict {
        let on_curve = self.queue.probability();
        let count = match self.queue.config.unit {
            Unit::Packets => self.count.unsigned_abs(),
            Unit::Bytes { mean } => self.count_bytes / u64::from(mean),
        };
        let mut chance = spread(on_curve, count, self.wait);
        if chance < Fraction::ONE {
            chance = self.by_size(chance, packet.size);
        }
        if chance.happens(random) { self.notify(packet, on_curve == Fraction::ONE) } else { Verdict::Enqueue }
    }

    #[inline]
    fn by_size(&self, probability: Fraction, size: u32) -> Fraction {
        match self.queue.config.unit {
            Unit::Packets => probability,
            // At most 2^32 (2^32 - 1).
            Unit::Bytes { mean } => Fraction::from_bits(probability.bits() * u64::from(size) / u64::from(mean)),
        }
    }
}

/// Spread marks evenly: the probability that makes the distance between marks uniform instead of geometric.
#[inline]
fn spread(probability: Fraction, count: u64, wait: bool) -> Fraction {
    let one = u128::from(Fraction::ONE.bits());
    let p = u128::from(probability.bits());
    let passed = u128::from(count) * p;
    let up_to = if wait { 2 * one } else { one };
    if wait && passed < one {
        Fraction::ZERO
    } else if passed < up_to {
        // At most 2^64, from which `from_bits` makes 1.
        Fraction::from_bits(u64::try_from(p * one / (up_to - passed)).unwrap_or(u64::MAX))
    } else {
        Fraction::ONE
    }
}

impl Aqm for Red {
    #[inline]
    fn arrival(&mut self, now: Time, packet: &Arrival, waiting: Backlog, random: u64) -> Verdict {
        let (queue, found_idle) = self.queue.arrival(now, waiting);
        let random = (random >> 32) as u32;
        let verdict = match self.rules {
            Rules::FloydJacobson => self.floyd_jacobson(packet, queue, random),
            Rules::Ns2 => self.ns2(packet, queue, random),
        };
        self.queue.judged(found_idle, verdict)
    }

    #[inline]
    fn departure(&mut self, now: Time, waiting: Backlog) {
        self.queue.departure(now, waiting);
    }

    fn set_packet(&mut self, packet: Duration) -> Result<(), AqmError> {
        self.queue.set_packet(packet)
    }
}
