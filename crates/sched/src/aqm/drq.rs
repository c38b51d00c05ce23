//! `drq`: Dual-Resource Queue (M. Shin, S. Chong, I. Rhee, IEEE INFOCOM 2006).
//!
//! Shares: CPUs and links among TCP Reno flows, without a queue per flow: rates maximise `sum alpha_s log r_s` with
//! `alpha_s = sqrt(3/2) M_s / tau_s` (Proposition 1; `dovetail_model::drq` has the solution and the fluid model).
//!
//! * Parameters: [`QueueConfig`], and [`Densities`] for a CPU.
//! * Cost per packet: O(1): some multiplications. State: some 100 bytes, and 16 for each class.
//! * Guarantees: a packet that has passed resources 1..n is congestion-marked with probability close to `(sum_k w_k
//!   sigma_k + sum_l rho_l)^2`, equation (21), if that is far below 1 (assumption A3). What RED's sigma and rho make of
//!   that is an equilibrium (conditions C1, C2) and locally stable (Proposition 2, a sufficient condition that small
//!   gains meet).
//! * Example: `Drq::cpu(QueueConfig::new(packet_time), densities)` before the CPU and `Drq::link(...)` before the link.
//!
//! For every packet, with q what waits before it:
//!
//! ```text
//! avg          as AverageQueue, AfterIdle::Decay
//! queue full   drop
//! sigma        the gentle RED curve at avg: the pre-marking probability, equations (10) and (13)
//! delta        (w sigma)^2 on a CPU, sigma^2 on a link: intra-resource, equation (22)
//! epsilon      sqrt(2) w sigma, or sqrt(2) sigma: inter-resource, equation (23); both at most 1
//! state        Fig. 3: see `congestion::advance`
//! congested    mark, or drop if the sender has no ECN
//! ```
//!
//! Differences from the paper, with reasons:
//! * Pre-marking probabilities are those of the curve itself. RED's spreading of marks by `count` is of one stream of
//!   marks and would bias products of probabilities.
//! * A packet that comes congestion-marked stays so, and its queue counts as any other's.
//! * A queue can have a limit. The curve at 1 does not drop by itself: with `w < 1` the paper's probability is below 1
//!   there.
//! * The average queue can be in bytes; then probabilities do not depend on the packet's size, as the paper's do not.

use dovetail_units::{Density, Duration, Time};

use super::average::AfterIdle;
use super::congestion::{Congestion, advance};
use super::density::Densities;
use super::fraction::Fraction;
use super::red::CURVE;
use super::setting::{Averaged, QueueConfig};
use super::{Aqm, AqmDrop, AqmError, Arrival, Backlog, Verdict};
use crate::catalog::{Brief, Entry, ManagesQueue, Resources, Weights};
use crate::promise::Promise;

/// What is known of it.
pub const ENTRY: Entry = Entry {
    name: "drq",
    summary: "Dual-Resource Queue: marks so that TCP shares CPUs and links proportionally fairly",
    shares: "proportionally fair rates of TCP Reno over CPUs and links together, without a queue per flow",
    resources: Resources::Any,
    parameters: &CURVE,
    complexity: "O(1)",
    worst_call: "O(1)",
    gains: &[],
    guarantee: "marks with about the square of the sum of a packet's prices; the equilibrium is proportionally fair \
        (Proposition 1)",
    weights: Weights::None,
    work_conserving: "yes",
    costs: "cycles per bit of each class, known or measured",
    paper: "Shin, Chong, Rhee, IEEE INFOCOM 2006",
    brief: Brief {
        fairness: "proportional",
        longest_call: "O(1)",
        work_conserving: "yes",
        costs_ahead: "by class",
        paper: "INFOCOM 2006",
    },
    promise: Promise::NOTHING,
    facts: &[&ManagesQueue],
};

/// The probabilities of Fig. 3 for one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marking {
    /// Intra-resource: to congestion-marked at once.
    pub delta: Fraction,
    /// Inter-resource: one state further.
    pub epsilon: Fraction,
}

/// The square root of 2, in 2^-32ths.
const SQRT_2: u128 = 6_074_001_000;

impl Marking {
    /// Equations (22) and (23) for a pre-marking probability and a density (1 on links), rounded down to 2^-32, at most
    /// 1.
    pub fn new(premarking: Fraction, density: Density) -> Self {
        let one = Fraction::ONE.bits();
        // A product that overflows is far above 1, and above 1 both are 1.
        let product = premarking.bits().checked_mul(density.as_micro());
        let weighted = u128::from(product.map_or(one, |product| (product / Density::ONE.as_micro()).min(one)));
        let limited = |bits: u128| Fraction::from_bits(u64::try_from(bits).unwrap_or(u64::MAX));
        Self { delta: limited((weighted * weighted) >> 32), epsilon: limited((weighted * SQRT_2) >> 32) }
    }
}

/// Dual-Resource Queue: the queue of one CPU or one link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drq {
    queue: Averaged,
    /// `None` on a link.
    densities: Option<Densities>,
}

impl Drq {
    /// Before a link.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn link(config: QueueConfig) -> Result<Self, AqmError> {
        Self::new(config, None)
    }

    /// Before a CPU.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn cpu(config: QueueConfig, densities: Densities) -> Result<Self, AqmError> {
        Self::new(config, Some(densities))
    }

    fn new(config: QueueConfig, densities: Option<Densities>) -> Result<Self, AqmError> {
        Ok(Self { queue: Averaged::new(config, true, AfterIdle::Decay)?, densities })
    }

    /// A packet of this class needed so many cycles per bit, by [`Affine`](super::Affine) or measured: equation (1).
    /// Ignored on a link.
    pub fn observe(&mut self, class: u32, sample: Density) {
        if let Some(densities) = &mut self.densities {
            densities.observe(class, sample);
        }
    }

    /// The unit of cycles changes: what counted as `from` cycles counts as `to`. Ignored on a link.
    pub fn rescale(&mut self, to: u64, from: u64) {
        if let Some(densities) = &mut self.densities {
            densities.rescale(to, from);
        }
    }

    /// The class's average density; 1 on a link.
    pub fn density(&self, class: u32) -> Density {
        self.densities.as_ref().map_or(Density::ONE, |densities| densities.of(class))
    }

    /// The average queue in 2^-32ths of a packet (byte).
    pub fn average_bits(&self) -> u64 {
        self.queue.bits()
    }

    /// `sigma_k` or `rho_l` now.
    pub fn premarking(&self) -> Fraction {
        self.queue.probability()
    }

    /// The probabilities for a packet of this class now.
    pub fn marking(&self, class: u32) -> Marking {
        Marking::new(self.premarking(), self.density(class))
    }

    #[inline]
    fn judge(&self, packet: &Arrival, queue: u64, random: u64) -> Verdict {
        if self.queue.is_full(queue) {
            return Verdict::Drop(AqmDrop::Full);
        }
        let before = packet.congestion;
        let Marking { delta, epsilon } = self.marking(packet.class);
        match advance(before, delta, epsilon, (random >> 32) as u32, random as u32) {
            same if same == before => Verdict::Enqueue,
            Congestion::Congested => self.queue.notify(packet),
            after => Verdict::EnqueueMarked(after),
        }
    }
}

impl Aqm for Drq {
    #[inline]
    fn arrival(&mut self, now: Time, packet: &Arrival, waiting: Backlog, random: u64) -> Verdict {
        let (queue, found_idle) = self.queue.arrival(now, waiting);
        let verdict = self.judge(packet, queue, random);
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
