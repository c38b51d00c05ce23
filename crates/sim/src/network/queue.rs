//! What waits in front of a resource.

use std::collections::VecDeque;

use dovetail_pipeline::{FlowIds, FlowQueues, Front, Of, Offer, Refusal};
use dovetail_sched::aqm::{
    AqmDrop, AqmError, Arrival, Congestion, Densities, Drq, Fraction, ManagedQueue, Manager, QueueConfig, Red,
    RedConfig,
};
use dovetail_sched::{
    DropReason, FlowConfig, Limit, Next, Packet as Offered, Progress, Scheduler, Served, Shape, Spec, Ticket, build,
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
pub(super) struct Queue {
    front: Front<HopScheduler, PacketId>,
    /// Of active queue management.
    draws: Stream,
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
        let managed = |manager: Manager| Front::Managed(Box::new(ManagedQueue::new(manager)));
        let front = match &hop.queueing {
            Queueing::DropTail => Front::InOrder { waiting: VecDeque::new(), limit: hop.limit as usize },
            Queueing::PerFlow(spec) => Front::PerFlow(HopScheduler::new(spec, hop)?),
            Queueing::Red(config) => {
                let red = Red::new(RedConfig { queue: limited(config.queue), ..*config });
                red.map(|red| managed(Manager::Red(red))).map_err(wrong)?
            }
            Queueing::Drq(config) => {
                let drq = match hop.service {
                    Service::Link(_) => Drq::link(limited(*config)),
                    Service::Cpu(_) => densities(network).and_then(|densities| Drq::cpu(limited(*config), densities)),
                };
                drq.map(|drq| managed(Manager::Drq(drq))).map_err(wrong)?
            }
        };
        Ok(Self { front, draws: stream(seed, &format!("hop {}", hop.name)) })
    }

    /// Packets that wait.
    #[inline]
    pub fn len(&self) -> u32 {
        self.front.waiting() as u32
    }

    pub fn add_flow(&mut self, flow: u32) {
        if let Some(flows) = self.front.flows_mut() {
            flows.add_flow(flow, ());
        }
    }

    /// The flow has nothing in the network.
    pub fn remove_flow(&mut self, now: Time, flow: u32) {
        if let Some(flows) = self.front.flows_mut() {
            flows.remove_flow(now, flow, &mut |_| ());
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
        let Packet { flow, class, bytes, congestion, segment, .. } = *packet;
        let arrival = Arrival { size: bytes, ecn_capable: segment.ect, congestion, class };
        let (marked, signalled) = (&mut totals.marked, &mut totals.signalled);
        let mark = |_: &mut PacketId, state: Congestion| {
            packet.congestion = state;
            packet.segment.ce |= state == Congestion::Congested;
            *marked += u64::from(state == Congestion::Congested);
            *signalled += u64::from(state == Congestion::Signalled);
        };
        let arrived = self.front.enqueue(now, (flow, &arrival), id, cost, || self.draws.next_u64(), mark);
        arrived.map_err(|(refusal, _)| {
            let managed = matches!(refusal, Refusal::Managed(reason) if reason != AqmDrop::Full);
            let count = if managed { &mut totals.dropped } else { &mut totals.overflowed };
            *count += 1;
            Lost
        })
    }

    /// The resource has finished a packet.
    #[inline]
    pub fn departed(&mut self, now: Time) {
        if let Some(queue) = self.front.managed_mut() {
            queue.departed(now);
        }
    }

    /// What becomes of the first packet when the resource is idle; none if none waits.
    #[inline]
    pub fn next(&mut self, now: Time, totals: &mut HopTotals) -> Result<Option<First>, SimError> {
        match self.front.next(now) {
            Offer::Serve(packet) => Ok(Some(First::Served(packet))),
            Offer::Drop(packet) => {
                totals.dropped += 1;
                totals.dropped_waiting += 1;
                Ok(Some(First::Dropped(packet)))
            }
            Offer::Nothing if self.front.waiting() == 0 => Ok(None),
            Offer::Nothing | Offer::At(_) => Err(SimError::Stalled {
                at: now,
                waiting: self.front.waiting() as u64,
                answer: "\"wait\" to an idle resource",
            }),
        }
    }
}

/// The classes' densities, as they are known (assumption A1 of DRQ).
fn densities(network: &Network) -> Result<Densities, AqmError> {
    let classes: Vec<_> = network.classes.iter().map(|class| class.density).collect();
    Densities::new(&classes, Fraction::ZERO)
}

/// A queue for every flow.
pub(super) struct HopScheduler {
    scheduler: Box<dyn Scheduler<1, PacketId>>,
    ids: FlowIds,
    limit: Limit,
    /// The latest time that the scheduler was told, some nanoseconds late where it had more to do than one call takes.
    clock: Time,
    /// The packet that the resource has: over when the next one is asked for.
    in_service: Option<Ticket<1>>,
}

impl HopScheduler {
    fn new(spec: &Spec, hop: &Hop) -> Result<Self, SimError> {
        let scheduler = build(spec, Shape { servers: 1 });
        let scheduler = scheduler.map_err(|e| SimError::invalid(format!("hop {:?}: {e}", hop.name)))?;
        let limit = Limit { packets: Some(hop.limit), ..Limit::default() };
        Ok(Self { scheduler, ids: FlowIds::default(), limit, clock: Time::ZERO, in_service: None })
    }
}

impl FlowQueues<PacketId> for HopScheduler {
    type Config = ();
    type Cost = Duration;

    fn add_flow(&mut self, flow: u32, (): ()) {
        let config = FlowConfig { limit: self.limit, ..FlowConfig::default() };
        self.ids.insert(flow, self.scheduler.add_flow(config));
    }

    fn remove_flow(&mut self, now: Time, flow: u32, give_back: &mut dyn FnMut(PacketId)) {
        if let Some(id) = self.ids.remove(flow) {
            // It is known.
            let _ = self.scheduler.remove_flow(now, id, give_back);
        }
    }

    fn enqueue(&mut self, now: Time, of: Of<Duration>, packet: PacketId) -> Result<(), (DropReason, PacketId)> {
        let Of { flow, size, cost } = of;
        let Some(flow) = self.ids.get(flow) else { return Err((DropReason::UnknownFlow, packet)) };
        let offered = Offered { flow, size, cost: ResourceVec([cost]), payload: packet };
        self.scheduler.enqueue(now, offered).map_err(|refused| (refused.reason, refused.payload))
    }

    fn next(&mut self, now: Time) -> Offer<PacketId> {
        if let Some(mut ticket) = self.in_service.take() {
            let used = ticket.charged()[0];
            self.scheduler.progress(now, &mut ticket, 0, Progress::Finished { used });
        }
        self.clock = self.clock.max(now);
        loop {
            match self.scheduler.next(self.clock) {
                // It has more to do than one call takes, and goes on.
                Next::At(time) if time.since(self.clock) == Duration::from_nanos(1) => self.clock = time,
                Next::At(time) => return Offer::At(time),
                Next::Serve(Served { ticket, payload, .. }) => {
                    self.in_service = Some(ticket);
                    return Offer::Serve(payload);
                }
                Next::Drop { payload, .. } => return Offer::Drop(payload),
                Next::AwaitProgress | Next::Empty => return Offer::Nothing,
            }
        }
    }

    fn waiting(&self) -> usize {
        self.scheduler.stats().queued as usize
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
        let mut queue = HopScheduler::new(&spec, &hop).unwrap();
        let (flows, packets) = (600, 3);
        for flow in 0..flows {
            queue.add_flow(flow, ());
            for payload in 0..packets {
                let (id, cost) = (queue.ids.get(flow).unwrap(), ResourceVec([Duration::from_micros(12)]));
                let packet = Offered { flow: id, size: 1500 - flow, cost, payload };
                assert!(queue.scheduler.enqueue(Time::ZERO, packet).is_ok());
            }
        }
        // After its first packet every flow needs some thousand turns for the next one, and to find who needs least
        // takes more than a call. Packets may leave in less time than these calls say they need.
        for packet in 0..flows * packets {
            assert!(matches!(queue.next(Time::ZERO), Offer::Serve(_)), "packet {packet}");
        }
        assert!(matches!(queue.next(Time::ZERO), Offer::Nothing) && queue.waiting() == 0);
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
        let mut queue = HopScheduler::new(&spec, &hop).unwrap();
        queue.add_flow(0, ());
        let ended = queue.ids.get(0).unwrap();
        queue.remove_flow(Time::ZERO, 0, &mut |_| ());
        assert_eq!(queue.ids.get(0), None);
        // It is known no more, so that it cannot be removed again.
        assert!(queue.scheduler.remove_flow(Time::ZERO, ended, &mut |_| ()).is_err());
        // The place is another flow's then.
        queue.add_flow(0, ());
        assert_ne!(queue.ids.get(0).unwrap(), ended);
    }
}
