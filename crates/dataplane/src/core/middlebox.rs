//! Frames in, frames out.

use std::collections::VecDeque;

use dovetail_pipeline::{Resources, Stage};
use dovetail_sched::aqm::{Congestion, Encoding};
use dovetail_sched::cost::{Estimator, FitParameters, Per, Prediction};
use dovetail_sched::{Names, Spec, SpecError};
use dovetail_units::{Duration, Time};
use dovetail_wire::{FiveTuple, IpView, KeyKind, Ports};

use super::account::{Account, Books, Drops};
use super::cpu::{Budget, Meter};
use super::flows::{Belongs, Flows, Key, Seen};
use super::fragments::Fragments;
use super::latency::Detail;
use super::link::{Lateness, Pace};
use super::queue::{Buffer, MOST_RESOURCES, Queue};
use super::queues::{BehindCpu, Queues, queues};
use super::resources::{OUTGOING, single_servers};
use super::setup::{NamedModule, Setup, SetupClass, ThirdResource, looked_at};
use crate::classes::ClassTable;
use crate::frame::{Frame, Pool};
use crate::module::segment;

/// Places of the resources. Without a third one its place is empty, and schedulers count the link as the second.
pub(super) const CPU: usize = 0;
pub(super) const THIRD: usize = 1;
pub(super) const LINK: usize = 2;

/// What values of parameters may name: the resources of a box with this third one, and these classes by number.
pub(super) fn names<'a>(third: Option<&ThirdResource>, classes: impl Iterator<Item = &'a String>) -> Names {
    let names = [Some("cpu"), third.map(|third| third.name.as_str()), Some("link")];
    Names { resources: names.into_iter().flatten().map(String::from).collect(), classes: classes.cloned().collect() }
}

/// Flows that are looked at, at a time, for idle ones.
const LOOKS: usize = 64;

/// Why a first frame was dropped while those of flows of one frame are too many.
const CROWD: &str = "first-frames";

/// Why a frame was dropped that a box had when it ended.
pub(crate) const STOPPED: &str = "stopped";

/// A line through what the link took learns how processing changes lengths.
pub(super) fn lengths() -> Estimator {
    Estimator::new(&Prediction::Fit(FitParameters::default(), Per::Class))
}

/// A class at work.
pub(super) struct Class {
    pub setup: SetupClass,
    pub books: Books,
    /// Whether processing has changed a frame's length, so that lengths are predicted.
    pub resizes: bool,
    /// A reload has taken it away: no further frames come to it.
    pub retired: bool,
}

impl Class {
    pub fn new(setup: SetupClass) -> Self {
        Self { setup, books: Books::new(Detail::Class), resizes: false, retired: false }
    }
}

/// The box. See [the module](super).
pub struct Middlebox {
    pub(super) classes: Vec<Class>,
    pub(super) flows: Flows,
    /// In front of the resources.
    pub(super) queues: [Queue; MOST_RESOURCES],
    pub(super) budget: Budget,
    pub(super) pace: Pace,
    pub(super) meter: Meter,
    pub(super) lost_time: Duration,
    pub(super) lateness: Lateness,
    pub(super) scheduler: Spec,
    pub(super) modules: Vec<NamedModule>,
    pub(super) table: ClassTable,
    pub(super) fragments: Fragments,
    pub(super) key: KeyKind,
    pub(super) ecn: Option<Encoding>,
    pub(super) predict: Prediction,
    /// Of the time on the CPU, and of lengths after it.
    pub(super) estimator: Estimator,
    pub(super) lengths: Estimator,
    pub(super) third: Option<ThirdResource>,
    pub(super) buffer: Buffer,
    pub(super) between: Option<BehindCpu>,
    /// On the resources.
    pub(super) resources: Resources<MOST_RESOURCES, Frame>,
    /// When the frames in service there end.
    pub(super) ends: [Option<Time>; MOST_RESOURCES],
    /// The instant that is worked on, and when the worker looked.
    pub(super) clock: Time,
    pub(super) seen: Time,
    /// Frames that are in the box, and the most that may be.
    pub(super) inside: usize,
    pub(super) most: Option<u32>,
    /// Frames besides, that go with one that was cut.
    pub(super) tails: usize,
    /// Frames for where frames come from: what modules have to tell senders.
    pub answers: VecDeque<Frame>,
    /// Frames that have left the link, for the port.
    pub outgoing: VecDeque<Frame>,
    /// When a scheduler wants to be asked again.
    pub(super) wake: [Option<Time>; MOST_RESOURCES],
    /// Where frames come from and go to.
    pub pool: Pool,
}

