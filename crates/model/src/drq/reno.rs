//! The average Reno/DRQ network: TCP Reno sources, RED queues, and the equilibrium (equations (7)-(15), Proposition 1).

use super::network::{Hop, Kind, Network};
use super::proportional::{Residuals, solve};
use super::red_curve::RedQueue;
use crate::error::{ModelError, in_range};

/// TCP Reno sources that are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reno {
    /// How many there are.
    pub sources: u32,
    /// `M_s`: average packet size in bits.
    pub packet_bits: f64,
    /// `N_s`: data packets per acknowledgement.
    pub packets_per_ack: f64,
    /// `tau_s`: round-trip time in seconds, constant (assumption A2).
    pub rtt_s: f64,
}

/// Where a source's packets pass a resource, and after what delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RenoHop {
    /// The resource and the density.
    pub hop: Hop,
    /// `tau_si`, from the source to the resource, in seconds. The news takes the rest of the round-trip time back.
    pub forward_s: f64,
}

/// A group of like sources and its way.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) reno: Reno,
    pub(super) hops: Vec<RenoHop>,
}

/// Reno sources over CPUs and links with DRQ.
#[derive(Clone, Debug, Default)]
pub struct RenoNetwork {
    network: Network,
    queues: Vec<RedQueue>,
    groups: Vec<Group>,
}

/// The equilibrium of a [`RenoNetwork`], if conditions C1 and C2 hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Equilibrium {
    /// `x_s` of one source, by group, in bit/s: the solution of problem P with `alpha_s = sqrt(3/2) M_s / tau_s`.
    pub rates: Vec<f64>,
    /// The pre-marking probabilities `sigma_k` and `rho_l`, by resource: problem P's prices.
    pub premarking: Vec<f64>,
    /// `p_s` by group, equation (15).
    pub marking: Vec<f64>,
    /// The average queue in bits, by resource; 0 where the resource has capacity to spare. (One that is just full, at
    /// a price of 0, can hold any queue up to the lower threshold.)
    pub averages: Vec<f64>,
    /// How exactly problem P is solved.
    pub residuals: Residuals,
    /// Condition C1, equation (16): the largest price of a CPU; it must be below 1. 0 without CPUs.
    pub largest_cpu_price: f64,
    /// Condition C2, equation (17): the largest price of a link; it must be below 1. 0 without links.
    pub largest_link_price: f64,
}

impl Equilibrium {
    /// Whether conditions C1 and C2 hold: then this is the network's only equilibrium (Proposition 1), and otherwise
    /// the network has none. (With several possible price vectors, see
    /// [`Proportional::prices`](super::Proportional::prices), the rates are unique and the prices, and with them
    /// the queues, are not.)
    pub fn exists(&self) -> bool {
        self.largest_cpu_price < 1.0 && self.largest_link_price < 1.0
    }
}

impl RenoNetwork {
    /// Without resources and sources.
    pub fn new() -> Self {
        Self::default()
    }

    /// Add a CPU of so many cycles/s; returns its index, counted over CPUs and links together.
    ///
    /// # Errors
    /// As [`Network::add_cpu`].
    pub fn add_cpu(&mut self, cycles_per_s: f64, queue: RedQueue) -> Result<usize, ModelError> {
        let index = self.network.add_cpu(cycles_per_s)?;
        self.queues.push(queue);
        Ok(index)
    }

    /// Add a link of so many bit/s; returns its index, counted over CPUs and links together.
    ///
    /// # Errors
    /// As [`Network::add_link`].
    pub fn add_link(&mut self, bits_per_s: f64, queue: RedQueue) -> Result<usize, ModelError> {
        let index = self.network.add_link(bits_per_s)?;
        self.queues.push(queue);
        Ok(index)
    }

