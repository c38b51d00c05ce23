//! The event loop.

mod owner;

use std::sync::atomic::{AtomicBool, Ordering};

use dovetail_pipeline::Passage;
use dovetail_sched::catalog::Entry;
use dovetail_sched::{Packet, Scheduler, Schedulers, Ticket};
use dovetail_units::{Duration, Time};
use slab::Slab;

use crate::agenda::Agenda;
use crate::arrivals::{Arrivals, Emitted};
use crate::between::Between;
use crate::costs::{Carry, Draws, FlowCosts, all_shared};
use crate::error::SimError;
use crate::job::Job;
use crate::pipeline::{Pipeline, Resource};
use crate::predictors::Predictors;
use crate::record::{Metrics, MetricsOptions, RunResult};
use crate::recorder::{Recorder, SimPacket};
use crate::validate::validate;
use crate::workload::Workload;

/// A parameter of the scheduler changes while running.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// When; before the arrivals of the same instant.
    pub at: Time,
    /// As in [`Scheduler::set`].
    pub parameter: String,
    /// As in [`Scheduler::set`].
    pub value: String,
}

/// How a run is made.
#[derive(Default)]
pub struct Options<'a> {
    /// Determines every random draw.
    pub seed: u64,
    /// Nothing later than this happens; what is unfinished then is counted as that.
    pub horizon: Option<Time>,
    /// Parameter changes, in any order.
    pub changes: Vec<Change>,
    /// When it becomes true, the run ends soon, as at a horizon.
    pub cancel: Option<&'a AtomicBool>,
    /// Called every few thousand packets.
    pub progress: Option<&'a mut dyn FnMut(&Tally)>,
}

/// The count of all packets: `offered = refused + delivered + dropped + waiting + in_pipeline` at every moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// The simulated time.
    pub now: Time,
    /// Packets that arrived.
    pub offered: u64,
    /// Of these, not taken by the scheduler.
    pub refused: u64,
    /// Left the last resource.
    pub delivered: u64,
    /// Found a buffer between two resources full, or their flow's part of it; or were dropped by the scheduler while
    /// they waited.
    pub dropped: u64,
    /// Wait in the scheduler.
    pub waiting: u64,
    /// Are in service, blocked, in a buffer or with a scheduler between two resources, or at the entrance of a no-wait
    /// pipeline.
    pub in_pipeline: u64,
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The sources are exhausted and the system is empty.
    Drained,
    /// The horizon was reached.
    Horizon,
    /// It was cancelled.
    Cancelled,
}

/// What every run yields, whatever is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The packets at the end.
    pub tally: Tally,
    /// Why it ended.
    pub end: End,
    /// When the first packet came.
    pub first_arrival: Option<Time>,
    /// When the last packet left the last resource.
    pub last_departure: Option<Time>,
}

impl Outcome {
    /// From the first arrival to the last departure (tradeoff paper, section 2.2); `None` if nothing was delivered.
    pub fn makespan(&self) -> Option<Duration> {
        Some(self.last_departure?.since(self.first_arrival?))
    }

    /// The time over which service is counted: the makespan, or from the first arrival to the end of a run that was cut
    /// off, or that delivered nothing. `None` if nothing came.
    pub fn span(&self) -> Option<Duration> {
        match self.end {
            End::Drained if self.last_departure.is_some() => self.makespan(),
            _ => Some(self.tally.now.since(self.first_arrival?)),
        }
    }
}

/// A scheduler that only asks to be woken, this many times in a row without serving anything, is stuck.
const MOST_IDLE_WAKES: u32 = 1_000_000;

/// Instants between two looks at the cancel flag and calls of the progress function.
const INSTANTS_PER_REPORT: u32 = 8192;

/// Run the workload through the scheduler and the pipeline.
///
/// The flows are set up in the scheduler, which should have none. All events of one instant happen before the scheduler
/// is asked: ends of service, then parameter changes, then arrivals. Equal inputs give equal results.
/// Cost per packet: O(log(sources) + log(servers)) and the scheduler's.
pub fn simulate<const M: usize, R: Recorder<M>>(
    workload: &Workload<M>,
    pipeline: &Pipeline<M>,
    scheduler: &mut dyn Scheduler<M, u32>,
    recorder: &mut R,
    options: Options<'_>,
) -> Result<Outcome, SimError> {
    validate(workload, pipeline, options.horizon)?;
    let between = [const { None }; M];
    start_engine(workload, pipeline, (scheduler, None), between, recorder, options)
}

