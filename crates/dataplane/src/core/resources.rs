//! The resources at work: who is on them, until when, and who is next.

use dovetail_sched::{DROPPED_AT_HEAD, Progress};
use dovetail_units::{Duration, Time};

use super::cpu::cycles;
use super::middlebox::{CPU, LINK, Middlebox, THIRD};
use super::queue::{Buffer, Offer, Overflow, Queue};
use super::queues::Between;
use crate::frame::Frame;
use crate::module::{Around, ModuleDrop, run};

/// The most frames that wait for the port. When it takes none, the link stands still. A worker that is late makes up
/// for up to [`CATCH_UP`] before it gives the port anything, so that there is room for as many frames as a link of 1
/// Gbit/s sends meanwhile (of 800 bytes 1,563); else the link would lose that time unnoticed.
pub(crate) const OUTGOING: usize = 2048;

/// The box does not make up for more than this: what a worker that was away for longer could not do is lost time.
const CATCH_UP: Duration = Duration::from_millis(10);

/// A frame on a resource.
pub(super) struct Serving {
    pub frame: Frame,
    until: Time,
    used: Duration,
    /// As `until`, whatever time is lost.
    due: Time,
}

impl Serving {
    fn new(frame: Frame, start: Time, used: Duration) -> Self {
        Self { frame, until: start + used, used, due: start + used }
    }
}

impl Middlebox {
    pub(super) fn next_due(&self) -> Option<(usize, Time)> {
        let due = |place: usize| match &self.serving[place] {
            Some(_) if self.blocked(place) => None,
            Some(serving) => Some(serving.until),
            None => self.wake[place].filter(|_| place != LINK || self.outgoing.len() < OUTGOING),
        };
        // Of two at the same time the later in the box goes first, to make room.
        let places = [LINK, THIRD, CPU].into_iter();
        places.filter_map(|place| Some((place, due(place)?))).min_by_key(|&(_, at)| at)
    }

    /// The buffers are others from now on: what was blocked until now has not been late.
    pub(super) fn unblock(&mut self, now: Time) {
        for place in [CPU, THIRD] {
            let blocked = self.blocked(place);
            if let Some(serving) = self.serving[place].as_mut().filter(|_| blocked) {
                serving.until = serving.until.max(now);
            }
        }
    }

    /// As schedulers count this resource.
    fn number(&self, place: usize) -> usize {
        if place == LINK && self.third.is_none() { 1 } else { place }
    }

    /// Where the frame goes after the CPU.
    fn after_cpu(&self, frame: &Frame) -> usize {
        let third_time = self.classes[usize::from(frame.class)].setup.third_time(frame.size_in);
        let third = self.third.is_some() && (third_time > Duration::ZERO || self.passes_in_line());
        if third { THIRD } else { LINK }
    }

    /// Whether also what needs nothing of the third resource must pass it. A reload may have taken the cost from flows
    /// of which frames were there, and these have not all gone yet. And a scheduler that keeps back what would find no
    /// room counts frames up to the next resource only.
    fn passes_in_line(&self) -> bool {
        matches!(self.between, Some(Between::Each { holds: true, .. })) || self.in_line && !self.is_idle(THIRD)
    }

    pub(super) fn is_idle(&self, place: usize) -> bool {
        self.serving[place].is_none() && self.queues[place].len() == 0
    }

    /// Where the frame goes that is on this resource.
    fn after(&self, place: usize, frame: &Frame) -> usize {
        if place == CPU { self.after_cpu(frame) } else { LINK }
    }

    /// Whether the frame on this resource waits for room in front of the one that it needs next.
    fn blocked(&self, place: usize) -> bool {
        let Some(serving) = self.serving[place].as_ref().filter(|_| place != LINK) else { return false };
        let next = self.after(place, &serving.frame);
        self.buffer_of(next).overflow == Overflow::Block && self.is_full_before(next)
    }

