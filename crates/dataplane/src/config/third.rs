//! A resource between CPU and link, and what packets of a class occupy.

use std::fmt;

use dovetail_config::{ByResource, InputError, Text, unknown};
use dovetail_sched::cost::Linear;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use toml::Spanned;

use super::values::Frames;
use super::{BUFFER, Class, Config};
use crate::core::{Buffer, Overflow, ThirdResource};

/// A resource as it is written.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResourceTable {
    /// What costs and parameters of schedulers call it.
    name: Spanned<String>,
    /// What may wait in front of it. Default 64 packets.
    buffer: Option<Text<Frames>>,
    #[serde(default)]
    overflow: Overflow,
}

/// What packets of a class occupy: `"8 us"` is of the CPU, and `{ cpu = "8 us", crypto = "40 us" }` of each resource
/// that it names.
#[derive(Clone, Debug)]
pub(super) struct Costs(ByResource<Text<Linear>>);

const CPU: &str = "cpu";

impl<'de> Deserialize<'de> for Costs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CostsVisitor)
    }
}

struct CostsVisitor;

impl<'de> Visitor<'de> for CostsVisitor {
    type Value = Costs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time on the CPU such as \"8 us\", or times by resource such as { cpu = \"8 us\" }")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Costs, E> {
        let time = text.parse().map_err(E::custom)?;
        Ok(Costs(ByResource::only(CPU, Text(time))))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Costs, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Costs, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Costs, A::Error> {
        let costs = ByResource::read(map)?;
        if costs.is_empty() {
            return Err(de::Error::custom("{}: expected a time of some resource, such as { cpu = \"8 us\" }"));
        }
        Ok(Costs(costs))
    }
}

impl Costs {
    fn of(&self, resource: &str) -> Option<Linear> {
        self.0.get(resource).map(|cost| cost.0)
    }
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others = self.0.iter().filter(|(name, _)| *name != CPU);
        let others: Vec<String> = others.map(|(name, cost)| format!("{} of {name}", cost.0)).collect();
        let alone = others.is_empty();
        let cpu = self.of(CPU).map(|cost| if alone { cost.to_string() } else { format!("{cost} of {CPU}") });
        f.write_str(&cpu.into_iter().chain(others).collect::<Vec<_>>().join(", "))
    }
}

impl Class {
    /// What its packets are charged on the CPU, if that need not be measured.
    pub(super) fn cpu_cost(&self) -> Option<Linear> {
        self.cost.as_ref().and_then(|cost| cost.get_ref().of(CPU))
    }

    /// For how long its packets occupy this resource.
    pub(super) fn third_cost(&self, third: Option<&ThirdResource>) -> Option<Linear> {
        self.cost.as_ref().zip(third).and_then(|(cost, third)| cost.get_ref().of(&third.name))
    }
}

impl Config {
    /// The resource between CPU and link.
    pub(super) fn third(&self) -> Option<ThirdResource> {
        let ResourceTable { name, buffer, overflow } = self.file.resource.first()?.get_ref();
        let frames = buffer.as_ref().map_or(Some(BUFFER), |buffer| buffer.0.0);
        Some(ThirdResource { name: name.get_ref().clone(), buffer: Buffer { frames, overflow: *overflow } })
    }

    pub(super) fn check_resources(&self) -> Result<(), InputError> {
        if let Some(second) = self.file.resource.get(1) {
            return Err(self.at(second.span(), "a box has at most one resource beside cpu and link"));
        }
        for resource in &self.file.resource {
            let name = &resource.get_ref().name;
            let text = name.get_ref().as_str();
            if ["cpu", "link"].contains(&text) {
                let message = format!("{text:?}: every box has it; a third resource needs another name");
                return Err(self.at(name.span(), message).with_help(format!("[{text}] says what it can do")));
            }
            let is_word = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
            if !is_word {
                let message = format!("{text:?}: expected a name of letters, digits, - and _, such as \"crypto\"");
                return Err(self.at(name.span(), message));
            }
        }
        let third = self.third();
        let known: Vec<&str> = [CPU].into_iter().chain(third.iter().map(|third| third.name.as_str())).collect();
        for cost in self.file.class.iter().filter_map(|class| class.get_ref().cost.as_ref()) {
            let Some(name) = cost.get_ref().0.stray(&known) else { continue };
            return Err(match name.get_ref().as_str() {
                "link" => {
                    let message = "the time on the link follows from its rate";
                    self.at(name.span(), message).with_help("[link] has the rate")
                }
                other => self.at(name.span(), unknown("resource", other, &known)),
            });
        }
        Ok(())
    }
}
