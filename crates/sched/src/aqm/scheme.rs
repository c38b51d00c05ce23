//! What stands in front of a CPU and in front of a link where TCP is told to slow down: `red+red`, `drr+red`, `drq`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use dovetail_units::{Bytes, Density, Duration};

use super::curve::MOST_THRESHOLD;
use super::{AqmError, Densities, Drq, Fraction, QueueConfig, Red, RedConfig, Rules, Unit, drq, red};
use crate::catalog::{self, Entry, Parameter, Shape, build, catalog, find, split_names};
use crate::fifo;
use crate::spec::{Spec, SpecError, choice};

/// What manages queues, by name.
pub static MANAGERS: [Entry; 2] = [red::ENTRY, drq::ENTRY];

/// What stands in front of CPUs, and what in front of links.
#[derive(Clone, PartialEq, Debug)]
pub struct Scheme {
    /// As it was named.
    pub spec: Spec,
    /// In front of a CPU.
    pub cpu: InFront,
    /// In front of a link.
    pub link: InFront,
}

/// What stands in front of one resource.
#[derive(Clone, PartialEq, Debug)]
pub enum InFront {
    /// A queue in order of arrival.
    Fifo,
    /// One under RED.
    Red(RedConfig),
    /// One under DRQ.
    Drq(QueueConfig),
    /// A scheduler of one resource, with a queue for every flow.
    PerFlow(Spec),
}

impl InFront {
    /// In front of a resource on which a packet takes `packet` in the mean.
    pub fn with_packet(&self, packet: Duration) -> Self {
        match self {
            Self::Red(config) => Self::Red(RedConfig { queue: QueueConfig { packet, ..config.queue }, ..*config }),
            Self::Drq(config) => Self::Drq(QueueConfig { packet, ..*config }),
            other => other.clone(),
        }
    }
}

impl Scheme {
    /// One name stands for all resources, `a+b` for CPUs and links.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn new(spec: &Spec) -> Result<Self, SpecError> {
        let (cpu, link) = match split(&spec.name, names())?[..] {
            [both] => (both, both),
            [cpu, link] => (cpu, link),
            _ => {
                let message =
                    format!("{:?}: expected one scheduler for CPUs and one for links, such as red+red", spec.name);
                return Err(SpecError::new(&spec.name, message));
            }
        };
        let parts = [kind(cpu)?, kind(link)?];
        if let Some((key, _)) = spec.parameters.iter().find(|(key, _)| !parts.iter().any(|p| p.takes(key))) {
            let known = sorted(parts.iter().flat_map(Kind::parameters).collect());
            return Err(SpecError::no_such_parameter(&spec.name, key, known));
        }
        let [cpu, link] = parts.map(|kind| kind.standing(spec));
        Ok(Self { spec: spec.clone(), cpu: cpu?, link: link? })
    }
}

/// What the scheme called `name` is made of, in front of CPUs and of links, and all parameters that it takes, if queue
/// management has a part in it and it can stand in a network.
pub fn about(name: &str) -> Option<([&'static Entry; 2], Vec<&'static Parameter>)> {
    Scheme::new(&Spec { name: name.to_string(), parameters: Vec::new() }).ok()?;
    let parts = parts(name).ok().filter(|_| manages(name) == Ok(true))?;
    let entry = |part: &str| MANAGERS.iter().find(|entry| entry.name == part).or_else(|| find(part));
    let entries = [entry(parts.first()?)?, entry(parts.last()?)?];
    let mut parameters: Vec<&'static Parameter> = Vec::new();
    for parameter in entries.iter().flat_map(|entry| entry.parameters).filter(|p| p.name != RESOURCE) {
        if !parameters.iter().any(|known| known.name == parameter.name) {
            parameters.push(parameter);
        }
    }
    Some((entries, parameters))
}

/// The names that `name` joins by plus signs: of managers, or of disciplines, whether they can stand in front of one
/// resource or not.
///
/// # Errors
/// One of them does not exist, or is missing.
pub fn parts(name: &str) -> Result<Vec<&'static str>, SpecError> {
    split(name, all())
}

