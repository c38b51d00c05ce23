//! What refers to what: resources and classes by name.

use dovetail_config::{Whole, number};
use dovetail_sched::cost::{Linear, Prediction};
use dovetail_sim::{Cost, Estimate, Resize};
use dovetail_units::{Duration, Part};

use super::MAX_RESOURCES;
use super::file::{Class, File, Overflow, Resource};
use super::flows::class_time;
use super::value::{Room, Told};
use super::{ScenarioError, unknown};

/// Resources and classes, checked: names are unique, and every class has a cost for every resource.
#[derive(Clone, Debug)]
pub struct Names {
    classes: Vec<ClassCost>,
}

/// What a class costs, resource by resource.
#[derive(Clone, Debug)]
pub struct ClassCost {
    /// The class's name.
    pub name: String,
    /// The true cost.
    pub cost: Vec<Cost>,
    /// How far true times may be from it, in millionths.
    pub spread: Vec<u32>,
    /// What becomes of lengths on the first resource.
    pub resize: Resize,
    /// What schedulers are told.
    pub estimate: Vec<Estimate>,
    /// Which part of its fair share each of its flows is guaranteed, if not that of all.
    pub alpha: Option<Part>,
}

impl ClassCost {
    /// What a packet of `size` bytes takes on a resource on average, about.
    pub fn mean_time(&self, resource: usize, size: u32) -> Duration {
        let factor =
            if resource == 0 { 1.0 } else { (f64::from(self.resize.least) + f64::from(self.resize.most)) / 2e6 };
        class_time(&self.cost[resource], (f64::from(size) * factor).round() as u32)
    }
}

impl Names {
    /// Check a scenario's names.
    pub fn check(name: &str, text: &str, file: &File) -> Result<Self, ScenarioError> {
        let at = |span: std::ops::Range<usize>, message: String| ScenarioError::at(name, text, span, message);
        if file.resource.is_empty() {
            return Err(ScenarioError::new(
                name,
                "there is no [[resource]]: at least one is needed, such as a cpu and a link; a network has a [[hop]]",
            ));
        }
        if file.resource.len() > MAX_RESOURCES {
            return Err(at(
                file.resource[MAX_RESOURCES].span(),
                format!("at most {MAX_RESOURCES} resources are possible"),
            ));
        }
        for (i, resource) in file.resource.iter().enumerate() {
            check_resource(resource.get_ref(), &file.resource[..i]).map_err(|m| at(resource.span(), m))?;
        }
        check_no_wait(file).map_err(|(span, m)| at(span, m))?;
        let mut classes: Vec<ClassCost> = Vec::new();
        for class in &file.class {
            if class.get_ref().name.is_empty() {
                return Err(at(class.span(), "a class needs a name".into()));
            }
            check_name(&class.get_ref().name).map_err(|m| at(class.span(), m))?;
            if classes.iter().any(|c| c.name == class.get_ref().name) {
                return Err(at(class.span(), format!("the class {:?} is there twice", class.get_ref().name)));
            }
            classes.push(class_cost(class.get_ref(), file).map_err(|(span, m)| at(span.unwrap_or(class.span()), m))?);
        }
        Ok(Self { classes })
    }

    /// The classes, in the order of the file.
    pub fn classes(&self) -> &[ClassCost] {
        &self.classes
    }

    /// The class of this name, or what to say instead.
    pub fn class(&self, name: &str) -> Result<&ClassCost, String> {
        self.classes.iter().find(|c| c.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.classes.iter().map(|c| c.name.as_str()).collect();
            unknown("class", name, &known)
        })
    }
}

/// Names go to terminals.
pub fn check_name(name: &str) -> Result<(), String> {
    match name.chars().any(char::is_control) {
        true => Err(format!("the name {name:?} has a control character")),
        false => Ok(()),
    }
}

fn check_resource(resource: &Resource, before: &[toml::Spanned<Resource>]) -> Result<(), String> {
    check_name(&resource.name)?;
    if resource.name.is_empty() {
        return Err("a resource needs a name".into());
    }
    if before.iter().any(|r| r.get_ref().name == resource.name) {
        return Err(format!("the resource {:?} is there twice", resource.name));
    }
    if before.is_empty() && resource.buffer.is_some() {
        return Err("the first resource has no buffer in front of it: there are the flows' queues".into());
    }
    let bounded = resource.buffer.as_ref().is_some_and(|b| matches!(b.get_ref().0, Room::Packets(_)));
    if resource.overflow == Overflow::Drop && !bounded {
        return Err("overflow = \"drop\" needs a buffer that can be full, such as buffer = \"64 packets\"".into());
    }
    Ok(())
}

