//! The flow class table: which class a packet's flow is of.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use dovetail_wire::{FiveTuple, Prefix, has_ports, protocol_name};

/// What keeps a network alive: without it neighbours do not find each other, whatever the other frames are. It passes
/// as it is unless a rule names it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Vital {
    /// Address resolution.
    Arp,
    /// IPv6 neighbour and router discovery, with multicast listener discovery.
    Discovery,
    /// Another protocol that is not IP: spanning tree, LLDP, ...
    NotIp,
}

impl Vital {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Arp, Self::Discovery, Self::NotIp];

    /// What a rule's `protocol` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arp => "arp",
            Self::Discovery => "nd",
            Self::NotIp => "not-ip",
        }
    }
}

/// What a packet must be to match; what is `None` matches all, but for [`vital`](Self::vital).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rule {
    /// Frames that keep a network alive are matched by rules that name them, and those match no others.
    pub vital: Option<Vital>,
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
        let ports = self.sport.is_some() || self.dport.is_some();
        match self.vital {
            Some(vital @ (Vital::Arp | Vital::NotIp)) if ports || self.src.is_some() || self.dst.is_some() => {
                return Some(format!("{} has no addresses and ports to match", vital.name()));
            }
            Some(Vital::Discovery) if ports => return Some("nd has no ports".to_string()),
            Some(Vital::Discovery) if [self.src, self.dst].iter().flatten().any(|block| block.addr().is_ipv4()) => {
                return Some("nd is IPv6".to_string());
            }
            _ => {}
        }
        let protocol = self.protocol.filter(|&protocol| !has_ports(protocol))?;
        let name = protocol_name(protocol).map_or_else(|| format!("protocol {protocol}"), str::to_string);
        ports.then(|| format!("{name} has no ports"))
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
        self.vital == other.vital
            && all(&self.protocol, &other.protocol, |own, other| own == other)
            && all(&self.src, &other.src, block)
            && all(&self.dst, &other.dst, block)
            && all(&self.sport, &other.sport, range)
            && all(&self.dport, &other.dport, range)
    }

    /// Whether a packet of this flow matches, one that is not vital.
    pub fn matches(&self, tuple: &FiveTuple) -> bool {
        self.vital.is_none() && self.fits(tuple)
    }

    fn matches_vital(&self, vital: Vital, tuple: Option<&FiveTuple>) -> bool {
        self.vital == Some(vital) && tuple.is_none_or(|tuple| self.fits(tuple))
    }

    fn fits(&self, tuple: &FiveTuple) -> bool {
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
    vital: u16,
    /// Of fragments that make no sense, and of those whose datagram nobody knows, if these are not to be dropped.
    fragments: u16,
    unknown: Option<u16>,
}

impl ClassTable {
    /// Rules with their classes, and the class of what matches none, vital or not.
    pub fn new(rules: Vec<(Rule, u16)>, otherwise: u16) -> Self {
        Self { rules, otherwise, vital: otherwise, fragments: otherwise, unknown: None }
    }

    /// The same, with a class for what is vital and named by no rule.
    #[must_use]
    pub fn with_vital(self, vital: u16) -> Self {
        Self { vital, ..self }
    }

    /// The same, with a class for fragments that are dropped, and one for those whose datagram is not known; without,
    /// these are dropped as well.
    #[must_use]
    pub fn with_fragments(self, fragments: u16, unknown: Option<u16>) -> Self {
        Self { fragments, unknown, ..self }
    }

    /// The same rules for classes that have other numbers: the place of each in `numbers` is the one that it has here.
    #[must_use]
    pub fn renamed(self, numbers: &[u16]) -> Self {
        let number = |class: u16| numbers[usize::from(class)];
        let rules = self.rules.into_iter().map(|(rule, class)| (rule, number(class))).collect();
        Self {
            rules,
            otherwise: number(self.otherwise),
            vital: number(self.vital),
            fragments: number(self.fragments),
            unknown: self.unknown.map(number),
        }
    }

    /// The class of a packet; `None` is one that carries no flow.
    pub fn class(&self, tuple: Option<&FiveTuple>) -> u16 {
        let rule = tuple.and_then(|tuple| self.rules.iter().find(|(rule, _)| rule.matches(tuple)));
        rule.map_or(self.otherwise, |(_, class)| *class)
    }

    /// Whether a packet's class may depend on its ports, which only the first fragment of a datagram tells.
    pub fn looks_at_ports(&self) -> bool {
        self.rules.iter().any(|(rule, _)| rule.sport.is_some() || rule.dport.is_some())
    }

    /// The class of fragments that are dropped.
    pub fn class_of_fragments(&self) -> u16 {
        self.fragments
    }

    /// The class of fragments whose datagram is not known; `None` if they are to be dropped.
    pub fn class_of_unknown(&self) -> Option<u16> {
        self.unknown
    }

    /// The class of a vital frame, with its addresses if it has some.
    pub fn class_of_vital(&self, vital: Vital, tuple: Option<&FiveTuple>) -> u16 {
        let rule = self.rules.iter().find(|(rule, _)| rule.matches_vital(vital, tuple));
        rule.map_or(self.vital, |(_, class)| *class)
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
    fn what_is_vital_is_of_a_class_of_its_own_unless_a_rule_names_it() {
        let vital = |vital| Rule { vital: Some(vital), ..Rule::default() };
        let rules = vec![(Rule::default(), 1), (vital(Vital::Arp), 2)];
        let table = ClassTable::new(rules, 0).with_vital(3);
        assert_eq!(table.class_of_vital(Vital::Arp, None), 2);
        assert_eq!(table.class_of_vital(Vital::NotIp, None), 3);
        assert_eq!(table.class_of_vital(Vital::Discovery, Some(&udp("fe80::1", "ff02::1", None))), 3);
        assert!(!Rule::default().covers(&vital(Vital::Arp)), "all that is not vital");
        let block = |text: &str| Some(text.parse().unwrap());
        let with = |rule: Rule, src| Rule { src: block(src), ..rule };
        assert!(with(vital(Vital::Arp), "10.0.0.0/8").contradiction().is_some());
        assert!(with(vital(Vital::Discovery), "10.0.0.0/8").contradiction().is_some());
        assert_eq!(with(vital(Vital::Discovery), "fe80::/10").contradiction(), None);
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
