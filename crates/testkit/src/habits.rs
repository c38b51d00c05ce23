//! A scheduler whose owner has a habit that must make no difference, or none to its books.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dovetail_sched::{
    FlowConfig, FlowId, Next, Packet, Progress, Refused, Scheduler, SpecError, Stats, Ticket, UnknownFlow,
};
use dovetail_units::{Duration, Time};

/// What the owner does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Habit {
    /// Nothing of the kind.
    None,
    /// Reports everything again, with another measurement, and then what the packet did before that.
    RepeatsReports,
    /// Asks what may bypass the first resource before it asks what is next.
    AsksForBypass,
}

/// The scheduler as such an owner's. With several resources it checks that nothing bypasses the first one that needs
/// it.
pub struct Owned<const M: usize> {
    /// The scheduler.
    pub inner: Box<dyn Scheduler<M, u32>>,
    /// The habit.
    pub habit: Habit,
    /// Packets that bypassed the first resource.
    pub bypassed: Arc<AtomicU64>,
}

impl<const M: usize> Owned<M> {
    /// Of an owner with this habit.
    pub fn new(inner: Box<dyn Scheduler<M, u32>>, habit: Habit) -> Self {
        Self { inner, habit, bypassed: Arc::default() }
    }
}

impl<const M: usize> Scheduler<M, u32> for Owned<M> {
    fn add_flow(&mut self, config: FlowConfig<M>) -> FlowId {
        self.inner.add_flow(config)
    }

    fn set_flow(&mut self, now: Time, flow: FlowId, config: FlowConfig<M>) -> Result<(), UnknownFlow> {
        self.inner.set_flow(now, flow, config)
    }

    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(u32)) -> Result<(), UnknownFlow> {
        self.inner.remove_flow(now, flow, dropped)
    }

    fn enqueue(&mut self, now: Time, packet: Packet<M, u32>) -> Result<(), Refused<u32>> {
        self.inner.enqueue(now, packet)
    }

    fn next(&mut self, now: Time) -> Next<M, u32> {
        if self.habit == Habit::AsksForBypass {
            assert!(
                !matches!(self.inner.bypass(now, &mut |_| false), Next::Serve(_)),
                "passes against its owner's will"
            );
            let any_may = self.inner.any_may_bypass();
            if let Next::Serve(served) = self.inner.bypass(now, &mut |_| true) {
                assert!(any_may, "says that nothing may bypass, and lets it");
                let needed = served.ticket.charged().iter().next().copied();
                assert!(M > 1 && needed == Some(Duration::ZERO), "needs the first of {M} resources: {needed:?}");
                self.bypassed.fetch_add(1, Ordering::Relaxed);
                return Next::Serve(served);
            }
        }
        self.inner.next(now)
    }

    fn progress(&mut self, now: Time, ticket: &mut Ticket<M>, resource: usize, event: Progress) {
        self.inner.progress(now, ticket, resource, event);
        if self.habit == Habit::RepeatsReports {
            let other = match event {
                Progress::Finished { used } => Progress::Finished { used: used + Duration::from_nanos(777) },
                other => other,
            };
            self.inner.progress(now, ticket, resource, other);
            self.inner.progress(now, ticket, resource, Progress::Started);
        }
    }

    fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        self.inner.set(now, parameter, value)
    }

    fn stats(&self) -> Stats {
        self.inner.stats()
    }

    fn queued(&self, flow: FlowId) -> u32 {
        self.inner.queued(flow)
    }
}
