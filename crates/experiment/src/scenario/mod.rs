//! Scenarios: what comes in, what it costs, and the pipeline that it passes.

pub mod file;
mod flows;
mod input;
mod interval;
mod load;
mod names;
mod newcomers;
mod profile;
mod replay;
pub mod value;
mod variation;

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use dovetail_sched::{Limit, Spec, catalog};
use dovetail_sim::{Buffer, Estimate, Pipeline, Resource, Workload};
use dovetail_trace::Report;
use dovetail_units::{Duration, Time};
use serde::de::IgnoredAny;
use toml::Spanned;

use crate::network::{NetworkScenario, is_network};

pub use dovetail_config::{InputError as ScenarioError, nearest, unknown};
use file::{File, Overflow};
pub(crate) use input::Given;
#[cfg(feature = "files")]
pub(crate) use input::open as open_input;
pub use input::{beside, open_capture, or_nearby};
use names::Names;
pub use names::check_name;
pub use newcomers::Newcomers;
pub use profile::NAMES as PROFILES;
pub(crate) use profile::Profile;
pub use replay::{NO_FLOW, Pauses, ReplayLoad};
use value::Room;
pub use variation::Variation;

/// A file that can be run.
pub enum Opened {
    /// A pipeline and its packets.
    Pipeline(Box<Scenario>),
    /// A network and its TCP flows.
    Network(Box<NetworkScenario>),
}

/// Read a scenario of either kind, or a capture, from a file or from standard input (`-`), and apply `--set` overrides.
/// `profile` is the name or file of the scenario around a capture.
pub fn open(path: &str, overrides: &[String], profile: Option<&str>) -> Result<Opened, ScenarioError> {
    match input::open(path)? {
        Given::Scenario(_) if profile.is_some() => {
            let message = "it is a scenario and says itself what its box is like: --profile is for captures";
            Err(ScenarioError::new(path, message))
        }
        Given::Scenario(text) => open_text(path, &text, overrides, beside(Path::new(path)).to_path_buf()),
        given => Ok(Opened::Pipeline(Box::new(Scenario::from_given(path, given, overrides, profile)?))),
    }
}

/// The scenario of either kind in this text, which messages call `name`; `base` is where a relative capture file is
/// looked for.
pub fn open_text(name: &str, text: &str, overrides: &[String], base: PathBuf) -> Result<Opened, ScenarioError> {
    if let Some(place) = mixed(text) {
        let message = "a pipeline has [[resource]], a network [[hop]], [[tcp]] and [[web]]: this has of both";
        return Err(ScenarioError::at(name, text, place, message));
    }
    match is_network(text) {
        true => Ok(Opened::Network(Box::new(NetworkScenario::parse(name, text, overrides)?))),
        false => Ok(Opened::Pipeline(Box::new(Scenario::parse(name, text, overrides, base)?))),
    }
}

/// Where the first list of a network stands in a text that also has a `[[resource]]`.
fn mixed(text: &str) -> Option<Range<usize>> {
    let lists: BTreeMap<String, Spanned<IgnoredAny>> = toml::from_str(text).ok()?;
    lists.get("resource")?;
    ["hop", "tcp", "web"].iter().filter_map(|key| lists.get(*key)).map(Spanned::span).min_by_key(|span| span.start)
}

/// The most resources a pipeline can have here.
pub const MAX_RESOURCES: usize = 4;

/// A scenario that was read and checked as far as it can be without opening its capture.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Where it came from.
    pub name: String,
    /// The profile, if a capture was given.
    pub profile: Option<String>,
    /// What messages call the text.
    label: String,
    text: String,
    file: File,
    base: PathBuf,
    names: Names,
    capture: Option<replay::Capture>,
    variation: Variation,
}

impl Scenario {
    /// Read a scenario, or a capture with the default profile around it, from a file or from standard input (`-`), and
    /// apply `--set` overrides.
    pub fn open(path: &str, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::open_with(path, overrides, None)
    }

    /// As [`open`](Self::open), with the profile of this name or in this file around a capture.
    pub fn open_with(path: &str, overrides: &[String], profile: Option<&str>) -> Result<Self, ScenarioError> {
        match open(path, overrides, profile)? {
            Opened::Pipeline(scenario) => Ok(*scenario),
            Opened::Network(_) => {
                let message =
                    "it describes a network ([[hop]]): `dovetail run` takes that, this needs a pipeline ([[resource]])";
                Err(ScenarioError::new(path, message))
            }
        }
    }