    fn buffer_of(&self, place: usize) -> Buffer {
        self.third.as_ref().filter(|_| place == THIRD).map_or(self.buffer, |third| third.buffer)
    }

    /// Whether there is no room in the one buffer in front of a resource behind the CPU, where there is one.
    fn is_full_before(&self, place: usize) -> bool {
        let most = self.buffer_of(place).frames;
        self.between.is_none() && most.is_some_and(|most| self.queues[place].len() >= most as usize)
    }

    pub(super) fn give_up_lost_time(&mut self, now: Time) {
        let earliest = Time::from_nanos(now.as_nanos().saturating_sub(CATCH_UP.as_nanos()));
        let blocked = [CPU, THIRD, LINK].map(|place| self.blocked(place));
        let mut lost = Duration::ZERO;
        for serving in
            self.serving.iter_mut().zip(blocked).filter(|(_, blocked)| !blocked).filter_map(|(s, _)| s.as_mut())
        {
            if serving.until < earliest {
                lost = lost.max(earliest - serving.until);
                serving.until = earliest;
            }
        }
        if lost > Duration::ZERO {
            self.lost_time += lost;
            self.queues.iter_mut().for_each(|queue| queue.skip(lost));
        }
    }

    /// Every resource takes a frame, if it is idle and there is one.
    pub(super) fn start_all(&mut self, now: Time) {
        self.start_link(now);
        self.start_third(now);
        self.start_cpu(now);
    }

    /// The CPU takes a frame, if it is idle and there is one. What needs nothing of it passes by.
    fn start_cpu(&mut self, now: Time) {
        while self.serving[CPU].is_none() && self.free[CPU] <= now {
            self.wake[CPU] = None;
            match self.queues[CPU].next(now) {
                Offer::Serve(frame) if self.may_pass(&frame) => self.pass_by(now, frame),
                Offer::Serve(frame) => self.process(now, frame),
                Offer::Drop(frame) => self.drop_frame(frame, DROPPED_AT_HEAD),
                Offer::At(time) => return self.wake[CPU] = Some(time),
                Offer::Nothing => return,
            }
        }
        if self.serving[CPU].is_none() {
            self.wake[CPU] = Some(self.free[CPU]);
        }
        while let Some(frame) = self.next_that_passes(now) {
            self.pass_by(now, frame);
        }
    }

    /// Whether the frame needs nothing of the CPU, and there is room for it where it goes then.
    fn may_pass(&self, frame: &Frame) -> bool {
        let needs_cpu = self.classes[usize::from(frame.class)].setup.needs_cpu(frame.size_in);
        !needs_cpu && !self.is_full_before(self.after_cpu(frame))
    }

    /// What the scheduler lets go past the busy CPU. No frame overtakes one of its flow.
    fn next_that_passes(&mut self, now: Time) -> Option<Frame> {
        let room = [CPU, THIRD, LINK].map(|place| !self.is_full_before(place));
        if !(room[LINK] || room[THIRD] && self.third.is_some()) {
            return None;
        }
        let (classes, has_third, in_line) = (&self.classes, self.third.is_some(), self.passes_in_line());
        let on_cpu = self.serving[CPU].as_ref().map(|serving| serving.frame.flow);
        self.queues[CPU].bypass(now, &mut |frame| {
            let class = &classes[usize::from(frame.class)].setup;
            let third = has_third && (in_line || class.third_time(frame.size_in) > Duration::ZERO);
            !class.needs_cpu(frame.size_in) && on_cpu != Some(frame.flow) && room[if third { THIRD } else { LINK }]
        })
    }

    fn pass_by(&mut self, now: Time, mut frame: Frame) {
        let used = Duration::ZERO;
        self.each_account(&frame, |books| books.processed(used));
        self.tell(now, &mut frame, CPU, Progress::Finished { used });
        self.leave_cpu(now, frame, used);
        self.start_link(now);
        self.start_third(now);
    }

