//! Shared by the tests: short ways to write workloads, and a scheduler that follows a script.

use std::collections::VecDeque;

use dovetail_sched::{
    FlowConfig, FlowId, Next, Packet, Progress, Refused, Scheduler, Schedulers, Shape, SpecError, Stats, Ticket,
    UnknownFlow, build,
};
use dovetail_sim::record::{PacketLog, PacketRecord};
use dovetail_sim::{
    Arrival, Cost, Flow, List, Metrics, MetricsOptions, Options, Outcome, Pipeline, Recorder, RunResult, SimError,
    Source, TimeScale, Workload, deferred,
};
use dovetail_units::{Duration, ResourceVec, Time};

pub fn at(ns: u64) -> Time {
    Time::from_nanos(ns)
}

pub fn ns(ns: u64) -> Duration {
    Duration::from_nanos(ns)
}

pub fn fifo<const M: usize>() -> Box<dyn Scheduler<M, u32>> {
    build(&"fifo".parse().unwrap(), Shape::default()).unwrap()
}

/// A packet of a test: (arrival in ns, flow, cost in ns per resource). Its length is 1 byte.
pub type Given<const M: usize> = (u64, u32, [u64; M]);

/// These packets, of as many flows as they name.
pub fn listed<const M: usize>(packets: &[Given<M>]) -> Workload<M> {
    let flows = packets.iter().map(|p| p.1 + 1).max().unwrap_or(0);
    let arrivals: Vec<Arrival> =
        packets.iter().map(|&(time, flow, _)| Arrival { time: at(time), flow, size: 1 }).collect();
    let costs: Vec<_> = packets.iter().map(|p| ResourceVec::from_nanos(p.2)).collect();
    Workload {
        flows: (0..flows).map(|f| Flow::new(format!("flow {f}"), [Cost::PerPacket; M])).collect(),
        sources: vec![Source::List(List {
            arrivals: arrivals.into(),
            costs: Some(costs.into()),
            scale: TimeScale::ONE,
        })],
    }
}

pub fn pipeline<const M: usize>() -> Pipeline<M> {
    Pipeline::new(["r"; M])
}

/// [`dovetail_sim::simulate`] by code that is compiled once for all recorders, in the library.
pub fn simulate<const M: usize>(
    workload: &Workload<M>,
    pipeline: &Pipeline<M>,
    scheduler: &mut dyn Scheduler<M, u32>,
    recorder: &mut (dyn Recorder<M> + Send),
    options: Options<'_>,
) -> Result<Outcome, SimError> {
    deferred(recorder, &|| false, |later| dovetail_sim::simulate(workload, pipeline, scheduler, later, options))
}

/// [`dovetail_sim::simulate_all`], likewise.
pub fn simulate_all<const M: usize>(
    workload: &Workload<M>,
    pipeline: &Pipeline<M>,
    schedulers: &mut Schedulers<M, u32>,
    recorder: &mut (dyn Recorder<M> + Send),
    options: Options<'_>,
) -> Result<Outcome, SimError> {
    deferred(recorder, &|| false, |later| dovetail_sim::simulate_all(workload, pipeline, schedulers, later, options))
}

/// Everything that can be recorded of a run.
pub fn record<const M: usize>(
    workload: &Workload<M>,
    pipeline: &Pipeline<M>,
    scheduler: &mut dyn Scheduler<M, u32>,
    interval: Duration,
    options: Options<'_>,
) -> (RunResult<M>, Vec<PacketRecord<M>>) {
    recorded(workload, pipeline, interval, |recorder| simulate(workload, pipeline, scheduler, recorder, options))
}

/// [`record`] with schedulers between the resources.
pub fn record_all<const M: usize>(
    workload: &Workload<M>,
    pipeline: &Pipeline<M>,
    schedulers: &mut Schedulers<M, u32>,
    interval: Duration,
    options: Options<'_>,
) -> (RunResult<M>, Vec<PacketRecord<M>>) {
    recorded(workload, pipeline, interval, |recorder| simulate_all(workload, pipeline, schedulers, recorder, options))
}

fn recorded<const M: usize>(
    workload: &Workload<M>,
    pipeline: &Pipeline<M>,
    interval: Duration,
    run: impl FnOnce(&mut (Metrics<M>, PacketLog<M>)) -> Result<Outcome, SimError>,
) -> (RunResult<M>, Vec<PacketRecord<M>>) {
    let metrics = MetricsOptions { interval, ..MetricsOptions::default() };
    let mut recorder = (Metrics::new(workload, pipeline, metrics), PacketLog::new(usize::MAX));
    let outcome = run(&mut recorder).unwrap();
    (recorder.0.finish(outcome), recorder.1.records().to_vec())
}

/// The packets' ways under fifo.
pub fn ways<const M: usize>(packets: &[Given<M>], pipeline: &Pipeline<M>) -> (Outcome, Vec<PacketRecord<M>>) {
    let (result, log) = record(&listed(packets), pipeline, &mut *fifo(), ns(1_000_000_000), Options::default());
    (result.outcome, log)
}

/// Serves the flows in the order that is written down, and waits for the right one's packet. `set` adds a flow to the
/// order.
pub struct Script<const M: usize> {
    /// Makes the tickets: holds a packet only from its choice to its service.
    inner: Box<dyn Scheduler<M, u32>>,
    pub waiting: Vec<VecDeque<Packet<M, u32>>>,
    order: VecDeque<usize>,
    /// Every report of progress.
    pub heard: Vec<(Time, usize, Progress)>,
}

impl<const M: usize> Script<M> {
    pub fn new(order: impl IntoIterator<Item = usize>) -> Self {
        Self { inner: fifo(), waiting: Vec::new(), order: order.into_iter().collect(), heard: Vec::new() }
    }
}

impl<const M: usize> Scheduler<M, u32> for Script<M> {
    fn add_flow(&mut self, config: FlowConfig<M>) -> FlowId {
        self.waiting.push(VecDeque::new());
        self.inner.add_flow(config)
    }

    fn set_flow(&mut self, now: Time, flow: FlowId, config: FlowConfig<M>) -> Result<(), UnknownFlow> {
        self.inner.set_flow(now, flow, config)
    }

    fn remove_flow(&mut self, now: Time, flow: FlowId, dropped: &mut dyn FnMut(u32)) -> Result<(), UnknownFlow> {
        self.inner.remove_flow(now, flow, dropped)
    }

    fn enqueue(&mut self, _now: Time, packet: Packet<M, u32>) -> Result<(), Refused<u32>> {
        self.waiting[packet.flow.index()].push_back(packet);
        Ok(())
    }

    fn next(&mut self, now: Time) -> Next<M, u32> {
        let chosen = self.order.front().and_then(|&flow| self.waiting[flow].pop_front());
        let Some(packet) = chosen else { return Next::AwaitProgress };
        self.order.pop_front();
        self.inner.enqueue(now, packet).unwrap();
        self.inner.next(now)
    }

    fn progress(&mut self, now: Time, ticket: &mut Ticket<M>, resource: usize, event: Progress) {
        self.heard.push((now, resource, event));
        self.inner.progress(now, ticket, resource, event);
    }

    fn set(&mut self, _now: Time, _parameter: &str, value: &str) -> Result<(), SpecError> {
        self.order.push_back(value.parse().map_err(|_| SpecError::new(value, "expected a flow"))?);
        Ok(())
    }

    fn stats(&self) -> Stats {
        self.inner.stats()
    }

    fn queued(&self, flow: FlowId) -> u32 {
        self.waiting[flow.index()].len() as u32
    }
}