    fn from_given(
        path: &str,
        given: Given,
        overrides: &[String],
        profile: Option<&str>,
    ) -> Result<Self, ScenarioError> {
        match given {
            Given::Scenario(text) => {
                let base = beside(Path::new(path)).to_path_buf();
                Self::read(path, path, &text, overrides, base, None)
            }
            Given::Capture(stream) => {
                let profile = Profile::find(profile.unwrap_or(PROFILES[0]))?;
                let text = profile.text_for(overrides);
                let label = format!("profile {}", profile.name);
                let mut read = Self::read(path, &label, &text, overrides, PathBuf::new(), Some(stream))?;
                if !overrides.is_empty() {
                    let comma = if read.file.title.is_empty() { "" } else { "; " };
                    read.file.title += &format!("{comma}changed by --set {}", overrides.join(" --set "));
                }
                match read.capture {
                    Some(_) => Ok(Self { profile: Some(profile.name), ..read }),
                    None => Err(ScenarioError::new(&label, "it replays no capture: a profile has a [trace]")),
                }
            }
        }
    }

    /// From a text; `base` is where a relative capture file is looked for.
    pub fn parse(name: &str, text: &str, overrides: &[String], base: PathBuf) -> Result<Self, ScenarioError> {
        Self::read(name, name, text, overrides, base, None)
    }

    fn read(
        name: &str,
        label: &str,
        text: &str,
        overrides: &[String],
        base: PathBuf,
        capture: Option<Box<dyn Read + Send>>,
    ) -> Result<Self, ScenarioError> {
        let mut scenario = Self::unloaded(name, label, text, overrides, base)?;
        scenario.capture = replay::load(&scenario, capture)?;
        interval::check(&scenario)?;
        Ok(scenario)
    }

    /// Read and checked as far as it can be without opening its capture, which it lacks.
    pub(crate) fn unloaded(
        name: &str,
        label: &str,
        text: &str,
        overrides: &[String],
        base: PathBuf,
    ) -> Result<Self, ScenarioError> {
        let dovetail_config::Read { label, text, file } = dovetail_config::read::<File>(label, text, overrides)
            .map_err(|told| of_scheduler(told, overrides, catalog::with_parameter))?;
        let names = Names::check(&label, &text, &file)?;
        let name = name.to_string();
        let mut scenario =
            Self { name, profile: None, label, text, file, base, names, capture: None, variation: Variation::NONE };
        flows::check(&scenario)?;
        load::apply(&mut scenario)?;
        replay::check(&scenario)?;
        Ok(scenario)
    }

    /// With the packets of another scenario, which reads the same capture in the same way.
    ///
    /// # Errors
    /// Flows of the capture have no class, or the recording interval is too short.
    #[cfg(feature = "files")]
    pub(crate) fn loaded_as(mut self, other: &Self) -> Result<Self, ScenarioError> {
        self.capture.clone_from(&other.capture);
        self = self.prepared()?;
        interval::check(&self)?;
        Ok(self)
    }

    /// The title, or the name if it has none.
    pub fn title(&self) -> &str {
        if self.file.title.is_empty() || self.profile.is_some() { &self.name } else { &self.file.title }
    }

    /// The scenario as it is run, with what overrides changed; around a capture that was given alone, the profile.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the profile is, in words, and what overrides changed.
    pub fn profile_title(&self) -> &str {
        &self.file.title
    }

    /// Seconds from the capture's first packet to its last, as replayed at speed 1; 0 without one.
    pub fn recorded_s(&self) -> f64 {
        self.capture.as_ref().map_or(0.0, |capture| capture.arrivals.last().as_secs_f64())
    }

    /// Long pauses of the capture that is replayed, if one is.
    pub fn pauses(&self) -> Option<Pauses> {
        self.capture.as_ref().map(|capture| capture.pauses)
    }

    /// Seed of every random stream.
    pub fn seed(&self) -> u64 {
        self.file.seed
    }

    /// The same scenario under another seed.
    pub fn with_seed(mut self, seed: u64) -> Result<Self, ScenarioError> {
        self.file.seed = seed;
        self.prepared()
    }

