//! A scheduler whose number of resources is known only when the program runs.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use dovetail_sched::{
    DropReason, FlowConfig, FlowId, Limit, Next, Packet, PerFlow, Progress, Scheduler as Contract, Shape, Spec,
    SpecError, Stats, Steering, Ticket, UnknownFlow, build,
};
use dovetail_units::{Duration, Part, ResourceVec, Time, Weight};

use crate::discipline::{Methods, Scripted};

/// The number of a payload.
pub type Payload = u32;

/// What is set up for a flow.
pub struct Config {
    /// Its weight.
    pub weight: Weight,
    /// Its weights on the resources, if they differ.
    pub weights: Option<Vec<Weight>>,
    /// The part of its fair share that it is guaranteed.
    pub alpha: Option<Part>,
    /// The number of its class.
    pub class: Option<u16>,
    /// The limit of its queue.
    pub limit: Limit,
}

/// The ticket of a packet, of as many resources as its scheduler has.
pub trait AnyTicket: Any + Send + Sync {
    /// What the flow is charged for the packet, in nanoseconds on every resource.
    fn charged(&self) -> Vec<u64>;
}

/// A ticket is taken out for as long as a report of progress lasts, so that a method of a discipline can ask meanwhile
/// what is charged.
struct Held<const M: usize>(Mutex<Ticket<M>>);

impl<const M: usize> Held<M> {
    fn get(&self) -> Ticket<M> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, ticket: Ticket<M>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = ticket;
    }
}

impl<const M: usize> AnyTicket for Held<M> {
    fn charged(&self) -> Vec<u64> {
        self.get().charged().iter().map(|time| time.as_nanos()).collect()
    }
}

/// A packet that has left its queue, with its payload or the number of that.
pub struct Handed<P> {
    /// None if it is dropped.
    pub ticket: Option<Box<dyn AnyTicket>>,
    /// Its flow.
    pub flow: FlowId,
    /// Its length in bytes.
    pub size: u32,
    /// Its payload.
    pub payload: P,
}

/// What there is to do now.
pub enum Answer<P> {
    /// Serve this packet, or it is dropped.
    Handed(Handed<P>),
    /// As [`Next::At`].
    At(Time),
    /// As [`Next::AwaitProgress`].
    AwaitProgress,
    /// As [`Next::Empty`].
    Empty,
}

/// A scheduler of one to four resources: see [`Scheduler`](Contract).
#[allow(missing_docs, reason = "the methods are those of the contract")]
pub trait Pipeline: Send {
    fn add_flow(&mut self, config: &Config) -> FlowId;
    fn set_flow(&mut self, now: Time, flow: FlowId, config: &Config) -> Result<(), UnknownFlow>;
    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(Payload)) -> Result<(), UnknownFlow>;
    fn enqueue(
        &mut self,
        now: Time,
        flow: FlowId,
        size: u32,
        cost: &[Duration],
        payload: Payload,
    ) -> Result<(), DropReason>;
    fn next(&mut self, now: Time) -> Answer<Payload>;
    fn bypass(&mut self, now: Time, may_pass: &mut dyn FnMut(&Payload) -> bool) -> Answer<Payload>;
    fn progress(&mut self, now: Time, ticket: &dyn AnyTicket, resource: usize, event: Progress);
    fn left(&mut self, now: Time, flow: FlowId, stayed: Duration);
    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError>;
    fn steering(&self) -> Option<Steering>;
    fn stats(&self) -> Stats;
    fn queued(&self, flow: FlowId) -> u32;
}

/// One of `M`.
struct Of<const M: usize>(Box<dyn Contract<M, Payload>>);

impl<const M: usize> Of<M> {
    fn config(config: &Config) -> FlowConfig<M> {
        let on = config.weights.as_ref().and_then(|weights| weights.clone().try_into().ok());
        let Config { weight, alpha, class, limit, .. } = *config;
        FlowConfig { weight, weight_on: on, alpha, class, limit }
    }

