//! The rules by which packets move.

use core::ops::Range;

use crate::owner::Owner;
use crate::stage::{Resources, Stage};

/// Moves an owner's packets by the rules of [this crate](crate).
pub trait Passage<const M: usize>: Owner<M> {
    /// A service ends. The packet leaves the pipeline, or stays on its server until it [moves on](Self::move_on).
    #[inline]
    fn finish(&mut self, resource: usize, server: u32) {
        let Some(mut job) = self.stage(resource).take(server) else { return };
        let goes_on = self.finished(resource, server, &mut job);
        match goes_on {
            true => self.stage(resource).keep(server, job),
            false => self.release(resource, server, job),
        }
    }

    /// Move packets between resources as far as there is room, from the last resource to the first.
    ///
    /// # Errors
    /// The owner stops.
    #[inline]
    fn move_on(&mut self) -> Result<(), Self::Error> {
        for resource in (1..M).rev() {
            if self.may_move(resource) {
                self.move_on_at(resource)?;
            }
        }
        Ok(())
    }

    /// What [`finish`](Self::finish) and [`move_on`](Self::move_on) do together, with fewer steps where no other packet
    /// waits to move and the next resource takes this one.
    ///
    /// # Errors
    /// The owner stops.
    #[inline(always)]
    fn finish_and_move_on(&mut self, resource: usize, server: u32) -> Result<(), Self::Error> {
        let Some(mut job) = self.stage(resource).take(server) else { return self.move_on() };
        if !self.finished(resource, server, &mut job) {
            self.release(resource, server, job);
            return self.move_on();
        }
        let to = self.stop(resource + 1, &job);
        let may_start = self.has_queue(to) && self.resources().stages[to].has_idle();
        if self.any_may_move() || !self.takes(to) || (may_start && !self.lets_pass(to)) {
            self.stage(resource).keep(server, job);
            return self.move_on();
        }
        self.stage(resource).release(server);
        let flow = self.flow(&job);
        self.resources_mut().went(resource, flow);
        if !may_start {
            self.come(resource + 1, to, job)?;
        } else if to + 1 == M {
            // Compiled for the last resource, to which most go.
            self.pass(resource + 1..M - 1, &mut job);
            self.start_now(M - 1, job)?;
        } else {
            self.pass(resource + 1..to, &mut job);
            self.start_or_wait(to, job)?;
        }
        // The first resource's idle server is the scheduler's.
        if resource > 0 { self.move_on() } else { Ok(()) }
    }

    /// Ask the scheduler as long as there is room at the entrance, or behind it for what bypasses it.
    ///
    /// # Errors
    /// The owner stops.
    // Always inlined: where a service ends behind the first resource, mostly nobody need be asked.
    #[inline(always)]
    fn dispatch(&mut self) -> Result<(), Self::Error> {
        let Resources { stages, no_wait, .. } = self.resources();
        if no_wait.is_some() || stages[0].has_idle() || self.may_bypass() { self.dispatch_now() } else { Ok(()) }
    }

    /// [`dispatch`](Self::dispatch) where the scheduler is asked.
    ///
    /// # Errors
    /// The owner stops.
    #[inline]
    fn dispatch_now(&mut self) -> Result<(), Self::Error> {
        let now = self.now();
        if let Some(job) = self.resources_mut().no_wait.as_mut().and_then(|entrance| entrance.take(now)) {
            self.start(0, job)?;
        }
        // Packets that bypassed the first resource may start on the next, and leave room for others.
        while self.hand_out()? {
            self.move_on()?;
        }
        Ok(())
    }

    /// Whether each resource behind the first takes a packet now, be it to be lost there; `None` if none does.
    fn takes_behind_first(&self) -> Option<[bool; M]> {
        let takes = core::array::from_fn(|r| r > 0 && self.takes(r));
        takes.contains(&true).then_some(takes)
    }
}

