//! What waits in front of a resource.

use std::collections::VecDeque;

use dovetail_sched::aqm::{
    AqmDrop, AqmError, Arrival, Congestion, Densities, Drq, Fraction, ManagedQueue, Manager, QueueConfig, Red,
    RedConfig,
};
use dovetail_sched::{
    FlowConfig, FlowId, Limit, Next, Packet as Offered, Progress, Scheduler, Served, Shape, Spec, build,
};
use dovetail_units::{Duration, ResourceVec, Time};

use rand::Rng;

use super::description::{Hop, Network, Service};
use super::packet::{Packet, PacketId};
use super::result::HopTotals;
use crate::error::SimError;
use crate::random::{Stream, stream};

/// How packets wait in front of a resource.
#[derive(Clone, PartialEq, Debug)]
pub enum Queueing {
    /// In order of arrival; what finds no room is lost.
    DropTail,
    /// In order of arrival, under RED, whose limit is the hop's; in bytes, that many packets of mean size, as in ns-2.
    Red(RedConfig),
    /// In order of arrival, under DRQ, whose limit is the hop's as under RED: by the classes' densities on a CPU.
    Drq(QueueConfig),
    /// Every flow in a queue of its own, under this scheduler of one resource.
    PerFlow(Spec),
}

/// The queue at work.
pub(super) enum Queue {
    Fifo { waiting: VecDeque<PacketId>, limit: usize },
    Managed(Box<Managed>),
    PerFlow(PerFlow),
}

/// The packet is lost.
pub(super) struct Lost;

/// The first packet of a queue whose resource is idle.
pub(super) enum First {
    /// The resource takes it.
    Served(PacketId),
    /// It is dropped. Ask again.
    Dropped(PacketId),
}

impl Queue {
    pub fn new(hop: &Hop, network: &Network, seed: u64) -> Result<Self, SimError> {
        let wrong = |error: AqmError| SimError::invalid(format!("hop {:?}: {error}", hop.name));
        let limited = |queue: QueueConfig| QueueConfig { limit: Some(queue.unit.packets(hop.limit)), ..queue };
        let manager = match &hop.queueing {
            Queueing::DropTail => return Ok(Self::Fifo { waiting: VecDeque::new(), limit: hop.limit as usize }),
            Queueing::PerFlow(spec) => return Ok(Self::PerFlow(PerFlow::new(spec, hop)?)),
            Queueing::Red(config) => {
                Red::new(RedConfig { queue: limited(config.queue), ..*config }).map(Manager::Red).map_err(wrong)?
            }
            Queueing::Drq(config) => {
                let drq = match hop.service {
                    Service::Link(_) => Drq::link(limited(*config)),
                    Service::Cpu(_) => densities(network).and_then(|densities| Drq::cpu(limited(*config), densities)),
                };
                drq.map(Manager::Drq).map_err(wrong)?
            }
        };
        let draws = stream(seed, &format!("hop {}", hop.name));
        Ok(Self::Managed(Box::new(Managed { waiting: ManagedQueue::new(manager), draws })))
    }

    /// Packets that wait.
    #[inline]
    pub fn len(&self) -> u32 {
        match self {
            Self::Fifo { waiting, .. } => waiting.len() as u32,
            Self::Managed(queue) => queue.waiting.len() as u32,
            Self::PerFlow(queue) => queue.scheduler.stats().queued as u32,
        }
    }

    pub fn add_flow(&mut self, flow: u32) {
        if let Self::PerFlow(queue) = self {
            queue.add(flow);
        }
    }

    /// The flow has nothing in the network.
    pub fn remove_flow(&mut self, now: Time, flow: u32) {
        if let Self::PerFlow(queue) = self {
            queue.remove(now, flow);
        }
    }

