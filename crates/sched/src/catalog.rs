//! The list of disciplines, and how to make one from a text such as `tradeoff:alpha=0.85`.
//!
//! A program can add disciplines of other crates to it: [`register`](fn@register).

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;

use crate::aqm::scheme;
use crate::carrier::Carrier;
use crate::contract::Scheduler;
use crate::discipline::Discipline;
use crate::gain::{Gain, ORDINARY, Strategy};
use crate::one_resource::RESOURCE;
use crate::per_flow::PerFlow;
use crate::promise::{Alpha, Counted, Promise};
use crate::register::list;
use crate::spec::{Spec, SpecError};
use crate::tradeoff::{Tradeoff, TradeoffOfMany};

pub use crate::register::{Addition, Listed, NotRegistered, Token, additions, register};

/// A parameter of a discipline.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name in a [`Spec`].
    pub name: &'static str,
    /// The form and range of its value, with the unit.
    pub value: &'static str,
    /// What holds if it is not given.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// Whether [`Scheduler::set`] can change it while running.
    pub settable: bool,
}

/// How many resources a discipline is defined for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resources {
    /// Any number.
    Any,
    /// The one whose queue it manages.
    One,
    /// From two to four.
    Several,
}

impl Resources {
    /// Whether a pipeline of so many will do.
    pub const fn allow(self, resources: usize) -> bool {
        match self {
            Self::Any | Self::One => true,
            Self::Several => resources >= 2 && resources <= 4,
        }
    }
}

/// Which of a flow's weights count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weights {
    /// None.
    None,
    /// One for all resources; of weights that differ by resource, [`FlowConfig::weight`](crate::FlowConfig::weight)
    /// stands for them.
    One,
    /// That on the resource that is shared.
    Shared,
    /// Those on all resources, each for itself.
    Each,
}

impl Weights {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "no",
            Self::One => "one",
            Self::Shared => "shared",
            Self::Each => "each",
        }
    }
}

/// What is known of a discipline: for help texts and reference pages, and for whoever holds it to its promises.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name in a [`Spec`].
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What it shares, and how.
    pub shares: &'static str,
    /// How many resources it is defined for.
    pub resources: Resources,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Cost per packet in the number n of backlogged flows.
    pub complexity: &'static str,
    /// The most that a single call does, in the same.
    pub worst_call: &'static str,
    /// What a flow can gain by each strategy where that is more than [`ORDINARY`].
    pub gains: &'static [Gain],
    /// What it guarantees.
    pub guarantee: &'static str,
    /// Which of a flow's weights count.
    pub weights: Weights,
    /// Whether it is work conserving, or when.
    pub work_conserving: &'static str,
    /// Whether processing times must be known in advance.
    pub costs: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// The same in a word or two.
    pub brief: Brief,
    /// What it promises.
    pub promise: Promise,
    /// What only some have, or only some crates know of, such as its [`Alpha`]: found by its type with
    /// [`fact`](Self::fact).
    pub facts: &'static [&'static (dyn Any + Send + Sync)],
}

/// Facts about a discipline that fit into a table beside those of all others.
#[derive(Clone, Copy, Debug)]
pub struct Brief {
    /// What flows get equal parts of, at most some 17 characters: on how many resources is said apart.
    pub fairness: &'static str,
    /// The longest call: the order of what is done at most, and how often, by [`worst_call`](Entry::worst_call).
    pub longest_call: &'static str,
    /// Whether it is work conserving: `yes`, `no`, or under what condition.
    pub work_conserving: &'static str,
    /// Whether a packet's processing times must be known before it is served: `no`, `at head` of its queue, or `yes`,
    /// on arrival.
    pub costs_ahead: &'static str,
    /// Where and when it was published, or by whom if the paper does not say when.
    pub paper: &'static str,
}

