//! What waits in front of a resource.

use dovetail_pipeline::{FlowIds, FlowQueues, Front, Of, Offer};
use dovetail_sched::aqm::{Arrival, ManagedQueue, Manager};
use dovetail_sched::catalog::Entry;
use dovetail_sched::{DropReason, FlowConfig, Progress, SpecError, Steering};
use dovetail_units::{BitRate, Duration, Time};

use super::managed::Managing;
use super::sized::{SizedPart, SizedScheduler};
use crate::frame::Frame;

/// The CPU, maybe a third resource, and the link.
pub const MOST_RESOURCES: usize = 3;

/// What a full buffer in front of a resource does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Overflow {
    /// The frame keeps the resource before, which can do nothing else meanwhile.
    #[default]
    Block,
    /// The frame is lost, with the processing spent on it.
    Drop,
}

/// The buffer in front of a resource behind the CPU where no scheduler stands there: in order of arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// The most frames that wait, from 1; `None` is no limit.
    pub frames: Option<u32>,
    /// What happens beyond.
    pub overflow: Overflow,
}

/// In front of a resource.
pub(super) struct Queue {
    front: Front<Scheduled, Frame>,
    /// Of a queue under active queue management.
    managing: Option<Managing>,
}

/// Flows' queues under a scheduler.
struct Scheduled {
    scheduler: SizedScheduler,
    entry: &'static Entry,
    /// Of the box's flows here.
    ids: FlowIds,
    resource: usize,
    /// Frames that wait; and whether the scheduler has been asked since none does. Some need to know.
    waiting: usize,
    is_told: bool,
    /// Whether a frame may wait that needs nothing of the resource.
    may_bypass: bool,
    /// Whether the scheduler looks at how long frames stayed.
    steers: bool,
    /// How far the scheduler's clock is behind the box's.
    behind: Duration,
}

impl Queue {
    /// In order of arrival.
    pub fn in_order() -> Self {
        Self { front: Front::in_order(), managing: None }
    }

    pub fn scheduled(part: SizedPart, resource: usize) -> Self {
        let SizedPart { entry, scheduler } = part;
        let scheduled = Scheduled {
            entry,
            ids: FlowIds::default(),
            resource,
            waiting: 0,
            is_told: false,
            may_bypass: false,
            steers: scheduler.steering().is_some(),
            behind: Duration::ZERO,
            scheduler,
        };
        Self { front: Front::PerFlow(scheduled), managing: None }
    }

    pub fn managed(manager: Manager, managing: Managing) -> Self {
        Self { front: Front::Managed(Box::new(ManagedQueue::new(manager))), managing: Some(managing) }
    }

    /// Who manages the queue here.
    #[cfg(test)]
    pub fn manager(&self) -> Option<&Manager> {
        if let Front::Managed(queue) = &self.front { Some(queue.manager()) } else { None }
    }

    /// Whether a scheduler stands here.
    pub fn is_scheduled(&self) -> bool {
        self.front.flows().is_some()
    }

    /// Whether frames wait in order of arrival, and nobody manages the queue.
    #[inline]
    pub fn is_in_order(&self) -> bool {
        matches!(self.front, Front::InOrder { .. })
    }

    /// The box has done nothing for so long, and will not make up for it. To the scheduler that time has not been: the
    /// fluid that it follows would else have served meanwhile, and who comes now would wait for all that the box
    /// still owes the others.
    pub fn skip(&mut self, time: Duration) {
        if let Some(queue) = self.front.flows_mut() {
            queue.behind += time;
        }
    }

    pub fn add_flow(&mut self, flow: u32, config: FlowConfig<MOST_RESOURCES>) {
        if let Some(queue) = self.front.flows_mut() {
            queue.add_flow(flow, config);
        }
    }

    pub fn set_flow(&mut self, now: Time, flow: u32, config: FlowConfig<MOST_RESOURCES>) {
        if let Some(queue) = self.front.flows_mut()
            && let Some(id) = queue.ids.get(flow)
        {
            queue.scheduler.set_flow(queue.clock(now), id, config);
        }
    }