    /// A packet comes that will take `cost` of the resource.
    #[inline]
    pub fn arrive(
        &mut self,
        now: Time,
        id: PacketId,
        packet: &mut Packet,
        cost: impl FnOnce() -> Duration,
        totals: &mut HopTotals,
    ) -> Result<(), Lost> {
        totals.arrived += 1;
        match self {
            Self::Fifo { waiting, limit } if waiting.len() >= *limit => {
                totals.overflowed += 1;
                Err(Lost)
            }
            Self::Fifo { waiting, .. } => {
                waiting.push_back(id);
                Ok(())
            }
            Self::Managed(queue) => queue.arrive(now, id, packet, totals),
            Self::PerFlow(queue) => queue.arrive(now, id, packet, cost()).inspect_err(|_| totals.overflowed += 1),
        }
    }

    /// The resource has finished a packet.
    #[inline]
    pub fn departed(&mut self, now: Time) {
        if let Self::Managed(queue) = self {
            queue.waiting.departed(now);
        }
    }

    /// What becomes of the first packet when the resource is idle; none if none waits.
    #[inline]
    pub fn next(&mut self, now: Time, totals: &mut HopTotals) -> Result<Option<First>, SimError> {
        match self {
            Self::Fifo { waiting, .. } => Ok(waiting.pop_front().map(First::Served)),
            Self::Managed(queue) => Ok(queue.waiting.pop().map(First::Served)),
            Self::PerFlow(queue) => queue.next(now, totals),
        }
    }
}

/// The classes' densities, as they are known (assumption A1 of DRQ).
fn densities(network: &Network) -> Result<Densities, AqmError> {
    let classes: Vec<_> = network.classes.iter().map(|class| class.density).collect();
    Densities::new(&classes, Fraction::ZERO)
}

/// A queue in order of arrival under active queue management.
pub(super) struct Managed {
    waiting: ManagedQueue<PacketId>,
    draws: Stream,
}

impl Managed {
    #[inline]
    fn arrive(&mut self, now: Time, id: PacketId, packet: &mut Packet, totals: &mut HopTotals) -> Result<(), Lost> {
        let Packet { class, bytes, congestion, segment, .. } = *packet;
        let arrival = Arrival { size: bytes, ecn_capable: segment.ect, congestion, class };
        let marked = &mut totals.marked;
        let signalled = &mut totals.signalled;
        let mark = |_: &mut PacketId, state: Congestion| {
            packet.congestion = state;
            packet.segment.ce |= state == Congestion::Congested;
            *marked += u64::from(state == Congestion::Congested);
            *signalled += u64::from(state == Congestion::Signalled);
        };
        let arrived = self.waiting.arrive(now, &arrival, self.draws.next_u64(), id, mark);
        arrived.map_err(|(reason, _)| {
            let count = if reason == AqmDrop::Full { &mut totals.overflowed } else { &mut totals.dropped };
            *count += 1;
            Lost
        })
    }
}

/// A queue for every flow.
pub(super) struct PerFlow {
    scheduler: Box<dyn Scheduler<1, PacketId>>,
    ids: Vec<Option<FlowId>>,
    limit: Limit,
    /// The packet that the resource has: over when the next one is asked for.
    in_service: Option<Served<1, ()>>,
}

impl PerFlow {
    fn new(spec: &Spec, hop: &Hop) -> Result<Self, SimError> {
        let scheduler = build(spec, Shape { servers: 1 });
        let scheduler = scheduler.map_err(|e| SimError::invalid(format!("hop {:?}: {e}", hop.name)))?;
        let limit = Limit { packets: Some(hop.limit), ..Limit::default() };
        Ok(Self { scheduler, ids: Vec::new(), limit, in_service: None })
    }

    fn add(&mut self, flow: u32) {
        let place = flow as usize;
        if self.ids.len() <= place {
            self.ids.resize(place + 1, None);
        }
        let config = FlowConfig { limit: self.limit, ..FlowConfig::default() };
        self.ids[place] = Some(self.scheduler.add_flow(config));
    }

