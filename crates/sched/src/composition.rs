//! `A+B`: one single-resource discipline in front of each resource of the pipeline, as routers and hosts do that share
//! their CPU and their links apart. The baseline that the papers on several resources compare with.
//!
//! Shares: resource k by the k-th discipline, as if it were alone. Nobody decides for all: the first discipline spends
//! processing on packets that the next one may have no use for. A packet that needs nothing on the first resource goes
//! straight to the second's discipline, behind the packets of its flow.
//!
//! * Parameters: `buffer` = packets of one flow that may wait in front of each further resource, from 1, or `none` for
//!   no limit; default 64. `full` = what becomes of the packets of a flow whose buffer is full: `drop` (default) loses
//!   them, work and all; `hold` keeps them in front of the resource before, and serves other flows there meanwhile. Any
//!   other parameter goes to every part that has it; `resource` is implied.
//! * Cost per packet: the sum of the parts'.
//! * Guarantees: each part's, for its resource among the flows that are backlogged there. None for several resources
//!   together: a flow may gain by asking for more than it needs (DRFQ, section 3.1).
//! * Example: `drr+drr`, `wfq+wf2q+:buffer=16`, `sfq+sfq:full=hold`.
//! * Papers: separate schedulers for CPU and link, with drops between them: Sabrina, Kanhere, Jha, IEEE TPDS 18(6),
//!   2007, section 4. Fair queueing at every resource with back-pressure between them ("per-resource fairness"):
//!   Ghodsi, Sekar, Zaharia, Stoica (DRFQ), SIGCOMM 2012, section 3.1.
//!
//! [`build_all`] makes the schedulers; the owner of the packets puts them in place. What is bounded by `full=hold`, and
//! what becomes of packets that need nothing on the first resource, says [`Gate`].

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use dovetail_units::Time;

use crate::catalog::{Entry, Parameter, Shape, build, part_names, read_parts};
use crate::contract::{Limit, Scheduler};
use crate::gate::Gate;
use crate::one_resource::RESOURCE;
use crate::per_flow::PerFlow;
use crate::spec::{Spec, SpecError};

/// The parameters that every composition has, beside those of its parts.
pub static PARAMETERS: [Parameter; 2] = [
    Parameter {
        name: "buffer",
        value: "packets from 1, or none for no limit",
        default: "64",
        meaning: "packets of one flow that may wait in front of each further resource",
        settable: false,
    },
    Parameter {
        name: "full",
        value: "drop or hold",
        default: "drop",
        meaning: "what happens when a flow's buffer is full: its packets are lost after processing, or held in front \
            of the resource before",
        settable: false,
    },
];

/// A scheduler, and the discipline that it follows.
pub struct Part<const M: usize, P> {
    /// Its place in the catalogue.
    pub entry: &'static Entry,
    /// The scheduler.
    pub scheduler: Box<dyn Scheduler<M, P>>,
}

/// The schedulers of a pipeline of `M` resources.
///
/// Whoever owns the packets sets up every flow in all of them, puts arriving packets into the first, and a packet that
/// comes to a further resource with a scheduler into that one; there it is asked [`next`](Scheduler::next) whenever
/// this resource could take a packet. Every scheduler that handed a packet out hears how it gets on from there on, with
/// the ticket that it gave for it.
pub struct Schedulers<const M: usize, P> {
    /// In front of the first resource.
    pub entrance: Part<M, P>,
    /// In front of each further resource, by its number; `None` is a buffer in order of arrival. The first is always
    /// `None`.
    pub between: [Option<Part<M, P>>; M],
    /// The limit of every flow's queue in the schedulers between resources, to be set up instead of that at the
    /// entrance.
    pub buffer: Limit,
}

impl<const M: usize, P> Schedulers<M, P> {
    /// Change a parameter in every scheduler that has it.
    ///
    /// # Errors
    ///
    /// None has it, it cannot change, or the value is wrong.
    pub fn set(&mut self, now: Time, parameter: &str, value: &str) -> Result<(), SpecError> {
        if self.between.iter().any(Option::is_some) && PARAMETERS.iter().any(|p| p.name == parameter) {
            return Err(SpecError::new(parameter, format!("{parameter} of a composition cannot change while running")));
        }
        let mut found = false;
        for part in self.between.iter_mut().flatten().filter(|part| part.entry.has(parameter)) {
            part.scheduler.set(now, parameter, value)?;
            found = true;
        }
        if self.entrance.entry.has(parameter) || !found {
            self.entrance.scheduler.set(now, parameter, value)?;
        }
        Ok(())
    }
}

