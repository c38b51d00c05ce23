//! Single calls of a scheduler with very many flows, one by one: for how long the longest one takes, in steps or by the
//! clock.
//!
//! Seven workloads follow each other on one scheduler whose tables are warm: every flow has been backlogged and served,
//! and every list has been as long as it will be. Every resource is the one that as many flows need most; weights are 1
//! to 16; measured times are a little other than estimated.

use dovetail_sched::catalog::{Entry, find};
use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, Spec, build};
use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::random::Random;

/// What happens to the flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workload {
    /// All stay backlogged; one packet takes minutes, against its estimate.
    Steady,
    /// All are served until none has packets.
    AllIdle,
    /// All come back after an hour; and nobody asks for a minute while they wait.
    IdleAndBack,
    /// Their weights change.
    Weights,
    /// Half of them are removed.
    Removal,
    /// Bursts of new flows, which come, are served and stay.
    Fresh,
    /// Every parameter that can change while running does; last, since not every default can be set again.
    Set,
}

impl Workload {
    /// In the order in which they follow each other.
    pub const ALL: [Self; 7] =
        [Self::Steady, Self::AllIdle, Self::IdleAndBack, Self::Weights, Self::Removal, Self::Fresh, Self::Set];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::AllIdle => "all idle",
            Self::IdleAndBack => "idle and back",
            Self::Set => "set",
            Self::Weights => "weights",
            Self::Removal => "removal",
            Self::Fresh => "fresh flows",
        }
    }
}

/// Is told when a call begins and ends.
pub trait Meter {
    /// A call of this workload begins.
    fn begin(&mut self);
    /// It has ended.
    fn end(&mut self, workload: Workload);
}

/// Every workload on a scheduler of `M` resources with so many flows; of each at most some `turns` packets, where it
/// need not be one of every flow.
///
/// # Errors
///
/// If `spec` is wrong.
pub fn run<const M: usize>(spec: &str, flows: usize, turns: usize, meter: &mut dyn Meter) -> Result<(), String> {
    let spec: Spec = spec.parse().map_err(|e| format!("{spec}: {e}"))?;
    let scheduler = build::<M, u32>(&spec, Shape { servers: M as u32 }).map_err(|e| e.to_string())?;
    let entry = find(&spec.name).ok_or_else(|| format!("there is no {spec}"))?;
    let (ids, now, random) = (Vec::with_capacity(2 * flows), Time::ZERO, Random::new(1));
    let mut calls = Calls { scheduler, flows: ids, now, random, slow: false, meter, workload: None };
    calls.warm_up(flows);
    for workload in Workload::ALL {
        calls.workload = Some(workload);
        calls.perform(workload, entry, turns.min(flows));
    }
    Ok(())
}

/// Longest packet, in ns.
const LONGEST: u64 = 30_000;
/// Two minutes, in ns.
const MINUTES: u64 = 120_000_000_000;
/// Packets of every flow at first.
const DEPTH: usize = 2;
/// New flows of a burst, of the turns.
const BURSTS: usize = 4;

struct Calls<'a, const M: usize> {
    scheduler: Box<dyn Scheduler<M, u32>>,
    flows: Vec<FlowId>,
    now: Time,
    random: Random,
    /// The next packet takes minutes.
    slow: bool,
    meter: &'a mut dyn Meter,
    /// What is measured; nothing while warming up.
    workload: Option<Workload>,
}

