//! A pipeline without buffers between its resources, by plain recursion: a packet starts when it need not wait on any
//! resource.

use dovetail_sched::{FlowId, Next, Packet, Progress, Scheduler, Ticket};
use dovetail_units::{ResourceVec, Time};

/// When each of `M` resources of one server is free.
#[derive(Clone, Debug)]
pub struct NoWait<const M: usize> {
    free: [u64; M],
    busy: [u64; M],
}

impl<const M: usize> Default for NoWait<M> {
    fn default() -> Self {
        Self { free: [0; M], busy: [0; M] }
    }
}

impl<const M: usize> NoWait<M> {
    /// When the resource is free, in ns.
    pub fn free_at(&self, resource: usize) -> u64 {
        self.free[resource]
    }

    /// How long the resource has been busy, in ns.
    pub fn busy(&self, resource: usize) -> u64 {
        self.busy[resource]
    }

    /// Start a packet as soon as it finds every resource free on its way; returns when.
    pub fn start(&mut self, cost: &ResourceVec<M>) -> u64 {
        let (mut start, mut travelled) = (0, 0);
        for (free, time) in self.free.iter().zip(cost.iter()) {
            start = start.max(free.saturating_sub(travelled));
            travelled += time.as_nanos();
        }
        let mut at = start;
        for (resource, time) in cost.iter().enumerate() {
            at += time.as_nanos();
            self.free[resource] = at;
            self.busy[resource] += time.as_nanos();
        }
        start
    }
}

/// A packet that went through.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    /// Index of its flow.
    pub flow: usize,
    /// When it started on the first resource, in ns.
    pub start: u64,
    /// When it ended on the last one, in ns.
    pub end: u64,
    /// The caller's own.
    pub payload: u32,
}

/// A scheduler in front of a [`NoWait`] pipeline.
pub struct Driver<const M: usize> {
    /// The scheduler.
    pub scheduler: Box<dyn Scheduler<M, u32>>,
    /// The pipeline.
    pub pipeline: NoWait<M>,
    inside: Vec<(u64, Ticket<M>, ResourceVec<M>)>,
    now: u64,
}

impl<const M: usize> Driver<M> {
    /// At time zero.
    pub fn new(scheduler: Box<dyn Scheduler<M, u32>>) -> Self {
        Self { scheduler, pipeline: NoWait::default(), inside: Vec::new(), now: 0 }
    }

    /// The present: when the first resource was last found free.
    pub fn now(&self) -> Time {
        Time::from_nanos(self.now)
    }

    /// Let time pass until the first resource has been idle for so many nanoseconds.
    pub fn idle(&mut self, nanos: u64) {
        self.now = self.now.max(self.pipeline.free_at(0)) + nanos;
        self.pipeline.free[0] = self.now;
        self.report();
    }

    /// Offer a packet with its estimated times.
    pub fn offer(&mut self, flow: FlowId, cost: ResourceVec<M>, payload: u32) {
        let packet = Packet { flow, size: 1, cost, payload };
        let now = self.now();
        assert!(self.scheduler.enqueue(now, packet).is_ok(), "{flow:?} is refused");
    }

    /// Serve the next packet, which really takes `takes(flow, payload, estimate)`; `None` if none waits.
    pub fn serve(&mut self, takes: impl Fn(usize, u32, ResourceVec<M>) -> ResourceVec<M>) -> Option<Passed> {
        self.idle(0);
        loop {
            match self.scheduler.next(self.now()) {
                Next::Serve(packet) => {
                    let flow = packet.ticket.flow().index();
                    let cost = takes(flow, packet.payload, packet.ticket.charged());
                    let start = self.pipeline.start(&cost);
                    let end = self.pipeline.free_at(M - 1);
                    self.inside.push((end, packet.ticket, cost));
                    return Some(Passed { flow, start, end, payload: packet.payload });
                }
                Next::Empty => return None,
                Next::Drop { .. } => (),
                Next::At(time) => self.now = time.as_nanos(),
                Next::AwaitProgress => {
                    let next = self.inside.iter().map(|inside| inside.0).min();
                    self.now = next.expect("a scheduler waits for an empty pipeline");
                }
            }
            self.report();
        }
    }

    /// Report the packets that have left the pipeline by now.
    fn report(&mut self) {
        let now = self.now();
        let scheduler = &mut self.scheduler;
        self.inside.retain_mut(|(end, ticket, cost)| {
            let leaves = *end <= now.as_nanos();
            for (resource, &used) in cost.iter().enumerate().filter(|_| leaves) {
                scheduler.progress(now, ticket, resource, Progress::Finished { used });
            }
            !leaves
        });
    }
}