impl Middlebox {
    /// Make the box.
    ///
    /// # Errors
    /// The scheduler is none, or not for these resources.
    pub fn new(setup: Setup) -> Result<Self, SpecError> {
        let names = names(setup.third.as_ref(), setup.classes.iter().map(|class| &class.name));
        let Queues { queues, between } = queues(&setup, &names)?;
        let ecn = looked_at(&setup);
        let mut middlebox = Self {
            classes: setup.classes.into_iter().map(Class::new).collect(),
            flows: Flows::new(setup.flows),
            queues,
            budget: setup.budget,
            pace: Pace::new(setup.rate),
            meter: Meter::default(),
            lost_time: Duration::ZERO,
            lateness: Lateness::default(),
            scheduler: setup.scheduler,
            modules: setup.modules,
            ecn,
            fragments: Fragments::new(setup.fragments),
            table: setup.table,
            key: setup.key,
            predict: setup.predict,
            estimator: Estimator::new(&setup.predict),
            lengths: lengths(),
            third: setup.third,
            buffer: setup.buffer,
            between,
            resources: single_servers(),
            ends: [None; MOST_RESOURCES],
            clock: Time::ZERO,
            seen: Time::ZERO,
            inside: 0,
            most: setup.frames,
            tails: 0,
            answers: VecDeque::new(),
            outgoing: VecDeque::with_capacity(OUTGOING),
            wake: [None; MOST_RESOURCES],
            pool: Pool::new(),
        };
        middlebox.set_buffers();
        Ok(middlebox)
    }

    /// A frame comes in that belongs to this. It is queued, or dropped for a reason that is counted.
    pub(super) fn admit(&mut self, now: Time, frame: Frame, belongs: &Belongs) {
        let flow = self.place(now, belongs);
        if self.admit_to(now, frame, belongs.class, flow) {
            self.flows.entered(&belongs.key, flow);
        }
    }

    /// A frame of this class comes in, of a flow that schedulers know of; whether it is queued.
    #[inline(always)]
    pub(super) fn admit_to(&mut self, now: Time, mut frame: Frame, class: u16, flow: u32) -> bool {
        (frame.class, frame.flow, frame.tickets) = (class, flow, [None; MOST_RESOURCES]);
        self.each_account(&frame, |books| books.came(frame.size_in));
        let full = self.is_full(flow);
        self.inside += 1;
        if full {
            self.drop_frame(frame, "box-full");
            return false;
        }
        self.enter(now, frame)
    }

    /// The flow of such frames, which schedulers know of.
    pub(super) fn place(&mut self, now: Time, belongs: &Belongs) -> u32 {
        let (flow, seen) = self.find(now, belongs);
        match seen {
            Seen::Before => {}
            Seen::First => self.add_flow(flow, belongs.class),
            Seen::Reclassed => self.set_flow(now, flow, belongs.class),
        }
        flow
    }

    /// Their flow, or the queue that it shares.
    fn find(&mut self, now: Time, belongs: &Belongs) -> (u32, Seen) {
        // Not copied, as most frames are of a flow that is known.
        let Belongs { class, key, flow } = belongs;
        debug_assert_eq!(*flow, self.flows.known(key));
        if let &Some(flow) = flow
            && let Some(seen) = self.flows.came(now, flow, *class)
        {
            return (flow, seen);
        }
        let sharing = self.flows.sharing(now, key, *class);
        sharing.or_else(|| self.flows.among_first(now, key, *class)).unwrap_or_else(|| {
            self.make_room(now, key);
            self.flows.add(now, *key, *class)
        })
    }

    /// A new flow that finds the table full takes the place of one of a single frame, or of an idle one, if one is
    /// found soon. Of a table that has become smaller there may be some too many.
    fn make_room(&mut self, now: Time, key: &Key) {
        for _ in 0..LOOKS {
            match self.flows.seen_once() {
                _ if !self.flows.is_full_for(key) => return,
                Some(once) => self.forget(now, once),
                None if self.flows.may_be_idle(now) => self.forget_next(now),
                None => return,
            }
        }
    }

    /// Look at some flows, and forget those that have been idle for too long; to be called now and then when nothing
    /// comes. All until `now` has been done.
    pub fn forget_idle(&mut self, now: Time) {
        (0..LOOKS).for_each(|_| self.forget_next(now));
    }

    /// Look at one flow more, and forget it if it has been idle for too long.
    #[inline]
    pub(super) fn forget_next(&mut self, now: Time) {
        if let Some(idle) = self.flows.idle(now) {
            self.forget(now, idle);
        }
    }

