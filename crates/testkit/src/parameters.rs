//! Every parameter does what its entry in the catalogue says: it is taken where a scheduler is made, and while running
//! if it is settable.

use std::collections::VecDeque;

use dovetail_sched::catalog::{Entry, Parameter};
use dovetail_sched::{FlowConfig, Next, Packet, Progress, Scheduler, Shape, Spec, Ticket, build};
use dovetail_units::{ResourceVec, Time, Weight};

use crate::conformance::VARIANTS;
use crate::random::Random;

type Boxed<const M: usize> = Box<dyn Scheduler<M, u32>>;

/// Values of parameters beside those that their descriptions list: of every form that there is.
const VALUES: [&str; 9] = ["0", "1", "2", "0.5", "7", "5 us", "1 ms", "300 B", "auto"];

/// All parameters of `spec`'s discipline over `M` resources, from the given ones on.
///
/// # Errors
///
/// The first that is wrong, in words.
pub fn check<const M: usize>(spec: &Spec, entry: &Entry) -> Result<(), String> {
    let mut scheduler = make::<M>(spec)?;
    for name in ["", "no-such-parameter", "ALPHA"] {
        if scheduler.set(Time::ZERO, name, "1").is_ok() {
            return Err(format!("set({name:?}) is accepted"));
        }
    }
    for parameter in entry.parameters {
        if scheduler.set(Time::ZERO, parameter.name, "?").is_ok() {
            return Err(format!("{}=? is accepted", parameter.name));
        }
        one::<M>(spec, parameter).map_err(|e| format!("{}: {e}", parameter.name))?;
    }
    Ok(())
}

fn make<const M: usize>(spec: &Spec) -> Result<Boxed<M>, String> {
    build(spec, Shape { servers: M as u32 }).map_err(|e| format!("{spec}: {e}"))
}

/// The spec with the parameter set to this value.
fn with(spec: &Spec, parameter: &Parameter, value: &str) -> Spec {
    let mut spec = spec.clone();
    spec.parameters.retain(|(key, _)| key != parameter.name);
    spec.parameters.push((parameter.name.to_string(), value.to_string()));
    spec
}

/// A settable parameter takes every good value, and then the scheduler is as if made with it; another one takes none.
fn one<const M: usize>(spec: &Spec, parameter: &Parameter) -> Result<(), String> {
    let listed = parameter.value.split('|').map(str::trim).chain(VALUES);
    // Some parameters exclude or need each other: they are looked at from the bare name and from the variants too.
    let bare = Spec { name: spec.name.clone(), parameters: Vec::new() };
    let variants = VARIANTS.iter().filter_map(|text| text.parse().ok()).filter(|v: &Spec| v.name == spec.name);
    let bases: Vec<Spec> = [spec.clone(), bare].into_iter().chain(variants).collect();
    let good: Vec<(&Spec, &str)> = bases
        .iter()
        .flat_map(|base| listed.clone().map(move |value| (base, value)))
        .filter(|(base, value)| make::<M>(&with(base, parameter, value)).is_ok())
        .collect();
    if good.is_empty() {
        return Err("no good value is known: list one in its description, or in VALUES".to_string());
    }
    let mut changes = 0;
    for (base, value) in good {
        let mut scheduler = make::<M>(base)?;
        let before = scheduler.set(Time::ZERO, parameter.name, value);
        match (parameter.settable, before.is_ok()) {
            (true, false) => return Err(format!("{value} is good, but cannot be set")),
            (false, true) => return Err(format!("{value} can be set, but the catalogue says it cannot")),
            _ => (),
        }
        let set = answers(scheduler);
        if parameter.settable && set != answers(make::<M>(&with(base, parameter, value))?) {
            return Err(format!("set to {value} it is not what it is when made with {value}"));
        }
        let unset = answers(make::<M>(base)?);
        if !parameter.settable && set != unset {
            return Err(format!("that {value} was refused changes what is served"));
        }
        changes += usize::from(set != unset);
    }
    // Over a single resource some parameters have nothing to decide.
    if parameter.settable && changes == 0 && M > 1 {
        return Err("no value changes what is served".to_string());
    }
    Ok(())
}

/// Everything that the scheduler answers for some packets of four flows that are processed when it asks for progress.
fn answers<const M: usize>(mut scheduler: Boxed<M>) -> Vec<String> {
    let (mut random, mut now) = (Random::new(5), Time::ZERO);
    let mut pipeline = VecDeque::new();
    let flows = [1000, 1000, 2000, 500].map(|milli| {
        let weight = Weight::from_milli(milli).unwrap_or_default();
        scheduler.add_flow(FlowConfig { weight, ..FlowConfig::default() })
    });
    for payload in 0..160 {
        let flow = flows[payload as usize % 4];
        let cost = ResourceVec::from_nanos(std::array::from_fn(|_| random.between(1_000, 20_000)));
        // A flow with the limits of its queue as they are by default refuses nothing.
        let _ = scheduler.enqueue(now, Packet { flow, size: 100, cost, payload });
    }
    let mut answers = Vec::new();
    for _ in 0..1000 {
        let next = scheduler.next(now);
        answers.push(match &next {
            Next::Serve(packet) => packet.payload.to_string(),
            other => format!("{other:?}"),
        });
        match next {
            Next::Serve(packet) => {
                pipeline.push_back(packet.ticket);
                // Time passes also where nobody asks for progress.
                if pipeline.len() > PIPELINE {
                    process_first(&mut scheduler, &mut pipeline, &mut now);
                }
            }
            Next::At(time) => now = now.max(time),
            Next::Drop { .. } => (),
            Next::Empty if pipeline.is_empty() => break,
            Next::AwaitProgress | Next::Empty => process_first(&mut scheduler, &mut pipeline, &mut now),
        }
    }
    answers
}

/// More packets in the pipeline than any window of [`VALUES`] lets in.
const PIPELINE: usize = 12;

/// The first packet of the pipeline passes all resources.
fn process_first<const M: usize>(scheduler: &mut Boxed<M>, pipeline: &mut VecDeque<Ticket<M>>, now: &mut Time) {
    let Some(mut ticket) = pipeline.pop_front() else { return };
    let used = ticket.charged();
    for r in 0..M {
        scheduler.progress(*now, &mut ticket, r, Progress::Started);
        *now += used[r];
        scheduler.progress(*now, &mut ticket, r, Progress::Finished { used: used[r] });
    }
}
