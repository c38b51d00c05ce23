//! Rules that tell classes of packets apart, in a live box and in captures.

use alloc::format;
use alloc::string::{String, ToString};
use core::net::IpAddr;
use core::ops::RangeInclusive;

use crate::{FiveTuple, IpPacket, IpView, LinkType, NonFlow, Prefix, has_ports, ip_offset, protocol_name};

/// The protocol number of ICMPv6, which also carries neighbour discovery.
pub const ICMP_V6: u8 = 58;

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

    /// What a captured packet is of it. A header of IP that is cut off or wrong is none of it.
    pub fn of(link: LinkType, captured: &[u8], parsed: &Result<IpPacket, NonFlow>) -> Option<Self> {
        match parsed {
            Err(NonFlow::Arp) => Some(Self::Arp),
            Err(NonFlow::NotIp) => Some(Self::NotIp),
            Ok(found) if found.tuple.protocol == ICMP_V6 && found.tuple.src.is_ipv6() => {
                let ip = captured.get(ip_offset(link, captured).ok()?..)?;
                IpView::new(ip).is_ok_and(|ip| ip.is_neighbour_discovery()).then_some(Self::Discovery)
            }
            _ => None,
        }
    }

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
    /// The sender's or the receiver's port. A packet without ports does not match.
    pub port: Option<RangeInclusive<u16>>,
    /// The code point of differentiated services.
    pub dscp: Option<u8>,
    /// The VLAN; of tags in tags the outer one. A frame without a tag does not match.
    pub vlan: Option<u16>,
}

impl Rule {
    /// Whether it may match one packet of a datagram or conversation and not another by its ports.
    pub fn looks_at_ports(&self) -> bool {
        self.sport.is_some() || self.dport.is_some() || self.port.is_some()
    }

    /// Whether packets of one five-tuple may differ to it. Those of ICMPv6 always may: neighbour discovery is told from
    /// the rest.
    pub fn looks_at_marks(&self) -> bool {
        self.dscp.is_some() || self.vlan.is_some()
    }

