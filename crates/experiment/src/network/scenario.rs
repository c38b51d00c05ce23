//! A network scenario that was read and checked.

use std::collections::BTreeMap;
use std::ops::Range;

use dovetail_sched::aqm::scheme::{parts, with_parameter};
use dovetail_sched::aqm::{Encoding, InFront, Scheme};
use dovetail_sched::{Spec, SpecError, composition};
use dovetail_sim::network::{MOST_FLOWS, Network, Traffic};
use dovetail_tcp::{AckPolicy, Config};
use dovetail_units::{BitRate, CycleRate, Density, Duration, Time};
use serde::de::IgnoredAny;
use toml::Spanned;

use super::build;
use super::file::{Ecn, File, Hop};
use super::value::Packets;
use crate::check::{NO_SCHEDULER, twice};
use crate::scenario::{ScenarioError, Variation, check_name, of_scheduler};
use dovetail_config::{Read, Text, Whole};

/// Packets that wait in front of a CPU or a link if the scenario does not say: somewhat more than where RED drops
/// everything.
const QUEUE: u32 = 1200;
/// Packets of one flow that wait if the scenario does not say: a window of that size keeps a flow from its timer.
const FLOW_QUEUE: u32 = 20;
/// The largest capacity, in cycles/s or bit/s: that of [`dovetail_model::drq`].
const MOST_CAPACITY: u64 = 1_000_000_000_000_000_000;

/// CPUs, links, and the TCP flows that cross them.
#[derive(Clone, Debug)]
pub struct NetworkScenario {
    /// Where it came from.
    pub name: String,
    pub(super) label: String,
    text: String,
    pub(super) file: File,
    /// In the order of the file, a box's CPU before its link.
    pub resources: Vec<Resource>,
    /// Long-lived flows and then short ones, in the order of the file.
    pub groups: Vec<Group>,
}

/// A CPU or a link.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The box's name; followed by `.cpu` or `.link` if it has both.
    pub name: String,
    /// What it can do.
    pub capacity: Capacity,
    /// Propagation delay behind it.
    pub delay: Duration,
    /// Packets that may wait.
    pub queue: u32,
    /// Packets of each flow that may wait, where flows have queues of their own.
    pub flow_queue: u32,
    /// What always stands in front of it.
    pub scheme: Option<Scheme>,
    /// Whether packets leave the box behind it.
    pub ends_box: bool,
}

impl Resource {
    /// What stands in front of it under a scheme.
    pub fn standing<'a>(&'a self, scheme: &'a Scheme) -> &'a InFront {
        let scheme = self.scheme.as_ref().unwrap_or(scheme);
        match self.capacity {
            Capacity::Cpu(_) => &scheme.cpu,
            Capacity::Link(_) => &scheme.link,
        }
    }
}

/// What a resource can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capacity {
    /// A CPU.
    Cpu(CycleRate),
    /// A link.
    Link(BitRate),
}

/// Flows of one kind.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its class.
    pub class: String,
    /// Cycles per bit.
    pub density: Density,
    /// Indices into [`NetworkScenario::resources`].
    pub route: Vec<usize>,
    /// Length of a data packet.
    pub packet_bytes: u32,
    /// Rate of the senders' access links.
    pub access: Option<BitRate>,
    /// The senders.
    pub tcp: Config,
    /// When the receivers acknowledge.
    pub acks: AckPolicy,
    /// Where its flows come from; its class is the group's own index.
    pub traffic: Traffic,
}

impl Group {
    /// How many long-lived flows there are; `None` for short ones.
    pub fn long_lived(&self) -> Option<u32> {
        match self.traffic {
            Traffic::LongLived { count, .. } => Some(count),
            Traffic::Web { .. } => None,
        }
    }
}

/// Whether a text describes a network: it has a `[[hop]]`, `[[tcp]]` or `[[web]]`, and no `[[resource]]`.
pub fn is_network(text: &str) -> bool {
    // What the values are is not looked at: a wrong one is an error of whichever it is.
    let Ok(keys) = toml::from_str::<BTreeMap<String, IgnoredAny>>(text) else { return false };
    ["hop", "tcp", "web"].iter().any(|key| keys.contains_key(*key)) && !keys.contains_key("resource")
}