    /// Add a group of like sources; returns its index.
    ///
    /// # Errors
    /// As [`Network::add_flow`], and [`ModelError::Value`] unless there is a source, packets have 1 to 1e9 bits, an
    /// acknowledgement is for 1 to 1e6 packets, the round-trip time is from 1e-6 to 1e6 s and forward delays are
    /// from 0 to that.
    pub fn add_sources(&mut self, reno: Reno, hops: &[RenoHop]) -> Result<usize, ModelError> {
        if reno.sources == 0 {
            return Err(ModelError::Empty { what: "source in the group" });
        }
        in_range("packet size in bits", reno.packet_bits, 1.0..=1e9, "a number from 1 to 1e9")?;
        in_range("packets per acknowledgement", reno.packets_per_ack, 1.0..=1e6, "a number from 1 to 1e6")?;
        in_range("round-trip time in s", reno.rtt_s, 1e-6..=1e6, "a number from 1e-6 to 1e6")?;
        for hop in hops {
            in_range("forward delay in s", hop.forward_s, 0.0..=reno.rtt_s, "a number from 0 to the round-trip time")?;
        }
        let plain: Vec<Hop> = hops.iter().map(|hop| hop.hop).collect();
        let index = self.network.add_flow(f64::from(reno.sources) * reno.weight(), &plain)?;
        let hops = hops.iter().copied().filter(|hop| hop.hop.density > 0.0).collect();
        self.groups.push(Group { reno, hops });
        Ok(index)
    }

    /// Problem P of this network: a group is one flow with the weight of all its sources, `sum sqrt(3/2) M_s / tau_s`.
    pub fn problem(&self) -> &Network {
        &self.network
    }

    pub(super) fn queues(&self) -> &[RedQueue] {
        &self.queues
    }

    pub(super) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Proposition 1's equilibrium. Ask [`Equilibrium::exists`] whether the network has it.
    ///
    /// # Errors
    /// As [`solve`].
    pub fn equilibrium(&self) -> Result<Equilibrium, ModelError> {
        let solution = solve(&self.network)?;
        let prices = solution.prices;
        let rates = self.groups.iter().zip(&solution.rates).map(|(group, rate)| rate / f64::from(group.reno.sources));
        let largest = |kind: Kind| {
            let of_kind = self.network.resources().iter().zip(&prices).filter(|(resource, _)| resource.kind == kind);
            of_kind.map(|(_, price)| *price).fold(0.0, f64::max)
        };
        Ok(Equilibrium {
            rates: rates.collect(),
            marking: self.groups.iter().map(|group| marking(group.price(|hop, _| prices[hop]))).collect(),
            averages: self.averages(&prices),
            residuals: solution.residuals,
            largest_cpu_price: largest(Kind::Cpu),
            largest_link_price: largest(Kind::Link),
            premarking: prices,
        })
    }

    fn averages(&self, prices: &[f64]) -> Vec<f64> {
        let resources = self.network.resources();
        let paid: Vec<f64> = prices.iter().zip(resources).map(|(price, resource)| price * resource.capacity).collect();
        let all: f64 = paid.iter().sum();
        let average = |(index, queue): (usize, &RedQueue)| {
            if paid[index] <= UNPAID * all { 0.0 } else { queue.curve.average(prices[index]) }
        };
        self.queues.iter().enumerate().map(average).collect()
    }
}

/// What is paid for a resource, in parts of all that is paid, if it is no bottleneck: at most what the solver leaves by
/// rounding.
const UNPAID: f64 = 1e-9;

impl Reno {
    /// `sqrt(3/2) M_s / tau_s`, in bit/s: the weight with which Reno is proportionally fair under DRQ.
    pub fn weight(&self) -> f64 {
        1.5_f64.sqrt() * self.packet_bits / self.rtt_s
    }

    /// Equation (9) without the case of a rate of 0, in bit/s per second.
    pub(super) fn growth(&self, rate: f64, marking: f64) -> f64 {
        let increase = self.packet_bits * (1.0 - marking) / (self.rtt_s * self.rtt_s);
        let decrease = 2.0 / 3.0 * rate * rate * marking / self.packet_bits;
        (increase - decrease) / self.packets_per_ack
    }
}

impl Group {
    /// `sum_k w_s^k sigma_k + sum_l rho_l` with the pre-marking probability of (resource, number of the hop).
    pub(super) fn price(&self, mut premarking: impl FnMut(usize, usize) -> f64) -> f64 {
        let terms = self.hops.iter().enumerate();
        terms.map(|(number, hop)| hop.hop.density * premarking(hop.hop.resource, number)).sum()
    }
}

/// Equation (15): the end-to-end marking probability for a sum of (weighted) pre-marking probabilities.
pub fn marking(price: f64) -> f64 {
    let square = price * price;
    square / (1.0 + square)
}
