//! What every scheduler must do, whatever it shares: one suite for all of [`dovetail_sched::catalog()`].
//!
//! [`check`] runs it for one spec; [`fuzz`] applies a sequence of [`Operation`]s made from bytes to a scheduler under a [`Model`] of its
//! books, and is what a coverage-guided fuzzer calls.

use dovetail_sched::catalog::{Entry, Resources};
use dovetail_sched::{FlowConfig, Next, Packet, Progress, Scheduler, Shape, Spec, build, catalog};
use dovetail_units::{Duration, ResourceVec, Time, Weight};

use crate::model::Model;
use crate::operation::Operation;
use crate::random::Random;

type Boxed<const M: usize> = Box<dyn Scheduler<M, u64>>;

/// The whole suite for one spec, for every number of resources from 1 to 4 that it is defined for.
///
/// # Errors
///
/// The first thing that is wrong, in words.
pub fn check(spec: &str) -> Result<(), String> {
    let parsed: Spec = spec.parse().map_err(|e| format!("{spec}: {e}"))?;
    let entry = entry(&parsed)?;
    if entry.resources == Resources::Any {
        check_for::<1>(&parsed, entry)?;
        check_for::<3>(&parsed, entry)?;
        check_for::<4>(&parsed, entry)?;
    }
    check_for::<2>(&parsed, entry)
}

/// Apply the operations that the bytes make; M = 2.
///
/// # Errors
///
/// The first invariant that does not hold, in words.
pub fn fuzz(spec: &str, bytes: &[u8]) -> Result<(), String> {
    let parsed: Spec = spec.parse().map_err(|e| format!("{spec}: {e}"))?;
    operations::<2>(&parsed, &mut bytes.iter().copied())
}

fn entry(spec: &Spec) -> Result<&'static Entry, String> {
    catalog().iter().find(|e| e.name == spec.name).ok_or_else(|| format!("{spec} is not in the catalogue"))
}

fn make<const M: usize>(spec: &Spec) -> Result<Boxed<M>, String> {
    build(spec, Shape { servers: M as u32 }).map_err(|e| format!("{spec}: {e}"))
}

fn check_for<const M: usize>(spec: &Spec, entry: &Entry) -> Result<(), String> {
    let at = |part: &'static str| move |e: String| format!("{spec} with {M} resources, {part}: {e}");
    for seed in 0..8 {
        operations::<M>(spec, &mut Random::new(seed).take(20_000)).map_err(at("random operations"))?;
    }
    unknown_parameters::<M>(spec, entry).map_err(at("parameters"))?;
    returning_flow::<M>(spec).map_err(at("a flow that returns"))?;
    flood::<M>(spec).map_err(at("a flood of flows"))?;
    if entry.weights {
        weights::<M>(spec, guaranteed_part(spec, entry)).map_err(at("weights"))?;
    }
    Ok(())
}

/// What part of its fair share a flow is promised: alpha where there is one, else all.
fn guaranteed_part(spec: &Spec, entry: &Entry) -> f64 {
    let Some(alpha) = entry.parameters.iter().find(|p| p.name == "alpha") else { return 1.0 };
    let given = spec.parameters.iter().find(|p| p.0 == "alpha").map(|p| p.1.as_str());
    given.unwrap_or(alpha.default).parse().unwrap_or(1.0)
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

fn unknown_parameters<const M: usize>(spec: &Spec, entry: &Entry) -> Result<(), String> {
    let mut scheduler = make::<M>(spec)?;
    for name in ["", "no-such-parameter", "ALPHA"] {
        if scheduler.set(Time::ZERO, name, "1").is_ok() {
            return Err(format!("set({name:?}) is accepted"));
        }
    }
    for parameter in entry.parameters {
        let settable = scheduler.set(Time::ZERO, parameter.name, "?").is_ok();
        if settable {
            return Err(format!("{}=? is accepted", parameter.name));
        }
    }
    Ok(())
}

/// Backlogged flows, a pipeline that takes one packet at a time, and what was served.
struct Bench<const M: usize> {
    scheduler: Boxed<M>,
    now: Time,
    sent: u64,
}

impl<const M: usize> Bench<M> {
    fn offer(&mut self, flow: dovetail_sched::FlowId, times: [u64; 4], count: usize) -> Result<(), String> {
        let cost = ResourceVec::from_nanos(std::array::from_fn(|r| times[r]));
        for _ in 0..count {
            self.sent += 1;
            let packet = Packet { flow, size: 100, cost, payload: self.sent };
            self.scheduler.enqueue(self.now, packet).map_err(|e| format!("refused: {}", e.reason.name()))?;
        }
        Ok(())
    }

    /// Serve one packet to its end; the index of its flow, `None` if none waits.
    fn serve(&mut self) -> Result<Option<(usize, ResourceVec<M>)>, String> {
        for _ in 0..1000 {
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
                Next::At(time) if time > self.now => self.now = time,
                Next::Empty => return Ok(None),
                other => return Err(format!("{other:?} at {} with an empty pipeline", self.now)),
            }
        }
        Err("asks to be woken a thousand times without serving".to_string())
    }
}

