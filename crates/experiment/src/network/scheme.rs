//! What stands in front of CPUs and links: `red+red`, `drr+red`, `drq`.

use dovetail_sched::aqm::{Densities, Density, Drq, DrqConfig, Fraction, Red, RedConfig, Rules};
use dovetail_sched::catalog::Entry;
use dovetail_sched::{Shape, Spec, build, catalog};
use dovetail_sim::network::Queueing;
use dovetail_units::Duration;

use crate::scenario::nearest;

/// Active queue management by name, with what it does.
pub const MANAGERS: [(&str, &str); 2] = [
    ("red", "Random Early Detection: drops or marks by chance, the more the longer the average queue"),
    ("drq", "Dual-Resource Queue: marks so that TCP shares CPUs and links proportionally fairly (Shin et al. 2006)"),
];

/// Parameters of the managers: name, value, default, meaning.
pub const PARAMETERS: [[&str; 4]; 6] = [
    ["min", "packets", "50", "nothing is dropped or marked below this average queue"],
    ["max", "packets", "550", "the average queue at which the probability is max_p; it is 1 at twice that"],
    ["max_p", "above 0, at most 1", "0.1", "probability at max"],
    ["weight", "above 0, at most 1", "0.0001", "weight of a new sample in the average queue"],
    ["wait", "yes or no", "no", "red: keep drops or marks apart"],
    ["rules", "paper or ns2", "paper", "red: as Floyd and Jacobson have it, or as ns-2"],
];

/// A scheduler for the CPUs and one for the links of a network.
#[derive(Clone, PartialEq, Debug)]
pub struct Scheme {
    /// As it was named.
    pub spec: Spec,
    cpu: Part,
    link: Part,
}

/// In front of one resource.
#[derive(Clone, PartialEq, Debug)]
enum Part {
    Fifo,
    Red(RedConfig),
    Drq(DrqConfig),
    PerFlow(Spec),
}

impl Scheme {
    /// One name stands for all resources, `a+b` for CPUs and links.
    ///
    /// # Errors
    /// What is wrong, with the nearest right name.
    pub fn new(spec: &Spec) -> Result<Self, String> {
        let names: Vec<&str> = spec.name.split('+').map(str::trim).collect();
        let (cpu, link) = match names[..] {
            [both] => (both, both),
            [cpu, link] => (cpu, link),
            _ => {
                return Err(format!(
                    "{:?}: a network takes one scheduler for CPUs and one for links, such as red+red",
                    spec.name
                ));
            }
        };
        let parts = [kind(cpu)?, kind(link)?];
        if let Some((key, _)) = spec.parameters.iter().find(|(key, _)| !parts.iter().any(|p| p.takes(key))) {
            let known: Vec<&str> = parts.iter().flat_map(Kind::parameters).collect();
            return Err(match nearest(key, known.iter().copied()) {
                Some(near) => format!("{} has no parameter {key:?}; did you mean {near:?}?", spec.name),
                None if known.is_empty() => format!("{} has no parameters", spec.name),
                None => format!("{} has no parameter {key:?}; it has {}", spec.name, sorted(known).join(", ")),
            });
        }
        let [cpu, link] = parts.map(|kind| kind.part(spec));
        Ok(Self { spec: spec.clone(), cpu: cpu?, link: link? })
    }

    /// In front of a CPU, or a link, where a packet takes `packet` in the mean.
    pub fn queueing(&self, cpu: bool, packet: Duration) -> Queueing {
        match if cpu { &self.cpu } else { &self.link } {
            Part::Fifo => Queueing::DropTail,
            Part::Red(config) => Queueing::Red(RedConfig { packet, ..*config }),
            Part::Drq(config) => Queueing::Drq(DrqConfig { packet, ..*config }),
            Part::PerFlow(spec) => Queueing::PerFlow(spec.clone()),
        }
    }

    /// Whether every flow has a queue of its own in front of a CPU, or a link.
    pub fn per_flow(&self, cpu: bool) -> bool {
        matches!(if cpu { &self.cpu } else { &self.link }, Part::PerFlow(_))
    }
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

fn kind(name: &str) -> Result<Kind, String> {
    match name {
        "red" => return Ok(Kind::Red),
        "drq" => return Ok(Kind::Drq),
        "fifo" => return Ok(Kind::Fifo),
        _ => {}
    }
    let known = names();
    match catalog().iter().find(|e| e.name == name) {
        Some(entry) if entry.can_be_part() => Ok(Kind::PerFlow(entry)),
        Some(_) => Err(format!(
            "{name} decides for all resources of one pipeline; in front of a resource of a network there can be {}",
            known.join(", ")
        )),
        None => Err(match nearest(name, known.iter().copied()) {
            Some(near) => format!("there is no scheduler {name:?} of one resource; did you mean {near:?}?"),
            None => format!("there is no scheduler {name:?} of one resource; there are {}", known.join(", ")),
        }),
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

    fn part(self, spec: &Spec) -> Result<Part, String> {
        let own = || spec.parameters.iter().filter(|(key, _)| self.takes(key));
        // Any time: the resource's own is put in later.
        let packet = Duration::from_micros(100);
        match self {
            Self::Fifo => Ok(Part::Fifo),
            Self::PerFlow(entry) => {
                let spec = Spec { name: entry.name.to_string(), parameters: own().cloned().collect() };
                build::<1, ()>(&spec, Shape { servers: 1 }).map_err(|e| e.to_string())?;
                Ok(Part::PerFlow(spec))
            }
            Self::Red => {
                let mut red = RedConfig::new(packet);
                own().try_for_each(|(key, value)| set_red(&mut red, key, value))?;
                Red::new(red).map_err(|e| format!("{spec}: {e}"))?;
                Ok(Part::Red(red))
            }
            Self::Drq => {
                let mut red = RedConfig::new(packet);
                own().try_for_each(|(key, value)| set_red(&mut red, key, value))?;
                let RedConfig { min, max, max_p, weight, .. } = red;
                let drq = DrqConfig { min, max, max_p, weight, ..DrqConfig::new(packet) };
                let densities = Densities::new(vec![Density::ONE], Fraction::ZERO);
                densities.and_then(|densities| Drq::cpu(drq, densities)).map_err(|e| format!("{spec}: {e}"))?;
                Ok(Part::Drq(drq))
            }
        }
    }
}

fn set_red(red: &mut RedConfig, key: &str, value: &str) -> Result<(), String> {
    let wrong = || {
        let expected = PARAMETERS.iter().find(|p| p[0] == key).map_or("", |p| p[1]);
        format!("{key}={value}: expected {expected}")
    };
    let packets = || value.parse::<u32>().map_err(|_| wrong());
    let part = || value.parse::<f64>().ok().and_then(Fraction::from_f64).ok_or_else(wrong);
    match key {
        "min" => red.min = packets()?,
        "max" => red.max = packets()?,
        "max_p" => red.max_p = part()?,
        "weight" => red.weight = part()?,
        "wait" => red.wait = choice(value, [("yes", true), ("no", false)]).ok_or_else(wrong)?,
        _ => red.rules = choice(value, [("paper", Rules::FloydJacobson), ("ns2", Rules::Ns2)]).ok_or_else(wrong)?,
    }
    Ok(())
}

fn choice<T>(value: &str, choices: [(&str, T); 2]) -> Option<T> {
    choices.into_iter().find(|(name, _)| *name == value).map(|(_, chosen)| chosen)
}

fn sorted(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_unstable();
    names.dedup();
    names
}