impl NetworkScenario {
    /// From a text, with `--set` overrides.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(name: &str, text: &str, overrides: &[String]) -> Result<Self, ScenarioError> {
        let Read { label, text, file } = dovetail_config::read(name, text, overrides)
            .map_err(|told| of_scheduler(told, overrides, with_parameter))?;
        let mut scenario =
            Self { name: name.to_string(), label, text, file, resources: Vec::new(), groups: Vec::new() };
        scenario.check_times()?;
        scenario.check_classes()?;
        scenario.resources = scenario.read_resources()?;
        scenario.check_groups()?;
        scenario.groups = scenario.read_groups()?;
        scenario.check_network()?;
        Ok(scenario)
    }

    /// The title, or the name if it has none.
    pub fn title(&self) -> &str {
        if self.file.title.is_empty() { &self.name } else { &self.file.title }
    }

    /// The scenario as it is run, with what overrides changed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The first seed.
    pub fn seed(&self) -> u64 {
        self.file.seed
    }

    /// The same with another first seed.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.file.seed = seed;
        self
    }

    /// The same with so many seeds.
    pub fn with_seeds(mut self, count: u32) -> Self {
        self.file.seeds = Some(Whole(count));
        self
    }

    /// The same, with other processing costs and with more flows.
    ///
    /// # Errors
    /// There would be too many flows, or a CPU too fast.
    pub fn varied(mut self, variation: Variation) -> Result<Self, ScenarioError> {
        let wrong = |what: &str| ScenarioError::new(&self.name, format!("it cannot be varied: {what}"));
        for resource in &mut self.resources {
            let Capacity::Cpu(rate) = &mut resource.capacity else { continue };
            let faster = (rate.as_cycles_per_second() as f64 / variation.costs).round() as u64;
            *rate = CycleRate::from_cycles_per_second(faster).ok_or_else(|| wrong("its CPU would be too slow"))?;
        }
        for group in &mut self.groups {
            match &mut group.traffic {
                Traffic::LongLived { count, .. } => *count = (f64::from(*count) * variation.load).round() as u32,
                Traffic::Web { rate, .. } => *rate *= variation.load,
            }
        }
        let flows: u64 = self.groups.iter().filter_map(Group::long_lived).map(u64::from).sum();
        if flows > u64::from(MOST_FLOWS) {
            return Err(wrong(&format!("{flows} long-lived flows; expected at most {MOST_FLOWS}")));
        }
        Ok(self)
    }

    /// The seeds of the runs.
    pub fn seeds(&self) -> Vec<u64> {
        let count = self.file.seeds.map_or(1, |seeds| seeds.0);
        (0..u64::from(count)).map(|k| self.file.seed.wrapping_add(k)).collect()
    }

    /// What happens before is not counted.
    pub fn warm_up(&self) -> Time {
        let written = self.file.warm_up.as_ref().map(|w| w.get_ref().0);
        Time::ZERO + written.unwrap_or_else(|| self.file.until.0.0.divided_by(4))
    }

    /// When a run ends.
    pub fn until(&self) -> Time {
        Time::ZERO + self.file.until.0.0
    }

    /// How packets carry DRQ's state from box to box.
    pub fn encoding(&self) -> Encoding {
        match self.file.ecn {
            Ecn::Paper => Encoding::Paper,
            Ecn::Rfc3168 => Encoding::Rfc3168,
            Ecn::Metadata => Encoding::Metadata,
        }
    }

    /// The schedulers that the scenario names.
    pub fn schedulers(&self) -> Vec<Spec> {
        self.file.schedulers.iter().map(|s| s.get_ref().0.clone()).collect()
    }

    /// What these schedulers mean.
    ///
    /// # Errors
    /// If there is none, or one that is wrong.
    pub fn schemes(&self, schedulers: &[Spec]) -> Result<Vec<Scheme>, ScenarioError> {
        if schedulers.is_empty() {
            return Err(ScenarioError::new("", NO_SCHEDULER));
        }
        // Others come from the command line, and no place in the file is to blame for them.
        let own = if *schedulers == self.schedulers() { &self.file.schedulers[..] } else { &[] };
        let mut schemes: Vec<Scheme> = Vec::new();
        for spec in schedulers {
            let wrong = |message: String| match own.iter().rfind(|s| s.get_ref().0 == *spec) {
                Some(written) => self.error(written.span(), message),
                None => ScenarioError::new(&format!("scheduler {spec}"), message),
            };
            let scheme =
                Scheme::new(spec).map_err(|error| wrong(error.to_string()).suggesting(error.wrong(), error.known()))?;
            stands_somewhere(&scheme, &self.resources).map_err(wrong)?;
            if let Some(before) = schemes.iter().find(|before| same(before, &scheme)) {
                return Err(wrong(twice(&before.spec, spec)));
            }
            schemes.push(scheme);
        }
        Ok(schemes)
    }

    /// The network under this scheme.
    pub fn network(&self, scheme: &Scheme) -> Network {
        build::network(self, scheme)
    }

    fn scheme_of(&self, spec: &Spanned<Text<Spec>>) -> Result<Scheme, ScenarioError> {
        let wrong =
            |error: SpecError| self.error(spec.span(), error.to_string()).suggesting(error.wrong(), error.known());
        Scheme::new(&spec.get_ref().0).map_err(wrong)
    }

    pub(super) fn error(&self, span: Range<usize>, message: impl Into<String>) -> ScenarioError {
        ScenarioError::at(&self.label, &self.text, span, message)
    }

    fn check_times(&self) -> Result<(), ScenarioError> {
        if let Some(warm_up) = &self.file.warm_up
            && self.warm_up() >= self.until()
        {
            let message = format!("the run ends at {}: the warm-up must end earlier", self.until());
            return Err(self.error(warm_up.span(), message));
        }
        Ok(())
    }

    fn check_classes(&self) -> Result<(), ScenarioError> {
        for (index, class) in self.file.class.iter().enumerate() {
            let name = &class.get_ref().name;
            let wrong = if name.is_empty() {
                Err("a class needs a name".into())
            } else if self.file.class[..index].iter().any(|before| before.get_ref().name == *name) {
                Err(format!("the class {name:?} is there twice"))
            } else {
                check_name(name)
            };
            wrong.map_err(|message| self.error(class.span(), message))?;
        }
        Ok(())
    }

    fn read_resources(&self) -> Result<Vec<Resource>, ScenarioError> {
        if self.file.hop.is_empty() {
            let message = "there is no [[hop]]: TCP flows need at least one box on their way, with cpu, rate or both";
            return Err(ScenarioError::new(&self.label, message));
        }
        let mut resources = Vec::new();
        for (index, hop) in self.file.hop.iter().enumerate() {
            let known = self.file.hop[..index].iter().map(|h| &h.get_ref().name);
            check_box(hop.get_ref(), known).map_err(|m| self.error(hop.span(), m))?;
            let fixed = hop.get_ref().scheduler.as_ref();
            let scheme = fixed.map(|spec| self.scheme_of(spec)).transpose()?;
            let own = resources_of(hop.get_ref(), scheme.as_ref());
            if let Some(again) = own.iter().find(|new| resources.iter().any(|old: &Resource| old.name == new.name)) {
                let message = format!("{:?} is the name of another box's CPU or link, too", again.name);
                return Err(self.error(hop.span(), message));
            }
            if let (Some(scheme), Some(written)) = (&scheme, fixed) {
                stands_somewhere(scheme, &own).map_err(|message| self.error(written.span(), message))?;
            }
            resources.extend(own);
        }
        Ok(resources)
    }

    /// What only the simulator knows.
    fn check_network(&self) -> Result<(), ScenarioError> {
        let scheme = Scheme::new(&Spec { name: "fifo".into(), parameters: Vec::new() });
        let checked = scheme.map_err(|e| e.to_string()).and_then(|scheme| self.network(&scheme).check());
        checked.map_err(|message| ScenarioError::new(&self.label, message))
    }
}