    fn remove(&mut self, now: Time, flow: u32) {
        if let Some(id) = self.ids.get_mut(flow as usize).and_then(Option::take) {
            // It is known, and nothing of it waits.
            let _ = self.scheduler.remove_flow(now, id, &mut |_| ());
        }
    }

    fn arrive(&mut self, now: Time, id: PacketId, packet: &Packet, cost: Duration) -> Result<(), Lost> {
        let Some(flow) = self.ids.get(packet.flow as usize).copied().flatten() else { return Err(Lost) };
        let cost = ResourceVec([cost]);
        let offered = Offered { flow, size: packet.bytes, cost, payload: id };
        self.scheduler.enqueue(now, offered).map_err(|_| Lost)
    }

    fn next(&mut self, now: Time, totals: &mut HopTotals) -> Result<Option<First>, SimError> {
        if let Some(mut served) = self.in_service.take() {
            let used = served.ticket.charged()[0];
            self.scheduler.progress(now, &mut served.ticket, 0, Progress::Finished { used });
        }
        let mut at = now;
        let answer = loop {
            match self.scheduler.next(at) {
                // It has more to do than one call takes, and goes on.
                Next::At(time) if time.since(at) == Duration::from_nanos(1) => at = time,
                answer => break answer,
            }
        };
        match answer {
            Next::Serve(Served { ticket, size, payload }) => {
                self.in_service = Some(Served { ticket, size, payload: () });
                Ok(Some(First::Served(payload)))
            }
            Next::Drop { payload, .. } => {
                totals.dropped += 1;
                Ok(Some(First::Dropped(payload)))
            }
            Next::Empty => Ok(None),
            Next::At(_) | Next::AwaitProgress => Err(SimError::Stalled {
                at: now,
                waiting: self.scheduler.stats().queued,
                answer: "\"wait\" to an idle resource",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduler_that_goes_on_in_another_call_is_asked_again() {
        let spec: Spec = "fq_codel:quantum=1 B".parse().unwrap();
        let hop = Hop {
            name: "link".into(),
            service: Service::Link("1 Mbps".parse().unwrap()),
            queueing: Queueing::PerFlow(spec.clone()),
            limit: 10,
            delay: Duration::ZERO,
            encoding: None,
        };
        let (mut queue, mut totals) = (PerFlow::new(&spec, &hop).unwrap(), HopTotals::default());
        queue.add(0);
        for payload in 0..2 {
            let (flow, cost) = (queue.ids[0].unwrap(), ResourceVec([Duration::from_micros(12_000)]));
            assert!(queue.scheduler.enqueue(Time::ZERO, Offered { flow, size: 1500, cost, payload }).is_ok());
        }
        // After the first packet the flow needs 1500 turns for the second.
        for payload in 0..2 {
            let first = queue.next(Time::ZERO, &mut totals);
            assert!(matches!(first, Ok(Some(First::Served(served))) if served == payload), "packet {payload}");
        }
    }

    #[test]
    fn a_flow_that_ended_leaves_nothing_in_the_scheduler() {
        let spec: Spec = "drr".parse().unwrap();
        let hop = Hop {
            name: "link".into(),
            service: Service::Link("1 Mbps".parse().unwrap()),
            queueing: Queueing::PerFlow(spec.clone()),
            limit: 10,
            delay: Duration::ZERO,
            encoding: None,
        };
        let mut queue = PerFlow::new(&spec, &hop).unwrap();
        queue.add(0);
        let ended = queue.ids[0].unwrap();
        queue.remove(Time::ZERO, 0);
        assert_eq!(queue.ids, [None]);
        // It is known no more, so that it cannot be removed again.
        assert!(queue.scheduler.remove_flow(Time::ZERO, ended, &mut |_| ()).is_err());
        // The place is another flow's then.
        queue.add(0);
        assert_ne!(queue.ids[0].unwrap(), ended);
    }
}
