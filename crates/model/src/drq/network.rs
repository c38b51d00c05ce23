//! Networks of CPUs and links with flows through them (section II.A).

use std::collections::BTreeMap;

use crate::error::{ModelError, in_range};

/// What a resource is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A CPU: capacity in cycles/s, and every flow has its own density in cycles/bit.
    Cpu,
    /// A link: capacity in bit/s, and every flow's density is 1.
    Link,
}

/// A CPU or a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resource {
    /// CPU or link.
    pub kind: Kind,
    /// `C_k` in cycles/s or `B_l` in bit/s.
    pub capacity: f64,
}

/// A flow's use of one resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hop {
    /// The resource's index.
    pub resource: usize,
    /// The processing density `w_s^k` in cycles/bit; 1 on a link.
    pub density: f64,
}

impl Hop {
    /// Through a CPU, at so many cycles per bit.
    pub fn cpu(resource: usize, density: f64) -> Self {
        Self { resource, density }
    }

    /// Over a link.
    pub fn link(resource: usize) -> Self {
        Self { resource, density: 1.0 }
    }
}

/// A network of CPUs and links, and the flows that share it.
///
/// Flows with the same hops are one *class* to the solver: what it costs depends on the number of classes, not of
/// flows.
#[derive(Clone, Debug, Default)]
pub struct Network {
    resources: Vec<Resource>,
    classes: Vec<Class>,
    /// Class of a set of hops (resource and bits of the density), in the order of resources.
    index: BTreeMap<Vec<(usize, u64)>, usize>,
    /// Weight and class of every flow.
    flows: Vec<(f64, usize)>,
}

/// Flows with the same hops.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// Hops that use something, in the order of resources.
    pub(crate) hops: Vec<Hop>,
    /// Sum of the weights.
    pub(crate) weight: f64,
}

impl Network {
    /// Without resources and flows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Add a CPU of so many cycles/s; returns its index, counted over CPUs and links together.
    ///
    /// # Errors
    /// [`ModelError::Value`] unless the capacity is from 1e-6 to 1e18.
    pub fn add_cpu(&mut self, cycles_per_s: f64) -> Result<usize, ModelError> {
        self.add(Kind::Cpu, "CPU capacity in cycles/s", cycles_per_s)
    }

    /// Add a link of so many bit/s; returns its index, counted over CPUs and links together.
    ///
    /// # Errors
    /// [`ModelError::Value`] unless the capacity is from 1e-6 to 1e18.
    pub fn add_link(&mut self, bits_per_s: f64) -> Result<usize, ModelError> {
        self.add(Kind::Link, "link capacity in bit/s", bits_per_s)
    }

    fn add(&mut self, kind: Kind, what: &'static str, capacity: f64) -> Result<usize, ModelError> {
        let capacity = in_range(what, capacity, 1e-6..=1e18, "a number from 1e-6 to 1e18")?;
        self.resources.push(Resource { kind, capacity });
        Ok(self.resources.len() - 1)
    }

    /// Add a flow with the weight `alpha_s` of problem P and its hops in any order; returns its index.
    ///
    /// A density of 0 is as if the flow did not pass the CPU.
    ///
    /// # Errors
    /// [`ModelError::Value`] for a weight outside 1e-15..1e15, a density outside 0..1e9 or (not 0) below 1e-9, and a
    /// link's density other than 1; [`ModelError::UnknownResource`]; [`ModelError::Repeated`] for a resource
    /// visited twice; [`ModelError::Empty`] if the flow uses nothing, so that nothing limits its rate.
    pub fn add_flow(&mut self, weight: f64, hops: &[Hop]) -> Result<usize, ModelError> {
        let weight = in_range("weight", weight, 1e-15..=1e15, "a number from 1e-15 to 1e15")?;
        let mut used = Vec::with_capacity(hops.len());
        for hop in hops {
            self.check(hop)?;
            if hop.density > 0.0 {
                used.push(*hop);
            }
        }
        used.sort_by_key(|hop| hop.resource);
        if let Some(pair) = used.windows(2).find(|pair| pair[0].resource == pair[1].resource) {
            return Err(ModelError::Repeated { resource: pair[0].resource });
        }
        if used.is_empty() {
            return Err(ModelError::Empty { what: "resource that the flow uses" });
        }
        let class = self.class_of(used);
        self.classes[class].weight += weight;
        self.flows.push((weight, class));
        Ok(self.flows.len() - 1)
    }