    /// The same scenario under another seed, with the capture cut into pieces of which this seed draws as many: traffic
    /// like it. Without a capture: [`with_seed`](Self::with_seed).
    pub fn with_pieces(mut self, seed: u64) -> Result<Self, ScenarioError> {
        if let Some(capture) = &mut self.capture {
            capture.draw_pieces(seed);
        }
        self.with_seed(seed)
    }

    /// The same scenario with its capture replayed as fast as it was recorded; `None` if there is none, or if it is
    /// anyway.
    pub fn at_recorded_speed(&self) -> Option<Self> {
        let mut recorded = self.clone();
        let capture = recorded.capture.as_mut()?;
        let speed = std::mem::replace(&mut capture.speed, 1.0);
        (speed != 1.0).then_some(recorded)
    }

    fn prepared(mut self) -> Result<Self, ScenarioError> {
        if let (Some(mut capture), Some(trace)) = (self.capture.take(), &self.file.trace) {
            capture.prepare(&self, trace.get_ref())?;
            self.capture = Some(capture);
        }
        Ok(self)
    }

    /// The same scenario, but for this.
    #[must_use]
    pub fn varied(self, variation: Variation) -> Self {
        Self { variation, ..self }
    }

    /// The schedulers that the scenario names.
    pub fn schedulers(&self) -> Vec<Spec> {
        self.file.schedulers.iter().map(|s| s.get_ref().0.clone()).collect()
    }

    /// When the run is cut off.
    pub fn until(&self) -> Option<Time> {
        self.file.until.map(|u| Time::ZERO + u.0.0)
    }

    /// Width of the recording interval.
    pub fn interval(&self) -> Duration {
        self.file.interval.as_ref().map_or_else(|| interval::default_interval(self), |i| i.get_ref().0.0)
    }

    /// Number of resources.
    pub fn resources(&self) -> usize {
        self.file.resource.len()
    }

    /// Names of the resources, in order.
    pub fn resource_names(&self) -> Vec<String> {
        self.file.resource.iter().map(|r| r.get_ref().name.clone()).collect()
    }

    /// What values of schedulers' parameters may name.
    pub fn names_in_values(&self) -> dovetail_sched::Names {
        let classes = self.names.classes().iter().map(|class| class.name.clone()).collect();
        dovetail_sched::Names { resources: self.resource_names(), classes }
    }

    /// Whether a buffer between two resources has a limit.
    pub fn has_bounded_buffers(&self) -> bool {
        let room = |r: &file::Resource| r.buffer.as_ref().map_or(Room::Unlimited, |b| b.get_ref().0);
        self.file.resource.iter().any(|r| room(r.get_ref()) != Room::Unlimited)
    }

    /// Whether schedulers are told anything but the truth.
    pub fn has_estimates(&self) -> bool {
        self.names.classes().iter().flat_map(|c| &c.estimate).any(Estimate::predicts)
    }

    /// Whether some class or flow is guaranteed a part of its share of its own.
    pub fn has_own_alphas(&self) -> bool {
        let File { class, flows, .. } = &self.file;
        class.iter().any(|class| class.get_ref().alpha.is_some()) || flows.iter().any(|f| f.get_ref().alpha.is_some())
    }

    /// Names of classes that the scenario itself describes by rules, and that nothing in its capture is of.
    pub fn unmatched_classes(&self) -> impl Iterator<Item = &str> {
        let capture = self.capture.as_ref().filter(|_| self.profile.is_none());
        let unmatched = move |index| capture.is_some_and(|capture| !capture.has_class(index));
        let classes = self.file.class.iter().map(|class| class.get_ref()).enumerate();
        let classes = classes.filter(move |(index, class)| class.rules.is_some() && unmatched(*index));
        classes.map(|(_, class)| class.name.as_str())
    }

    /// Parameter changes: when, parameter, value.
    pub fn changes(&self) -> Vec<(Time, String, String)> {
        let split = |c: &file::Change| {
            let (key, value) = c.set.get_ref().split_once('=').unwrap_or((c.set.get_ref(), ""));
            (c.at.0, key.trim().to_string(), value.trim().to_string())
        };
        self.file.change.iter().map(|c| split(c.get_ref())).collect()
    }

