//! What every scheduler must do, whatever it shares: one suite for all of [`dovetail_sched::catalog()`].
//!
//! [`check`] runs it for one spec; [`fuzz`] applies a sequence of [`Operation`]s made from bytes to a scheduler under a
//! [`Model`] of its books, and is what a coverage-guided fuzzer calls.

use std::collections::VecDeque;

use dovetail_sched::atfq::Loops;
use dovetail_sched::catalog::{Entry, Weights, find};
use dovetail_sched::promise::{Counted, Lag};
use dovetail_sched::{FlowConfig, Next, Packet, Progress, Scheduler, Shape, Spec, Ticket, build, catalog};
use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::model::Model;
use crate::operation::Operation;
use crate::parameters;
use crate::random::Random;
use crate::range;

type Boxed<const M: usize> = Box<dyn Scheduler<M, u32>>;

/// The whole suite for one spec, for every number of resources from 1 to 4 that it is defined for.
///
/// # Errors
///
/// The first thing that is wrong, in words.
pub fn check(spec: &str) -> Result<(), String> {
    let parsed: Spec = spec.parse().map_err(|e| format!("{spec}: {e}"))?;
    let entry = entry(&parsed)?;
    if entry.resources.allow(1) {
        check_for::<1>(&parsed, entry)?;
    }
    check_for::<2>(&parsed, entry)?;
    check_for::<3>(&parsed, entry)?;
    check_for::<4>(&parsed, entry)
}

/// Specs beyond the bare names, so that every branch that a parameter opens is run: values of parameters that change
/// the algorithm.
pub const VARIANTS: &[&str] = &[
    "drfq:mode=dovetail",
    "drfq:delta=20 us",
    "drfq:window=1",
    "drfq:newcomers=free",
    "drfq:mode=dovetail,newcomers=free",
    "mr3:progress=finished",
    "mr3:progress=none",
    "gmr3:progress=finished",
    "gmr3:progress=none",
    "gmr3:largest=1 us",
    "mr3:newcomers=free",
    "gmr3:newcomers=free",
    "cbcs:newcomers=free",
    "tradeoff:alpha=0",
    "tradeoff:alpha=0.1",
    "tradeoff:alpha=1",
    "tradeoff:alpha=0.2,target=95 %",
    "tradeoff:alpha=0.2,protect=1 1 ms",
    "drr:quantum=1 us",
    "drr:resource=0",
    "drr:charge=estimated",
    "wfq:resource=0",
    "wfq:charge=estimated",
    "wf2q+:resource=0",
    "sfq:resource=0",
    "sfq:newcomers=free",
    "scfq:resource=0",
    "drgps:order=start",
    "atfq:loop=1",
    "atfq:domain=1 ms",
    "atfq:domain=5 us,gamma=1",
    "atfq:loop=1000",
    "atfq:window=1",
    "atfq:per-flow=1",
    "atfq:fill=all,newcomers=free",
    "pcfq:clock=tags",
    "pcfq:clock=paper",
    "pcfq:charge=estimated",
    "cbcs:quantum=1 us",
    "bf:interval=1 us",
    "bf:newcomers=free",
    "cbcs:charge=estimated",
    "wf2q+:charge=estimated",
    "sfq:charge=estimated",
    "scfq:charge=estimated",
    "fq_codel:quantum=1 B",
];

/// Every discipline of the catalogue by its defaults, and the [`VARIANTS`].
pub fn specs() -> impl Iterator<Item = &'static str> {
    catalog().iter().map(|e| e.name).chain(VARIANTS.iter().copied())
}

/// Apply the operations that the bytes make to a scheduler over `resources` resources, taken to the nearest number from
/// 1 to 4 for which it is defined.
///
/// # Errors
///
/// The first invariant that does not hold, in words.
pub fn fuzz(spec: &str, resources: usize, bytes: &[u8]) -> Result<(), String> {
    let parsed: Spec = spec.parse().map_err(|e| format!("{spec}: {e}"))?;
    let mut bytes = bytes.iter().copied();
    let result = match resources {
        0 | 1 if entry(&parsed)?.resources.allow(1) => operations::<1>(&parsed, &mut bytes),
        0..=2 => operations::<2>(&parsed, &mut bytes),
        3 => operations::<3>(&parsed, &mut bytes),
        _ => operations::<4>(&parsed, &mut bytes),
    };
    result.map_err(|e| format!("{spec} over {resources} resources: {e}"))
}

