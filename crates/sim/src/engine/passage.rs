//! The way of a packet from one resource to the next.

use dovetail_sched::{Next, Progress};
use dovetail_units::Duration;

use super::{Engine, MOST_IDLE_WAKES};
use crate::between::Offer;
use crate::costs::{all_shared, shared};
use crate::error::SimError;
use crate::recorder::{Recorder, SimPacket};
use crate::stage::Job;

impl<const M: usize, R: Recorder<M>> Engine<'_, M, R> {
    /// Tell every scheduler that has handed the packet out.
    pub(super) fn report(&mut self, job: &mut Job<M>, resource: usize, event: Progress) {
        let now = self.tally.now;
        self.scheduler.progress(now, &mut job.ticket, resource, event);
        if self.has_between {
            for between in self.between[1..=resource].iter_mut().flatten() {
                between.progress(now, job.packet, resource, event);
            }
        }
    }

    /// A service ends. The packet leaves the last resource, and stays on the server of any other until it can move on.
    pub(super) fn complete(&mut self, resource: usize, server: u32) {
        let now = self.tally.now;
        let Some(mut job) = self.stages[resource].job(server) else { return };
        let packet = *self.packets.get(job.packet);
        let used = shared(packet.cost[resource], self.servers[resource]);
        self.report(&mut job, resource, Progress::Finished { used });
        self.predictors.observe(resource, &packet);
        self.recorder.finished(now, &packet, resource, server);
        let stage = &mut self.stages[resource];
        if resource + 1 < M {
            stage.keep(server, job);
            return;
        }
        stage.release(server);
        self.scheduler.left(now, job.ticket.flow(), now.since(packet.arrival));
        self.recorder.delivered(now, &packet);
        self.leave(job.packet);
        self.tally.delivered += 1;
        self.last_departure = Some(now);
    }

    /// The packet at this place is no longer in the pipeline.
    fn leave(&mut self, packet: u32) {
        self.between.iter_mut().flatten().for_each(|between| between.forget(packet));
        self.packets.free(packet);
        self.tally.in_pipeline -= 1;
    }

    /// Move packets between resources as far as there is room, from the last resource to the first.
    pub(super) fn move_on(&mut self) -> Result<(), SimError> {
        for resource in (1..M).rev() {
            if self.between[resource].is_some() {
                self.move_on_scheduled(resource)?;
            } else {
                self.move_on_in_order(resource)?;
            }
        }
        Ok(())
    }

    /// Through a buffer in order of arrival.
    fn move_on_in_order(&mut self, resource: usize) -> Result<(), SimError> {
        loop {
            if self.stages[resource].has_idle()
                && let Some(job) = self.stages[resource].buffer.pop_front()
            {
                self.start(resource, job)?;
                continue;
            }
            let before = resource - 1;
            let Some(&server) = self.stages[before].finished.front() else { return Ok(()) };
            let Some(job) = self.stages[before].job(server) else { return Ok(()) };
            let to = self.next_stop(resource, job.packet);
            if !self.has_room_in_front_of(to) && !self.stages[to].dropping {
                return Ok(());
            }
            self.stages[before].finished.pop_front();
            self.stages[before].release(server);
            if let Some(present) = self.present_at(before, job.packet) {
                *present -= 1;
            }
            self.come(resource, to, job)?;
        }
    }

    /// Where a packet next waits or is served, from this resource on: what needs nothing on one goes past, unless
    /// packets of its flow are there. All packets pass the last resource, schedulers between resources, and resources
    /// between which they must not wait.
    fn next_stop(&self, resource: usize, packet: u32) -> usize {
        if self.has_between || self.no_wait.is_some() {
            return resource;
        }
        let SimPacket { cost, flow, .. } = self.packets.get(packet);
        let passes = |r: usize| cost[r] == Duration::ZERO && self.present[r].get(*flow as usize) == Some(&0);
        (resource..M).find(|&r| !passes(r)).unwrap_or(resource)
    }

    /// How many packets of this one's flow are on a resource between others, or wait for it.
    fn present_at(&mut self, resource: usize, packet: u32) -> Option<&mut u32> {
        self.present[resource].get_mut(self.packets.get(packet).flow as usize)
    }

    /// A packet goes past resources up to the one where it stops, which has room or drops.
    fn come(&mut self, resource: usize, to: usize, mut job: Job<M>) -> Result<(), SimError> {
        let packet = *self.packets.get(job.packet);
        for past in resource..to {
            self.report(&mut job, past, Progress::Started);
            self.report(&mut job, past, Progress::Finished { used: Duration::ZERO });
            self.predictors.observe(past, &packet);
            self.recorder.bypassed(self.tally.now, &packet, past);
        }
        self.hand_over(to, job)
    }

    /// A packet comes to a resource that has an idle server, or room in its buffer, or drops.
    fn hand_over(&mut self, resource: usize, job: Job<M>) -> Result<(), SimError> {
        let has_idle = self.stages[resource].has_idle();
        if !has_idle && self.stages[resource].buffer.len() >= self.stages[resource].capacity {
            self.drop_packet(resource, job);
            return Ok(());
        }
        if let Some(present) = self.present_at(resource, job.packet) {
            *present += 1;
        }
        if has_idle {
            return self.start(resource, job);
        }
        self.stages[resource].buffer.push_back(job);
        Ok(())
    }

    /// Past a scheduler. All packets that can come do so before it is asked.
    fn move_on_scheduled(&mut self, resource: usize) -> Result<(), SimError> {
        loop {
            self.hand_over_scheduled(resource);
            let mut started = false;
            while self.stages[resource].has_idle()
                && let Some(job) = self.scheduled(resource)?
            {
                self.start(resource, job)?;
                started = true;
            }
            if !started {
                return Ok(());
            }
        }
    }

    /// Whether a packet needs nothing on the first of several resources. Packets that must not wait between resources
    /// pass them all in the scheduler's order.
    pub(super) fn may_bypass(&self, packet: &SimPacket<M>) -> bool {
        M > 1 && packet.cost[0] == Duration::ZERO && self.no_wait.is_none()
    }

    /// Whether there is room behind the first resource, and no packet of the flow on it, so that one of the flow can
    /// bypass it.
    pub(super) fn is_clear(&self, flow: u32) -> bool {
        self.has_room_behind_first() && !self.stages[0].jobs().any(|job| self.packets.get(job.packet).flow == flow)
    }

    /// Whether a packet can come to the second resource now, be it lost there.
    fn has_room_behind_first(&self) -> bool {
        M > 1 && (self.stages[1].dropping || self.has_room_in_front_of(1))
    }

    /// Whether one more packet can wait in front of this resource, or start there.
    fn has_room_in_front_of(&self, resource: usize) -> bool {
        let stage = &self.stages[resource];
        let waiting = self.between[resource].as_ref().map_or(stage.buffer.len(), |between| between.waiting);
        waiting < stage.capacity.saturating_add(stage.idle())
    }

    /// What may pass the first resource although all its servers are taken.
    pub(super) fn ask_for_bypass(&mut self) -> Next<M, u32> {
        if !self.has_room_behind_first() {
            return Next::AwaitProgress;
        }
        let Self { scheduler, stages, packets, .. } = self;
        let on_first = |flow: u32| stages[0].jobs().any(|job| packets.get(job.packet).flow == flow);
        scheduler.bypass(self.tally.now, &mut |&packet| !on_first(packets.get(packet).flow))
    }

    /// A packet that needs nothing on the first resource comes to the second, where there is room.
    pub(super) fn pass_by(&mut self, mut job: Job<M>) -> Result<(), SimError> {
        let packet = *self.packets.get(job.packet);
        self.report(&mut job, 0, Progress::Finished { used: Duration::ZERO });
        self.predictors.observe(0, &packet);
        self.recorder.bypassed(self.tally.now, &packet, 0);
        let has_room = self.has_room_in_front_of(1);
        if self.between[1].is_some() {
            self.queue_between(1, job, has_room);
            return Ok(());
        }
        let stop = self.next_stop(1, job.packet);
        let can_stop = self.stages[stop].dropping || self.has_room_in_front_of(stop);
        self.come(1, if can_stop { stop } else { 1 }, job)
    }

    /// Put the packets that are through with the resource before into the queues of this one's scheduler, as far as
    /// there is room.
    fn hand_over_scheduled(&mut self, resource: usize) {
        while let Some(&server) = self.stages[resource - 1].finished.front() {
            let has_room = self.has_room_in_front_of(resource);
            if !has_room && !self.stages[resource].dropping {
                return;
            }
            self.stages[resource - 1].finished.pop_front();
            let Some(job) = self.stages[resource - 1].release(server) else { continue };
            self.queue_between(resource, job, has_room);
        }
    }

    /// A packet comes to a scheduler in front of a further resource; it is lost if there is no room, or none for its
    /// flow.
    fn queue_between(&mut self, resource: usize, job: Job<M>, has_room: bool) {
        let packet = self.packets.get_mut(job.packet);
        packet.predicted = self.predictors.in_front_of(resource, packet);
        let cost = all_shared(&packet.predicted, &self.servers);
        let refused = match &mut self.between[resource] {
            Some(between) if has_room => between.enqueue(self.tally.now, packet.flow, packet.resized, cost, job).err(),
            _ => Some(job),
        };
        if let Some(job) = refused {
            self.drop_packet(resource, job);
        }
    }

    /// What the scheduler in front of a resource with an idle server lets start now.
    fn scheduled(&mut self, resource: usize) -> Result<Option<Job<M>>, SimError> {
        let now = self.tally.now;
        let Some(between) = &mut self.between[resource] else { return Ok(None) };
        match between.next(now) {
            Offer::Serve(job) => Ok(Some(job)),
            Offer::At(time) if time > now && self.idle_wakes < MOST_IDLE_WAKES => Ok(None),
            Offer::At(_) => Err(self.stalled("\"ask again later\" without end")),
            Offer::Wait => Ok(None),
            Offer::Empty => Err(self.stalled("\"empty\"")),
        }
    }

    /// The packet finds no room in front of the resource.
    fn drop_packet(&mut self, resource: usize, mut job: Job<M>) {
        self.report(&mut job, resource, Progress::Abandoned);
        self.recorder.dropped(self.tally.now, self.packets.get(job.packet), resource);
        self.leave(job.packet);
        self.tally.dropped += 1;
    }
}
