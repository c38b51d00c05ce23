//! What is wrong with a port, in words, and what helps: one text for the log, `dovetail top`, `dovetail live ctl
//! show` and reports.

use crate::core::{OUTGOING, PortSnapshot, Snapshot};
use crate::frame::LONGEST;
use crate::port::LinkState;

/// What can be wrong with a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum What {
    /// Its interface carries nothing.
    Link(Silent),
    /// Frames were longer than a buffer, or several segments in one.
    Oversize,
    /// Frames were lost before the box looked.
    Missed,
    /// Frames were longer than the interface's MTU.
    TooLong,
    /// The interface was down.
    Down,
    /// The interface took none for too long.
    Full,
    /// Frames were too short, or no packets.
    Short,
    /// Frames were not sent for another reason.
    Unsent,
    /// Very many frames wait for it.
    Waiting,
}

/// Why a link carries nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Silent {
    /// It was taken down.
    Down,
    /// Nobody is at the other end.
    NoCarrier,
    /// The interface has been removed.
    Gone,
}

/// Something that is wrong with a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// `in` or `out`.
    pub port: String,
    /// Its interface, or its capture.
    pub name: String,
    /// What it is.
    pub what: What,
    /// How many frames it cost, or how many wait; 0 where that is not known.
    pub frames: u64,
}

impl What {
    /// What happened to frames, behind their number; of a link what it is like.
    pub fn words(self) -> &'static str {
        match self {
            Self::Link(Silent::Down) => "the link is down",
            Self::Link(Silent::NoCarrier) => "the link has no carrier",
            Self::Link(Silent::Gone) => "the interface is gone",
            Self::Oversize => "oversize",
            Self::Missed => "missed",
            Self::TooLong => "unsent, too long",
            Self::Down => "unsent, link down",
            Self::Full => "unsent, queue full",
            Self::Short => "unsent, too short",
            Self::Unsent => "unsent",
            Self::Waiting => "wait for it",
        }
    }

    /// What to do about it, where `name` is the interface, with what is to be known of it.
    pub fn remedy(self, name: &str) -> String {
        match self {
            Self::Oversize => format!(
                "{} tx-udp-segmentation off, and at the other end of a veth (they are segments that offloads \
                 merge, or longer than {LONGEST} bytes)",
                self.brief_remedy(name)
            ),
            Self::Missed => format!("{} (its ring was full before it looked)", self.brief_remedy(name)),
            Self::TooLong => format!("a greater MTU (ip link set {name} mtu N), or a smaller one where they come from"),
            Self::Full => format!("the interface takes less than link.rate: {}", self.brief_remedy(name)),
            Self::Short => format!("frames without a link header, or no packets: {}", self.brief_remedy(name)),
            Self::Unsent => format!("nobody is at the other end, or a filter drops them: {}", self.brief_remedy(name)),
            Self::Waiting => format!("the interface takes less than the link brings: {}", self.brief_remedy(name)),
            Self::Link(_) | Self::Down => self.brief_remedy(name),
        }
    }

    /// The same in few words.
    pub fn brief_remedy(self, name: &str) -> String {
        match self {
            Self::Link(Silent::Down) | Self::Down => format!("ip link set {name} up"),
            Self::Link(Silent::NoCarrier) => "look at the cable and at its other end".into(),
            Self::Link(Silent::Gone) => "start the box again when it is back".into(),
            Self::Oversize => format!("ethtool -K {name} gro off lro off tso off gso off"),
            Self::Missed => "give the box a core of its own, or less to do".into(),
            Self::TooLong => format!("ip link set {name} mtu N"),
            Self::Full => format!("tc qdisc show dev {name}"),
            Self::Short => "look at who sends them".into(),
            Self::Unsent => format!("ip link show {name}, tc filter show dev {name} egress"),
            Self::Waiting => format!("lower link.rate, or tc qdisc show dev {name}"),
        }
    }
}

/// So many frames, in words.
pub fn amount(frames: u64) -> String {
    format!("{frames} frame{}", if frames == 1 { "" } else { "s" })
}

impl Trouble {
    /// One line, in which `amount` stands for the number of frames.
    pub fn line(&self, amount: &str) -> String {
        let Self { port, name, what, .. } = self;
        let (words, remedy) = (what.words(), what.remedy(name));
        match what {
            What::Link(_) => format!("port {port} ({name}): {words}: {remedy}"),
            _ => format!("port {port} ({name}): {amount} {words}: {remedy}"),
        }
    }

    /// The same where there is little room.
    pub fn brief_line(&self, amount: &str) -> String {
        let Self { name, what, .. } = self;
        let (words, remedy) = (what.words(), what.brief_remedy(name));
        match what {
            What::Link(_) => format!("{name}: {words}: {remedy}"),
            _ => format!("{name}: {amount} {words}: {remedy}"),
        }
    }
}