/// [`fuzz`] as a fuzzer calls it: the first byte chooses one of [`specs`], the second the number of resources.
///
/// # Errors
///
/// The first invariant that does not hold, in words.
pub fn fuzz_any(bytes: &[u8]) -> Result<(), String> {
    let [choice, resources, operations @ ..] = bytes else { return Ok(()) };
    let spec = specs().nth(usize::from(*choice) % specs().count()).unwrap_or_default();
    fuzz(spec, 1 + usize::from(resources % 4), operations)
}

fn entry(spec: &Spec) -> Result<&'static Entry, String> {
    find(&spec.name).ok_or_else(|| format!("{spec} is not in the catalogue"))
}

fn make<const M: usize>(spec: &Spec) -> Result<Boxed<M>, String> {
    build(spec, Shape { servers: M as u32 }).map_err(|e| format!("{spec}: {e}"))
}

fn check_for<const M: usize>(spec: &Spec, entry: &Entry) -> Result<(), String> {
    let at = |part: &'static str| move |e: String| format!("{spec} with {M} resources, {part}: {e}");
    for seed in 0..8 {
        operations::<M>(spec, &mut Random::new(seed).take(20_000)).map_err(at("random operations"))?;
    }
    parameters::check::<M>(spec, entry).map_err(at("parameters"))?;
    returning_flow::<M>(spec).map_err(at("a flow that returns"))?;
    flood::<M>(spec).map_err(at("a flood of flows"))?;
    if entry.weights != Weights::None {
        weights::<M>(spec, entry).map_err(at("weights"))?;
        // Where the number of resources makes a difference it does so in other tests too.
        if M == 2 {
            let made = || make(spec).unwrap_or_else(|e| panic!("{e}"));
            range::check::<M>(&made, spec, entry).map_err(at("the range of weights and times"))?;
            // As published, loops take what queues hold.
            if entry.fact::<Loops>().is_none_or(|Loops(reach)| reach(spec).is_some()) {
                range::shallow::<M>(made(), spec, entry).map_err(at("a queue of one packet beside deep ones"))?;
            }
        }
    }
    Ok(())
}

fn operations<const M: usize>(spec: &Spec, bytes: &mut dyn Iterator<Item = u8>) -> Result<(), String> {
    let entry = entry(spec)?;
    let mut model = Model::<M>::new(make(spec)?, entry.parameters);
    let mut count = 0;
    while let Some(operation) = Operation::read(&mut &mut *bytes) {
        model.apply(operation).map_err(|e| format!("operation {count}, {operation:?}: {e}"))?;
        count += 1;
    }
    model.drain()
}

/// Bytes of every packet.
const SIZE: u32 = 100;

/// Backlogged flows, a pipeline, and what was served.
pub(crate) struct Bench<const M: usize> {
    pub(crate) scheduler: Boxed<M>,
    now: Time,
    /// Packets inside the pipeline and where they are, the oldest first; none where it takes one packet at a time.
    inside: VecDeque<(Ticket<M>, usize)>,
    sent: u32,
    /// Indices of flows of which a packet was dropped.
    dropped: Vec<usize>,
}

impl<const M: usize> Bench<M> {
    pub(crate) fn new(scheduler: Boxed<M>) -> Self {
        Self { scheduler, now: Time::ZERO, inside: VecDeque::new(), sent: 0, dropped: Vec::new() }
    }

