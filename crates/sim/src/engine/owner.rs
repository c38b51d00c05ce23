//! What packets need of the pipeline, and what is noted when they move.

use std::ops::ControlFlow::{self, Break, Continue};

use dovetail_pipeline::{Owner, Passage, Resources};
use dovetail_sched::{Next, Progress, Served};
use dovetail_units::{Duration, ResourceVec, Time};

use super::{Engine, MOST_IDLE_WAKES, Start};
use crate::between::Answer;
use crate::costs::{all_shared, shared};
use crate::error::SimError;
use crate::job::Job;
use crate::recorder::{Recorder, SimPacket};

impl<const M: usize, R: Recorder<M>> Owner<M> for Engine<'_, M, R> {
    type Job = Job;
    type Error = SimError;

    #[inline]
    fn resources(&self) -> &Resources<M, Job> {
        &self.resources
    }

    #[inline]
    fn resources_mut(&mut self) -> &mut Resources<M, Job> {
        &mut self.resources
    }

    #[inline]
    fn now(&self) -> Time {
        self.tally.now
    }

    #[inline]
    fn flow(&self, job: &Job) -> u32 {
        job.flow
    }

    #[inline]
    fn needs_nothing(&self, resource: usize, job: &Job) -> bool {
        let packet = &self.packets[job.packet as usize];
        if resource == 0 { packet.bypasses } else { packet.cost[resource] == Duration::ZERO }
    }

    fn times(&self, job: &Job) -> ResourceVec<M> {
        self.packets[job.packet as usize].cost
    }

    fn too_long(&mut self, job: Job) -> Result<(), SimError> {
        Err(SimError::TooLong { flow: self.flow(&job), at: self.tally.now })
    }

    #[inline]
    fn next(&mut self) -> Result<Option<Job>, SimError> {
        self.wake = None;
        while self.tally.waiting > 0 {
            let answer = self.scheduler.next(self.tally.now);
            if let Break(job) = self.hear(answer)? {
                return Ok(job);
            }
        }
        // Some disciplines need to know.
        self.scheduler.next(self.tally.now);
        Ok(None)
    }

    #[inline]
    fn bypass(&mut self) -> Result<Option<Job>, SimError> {
        self.wake = None;
        while self.bypassing > 0
            && let Some(takes) = self.takes_behind_first()
        {
            let Self { scheduler, resources, packets, .. } = self;
            let mut may_pass = |&packet: &u32| {
                let SimPacket { flow, cost, .. } = &packets[packet as usize];
                let needs_nothing = |r: usize| cost[r] == Duration::ZERO;
                resources.may_bypass(&takes, *flow, needs_nothing, |job| job.flow)
            };
            let answer = scheduler.bypass(self.tally.now, &mut may_pass);
            if let Break(job) = self.hear(answer)? {
                return Ok(job);
            }
        }
        Ok(None)
    }

    #[inline]
    fn has_queue(&self, resource: usize) -> bool {
        self.between[resource].is_some()
    }

    #[inline]
    fn queued(&self, resource: usize) -> usize {
        self.between[resource].as_ref().map_or(0, |between| between.waiting)
    }

    fn enqueue(&mut self, resource: usize, job: Job) -> bool {
        let packet = &self.packets[job.packet as usize];
        let predicted = self.predictors.in_front_of(resource, packet);
        self.predictors.keep(job.packet, &predicted);
        let cost = all_shared(&predicted, &self.servers);
        let refused = match &mut self.between[resource] {
            Some(between) => between.enqueue(self.tally.now, packet.flow, packet.resized, cost, job).err(),
            None => Some(job),
        };
        refused.map(|job| self.lost(resource, job)).is_none()
    }

    fn dequeue(&mut self, resource: usize) -> Result<Option<Job>, SimError> {
        let now = self.tally.now;
        let Some(between) = &mut self.between[resource] else { return Ok(None) };
        match between.next(now) {
            Answer::Serve(job) => Ok(Some(job)),
            Answer::At(time) if time > now && self.idle_wakes < MOST_IDLE_WAKES => Ok(None),
            Answer::At(_) => Err(self.stalled("\"ask again later\" without end")),
            Answer::Wait => Ok(None),
            Answer::Empty => Err(self.stalled("\"empty\"")),
        }
    }

    #[inline]
    fn started(&mut self, resource: usize, server: u32, job: &mut Job) -> Result<(), SimError> {
        let now = self.tally.now;
        if resource > 0 {
            self.report(job, resource, Progress::Started);
        }
        let packet = &self.packets[job.packet as usize];
        let end = now + packet.cost[resource];
        if end == Time::MAX {
            return self.too_long(*job);
        }
        self.ends.push((end, Start::new(self.starts, resource, server)));
        self.starts += 1;
        self.idle_wakes = 0;
        self.recorder.started(now, packet, resource, server);
        Ok(())
    }

    #[inline(always)]
    fn finished(&mut self, resource: usize, server: u32, job: &mut Job) -> bool {
        let used = shared(self.packets[job.packet as usize].cost[resource], self.servers[resource]);
        self.report(job, resource, Progress::Finished { used });
        let packet = &self.packets[job.packet as usize];
        self.predictors.observe(resource, packet);
        let predicted = self.predictors.kept(job.packet, resource);
        self.recorder.finished(self.tally.now, packet, resource, server, predicted);
        resource + 1 < M
    }

    fn passed(&mut self, resource: usize, job: &mut Job) {
        if resource > 0 {
            self.report(job, resource, Progress::Started);
        }
        self.report(job, resource, Progress::Finished { used: Duration::ZERO });
        let packet = &self.packets[job.packet as usize];
        self.predictors.observe(resource, packet);
        self.recorder.bypassed(self.tally.now, packet, resource);
    }

    #[inline]
    fn left(&mut self, job: Job) {
        let now = self.tally.now;
        let packet = &self.packets[job.packet as usize];
        self.scheduler.left(now, self.tickets[job.ticket as usize].flow(), now.since(packet.arrival));
        self.recorder.delivered(now, packet);
        self.leave(&job);
        self.tally.delivered += 1;
        self.last_departure = Some(now);
    }

    fn lost(&mut self, resource: usize, job: Job) {
        self.report(&job, resource, Progress::Abandoned);
        self.recorder.dropped(self.tally.now, &self.packets[job.packet as usize], resource);
        self.leave(&job);
        self.tally.dropped += 1;
    }
}

