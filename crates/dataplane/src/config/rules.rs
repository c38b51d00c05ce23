//! Which flows are of a class, as it is written.

use dovetail_config::{InputError, Text};
use dovetail_wire::Prefix;
use serde::Deserialize;
use toml::Spanned;

use super::Config;
use super::values::{PortRange, Protocol};
use crate::classes::Rule;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Match {
    protocol: Option<Spanned<Text<Protocol>>>,
    src: Option<Text<Prefix>>,
    dst: Option<Text<Prefix>>,
    sport: Option<Text<PortRange>>,
    dport: Option<Text<PortRange>>,
}

impl Match {
    /// Its protocol as it was written.
    pub fn protocol(&self) -> Option<Protocol> {
        self.protocol.as_ref().map(|protocol| protocol.get_ref().0)
    }

    pub fn rule(&self) -> Rule {
        let (protocol, vital) = match self.protocol() {
            None => (None, None),
            Some(Protocol::Ip(number)) => (Some(number), None),
            Some(Protocol::Vital(vital)) => (None, Some(vital)),
        };
        Rule {
            vital,
            protocol,
            src: self.src.map(|block| block.0),
            dst: self.dst.map(|block| block.0),
            sport: self.sport.as_ref().map(|range| range.0.0.clone()),
            dport: self.dport.as_ref().map(|range| range.0.0.clone()),
        }
    }
}

impl Config {
    /// Every list has a rule, and every rule matches something, and something that no rule of a class before it takes.
    /// O(rules^2).
    pub(super) fn check_rules(&self) -> Result<(), InputError> {
        let mut before: Vec<(&str, Vec<Rule>)> = Vec::new();
        for class in &self.file.class {
            let class = class.get_ref();
            let name = class.name.get_ref().as_str();
            if let Some(none) = class.rules.as_ref().filter(|rules| rules.get_ref().is_empty()) {
                let message = format!("no packet matches this: there is no rule, and class {name:?} gets nothing");
                return Err(self
                    .at(none.span(), message)
                    .with_help("for what matches no other class, leave `match` out"));
            }
            let rules: Vec<Rule> = class.rules().iter().map(|rule| rule.get_ref().rule()).collect();
            for (rule, written) in rules.iter().zip(class.rules()) {
                if let Some(why) = rule.contradiction() {
                    return Err(self.at(written.span(), format!("no packet matches this: {why}")));
                }
                let covers = |(_, earlier): &&(&str, Vec<Rule>)| earlier.iter().any(|earlier| earlier.covers(rule));
                if let Some((first, earlier)) = before.iter().find(covers) {
                    let message =
                        format!("class {first:?} takes all that matches this, and class {name:?} gets none of it");
                    // The other way round, this class must not take all of a rule of that one.
                    let circle = rules.iter().any(|rule| earlier.iter().any(|earlier| rule.covers(earlier)));
                    let help = match circle {
                        true => "leave this rule out".to_string(),
                        false => format!("put class {name:?} before {first:?}"),
                    };
                    return Err(self.at(written.span(), message).with_help(help));
                }
            }
            before.push((name, rules));
        }
        Ok(())
    }
}