/// As [`parts`]; `alone` is what a single name that does not exist may have been meant for.
fn split(name: &str, alone: Vec<&'static str>) -> Result<Vec<&'static str>, SpecError> {
    split_names(name, &all()).map_err(|rest| match rest.split('+').next().map(str::trim) {
        _ if name.trim().is_empty() => SpecError::unknown_name(name, alone),
        Some("") | None => SpecError::missing_part(name, name.len() - rest.len()),
        Some(part) if part == name => SpecError::unknown_name(part, alone),
        Some(part) => SpecError::unknown_name(part, names()),
    })
}

fn all() -> Vec<&'static str> {
    catalog::names().into_iter().chain(MANAGERS.iter().map(|manager| manager.name)).collect()
}

/// Whether active queue management has a part in what is called `name`.
///
/// # Errors
/// As [`parts`].
pub fn manages(name: &str) -> Result<bool, SpecError> {
    Ok(parts(name)?.iter().any(|part| MANAGERS.iter().any(|manager| manager.name == *part)))
}

/// What can stand in front of one resource.
#[derive(Clone, Copy)]
enum Kind {
    Fifo,
    Red,
    Drq,
    PerFlow(&'static Entry),
}

/// The names that can stand in front of one resource.
pub fn names() -> Vec<&'static str> {
    let single = catalog().iter().filter(|e| e.can_be_queue()).map(|e| e.name);
    MANAGERS.iter().map(|manager| manager.name).chain(single).collect()
}

/// How a scheme is written that has this parameter with this value: the first of [`names`] that does.
pub fn with_parameter(parameter: &str, value: &str) -> Option<String> {
    let name = names().into_iter().find(|name| kind(name).is_ok_and(|kind| kind.takes(parameter)))?;
    Some(format!("{name}:{parameter}={value}"))
}

fn kind(name: &str) -> Result<Kind, SpecError> {
    let managers = [(&red::ENTRY, Kind::Red), (&drq::ENTRY, Kind::Drq)];
    if let Some((_, kind)) = managers.into_iter().find(|(manager, _)| manager.name == name) {
        return Ok(kind);
    }
    let known = names();
    match find(name) {
        Some(entry) if entry.name == fifo::ENTRY.name => Ok(Kind::Fifo),
        Some(entry) if entry.can_be_queue() => Ok(Kind::PerFlow(entry)),
        Some(_) => {
            let able = known.join(", ");
            let message =
                format!("{name} decides for all resources of a pipeline; in front of one resource there can be {able}");
            Err(SpecError::new(name, message))
        }
        None => Err(SpecError::unknown_name(name, known)),
    }
}

/// A parameter that says which resource a scheduler shares: here it is the one behind it.
const RESOURCE: &str = "resource";

impl Kind {
    fn parameters(&self) -> Vec<&'static str> {
        match self {
            Self::Fifo => Vec::new(),
            Self::Red => red::ENTRY.parameters.iter().map(|p| p.name).collect(),
            Self::Drq => drq::ENTRY.parameters.iter().map(|p| p.name).collect(),
            Self::PerFlow(entry) => entry.parameters.iter().map(|p| p.name).filter(|&n| n != RESOURCE).collect(),
        }
    }

    fn takes(&self, key: &str) -> bool {
        self.parameters().contains(&key)
    }

    fn standing(self, spec: &Spec) -> Result<InFront, SpecError> {
        let wrong = |error: AqmError| SpecError::new(&spec.name, error.to_string());
        let own = || spec.parameters.iter().filter(|(key, _)| self.takes(key));
        // Any time: the resource's own is put in later.
        let packet = Duration::from_micros(100);
        match self {
            Self::Fifo => Ok(InFront::Fifo),
            Self::PerFlow(entry) => {
                let spec = Spec { name: entry.name.to_string(), parameters: own().cloned().collect() };
                build::<1, ()>(&spec, Shape { servers: 1 })?;
                Ok(InFront::PerFlow(spec))
            }
            Self::Red => {
                let red = read(spec, packet)?;
                Red::new(red).map_err(wrong)?;
                Ok(InFront::Red(red))
            }
            Self::Drq => {
                let queue = read(spec, packet)?.queue;
                let densities = Densities::new(&[Density::ONE], Fraction::ZERO);
                densities.and_then(|densities| Drq::cpu(queue, densities)).map_err(wrong)?;
                Ok(InFront::Drq(queue))
            }
        }
    }
}

