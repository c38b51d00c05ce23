//! The resources at work: who is on them, until when, and who is next.

use std::convert::Infallible;

use dovetail_pipeline::{Offer, Owner, Passage, Resources, Stage};
use dovetail_sched::{DROPPED_AT_HEAD, Progress};
use dovetail_units::{Duration, ResourceVec, Time};

use super::cpu::cycles;
use super::middlebox::{CPU, LINK, Middlebox, THIRD};
use super::queue::{Buffer, MOST_RESOURCES, Overflow};
use super::queues::BehindCpu;
use crate::frame::Frame;
use crate::module::{Around, ModuleDrop, run};

/// The most frames that wait for the port. When it takes none, the link stands still. A worker that is late makes up
/// for up to [`CATCH_UP`] before it gives the port anything, so that there is room for as many frames as a link of 1
/// Gbit/s sends meanwhile (of 800 bytes 1,563); else the link would lose that time unnoticed.
pub(crate) const OUTGOING: usize = 2048;

/// The box does not make up for more than this: what a worker that was away for longer could not do is lost time.
const CATCH_UP: Duration = Duration::from_millis(10);

/// What is known of a frame on its way through the resources, since a queue handed it out last. It stands with the
/// frame's bytes, so that a pointer is all that moves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Way {
    /// For how long it occupied the CPU, if it comes from there, and the resource on which it was last.
    cpu: Duration,
    used: Duration,
    /// When it was to leave that, whatever time was lost.
    due: Time,
    /// Its processing failed, though it occupies the CPU all the same.
    failed: Option<ModuleDrop>,
}

/// Single servers. Where queues stand in front of them, these have the buffers, and say here how long they are.
pub(super) fn single_servers() -> Resources<MOST_RESOURCES, Frame> {
    let endless = dovetail_pipeline::Buffer { packets: None, drops: false };
    Resources::new(std::array::from_fn(|_| Stage::new(1, endless)))
}

impl Owner<MOST_RESOURCES> for Middlebox {
    type Job = Frame;
    type Error = Infallible;

    #[inline]
    fn resources(&self) -> &Resources<MOST_RESOURCES, Frame> {
        &self.resources
    }

    #[inline]
    fn resources_mut(&mut self) -> &mut Resources<MOST_RESOURCES, Frame> {
        &mut self.resources
    }

    #[inline]
    fn now(&self) -> Time {
        self.clock
    }

    #[inline]
    fn flow(&self, frame: &Frame) -> u32 {
        frame.flow
    }

    #[inline]
    fn needs_nothing(&self, place: usize, frame: &Frame) -> bool {
        self.classes[usize::from(frame.class)].setup.needs_nothing(place, frame.size_in)
    }

    fn times(&self, frame: &Frame) -> ResourceVec<MOST_RESOURCES> {
        ResourceVec(self.estimate(frame))
    }

    fn too_long(&mut self, frame: Frame) -> Result<(), Infallible> {
        self.lost(CPU, frame);
        Ok(())
    }

    #[inline]
    fn next(&mut self) -> Result<Option<Frame>, Infallible> {
        Ok(self.offered(CPU))
    }

    #[inline]
    fn may_bypass(&self) -> bool {
        self.queues[CPU].may_bypass()
    }

    #[inline]
    fn bypass(&mut self) -> Result<Option<Frame>, Infallible> {
        if self.may_bypass() { Ok(self.bypassing()) } else { Ok(None) }
    }

    #[inline]
    fn has_queue(&self, place: usize) -> bool {
        place != THIRD || self.third.is_some()
    }

    #[inline]
    fn queued(&self, place: usize) -> usize {
        self.queues[place].len()
    }

    #[inline]
    fn may_hand_out(&self, place: usize) -> bool {
        self.queues[place].may_hand_out()
    }

    #[inline]
    fn lets_pass(&self, place: usize) -> bool {
        self.queues[place].is_in_order() && self.queues[place].len() == 0
    }