impl<const M: usize> Calls<'_, M> {
    /// One call, measured.
    fn call<R>(&mut self, call: impl FnOnce(&mut dyn Scheduler<M, u32>, Time) -> R) -> R {
        let Some(workload) = self.workload else { return call(&mut *self.scheduler, self.now) };
        self.meter.begin();
        let result = call(&mut *self.scheduler, self.now);
        self.meter.end(workload);
        result
    }

    /// Every table has its size, every flow has been served.
    fn warm_up(&mut self, flows: usize) {
        (0..flows + flows / BURSTS).for_each(|_| self.add());
        (0..DEPTH).for_each(|_| self.all_send());
        self.serve_all();
        for flow in self.flows.split_off(flows) {
            // All live flows are known.
            let _ = self.scheduler.remove_flow(self.now, flow, &mut |_| ());
        }
        (0..DEPTH).for_each(|_| self.all_send());
    }

    fn perform(&mut self, workload: Workload, entry: &Entry, turns: usize) {
        match workload {
            Workload::Steady => {
                self.serve(turns / 2, true);
                self.slow = true;
                self.serve(turns / 2, true);
            }
            Workload::AllIdle => {
                self.serve_all();
                self.wait(Duration::from_millis(60_000));
                self.serve(10, true);
            }
            Workload::IdleAndBack => {
                self.wait(Duration::from_millis(3_600_000));
                self.all_send();
                self.wait(Duration::from_millis(60_000));
                self.serve(turns / 2, true);
            }
            Workload::Set => self.set_all(entry),
            Workload::Weights => self.reweigh(turns / 2),
            Workload::Removal => self.remove(turns / 2),
            Workload::Fresh => (0..BURSTS).for_each(|_| self.burst(turns / BURSTS)),
        }
    }

    fn add(&mut self) {
        let config = self.config();
        let flow = self.call(|scheduler, _| scheduler.add_flow(config));
        self.flows.push(flow);
    }

    fn config(&mut self) -> FlowConfig<M> {
        let weight = Weight::from_milli(1000 << self.random.below(5)).unwrap_or_default();
        FlowConfig { weight, ..FlowConfig::default() }
    }

    fn all_send(&mut self) {
        (0..self.flows.len()).for_each(|flow| self.send(self.flows[flow]));
    }

    fn send(&mut self, flow: FlowId) {
        let (long, short) = (self.random.between(LONGEST / 2, LONGEST), self.random.between(LONGEST / 10, LONGEST / 3));
        let on = |r: usize| if r == flow.index() % M { long } else { short };
        let cost = ResourceVec::from_nanos(std::array::from_fn(on));
        let packet = Packet { flow, size: 800, cost, payload: 0 };
        // No limits, so nothing is refused.
        let _ = self.call(|scheduler, now| scheduler.enqueue(now, packet));
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
    }

    /// Ask once; whether a packet was served, and has gone through.
    fn ask(&mut self, refill: bool) -> bool {
        let mut packet = match self.call(|scheduler, now| scheduler.next(now)) {
            Next::Serve(packet) => packet,
            Next::At(time) => {
                self.now = self.now.max(time);
                return true;
            }
            Next::Drop { .. } => return true,
            // Nothing is in the pipeline.
            Next::AwaitProgress | Next::Empty => return false,
        };
        let flow = packet.ticket.flow();
        let estimated = packet.ticket.charged().0.map(Duration::as_nanos);
        let slow = std::mem::take(&mut self.slow);
        self.now += Duration::from_nanos(if slow { MINUTES } else { estimated.into_iter().max().unwrap_or(0) });
        for (resource, time) in estimated.into_iter().enumerate() {
            let nearly = time - time / 16 + self.random.below(time / 8 + 1);
            let used = Duration::from_nanos(if slow { MINUTES } else { nearly });
            let ticket = &mut packet.ticket;
            self.call(|scheduler, now| scheduler.progress(now, ticket, resource, Progress::Started));
            let ticket = &mut packet.ticket;
            self.call(|scheduler, now| scheduler.progress(now, ticket, resource, Progress::Finished { used }));
        }
        if refill {
            self.send(flow);
        }
        true
    }

    /// So many questions, with a packet of the flow after each that is served.
    fn serve(&mut self, turns: usize, refill: bool) {
        for _ in 0..turns {
            if !self.ask(refill) {
                return;
            }
        }
    }

    fn serve_all(&mut self) {
        while self.ask(false) {}
    }

    /// Every value of every parameter that is taken; and what the next packets have of it.
    fn set_all(&mut self, entry: &Entry) {
        const VALUES: [&str; 8] = ["0.5", "1", "0", "7", "1 ns", "5 us", "1 ms", "auto"];
        let settable = entry.parameters.iter().filter(|p| p.settable);
        for (parameter, value) in settable.flat_map(|p| VALUES.iter().chain([&p.default]).map(|value| (p.name, *value)))
        {
            if self.call(|scheduler, now| scheduler.set(now, parameter, value)).is_ok() {
                self.serve(200, true);
            }
        }
    }

    fn reweigh(&mut self, turns: usize) {
        for _ in 0..turns {
            let flow = self.flows[self.random.below(self.flows.len() as u64) as usize];
            let config = self.config();
            // All flows are known.
            let _ = self.call(|scheduler, now| scheduler.set_flow(now, flow, config));
            self.ask(true);
        }
    }

    fn remove(&mut self, turns: usize) {
        for turn in 0..turns {
            let flow = self.flows.swap_remove(self.random.below(self.flows.len() as u64) as usize);
            // All flows are known.
            let _ = self.call(|scheduler, now| scheduler.remove_flow(now, flow, &mut |_| ()));
            if turn % 8 == 0 {
                self.ask(true);
            }
        }
    }

    /// New flows with a packet or three each, some of which are served at once.
    fn burst(&mut self, flows: usize) {
        let before = self.flows.len();
        (0..flows).for_each(|_| self.add());
        for flow in before..self.flows.len() {
            (0..1 + flow % 3).for_each(|_| self.send(self.flows[flow]));
        }
        self.serve(flows / 2, false);
    }
}
