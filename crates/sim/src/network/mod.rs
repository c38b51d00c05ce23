//! Networks of CPUs and links that TCP flows cross.
//!
//! * [`Network`]: [`Hop`]s (a CPU or a link, the queue in front of it, the propagation delay behind it), [`Class`]es of
//!   flows with their routes, and [`Traffic`]: long-lived flows, and short ones as a Poisson process.
//! * [`simulate_network`]: the event loop. Equal inputs give equal results; every random user draws from its own named
//!   stream.
//! * [`Tap`]: hears of every packet that leaves a hop.
//!
//! Of simultaneous events, the one that was decided earlier happens first; of those decided at one time: ends of
//! service, arrivals at hops from others, starts of flows, then what comes from senders and receivers. Timers have no
//! right of precedence over the rest: the turn of each is drawn.
//!
//! Not modelled: queues on the way of ACKs (they take the propagation delay), routes that change, losses by errors.
//!
//! Cost per data packet and hop: O(log(hops + flows)) and the queue's; per data packet besides, its sender's and
//! receiver's.

mod calendar;
mod description;
mod engine;
mod flow;
mod packet;
mod queue;
mod result;
mod server;
mod web;

use std::sync::atomic::AtomicBool;

use dovetail_units::Time;

pub use description::{Class, Hop, MOST_FLOWS, Network, RoundTrip, Service, Traffic};
pub use packet::Packet;
pub use queue::Queueing;
pub use result::{FlowResult, HopResult, NetworkResult, TrafficResult};
pub use web::shortest;

use crate::error::SimError;
use engine::Engine;

/// How a network's run is made.
#[derive(Clone, Copy)]
pub struct NetworkOptions<'a> {
    /// Determines every random draw.
    pub seed: u64,
    /// What happens before is not counted.
    pub warm_up: Time,
    /// When the run ends; later than `warm_up`.
    pub until: Time,
    /// When it becomes true, the run ends soon, without a result.
    pub cancel: Option<&'a AtomicBool>,
}

/// Hears of packets as they leave hops.
pub trait Tap {
    /// The packet has left the hop with this index, at its link end. `number` tells how many flows of the run started
    /// before its own, whichever traffic they are of: a number that no other flow has, and that hangs on traffic
    /// and seed alone.
    fn left(&mut self, now: Time, hop: u32, packet: &Packet, number: impl FnOnce() -> u64);
}

/// Hears nothing, at no cost.
impl Tap for () {
    fn left(&mut self, _now: Time, _hop: u32, _packet: &Packet, _number: impl FnOnce() -> u64) {}
}

/// Run the network; `None` if the run was cancelled.
///
/// # Errors
/// [`SimError::Invalid`] if the network cannot be run: routes without hops, delays longer than the round trip, traffic
/// of unknown classes, an end before the warm-up's. [`SimError::TooManyFlows`] if short flows come so much faster than
/// they end that more than [`MOST_FLOWS`] are under way.
pub fn simulate_network(
    network: &Network,
    options: NetworkOptions<'_>,
    tap: &mut impl Tap,
) -> Result<Option<NetworkResult>, SimError> {
    network.check().map_err(SimError::invalid)?;
    if options.until <= options.warm_up {
        let (until, warm_up) = (options.until, options.warm_up);
        return Err(SimError::invalid(format!("the run ends at {until}, not later than its warm-up at {warm_up}")));
    }
    Engine::new(network, options, tap)?.run()
}