    fn check(&self, hop: &Hop) -> Result<(), ModelError> {
        let resource = self
            .resources
            .get(hop.resource)
            .ok_or(ModelError::UnknownResource { resource: hop.resource, resources: self.resources.len() })?;
        let (what, fine, expected) = match resource.kind {
            Kind::Link => ("density on a link", hop.density == 1.0, "1"),
            Kind::Cpu => (
                "processing density in cycles/bit",
                hop.density == 0.0 || (1e-9..=1e9).contains(&hop.density),
                "0 or a number from 1e-9 to 1e9",
            ),
        };
        if fine { Ok(()) } else { Err(ModelError::Value { what, value: hop.density, expected }) }
    }

    fn class_of(&mut self, hops: Vec<Hop>) -> usize {
        let key = hops.iter().map(|hop| (hop.resource, hop.density.to_bits())).collect();
        let classes = &mut self.classes;
        *self.index.entry(key).or_insert_with(|| {
            classes.push(Class { hops, weight: 0.0 });
            classes.len() - 1
        })
    }

    /// The CPUs and links in the order in which they were added.
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// How many flows there are.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// How many different sets of hops the flows have.
    pub fn classes(&self) -> usize {
        self.classes.len()
    }

    /// The flow's weight and hops, the latter in the order of resources and without those that cost nothing.
    pub fn flow(&self, flow: usize) -> Option<(f64, &[Hop])> {
        self.flows.get(flow).map(|&(weight, class)| (weight, self.classes[class].hops.as_slice()))
    }

    /// What every resource has to do for flows with these rates in bit/s: cycles/s on CPUs, bit/s on links.
    ///
    /// # Errors
    /// [`ModelError::Length`] unless there is a rate for every flow.
    pub fn loads(&self, rates: &[f64]) -> Result<Vec<f64>, ModelError> {
        if rates.len() != self.flows.len() {
            return Err(ModelError::Length { what: "vector of rates", found: rates.len(), expected: self.flows.len() });
        }
        let mut loads = vec![0.0; self.resources.len()];
        for (&rate, &(_, class)) in rates.iter().zip(&self.flows) {
            for hop in &self.classes[class].hops {
                loads[hop.resource] += hop.density * rate;
            }
        }
        Ok(loads)
    }

    /// The largest feasible rates that are equal but for the weights: `r_s = alpha_s g` with
    /// `g = min_i c_i / sum_s w_s^i alpha_s`. Section II.B calls this *TCP-like*: what TCP flows with RED on every
    /// resource (RED-RED) get when they share their path. In bit/s, by flow.
    ///
    /// For one CPU and one link with weights 1 it is the paper's `B/S` if `C/B >= w_a` and else `C/(w_a S)`.
    ///
    /// # Errors
    /// [`ModelError::Empty`] without flows.
    pub fn equal_rates(&self) -> Result<Vec<f64>, ModelError> {
        if self.flows.is_empty() {
            return Err(ModelError::Empty { what: "flow" });
        }
        let weights: Vec<f64> = self.flows.iter().map(|&(weight, _)| weight).collect();
        let loads = self.loads(&weights)?;
        let most = self.resources.iter().zip(&loads).map(|(resource, load)| load / resource.capacity);
        let growth = 1.0 / most.fold(0.0, f64::max);
        Ok(weights.iter().map(|weight| weight * growth).collect())
    }

    pub(crate) fn class_list(&self) -> &[Class] {
        &self.classes
    }

    pub(crate) fn flow_list(&self) -> &[(f64, usize)] {
        &self.flows
    }
}
