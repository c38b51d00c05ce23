//! Frames in, frames out.

use std::collections::VecDeque;

use dovetail_sched::aqm::{Congestion, Encoding};
use dovetail_sched::cost::{Estimator, FitParameters, Per, Prediction};
use dovetail_sched::{FlowConfig, Limit, Progress, Spec, SpecError};
use dovetail_units::{BitRate, Duration, ResourceVec, Time, Weight};
use dovetail_wire::{IpView, KeyKind};

use super::account::{Books, Drops};
use super::cpu::{Budget, Charge, Meter, stopwatch};
use super::flows::{FlowLimits, Flows, Key, Seen};
use super::link::Pace;
use super::queue::{Job, LinkBuffer, Offer, Overflow, Queue, RESOURCES};
use super::queues::{Between, Queues, is_managed, queues};
use crate::classes::ClassTable;
use crate::frame::{Frame, Pool};
use crate::module::{Module, Origin};

pub(super) const CPU: usize = 0;
pub(super) const LINK: usize = 1;

/// The most frames that wait for the port. When it takes none, the link stands still. A worker that is late makes up for up to [`CATCH_UP`] before it gives the port anything, so that there is
/// room for as many frames as a link of 1 Gbit/s sends meanwhile (of 800 bytes 1,563); else the link would lose that time unnoticed.
const OUTGOING: usize = 2048;

/// The box does not make up for more than this: what a worker that was away for longer could not do is lost time.
const CATCH_UP: Duration = Duration::from_millis(10);

/// Why a frame was dropped that a box had when it ended.
pub(crate) const STOPPED: &str = "stopped";

/// A line through what the link took learns how processing changes lengths.
pub(super) fn lengths() -> Estimator {
    Estimator::new(&Prediction::Fit(FitParameters::default(), Per::Class))
}

/// A class of flows.
pub struct SetupClass {
    /// Its name in reports.
    pub name: String,
    /// The weight of each of its flows.
    pub weight: Weight,
    /// The limit of each flow's queue.
    pub limit: Limit,
    /// What its frames are charged on the CPU.
    pub charge: Charge,
    /// What is done to its frames, in order: places in [`Setup::modules`].
    pub modules: Vec<usize>,
}

/// A module, and what reports call it.
pub struct NamedModule {
    /// Its name.
    pub name: String,
    /// What it was made of: a module made of the same is the same.
    pub origin: Origin,
    /// What it does.
    pub module: Box<dyn Module>,
}

/// What a box is made of.
pub struct Setup {
    /// What shares CPU and link.
    pub scheduler: Spec,
    /// Classes of flows, at least one.
    pub classes: Vec<SetupClass>,
    /// What classes refer to, with names for reports. Classes share a module and its state.
    pub modules: Vec<NamedModule>,
    /// Which flows are of which class.
    pub table: ClassTable,
    /// What tells flows apart.
    pub key: KeyKind,
    /// How many flows are kept.
    pub flows: FlowLimits,
    /// How much of a core processing may use.
    pub budget: Budget,
    /// How processing times are predicted.
    pub predict: Prediction,
    /// The rate of the link; `None` is as fast as the port takes frames.
    pub rate: Option<BitRate>,
    /// The buffer in front of the link, if the scheduler is none for each resource.
    pub buffer: LinkBuffer,
    /// How congestion is told to senders that understand it; `None` drops instead.
    pub ecn: Option<Encoding>,
}

impl SetupClass {
    /// Whether its frames of this length occupy the CPU at all.
    fn needs_cpu(&self, size: u32) -> bool {
        !self.modules.is_empty() || self.charge.known(size).is_some_and(|work| work > Duration::ZERO)
    }
}

/// How congestion is told, where queue management looks at it: what nobody looks at need not be read.
pub(super) fn looked_at(setup: &Setup) -> Option<Encoding> {
    setup.ecn.filter(|_| is_managed(&setup.scheduler))
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
        Self { setup, books: Books::new(2), resizes: false, retired: false }
    }
}