    /// Whether there is no room for a frame of this flow. A queue may be as long as there is room left in the box
    /// (dynamic thresholds; A. Choudhury, E. Hahne, 1998): so n flows that take all they can get have each 1/(n+1)
    /// of it, and as much is left for all others. Queue management does not tell flows apart: there only the limit
    /// counts.
    #[inline]
    fn is_full(&self, flow: u32) -> bool {
        let room = |most: u32| (most as usize).saturating_sub(self.inside + self.tails);
        // No queue is longer than all that is in the box: while that is less than the room there is no need to look.
        self.most.is_some_and(|most| self.inside >= room(most) && self.queues[CPU].queued(flow) as usize >= room(most))
    }

    /// The frame is queued, if its queue takes it; whether it does.
    #[inline(always)]
    fn enter(&mut self, now: Time, mut frame: Frame) -> bool {
        if let Some(encoding) = self.ecn {
            read_congestion(encoding, &mut frame);
        }
        let cost = self.estimate(&frame);
        let Err((reason, frame)) = self.queues[CPU].enqueue(now, frame, self.numbered(cost)) else { return true };
        let reason = if self.flows.is_of_first(frame.flow) { CROWD } else { reason };
        self.drop_frame(frame, reason);
        false
    }

    /// Do all that is due until `now`.
    pub fn advance(&mut self, now: Time) {
        self.give_up_lost_time(now);
        self.give_up_waiting(now);
        loop {
            while let Some((place, at)) = self.next_due().filter(|&(_, at)| at <= now) {
                self.due(place, at, now);
            }
            // What came since may have changed what schedulers say.
            self.go_on(now);
            if self.next_due().is_none_or(|(_, at)| at > now) {
                return;
            }
        }
    }

    /// Whether something is to be done before `now`.
    #[inline(always)]
    pub(super) fn is_behind(&self, now: Time) -> bool {
        let is_before = |at: Time| at < now;
        self.next_due().is_some_and(|(_, at)| is_before(at)) || self.fragments.due().is_some_and(is_before)
    }

    /// When there is something to do next, if nothing comes before that.
    pub fn next_event(&self) -> Option<Time> {
        let due = self.next_due().map(|(_, at)| at);
        [due, self.fragments.due()].into_iter().flatten().min()
    }

    /// Whether the link has a rate, rather than that of its port.
    pub fn has_rate(&self) -> bool {
        self.pace.rate().is_some()
    }

    /// Fragments that wait for the one that tells what they are of: they are in no account yet.
    pub fn waiting(&self) -> usize {
        self.fragments.waiting()
    }

    /// Frames that are in the box by its account, those for the port not counted.
    pub fn held(&self) -> u64 {
        self.classes.iter().map(|class| class.books.account.held()).sum()
    }

    /// Frames that are in the box by looking: in queues and on resources.
    pub(super) fn found(&self) -> u64 {
        let waiting: usize = self.queues.iter().map(Queue::len).sum();
        let on_servers = self.resources.stages.iter().flat_map(Stage::on_servers).count();
        (waiting + on_servers) as u64
    }

    fn add_flow(&mut self, flow: u32, class: u16) {
        let configs = self.configs(class);
        self.queues.iter_mut().zip(configs).for_each(|(queue, config)| queue.add_flow(flow, config));
    }

    fn forget(&mut self, now: Time, flow: u32) {
        self.queues.iter_mut().for_each(|queue| queue.remove_flow(now, flow));
        if self.predict.per() == Per::Flow {
            self.estimator.forget(flow);
        }
        self.flows.forget(flow);
    }

    /// Whose observations predict this frame's time on the CPU.
    pub(super) fn key_of(&self, frame: &Frame) -> u32 {
        match self.predict.per() {
            Per::Flow => frame.flow,
            Per::Class => u32::from(frame.class),
        }
    }

    /// For how long it will occupy the resources, by their places.
    #[inline(always)]
    pub(super) fn estimate(&self, frame: &Frame) -> [Duration; MOST_RESOURCES] {
        let class = &self.classes[usize::from(frame.class)];
        let known = class.setup.charge.known(frame.size_in);
        let cpu = if class.setup.needs_cpu_for(known) {
            let learnt = || self.estimator.estimate(self.key_of(frame), frame.size_in, Duration::ZERO);
            // Zero would say that it needs nothing.
            known.unwrap_or_else(learnt).max(Duration::from_nanos(1))
        } else {
            Duration::ZERO
        };
        let link = if class.resizes {
            self.lengths.estimate(u32::from(frame.class), frame.size_in, Duration::ZERO)
        } else {
            self.pace.estimate(frame.len())
        };
        [self.budget.occupied(cpu), class.setup.third_time(frame.size_in), link]
    }