    pub(crate) fn offer(&mut self, flow: dovetail_sched::FlowId, times: [u64; 4], count: usize) -> Result<(), String> {
        let cost = ResourceVec::from_nanos(std::array::from_fn(|r| times[r]));
        for _ in 0..count {
            self.sent += 1;
            let packet = Packet { flow, size: SIZE, cost, payload: self.sent };
            self.scheduler.enqueue(self.now, packet).map_err(|e| format!("refused: {}", e.reason.name()))?;
        }
        Ok(())
    }

    /// Serve one packet to its end; the index of its flow, `None` if none waits.
    pub(crate) fn serve(&mut self) -> Result<Option<(usize, ResourceVec<M>)>, String> {
        let mut wakes = 0;
        while wakes < 1000 {
            match self.scheduler.next(self.now) {
                Next::Serve(mut packet) => {
                    let used = packet.ticket.charged();
                    for r in 0..M {
                        self.scheduler.progress(self.now, &mut packet.ticket, r, Progress::Started);
                        self.now += used[r];
                        self.scheduler.progress(self.now, &mut packet.ticket, r, Progress::Finished { used: used[r] });
                    }
                    return Ok(Some((packet.ticket.flow().index(), used)));
                }
                Next::Drop { flow, .. } => self.dropped.push(flow.index()),
                Next::At(time) if time > self.now => (self.now, wakes) = (time, wakes + 1),
                Next::Empty => return Ok(None),
                other => return Err(format!("{other:?} at {} with an empty pipeline", self.now)),
            }
        }
        Err("asks to be woken a thousand times without serving".to_string())
    }

    /// A step of a pipeline in which every packet takes this time on every resource: one comes in if the scheduler has
    /// one for now, and those inside move on. The index of the flow whose packet came in.
    pub(crate) fn step(&mut self, used: Duration) -> Option<usize> {
        let next = self.scheduler.next(self.now);
        let flow = if let Next::Serve(packet) = next {
            self.inside.push_back((packet.ticket, 0));
            self.inside.back().map(|(ticket, _)| ticket.flow().index())
        } else {
            None
        };
        for (ticket, resource) in &mut self.inside {
            self.scheduler.progress(self.now, ticket, *resource, Progress::Started);
        }
        self.now += used;
        for (ticket, resource) in &mut self.inside {
            self.scheduler.progress(self.now, ticket, *resource, Progress::Finished { used });
            *resource += 1;
        }
        self.inside.retain(|&(_, resource)| resource < M);
        flow
    }
}

/// Equal backlogged flows of different weights: each gets what it is promised; that is all it can get if the promise is
/// the fair share.
fn weights<const M: usize>(spec: &Spec, entry: &Entry) -> Result<(), String> {
    const SERVED: u32 = 1500;
    let mut bench = Bench::<M>::new(make(spec)?);
    let weights = [1000, 2000, 4000, 500u32];
    let times = [3_000; 4];
    for milli in weights {
        let weight = Weight::from_milli(milli).unwrap_or_default();
        let flow = bench.scheduler.add_flow(FlowConfig { weight, ..FlowConfig::default() });
        bench.offer(flow, times, 2000)?;
    }
    let mut served = [0u32; 4];
    for _ in 0..SERVED {
        let (flow, _) = bench.serve()?.ok_or("a packet is lost")?;
        served[flow] += 1;
    }
    let sum = f64::from(weights.iter().sum::<u32>());
    for (flow, milli) in weights.into_iter().enumerate() {
        let promised = entry.promised(spec) * f64::from(SERVED) * f64::from(milli) / sum;
        if f64::from(served[flow]) < promised - behind(entry, weights, flow) - f64::from(first_counts::<M>(entry)) {
            return Err(format!("flow {flow} of weight {milli}/1000 has {} packets of {promised}", served[flow]));
        }
    }
    Ok(())
}

/// As how many packets more than its next ones the first packet of a flow counts: by active time, as M.
fn first_counts<const M: usize>(entry: &Entry) -> i32 {
    if entry.promise.counted == Counted::Active { M as i32 - 1 } else { 0 }
}