impl Entry {
    /// The most that a flow can gain by this strategy.
    pub fn gain(&self, strategy: Strategy) -> Gain {
        let ordinary = Gain { strategy, most: ORDINARY, reason: "by search" };
        self.gains.iter().copied().find(|gain| gain.strategy == strategy).unwrap_or(ordinary)
    }

    /// Whether it shares processing time: whoever keeps the longer queue then gains nothing without limit.
    pub fn shares_time(&self) -> bool {
        self.gain(Strategy::QueueDepth).most.is_finite()
    }

    /// What is known of it that has this type.
    pub fn fact<T: 'static>(&self) -> Option<&'static T> {
        self.facts.iter().find_map(|&fact| {
            let any: &'static dyn Any = fact;
            any.downcast_ref()
        })
    }

    /// Which part of its fair share, 0 to 1, every flow is promised under `spec`: alpha where it has that, else all.
    pub fn promised(&self, spec: &Spec) -> f64 {
        self.fact::<Alpha>().and_then(|alpha| alpha.of(spec)).unwrap_or(1.0)
    }

    /// Whether it has a parameter of this name.
    pub fn has(&self, parameter: &str) -> bool {
        self.parameters.iter().any(|p| p.name == parameter)
    }

    /// Whether a parameter of this name can change while it runs.
    pub fn can_change(&self, parameter: &str) -> bool {
        self.parameters.iter().any(|p| p.name == parameter && p.settable)
    }

    /// Why a parameter of this name cannot change while it runs: it is none of those that can.
    pub fn cannot_change(&self, parameter: &str) -> SpecError {
        if self.has(parameter) {
            return SpecError::new(parameter, format!("{}: {parameter} cannot change while running", self.name));
        }
        SpecError::unknown_parameter(self, parameter)
    }

    /// How many resources it shares: `one` of the pipeline's, `2 to 4`, or `any` number.
    pub fn shared_resources(&self) -> &'static str {
        match self.resources {
            Resources::Several => "2 to 4",
            Resources::One => "one",
            Resources::Any if self.has(RESOURCE.name) => "one",
            Resources::Any => "any",
        }
    }

    /// Whether it can stand alone in front of one resource of a network: if it may in a composition, or manages its
    /// queue.
    pub fn can_be_queue(&self) -> bool {
        self.can_be_part() || self.manages_its_queue()
    }

    /// Whether it drops packets that wait.
    fn manages_its_queue(&self) -> bool {
        self.fact::<ManagesQueue>().is_some()
    }

    /// Whether it may stand in front of one resource in a composition: if it shares a single one, or none.
    pub fn can_be_part(&self) -> bool {
        self.has(RESOURCE.name) || (self.promise.counted == Counted::Nothing && !self.manages_its_queue())
    }
}

/// A [fact](Entry::fact): it answers [`Next::Drop`](crate::Next::Drop).
#[derive(Clone, Copy, Debug)]
pub struct ManagesQueue;

/// Every discipline, in the order of help texts: ours, then those that were [registered](register).
pub fn catalog() -> &'static [Entry] {
    &list().entries
}

/// The discipline of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    catalog().iter().find(|entry| entry.name == name)
}

/// How a scheduler is written that has this parameter with this value: `tradeoff` if it has it, else the first that
/// does.
pub fn with_parameter(parameter: &str, value: &str) -> Option<String> {
    let tradeoff = find("tradeoff").filter(|entry| entry.has(parameter));
    let entry = tradeoff.or_else(|| catalog().iter().find(|entry| entry.has(parameter)))?;
    Some(format!("{}:{parameter}={value}", entry.name))
}

/// What makes a scheduler of `M` resources for payloads `P`.
pub type Make<const M: usize, P> = fn(&Spec, Shape) -> Result<Box<dyn Scheduler<M, P>>, SpecError>;

