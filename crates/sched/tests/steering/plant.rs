//! A box with a CPU and a 200 Mbit/s link, with flows whose load and costs change.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use dovetail_sched::tradeoff::{PERIOD, Tradeoff};
use dovetail_sched::{FlowConfig, FlowId, Limit, Next, Packet, PerFlow, Progress, Scheduler, Served, Steering, Ticket};
use dovetail_units::{Duration, ResourceVec, Time};

/// Nanoseconds.
pub const SECOND: u64 = 1_000_000_000;
/// Uniform numbers in [0, 1).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// What holds from this nanosecond on: the load of the CPU, a factor of its costs.
pub type Phase = (u64, f64, f64);

/// A packet on its way: its flow and when it came.
type Job = (Ticket<2>, (usize, u64));

/// Flows of forwarding (class 0), monitoring (1) and IPsec (2) in turn, by the costs that the DRFQ paper measured, on a
/// 200 Mbit/s link.
pub struct Plant {
    pub scheduler: PerFlow<2, (usize, u64), Tradeoff>,
    flows: Vec<FlowId>,
    arrivals: BinaryHeap<Reverse<(u64, usize)>>,
    random: Random,
    phases: Vec<Phase>,
    pub now: u64,
    /// Who is on the CPU and on the link, until when.
    serving: [Option<(u64, Job)>; 2],
    /// In front of the link.
    between: VecDeque<Job>,
    busy: [u64; 2],
    /// Of each packet that left: its class, and for how long it stayed.
    pub left: Vec<(usize, u64)>,
}

impl Plant {
    pub fn new(tradeoff: Tradeoff, flows: usize, phases: &[Phase]) -> Self {
        let mut scheduler = PerFlow::new(tradeoff);
        let limit = Limit { packets: Some(50), ..Limit::default() };
        let flows: Vec<_> = (0..flows)
            .map(|flow| {
                let class = Some(flow as u16 % 3);
                scheduler.add_flow(FlowConfig { limit, class, ..FlowConfig::default() })
            })
            .collect();
        let arrivals = (0..flows.len()).map(|flow| Reverse((flow as u64 * 1_000, flow))).collect();
        let (serving, between) = ([None, None], VecDeque::new());
        Self {
            scheduler,
            flows,
            arrivals,
            random: Random(7),
            phases: phases.to_vec(),
            now: 0,
            serving,
            between,
            busy: [0; 2],
            left: Vec::new(),
        }
    }

    fn phase(&self) -> Phase {
        *self.phases.iter().rev().find(|phase| phase.0 <= self.now).unwrap()
    }

    fn arrive(&mut self, flow: usize) {
        let (_, load, factor) = self.phase();
        let bytes = 200.0 + 1200.0 * self.random.next();
        let cpu = [0.00286 * bytes + 6.2, 0.0008 * bytes + 12.1, 0.015 * bytes + 84.5][flow % 3] * factor * 1e3;
        let cost = ResourceVec::from_nanos([cpu as u64, (bytes * 40.0) as u64]);
        let packet = Packet { flow: self.flows[flow], size: bytes as u32, cost, payload: (flow, self.now) };
        let _ = self.scheduler.enqueue(Time::from_nanos(self.now), packet);
        // The mean time of a packet of all three on the CPU, without the factor: the load is what it was to be.
        let gap = self.flows.len() as f64 * 39_290.0 / load * -(1.0 - self.random.next()).ln();
        self.arrivals.push(Reverse((self.now + gap as u64 + 1, flow)));
    }

    fn ends(&mut self, resource: usize) {
        let Some((_, (mut ticket, (flow, came)))) = self.serving[resource].take() else { return };
        let (now, used) = (Time::from_nanos(self.now), ticket.charged()[resource]);
        self.busy[resource] += used.as_nanos();
        self.scheduler.progress(now, &mut ticket, resource, Progress::Finished { used });
        if resource == 0 {
            self.between.push_back((ticket, (flow, came)));
            return;
        }
        self.left.push((flow % 3, self.now - came));
        self.scheduler.left(now, self.flows[flow], Duration::from_nanos(self.now - came));
    }

    /// Start what can start; the instant to ask again, if one is known.
    fn start(&mut self) -> Option<u64> {
        if self.serving[1].is_none()
            && let Some((mut ticket, what)) = self.between.pop_front()
        {
            self.scheduler.progress(Time::from_nanos(self.now), &mut ticket, 1, Progress::Started);
            self.serving[1] = Some((self.now + ticket.charged()[1].as_nanos(), (ticket, what)));
        }
        if self.serving[0].is_some() {
            return None;
        }
        match self.scheduler.next(Time::from_nanos(self.now)) {
            Next::Serve(served) => {
                let Served { ticket, payload, .. } = served;
                self.serving[0] = Some((self.now + ticket.charged()[0].as_nanos(), (ticket, payload)));
                None
            }
            Next::At(time) => Some(time.as_nanos()),
            _ => None,
        }
    }

    fn run_until(&mut self, until: u64) {
        while self.now < until {
            let wake = self.start();
            let ends = self.serving.iter().flatten().map(|(end, _)| *end);
            let arrival = self.arrivals.peek().map(|Reverse((time, _))| *time);
            self.now = ends.chain(arrival).chain(wake).chain([until]).min().unwrap().max(self.now);
            for resource in 0..2 {
                if self.serving[resource].as_ref().is_some_and(|(end, _)| *end <= self.now) {
                    self.ends(resource);
                }
            }
            while let Some(&Reverse((_, flow))) = self.arrivals.peek().filter(|Reverse((time, _))| *time <= self.now) {
                self.arrivals.pop();
                self.arrive(flow);
            }
        }
    }

    pub fn steering(&self) -> Steering {
        self.scheduler.steering().unwrap()
    }

    /// Uses of CPU and link and the alpha after each period until then.
    pub fn record(&mut self, until: u64) -> Vec<([f64; 2], f64)> {
        let mut seen = Vec::new();
        while self.now < until {
            let before = self.busy;
            self.run_until(self.now + PERIOD.as_nanos());
            let used = |r: usize| (self.busy[r] - before[r]) as f64 / PERIOD.as_nanos() as f64;
            seen.push(([used(0), used(1)], self.steering().alpha));
        }
        seen
    }
}
