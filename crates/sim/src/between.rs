//! A scheduler in front of a further resource.

use dovetail_sched::composition::Part;
use dovetail_sched::{FlowId, Limit, Next, Packet, Progress, Scheduler, Ticket};
use dovetail_units::{ResourceVec, Time};

use crate::job::Job;
use crate::workload::Flow;

/// What a scheduler between two resources answers.
pub(crate) enum Answer {
    /// This packet starts now.
    Serve(Job),
    /// None before this instant.
    At(Time),
    /// None until something happens.
    Wait,
    /// None, although packets wait: it is wrong.
    Empty,
}

/// A scheduler in front of a further resource, and the packets that are there or have been.
pub(crate) struct Between<'a, const M: usize> {
    part: &'a mut Part<M, u32>,
    /// The flows' ids here.
    flows: Vec<FlowId>,
    /// By a packet's place: the packet, while it waits here.
    parked: Vec<Option<Job>>,
    /// By a packet's place: the ticket that was given here, until the packet leaves the pipeline.
    given: Vec<Option<Ticket<M>>>,
    /// Packets that wait here.
    pub waiting: usize,
    /// When it wants to be asked again.
    pub wake: Option<Time>,
}

impl<'a, const M: usize> Between<'a, M> {
    /// Sets the flows up, each with this limit.
    pub fn new(part: &'a mut Part<M, u32>, flows: &[Flow<M>], limit: Limit) -> Self {
        let flows = flows.iter().map(|flow| part.scheduler.add_flow(flow.config(limit)));
        Self { flows: flows.collect(), part, parked: Vec::new(), given: Vec::new(), waiting: 0, wake: None }
    }

    /// The scheduler, if it has this parameter.
    pub fn with_parameter(&mut self, parameter: &str) -> Option<&mut dyn Scheduler<M, u32>> {
        if self.part.entry.has(parameter) { Some(self.part.scheduler.as_mut()) } else { None }
    }

    /// A packet of the flow comes; given back if its buffer is full.
    pub fn enqueue(&mut self, now: Time, flow: u32, size: u32, cost: ResourceVec<M>, job: Job) -> Result<(), Job> {
        let packet = Packet { flow: self.flows[flow as usize], size, cost, payload: job.packet };
        if self.part.scheduler.enqueue(now, packet).is_err() {
            return Err(job);
        }
        self.waiting += 1;
        put(&mut self.parked, job.packet, job);
        Ok(())
    }

    /// Which packet starts now, if any waits.
    pub fn next(&mut self, now: Time) -> Answer {
        self.wake = None;
        if self.waiting == 0 {
            return Answer::Wait;
        }
        match self.part.scheduler.next(now) {
            // No part of a composition drops.
            Next::Drop { .. } => Answer::Empty,
            Next::Serve(served) => {
                let packet = served.payload;
                let Some(job) = take(&mut self.parked, packet) else { return Answer::Empty };
                self.waiting -= 1;
                put(&mut self.given, packet, served.ticket);
                Answer::Serve(job)
            }
            Next::At(time) => {
                self.wake = Some(time);
                Answer::At(time)
            }
            Next::AwaitProgress => Answer::Wait,
            Next::Empty => Answer::Empty,
        }
    }

    /// The packet at this place, if it was handed out here, gets on.
    pub fn progress(&mut self, now: Time, packet: u32, resource: usize, event: Progress) {
        if let Some(ticket) = self.given.get_mut(packet as usize).and_then(Option::as_mut) {
            self.part.scheduler.progress(now, ticket, resource, event);
        }
    }

    /// The packet has left the pipeline.
    pub fn forget(&mut self, packet: u32) {
        take(&mut self.given, packet);
    }
}

fn put<T>(places: &mut Vec<Option<T>>, at: u32, value: T) {
    let at = at as usize;
    if places.len() <= at {
        places.resize_with(at + 1, || None);
    }
    places[at] = Some(value);
}

fn take<T>(places: &mut [Option<T>], at: u32) -> Option<T> {
    places.get_mut(at as usize).and_then(Option::take)
}