/// The disciplines of this crate, each with what makes it.
pub(crate) fn own<const M: usize, P: Send + 'static>() -> [(&'static Entry, Make<M, P>); 17] {
    [
        (&crate::fifo::ENTRY, |_, _| per_flow(crate::fifo::Fifo::default())),
        (&crate::codel::ENTRY, |spec, _| per_flow(crate::codel::Codel::from_spec(spec)?)),
        (&crate::codel::fair::ENTRY, |spec, _| per_flow(crate::codel::fair::FqCodel::from_spec(spec)?)),
        (&crate::drfq::ENTRY, |spec, shape| per_flow(crate::drfq::Drfq::from_spec(spec, shape)?)),
        (&crate::mr3::ENTRY, |spec, shape| per_flow(crate::mr3::Mr3::from_spec(spec, shape)?)),
        (&crate::gmr3::ENTRY, |spec, shape| per_flow(crate::gmr3::Gmr3::from_spec(spec, shape)?)),
        (&crate::drgps::ENTRY, |spec, _| per_flow(crate::drgps::Drgps::from_spec(spec)?)),
        (&crate::tradeoff::ENTRY, |spec, shape| {
            let scheduler = match M {
                2 => cast(&mut Some(per_flow::<2, P>(Tradeoff::<2>::from_spec(spec, shape)?)?)),
                3 => cast(&mut Some(per_flow::<3, P>(TradeoffOfMany::<3>::from_spec(spec, shape)?)?)),
                _ => cast(&mut Some(per_flow::<4, P>(TradeoffOfMany::<4>::from_spec(spec, shape)?)?)),
            };
            scheduler.ok_or_else(|| wrong_number_of_resources(&crate::tradeoff::ENTRY, M))
        }),
        (&crate::atfq::ENTRY, |spec, shape| per_flow(crate::atfq::Atfq::from_spec(spec, shape)?)),
        (&crate::drr::ENTRY, |spec, _| per_flow(crate::drr::Drr::from_spec::<M>(spec)?)),
        (&crate::wfq::ENTRY, |spec, _| per_flow(crate::wfq::Wfq::from_spec::<M>(spec)?)),
        (&crate::wf2q_plus::ENTRY, |spec, _| per_flow(crate::wf2q_plus::Wf2qPlus::from_spec::<M>(spec)?)),
        (&crate::sfq::ENTRY, |spec, _| per_flow(crate::sfq::Sfq::from_spec::<M>(spec)?)),
        (&crate::scfq::ENTRY, |spec, _| per_flow(crate::scfq::Scfq::from_spec::<M>(spec)?)),
        (&crate::bottleneck::ENTRY, |spec, _| per_flow(crate::bottleneck::Bottleneck::from_spec(spec)?)),
        (&crate::pcfq::ENTRY, |spec, _| per_flow(crate::pcfq::Pcfq::from_spec(spec)?)),
        (&crate::cbcs::ENTRY, |spec, _| per_flow(crate::cbcs::Cbcs::from_spec(spec)?)),
    ]
}

fn per_flow<const M: usize, P: Send + 'static>(
    discipline: impl Discipline<M> + 'static,
) -> Result<Box<dyn Scheduler<M, P>>, SpecError> {
    Ok(Box::new(PerFlow::new(discipline)))
}

/// The same value, if `B` is its type; else it stays.
pub(crate) fn cast<A: 'static, B: 'static>(value: &mut Option<A>) -> Option<B> {
    let any: &mut dyn Any = value;
    any.downcast_mut::<Option<B>>().and_then(Option::take)
}

/// What a discipline may want to know of the pipeline that it feeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Parallel servers, summed over all resources.
    pub servers: u32,
}

impl Default for Shape {
    /// Two resources of one server each.
    fn default() -> Self {
        Self { servers: 2 }
    }
}

