//! The CPU and the link at work: who is on them, until when, and who is next.

use dovetail_sched::{DROPPED_AT_HEAD, Progress};
use dovetail_units::{Duration, ResourceVec, Time};

use super::cpu::cycles;
use super::middlebox::{CPU, LINK, Middlebox};
use super::queue::{Offer, Overflow, Queue};
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
        let serving = |serving: &Option<Serving>| serving.as_ref().map(|s| s.until);
        let cpu = if self.blocked() { None } else { serving(&self.on_cpu).or(self.wake[CPU]) };
        let link = serving(&self.on_link).or(self.wake[LINK].filter(|_| self.outgoing.len() < OUTGOING));
        // Of two at the same time the link goes first, to make room.
        let due = [(LINK, link), (CPU, cpu)];
        due.into_iter().filter_map(|(resource, at)| Some((resource, at?))).min_by_key(|&(_, at)| at)
    }

    /// Whether the frame on the CPU waits for room in front of the link.
    fn blocked(&self) -> bool {
        self.buffer.overflow == Overflow::Block && self.on_cpu.is_some() && self.link_is_full()
    }

    /// Whether there is no room in the one buffer in front of the link, where there is one.
    fn link_is_full(&self) -> bool {
        self.between.is_none() && self.buffer.frames.is_some_and(|most| self.before_link.len() >= most as usize)
    }

    pub(super) fn give_up_lost_time(&mut self, now: Time) {
        let earliest = Time::from_nanos(now.as_nanos().saturating_sub(CATCH_UP.as_nanos()));
        let blocked = self.blocked();
        let mut lost = Duration::ZERO;
        for serving in [&mut self.on_link, &mut self.on_cpu].into_iter().take(if blocked { 1 } else { 2 }).flatten() {
            if serving.until < earliest {
                lost = lost.max(earliest - serving.until);
                serving.until = earliest;
            }
        }
        if lost > Duration::ZERO {
            self.lost_time += lost;
            self.entrance.skip(lost);
            self.before_link.skip(lost);
        }
    }

    /// The CPU takes a frame, if it is idle and there is one. What needs nothing of it passes by.
    pub(super) fn start_cpu(&mut self, now: Time) {
        while self.on_cpu.is_none() && self.free[CPU] <= now {
            self.wake[CPU] = None;
            match self.entrance.next(now) {
                Offer::Serve(frame) if self.may_pass(&frame) => self.pass_by(now, frame),
                Offer::Serve(frame) => self.process(now, frame),
                Offer::Drop(frame) => self.drop_frame(frame, DROPPED_AT_HEAD),
                Offer::At(time) => return self.wake[CPU] = Some(time),
                Offer::Nothing => return,
            }
        }
        if self.on_cpu.is_none() {
            self.wake[CPU] = Some(self.free[CPU]);
        }
        while let Some(frame) = self.next_that_passes(now) {
            self.pass_by(now, frame);
        }
    }

    /// Whether the frame needs nothing of the CPU, and there is room for it in front of the link.
    fn may_pass(&self, frame: &Frame) -> bool {
        !self.classes[usize::from(frame.class)].setup.needs_cpu(frame.size_in) && !self.link_is_full()
    }

    /// What the scheduler lets go past the busy CPU. No frame overtakes one of its flow.
    fn next_that_passes(&mut self, now: Time) -> Option<Frame> {
        if self.link_is_full() {
            return None;
        }
        let (classes, on_cpu) = (&self.classes, self.on_cpu.as_ref().map(|serving| serving.frame.flow));
        self.entrance.bypass(now, &mut |frame| {
            let class = &classes[usize::from(frame.class)].setup;
            !class.needs_cpu(frame.size_in) && on_cpu != Some(frame.flow)
        })
    }

    fn pass_by(&mut self, now: Time, mut frame: Frame) {
        let used = Duration::ZERO;
        self.each_account(&frame, |books| books.processed(used));
        self.tell(now, &mut frame, CPU, Progress::Finished { used });
        self.go_to_link(now, frame, used);
        self.start_link(now);
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
            self.tell(start + used, &mut frame, LINK, Progress::Abandoned);
            self.wake[CPU] = Some(self.free[CPU]);
            self.drop_frame(frame, reason.0);
            return;
        }
        self.on_cpu = Some(Serving::new(frame, start, used));
    }

    /// What a frame was cut into needs room in the box as well.
    fn tail_fits(&self, frame: &Frame) -> Result<(), ModuleDrop> {
        let cut = frame.tail.is_some();
        let full = cut && self.most.is_some_and(|most| self.inside + self.tails > most as usize);
        if full { Err(ModuleDrop("box-full")) } else { Ok(()) }
    }

    fn observe(&mut self, frame: &Frame, took: Duration) -> Duration {
        let key = self.key_of(frame);
        let estimator = &mut self.estimators[CPU];
        let believed = self.meter.believe(took, || estimator.estimate(key, frame.size_in, Duration::ZERO));
        estimator.observe(key, frame.size_in, believed);
        believed
    }

    fn tell(&mut self, now: Time, frame: &mut Frame, resource: usize, event: Progress) {
        self.entrance.progress(now, frame, resource, event);
        self.before_link.progress(now, frame, resource, event);
    }

    /// The frame on the CPU is done, or a scheduler wanted to be asked now.
    pub(super) fn cpu_due(&mut self, now: Time) {
        let Some(Serving { mut frame, used, .. }) = self.on_cpu.take() else { return };
        self.free[CPU] = now;
        self.tell(now, &mut frame, CPU, Progress::Finished { used });
        self.go_to_link(now, frame, used);
    }

    /// A frame has had of the CPU what it needs.
    fn go_to_link(&mut self, now: Time, mut frame: Frame, used: Duration) {
        if self.link_is_full() {
            self.tell(now, &mut frame, LINK, Progress::Abandoned);
            return self.drop_frame(frame, "link-buffer");
        }
        let cost = ResourceVec([used, self.pace.estimate(frame.whole().1)]);
        if let Err((reason, mut frame)) = self.before_link.enqueue(now, frame, cost) {
            self.tell(now, &mut frame, LINK, Progress::Abandoned);
            // A flow's buffer in front of the link is full: its packets were processed in vain. Queue management has
            // reasons of its own.
            let reason = if matches!(self.before_link, Queue::Scheduled(_)) { "link-buffer" } else { reason };
            self.drop_frame(frame, reason);
        }
    }

    /// The link takes a frame, if it is idle, the port takes frames, and there is one.
    pub(super) fn start_link(&mut self, now: Time) {
        if self.on_link.is_some() || self.outgoing.len() >= OUTGOING {
            return;
        }
        self.wake[LINK] = None;
        let offer = loop {
            match self.before_link.next(now) {
                Offer::Drop(frame) => self.drop_frame(frame, DROPPED_AT_HEAD),
                offer => break offer,
            }
        };
        match offer {
            Offer::Serve(mut frame) => {
                // Room for the frame that kept the CPU.
                if let Some(waiting) = &mut self.on_cpu {
                    waiting.until = waiting.until.max(now);
                }
                let used = self.pace.take(frame.whole().1);
                self.tell(now, &mut frame, LINK, Progress::Started);
                let start = now.max(self.free[LINK]).max(frame.received);
                self.on_link = Some(Serving::new(frame, start, used));
            }
            Offer::At(time) => self.wake[LINK] = Some(time),
            Offer::Nothing | Offer::Drop(_) => {}
        }
    }

    /// The frame on the link is through, and the worker looks at `seen`; or a scheduler wanted to be asked now.
    pub(super) fn link_due(&mut self, now: Time, seen: Time) {
        let Some(Serving { mut frame, used, due, .. }) = self.on_link.take() else { return };
        self.lateness.left(seen.since(due));
        self.free[LINK] = now;
        self.tell(now, &mut frame, LINK, Progress::Finished { used });
        let marked = self.write_congestion(&mut frame);
        let (frames, bytes) = frame.whole();
        let class = &mut self.classes[usize::from(frame.class)];
        class.resizes |= bytes != frame.size_in as usize;
        if class.resizes {
            self.estimators[LINK].observe(u32::from(frame.class), frame.size_in, used);
        }
        let stayed = due.since(frame.received);
        self.entrance.left(now, frame.flow, stayed);
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