/// Equal backlogged flows of different weights: each gets what it is promised; that is all it can get if the promise is the fair share.
fn weights<const M: usize>(spec: &Spec, promised: f64) -> Result<(), String> {
    let mut bench = Bench::<M> { scheduler: make(spec)?, now: Time::ZERO, sent: 0 };
    let weights = [1000, 2000, 4000, 500u32];
    let times = [3_000; 4];
    for milli in weights {
        let weight = Weight::from_milli(milli).unwrap_or_default();
        let flow = bench.scheduler.add_flow(FlowConfig { weight, ..FlowConfig::default() });
        bench.offer(flow, times, 2000)?;
    }
    let mut served = [0u32; 4];
    for _ in 0..1500 {
        let (flow, _) = bench.serve()?.ok_or("a packet is lost")?;
        served[flow] += 1;
    }
    for (flow, milli) in weights.into_iter().enumerate() {
        // Packets that have started in a fluid but were not served yet, and those of the turn that is under way.
        let fair = 1500.0 * f64::from(milli) / 7500.0;
        if f64::from(served[flow]) < promised * fair - 4.0 {
            return Err(format!("flow {flow} of weight {milli}/1000 has {} packets of {fair}", served[flow]));
        }
    }
    Ok(())
}

/// A flow that used an idle system for long neither waits for what it used, nor has a claim on what it left unused, when others come.
fn returning_flow<const M: usize>(spec: &Spec) -> Result<(), String> {
    let mut bench = Bench::<M> { scheduler: make(spec)?, now: Time::ZERO, sent: 0 };
    let flows = [0; 2].map(|_| bench.scheduler.add_flow(FlowConfig::default()));
    bench.offer(flows[0], [1_000; 4], 500)?;
    while bench.serve()?.is_some() {}
    bench.now += Duration::from_millis(100);
    for _ in 0..100 {
        bench.offer(flows[0], [1_000; 4], 1)?;
        bench.offer(flows[1], [1_000; 4], 1)?;
    }
    let mut balance = 0i32;
    for k in 0..200 {
        let (flow, _) = bench.serve()?.ok_or("a packet is lost")?;
        balance += if flow == flows[0].index() { 1 } else { -1 };
        if balance.abs() > 3 {
            return Err(format!("after {k} packets one flow has {} more than its equal", balance.abs()));
        }
    }
    Ok(())
}

/// A hundred thousand flows of one packet each, set up, served once each, torn down.
fn flood<const M: usize>(spec: &Spec) -> Result<(), String> {
    const FLOWS: usize = 100_000;
    let mut bench = Bench::<M> { scheduler: make(spec)?, now: Time::ZERO, sent: 0 };
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
    if let Some(flow) = seen.iter().position(|s| !s) {
        return Err(format!("flow {flow} is never served"));
    }
    for flow in flows {
        bench.scheduler.remove_flow(bench.now, flow, &mut |_| ()).map_err(|_| "a live flow is unknown")?;
    }
    Ok(())
}