/// A pipeline without waiting is without waiting everywhere, and has single servers.
fn check_no_wait(file: &File) -> Result<(), (std::ops::Range<usize>, String)> {
    let no_wait =
        |r: &toml::Spanned<Resource>| r.get_ref().buffer.as_ref().is_some_and(|b| b.get_ref().0 == Room::NoWait);
    let Some(first) = file.resource.iter().find(|r| no_wait(r)).map(|r| &r.get_ref().name) else { return Ok(()) };
    for (index, resource) in file.resource.iter().enumerate() {
        let Resource { name, servers, buffer, .. } = resource.get_ref();
        if index > 0 && !no_wait(resource) {
            let span = buffer.as_ref().map_or(resource.span(), toml::Spanned::span);
            let message = format!(
                "{first:?} has buffer = \"no-wait\" and {name:?} has not: packets wait nowhere, or may wait everywhere"
            );
            return Err((span, message));
        }
        let Whole(count) = *servers.get_ref();
        if count > 1 {
            let message = format!("servers = {count}: a pipeline without waiting has one server each");
            return Err((servers.span(), message));
        }
    }
    Ok(())
}

type Wrong = (Option<std::ops::Range<usize>>, String);

/// Which part of its fair share a flow is guaranteed, to the nearest thousandth. A smaller part is not 0, which is
/// none.
pub fn alpha(written: &toml::Spanned<f64>) -> Result<Part, Wrong> {
    let value = *written.get_ref();
    let is_told_apart = value == 0.0 || (0.001..=1.0).contains(&value);
    let milli = is_told_apart.then(|| (value * 1000.0).round() as u16);
    milli.and_then(Part::from_milli).ok_or_else(|| {
        let expected = "0 (no guarantee) or a number from 0.001 to 1 (all of the fair share)";
        (Some(written.span()), format!("alpha = {}: expected {expected}", number(value)))
    })
}

fn class_cost(class: &Class, file: &File) -> Result<ClassCost, Wrong> {
    let resources: Vec<&Resource> = file.resource.iter().map(|r| r.get_ref()).collect();
    let known: Vec<&str> = resources.iter().map(|r| r.name.as_str()).collect();
    let estimate = match class.estimate.get_ref() {
        Told::First(_) => None,
        Told::Named(named) => named.stray(&known),
    };
    let strays = [
        ("cost", class.cost.get_ref().0.stray(&known)),
        ("spread", class.spread.get_ref().0.stray(&known)),
        ("estimate", estimate),
    ];
    if let Some((key, name)) = strays.into_iter().find_map(|(key, stray)| Some((key, stray?))) {
        return Err((Some(name.span()), format!("{key}: {}", unknown("resource", name.get_ref(), &known))));
    }
    let resize = class.resize.as_ref().map_or(Resize::NONE, |r| r.get_ref().0.0);
    let (cost, spread, estimate) = (Vec::new(), Vec::new(), estimates(class, &known));
    let alpha = class.alpha.as_ref().map(alpha).transpose()?;
    let mut own = ClassCost { name: class.name.clone(), cost, spread, resize, estimate, alpha };
    for resource in resources {
        let linear: Option<Linear> = class.cost.get_ref().0.get(&resource.name).map(|l| l.0);
        own.cost.push(match (linear, resource.rate) {
            (Some(linear), _) => Cost::Linear(linear),
            (None, Some(rate)) => Cost::Link(rate.0),
            (None, None) => {
                let message = format!(
                    "class {:?} has no cost on {:?}, which has no rate: write cost.{} = \"0.015 us/B + 84.5 us\", \
                     or \"0 us\" if its packets do not use it",
                    class.name, resource.name, resource.name
                );
                return Err((None, message));
            }
        });
        let spread = class.spread.get_ref().0.get(&resource.name).map_or(0, |part| part.0.0);
        if spread > 0 && linear.is_none() {
            let message = format!("spread: {:?} has a rate, and a packet's time on a link is exact", resource.name);
            return Err((Some(class.spread.span()), message));
        }
        own.spread.push(spread);
    }
    Ok(own)
}

/// What schedulers are told on each resource. Where the time on the first one is predicted, the new length is not known
/// either: what a further resource will take is told by the learnt resize factor, unless something else is said.
fn estimates(class: &Class, resources: &[&str]) -> Vec<Estimate> {
    let said = |index: usize, name: &&str| match class.estimate.get_ref() {
        Told::First(estimated) => (index == 0).then_some(estimated.0),
        Told::Named(named) => named.get(name).map(|e| e.0.0),
    };
    let said: Vec<Option<Prediction>> = resources.iter().enumerate().map(|(r, name)| said(r, name)).collect();
    let first = said.first().copied().flatten().unwrap_or_default();
    let resized = class.resize.is_some() && first.predicts();
    let estimate = |(r, said): (usize, Option<Prediction>)| match said {
        None if resized && r > 0 => Estimate::Resized { alpha: learning(&first) },
        said => Estimate::Predicted(said.unwrap_or_default()),
    };
    said.into_iter().enumerate().map(estimate).collect()
}

/// The part of the newest observation, in millionths, with which a resize factor is learnt beside this prediction.
fn learning(prediction: &Prediction) -> u32 {
    match prediction {
        Prediction::Ses(parameters, _) => parameters.alpha,
        Prediction::Fit(parameters, _) => parameters.alpha,
        Prediction::Oracle | Prediction::Linear(_) => RESIZE_ALPHA,
    }
}

/// Beside predictions that learn nothing.
const RESIZE_ALPHA: u32 = 100_000;
