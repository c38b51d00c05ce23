//! What stands in front of a CPU and in front of a link where TCP is told to slow down: `red+red`, `drr+red`, `drq`.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use dovetail_units::{Density, Duration};

use super::{AqmError, Densities, Drq, DrqConfig, Fraction, Red, RedConfig, Rules};
use crate::catalog::{self, Entry, Shape, build, catalog, split_names};
use crate::spec::{Spec, SpecError, choice};

/// Active queue management by name, with what it does.
pub const MANAGERS: [(&str, &str); 2] = [
    ("red", "Random Early Detection: drops or marks by chance, the more the longer the average queue"),
    ("drq", "Dual-Resource Queue: marks so that TCP shares CPUs and links proportionally fairly (Shin et al. 2006)"),
];

/// Parameters of the managers: name, value, default, meaning.
pub const PARAMETERS: [[&str; 4]; 6] = [
    ["min", "whole packets, below max", "50", "nothing is dropped or marked below this average queue"],
    [
        "max",
        "whole packets, at most 2^30",
        "550",
        "the average queue at which the probability is max_p; it is 1 at twice that",
    ],
    ["max_p", "above 0, at most 1", "0.1", "probability at max"],
    ["weight", "above 0, at most 1", "0.0001", "weight of a new sample in the average queue"],
    ["wait", "yes or no", "no", "red: keep drops or marks apart"],
    ["rules", "paper or ns2", "paper", "red: as Floyd and Jacobson have it, or as ns-2"],
];

/// What stands in front of CPUs, and what in front of links.
#[derive(Clone, PartialEq, Debug)]
pub struct Scheme {
    /// As it was named.
    pub spec: Spec,
    /// In front of a CPU.
    pub cpu: Standing,
    /// In front of a link.
    pub link: Standing,
}

/// What stands in front of one resource.
#[derive(Clone, PartialEq, Debug)]
pub enum Standing {
    /// A queue in order of arrival.
    Fifo,
    /// One under RED.
    Red(RedConfig),
    /// One under DRQ.
    Drq(DrqConfig),
    /// A scheduler of one resource, with a queue for every flow.
    PerFlow(Spec),
}

impl Standing {
    /// In front of a resource on which a packet takes `packet` in the mean.
    pub fn with_packet(&self, packet: Duration) -> Self {
        match self {
            Self::Red(config) => Self::Red(RedConfig { packet, ..*config }),
            Self::Drq(config) => Self::Drq(DrqConfig { packet, ..*config }),
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

/// The names that `name` joins by plus signs: of managers, or of disciplines, whether they can stand in front of one resource or not.
///
/// # Errors
/// One of them does not exist, or is missing.
pub fn parts(name: &str) -> Result<Vec<&'static str>, SpecError> {
    split(name, all())
}

/// As [`parts`]; `alone` is what a single name that does not exist may have been meant for.
fn split(name: &str, alone: Vec<&'static str>) -> Result<Vec<&'static str>, SpecError> {
    split_names(name, &all()).map_err(|rest| match rest.split('+').next().map(str::trim) {
        Some("") | None => SpecError::missing_part(name, name.len() - rest.len()),
        Some(part) if part == name => SpecError::unknown_name(part, alone),
        Some(part) => SpecError::unknown_name(part, names()),
    })
}

fn all() -> Vec<&'static str> {
    MANAGERS.iter().map(|(manager, _)| *manager).chain(catalog::names()).collect()
}

/// Whether active queue management has a part in what is called `name`.
///
/// # Errors
/// As [`parts`].
pub fn manages(name: &str) -> Result<bool, SpecError> {
    Ok(parts(name)?.iter().any(|part| MANAGERS.iter().any(|(manager, _)| manager == part)))
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
    let single = catalog().iter().filter(|e| e.can_be_part()).map(|e| e.name);
    MANAGERS.iter().map(|(name, _)| *name).chain(single).collect()
}

fn kind(name: &str) -> Result<Kind, SpecError> {
    match name {
        "red" => return Ok(Kind::Red),
        "drq" => return Ok(Kind::Drq),
        "fifo" => return Ok(Kind::Fifo),
        _ => {}
    }
    let known = names();
    match catalog().iter().find(|e| e.name == name) {
        Some(entry) if entry.can_be_part() => Ok(Kind::PerFlow(entry)),
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
            Self::Red => PARAMETERS.iter().map(|p| p[0]).collect(),
            Self::Drq => PARAMETERS[..4].iter().map(|p| p[0]).collect(),
            Self::PerFlow(entry) => entry.parameters.iter().map(|p| p.name).filter(|&n| n != RESOURCE).collect(),
        }
    }

    fn takes(&self, key: &str) -> bool {
        self.parameters().contains(&key)
    }

    fn standing(self, spec: &Spec) -> Result<Standing, SpecError> {
        let wrong = |error: AqmError| SpecError::new(&spec.name, format!("{spec}: {error}"));
        let own = || spec.parameters.iter().filter(|(key, _)| self.takes(key));
        // Any time: the resource's own is put in later.
        let packet = Duration::from_micros(100);
        match self {
            Self::Fifo => Ok(Standing::Fifo),
            Self::PerFlow(entry) => {
                let spec = Spec { name: entry.name.to_string(), parameters: own().cloned().collect() };
                build::<1, ()>(&spec, Shape { servers: 1 })?;
                Ok(Standing::PerFlow(spec))
            }
            Self::Red => {
                let mut red = RedConfig::new(packet);
                own().try_for_each(|(key, value)| set_red(&mut red, key, value))?;
                Red::new(red).map_err(wrong)?;
                Ok(Standing::Red(red))
            }
            Self::Drq => {
                let mut red = RedConfig::new(packet);
                own().try_for_each(|(key, value)| set_red(&mut red, key, value))?;
                let RedConfig { min, max, max_p, weight, .. } = red;
                let drq = DrqConfig { min, max, max_p, weight, ..DrqConfig::new(packet) };
                let densities = Densities::new(&[Density::ONE], Fraction::ZERO);
                densities.and_then(|densities| Drq::cpu(drq, densities)).map_err(wrong)?;
                Ok(Standing::Drq(drq))
            }
        }
    }
}

fn set_red(red: &mut RedConfig, key: &str, value: &str) -> Result<(), SpecError> {
    let wrong = || {
        let expected = PARAMETERS.iter().find(|p| p[0] == key).map_or("", |p| p[1]);
        SpecError::bad_value(key, value, expected)
    };
    let packets = || value.parse::<u32>().map_err(|_| wrong());
    let part = || value.parse::<f64>().ok().and_then(Fraction::from_f64).ok_or_else(wrong);
    match key {
        "min" => red.min = packets()?,
        "max" => red.max = packets()?,
        "max_p" => red.max_p = part()?,
        "weight" => red.weight = part()?,
        "wait" => red.wait = choice(key, value, [("yes", true), ("no", false)])?,
        _ => red.rules = choice(key, value, [("paper", Rules::FloydJacobson), ("ns2", Rules::Ns2)])?,
    }
    Ok(())
}

fn sorted(mut names: Vec<&'static str>) -> Vec<&'static str> {
    names.sort_unstable();
    names.dedup();
    names
}