    fn process(&mut self, now: Time, mut frame: Frame) {
        let start = now.max(frame.received).max(self.free[CPU]);
        let class = &self.classes[usize::from(frame.class)];
        let known = class.setup.known_work(frame.size_in);
        // Reading the clock takes time as well.
        let before = known.map_or_else(|| cycles().raw(), |_| 0);
        let mut around = Around { now: start, pool: &mut self.pool, answers: &mut self.answers };
        let mut chain = class.setup.modules.iter();
        let outcome = chain.try_for_each(|&module| run(&mut *self.modules[module].module, &mut around, &mut frame));
        self.tails += frame.whole().0 - 1;
        let outcome = outcome.and_then(|()| self.tail_fits(&frame));
        let work = match known {
            Some(work) => work,
            None => self.observe(&frame, Duration::from_nanos(cycles().delta_as_nanos(before, cycles().raw()))),
        };
        let used = self.budget.occupied(work);
        self.each_account(&frame, |books| books.processed(used));
        if let Err(reason) = outcome {
            // It occupied the CPU all the same: what follows starts later.
            self.free[CPU] = start + used;
            self.tell(start + used, &mut frame, CPU, Progress::Finished { used });
            let next = if self.third.is_some() { THIRD } else { LINK };
            self.tell(start + used, &mut frame, next, Progress::Abandoned);
            self.wake[CPU] = Some(self.free[CPU]);
            self.drop_frame(frame, reason.0);
            return;
        }
        self.serving[CPU] = Some(Serving::new(frame, start, used));
    }

    /// What a frame was cut into needs room in the box as well.
    fn tail_fits(&self, frame: &Frame) -> Result<(), ModuleDrop> {
        let cut = frame.tail.is_some();
        let full = cut && self.most.is_some_and(|most| self.inside + self.tails > most as usize);
        if full { Err(ModuleDrop("box-full")) } else { Ok(()) }
    }

    fn observe(&mut self, frame: &Frame, took: Duration) -> Duration {
        let key = self.key_of(frame);
        let estimator = &mut self.estimator;
        let believed = self.meter.believe(took, || estimator.estimate(key, frame.size_in, Duration::ZERO));
        estimator.observe(key, frame.size_in, believed);
        believed
    }

    fn tell(&mut self, now: Time, frame: &mut Frame, place: usize, event: Progress) {
        let number = self.number(place);
        self.queues.iter_mut().for_each(|queue| queue.progress(now, frame, number, event));
    }

    /// The frame on the CPU is done, or a scheduler wanted to be asked now.
    pub(super) fn cpu_due(&mut self, now: Time) {
        let Some(Serving { mut frame, used, .. }) = self.serving[CPU].take() else { return };
        self.free[CPU] = now;
        self.tell(now, &mut frame, CPU, Progress::Finished { used });
        self.leave_cpu(now, frame, used);
    }

    /// A frame has had of the CPU what it needs.
    fn leave_cpu(&mut self, now: Time, mut frame: Frame, used: Duration) {
        let next = self.after_cpu(&frame);
        if self.third.is_some() && next == LINK {
            self.tell(now, &mut frame, THIRD, Progress::Started);
            self.tell(now, &mut frame, THIRD, Progress::Finished { used: Duration::ZERO });
        }
        self.go_to(now, next, frame, used);
    }

    /// A frame that occupied the CPU for so long goes to a resource behind it.
    fn go_to(&mut self, now: Time, place: usize, mut frame: Frame, cpu: Duration) {
        let full = if place == LINK { "link-buffer" } else { "resource-buffer" };
        if self.is_full_before(place) {
            self.tell(now, &mut frame, place, Progress::Abandoned);
            return self.drop_frame(frame, full);
        }
        let third = self.classes[usize::from(frame.class)].setup.third_time(frame.size_in);
        let cost = self.numbered([cpu, third, self.pace.estimate(frame.whole().1)]);
        if let Err((reason, mut frame)) = self.queues[place].enqueue(now, frame, cost) {
            self.tell(now, &mut frame, place, Progress::Abandoned);
            // A flow's buffer behind the CPU is full: its packets were processed in vain. Queue management has
            // reasons of its own.
            let reason = if matches!(self.queues[place], Queue::Scheduled(_)) { full } else { reason };
            self.drop_frame(frame, reason);
        }
    }

