//! Which packets are of a class, as it is written: in the box's configuration and in scenarios that replay captures.

use std::ops::{Range, RangeInclusive};
use std::str::FromStr;

use dovetail_wire::{Prefix, Rule, Vital, protocol_name};
use serde::Deserialize;
use toml::Spanned;

use crate::{Text, nearest};

/// What a packet must be to be of the class. What is left out matches all.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Match {
    protocol: Option<Spanned<Text<Protocol>>>,
    src: Option<Text<Prefix>>,
    dst: Option<Text<Prefix>>,
    sport: Option<Text<PortRange>>,
    dport: Option<Text<PortRange>>,
    port: Option<Text<PortRange>>,
    dscp: Option<Text<Dscp>>,
    vlan: Option<Text<Vlan>>,
}

impl Match {
    /// Its protocol as it was written.
    pub fn protocol(&self) -> Option<Protocol> {
        self.protocol.as_ref().map(|protocol| protocol.get_ref().0)
    }

    /// What it means.
    pub fn rule(&self) -> Rule {
        let (protocol, vital) = match self.protocol() {
            None => (None, None),
            Some(Protocol::Ip(number)) => (Some(number), None),
            Some(Protocol::Vital(vital)) => (None, Some(vital)),
        };
        let range = |written: &Option<Text<PortRange>>| written.as_ref().map(|range| range.0.0.clone());
        Rule {
            vital,
            protocol,
            src: self.src.map(|block| block.0),
            dst: self.dst.map(|block| block.0),
            sport: range(&self.sport),
            dport: range(&self.dport),
            port: range(&self.port),
            dscp: self.dscp.map(|dscp| dscp.0.0),
            vlan: self.vlan.map(|vlan| vlan.0.0),
        }
    }
}

/// The rules of a class, with their places; none for a class that takes the rest.
pub type Rules = Option<Spanned<Vec<Spanned<Match>>>>;

/// What is wrong with a rule.
#[derive(Clone, Debug)]
pub struct Wrong {
    /// Where.
    pub span: Range<usize>,
    /// What.
    pub message: String,
    /// What helps.
    pub help: Option<String>,
}

/// Every list has a rule, and every rule matches something, and something that no rule of a class before it takes.
/// O(rules^2).
///
/// # Errors
/// The first rule of which that is not so.
pub fn check<'a>(classes: impl Iterator<Item = (&'a str, &'a Rules)>) -> Result<(), Wrong> {
    let wrong = |span, message: String, help| Err(Wrong { span, message, help });
    let mut before: Vec<(&str, Vec<Rule>)> = Vec::new();
    for (name, list) in classes {
        let Some(list) = list else { continue };
        if list.get_ref().is_empty() {
            let message = format!("no packet matches this: there is no rule, and class {name:?} gets nothing");
            return wrong(list.span(), message, Some("for what matches no other class, leave `match` out".into()));
        }
        let rules: Vec<Rule> = list.get_ref().iter().map(|rule| rule.get_ref().rule()).collect();
        for (rule, written) in rules.iter().zip(list.get_ref()) {
            if let Some(why) = rule.contradiction() {
                return wrong(written.span(), format!("no packet matches this: {why}"), None);
            }
            let covers = |(_, earlier): &&(&str, Vec<Rule>)| earlier.iter().any(|earlier| earlier.covers(rule));
            let Some((first, earlier)) = before.iter().find(covers) else { continue };
            let message = format!("class {first:?} takes all that matches this, and class {name:?} gets none of it");
            // The other way round, this class must not take all of a rule of that one.
            let circle = rules.iter().any(|rule| earlier.iter().any(|earlier| rule.covers(earlier)));
            let help = match circle {
                true => "leave this rule out".to_string(),
                false => format!("put class {name:?} before {first:?}"),
            };
            return wrong(written.span(), message, Some(help));
        }
        before.push((name, rules));
    }
    Ok(())
}

/// An IP protocol by name or number, or what is [`Vital`] and has none.
#[derive(Clone, Copy, Debug)]
pub enum Protocol {
    /// By its number.
    Ip(u8),
    /// What keeps a network alive.
    Vital(Vital),
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(vital) = Vital::ALL.into_iter().find(|vital| vital.name() == text) {
            return Ok(Self::Vital(vital));
        }
        let names = || (0..=u8::MAX).filter_map(protocol_name).chain(Vital::ALL.map(Vital::name));
        let by_name = (0..=u8::MAX).find(|&number| protocol_name(number) == Some(text));
        by_name.or_else(|| text.parse().ok()).map(Self::Ip).ok_or_else(|| match nearest(text, names()) {
            Some(near) => format!("there is no protocol {text:?}; did you mean {near:?}?"),
            None => format!("{text:?}: expected a protocol such as \"udp\" or \"arp\", or its number from 0 to 255"),
        })
    }
}

/// `5000` or `5000-5999`.
#[derive(Clone, Debug)]
pub struct PortRange(pub RangeInclusive<u16>);

impl FromStr for PortRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("{text:?}: expected a port such as 443, or a range such as \"5000-5999\"");
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let port = |text: &str| text.trim().parse::<u16>().map_err(|_| expected());
        let (first, last) = (port(first)?, port(last)?);
        if first <= last { Ok(Self(first..=last)) } else { Err(expected()) }
    }
}

/// A code point of differentiated services: `ef`, `af41`, `cs5`, or its number.
#[derive(Clone, Copy, Debug)]
pub struct Dscp(pub u8);

impl FromStr for Dscp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.trim().to_ascii_lowercase();
        let class = |digits: &str| match digits.as_bytes() {
            [class @ b'1'..=b'4', drop @ b'1'..=b'3'] => Some(8 * (class - b'0') + 2 * (drop - b'0')),
            _ => None,
        };
        let number = match name.as_str() {
            "ef" => Some(46),
            _ if name.starts_with("af") => class(&name[2..]),
            _ if name.starts_with("cs") => name[2..].parse::<u8>().ok().filter(|&n| n < 8).map(|n| 8 * n),
            _ => name.parse().ok(),
        };
        let expected = || format!("{text:?}: expected a code point such as \"ef\", \"af41\", \"cs5\" or 0 to 63");
        number.filter(|&number| number < 64).map(Self).ok_or_else(expected)
    }
}

/// A VLAN: 1 to 4094.
#[derive(Clone, Copy, Debug)]
pub struct Vlan(pub u16);

impl FromStr for Vlan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().parse().ok().filter(|number| (1..=4094).contains(number));
        number.map(Self).ok_or_else(|| format!("{text:?}: expected a VLAN from 1 to 4094"))
    }
}