/// A frame on a resource until some instant, and since when.
pub(super) struct Serving {
    pub job: Job,
    until: Time,
    used: Duration,
}

/// The box. See [the module](super).
pub struct Middlebox {
    pub(super) classes: Vec<Class>,
    pub(super) flows: Flows,
    pub(super) entrance: Queue,
    pub(super) before_link: Queue,
    pub(super) budget: Budget,
    pub(super) pace: Pace,
    pub(super) meter: Meter,
    pub(super) lost_time: Duration,
    pub(super) scheduler: Spec,
    pub(super) modules: Vec<NamedModule>,
    pub(super) table: ClassTable,
    pub(super) key: KeyKind,
    pub(super) ecn: Option<Encoding>,
    pub(super) predict: Prediction,
    pub(super) estimators: [Estimator; RESOURCES],
    pub(super) buffer: LinkBuffer,
    pub(super) between: Option<Between>,
    pub(super) on_cpu: Option<Serving>,
    pub(super) on_link: Option<Serving>,
    /// Frames that have left the link, for the port.
    pub outgoing: VecDeque<Frame>,
    /// When the CPU and the link became free.
    free: [Time; RESOURCES],
    /// When a scheduler wants to be asked again.
    pub(super) wake: [Option<Time>; RESOURCES],
    /// Where frames come from and go to.
    pub pool: Pool,
}

impl Middlebox {
    /// Make the box.
    ///
    /// # Errors
    /// The scheduler is none, or not for a CPU and a link.
    pub fn new(setup: Setup) -> Result<Self, SpecError> {
        let Queues { entrance, before_link, between } = queues(&setup)?;
        let ecn = looked_at(&setup);
        Ok(Self {
            classes: setup.classes.into_iter().map(Class::new).collect(),
            flows: Flows::new(setup.flows),
            entrance,
            before_link,
            budget: setup.budget,
            pace: Pace::new(setup.rate),
            meter: Meter::default(),
            lost_time: Duration::ZERO,
            scheduler: setup.scheduler,
            modules: setup.modules,
            ecn,
            table: setup.table,
            key: setup.key,
            predict: setup.predict,
            estimators: [Estimator::new(&setup.predict), lengths()],
            buffer: setup.buffer,
            between,
            on_cpu: None,
            on_link: None,
            outgoing: VecDeque::with_capacity(OUTGOING),
            free: [Time::ZERO; RESOURCES],
            wake: [None; RESOURCES],
            pool: Pool::new(),
        })
    }

    /// A frame has come. It is queued, or dropped for a reason that is counted.
    pub fn receive(&mut self, now: Time, mut frame: Frame) {
        self.give_up_lost_time(now);
        let parsed = dovetail_wire::parse(frame.link, frame.data()).ok();
        let class = self.table.class(parsed.as_ref().map(|ip| &ip.tuple));
        let key = parsed.map_or(Key::NonFlow(class), |ip| {
            // Classes look at five-tuples: of whole ones each has one class, until classes change.
            let class = if self.key == KeyKind::FiveTuple { 0 } else { class };
            Key::Flow(class, self.key.key(&ip.tuple))
        });
        let (flow, seen) = self.flows.find(now, key, class);
        match seen {
            Seen::Before => {}
            Seen::First => self.add_flow(flow, class),
            Seen::Reclassed => self.set_flow(now, flow, class),
        }
        (frame.class, frame.flow) = (class, flow);
        self.each_account(&frame, |books| books.came(frame.size_in));
        self.read_congestion(&mut frame);
        let cost = self.estimate(&frame);
        let job = Job { frame, tickets: [None; RESOURCES] };
        if let Err((reason, job)) = self.entrance.enqueue(now, job, cost) {
            self.drop_frame(job.frame, reason);
        }
        if let Some(idle) = self.flows.idle(now) {
            self.forget(now, idle);
        }
    }