/// RED as the parameters say, those of others left out; DRQ is its queue.
fn read(spec: &Spec, packet: Duration) -> Result<RedConfig, SpecError> {
    let mut red = RedConfig::new(QueueConfig::new(packet));
    for (key, value) in &spec.parameters {
        if let Some(parameter) = red::ENTRY.parameters.iter().find(|p| p.name == key) {
            set(&mut red, parameter, value)?;
        }
    }
    let queue = &mut red.queue;
    check_thresholds(spec, queue.min, queue.max)?;
    // Thresholds are written in packets; RED wants them in its unit.
    if queue.unit.packets(queue.max) > MOST_THRESHOLD {
        let mean = spec.parameters.iter().find(|(key, _)| key == MEAN_PACKET).map_or("", |(_, mean)| mean);
        let expected = format!("so short that {} packets are at most 2^30 bytes", queue.max);
        return Err(SpecError::bad_value(MEAN_PACKET, mean, &expected));
    }
    (queue.min, queue.max) = (queue.unit.packets(queue.min), queue.unit.packets(queue.max));
    Ok(red)
}

/// Thresholds in packets, of which at least one is as `spec` has it if they are wrong.
fn check_thresholds(spec: &Spec, min: u32, max: u32) -> Result<(), SpecError> {
    let [own_min, own_max] = ["min", "max"].map(|name| spec.value(name));
    match (own_min, own_max) {
        (_, Some(value)) if max > MOST_THRESHOLD => Err(SpecError::bad_value("max", value, "at most 2^30 packets")),
        (Some(value), _) if min >= max => {
            Err(SpecError::bad_value("min", value, &format!("less than max, which is {max} packets")))
        }
        (None, Some(value)) if min >= max => {
            Err(SpecError::bad_value("max", value, &format!("more than min, which is {min} packets")))
        }
        _ => Ok(()),
    }
}

/// The parameter that makes queues count in bytes.
const MEAN_PACKET: &str = "mean_packet";

fn set(red: &mut RedConfig, parameter: &Parameter, value: &str) -> Result<(), SpecError> {
    let Parameter { name, value: expected, .. } = *parameter;
    let wrong = || SpecError::bad_value(name, value, expected);
    let packets = || value.parse::<u32>().map_err(|_| wrong());
    let part = || value.parse().ok().and_then(Fraction::from_f64).filter(|&f| f != Fraction::ZERO).ok_or_else(wrong);
    let yes = || choice(name, value, [("yes", true), ("no", false)]);
    match name {
        "min" => red.queue.min = packets()?,
        "max" => red.queue.max = packets()?,
        "max_p" => red.queue.max_p = part()?,
        "weight" => red.queue.weight = part()?,
        MEAN_PACKET => red.queue.unit = unit(value).ok_or_else(wrong)?,
        "gentle" => red.gentle = yes()?,
        "wait" => red.wait = yes()?,
        _ => red.rules = choice(name, value, [("paper", Rules::FloydJacobson), ("ns2", Rules::Ns2)])?,
    }
    Ok(())
}

/// The unit of queues whose packets are so long in the mean.
fn unit(mean_packet: &str) -> Option<Unit> {
    if mean_packet == "none" {
        return Some(Unit::Packets);
    }
    let Bytes(bytes) = mean_packet.parse().ok()?;
    u32::try_from(bytes).ok().filter(|&mean| mean > 0).map(|mean| Unit::Bytes { mean })
}

fn sorted(mut names: Vec<&'static str>) -> Vec<&'static str> {
    names.sort_unstable();
    names.dedup();
    names
}
