//! What the disciplines that share one resource of the pipeline have in common: which resource, what a packet is
//! charged there, and a fluid clock.
//!
//! A packet that needs no time on the resource counts as one nanosecond there: with nothing at all, a flow of such
//! packets would never give way.

mod clock;

use alloc::format;

use dovetail_units::{Duration, ResourceVec, Weight};

use crate::catalog::Parameter;
use crate::charge::Charge;
use crate::contract::{FlowConfig, Ticket, Took};
use crate::queues::Queues;
use crate::spec::{Spec, SpecError};

pub use clock::{FluidClock, most_events};

/// The parameter that says which resource is shared.
pub const RESOURCE: Parameter = Parameter {
    name: "resource",
    value: "0, 1, .. in the order of the pipeline",
    default: "the last",
    meaning: "the resource that is shared; the others are ignored",
    settable: false,
};

/// The resource that is shared, and what flows pay for their packets there in the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared {
    pub resource: usize,
    pub charge: Charge,
}

impl Shared {
    /// As `spec` says, of `M` resources; the last one if it names none.
    pub fn from_spec<const M: usize>(spec: &Spec) -> Result<Self, SpecError> {
        let last = M.saturating_sub(1);
        let bad = |value: &str| {
            let expected = format!("a resource from 0 to {last}, counted along the pipeline");
            SpecError::bad_value(RESOURCE.name, value, &expected)
        };
        let parse = |value: &str| value.parse().ok().filter(|&r| r <= last).ok_or_else(|| bad(value));
        let resource = spec.value(RESOURCE.name).map_or(Ok(last), parse)?;
        Ok(Self { resource, charge: Charge::from_spec(spec)? })
    }

    /// The flow's weight.
    pub fn weight<const M: usize>(self, config: &FlowConfig<M>) -> Weight {
        config.weights()[self.resource]
    }

    /// What a packet is charged, in nanoseconds.
    #[inline]
    pub fn nanos<const M: usize>(self, cost: &ResourceVec<M>) -> i64 {
        charged(cost[self.resource])
    }

    /// What the flow's first waiting packet is charged, in nanoseconds.
    #[inline]
    pub fn head<const M: usize, P, S: Default, T: Copy + Default>(
        self,
        flow: u32,
        queues: &Queues<M, P, S, T>,
    ) -> Option<i64> {
        queues.head(flow).map(|packet| self.nanos(&packet.cost))
    }

    /// By how many nanoseconds the charge of this ticket's packet changes, which took so long on this resource, if it
    /// is the one that is shared and its flow is charged what was measured.
    #[inline]
    pub fn more<const M: usize>(self, ticket: &Ticket<M>, Took { resource, used }: Took) -> Option<i64> {
        let counts = resource == self.resource && self.charge == Charge::Measured;
        counts.then(|| charged(used) - charged(ticket.charged[resource]))
    }
}

/// What a packet of this processing time is charged, in nanoseconds: at least one. No packet takes 2^62.
#[inline]
pub(crate) fn charged(time: Duration) -> i64 {
    time.as_nanos().max(1) as i64
}

/// What a packet is charged on `R` resources, in nanoseconds: one on the first if it needs no time at all. No packet
/// takes 2^62.
#[inline]
pub(crate) fn charges<const R: usize>(times: [Duration; R]) -> [i64; R] {
    let mut nanos = times.map(|time| time.as_nanos() as i64);
    if let (Some(first), true) = (nanos.first_mut(), times.iter().all(|&time| time == Duration::ZERO)) {
        *first = 1;
    }
    nanos
}