    /// Do all that is due until `now`.
    pub fn advance(&mut self, now: Time) {
        self.give_up_lost_time(now);
        loop {
            while let Some((resource, at)) = self.next_due().filter(|&(_, at)| at <= now) {
                match resource {
                    CPU => self.cpu_due(at),
                    _ => self.link_due(at),
                }
                self.start_link(at);
                self.start_cpu(at);
            }
            // What came since may have changed what schedulers say.
            self.start_link(now);
            self.start_cpu(now);
            if self.next_due().is_none_or(|(_, at)| at > now) {
                return;
            }
        }
    }

    /// When there is something to do next, if nothing comes before that.
    pub fn next_event(&self) -> Option<Time> {
        self.next_due().map(|(_, at)| at)
    }

    /// Frames that are in the box by its account, those for the port not counted.
    pub fn held(&self) -> u64 {
        self.classes.iter().map(|class| class.books.account.held()).sum()
    }

    /// Frames that are in the box by looking: in queues, on the CPU and on the link.
    pub(super) fn found(&self) -> u64 {
        let served = [&self.on_cpu, &self.on_link].into_iter().flatten().count();
        (self.entrance.len() + self.before_link.len() + served) as u64
    }

    /// Change a parameter of the scheduler; of a composition, in each part that has it.
    ///
    /// # Errors
    /// It has none of this name that can change, or the value is wrong. Nothing is changed then.
    pub fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        let queues = [&mut self.entrance, &mut self.before_link];
        let taken = queues.map(|queue| queue.set(now, parameter, value));
        if !taken.into_iter().try_fold(false, |any, taken| Ok(any | taken?))? {
            return Err(self.cannot_change(parameter));
        }
        let written = &mut self.scheduler.parameters;
        match written.iter_mut().find(|(name, _)| name == parameter) {
            Some((_, written)) => *written = value.to_string(),
            None => written.push((parameter.to_string(), value.to_string())),
        }
        Ok(())
    }

    fn cannot_change(&self, parameter: &str) -> SpecError {
        let mut known = [self.entrance.settable(), self.before_link.settable()].concat();
        known.sort_unstable();
        known.dedup();
        let able = if known.is_empty() { "none".to_string() } else { known.join(", ") };
        let scheduler = &self.scheduler.name;
        let message = format!("{scheduler} has no parameter {parameter:?} that can change while it runs; {able} can");
        SpecError::among(parameter, message, known)
    }

    /// Names of the classes.
    pub fn class_names(&self) -> impl Iterator<Item = &str> {
        self.classes.iter().filter(|class| !class.retired).map(|class| class.setup.name.as_str())
    }

    /// Set the weight of a class's flows, those that exist and those to come. `None` if there is no such class.
    pub fn set_weight(&mut self, now: Time, class: &str, weight: Weight) -> Option<()> {
        let index = self.class_index(class)?;
        self.classes[index].setup.weight = weight;
        self.reconfigure(now, index as u16);
        Some(())
    }

    /// Set the limit of the queue of a class's flows. `None` if there is no such class.
    pub fn set_limit(&mut self, now: Time, class: &str, limit: Limit) -> Option<()> {
        let index = self.class_index(class)?;
        self.classes[index].setup.limit = limit;
        self.reconfigure(now, index as u16);
        Some(())
    }

    /// Set how much of a core processing may use, from the next frame on.
    pub fn set_budget(&mut self, budget: Budget) {
        self.budget = budget;
    }

    /// Set the rate of the link, from the next frame on.
    pub fn set_rate(&mut self, rate: Option<BitRate>) {
        self.pace = Pace::new(rate);
        self.estimators[LINK] = lengths();
        self.classes.iter_mut().for_each(|class| class.resizes = false);
        self.entrance.set_rate(rate);
        self.before_link.set_rate(rate);
    }

    fn class_index(&self, name: &str) -> Option<usize> {
        self.classes.iter().position(|class| !class.retired && class.setup.name == name)
    }

    fn reconfigure(&mut self, now: Time, class: u16) {
        let flows: Vec<u32> = self.flows.iter().filter(|(_, flow)| flow.class == class).map(|(i, _)| i).collect();
        flows.into_iter().for_each(|flow| self.set_flow(now, flow, class));
    }

    pub(super) fn set_flow(&mut self, now: Time, flow: u32, class: u16) {
        let [entrance, before_link] = self.configs(class);
        self.entrance.set_flow(now, flow, entrance);
        self.before_link.set_flow(now, flow, before_link);
    }

    fn configs(&self, class: u16) -> [FlowConfig<RESOURCES>; RESOURCES] {
        let setup = &self.classes[usize::from(class)].setup;
        let entrance = FlowConfig { weight: setup.weight, limit: setup.limit, ..FlowConfig::default() };
        let limit = match self.between {
            Some(Between::Each(limit)) => limit,
            Some(Between::Own) => setup.limit,
            None => Limit::default(),
        };
        [entrance, FlowConfig { limit, ..entrance }]
    }

    fn add_flow(&mut self, flow: u32, class: u16) {
        let [entrance, before_link] = self.configs(class);
        self.entrance.add_flow(flow, entrance);
        self.before_link.add_flow(flow, before_link);
    }

    fn forget(&mut self, now: Time, flow: u32) {
        self.entrance.remove_flow(now, flow);
        self.before_link.remove_flow(now, flow);
        if self.predict.per() == Per::Flow {
            self.estimators[CPU].forget(flow);
        }
        self.flows.forget(flow);
    }

    /// Whose observations predict this frame's time on the CPU.
    fn key_of(&self, frame: &Frame) -> u32 {
        match self.predict.per() {
            Per::Flow => frame.flow,
            Per::Class => u32::from(frame.class),
        }
    }

    pub(super) fn estimate(&self, frame: &Frame) -> ResourceVec<RESOURCES> {
        let class = &self.classes[usize::from(frame.class)];
        let cpu = if class.setup.needs_cpu(frame.size_in) {
            let learnt = || self.estimators[CPU].estimate(self.key_of(frame), frame.size_in, Duration::ZERO);
            // Zero would say that it needs nothing.
            class.setup.charge.known(frame.size_in).unwrap_or_else(learnt).max(Duration::from_nanos(1))
        } else {
            Duration::ZERO
        };
        let link = if class.resizes {
            self.estimators[LINK].estimate(u32::from(frame.class), frame.size_in, Duration::ZERO)
        } else {
            self.pace.estimate(frame.len())
        };
        ResourceVec([self.budget.occupied(cpu), link])
    }

    fn each_account(&mut self, frame: &Frame, change: impl Fn(&mut Books)) {
        change(&mut self.classes[usize::from(frame.class)].books);
        if let Some(books) = self.flows.books(frame.flow) {
            change(books);
        }
    }

    pub(super) fn drop_frame(&mut self, frame: Frame, reason: &'static str) {
        self.each_account(&frame, |books| books.account.drops.count(reason));
        self.pool.give(frame);
    }

    fn next_due(&self) -> Option<(usize, Time)> {
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

    fn give_up_lost_time(&mut self, now: Time) {
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
    fn start_cpu(&mut self, now: Time) {
        while self.on_cpu.is_none() && self.free[CPU] <= now {
            self.wake[CPU] = None;
            match self.entrance.next(now) {
                Offer::Serve(job) if self.may_pass(&job.frame) => self.pass_by(now, job),
                Offer::Serve(job) => self.process(now, job),
                Offer::At(time) => return self.wake[CPU] = Some(time),
                Offer::Nothing => return,
            }
        }
        if self.on_cpu.is_none() {
            self.wake[CPU] = Some(self.free[CPU]);
        }
        while let Some(job) = self.next_that_passes(now) {
            self.pass_by(now, job);
        }
    }

    /// Whether the frame needs nothing of the CPU, and there is room for it in front of the link.
    fn may_pass(&self, frame: &Frame) -> bool {
        !self.classes[usize::from(frame.class)].setup.needs_cpu(frame.size_in) && !self.link_is_full()
    }

    /// What the scheduler lets go past the busy CPU. No frame overtakes one of its flow.
    fn next_that_passes(&mut self, now: Time) -> Option<Job> {
        if self.link_is_full() {
            return None;
        }
        let (classes, on_cpu) = (&self.classes, self.on_cpu.as_ref().map(|serving| serving.job.frame.flow));
        self.entrance.bypass(now, &mut |job| {
            let class = &classes[usize::from(job.frame.class)].setup;
            !class.needs_cpu(job.frame.size_in) && on_cpu != Some(job.frame.flow)
        })
    }

    fn pass_by(&mut self, now: Time, mut job: Job) {
        let used = Duration::ZERO;
        self.tell(now, &mut job, CPU, Progress::Finished { used });
        self.go_to_link(now, job, used);
        self.start_link(now);
    }

    fn process(&mut self, now: Time, mut job: Job) {
        let start = now.max(job.frame.received).max(self.free[CPU]);
        let class = &self.classes[usize::from(job.frame.class)];
        let before = stopwatch();
        let mut chain = class.setup.modules.iter();
        let outcome = chain.try_for_each(|&module| self.modules[module].module.process(&mut job.frame));
        let took = Duration::from_nanos(stopwatch().saturating_sub(before));
        let work = match class.setup.charge.known(job.frame.size_in) {
            Some(work) => work,
            None if class.setup.modules.is_empty() => Duration::ZERO,
            None => self.observe(&job.frame, took),
        };
        let used = self.budget.occupied(work);
        self.each_account(&job.frame, |books| books.account.cpu += used);
        if let Err(reason) = outcome {
            // It occupied the CPU all the same: what follows starts later.
            self.free[CPU] = start + used;
            self.tell(start + used, &mut job, CPU, Progress::Finished { used });
            self.tell(start + used, &mut job, LINK, Progress::Abandoned);
            self.wake[CPU] = Some(self.free[CPU]);
            self.drop_frame(job.frame, reason.0);
            return;
        }
        self.on_cpu = Some(Serving { job, until: start + used, used });
    }

    fn observe(&mut self, frame: &Frame, took: Duration) -> Duration {
        let key = self.key_of(frame);
        let expected = self.estimators[CPU].estimate(key, frame.size_in, Duration::ZERO);
        let believed = self.meter.believe(took, expected);
        self.estimators[CPU].observe(key, frame.size_in, believed);
        believed
    }

    /// What the queues before this box have noted in a frame, and whether its sender understands marks.
    fn read_congestion(&self, frame: &mut Frame) {
        let Some(encoding) = self.ecn else { return };
        if let Some(ip) = ip_of(frame) {
            let reading = encoding.read(ip.ecn());
            frame.congestion = reading.congestion;
            // The paper's senders all do.
            frame.ecn_capable = reading.ecn_capable.unwrap_or(true);
        }
    }

    /// Note in a frame what the queues say; whether that tells its sender to slow down and came without.
    fn write_congestion(&self, frame: &mut Frame) -> bool {
        let Some(encoding) = self.ecn.filter(|_| frame.congestion != Congestion::Initial) else { return false };
        let congestion = frame.congestion;
        let Some(mut ip) = ip_of(frame) else { return false };
        let (before, after) = (ip.ecn(), encoding.write(ip.ecn(), congestion));
        if before != after {
            ip.set_ecn(after);
        }
        congestion == Congestion::Congested && before != after
    }

    fn tell(&mut self, now: Time, job: &mut Job, resource: usize, event: Progress) {
        self.entrance.progress(now, job, resource, event);
        self.before_link.progress(now, job, resource, event);
    }

    /// The frame on the CPU is done, or a scheduler wanted to be asked now.
    fn cpu_due(&mut self, now: Time) {
        let Some(Serving { mut job, used, .. }) = self.on_cpu.take() else { return };
        self.free[CPU] = now;
        self.tell(now, &mut job, CPU, Progress::Finished { used });
        self.go_to_link(now, job, used);
    }

    /// A frame has had of the CPU what it needs.
    fn go_to_link(&mut self, now: Time, mut job: Job, used: Duration) {
        if self.link_is_full() {
            self.tell(now, &mut job, LINK, Progress::Abandoned);
            return self.drop_frame(job.frame, "link-buffer");
        }
        let cost = ResourceVec([used, self.pace.estimate(job.frame.len())]);
        if let Err((reason, mut job)) = self.before_link.enqueue(now, job, cost) {
            self.tell(now, &mut job, LINK, Progress::Abandoned);
            // A flow's buffer in front of the link is full: its packets were processed in vain. Queue management has reasons of its own.
            let reason = if matches!(self.before_link, Queue::Scheduled(_)) { "link-buffer" } else { reason };
            self.drop_frame(job.frame, reason);
        }
    }

    /// The link takes a frame, if it is idle, the port takes frames, and there is one.
    fn start_link(&mut self, now: Time) {
        if self.on_link.is_some() || self.outgoing.len() >= OUTGOING {
            return;
        }
        self.wake[LINK] = None;
        match self.before_link.next(now) {
            Offer::Serve(mut job) => {
                // Room for the frame that kept the CPU.
                if let Some(waiting) = &mut self.on_cpu {
                    waiting.until = waiting.until.max(now);
                }
                let used = self.pace.take(job.frame.len());
                self.tell(now, &mut job, LINK, Progress::Started);
                let start = now.max(self.free[LINK]).max(job.frame.received);
                self.on_link = Some(Serving { job, until: start + used, used });
            }
            Offer::At(time) => self.wake[LINK] = Some(time),
            Offer::Nothing => {}
        }
    }

    fn link_due(&mut self, now: Time) {
        let Some(Serving { mut job, used, .. }) = self.on_link.take() else { return };
        self.free[LINK] = now;
        self.tell(now, &mut job, LINK, Progress::Finished { used });
        let mut frame = job.frame;
        let marked = self.write_congestion(&mut frame);
        let class = &mut self.classes[usize::from(frame.class)];
        class.resizes |= frame.len() != frame.size_in as usize;
        if class.resizes {
            self.estimators[LINK].observe(u32::from(frame.class), frame.size_in, used);
        }
        let (bytes, stayed) = (frame.len(), now.since(frame.received));
        self.each_account(&frame, |books| books.left(bytes, stayed, used, marked));
        self.outgoing.push_back(frame);
    }

    /// The box ends: what it still has is dropped, for the reason `stopped`. It takes no frames any more.
    pub fn give_up(&mut self, now: Time) {
        let served = [self.on_cpu.take(), self.on_link.take()].into_iter().flatten().map(|serving| serving.job);
        let mut jobs: Vec<Job> = served.collect();
        jobs.append(&mut self.before_link.take_all(now));
        jobs.append(&mut self.entrance.take_all(now));
        jobs.into_iter().for_each(|job| self.drop_frame(job.frame, STOPPED));
    }

    /// Drops of the whole box by reason.
    pub fn drops(&self) -> Drops {
        self.total().account.drops
    }

    /// Of all classes.
    pub(super) fn total(&self) -> Books {
        let mut total = Books::new(2);
        self.classes.iter().for_each(|class| total.add(&class.books));
        total
    }
}

fn ip_of(frame: &mut Frame) -> Option<IpView<&mut [u8]>> {
    let at = dovetail_wire::ip_offset(frame.link, frame.data()).ok()?;
    IpView::new(&mut frame.data_mut()[at..]).ok()
}