    fn enqueue(&mut self, place: usize, frame: Frame) -> bool {
        let third = self.classes[usize::from(frame.class)].setup.third_time(frame.size_in);
        let cost = self.numbered([frame.way.cpu, third, self.pace.estimate(frame.whole().1)]);
        let Err((reason, frame)) = self.queues[place].enqueue(self.clock, frame, cost) else { return true };
        // A flow's buffer behind the CPU is full: its packets were processed in vain. Queue management has reasons of
        // its own.
        let reason = if self.queues[place].is_scheduled() { full(place) } else { reason };
        self.lose(place, frame, reason);
        false
    }

    fn dequeue(&mut self, place: usize) -> Result<Option<Frame>, Infallible> {
        Ok(self.offered(place))
    }

    #[inline(always)]
    fn started(&mut self, place: usize, _server: u32, frame: &mut Frame) -> Result<(), Infallible> {
        // A frame cannot start before it was received.
        let start = self.clock.max(frame.received);
        if place != CPU {
            // As if a queue had handed it out.
            frame.way.cpu = Duration::ZERO;
            self.tell(frame, place, Progress::Started);
        }
        frame.way.used = match place {
            CPU => self.process(start, frame),
            THIRD => self.classes[usize::from(frame.class)].setup.third_time(frame.size_in),
            _ => self.pace.take(frame.whole().1),
        };
        frame.way.due = start + frame.way.used;
        self.ends[place] = Some(frame.way.due);
        Ok(())
    }

    #[inline(always)]
    fn finished(&mut self, place: usize, _server: u32, frame: &mut Frame) -> bool {
        let used = frame.way.used;
        self.ends[place] = None;
        self.tell(frame, place, Progress::Finished { used });
        match place {
            CPU => {
                frame.way.cpu = used;
                self.each_account(frame, |books| books.processed(used));
            }
            THIRD => self.each_account(frame, |books| books.account.third += used),
            _ => {}
        }
        place != LINK && frame.way.failed.is_none()
    }

    #[inline(always)]
    fn passed(&mut self, place: usize, frame: &mut Frame) {
        // Where there is no third resource every frame passes its place.
        if place == CPU || self.third.is_some() {
            self.tell_of_passing(place, frame);
        }
    }

    #[inline]
    fn left(&mut self, frame: Frame) {
        match frame.way.failed {
            Some(reason) => {
                let next = if self.third.is_some() { THIRD } else { LINK };
                self.lose(next, frame, reason.0);
            }
            None => self.leave(frame),
        }
    }

    fn lost(&mut self, place: usize, frame: Frame) {
        self.lose(place, frame, full(place));
    }
}

/// A queue has handed it out.
fn on_its_way(mut frame: Frame) -> Frame {
    frame.way = Way::default();
    frame
}

/// Why a frame was dropped that found no room in front of this resource.
fn full(place: usize) -> &'static str {
    if place == LINK { "link-buffer" } else { "resource-buffer" }
}

/// What takes `left` at the speed `old` takes so long at the speed `new`, to the nanosecond above.
fn scaled(left: Duration, old: u64, new: u64) -> Duration {
    let scaled = (u128::from(left.as_nanos()) * u128::from(old)).div_ceil(u128::from(new.max(1)));
    Duration::from_nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
}

impl Middlebox {
    /// A frame that goes past the CPU, which is busy.
    fn bypassing(&mut self) -> Option<Frame> {
        if !self.queues[CPU].any_may_bypass() {
            return None;
        }
        let takes = self.takes_behind_first()?;
        let Self { queues, resources, classes, .. } = self;
        let frame = queues[CPU].bypass(self.clock, &mut |frame| {
            let class = &classes[usize::from(frame.class)].setup;
            let needs_nothing = |place: usize| class.needs_nothing(place, frame.size_in);
            needs_nothing(CPU) && resources.may_bypass(&takes, frame.flow, needs_nothing, |other| other.flow)
        });
        frame.map(on_its_way)
    }

    /// The resource at which something is due next, and when.
    #[inline]
    pub(super) fn next_due(&self) -> Option<(usize, Time)> {
        let due = |place: usize| {
            self.ends[place].or_else(|| self.wake[place].filter(|_| self.resources.stages[place].has_idle()))
        };
        let mut next = None;
        // Of two at the same time the later in the box goes first, to make room.
        for place in [LINK, THIRD, CPU] {
            if let Some(at) = due(place)
                && next.is_none_or(|(_, first)| at < first)
            {
                next = Some((place, at));
            }
        }
        next
    }