/// [`simulate`] with schedulers also between the resources.
///
/// In front of a further resource that has one, a packet waits in its flow's queue there, and the scheduler is asked
/// when the resource has an idle server; the resource's own [`Buffer`](crate::Buffer) still bounds the packets that
/// wait there in all (packets that a scheduler keeps back although a server is idle count as standing on that server).
/// What finds its flow's queue full is dropped after processing. Flows and parameter changes go to all schedulers.
pub fn simulate_all<const M: usize, R: Recorder<M>>(
    workload: &Workload<M>,
    pipeline: &Pipeline<M>,
    schedulers: &mut Schedulers<M, u32>,
    recorder: &mut R,
    options: Options<'_>,
) -> Result<Outcome, SimError> {
    validate(workload, pipeline, options.horizon)?;
    let limit = schedulers.buffer;
    let between = schedulers.between.each_mut();
    let between = between.map(|part| part.as_mut().map(|part| Between::new(part, &workload.flows, limit)));
    let entrance = &mut schedulers.entrance;
    start_engine(workload, pipeline, (entrance.scheduler.as_mut(), Some(entrance.entry)), between, recorder, options)
}

fn start_engine<'a, const M: usize, R: Recorder<M>>(
    workload: &'a Workload<M>,
    pipeline: &Pipeline<M>,
    (scheduler, entry): (&'a mut dyn Scheduler<M, u32>, Option<&'static Entry>),
    between: [Option<Between<'a, M>>; M],
    recorder: &'a mut R,
    mut options: Options<'_>,
) -> Result<Outcome, SimError> {
    const { assert!(M <= 1 << Start::RESOURCE_BITS, "more resources than an end of service tells apart") }
    // Stable: changes of one instant keep their order.
    options.changes.sort_by_key(|change| change.at);
    let mut resources = pipeline.at_work();
    resources.in_line = between.iter().any(Option::is_some);
    let is_plain = !resources.in_line && resources.no_wait.is_none() && options.changes.is_empty();
    let flows = workload.flows.iter().map(|flow| {
        let id = scheduler.add_flow(flow.config(flow.limit));
        FlowCosts::new(flow, id)
    });
    let engine = Engine {
        flows: flows.collect(),
        draws: Draws::of(&workload.flows, options.seed),
        predictors: Predictors::new(&workload.flows),
        arrivals: Arrivals::new(workload, options.seed),
        servers: pipeline.servers(),
        resources,
        scheduler,
        entry,
        between,
        recorder,
        packets: Slab::new(),
        tickets: Slab::new(),
        ends: Agenda::new(),
        starts: 0,
        carries: [Carry::default(); M],
        bypassing: 0,
        wake: None,
        idle_wakes: 0,
        next_change: 0,
        is_plain,
        tally: Tally::default(),
        first_arrival: None,
        last_departure: None,
    };
    engine.run(options)
}

/// [`simulate`] with the standard recorder.
pub fn run<const M: usize>(
    workload: &Workload<M>,
    pipeline: &Pipeline<M>,
    scheduler: &mut dyn Scheduler<M, u32>,
    metrics: MetricsOptions,
    options: Options<'_>,
) -> Result<RunResult<M>, SimError> {
    let mut recorder = Metrics::new(workload, pipeline, metrics);
    let outcome = simulate(workload, pipeline, scheduler, &mut recorder, options)?;
    Ok(recorder.finish(outcome))
}

/// An end of service. Two words, which stay in registers.
type ServiceEnd = (Time, Start);

/// The number of a start, which puts ends of one instant in order, and where it was. The number has 44 bits: a run with
/// more starts would take weeks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Start(u64);

impl Start {
    const SERVER_BITS: u32 = (Resource::MAX_SERVERS - 1).ilog2() + 1;
    const RESOURCE_BITS: u32 = 4;

    #[inline]
    fn new(number: u64, resource: usize, server: u32) -> Self {
        Self((number << Self::RESOURCE_BITS | resource as u64) << Self::SERVER_BITS | u64::from(server))
    }