impl<const M: usize, O: Owner<M> + ?Sized> Passage<M> for O {}

/// What the moves consist of.
trait Steps<const M: usize>: Owner<M> {
    /// Whether a packet can come to this resource now, be it to be lost there.
    #[inline]
    fn takes(&self, resource: usize) -> bool {
        self.resources().stages[resource].drops || self.has_room(resource)
    }

    #[inline]
    fn stage(&mut self, resource: usize) -> &mut Stage<Self::Job> {
        &mut self.resources_mut().stages[resource]
    }

    /// [`move_on`](Passage::move_on) for the packets that come to this further resource, or start there.
    #[inline(never)]
    fn move_on_at(&mut self, resource: usize) -> Result<(), Self::Error> {
        if self.has_queue(resource) { self.move_on_through_queue(resource) } else { self.move_on_in_order(resource) }
    }

    /// Whether a packet has come to this further resource, or may start there.
    #[inline(always)]
    fn may_move(&self, resource: usize) -> bool {
        let stages = &self.resources().stages;
        let may_start = || match self.has_queue(resource) {
            true => self.may_hand_out(resource),
            false => stages[resource].buffered() > 0,
        };
        stages[resource - 1].has_finished() || (stages[resource].has_idle() && may_start())
    }

    /// Whether any packet has come to a further resource, or may start there.
    #[inline(always)]
    fn any_may_move(&self) -> bool {
        let mut any = false;
        for resource in 1..M {
            any |= self.may_move(resource);
        }
        any
    }

    #[inline]
    fn has_room(&self, resource: usize) -> bool {
        let stage = &self.resources().stages[resource];
        if !stage.has_limit() {
            return true;
        }
        let waiting = if self.has_queue(resource) { self.queued(resource) } else { stage.buffered() };
        stage.has_room_beside(waiting)
    }

    /// The packet leaves the pipeline, and its server is idle.
    #[inline(always)]
    fn release(&mut self, resource: usize, server: u32, job: Self::Job) {
        self.stage(resource).release(server);
        let flow = self.flow(&job);
        self.resources_mut().went(resource, flow);
        self.left(job);
    }

    #[inline]
    fn stop(&self, from: usize, job: &Self::Job) -> usize {
        self.resources().stop(from, self.flow(job), |r| self.needs_nothing(r, job))
    }

    /// Whether any packet went past the first resource.
    #[inline]
    fn hand_out(&mut self) -> Result<bool, Self::Error> {
        let mut bypassed = false;
        loop {
            let Resources { stages, no_wait, .. } = self.resources();
            let is_free = no_wait.as_ref().is_none_or(|entrance| entrance.next_start().is_none());
            let enters = stages[0].has_idle() && is_free;
            let job = if enters { self.next()? } else { self.bypass()? };
            let Some(job) = job else { return Ok(bypassed) };
            if self.needs_nothing(0, &job) && (!enters || self.is_clear(&job)) {
                self.pass_by(job)?;
                bypassed = true;
            } else {
                self.enter(job)?;
            }
        }
    }

    /// Whether a packet that needs nothing on resource 0 can go past it.
    fn is_clear(&self, job: &Self::Job) -> bool {
        let flow = self.flow(job);
        let on_first = |other: &Self::Job| self.flow(other) == flow;
        self.takes(self.stop(1, job)) && !self.resources().stages[0].on_servers().any(on_first)
    }

    fn pass_by(&mut self, mut job: Self::Job) -> Result<(), Self::Error> {
        self.passed(0, &mut job);
        let to = self.stop(1, &job);
        self.come(1, to, job)
    }

    /// A packet starts, or stands at the entrance until it can pass without waiting.
    #[inline]
    fn enter(&mut self, job: Self::Job) -> Result<(), Self::Error> {
        if self.resources().no_wait.is_none() {
            return self.start_now(0, job);
        }
        let (now, times) = (self.now(), self.times(&job));
        let Some(entrance) = self.resources_mut().no_wait.as_mut() else { return Ok(()) };
        let Some(start) = entrance.reserve(now, &times) else { return self.too_long(job) };
        if start > now {
            entrance.hold(start, job);
            return Ok(());
        }
        self.start(0, job)
    }