    /// Nothing of the flow is in the box.
    pub fn remove_flow(&mut self, now: Time, flow: u32) {
        if let Some(queue) = self.front.flows_mut() {
            // Nothing waits, so nothing is given back.
            queue.remove_flow(now, flow, &mut |_| ());
        }
    }

    /// The frame comes, with its estimated times; it is given back with the reason if it is refused.
    #[inline(always)]
    pub fn enqueue(
        &mut self,
        now: Time,
        frame: Frame,
        cost: [Duration; MOST_RESOURCES],
    ) -> Result<(), (&'static str, Frame)> {
        let (flow, arrival) = (frame.flow, arrival(&frame));
        let draw = || self.managing.as_mut().map_or(0, Managing::draw);
        let mark = |frame: &mut Frame, state| frame.congestion = state;
        let queued = self.front.enqueue(now, (flow, &arrival), frame, || cost, draw, mark);
        queued.map_err(|(refusal, frame)| (refusal.name(), frame))
    }

    /// Everything that waits, in order flow by flow, with tickets that mean nothing any more.
    pub fn take_all(&mut self, now: Time) -> Vec<Frame> {
        let mut frames = Vec::with_capacity(self.len());
        if let Some(queue) = self.front.flows_mut() {
            let flows: Vec<u32> = queue.ids.flows().collect();
            flows.into_iter().for_each(|flow| queue.remove_flow(now, flow, &mut |frame| frames.push(frame)));
        } else {
            frames.extend(std::iter::from_fn(|| match self.front.next(now) {
                Offer::Serve(frame) => Some(frame),
                _ => None,
            }));
        }
        frames
    }

    /// As [`enqueue`](Self::enqueue) of a frame that the box has accepted before: queue management does not ask again.
    pub fn put_back(
        &mut self,
        now: Time,
        frame: Frame,
        cost: [Duration; MOST_RESOURCES],
    ) -> Result<(), (&'static str, Frame)> {
        let Some(queue) = self.front.managed_mut() else { return self.enqueue(now, frame, cost) };
        queue.push(arrival(&frame).size, frame);
        Ok(())
    }

    /// What the idle resource takes.
    #[inline]
    pub fn next(&mut self, now: Time) -> Offer<Frame> {
        self.front.next(now)
    }

    /// Whether a frame may wait that needs nothing of the resource.
    #[inline]
    pub fn may_bypass(&self) -> bool {
        self.front.flows().is_some_and(|queue| queue.may_bypass)
    }

    /// Whether one does, by what the scheduler says. If not, it need not be asked until the next one comes.
    pub fn any_may_bypass(&mut self) -> bool {
        let Some(queue) = self.front.flows_mut() else { return false };
        queue.may_bypass = queue.scheduler.any_may_bypass();
        queue.may_bypass
    }

    /// A frame that the scheduler lets go past its busy resource, if `may_pass` says so of it.
    pub fn bypass(&mut self, now: Time, may_pass: &mut dyn FnMut(&Frame) -> bool) -> Option<Frame> {
        let queue = self.front.flows_mut()?;
        match queue.scheduler.bypass(queue.clock(now), queue.resource, may_pass) {
            Offer::Serve(frame) => {
                queue.waiting -= 1;
                Some(frame)
            }
            _ => None,
        }
    }

    /// Who manages the queue here, or schedules it, hears what became of a frame. The queue stands at this place.
    #[inline(always)]
    pub fn progress(&mut self, place: usize, now: Time, frame: &mut Frame, resource: usize, event: Progress) {
        if let Front::PerFlow(queue) = &mut self.front {
            let now = queue.clock(now);
            // A place that is known here need not be found in memory.
            debug_assert_eq!(place, queue.resource);
            if let Some(ticket) = &mut frame.tickets[place] {
                queue.scheduler.progress(now, ticket, resource, event);
            }
        } else {
            self.progress_managed(now, frame, resource, event);
        }
    }

    fn progress_managed(&mut self, now: Time, frame: &Frame, resource: usize, event: Progress) {
        if let (Front::Managed(queue), Some(managing)) = (&mut self.front, &mut self.managing) {
            managing.progress(queue, now, frame, resource, event);
        }
    }

