//! What waits in front of a resource.

use std::collections::VecDeque;

use dovetail_sched::catalog::Entry;
use dovetail_sched::{DropReason, FlowConfig, FlowId, Progress, SpecError, Steering};
use dovetail_units::{BitRate, Duration, Time};

use super::managed::Managed;
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

/// The answer to "what now?" of a queue.
pub(super) enum Offer {
    Serve(Frame),
    /// The scheduler drops it; ask again.
    Drop(Frame),
    At(Time),
    Nothing,
}

/// In front of a resource.
pub(super) enum Queue {
    /// A scheduler, and what waits in it.
    Scheduled(Scheduled),
    /// In order of arrival.
    InOrder(VecDeque<Frame>),
    /// In order of arrival, under active queue management.
    Managed(Box<Managed>),
}

pub(super) struct Scheduled {
    scheduler: SizedScheduler,
    entry: &'static Entry,
    /// Ids of the box's flows here.
    ids: Vec<Option<FlowId>>,
    resource: usize,
    /// How far the scheduler's clock is behind the box's.
    behind: Duration,
}

impl Queue {
    pub fn scheduled(part: SizedPart, resource: usize) -> Self {
        let SizedPart { entry, scheduler } = part;
        Self::Scheduled(Scheduled { scheduler, entry, ids: Vec::new(), resource, behind: Duration::ZERO })
    }

    /// The box has done nothing for so long, and will not make up for it. To the scheduler that time has not been: the
    /// fluid that it follows would else have served meanwhile, and who comes now would wait for all that the box
    /// still owes the others.
    pub fn skip(&mut self, time: Duration) {
        if let Self::Scheduled(queue) = self {
            queue.behind += time;
        }
    }

    pub fn add_flow(&mut self, flow: u32, config: FlowConfig<MOST_RESOURCES>) {
        let Self::Scheduled(queue) = self else { return };
        let place = flow as usize;
        if queue.ids.len() <= place {
            queue.ids.resize(place + 1, None);
        }
        queue.ids[place] = Some(queue.scheduler.add_flow(config));
    }

    pub fn set_flow(&mut self, now: Time, flow: u32, config: FlowConfig<MOST_RESOURCES>) {
        if let Self::Scheduled(queue) = self
            && let Some(id) = queue.id(flow)
        {
            queue.scheduler.set_flow(queue.clock(now), id, config);
        }
    }

    /// Nothing of the flow is in the box.
    pub fn remove_flow(&mut self, now: Time, flow: u32) {
        if let Self::Scheduled(queue) = self
            && let Some(id) = queue.ids.get_mut(flow as usize).and_then(Option::take)
        {
            // Nothing waits, so nothing is given back.
            queue.scheduler.remove_flow(queue.clock(now), id, &mut |_| ());
        }
    }

    /// The frame comes, with its estimated times; it is given back with the reason if it is refused.
    pub fn enqueue(
        &mut self,
        now: Time,
        frame: Frame,
        cost: [Duration; MOST_RESOURCES],
    ) -> Result<(), (&'static str, Frame)> {
        match self {
            Self::Managed(queue) => queue.enqueue(now, frame),
            Self::InOrder(waiting) => {
                waiting.push_back(frame);
                Ok(())
            }
            Self::Scheduled(queue) => {
                let Some(flow) = queue.id(frame.flow) else { return Err((DropReason::UnknownFlow.name(), frame)) };
                queue.scheduler.enqueue(queue.clock(now), flow, frame, cost)
            }
        }
    }