    /// Why no packet can match, if none can.
    pub fn contradiction(&self) -> Option<String> {
        if let (Some(src), Some(dst)) = (self.src, self.dst)
            && src.addr().is_ipv4() != dst.addr().is_ipv4()
        {
            return Some(format!("{src} and {dst} are of two versions of IP"));
        }
        if let (Some(port), Some(sport), Some(dport)) = (&self.port, &self.sport, &self.dport) {
            let apart = |other: &RangeInclusive<u16>| other.end() < port.start() || port.end() < other.start();
            if apart(sport) && apart(dport) {
                return Some("port is neither sport nor dport".to_string());
            }
        }
        let ports = self.looks_at_ports();
        match self.vital {
            Some(vital @ (Vital::Arp | Vital::NotIp))
                if ports || self.src.is_some() || self.dst.is_some() || self.dscp.is_some() =>
            {
                return Some(format!("{} has no IP header to match", vital.name()));
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
            && [&other.port, &other.sport, &other.dport].iter().any(|other| all(&self.port, other, range))
            && all(&self.dscp, &other.dscp, |own, other| own == other)
            && all(&self.vlan, &other.vlan, |own, other| own == other)
    }

    /// Whether a packet of this flow matches, one that is not vital.
    pub fn matches(&self, tuple: &FiveTuple, marks: Marks) -> bool {
        self.vital.is_none() && self.fits(tuple, marks)
    }

    /// Whether a vital frame matches, with its addresses if it has some.
    pub fn matches_vital(&self, vital: Vital, tuple: Option<&FiveTuple>, marks: Marks) -> bool {
        self.vital == Some(vital) && self.fits_marks(marks) && tuple.is_none_or(|tuple| self.fits(tuple, marks))
    }

    fn fits_marks(&self, marks: Marks) -> bool {
        self.dscp.is_none_or(|dscp| dscp == marks.dscp) && self.vlan.is_none_or(|vlan| Some(vlan) == marks.vlan)
    }

    fn fits(&self, tuple: &FiveTuple, marks: Marks) -> bool {
        let within = |prefix: Option<Prefix>, addr: IpAddr| prefix.is_none_or(|p| Prefix::of(addr, p.len()) == p);
        let port = |range: &Option<RangeInclusive<u16>>, port: Option<u16>| {
            range.as_ref().is_none_or(|range| port.is_some_and(|port| range.contains(&port)))
        };
        self.protocol.is_none_or(|p| p == tuple.protocol)
            && within(self.src, tuple.src)
            && within(self.dst, tuple.dst)
            && port(&self.sport, tuple.ports.map(|p| p.src))
            && port(&self.dport, tuple.ports.map(|p| p.dst))
            && (port(&self.port, tuple.ports.map(|p| p.src)) || port(&self.port, tuple.ports.map(|p| p.dst)))
            && self.fits_marks(marks)
    }
}

/// What a rule may look at beside the five-tuple.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Marks {
    /// The code point of differentiated services; 0 where there is no IP header.
    pub dscp: u8,
    /// The VLAN; of tags in tags the outer one.
    pub vlan: Option<u16>,
}

impl Marks {
    /// Of a captured packet.
    pub fn read(link: LinkType, captured: &[u8]) -> Self {
        let ip = ip_offset(link, captured).ok().and_then(|at| captured.get(at..at + 2));
        let dscp = match ip {
            Some(&[first, second]) if first >> 4 == 4 => second >> 2,
            Some(&[first, second]) if first >> 4 == 6 => (first & 0x0f) << 2 | second >> 6,
            _ => 0,
        };
        let tag = captured.get(12..16).filter(|_| link == LinkType::ETHERNET);
        let vlan = match tag {
            Some(&[0x81 | 0x91, 0, high, low] | &[0x88, 0xa8, high, low]) => {
                Some(u16::from_be_bytes([high & 0x0f, low]))
            }
            _ => None,
        };
        Self { dscp, vlan }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ports;

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

    #[test]
    fn a_port_that_neither_side_may_have_matches_nothing() {
        let rule = |port, sport, dport| Rule { port: Some(port), sport, dport, ..Rule::default() };
        assert!(rule(80..=80, Some(1..=79), Some(81..=90)).contradiction().is_some());
        assert_eq!(rule(80..=80, Some(1..=80), Some(81..=90)).contradiction(), None);
        assert_eq!(rule(80..=80, Some(1..=79), Some(80..=90)).contradiction(), None);
        assert_eq!(rule(80..=80, Some(1..=79), None).contradiction(), None, "the other side may have it");
    }

    #[test]
    fn vital_frames_are_matched_by_rules_that_name_them() {
        let vital = |vital| Rule { vital: Some(vital), ..Rule::default() };
        assert!(!Rule::default().covers(&vital(Vital::Arp)), "all that is not vital");
        let with = |rule: Rule, src: &str| Rule { src: Some(src.parse().unwrap()), ..rule };
        assert!(with(vital(Vital::Arp), "10.0.0.0/8").contradiction().is_some());
        assert!(with(vital(Vital::Discovery), "10.0.0.0/8").contradiction().is_some());
        assert_eq!(with(vital(Vital::Discovery), "fe80::/10").contradiction(), None);
    }

    #[test]
    fn a_port_is_that_of_either_end() {
        let tls = Rule { port: Some(443..=443), ..Rule::default() };
        let [client, server] = ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().unwrap());
        let tuple = |src, dst| FiveTuple { src: client, dst: server, protocol: 6, ports: Some(Ports { src, dst }) };
        let matches = |tuple| tls.matches(&tuple, Marks::default());
        assert!(matches(tuple(443, 5000)) && matches(tuple(5000, 443)) && !matches(tuple(5000, 80)));
        assert!(!matches(FiveTuple { ports: None, ..tuple(443, 443) }), "a fragment has no port");
        assert!(tls.covers(&Rule { dport: Some(443..=443), ..Rule::default() }));
        assert!(!Rule { dport: Some(443..=443), ..Rule::default() }.covers(&tls));
    }

    #[test]
    fn marks_are_read_behind_tags_and_of_both_versions() {
        let mut frame = [0; 14 + 4 + 20];
        frame[12..18].copy_from_slice(&[0x81, 0x00, 0x60, 0x2a, 0x08, 0x00]);
        frame[18..20].copy_from_slice(&[0x45, 46 << 2]);
        assert_eq!(Marks::read(LinkType::ETHERNET, &frame), Marks { dscp: 46, vlan: Some(42) });
        assert_eq!(Marks::read(LinkType::RAW, &[0x6b, 0x80]), Marks { dscp: 46, vlan: None });
        assert_eq!(Marks::read(LinkType::ETHERNET, &[]), Marks::default());
        let rule = Rule { dscp: Some(46), vlan: Some(42), ..Rule::default() };
        assert!(
            rule.fits_marks(Marks { dscp: 46, vlan: Some(42) }) && !rule.fits_marks(Marks { dscp: 46, vlan: None })
        );
    }
}