impl<const M: usize, R: Recorder<M>> Engine<'_, M, R> {
    /// Tell every scheduler that has handed the packet out.
    #[inline]
    fn report(&mut self, job: &Job, resource: usize, event: Progress) {
        let now = self.tally.now;
        self.scheduler.progress(now, &mut self.tickets[job.ticket as usize], resource, event);
        if self.resources.in_line {
            for between in self.between[1..=resource].iter_mut().flatten() {
                between.progress(now, job.packet, resource, event);
            }
        }
    }

    /// The packet is no longer in the pipeline.
    #[inline(always)]
    fn leave(&mut self, job: &Job) {
        if self.resources.in_line {
            self.between.iter_mut().flatten().for_each(|between| between.forget(job.packet));
        }
        self.tickets.remove(job.ticket as usize);
        self.packets.remove(job.packet as usize);
        self.tally.in_pipeline -= 1;
    }

    /// What the scheduler at the entrance has answered: the packet that enters, if any; `Continue` asks it again.
    #[inline(always)]
    fn hear(&mut self, answer: Next<M, u32>) -> Result<ControlFlow<Option<Job>>, SimError> {
        let now = self.tally.now;
        match answer {
            Next::Serve(Served { ticket, payload: packet, .. }) => {
                self.tally.waiting -= 1;
                self.tally.in_pipeline += 1;
                self.idle_wakes = 0;
                let of = &self.packets[packet as usize];
                let flow = of.flow;
                self.bypassing -= u64::from(of.bypasses);
                let ticket = self.tickets.insert(ticket) as u32;
                Ok(Break(Some(Job { packet, ticket, flow })))
            }
            Next::Drop { payload, .. } => {
                self.dropped(payload);
                Ok(Continue(()))
            }
            Next::At(time) if time > now && self.idle_wakes < MOST_IDLE_WAKES => {
                self.wake = Some(time);
                Ok(Break(None))
            }
            Next::At(_) => Err(self.stalled("\"ask again later\" without end")),
            Next::AwaitProgress => Ok(Break(None)),
            Next::Empty => Err(self.stalled("\"empty\"")),
        }
    }

    /// The scheduler drops a packet that waits.
    fn dropped(&mut self, payload: u32) {
        let packet = self.packets.remove(payload as usize);
        self.tally.waiting -= 1;
        self.tally.dropped += 1;
        self.bypassing -= u64::from(packet.bypasses);
        self.recorder.dropped(self.tally.now, &packet, 0);
    }
}