    /// What the queue in front of an idle resource behind the CPU hands out, unless it wants to be asked later.
    fn offered(&mut self, now: Time, place: usize) -> Option<Frame> {
        self.wake[place] = None;
        loop {
            match self.queues[place].next(now) {
                Offer::Drop(frame) => self.drop_frame(frame, DROPPED_AT_HEAD),
                Offer::Serve(frame) => return Some(frame),
                Offer::At(time) => {
                    self.wake[place] = Some(time);
                    return None;
                }
                Offer::Nothing => return None,
            }
        }
    }

    /// A resource behind the CPU takes a frame, which occupies it for so long.
    fn take(&mut self, now: Time, place: usize, mut frame: Frame, used: Duration) {
        // Room for the frames that kept a resource.
        for waiting in self.serving[..place].iter_mut().flatten() {
            waiting.until = waiting.until.max(now);
        }
        self.tell(now, &mut frame, place, Progress::Started);
        let start = now.max(self.free[place]).max(frame.received);
        self.serving[place] = Some(Serving::new(frame, start, used));
    }

    /// The third resource takes a frame, if there is one and it is idle.
    fn start_third(&mut self, now: Time) {
        if self.serving[THIRD].is_some() {
            return;
        }
        if let Some(frame) = self.offered(now, THIRD) {
            let used = self.classes[usize::from(frame.class)].setup.third_time(frame.size_in);
            self.take(now, THIRD, frame, used);
        }
    }

    /// The frame on the third resource is done, or a scheduler wanted to be asked now.
    pub(super) fn third_due(&mut self, now: Time) {
        let Some(Serving { mut frame, used, .. }) = self.serving[THIRD].take() else { return };
        self.free[THIRD] = now;
        self.tell(now, &mut frame, THIRD, Progress::Finished { used });
        self.each_account(&frame, |books| books.account.third += used);
        self.in_line &= !self.is_idle(THIRD);
        self.go_to(now, LINK, frame, Duration::ZERO);
    }

    /// The link takes a frame, if it is idle, the port takes frames, and there is one.
    fn start_link(&mut self, now: Time) {
        if self.serving[LINK].is_some() || self.outgoing.len() >= OUTGOING {
            return;
        }
        if let Some(frame) = self.offered(now, LINK) {
            let used = self.pace.take(frame.whole().1);
            self.take(now, LINK, frame, used);
        }
    }

    /// The frame on the link is through, and the worker looks at `seen`; or a scheduler wanted to be asked now.
    pub(super) fn link_due(&mut self, now: Time, seen: Time) {
        let Some(Serving { mut frame, used, due, .. }) = self.serving[LINK].take() else { return };
        self.lateness.left(seen.since(due));
        self.free[LINK] = now;
        self.tell(now, &mut frame, LINK, Progress::Finished { used });
        let marked = self.write_congestion(&mut frame);
        let (frames, bytes) = frame.whole();
        let class = &mut self.classes[usize::from(frame.class)];
        class.resizes |= bytes != frame.size_in as usize;
        if class.resizes {
            self.lengths.observe(u32::from(frame.class), frame.size_in, used);
        }
        let stayed = due.since(frame.received);
        self.queues[CPU].left(now, frame.flow, stayed);
        self.each_account(&frame, |books| {
            books.made(frames - 1);
            books.left(now, bytes, stayed, used, marked);
        });
        self.flows.went(frame.flow);
        self.inside -= 1;
        self.tails -= frames - 1;
        let mut rest = Some(frame);
        while let Some(mut frame) = rest {
            rest = frame.tail.take();
            self.outgoing.push_back(frame);
        }
    }
}