    #[inline]
    fn resource(self) -> usize {
        (self.0 >> Self::SERVER_BITS) as usize & ((1 << Self::RESOURCE_BITS) - 1)
    }

    #[inline]
    fn server(self) -> u32 {
        self.0 as u32 & ((1 << Self::SERVER_BITS) - 1)
    }
}

/// The earlier of two instants, if there are any.
#[inline]
fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

struct Engine<'a, const M: usize, R> {
    flows: Vec<FlowCosts<'a, M>>,
    /// By flow; empty where nothing is drawn.
    draws: Vec<Option<Box<Draws<M>>>>,
    predictors: Predictors<M>,
    arrivals: Arrivals<'a, M>,
    servers: [u32; M],
    /// What resources where; in line as far as a scheduler resources between two resources.
    resources: dovetail_pipeline::Resources<M, Job>,
    scheduler: &'a mut dyn Scheduler<M, u32>,
    /// The scheduler's parameters, if it need not have all that change.
    entry: Option<&'static Entry>,
    /// In front of further resources.
    between: [Option<Between<'a, M>>; M],
    recorder: &'a mut R,
    packets: Slab<SimPacket<M>>,
    /// Of the packets in the pipeline, by the scheduler at the entrance.
    tickets: Slab<Ticket<M>>,
    ends: Agenda<ServiceEnd>,
    starts: u64,
    carries: [Carry; M],
    /// Packets in the scheduler that need nothing on the first resource.
    bypassing: u64,
    /// When the scheduler wants to be asked again.
    wake: Option<Time>,
    idle_wakes: u32,
    next_change: usize,
    /// Whether nothing happens but arrivals, ends of service, and what the scheduler at the entrance waits for.
    is_plain: bool,
    tally: Tally,
    first_arrival: Option<Time>,
    last_departure: Option<Time>,
}