fn link(port: &PortSnapshot) -> Option<What> {
    Some(What::Link(match port.link? {
        LinkState::Up => return None,
        LinkState::Down => Silent::Down,
        LinkState::NoCarrier => Silent::NoCarrier,
        LinkState::Gone => Silent::Gone,
    }))
}

/// Counts of what must not be, with what they mean.
fn counts(port: &PortSnapshot) -> [(What, u64); 7] {
    let PortSnapshot { oversize, missed, unsent, too_long, down, full, short, .. } = *port;
    let others = unsent.saturating_sub(too_long + down + full + short);
    [
        (What::Oversize, oversize),
        (What::Missed, missed),
        (What::TooLong, too_long),
        (What::Down, down),
        (What::Full, full),
        (What::Short, short),
        (What::Unsent, others),
    ]
}

/// What is wrong with this port: its link as it is, and what it has counted since `before`, or since its start.
pub fn of_port(name: &str, before: Option<&PortSnapshot>, after: &PortSnapshot) -> Vec<Trouble> {
    let earlier = before.map_or([0; 7], |before| counts(before).map(|(_, count)| count));
    let counted = counts(after).into_iter().zip(earlier);
    // A capture has neither offloads nor an MTU; what it misses or cannot write is told by its counters.
    let counted = counted.filter(|_| after.link.is_some());
    let counted = counted.map(|((what, count), earlier)| (what, count.saturating_sub(earlier)));
    let all = link(after).map(|what| (what, 0)).into_iter().chain(counted.filter(|&(_, count)| count > 0));
    let trouble = |(what, frames)| Trouble { port: name.to_string(), name: after.name.clone(), what, frames };
    all.map(trouble).collect()
}

/// What is wrong with all ports, as [`of_port`] and [`of_waiting`] say.
pub fn of_ports(before: Option<&Snapshot>, after: &Snapshot) -> Vec<Trouble> {
    let earlier = |name: &str| before.and_then(|before| before.ports.get(name));
    let of_each = after.ports.iter().flat_map(|(name, port)| of_port(name, earlier(name), port));
    let paced = after.resources.get("link").is_some_and(|link| link.capacity.is_some());
    let outside = after.ports.get("out").filter(|_| paced);
    of_each.chain(outside.and_then(|port| of_waiting(port, after.outgoing))).collect()
}

/// That so many frames wait for the port `out`, behind a link that has a rate, if these are so many that the port takes
/// less: half of those with which the link stands still.
pub fn of_waiting(port: &PortSnapshot, frames: u64) -> Option<Trouble> {
    let trouble = Trouble { port: "out".into(), name: port.name.clone(), what: What::Waiting, frames };
    (port.link.is_some() && frames >= OUTGOING as u64 / 2).then_some(trouble)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port() -> PortSnapshot {
        let name = "eth0".to_string();
        let link = Some(LinkState::Up);
        PortSnapshot {
            name,
            link,
            received: 9,
            missed: 0,
            oversize: 0,
            sent: 9,
            unsent: 0,
            too_long: 0,
            down: 0,
            full: 0,
            short: 0,
            held: 0,
        }
    }

    #[test]
    fn a_healthy_port_has_nothing_to_say_and_an_old_count_is_no_news() {
        assert_eq!(of_port("in", None, &port()), []);
        let old = PortSnapshot { oversize: 5, ..port() };
        assert_eq!(of_port("in", Some(&old), &old), []);
    }

    #[test]
    fn frames_that_wait_are_told_of_once_the_port_takes_less_than_the_link_brings() {
        assert_eq!(of_waiting(&port(), OUTGOING as u64 / 2 - 1), None);
        let line = of_waiting(&port(), OUTGOING as u64 / 2).unwrap().line("1024 frames");
        assert!(line.starts_with("port out (eth0): 1024 frames wait for it: the interface takes less than"), "{line}");
        assert_eq!(of_waiting(&PortSnapshot { link: None, ..port() }, 1 << 20), None, "a capture takes what there is");
    }

    #[test]
    fn every_count_has_words_and_a_remedy_that_names_the_interface_or_the_box() {
        let sick = PortSnapshot {
            link: Some(LinkState::NoCarrier),
            oversize: 7,
            missed: 1,
            unsent: 15,
            too_long: 1,
            down: 2,
            full: 3,
            short: 4,
            ..port()
        };
        let lines: Vec<String> = of_port("in", None, &sick).iter().map(|t| t.line(&t.frames.to_string())).collect();
        assert_eq!(lines.len(), 8, "{lines:#?}");
        assert!(lines[0].starts_with("port in (eth0): the link has no carrier: "), "{}", lines[0]);
        assert!(lines[1].contains(" 7 oversize: ") && lines[1].contains("ethtool -K eth0 gro off"), "{}", lines[1]);
        assert!(lines[7].contains(" 5 unsent: "), "what has no reason of its own: {}", lines[7]);
        // An AF_XDP socket's frames pass no filter, and are refused where nobody is at the other end.
        assert!(lines[7].contains("nobody is at the other end, or a filter") && lines[7].contains("ip link show eth0"));
    }
}