    fn answer(next: Next<M, Payload>) -> Answer<Payload> {
        match next {
            Next::Serve(served) => Answer::Handed(Handed {
                flow: served.ticket.flow(),
                ticket: Some(Box::new(Held(Mutex::new(served.ticket)))),
                size: served.size,
                payload: served.payload,
            }),
            Next::Drop { flow, size, payload } => Answer::Handed(Handed { ticket: None, flow, size, payload }),
            Next::At(time) => Answer::At(time),
            Next::AwaitProgress => Answer::AwaitProgress,
            Next::Empty => Answer::Empty,
        }
    }
}

impl<const M: usize> Pipeline for Of<M> {
    fn add_flow(&mut self, config: &Config) -> FlowId {
        self.0.add_flow(Self::config(config))
    }

    fn set_flow(&mut self, now: Time, flow: FlowId, config: &Config) -> Result<(), UnknownFlow> {
        self.0.set_flow(now, flow, Self::config(config))
    }

    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(Payload)) -> Result<(), UnknownFlow> {
        self.0.remove_flow(now, flow, dropped)
    }

    fn enqueue(
        &mut self,
        now: Time,
        flow: FlowId,
        size: u32,
        cost: &[Duration],
        payload: Payload,
    ) -> Result<(), DropReason> {
        let cost = ResourceVec(std::array::from_fn(|r| cost.get(r).copied().unwrap_or(Duration::ZERO)));
        self.0.enqueue(now, Packet { flow, size, cost, payload }).map_err(|refused| refused.reason)
    }

    fn next(&mut self, now: Time) -> Answer<Payload> {
        Self::answer(self.0.next(now))
    }

    fn bypass(&mut self, now: Time, may_pass: &mut dyn FnMut(&Payload) -> bool) -> Answer<Payload> {
        Self::answer(self.0.bypass(now, may_pass))
    }

    fn progress(&mut self, now: Time, ticket: &dyn AnyTicket, resource: usize, event: Progress) {
        let ticket: &dyn Any = ticket;
        // Tickets of another number of resources are of another scheduler.
        if let Some(held) = ticket.downcast_ref::<Held<M>>() {
            let mut ticket = held.get();
            self.0.progress(now, &mut ticket, resource, event);
            held.set(ticket);
        }
    }

    fn left(&mut self, now: Time, flow: FlowId, stayed: Duration) {
        self.0.left(now, flow, stayed);
    }

    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        self.0.set(now, parameter, value)
    }

    fn steering(&self) -> Option<Steering> {
        self.0.steering()
    }

    fn stats(&self) -> Stats {
        self.0.stats()
    }

    fn queued(&self, flow: FlowId) -> u32 {
        self.0.queued(flow)
    }
}

/// Where the discipline comes from.
pub enum Origin {
    /// The catalogue.
    Named(Spec, Shape),
    /// Python.
    Scripted(Scripted),
}

impl Origin {
    /// The methods of a discipline of Python.
    pub fn methods(&self) -> Option<Arc<Methods>> {
        match self {
            Self::Named(..) => None,
            Self::Scripted(scripted) => Some(scripted.methods.clone()),
        }
    }

    /// A scheduler of one to four resources.
    pub fn build(&self, resources: u64) -> Result<Box<dyn Pipeline>, SpecError> {
        match resources {
            1 => self.of::<1>(),
            2 => self.of::<2>(),
            3 => self.of::<3>(),
            _ => self.of::<4>(),
        }
    }

    fn of<const M: usize>(&self) -> Result<Box<dyn Pipeline>, SpecError> {
        Ok(Box::new(Of::<M>(match self {
            Self::Named(spec, shape) => build(spec, *shape)?,
            Self::Scripted(scripted) => Box::new(PerFlow::new(scripted.clone())),
        })))
    }
}
