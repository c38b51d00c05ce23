//! One server that takes one packet at a time: the resource that is shared.

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, build};
use dovetail_units::{ResourceVec, Time, Weight};

use crate::traffic::{Arrival, Traffic};

/// A packet's service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Service {
    /// Which arrival.
    pub packet: usize,
    pub flow: usize,
    /// What it was charged.
    pub time: u64,
    pub start: u64,
    pub finish: u64,
    /// One bit per flow: whether it had packets waiting when this one, which counts, was chosen.
    pub waiting: u64,
    /// Whether no packet of the flow waits after it.
    pub empties: bool,
}

/// The scheduler of a spec for a pipeline of two resources, of which the last is shared.
pub fn scheduler(spec: &str) -> Box<dyn Scheduler<2, u32>> {
    build(&spec.parse().unwrap(), Shape::default()).unwrap()
}

/// Serve the traffic to its end. A packet started at `start` that needs `time` keeps the server for `lasts(start,
/// time)`.
pub fn serve_at(
    scheduler: &mut dyn Scheduler<2, u32>,
    traffic: &Traffic,
    lasts: impl FnMut(u64, u64) -> u64,
) -> Vec<Service> {
    serve_watched(scheduler, traffic, lasts, |_, _| ())
}

/// As [`serve_at`]; `seen` is shown the scheduler after every arrival, and of when that was.
pub fn serve_watched<S: Scheduler<2, u32> + ?Sized>(
    scheduler: &mut S,
    traffic: &Traffic,
    mut lasts: impl FnMut(u64, u64) -> u64,
    mut seen: impl FnMut(&S, u64),
) -> Vec<Service> {
    let flows = set_up(scheduler, &traffic.weights);
    let (mut now, mut arrived, mut done) = (0, 0, Vec::new());
    let mut queued = vec![0u32; flows.len()];
    loop {
        arrived = offer(scheduler, &flows, &traffic.arrivals, arrived, now, &mut queued, &mut seen);
        match scheduler.next(Time::from_nanos(now)) {
            Next::Serve(mut served) => {
                let Arrival { flow, time, .. } = traffic.arrivals[served.payload as usize];
                let waiting = queued.iter().enumerate().fold(0, |bits, (f, &q)| bits | u64::from(q > 0) << f);
                queued[flow] -= 1;
                let finish = now + lasts(now, time);
                done.push(Service {
                    packet: served.payload as usize,
                    flow,
                    time,
                    start: now,
                    finish,
                    waiting,
                    empties: queued[flow] == 0,
                });
                // Arrivals meanwhile come at their own times, before the report of the finish.
                arrived = offer(scheduler, &flows, &traffic.arrivals, arrived, finish - 1, &mut queued, &mut seen);
                now = finish;
                let used = served.ticket.charged();
                for r in 0..2 {
                    let event = Progress::Finished { used: used[r] };
                    scheduler.progress(Time::from_nanos(now), &mut served.ticket, r, event);
                }
            }
            Next::Empty if arrived == traffic.arrivals.len() => return done,
            Next::Empty => now = traffic.arrivals[arrived].at,
            other => panic!("a work-conserving discipline answers {other:?}"),
        }
    }
}

/// Serve at the constant speed of one.
pub fn serve(scheduler: &mut dyn Scheduler<2, u32>, traffic: &Traffic) -> Vec<Service> {
    serve_at(scheduler, traffic, |_, time| time)
}

/// The flows served, A for the first one.
pub fn letters(services: &[Service]) -> String {
    services.iter().map(|s| char::from(b'A' + s.flow as u8)).collect()
}

fn set_up<S: Scheduler<2, u32> + ?Sized>(scheduler: &mut S, weights: &[u32]) -> Vec<FlowId> {
    let config = |milli| FlowConfig { weight: Weight::from_milli(milli).unwrap(), ..FlowConfig::default() };
    weights.iter().map(|&milli| scheduler.add_flow(config(milli))).collect()
}

/// Offer what arrives until `until`; returns how many have arrived.
fn offer<S: Scheduler<2, u32> + ?Sized>(
    scheduler: &mut S,
    flows: &[FlowId],
    arrivals: &[Arrival],
    mut arrived: usize,
    until: u64,
    queued: &mut [u32],
    seen: &mut impl FnMut(&S, u64),
) -> usize {
    while let Some(&Arrival { at, flow, time }) = arrivals.get(arrived).filter(|a| a.at <= until) {
        // The first resource is not shared: times there must not matter.
        let cost = ResourceVec::from_nanos([(arrived as u64 * 977) % 100_000, time]);
        let packet = Packet { flow: flows[flow], size: 100, cost, payload: arrived as u32 };
        scheduler.enqueue(Time::from_nanos(at), packet).unwrap();
        queued[flow] += 1;
        arrived += 1;
        seen(scheduler, at);
    }
    arrived
}
