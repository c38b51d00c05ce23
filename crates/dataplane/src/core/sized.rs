//! A scheduler for a box of two resources or of three, so that the rest of the box need not tell them apart.

use dovetail_pipeline::Offer;
use dovetail_sched::composition::Part;
use dovetail_sched::{
    DropReason, FlowConfig, FlowId, Next, Packet, Progress, Refused, Scheduler, Served, Shape, Spec, SpecError,
    Steering, Ticket, build, build_all,
};
use dovetail_sched::{Limit, catalog::Entry};
use dovetail_units::{Duration, ResourceVec, Time};

use super::queue::MOST_RESOURCES;
use crate::frame::Frame;

/// What a scheduler of this many resources handed a frame out with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handed {
    Two(Ticket<2>),
    Three(Ticket<3>),
}

/// The scheduler.
pub(super) enum SizedScheduler {
    Two(Box<dyn Scheduler<2, Frame>>),
    Three(Box<dyn Scheduler<3, Frame>>),
}

/// A scheduler with the discipline that it follows.
pub(super) struct SizedPart {
    pub entry: &'static Entry,
    pub scheduler: SizedScheduler,
}

/// In front of each resource, as far as one stands there, and the limit of a flow's queue behind the first.
pub(super) struct SizedParts {
    pub parts: [Option<SizedPart>; MOST_RESOURCES],
    pub buffer: Limit,
}

macro_rules! each {
    ($self:expr, $scheduler:ident => $value:expr) => {
        match $self {
            SizedScheduler::Two($scheduler) => $value,
            SizedScheduler::Three($scheduler) => $value,
        }
    };
}

/// What `spec` describes, for so many resources.
pub(super) fn build_sized(spec: &Spec, resources: usize) -> Result<SizedParts, SpecError> {
    fn parts<const M: usize>(
        spec: &Spec,
        sized: fn(Box<dyn Scheduler<M, Frame>>) -> SizedScheduler,
    ) -> Result<SizedParts, SpecError> {
        let made = build_all::<M, Frame>(spec, Shape::default())?;
        let part = |Part { entry, scheduler }| SizedPart { entry, scheduler: sized(scheduler) };
        let mut parts = [const { None }; MOST_RESOURCES];
        for (place, between) in parts.iter_mut().zip(made.between) {
            *place = between.map(part);
        }
        parts[0] = Some(part(made.entrance));
        Ok(SizedParts { parts, buffer: made.buffer })
    }
    match resources {
        2 => parts::<2>(spec, SizedScheduler::Two),
        _ => parts::<3>(spec, SizedScheduler::Three),
    }
}

/// A discipline for one resource of a box of two.
pub(super) fn build_single(entry: &'static Entry, spec: &Spec) -> Result<SizedPart, SpecError> {
    Ok(SizedPart { entry, scheduler: SizedScheduler::Two(build(spec, Shape::default())?) })
}

/// One weight holds for all resources.
fn sized<const M: usize>(config: FlowConfig<MOST_RESOURCES>) -> FlowConfig<M> {
    let FlowConfig { weight, alpha, class, limit, .. } = config;
    FlowConfig { weight, weight_on: None, alpha, class, limit }
}

#[inline(always)]
fn packet<const M: usize>(flow: FlowId, frame: Frame, cost: [Duration; MOST_RESOURCES]) -> Packet<M, Frame> {
    let cost = ResourceVec(std::array::from_fn(|resource| cost[resource]));
    Packet { flow, size: frame.whole().1 as u32, cost, payload: frame }
}

fn offer<const M: usize>(next: Next<M, Frame>, place: usize, handed: fn(Ticket<M>) -> Handed) -> Offer<Frame> {
    match next {
        Next::Serve(Served { ticket, payload: mut frame, .. }) => {
            frame.tickets[place] = Some(handed(ticket));
            Offer::Serve(frame)
        }
        Next::Drop { payload, .. } => Offer::Drop(payload),
        Next::At(time) => Offer::At(time),
        Next::AwaitProgress | Next::Empty => Offer::Nothing,
    }
}

impl SizedScheduler {
    pub fn add_flow(&mut self, config: FlowConfig<MOST_RESOURCES>) -> FlowId {
        each!(self, scheduler => scheduler.add_flow(sized(config)))
    }

    pub fn set_flow(&mut self, now: Time, flow: FlowId, config: FlowConfig<MOST_RESOURCES>) {
        // The flow is a live one.
        let _ = each!(self, scheduler => scheduler.set_flow(now, flow, sized(config)));
    }

    pub fn remove_flow(&mut self, now: Time, flow: FlowId, give_back: &mut dyn FnMut(Frame)) {
        // The flow is a live one.
        let _ = each!(self, scheduler => scheduler.remove_flow(now, flow, give_back));
    }

    /// `cost` has a time for each resource of the box, and then no more.
    #[inline(always)]
    pub fn enqueue(
        &mut self,
        now: Time,
        flow: FlowId,
        frame: Frame,
        cost: [Duration; MOST_RESOURCES],
    ) -> Result<(), (DropReason, Frame)> {
        let refused = |refused: Refused<Frame>| (refused.reason, refused.payload);
        each!(self, scheduler => scheduler.enqueue(now, packet(flow, frame, cost)).map_err(refused))
    }

    /// What is handed out has its ticket at this place.
    pub fn next(&mut self, now: Time, place: usize) -> Offer<Frame> {
        match self {
            Self::Two(scheduler) => offer(scheduler.next(now), place, Handed::Two),
            Self::Three(scheduler) => offer(scheduler.next(now), place, Handed::Three),
        }
    }

    pub fn bypass(&mut self, now: Time, place: usize, may_pass: &mut dyn FnMut(&Frame) -> bool) -> Offer<Frame> {
        match self {
            Self::Two(scheduler) => offer(scheduler.bypass(now, may_pass), place, Handed::Two),
            Self::Three(scheduler) => offer(scheduler.bypass(now, may_pass), place, Handed::Three),
        }
    }

    #[inline]
    pub fn any_may_bypass(&self) -> bool {
        each!(self, scheduler => scheduler.any_may_bypass())
    }

    #[inline]
    pub fn progress(&mut self, now: Time, handed: &mut Handed, resource: usize, event: Progress) {
        match (self, handed) {
            (Self::Two(scheduler), Handed::Two(ticket)) => scheduler.progress(now, ticket, resource, event),
            (Self::Three(scheduler), Handed::Three(ticket)) => scheduler.progress(now, ticket, resource, event),
            // Tickets of a scheduler that is no more are taken from frames.
            (Self::Two(_), Handed::Three(_)) | (Self::Three(_), Handed::Two(_)) => {}
        }
    }

    pub fn left(&mut self, now: Time, flow: FlowId, stayed: Duration) {
        each!(self, scheduler => scheduler.left(now, flow, stayed));
    }

    pub fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        each!(self, scheduler => scheduler.set(now, parameter, value))
    }

    pub fn queued(&self, flow: FlowId) -> u32 {
        each!(self, scheduler => scheduler.queued(flow))
    }

    pub fn steering(&self) -> Option<Steering> {
        each!(self, scheduler => scheduler.steering())
    }
}