    /// Everything that waits, in order flow by flow, with tickets that mean nothing any more.
    pub fn take_all(&mut self, now: Time) -> Vec<Frame> {
        let mut frames = Vec::with_capacity(self.len());
        match self {
            Self::InOrder(waiting) => frames.extend(waiting.drain(..)),
            Self::Managed(queue) => frames.extend(std::iter::from_fn(|| queue.next())),
            Self::Scheduled(queue) => {
                for id in queue.ids.iter_mut().filter_map(Option::take) {
                    queue.scheduler.remove_flow(now, id, &mut |frame| frames.push(frame));
                }
            }
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
        match self {
            Self::Managed(queue) => {
                queue.put_back(frame);
                Ok(())
            }
            _ => self.enqueue(now, frame, cost),
        }
    }

    /// What the idle resource takes.
    pub fn next(&mut self, now: Time) -> Offer {
        match self {
            Self::InOrder(waiting) => waiting.pop_front().map_or(Offer::Nothing, Offer::Serve),
            Self::Managed(queue) => queue.next().map_or(Offer::Nothing, Offer::Serve),
            Self::Scheduled(queue) => match queue.scheduler.next(queue.clock(now), queue.resource) {
                Offer::At(time) => Offer::At(time + queue.behind),
                offer => offer,
            },
        }
    }

    /// A frame that the scheduler lets go past its busy resource, if `may_pass` says so of it.
    pub fn bypass(&mut self, now: Time, may_pass: &mut dyn FnMut(&Frame) -> bool) -> Option<Frame> {
        let Self::Scheduled(queue) = self else { return None };
        match queue.scheduler.bypass(queue.clock(now), queue.resource, may_pass) {
            Offer::Serve(frame) => Some(frame),
            _ => None,
        }
    }

    /// The scheduler here hears what became of a frame that it handed out.
    pub fn progress(&mut self, now: Time, frame: &mut Frame, resource: usize, event: Progress) {
        match self {
            Self::InOrder(_) => {}
            Self::Managed(queue) => queue.progress(now, frame, resource, event),
            Self::Scheduled(queue) => {
                let now = queue.clock(now);
                if let Some(ticket) = &mut frame.tickets[queue.resource] {
                    queue.scheduler.progress(now, ticket, resource, event);
                }
            }
        }
    }

    /// A frame of the flow has left the link, so long after it came.
    pub fn left(&mut self, now: Time, flow: u32, stayed: Duration) {
        if let Self::Scheduled(queue) = self
            && let Some(id) = queue.id(flow)
        {
            queue.scheduler.left(queue.clock(now), id, stayed);
        }
    }

    /// The rate of the link changes.
    pub fn set_rate(&mut self, rate: Option<BitRate>) {
        if let Self::Managed(queue) = self {
            queue.set_rate(rate);
        }
    }

    /// Frames that wait.
    pub fn len(&self) -> usize {
        match self {
            Self::InOrder(waiting) => waiting.len(),
            Self::Managed(queue) => queue.len(),
            Self::Scheduled(queue) => queue.scheduler.queued_in_all(),
        }
    }

    /// Frames of a flow that wait; in order of arrival they are not told apart.
    pub fn queued(&self, flow: u32) -> u32 {
        match self {
            Self::InOrder(_) | Self::Managed(_) => 0,
            Self::Scheduled(queue) => queue.id(flow).map_or(0, |id| queue.scheduler.queued(id)),
        }
    }

    /// What a parameter of the scheduler that adjusts itself has come to.
    pub fn steering(&self) -> Option<Steering> {
        match self {
            Self::InOrder(_) | Self::Managed(_) => None,
            Self::Scheduled(queue) => queue.scheduler.steering(),
        }
    }

    /// Parameters of the scheduler that can change while it runs.
    pub fn settable(&self) -> Vec<&'static str> {
        match self {
            Self::InOrder(_) | Self::Managed(_) => Vec::new(),
            Self::Scheduled(queue) => queue.entry.parameters.iter().filter(|p| p.settable).map(|p| p.name).collect(),
        }
    }

    /// Change a parameter of the scheduler; whether it has one of this name that can change.
    pub fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<bool, SpecError> {
        match self {
            Self::Scheduled(queue) if queue.entry.parameters.iter().any(|p| p.settable && p.name == parameter) => {
                queue.scheduler.set(queue.clock(now), parameter, value).map(|()| true)
            }
            _ => Ok(false),
        }
    }
}

impl Scheduled {
    fn clock(&self, now: Time) -> Time {
        Time::from_nanos(now.as_nanos().saturating_sub(self.behind.as_nanos()))
    }

    fn id(&self, flow: u32) -> Option<FlowId> {
        self.ids.get(flow as usize).copied().flatten()
    }
}