/// Make the scheduler or the composition that `spec` describes.
///
/// # Errors
///
/// The spec names no discipline, does not fit a pipeline of `M` resources, or has a wrong parameter.
pub fn build_all<const M: usize, P: Send + 'static>(spec: &Spec, shape: Shape) -> Result<Schedulers<M, P>, SpecError> {
    let parts = parts(&spec.name)?;
    let between = [const { None }; M];
    if let &[entry] = parts.as_slice() {
        let entrance = Part { entry, scheduler: build(spec, shape)? };
        return Ok(Schedulers { entrance, between, buffer: Limit::default() });
    }
    if parts.len() != M {
        let (name, number) = (&spec.name, parts.len());
        let message = format!("{name} has a discipline for each of {number} resources; this pipeline has {M}");
        return Err(SpecError::new(name, message));
    }
    check_parameters(spec)?;
    let buffer = buffer(spec)?;
    let held = if full(spec)? == Full::Hold { buffer } else { None };
    let mut made = parts.iter().enumerate().map(|(resource, entry)| {
        let spec = part_spec(spec, entry, resource);
        // Packets can pass the first resource by. Behind the last one is no buffer that could fill.
        let window = if resource == 0 { held.or(Some(u32::MAX)) } else { held.filter(|_| resource + 1 < M) };
        let scheduler = match window {
            None => build(&spec, shape)?,
            Some(window) => Box::new(PerFlow::new(Gate::new(build(&spec, shape)?, resource, window))),
        };
        Ok(Part { entry, scheduler })
    });
    let Some(entrance) = made.next() else { return Err(SpecError::unknown_name(&spec.name, Vec::new())) };
    let mut schedulers =
        Schedulers { entrance: entrance?, between, buffer: Limit { packets: buffer, ..Limit::default() } };
    for (place, part) in schedulers.between.iter_mut().skip(1).zip(made) {
        *place = Some(part?);
    }
    Ok(schedulers)
}

/// The disciplines of a composition, in the order of the pipeline; just one is no composition.
///
/// # Errors
///
/// One of them does not exist, or cannot stand in front of a single resource.
pub fn parts(name: &str) -> Result<Vec<&'static Entry>, SpecError> {
    let parts = read_parts(name)?;
    match parts.iter().find(|entry| parts.len() > 1 && !entry.can_be_part()) {
        None => Ok(parts),
        Some(&&Entry { name: part, .. }) => {
            let able = part_names().join(", ");
            let message = format!(
                "{name}: {part} decides for all resources of a pipeline and cannot stand in front of one; {able} can"
            );
            Err(SpecError::new(part, message))
        }
    }
}

/// The parameters of a discipline or of a composition, in the order of help texts; `None` if there is no such thing.
pub fn parameters(name: &str) -> Option<Vec<&'static Parameter>> {
    let parts = parts(name).ok()?;
    if let &[entry] = parts.as_slice() {
        return Some(entry.parameters.iter().collect());
    }
    let mut found: Vec<&'static Parameter> = PARAMETERS.iter().collect();
    for parameter in parts.iter().flat_map(|entry| entry.parameters) {
        if parameter.name != RESOURCE.name && !found.iter().any(|p| p.name == parameter.name) {
            found.push(parameter);
        }
    }
    Some(found)
}

/// Whether both are written alike, but for the order of parameters and for defaults that are written or not. Values are
/// compared as texts: `alpha=0.85` and `alpha=0.850` are two.
pub fn same(a: &Spec, b: &Spec) -> bool {
    let named =
        |spec: &Spec| parts(&spec.name).ok().map(|parts| parts.iter().map(|entry| entry.name).collect::<Vec<_>>());
    named(a).is_some_and(|name| named(b) == Some(name)) && own_parameters(a) == own_parameters(b)
}

/// The parameters that are not just their defaults, by name.
fn own_parameters(spec: &Spec) -> BTreeMap<&str, &str> {
    let known = parameters(&spec.name).unwrap_or_default();
    let holds_anyway = |name: &str, value: &str| known.iter().any(|p| p.name == name && p.default == value);
    let all = spec.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    all.filter(|(name, value)| !holds_anyway(name, value)).collect()
}

/// What becomes of the packets of a flow whose buffer is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Full {
    Drop,
    Hold,
}

fn full(spec: &Spec) -> Result<Full, SpecError> {
    match spec.value(PARAMETERS[1].name) {
        None | Some("drop") => Ok(Full::Drop),
        Some("hold") => Ok(Full::Hold),
        Some(wrong) => Err(SpecError::bad_value(PARAMETERS[1].name, wrong, PARAMETERS[1].value)),
    }
}

fn buffer(spec: &Spec) -> Result<Option<u32>, SpecError> {
    let given = spec.value(PARAMETERS[0].name).unwrap_or(PARAMETERS[0].default);
    if given == "none" {
        return Ok(None);
    }
    let packets = given.parse().ok().filter(|&packets| packets > 0).map(Some);
    packets.ok_or_else(|| SpecError::bad_value(PARAMETERS[0].name, given, PARAMETERS[0].value))
}

fn check_parameters(spec: &Spec) -> Result<(), SpecError> {
    if spec.value(RESOURCE.name).is_some() {
        let message =
            format!("{}: resource is implied: each part shares the resource that it stands in front of", spec.name);
        return Err(SpecError::new(RESOURCE.name, message));
    }
    let known: Vec<&'static str> = parameters(&spec.name).into_iter().flatten().map(|p| p.name).collect();
    let is_known = |name: &String| known.contains(&name.as_str());
    match spec.parameters.iter().map(|(name, _)| name).find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(SpecError::no_such_parameter(&spec.name, name, known)),
    }
}

/// The spec of the part in front of this resource.
fn part_spec(spec: &Spec, entry: &Entry, resource: usize) -> Spec {
    let own = spec.parameters.iter().filter(|(name, _)| entry.has(name)).cloned();
    let implied = entry.has(RESOURCE.name).then(|| (RESOURCE.name.to_string(), resource.to_string()));
    Spec { name: entry.name.to_string(), parameters: own.chain(implied).collect() }
}