    #[inline]
    fn start(&mut self, resource: usize, job: Self::Job) -> Result<(), Self::Error> {
        self.start_now(resource, job)
    }

    /// [`start`](Self::start), compiled where it is called.
    #[inline(always)]
    fn start_now(&mut self, resource: usize, mut job: Self::Job) -> Result<(), Self::Error> {
        if let Some(server) = self.stage(resource).next_idle() {
            self.started(resource, server, &mut job)?;
            self.stage(resource).occupy(job);
        }
        Ok(())
    }

    /// Through a buffer in order of arrival.
    fn move_on_in_order(&mut self, resource: usize) -> Result<(), Self::Error> {
        loop {
            let stage = self.stage(resource);
            if stage.has_idle()
                && let Some(job) = stage.buffer.pop_front()
            {
                self.start(resource, job)?;
                continue;
            }
            let Some((to, job)) = self.first_that_moves(resource) else { return Ok(()) };
            self.come(resource, to, job)?;
        }
    }

    /// Through a queue of the owner's. All packets that can come do so before it is asked.
    fn move_on_through_queue(&mut self, resource: usize) -> Result<(), Self::Error> {
        loop {
            while let Some((to, job)) = self.first_that_moves(resource) {
                self.come(resource, to, job)?;
            }
            if !self.start_queued(resource)? {
                return Ok(());
            }
        }
    }

    /// Whether any packet started.
    fn start_queued(&mut self, resource: usize) -> Result<bool, Self::Error> {
        let mut any = false;
        while self.stage(resource).has_idle()
            && self.may_hand_out(resource)
            && let Some(job) = self.dequeue(resource)?
        {
            self.start(resource, job)?;
            any = true;
        }
        Ok(any)
    }

    /// The packet that has been finished on the resource before for longest, taken off its server, if there is room
    /// where it stops next.
    #[inline]
    fn first_that_moves(&mut self, resource: usize) -> Option<(usize, Self::Job)> {
        let job = self.resources().stages[resource - 1].first_finished()?;
        let to = self.stop(resource, job);
        if !self.takes(to) {
            return None;
        }
        let job = self.stage(resource - 1).take_finished()?;
        let flow = self.flow(&job);
        self.resources_mut().went(resource - 1, flow);
        Some((to, job))
    }

    /// A packet goes past resources up to the one where it stops, which has room or drops.
    #[inline]
    fn come(&mut self, resource: usize, to: usize, mut job: Self::Job) -> Result<(), Self::Error> {
        self.pass(resource..to, &mut job);
        if !self.has_room(to) {
            self.lost(to, job);
            return Ok(());
        }
        if self.has_queue(to) {
            let flow = self.flow(&job);
            if self.enqueue(to, job) {
                self.resources_mut().came(to, flow);
            }
            // Nobody else asks a queue that the packet went past others to.
            return if to > resource { self.start_queued(to).map(drop) } else { Ok(()) };
        }
        self.start_or_wait(to, job)
    }

    #[inline]
    fn pass(&mut self, resources: Range<usize>, job: &mut Self::Job) {
        for resource in resources {
            self.passed(resource, job);
        }
    }

    /// A packet that has come starts, or waits in the buffer.
    #[inline]
    fn start_or_wait(&mut self, resource: usize, job: Self::Job) -> Result<(), Self::Error> {
        let flow = self.flow(&job);
        self.resources_mut().came(resource, flow);
        if self.stage(resource).has_idle() {
            return self.start(resource, job);
        }
        self.stage(resource).buffer.push_back(job);
        Ok(())
    }
}

impl<const M: usize, O: Owner<M> + ?Sized> Steps<M> for O {}