/// Packets by which a flow may be behind its part of the service, if all packets take the same time and all flows are
/// backlogged.
///
/// If the services per weight of flows i and j differ by at most B_ij, then flow i is at most `w_i sum_{j != i} (w_j /
/// W) B_ij` behind, W the sum of the weights: the mean of D_j / w_j by weight is exactly the fair service per weight.
fn behind(entry: &Entry, weights: [u32; 4], flow: usize) -> f64 {
    let weights = weights.map(|milli| f64::from(milli) / 1000.0);
    let (own, sum) = (weights[flow], weights.iter().sum::<f64>());
    let others = || weights.iter().enumerate().filter(move |&(j, _)| j != flow).map(|(_, w)| *w);
    let by_pairs = |apart: fn(f64, f64) -> f64| own * others().map(|w| w / sum * apart(own, w)).sum::<f64>();
    match entry.promise.lag {
        Lag::Packets(packets) => packets,
        Lag::PerOther(packets) => packets * others().count() as f64,
        Lag::Tags => by_pairs(|i, j| 1.0 / i + 1.0 / j),
        Lag::Rounds => {
            by_pairs(|i, j| 1.0 / i + 1.0 / j) + own * (sum - own) / sum / weights.into_iter().fold(own, f64::min)
        }
    }
}

/// Packets by which one of two equal flows with equal packets may be ahead of the other since both came: a round that
/// one has had and the other has not, and a packet of each that the round may exceed or leave over (`Q + s / w_i + s /
/// w_j`, the widest of the promises: tags allow 2, and equation (26) of the tradeoff paper one ahead of the fluid and
/// two behind). It is for quanta up to the packets' time, and so are those of [`VARIANTS`].
const EQUALS_APART: i32 = 3;

/// A flow that used an idle system for long neither waits for what it used, nor has a claim on what it left unused,
/// when others come.
fn returning_flow<const M: usize>(spec: &Spec) -> Result<(), String> {
    let mut bench = Bench::<M>::new(make(spec)?);
    let flows = [0; 2].map(|_| bench.scheduler.add_flow(FlowConfig::default()));
    bench.offer(flows[0], [1_000; 4], 500)?;
    while bench.serve()?.is_some() {}
    bench.now += Duration::from_millis(100);
    for _ in 0..100 {
        bench.offer(flows[0], [1_000; 4], 1)?;
        bench.offer(flows[1], [1_000; 4], 1)?;
    }
    let entry = entry(spec)?;
    let turn = if let Counted::Bytes { turn } = entry.promise.counted { turn / SIZE } else { 0 };
    let apart = EQUALS_APART + first_counts::<M>(entry) + turn as i32;
    let mut balance = 0i32;
    for k in 0..200 {
        let (flow, _) = bench.serve()?.ok_or("a packet is lost")?;
        balance += if flow == flows[0].index() { 1 } else { -1 };
        if balance.abs() > apart {
            return Err(format!("after {k} packets one flow has {} more than its equal", balance.abs()));
        }
    }
    Ok(())
}

/// A hundred thousand flows of one packet each, set up, served once each or dropped, torn down.
fn flood<const M: usize>(spec: &Spec) -> Result<(), String> {
    const FLOWS: usize = 100_000;
    let mut bench = Bench::<M>::new(make(spec)?);
    let flows: Vec<_> = (0..FLOWS).map(|_| bench.scheduler.add_flow(FlowConfig::default())).collect();
    for (k, &flow) in flows.iter().enumerate() {
        bench.offer(flow, [1_000 + k as u64 % 7, 2_000, 1_500, 1_000], 1)?;
    }
    let mut seen = vec![false; FLOWS];
    while let Some((flow, _)) = bench.serve()? {
        if std::mem::replace(&mut seen[flow], true) {
            return Err(format!("flow {flow} is served twice"));
        }
    }
    bench.dropped.iter().for_each(|&flow| seen[flow] = true);
    if let Some(flow) = seen.iter().position(|s| !s) {
        return Err(format!("flow {flow} is never served"));
    }
    for flow in flows {
        bench.scheduler.remove_flow(bench.now, flow, &mut |_| ()).map_err(|_| "a live flow is unknown")?;
    }
    Ok(())
}