/// Whether the same stands in front of CPUs, and in front of links.
fn same(a: &Scheme, b: &Scheme) -> bool {
    [(&a.cpu, &b.cpu), (&a.link, &b.link)].iter().all(|standings| match standings {
        (InFront::PerFlow(a), InFront::PerFlow(b)) => composition::same(a, b),
        (a, b) => a == b,
    })
}

/// Of `a+b`, that there is a CPU for a and a link for b.
fn stands_somewhere(scheme: &Scheme, resources: &[Resource]) -> Result<(), String> {
    let Ok(&[cpu, link]) = parts(&scheme.spec.name).as_deref() else { return Ok(()) };
    let has = |is_cpu: bool| resources.iter().any(|r| matches!(r.capacity, Capacity::Cpu(_)) == is_cpu);
    let (what, nowhere, alone) = match [has(true), has(false)] {
        [false, true] => ("CPU", cpu, link),
        [true, false] => ("link", link, cpu),
        _ => return Ok(()),
    };
    Err(format!("{}: there is no {what} for {nowhere}; expected just {alone}", scheme.spec))
}

fn check_box<'a>(hop: &Hop, mut before: impl Iterator<Item = &'a String>) -> Result<(), String> {
    check_name(&hop.name)?;
    if hop.name.is_empty() {
        return Err("a hop needs a name".into());
    }
    if hop.name.contains('=') {
        return Err(format!(
            "the hop {:?} has a = in its name, which --pcap could not tell from that before a file",
            hop.name
        ));
    }
    if before.any(|name| *name == hop.name) {
        return Err(format!("the hop {:?} is there twice", hop.name));
    }
    let (cpu, rate) =
        (hop.cpu.map_or(0, |cpu| cpu.0.as_cycles_per_second()), hop.rate.map_or(0, |rate| rate.0.as_bps()));
    if cpu.max(rate) > MOST_CAPACITY {
        let (key, most) = if cpu > MOST_CAPACITY { ("cpu", "1e9 Gcycles/s") } else { ("rate", "1e9 Gbps") };
        return Err(format!("the hop {:?} has too large a {key}: expected at most {most}", hop.name));
    }
    if hop.cpu.is_none() && hop.rate.is_none() {
        return Err(format!(
            "the hop {:?} does nothing: give it cpu = \"20 Mcycles/s\", rate = \"40 Mbps\", or both",
            hop.name
        ));
    }
    Ok(())
}

/// How many resources a box has.
pub(super) fn count(hop: &Hop) -> usize {
    usize::from(hop.cpu.is_some()) + usize::from(hop.rate.is_some())
}

fn resources_of(hop: &Hop, scheme: Option<&Scheme>) -> Vec<Resource> {
    let capacities = [hop.cpu.map(|c| Capacity::Cpu(c.0)), hop.rate.map(|r| Capacity::Link(r.0))];
    let both = count(hop) == 2;
    let resource = |capacity: Capacity| {
        let (kind, ends_box) = match capacity {
            Capacity::Cpu(_) => (".cpu", !both),
            Capacity::Link(_) => (".link", true),
        };
        let delay = hop.delay.filter(|_| ends_box).map_or(Duration::ZERO, |d| d.0);
        let packets = |written: Option<Text<Packets>>, default| written.map_or(default, |p| p.0.0);
        Resource {
            name: format!("{}{}", hop.name, if both { kind } else { "" }),
            capacity,
            delay,
            queue: packets(hop.queue, QUEUE),
            flow_queue: packets(hop.flow_queue, FLOW_QUEUE),
            scheme: scheme.cloned(),
            ends_box,
        }
    };
    capacities.into_iter().flatten().map(resource).collect()
}