    /// Times by the places of resources, as schedulers count them.
    #[inline]
    pub(super) fn numbered(&self, [cpu, third, link]: [Duration; MOST_RESOURCES]) -> [Duration; MOST_RESOURCES] {
        if self.third.is_some() { [cpu, third, link] } else { [cpu, link, Duration::ZERO] }
    }

    #[inline]
    pub(super) fn each_account(&mut self, frame: &Frame, change: impl Fn(&mut Books)) {
        change(&mut self.classes[usize::from(frame.class)].books);
        if let Some(books) = self.flows.books(frame.flow) {
            change(books);
        }
    }

    pub(super) fn drop_frame(&mut self, frame: Frame, reason: &'static str) {
        self.each_account(&frame, |books| books.account.drops.count(reason));
        self.flows.went(frame.flow);
        self.inside -= 1;
        self.tails -= frame.whole().0 - 1;
        self.pool.give(frame);
    }

    /// Note in a frame what the queues say; whether that tells its sender to slow down and came without.
    #[inline]
    pub(super) fn write_congestion(&self, frame: &mut Frame) -> bool {
        let Some(encoding) = self.ecn.filter(|_| frame.congestion != Congestion::Initial) else { return false };
        let congestion = frame.congestion;
        let Some(mut ip) = ip_of(frame) else { return false };
        let (before, after) = (ip.ecn(), encoding.write(ip.ecn(), congestion));
        if before != after {
            ip.set_ecn(after);
        }
        congestion == Congestion::Congested && before != after
    }

    /// A frame of the other direction comes by: if it begins a TCP connection, modules of its class may look at it.
    pub fn returning(&mut self, frame: &mut Frame) {
        let Ok(at) = dovetail_wire::ip_offset(frame.link, frame.data()) else { return };
        if !segment::opens(&frame.data()[at..]) {
            return;
        }
        let Ok(ip) = dovetail_wire::parse(frame.link, frame.data()) else { return };
        let FiveTuple { src, dst, protocol, ports } = ip.tuple;
        let ports = ports.map(|Ports { src, dst }| Ports { src: dst, dst: src });
        let tuple = FiveTuple { src: dst, dst: src, protocol, ports };
        let class = self.table.class(Some(&tuple), self.marks(frame));
        for &module in &self.classes[usize::from(class)].setup.modules {
            self.modules[module].module.opening(&mut frame.data_mut()[at..]);
        }
    }

    /// The box ends: what it still has is dropped, for the reason `stopped`. It takes no frames any more.
    pub fn give_up(&mut self, now: Time) {
        self.ends = [None; MOST_RESOURCES];
        let served = self.resources.stages.iter_mut().flat_map(Stage::clear_servers);
        let mut frames: Vec<Frame> = served.collect();
        self.queues.iter_mut().rev().for_each(|queue| frames.append(&mut queue.take_all(now)));
        frames.into_iter().for_each(|frame| self.drop_frame(frame, STOPPED));
        self.fragments.take_all().into_iter().for_each(|frame| self.refuse(now, frame, STOPPED));
    }

    /// Frames that came in, and frames that left over the link. O(classes).
    pub fn passed(&self) -> (u64, u64) {
        let accounts = self.classes.iter().map(|class| &class.books.account);
        accounts.fold((0, 0), |(came, left), account| (came + account.frames_in, left + account.frames_out))
    }

    /// Frames that are in the box by its account and not by looking: 0. O(classes).
    pub fn missing(&self) -> i64 {
        self.held() as i64 - self.found() as i64
    }

    /// Drops of the whole box by reason. O(classes).
    pub fn drops(&self) -> Drops {
        let mut drops = Drops::default();
        self.classes.iter().for_each(|class| drops.add_all(&class.books.account.drops));
        drops
    }

    /// Of all classes.
    pub(super) fn total(&self) -> Account {
        let mut total = Account::default();
        self.classes.iter().for_each(|class| total.add(&class.books.account));
        total
    }
}

fn ip_of(frame: &mut Frame) -> Option<IpView<&mut [u8]>> {
    let at = dovetail_wire::ip_offset(frame.link, frame.data()).ok()?;
    IpView::new(&mut frame.data_mut()[at..]).ok()
}

/// What the queues before this box have noted in a frame, and whether its sender understands marks.
fn read_congestion(encoding: Encoding, frame: &mut Frame) {
    if let Some(ip) = ip_of(frame) {
        let reading = encoding.read(ip.ecn());
        frame.congestion = reading.congestion;
        // The paper's senders all do.
        frame.ecn_capable = reading.ecn_capable.unwrap_or(true);
    }
}
