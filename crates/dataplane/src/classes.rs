//! The flow class table: which class a packet's flow is of.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use dovetail_wire::{FiveTuple, Prefix, has_ports, protocol_name};

/// What a packet must be to match; what is `None` matches all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rule {
    /// IP protocol number.
    pub protocol: Option<u8>,
    /// The sender's addresses.
    pub src: Option<Prefix>,
    /// The receiver's addresses.
    pub dst: Option<Prefix>,
    /// The sender's ports. A packet without ports does not match.
    pub sport: Option<RangeInclusive<u16>>,
    /// The receiver's ports. A packet without ports does not match.
    pub dport: Option<RangeInclusive<u16>>,
}

impl Rule {
    /// Why no packet can match, if none can.
    pub fn contradiction(&self) -> Option<String> {
        if let (Some(src), Some(dst)) = (self.src, self.dst)
            && src.addr().is_ipv4() != dst.addr().is_ipv4()
        {
            return Some(format!("{src} and {dst} are of two versions of IP"));
        }
        let protocol = self.protocol.filter(|&protocol| !has_ports(protocol))?;
        let name = protocol_name(protocol).map_or_else(|| format!("protocol {protocol}"), str::to_string);
        (self.sport.is_some() || self.dport.is_some()).then(|| format!("{name} has no ports"))
    }

    /// Whether every packet that matches `other` matches this one.
    pub fn covers(&self, other: &Self) -> bool {
        fn all<T>(own: &Option<T>, other: &Option<T>, covers: impl Fn(&T, &T) -> bool) -> bool {
            own.as_ref().is_none_or(|own| other.as_ref().is_some_and(|other| covers(own, other)))
        }
        let block =
            |own: &Prefix, other: &Prefix| own.len() <= other.len() && Prefix::of(other.addr(), own.len()) == *own;
        let range = |own: &RangeInclusive<u16>, other: &RangeInclusive<u16>| {
            own.start() <= other.start() && other.end() <= own.end()
        };
        all(&self.protocol, &other.protocol, |own, other| own == other)
            && all(&self.src, &other.src, block)
            && all(&self.dst, &other.dst, block)
            && all(&self.sport, &other.sport, range)
            && all(&self.dport, &other.dport, range)
    }

    /// Whether a packet of this flow matches.
    pub fn matches(&self, tuple: &FiveTuple) -> bool {
        let within = |prefix: Option<Prefix>, addr: IpAddr| prefix.is_none_or(|p| Prefix::of(addr, p.len()) == p);
        let port = |range: &Option<RangeInclusive<u16>>, port: Option<u16>| {
            range.as_ref().is_none_or(|range| port.is_some_and(|port| range.contains(&port)))
        };
        self.protocol.is_none_or(|p| p == tuple.protocol)
            && within(self.src, tuple.src)
            && within(self.dst, tuple.dst)
            && port(&self.sport, tuple.ports.map(|p| p.src))
            && port(&self.dport, tuple.ports.map(|p| p.dst))
    }
}

/// Rules in order; the first that matches says the class. O(rules), once per frame.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClassTable {
    rules: Vec<(Rule, u16)>,
    otherwise: u16,
}

impl ClassTable {
    /// Rules with their classes, and the class of what matches none.
    pub fn new(rules: Vec<(Rule, u16)>, otherwise: u16) -> Self {
        Self { rules, otherwise }
    }

    /// The same rules for classes that have other numbers: the place of each in `numbers` is the one that it has here.
    #[must_use]
    pub fn renamed(self, numbers: &[u16]) -> Self {
        let number = |class: u16| numbers[usize::from(class)];
        let rules = self.rules.into_iter().map(|(rule, class)| (rule, number(class))).collect();
        Self { rules, otherwise: number(self.otherwise) }
    }

    /// The class of a packet; `None` is one that carries no flow.
    pub fn class(&self, tuple: Option<&FiveTuple>) -> u16 {
        let rule = tuple.and_then(|tuple| self.rules.iter().find(|(rule, _)| rule.matches(tuple)));
        rule.map_or(self.otherwise, |(_, class)| *class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_wire::Ports;

    fn udp(src: &str, dst: &str, ports: Option<(u16, u16)>) -> FiveTuple {
        let ports = ports.map(|(src, dst)| Ports { src, dst });
        FiveTuple { src: src.parse().unwrap(), dst: dst.parse().unwrap(), protocol: 17, ports }
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let net = Some(Prefix::of("10.1.0.0".parse().unwrap(), 16));
        let table = ClassTable::new(
            vec![
                (Rule { protocol: Some(17), dport: Some(5000..=5009), ..Rule::default() }, 1),
                (Rule { src: net, ..Rule::default() }, 2),
            ],
            0,
        );
        let class = |tuple| table.class(Some(&tuple));
        assert_eq!(class(udp("10.1.2.3", "10.9.0.1", Some((1, 5009)))), 1);
        assert_eq!(class(udp("10.1.2.3", "10.9.0.1", Some((1, 5010)))), 2);
        assert_eq!(class(udp("10.2.2.3", "10.9.0.1", Some((1, 5010)))), 0);
        assert_eq!(class(udp("10.2.2.3", "10.9.0.1", None)), 0, "a fragment has no port");
        assert_eq!(class(udp("fe80::1", "fe80::2", Some((1, 5000)))), 1);
        assert_eq!(table.class(None), 0);
    }

    #[test]
    fn a_rule_covers_what_has_no_more_to_match() {
        let block = |text: &str| Some(text.parse().unwrap());
        let all = Rule::default();
        let net = Rule { src: block("10.0.0.0/8"), ..all.clone() };
        let part = Rule { src: block("10.1.0.0/16"), protocol: Some(17), dport: Some(5000..=5009), ..all.clone() };
        let ports = Rule { protocol: Some(17), dport: Some(5000..=5999), ..all.clone() };
        for wide in [&all, &net, &ports, &part] {
            assert!(wide.covers(&part), "{wide:?}");
        }
        for narrow in [&all, &net, &ports] {
            assert!(!part.covers(narrow), "{narrow:?}");
        }
        assert!(!net.covers(&ports) && !ports.covers(&net) && all.covers(&all));
        // Without a block it is of both versions.
        assert!(!Rule { src: block("0.0.0.0/0"), ..all.clone() }.covers(&all));
        assert!(!Rule { src: block("0.0.0.0/0"), ..all.clone() }.covers(&Rule { src: block("::/0"), ..all }));
    }
}
