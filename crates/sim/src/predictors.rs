//! What schedulers are told of a packet before it is processed, and what is learnt when it has been.

use dovetail_sched::cost::{Estimator, Per, Prediction, Resize};
use dovetail_units::{Duration, ResourceVec};

use crate::recorder::SimPacket;
use crate::workload::{Cost, Estimate, Flow};

/// Every estimator of a run.
pub(crate) struct Predictors<const M: usize> {
    /// None at all if everybody is told the truth.
    flows: Vec<[Told; M]>,
    /// One for each kind of prediction on each resource; flows and classes are its keys.
    estimators: Vec<(usize, Prediction, Estimator)>,
    /// One for each alpha; flows are its keys.
    resizes: Vec<(u32, Resize)>,
    /// What was last predicted of a packet, by the place that it has in the simulation; empty if all is true.
    kept: Vec<ResourceVec<M>>,
}

/// What is told of a flow's packets on a resource.
#[derive(Clone, Copy)]
enum Told {
    Truth,
    /// By this estimator, under this key.
    Estimated {
        estimator: usize,
        key: u32,
    },
    /// By this resize factor, and what the resource then takes.
    Resized {
        resize: usize,
        cost: Cost,
    },
}

impl<const M: usize> Predictors<M> {
    pub fn new(flows: &[Flow<M>]) -> Self {
        let mut own = Self { flows: Vec::new(), estimators: Vec::new(), resizes: Vec::new(), kept: Vec::new() };
        if flows.iter().flat_map(|flow| &flow.estimate).any(Estimate::predicts) {
            own.flows.reserve_exact(flows.len());
            for (index, flow) in (0..).zip(flows) {
                let told = std::array::from_fn(|r| own.told(r, index, flow));
                own.flows.push(told);
            }
        }
        own
    }

    fn told(&mut self, resource: usize, index: u32, flow: &Flow<M>) -> Told {
        match flow.estimate[resource] {
            Estimate::Predicted(Prediction::Oracle) => Told::Truth,
            Estimate::Predicted(prediction) => {
                let known = self.estimators.iter().position(|(r, p, _)| (*r, *p) == (resource, prediction));
                let estimator = known.unwrap_or_else(|| {
                    self.estimators.push((resource, prediction, Estimator::new(&prediction)));
                    self.estimators.len() - 1
                });
                let key = if prediction.per() == Per::Class { flow.class } else { index };
                Told::Estimated { estimator, key }
            }
            Estimate::Resized { alpha } => {
                let known = self.resizes.iter().position(|(a, _)| *a == alpha);
                let resize = known.unwrap_or_else(|| {
                    self.resizes.push((alpha, Resize::new(alpha)));
                    self.resizes.len() - 1
                });
                Told::Resized { resize, cost: flow.cost[resource] }
            }
        }
    }

    /// What is predicted of a packet on its arrival: its time on one server of each resource.
    #[inline]
    pub fn on_arrival(&self, flow: u32, size: u32, truth: &ResourceVec<M>) -> ResourceVec<M> {
        let Some(told) = self.flows.get(flow as usize) else { return *truth };
        ResourceVec(std::array::from_fn(|r| match told[r] {
            Told::Truth => truth[r],
            Told::Estimated { estimator, key } => self.estimators[estimator].2.estimate(key, size, truth[r]),
            Told::Resized { resize, cost } => time(cost, self.resizes[resize].1.expected(flow, size), truth[r]),
        }))
    }

    /// What is known of a packet in front of a further resource: the truth of what lies behind it, its length, and
    /// predictions for the rest.
    pub fn in_front_of(&self, resource: usize, packet: &SimPacket<M>) -> ResourceVec<M> {
        let Some(told) = self.flows.get(packet.flow as usize) else { return packet.cost };
        ResourceVec(std::array::from_fn(|r| match told[r] {
            Told::Estimated { estimator, key } if r >= resource => {
                self.estimators[estimator].2.estimate(key, packet.size, packet.cost[r])
            }
            _ => packet.cost[r],
        }))
    }

    /// Remember what was predicted of the packet with this place, if anything is predicted of any.
    #[inline]
    pub fn keep(&mut self, place: u32, predicted: &ResourceVec<M>) {
        if !self.flows.is_empty() {
            let needed = place as usize + 1;
            if self.kept.len() < needed {
                self.kept.resize(needed, ResourceVec::ZERO);
            }
            self.kept[place as usize] = *predicted;
        }
    }

    /// What was last predicted of that packet's time on this resource.
    #[inline]
    pub fn kept(&self, place: u32, resource: usize) -> Option<Duration> {
        self.kept.get(place as usize).map(|predicted| predicted[resource])
    }

    /// A packet is through with a resource.
    #[inline]
    pub fn observe(&mut self, resource: usize, packet: &SimPacket<M>) {
        if let Some(&told) = self.flows.get(packet.flow as usize) {
            self.learn(told, resource, packet);
        }
    }

    fn learn(&mut self, told: [Told; M], resource: usize, packet: &SimPacket<M>) {
        if let Told::Estimated { estimator, key } = told[resource] {
            self.estimators[estimator].2.observe(key, packet.size, packet.cost[resource]);
        }
        if resource > 0 {
            return;
        }
        // Once for the flow, however many resources have it.
        let factor =
            told.iter().find_map(|told| if let Told::Resized { resize, .. } = told { Some(*resize) } else { None });
        if let Some(resize) = factor {
            self.resizes[resize].1.observe(packet.flow, packet.size, packet.resized);
        }
    }
}

/// What the resource takes for this length; what only the packet itself says is taken as true.
fn time(cost: Cost, size: u32, truth: Duration) -> Duration {
    match cost {
        Cost::Link(rate) => rate.transmission_time(u64::from(size), 0).0,
        Cost::Linear(linear) => linear.time(u64::from(size)),
        Cost::PerPacket => truth,
    }
}