    /// A frame of the flow has left the link, so long after it came.
    #[inline]
    pub fn left(&mut self, now: Time, flow: u32, stayed: Duration) {
        if let Some(queue) = self.front.flows_mut()
            && queue.steers
            && let Some(id) = queue.ids.get(flow)
        {
            queue.scheduler.left(queue.clock(now), id, stayed);
        }
    }

    /// The rate of the link changes.
    pub fn set_rate(&mut self, rate: Option<BitRate>) {
        if let (Front::Managed(queue), Some(managing)) = (&mut self.front, &mut self.managing) {
            managing.set_rate(queue.manager_mut(), rate);
        }
    }

    /// Frames that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.front.waiting()
    }

    /// Whether the queue is to be asked when its resource is idle.
    #[inline]
    pub fn may_hand_out(&self) -> bool {
        self.len() > 0 || self.front.flows().is_some_and(|queue| !queue.is_told)
    }

    /// Frames of a flow that wait; in order of arrival they are not told apart.
    pub fn queued(&self, flow: u32) -> u32 {
        let queued = |queue: &Scheduled| queue.ids.get(flow).map_or(0, |id| queue.scheduler.queued(id));
        self.front.flows().map_or(0, queued)
    }

    /// What a parameter of the scheduler that adjusts itself has come to.
    pub fn steering(&self) -> Option<Steering> {
        self.front.flows()?.scheduler.steering()
    }

    /// Parameters of the scheduler that can change while it runs.
    pub fn settable(&self) -> impl Iterator<Item = &'static str> {
        let known = self.front.flows().map_or(&[][..], |queue| queue.entry.parameters);
        known.iter().filter(|p| p.settable).map(|p| p.name)
    }

    /// Change a parameter of the scheduler; whether it has one of this name that can change.
    pub fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<bool, SpecError> {
        if !self.settable().any(|name| name == parameter) {
            return Ok(false);
        }
        let Some(queue) = self.front.flows_mut() else { return Ok(false) };
        queue.scheduler.set(queue.clock(now), parameter, value)?;
        queue.steers = queue.scheduler.steering().is_some();
        Ok(true)
    }
}

/// The frame as queue management sees it, with what it was cut into.
fn arrival(frame: &Frame) -> Arrival {
    Arrival {
        size: frame.whole().1 as u32,
        ecn_capable: frame.ecn_capable,
        congestion: frame.congestion,
        class: u32::from(frame.class),
    }
}

impl Scheduled {
    #[inline]
    fn clock(&self, now: Time) -> Time {
        Time::from_nanos(now.as_nanos().saturating_sub(self.behind.as_nanos()))
    }
}

impl FlowQueues<Frame> for Scheduled {
    type Config = FlowConfig<MOST_RESOURCES>;
    type Cost = [Duration; MOST_RESOURCES];

    fn add_flow(&mut self, flow: u32, config: Self::Config) {
        self.ids.insert(flow, self.scheduler.add_flow(config));
    }

    fn remove_flow(&mut self, now: Time, flow: u32, give_back: &mut dyn FnMut(Frame)) {
        if let Some(id) = self.ids.remove(flow) {
            let (clock, waiting) = (self.clock(now), &mut self.waiting);
            self.scheduler.remove_flow(clock, id, &mut |frame| {
                *waiting -= 1;
                give_back(frame);
            });
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, now: Time, of: Of<Self::Cost>, frame: Frame) -> Result<(), (DropReason, Frame)> {
        let Some(id) = self.ids.get(of.flow) else { return Err((DropReason::UnknownFlow, frame)) };
        self.scheduler.enqueue(self.clock(now), id, frame, of.cost)?;
        self.waiting += 1;
        self.is_told = false;
        self.may_bypass |= of.cost[0] == Duration::ZERO;
        Ok(())
    }

    #[inline]
    fn next(&mut self, now: Time) -> Offer<Frame> {
        let offer = self.scheduler.next(self.clock(now), self.resource);
        match offer {
            Offer::Serve(_) | Offer::Drop(_) => self.waiting -= 1,
            Offer::At(time) => return Offer::At(time + self.behind),
            Offer::Nothing => self.is_told = self.waiting == 0,
        }
        offer
    }

    fn waiting(&self) -> usize {
        self.waiting
    }
}
