//! Schedulers that want to be asked again later.

use crate::common::{at, fifo, listed, ns, pipeline, record, simulate};
use dovetail_sched::{
    FlowConfig, FlowId, Next, Packet, Progress, Refused, Scheduler, SpecError, Stats, Ticket, UnknownFlow,
};
use dovetail_sim::{Options, SimError};
use dovetail_units::Time;

/// First come, first served, but only when the gate is open; shut, it says when to ask again.
struct Gated<F> {
    inner: Box<dyn Scheduler<1, u32>>,
    shut_until: F,
    asked: Vec<u64>,
}

impl<F> Gated<F> {
    fn new(shut_until: F) -> Self {
        Self { inner: fifo(), shut_until, asked: Vec::new() }
    }
}

impl<F: Fn(u64) -> Option<u64> + Send> Scheduler<1, u32> for Gated<F> {
    fn add_flow(&mut self, config: FlowConfig<1>) -> FlowId {
        self.inner.add_flow(config)
    }
    fn set_flow(&mut self, now: Time, flow: FlowId, config: FlowConfig<1>) -> Result<(), UnknownFlow> {
        self.inner.set_flow(now, flow, config)
    }
    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(u32)) -> Result<(), UnknownFlow> {
        self.inner.remove_flow(now, flow, dropped)
    }
    fn enqueue(&mut self, now: Time, packet: Packet<1, u32>) -> Result<(), Refused<u32>> {
        self.inner.enqueue(now, packet)
    }
    fn next(&mut self, now: Time) -> Next<1, u32> {
        self.asked.push(now.as_nanos());
        match (self.shut_until)(now.as_nanos()) {
            Some(time) => Next::At(at(time)),
            None => self.inner.next(now),
        }
    }
    fn progress(&mut self, now: Time, ticket: &mut Ticket<1>, resource: usize, event: Progress) {
        self.inner.progress(now, ticket, resource, event);
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

#[test]
fn the_scheduler_is_asked_again_at_the_instant_it_named() {
    // The gate opens at every tenth nanosecond.
    let mut scheduler = Gated::new(|now: u64| Some(now.next_multiple_of(10)).filter(|&open| open > now));
    let workload = listed(&[(0, 0, [3]), (1, 0, [3]), (14, 0, [30])]);
    let (_, log) = record(&workload, &pipeline(), &mut scheduler, ns(100), Options::default());
    assert_eq!(log.iter().map(|p| p.started[0].unwrap()).collect::<Vec<_>>(), [at(0), at(10), at(20)]);
    // Whenever the resource is idle, also if no packet waits; never while it is busy.
    assert_eq!(scheduler.asked, [0, 3, 10, 13, 14, 20, 50]);
}

#[test]
fn waiting_for_the_past_or_for_ever_is_an_error() {
    let workload = listed(&[(5, 0, [3])]);
    let run = |scheduler: &mut dyn Scheduler<1, u32>| {
        simulate(&workload, &pipeline(), scheduler, &mut (), Options::default()).unwrap_err()
    };
    let stalled =
        |error| matches!(error, SimError::Stalled { waiting: 1, answer: "\"ask again later\" without end", .. });
    assert!(stalled(run(&mut Gated::new(Some))));
    assert!(stalled(run(&mut Gated::new(|now| Some(now + 1)))));
}
