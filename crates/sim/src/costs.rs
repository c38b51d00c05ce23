//! What a packet costs, and what the scheduler is told.

use dovetail_sched::FlowId;
use dovetail_units::{BitRate, Duration, ResourceVec};

use crate::arrivals::Emitted;
use crate::workload::{Cost, Estimate, Flow};

/// What the engine needs to know of a flow for every packet.
pub(crate) struct FlowCosts<const M: usize> {
    pub id: FlowId,
    cost: [Cost; M],
    estimate: [Estimate; M],
}

impl<const M: usize> FlowCosts<M> {
    pub fn new(flow: &Flow<M>, id: FlowId) -> Self {
        Self { id, cost: flow.cost, estimate: flow.estimate }
    }

    /// The true cost of a packet on one server of each resource.
    pub fn true_cost(&self, packet: &Emitted<M>, carries: &mut [Carry; M]) -> ResourceVec<M> {
        let mut cost = ResourceVec::ZERO;
        for r in 0..M {
            cost[r] = match self.cost[r] {
                Cost::Link(rate) => carries[r].transmission_time(rate, packet.size),
                Cost::Linear(linear) => linear.time(u64::from(packet.size)),
                Cost::PerPacket => packet.cost.map_or(Duration::ZERO, |c| c[r]),
            };
        }
        cost
    }

    /// What the scheduler is told of a packet with this true cost.
    pub fn estimate(&self, true_cost: &ResourceVec<M>, size: u32, servers: &[u32; M]) -> ResourceVec<M> {
        let mut estimate = *true_cost;
        for r in 0..M {
            if let Estimate::Linear(linear) = self.estimate[r] {
                estimate[r] = linear.time(u64::from(size));
            }
            estimate[r] = shared(estimate[r], servers[r]);
        }
        estimate
    }
}

/// A time on one server as a time on all servers of the resource together.
pub(crate) fn shared(time: Duration, servers: u32) -> Duration {
    if servers == 1 { time } else { time.divided_by(u64::from(servers)) }
}

/// What a link still owes below a nanosecond, in units of 1/rate nanoseconds.
#[derive(Clone, Copy, Default)]
pub(crate) struct Carry {
    rate: u64,
    owed: u64,
}

impl Carry {
    fn transmission_time(&mut self, rate: BitRate, size: u32) -> Duration {
        if rate.as_bps() != self.rate {
            // Flows may see one resource at different rates: keep the owed time, in the new unit.
            let owed = u128::from(self.owed) * u128::from(rate.as_bps()) / u128::from(self.rate.max(1));
            *self = Self { rate: rate.as_bps(), owed: u64::try_from(owed).unwrap_or(0) };
        }
        let (time, owed) = rate.transmission_time(u64::from(size), self.owed);
        self.owed = owed;
        time
    }
}