    /// As schedulers count this resource.
    fn number(&self, place: usize) -> usize {
        if place == LINK && self.third.is_none() { 1 } else { place }
    }

    /// Buffers and the way past the third resource are those of the setup.
    pub(super) fn set_buffers(&mut self) {
        // A scheduler that keeps back what would find no room counts frames up to the next resource only.
        let holds = matches!(self.between, Some(BehindCpu::Each { holds: true, .. }));
        self.resources.in_line = holds && self.third.is_some();
        let third = self.third.as_ref().map_or(self.buffer, |third| third.buffer);
        for (place, Buffer { frames, overflow }) in [(THIRD, third), (LINK, self.buffer)] {
            // Queues of flows have limits of their own.
            let packets = frames.filter(|_| self.between.is_none());
            let drops = packets.is_some() && overflow == Overflow::Drop;
            self.resources.stages[place].set_buffer(dovetail_pipeline::Buffer { packets, drops });
        }
    }

    pub(super) fn give_up_lost_time(&mut self, now: Time) {
        let earliest = Time::from_nanos(now.as_nanos().saturating_sub(CATCH_UP.as_nanos()));
        let mut lost = Duration::ZERO;
        for end in self.ends.iter_mut().flatten() {
            if *end < earliest {
                lost = lost.max(earliest - *end);
                *end = earliest;
            }
        }
        if lost > Duration::ZERO {
            self.lost_time += lost;
            self.queues.iter_mut().for_each(|queue| queue.skip(lost));
        }
    }

    /// From `now` on the resource works at the speed `new` in place of `old`; `None` is without limit. The frame in
    /// service has occupied it until now, and does so for as long as the rest takes at that speed, to the nanosecond
    /// above.
    pub(super) fn change_speed(&mut self, place: usize, now: Time, old: u64, new: Option<u64>) {
        let Some(end) = self.ends[place].filter(|&end| end > now) else { return };
        let left = end.since(now);
        let rest = new.map_or(Duration::ZERO, |new| scaled(left, old, new));
        for frame in self.resources.stages[place].on_servers_mut() {
            frame.way.used = frame.way.used.saturating_sub(left) + rest;
            frame.way.due = now + rest;
        }
        self.ends[place] = Some(now + rest);
    }

    /// What is due on this resource happens at this instant, when the worker looks at `seen`.
    pub(super) fn due(&mut self, place: usize, at: Time, seen: Time) {
        (self.clock, self.seen, self.wake[place]) = (at, seen, None);
        self.open_link();
        // Compiled for each place.
        let Ok(()) = match place {
            CPU => self.finish_and_move_on(CPU, 0),
            THIRD => self.finish_and_move_on(THIRD, 0),
            _ => self.finish_and_move_on(LINK, 0),
        };
        let Ok(()) = self.dispatch();
    }

    /// The link starts frames while there is room for what leaves it.
    #[inline]
    fn open_link(&mut self) {
        self.resources.stages[LINK].set_open(self.outgoing.len() < OUTGOING);
    }

    /// Every resource takes a frame, if it is idle and there is one.
    pub(super) fn go_on(&mut self, now: Time) {
        self.clock = now;
        self.open_link();
        let Ok(()) = self.move_on();
        let Ok(()) = self.dispatch();
    }

    /// What the queue in front of an idle resource hands out, unless it wants to be asked later.
    #[inline(always)]
    fn offered(&mut self, place: usize) -> Option<Frame> {
        self.wake[place] = None;
        loop {
            match self.queues[place].next(self.clock) {
                Offer::Drop(frame) => {
                    self.resources.went(place, frame.flow);
                    self.drop_frame(frame, DROPPED_AT_HEAD);
                }
                Offer::Serve(frame) => return Some(on_its_way(frame)),
                Offer::At(time) => {
                    self.wake[place] = Some(time);
                    return None;
                }
                Offer::Nothing => return None,
            }
        }
    }

