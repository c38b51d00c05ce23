//! The list of disciplines, and how to make one from a text such as `tradeoff:alpha=0.85`.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::any::Any;

use crate::aqm::scheme;
use crate::contract::Scheduler;
use crate::gain::{Gain, ORDINARY, Strategy};
use crate::one_resource::RESOURCE;
use crate::per_flow::PerFlow;
use crate::spec::{Spec, SpecError};
use crate::tradeoff::{Tradeoff, TradeoffOfMany};

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

/// What is known of a discipline, for help texts and reference pages.
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

    /// Whether it has a parameter of this name.
    pub fn has(&self, parameter: &str) -> bool {
        self.parameters.iter().any(|p| p.name == parameter)
    }

    /// Why a parameter of this name cannot change while it runs: it is none of those that can.
    pub(crate) fn cannot_change(&self, parameter: &str) -> SpecError {
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
        self.can_be_part() || [crate::codel::ENTRY.name, crate::codel::fair::ENTRY.name].contains(&self.name)
    }

    /// Whether it may stand in front of one resource in a composition: if it shares a single one, or none.
    pub fn can_be_part(&self) -> bool {
        self.has(RESOURCE.name) || self.name == crate::fifo::ENTRY.name
    }
}

/// Every discipline, in the order of help texts.
pub fn catalog() -> &'static [Entry] {
    &[
        crate::fifo::ENTRY,
        crate::codel::ENTRY,
        crate::codel::fair::ENTRY,
        crate::drfq::ENTRY,
        crate::mr3::ENTRY,
        crate::gmr3::ENTRY,
        crate::drgps::ENTRY,
        crate::tradeoff::ENTRY,
        crate::atfq::ENTRY,
        crate::drr::ENTRY,
        crate::wfq::ENTRY,
        crate::wf2q_plus::ENTRY,
        crate::sfq::ENTRY,
        crate::scfq::ENTRY,
        crate::bottleneck::ENTRY,
        crate::pcfq::ENTRY,
        crate::cbcs::ENTRY,
    ]
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
    match entry.name {
        "fifo" => Ok(Box::new(PerFlow::new(crate::fifo::Fifo::default()))),
        "codel" => Ok(Box::new(PerFlow::new(crate::codel::Codel::from_spec(spec)?))),
        "fq_codel" => Ok(Box::new(PerFlow::new(crate::codel::fair::FqCodel::from_spec(spec)?))),
        "mr3" => Ok(Box::new(PerFlow::new(crate::mr3::Mr3::from_spec(spec, shape)?))),
        "gmr3" => Ok(Box::new(PerFlow::new(crate::gmr3::Gmr3::from_spec(spec, shape)?))),
        "drgps" => Ok(Box::new(PerFlow::new(crate::drgps::Drgps::<M>::from_spec(spec)?))),
        "drr" => Ok(Box::new(PerFlow::new(crate::drr::Drr::from_spec::<M>(spec)?))),
        "wfq" => Ok(Box::new(PerFlow::new(crate::wfq::Wfq::from_spec::<M>(spec)?))),
        "wf2q+" => Ok(Box::new(PerFlow::new(crate::wf2q_plus::Wf2qPlus::from_spec::<M>(spec)?))),
        "sfq" => Ok(Box::new(PerFlow::new(crate::sfq::Sfq::from_spec::<M>(spec)?))),
        "scfq" => Ok(Box::new(PerFlow::new(crate::scfq::Scfq::from_spec::<M>(spec)?))),
        "pcfq" => Ok(Box::new(PerFlow::new(crate::pcfq::Pcfq::from_spec(spec)?))),
        "cbcs" => Ok(Box::new(PerFlow::new(crate::cbcs::Cbcs::from_spec(spec)?))),
        "bf" => Ok(Box::new(PerFlow::new(crate::bottleneck::Bottleneck::<M>::from_spec(spec)?))),
        "drfq" => Ok(Box::new(PerFlow::new(crate::drfq::Drfq::<M>::from_spec(spec, shape)?))),
        "atfq" => Ok(Box::new(PerFlow::new(crate::atfq::Atfq::<M>::from_spec(spec, shape)?))),
        "tradeoff" => match M {
            2 => narrow::<M, 2, P>(PerFlow::new(Tradeoff::<2>::from_spec(spec, shape)?)),
            3 => narrow::<M, 3, P>(PerFlow::new(TradeoffOfMany::<3>::from_spec(spec, shape)?)),
            _ => narrow::<M, 4, P>(PerFlow::new(TradeoffOfMany::<4>::from_spec(spec, shape)?)),
        }
        .ok_or_else(|| wrong_number_of_resources(entry, M)),
        name => Err(SpecError::unknown_name(name, names())),
    }
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
    Ok(parts.iter().filter_map(|part| catalog().iter().find(|entry| entry.name == *part)).collect())
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

/// A scheduler of `K` resources as one of `M`: only if that is the same number.
fn narrow<const M: usize, const K: usize, P: Send + 'static>(
    scheduler: impl Scheduler<K, P> + 'static,
) -> Option<Box<dyn Scheduler<M, P>>> {
    let boxed: Box<dyn Scheduler<K, P>> = Box::new(scheduler);
    let any: Box<dyn Any> = Box::new(boxed);
    any.downcast::<Box<dyn Scheduler<M, P>>>().ok().map(|inner| *inner)
}