    /// The capture that is replayed, if one is; `-` is standard input.
    pub fn capture_file(&self) -> Option<PathBuf> {
        replay::file(self, self.file.trace.as_ref()?.get_ref())
    }

    /// What the capture's reader had to say, if a capture is replayed.
    pub fn capture_report(&self) -> Option<&Report> {
        self.capture.as_ref().map(|c| &c.report)
    }

    /// How many times as fast as recorded the capture is replayed, if one is.
    pub fn replay_speed(&self) -> Option<f64> {
        self.capture.as_ref().map(|c| c.speed)
    }

    /// What the replayed packets ask of the busiest resource over what it can do, if that sets the speed.
    pub fn replay_load(&self) -> Option<ReplayLoad> {
        let asked = self.file.trace.as_ref()?.get_ref().load.as_ref()?.get_ref().0;
        self.capture.as_ref().map(|capture| capture.load(self, asked))
    }

    /// Flows of one packet each, if they are most of the capture and something is short.
    pub fn newcomers(&self) -> Option<Newcomers> {
        newcomers::of(self)
    }

    /// Packets of one run, as far as can be told in advance; infinite if unknown.
    pub fn expected_packets(&self) -> f64 {
        let replayed = self.capture.as_ref().map_or(0, |c| c.arrivals.len());
        self.file.flows.iter().map(|f| flows::expected_packets(self, f.get_ref())).sum::<f64>() + replayed as f64
    }

    /// The pipeline; `M` is [`resources`](Self::resources).
    pub fn pipeline<const M: usize>(&self) -> Pipeline<M> {
        let resources = std::array::from_fn(|r| {
            let written = self.file.resource[r].get_ref();
            let buffer = match (written.buffer.as_ref().map(|b| b.get_ref().0), written.overflow) {
                (None | Some(Room::Unlimited), _) => Buffer::Unlimited,
                (Some(Room::NoWait), _) => Buffer::NoWait,
                (Some(Room::Packets(n)), Overflow::Block) => Buffer::Blocking(n),
                (Some(Room::Packets(n)), Overflow::Drop) => Buffer::Dropping(n),
            };
            Resource { name: written.name.clone(), servers: written.servers.get_ref().0, buffer }
        });
        Pipeline { resources }
    }

    /// The flows and their packets; `M` is [`resources`](Self::resources).
    pub fn workload<const M: usize>(&self) -> Workload<M> {
        let mut workload = Workload { flows: Vec::new(), sources: Vec::new() };
        flows::add_to(&mut workload, self);
        replay::add_to(&mut workload, self);
        self.variation.apply(&mut workload);
        workload
    }

    fn error(&self, span: std::ops::Range<usize>, message: impl Into<String>) -> ScenarioError {
        ScenarioError::at(&self.label, &self.text, span, message)
    }

    /// An error about one of the schedulers that are to run: where the scenario names it last, if it does.
    pub fn scheduler_error(&self, spec: &Spec, message: &str) -> ScenarioError {
        match self.file.schedulers.iter().rfind(|s| s.get_ref().0 == *spec) {
            Some(written) => self.error(written.span(), message),
            // The place is the scheduler: some messages begin with its name, which is enough once.
            None => {
                let rest = message.strip_prefix(&format!("{spec} ")).unwrap_or(message);
                ScenarioError::new(&format!("scheduler {spec}"), rest)
            }
        }
    }

    /// An error about the `index`-th of [`changes`](Self::changes).
    pub fn change_error(&self, index: usize, message: &str) -> ScenarioError {
        self.error(self.file.change[index].get_ref().set.span(), message)
    }
}

/// With a hint if an override has a scheduler's parameter for a key of the file; `with_parameter` says how a scheduler
/// is written that has one.
pub(crate) fn of_scheduler(
    told: ScenarioError,
    overrides: &[String],
    with_parameter: impl Fn(&str, &str) -> Option<String>,
) -> ScenarioError {
    dovetail_config::hinting(told, overrides, |key, value| {
        let spec = with_parameter(key, value)?;
        Some(format!("`{key}` is a scheduler's parameter, as in {spec}"))
    })
}

/// The limit of a replayed flow's queue if the scenario does not say: as in the tradeoff paper, section 6.2.
const REPLAY_LIMIT: Limit = Limit { packets: Some(200), bytes: None, time: None };