    /// The frame is processed at `start`; for how long that occupies the CPU.
    #[inline(always)]
    fn process(&mut self, start: Time, frame: &mut Frame) -> Duration {
        let class = &self.classes[usize::from(frame.class)];
        let known = class.setup.known_work(frame.size_in);
        // Reading the clock takes time as well.
        let before = known.map_or_else(|| cycles().raw(), |_| 0);
        let mut around = Around { now: start, pool: &mut self.pool, answers: &mut self.answers };
        let mut chain = class.setup.modules.iter();
        let outcome = chain.try_for_each(|&module| run(&mut *self.modules[module].module, &mut around, frame));
        let outcome = if frame.tail.is_some() { outcome.and(self.tail_fits(frame)) } else { outcome };
        let work = match known {
            Some(work) => work,
            None => self.observe(frame, Duration::from_nanos(cycles().delta_as_nanos(before, cycles().raw()))),
        };
        frame.way.failed = outcome.err();
        self.budget.occupied(work)
    }

    /// The frame was cut into several, which need room in the box as well.
    fn tail_fits(&mut self, frame: &Frame) -> Result<(), ModuleDrop> {
        self.tails += frame.whole().0 - 1;
        let full = self.most.is_some_and(|most| self.inside + self.tails > most as usize);
        if full { Err(ModuleDrop("box-full")) } else { Ok(()) }
    }

    fn observe(&mut self, frame: &Frame, took: Duration) -> Duration {
        let key = self.key_of(frame);
        let estimator = &mut self.estimator;
        let believed = self.meter.believe(took, || estimator.estimate(key, frame.size_in, Duration::ZERO));
        estimator.observe(key, frame.size_in, believed);
        believed
    }

    #[inline(always)]
    fn tell(&mut self, frame: &mut Frame, place: usize, event: Progress) {
        let (now, number) = (self.clock, self.number(place));
        self.queues[CPU].progress(CPU, now, frame, number, event);
        // Behind the CPU nobody hears of it but a scheduler or who manages a queue.
        if self.between.is_some() {
            self.tell_behind_cpu(frame, number, event);
        }
    }

    #[inline(never)]
    fn tell_of_passing(&mut self, place: usize, frame: &mut Frame) {
        let used = Duration::ZERO;
        if place == CPU {
            self.each_account(frame, |books| books.processed(used));
        } else {
            self.tell(frame, place, Progress::Started);
        }
        self.tell(frame, place, Progress::Finished { used });
    }

    #[inline(never)]
    fn tell_behind_cpu(&mut self, frame: &mut Frame, number: usize, event: Progress) {
        let now = self.clock;
        for place in [THIRD, LINK] {
            self.queues[place].progress(place, now, frame, number, event);
        }
    }

    /// The frame does not come to this resource, and is dropped.
    fn lose(&mut self, place: usize, mut frame: Frame, reason: &'static str) {
        self.tell(&mut frame, place, Progress::Abandoned);
        self.drop_frame(frame, reason);
    }

    /// The frame is through the link.
    #[inline]
    fn leave(&mut self, mut frame: Frame) {
        let (now, Way { used, due, .. }) = (self.clock, frame.way);
        self.lateness.left(self.seen.since(due));
        let marked = self.write_congestion(&mut frame);
        let (frames, bytes) = frame.whole();
        let class = &mut self.classes[usize::from(frame.class)];
        class.resizes |= bytes != frame.size_in as usize;
        if class.resizes {
            // Not what it took, as the rate may have changed meanwhile.
            self.lengths.observe(u32::from(frame.class), frame.size_in, self.pace.estimate(bytes));
        }
        let stayed = due.since(frame.received);
        self.queues[CPU].left(now, frame.flow, stayed);
        if frames > 1 {
            self.each_account(&frame, |books| books.made(frames - 1));
            self.tails -= frames - 1;
        }
        self.each_account(&frame, |books| books.left(now, bytes, stayed, used, marked));
        self.flows.went(frame.flow);
        self.inside -= 1;
        let mut rest = Some(frame);
        while let Some(mut frame) = rest {
            rest = frame.tail.take();
            self.outgoing.push_back(frame);
        }
        self.open_link();
    }
}