/// Make the scheduler that `spec` describes. For a composition of several, see [`build_all`](crate::build_all).
pub fn build<const M: usize, P: Send + 'static>(
    spec: &Spec,
    shape: Shape,
) -> Result<Box<dyn Scheduler<M, P>>, SpecError> {
    let parts = read_parts(&spec.name)?;
    let &[entry] = parts.as_slice() else { return Err(several(spec, &parts)) };
    if let Some((name, _)) = spec.parameters.iter().find(|(n, _)| !entry.has(n)) {
        return Err(SpecError::unknown_parameter(entry, name));
    }
    if !entry.resources.allow(M) {
        return Err(wrong_number_of_resources(entry, M));
    }
    if let Some((_, make)) = own().into_iter().find(|(own, _)| own.name == entry.name) {
        return make(spec, shape);
    }
    let mut made = Some(list().make(entry, spec, shape)?);
    let carried = |scheduler| -> Box<dyn Scheduler<M, P>> { Box::new(Carrier::new(scheduler)) };
    cast(&mut made).or_else(|| made.map(carried)).ok_or_else(|| wrong_number_of_resources(entry, M))
}

/// The names that a text such as `drr+wf2q+` joins by plus signs, just one if it joins none; never empty. Where a known
/// name itself ends in a plus, as `wf2q+` does, it is read as long as possible. Blanks around names do not count.
///
/// # Errors
///
/// The rest of `text` from where no known name stands.
pub(crate) fn split_names<'a>(text: &'a str, known: &[&'static str]) -> Result<Vec<&'static str>, &'a str> {
    let (mut rest, mut found) = (text.trim_start(), Vec::new());
    loop {
        let tail =
            |name: &str| rest.strip_prefix(name).map(str::trim_start).filter(|t| t.is_empty() || t.starts_with('+'));
        let candidates = known.iter().filter_map(|&name| Some((name, tail(name)?)));
        let Some((name, tail)) = candidates.max_by_key(|(name, _)| name.len()) else { return Err(rest) };
        found.push(name);
        match tail.strip_prefix('+') {
            Some(following) => rest = following.trim_start(),
            None => return Ok(found),
        }
    }
}

/// The disciplines that a name such as `drr+wf2q+` joins, one for each resource; one if it is just a discipline's name;
/// never empty.
pub(crate) fn read_parts(name: &str) -> Result<Vec<&'static Entry>, SpecError> {
    let parts = split_names(name, &names()).map_err(|rest| unknown_part(name, rest))?;
    Ok(parts.iter().filter_map(|part| find(part)).collect())
}

pub(crate) fn names() -> Vec<&'static str> {
    catalog().iter().map(|e| e.name).collect()
}

/// No discipline's name stands where `rest` of `name` begins.
fn unknown_part(name: &str, rest: &str) -> SpecError {
    if scheme::manages(name).unwrap_or(false) {
        let place = "networks (scenarios with a [[hop]]) and live boxes";
        return SpecError::new(name, format!("{name} manages queues, and has a place only in {place}"));
    }
    match rest.split('+').next() {
        Some("") if name != rest => SpecError::missing_part(name, name.len() - rest.len()),
        Some("") if !name.is_empty() => SpecError::missing_part(name, 0),
        Some(part) if part != name => SpecError::unknown_part(name, part, part_names()),
        _ => SpecError::unknown_name(name, names()),
    }
}

/// The disciplines that may be part of a composition.
pub(crate) fn part_names() -> Vec<&'static str> {
    catalog().iter().filter(|e| e.can_be_part()).map(|e| e.name).collect()
}

fn several(spec: &Spec, parts: &[&Entry]) -> SpecError {
    let names: Vec<&str> = parts.iter().map(|e| e.name).collect();
    let (name, meant) = (&spec.name, names.join(" on one resource and "));
    let message =
        format!("{name:?} is {meant} on the next; here one discipline decides for all resources of a pipeline");
    SpecError::new(name, message)
}

fn wrong_number_of_resources(entry: &Entry, resources: usize) -> SpecError {
    let message = format!("{} is defined for two to four resources; this pipeline has {resources}", entry.name);
    SpecError::new(entry.name, message)
}
