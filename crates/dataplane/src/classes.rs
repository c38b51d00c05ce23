//! The flow class table: which class a packet's flow is of.

use dovetail_wire::{FiveTuple, Marks};

pub use dovetail_wire::{Rule, Vital};

/// Rules in order; the first that matches says the class. O(rules).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClassTable {
    rules: Vec<(Rule, u16)>,
    otherwise: u16,
    vital: u16,
    /// Of fragments that make no sense, and of those whose datagram nobody knows, if these are not to be dropped.
    fragments: u16,
    unknown: Option<u16>,
    /// Whether any rule looks at ports.
    looks_at_ports: bool,
    /// Whether any rule looks at DSCP or VLAN.
    looks_at_marks: bool,
}

impl ClassTable {
    /// Rules with their classes, and the class of what matches none, vital or not.
    pub fn new(rules: Vec<(Rule, u16)>, otherwise: u16) -> Self {
        let any = |looks: fn(&Rule) -> bool| rules.iter().any(|(rule, _)| looks(rule));
        let (looks_at_ports, looks_at_marks) = (any(Rule::looks_at_ports), any(Rule::looks_at_marks));
        let (vital, fragments) = (otherwise, otherwise);
        Self { rules, otherwise, vital, fragments, unknown: None, looks_at_ports, looks_at_marks }
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
            ..self
        }
    }

    /// The class of a packet; `None` is one that carries no flow.
    pub fn class(&self, tuple: Option<&FiveTuple>, marks: Marks) -> u16 {
        let rule = tuple.and_then(|tuple| self.rules.iter().find(|(rule, _)| rule.matches(tuple, marks)));
        rule.map_or(self.otherwise, |(_, class)| *class)
    }

    /// Whether a packet's class may depend on its ports, which only the first fragment of a datagram tells.
    pub fn looks_at_ports(&self) -> bool {
        self.looks_at_ports
    }

    /// Whether packets of one five-tuple may be of several classes.
    pub fn looks_at_marks(&self) -> bool {
        self.looks_at_marks
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
    pub fn class_of_vital(&self, vital: Vital, tuple: Option<&FiveTuple>, marks: Marks) -> u16 {
        let rule = self.rules.iter().find(|(rule, _)| rule.matches_vital(vital, tuple, marks));
        rule.map_or(self.vital, |(_, class)| *class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_wire::{Ports, Prefix};

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
        let class = |tuple| table.class(Some(&tuple), Marks::default());
        assert_eq!(class(udp("10.1.2.3", "10.9.0.1", Some((1, 5009)))), 1);
        assert_eq!(class(udp("10.1.2.3", "10.9.0.1", Some((1, 5010)))), 2);
        assert_eq!(class(udp("10.2.2.3", "10.9.0.1", Some((1, 5010)))), 0);
        assert_eq!(class(udp("10.2.2.3", "10.9.0.1", None)), 0, "a fragment has no port");
        assert_eq!(class(udp("fe80::1", "fe80::2", Some((1, 5000)))), 1);
        assert_eq!(table.class(None, Marks::default()), 0);
    }

    #[test]
    fn marks_tell_packets_of_one_five_tuple_apart() {
        let table = ClassTable::new(vec![(Rule { dscp: Some(46), ..Rule::default() }, 1)], 0);
        let call = udp("10.1.2.3", "10.9.0.1", Some((1, 5009)));
        assert_eq!(table.class(Some(&call), Marks { dscp: 46, vlan: None }), 1);
        assert_eq!(table.class(Some(&call), Marks::default()), 0);
        assert!(table.looks_at_marks());
    }

    #[test]
    fn what_is_vital_is_of_a_class_of_its_own_unless_a_rule_names_it() {
        let vital = |vital| Rule { vital: Some(vital), ..Rule::default() };
        let rules = vec![(Rule::default(), 1), (vital(Vital::Arp), 2)];
        let table = ClassTable::new(rules, 0).with_vital(3);
        assert_eq!(table.class_of_vital(Vital::Arp, None, Marks::default()), 2);
        assert_eq!(table.class_of_vital(Vital::NotIp, None, Marks::default()), 3);
        let from = udp("fe80::1", "ff02::1", None);
        assert_eq!(table.class_of_vital(Vital::Discovery, Some(&from), Marks::default()), 3);
    }
}