impl<const M: usize, R: Recorder<M>> Engine<'_, M, R> {
    fn run(mut self, mut options: Options<'_>) -> Result<Outcome, SimError> {
        let horizon = options.horizon.unwrap_or(Time::MAX);
        let mut until_report = INSTANTS_PER_REPORT;
        let end = loop {
            let Some(now) = self.next_instant(&options.changes) else { break End::Drained };
            if now > horizon {
                self.tally.now = horizon;
                break End::Horizon;
            }
            self.instant(now, &options.changes)?;
            until_report -= 1;
            if until_report == 0 {
                until_report = INSTANTS_PER_REPORT;
                if options.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                    break End::Cancelled;
                }
                if let Some(progress) = options.progress.as_mut() {
                    progress(&self.tally);
                }
            }
        };
        if end == End::Drained && self.tally.waiting + self.tally.in_pipeline > 0 {
            return Err(self.stalled("\"wait for progress\""));
        }
        self.recorder.ended(self.tally.now);
        let Self { tally, first_arrival, last_departure, .. } = self;
        Ok(Outcome { tally, end, first_arrival, last_departure })
    }

    /// When something happens next.
    fn next_instant(&self, changes: &[Change]) -> Option<Time> {
        let mut next = earlier(earlier(self.next_end(), self.arrivals.next_time()), self.wake);
        if self.is_plain {
            return next;
        }
        if self.resources.in_line {
            next = self.between.iter().flatten().fold(next, |next, between| earlier(next, between.wake));
        }
        if let Some(entrance) = &self.resources.no_wait {
            next = earlier(next, entrance.next_start());
        }
        // A change alone does not prolong a run, unless packets wait that it might set free.
        let change = changes.get(self.next_change).map(|c| c.at.max(self.tally.now));
        match (next, change) {
            (Some(next), Some(change)) => Some(next.min(change)),
            (None, Some(change)) if self.tally.waiting + self.tally.in_pipeline > 0 => Some(change),
            (next, _) => next,
        }
    }

    #[inline]
    fn next_end(&self) -> Option<Time> {
        self.ends.first().map(|(time, _)| time)
    }

    fn instant(&mut self, now: Time, changes: &[Change]) -> Result<(), SimError> {
        self.tally.now = now;
        let mut happened = false;
        while let Some((_, start)) = self.ends.first().filter(|&(time, _)| time == now) {
            self.ends.pop();
            // Ends of one instant are all counted before anything moves, so that a place freed now is found free now.
            let (resource, server) = (start.resource(), start.server());
            if self.next_end() == Some(now) {
                self.finish(resource, server);
            } else if resource + 1 == M {
                // Compiled by itself: from here packets only leave.
                self.finish_and_move_on(M - 1, server)?;
            } else {
                self.finish_and_move_on(resource, server)?;
            }
            happened = true;
        }
        while let Some(change) = changes.get(self.next_change).filter(|change| change.at <= now) {
            self.next_change += 1;
            self.set(change)?;
            happened = true;
        }
        while let Some(packet) = self.arrivals.pop_at(now) {
            self.arrive(packet)?;
            happened = true;
        }
        self.idle_wakes = if happened { 0 } else { self.idle_wakes + 1 };
        if self.resources.in_line {
            // Also what set a scheduler free that is not a packet's end: a change, the time.
            self.move_on()?;
        }
        self.dispatch()
    }

    /// Change a parameter in every scheduler that has it.
    fn set(&mut self, change: &Change) -> Result<(), SimError> {
        let Change { parameter, value, .. } = change;
        let at = self.tally.now;
        let refused = |error| SimError::Parameter { at, error };
        let mut found = false;
        for scheduler in self.between.iter_mut().flatten().filter_map(|b| b.with_parameter(parameter)) {
            scheduler.set(at, parameter, value).map_err(refused)?;
            found = true;
        }
        if !found || self.entry.is_none_or(|entry| entry.has(parameter)) {
            self.scheduler.set(at, parameter, value).map_err(refused)?;
        }
        Ok(())
    }

    fn arrive(&mut self, emitted: Emitted<M>) -> Result<(), SimError> {
        let now = self.tally.now;
        self.first_arrival.get_or_insert(now);
        let flow = &self.flows[emitted.flow as usize];
        let mut draws = self.draws.get_mut(emitted.flow as usize).and_then(Option::as_deref_mut);
        let resized = flow.resized(emitted.size, draws.as_deref_mut());
        let cost = flow.true_cost(&emitted, resized, &mut self.carries, draws);
        let mut predicted = self.predictors.on_arrival(emitted.flow, emitted.size, &cost);
        let needs_nothing = cost[0] == Duration::ZERO;
        if needs_nothing {
            predicted[0] = Duration::ZERO;
        }
        let mut estimate = all_shared(&predicted, &self.servers);
        if !needs_nothing {
            // No time at all would say that it is known to need nothing.
            estimate[0] = estimate[0].max(Duration::from_nanos(1));
        }
        let number = self.tally.offered;
        self.tally.offered += 1;
        let Emitted { flow: index, size, .. } = emitted;
        // Packets that must not wait between resources pass them all in the scheduler's order.
        let bypasses = M > 1 && needs_nothing && self.resources.no_wait.is_none();
        let packet = SimPacket { number, arrival: now, cost, flow: index, size, resized, bypasses };
        let payload = u32::try_from(self.packets.insert(packet)).map_err(|_| SimError::TooManyPackets { at: now })?;
        self.predictors.keep(payload, &predicted);
        match self.scheduler.enqueue(now, Packet { flow: flow.id, size: packet.size, cost: estimate, payload }) {
            Ok(()) => {
                self.tally.waiting += 1;
                self.bypassing += u64::from(bypasses);
                self.recorder.admitted(now, &packet);
            }
            Err(refused) => {
                self.packets.remove(payload as usize);
                self.tally.refused += 1;
                self.recorder.refused(now, &packet, refused.reason);
            }
        }
        Ok(())
    }

    fn stalled(&self, answer: &'static str) -> SimError {
        let Tally { now, waiting, in_pipeline, .. } = self.tally;
        SimError::Stalled { at: now, waiting: waiting + in_pipeline, answer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_starts_the_earlier_comes_first_wherever_they_were() {
        let (last_place, first_place) = ((15, Resource::MAX_SERVERS - 1), (0, 0));
        let [early, late] =
            [(7, last_place), (8, first_place)].map(|(number, (r, server))| Start::new(number, r, server));
        assert!(early < late);
        assert_eq!([early, late].map(|start| (start.resource(), start.server())), [last_place, first_place]);
    }
}
