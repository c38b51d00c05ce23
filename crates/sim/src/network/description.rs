//! What a network is made of.

use std::collections::BTreeSet;

use dovetail_sched::aqm::Encoding;
use dovetail_tcp::{AckPolicy, Config};
use dovetail_units::{BitRate, CycleRate, Density, Duration, Time};

use super::queue::Queueing;

/// What a hop does with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// Sends its bits at this rate.
    Link(BitRate),
    /// Processes its bits, each of which takes as many cycles as the packet's class needs.
    Cpu(CycleRate),
}

impl Service {
    /// Whether packets of the class need it: those without processing pass a CPU by.
    #[inline]
    pub(super) fn is_needed(&self, class: &Class) -> bool {
        matches!(self, Self::Link(_)) || class.density != Density::default()
    }
}

/// One resource with the queue in front of it and the way behind it. It serves one packet at a time, in order.
#[derive(Clone, PartialEq, Debug)]
pub struct Hop {
    /// Its name in reports; no other hop has it.
    pub name: String,
    /// What it does.
    pub service: Service,
    /// Which packets may wait in front of it, and in which order they are served.
    pub queueing: Queueing,
    /// Most packets that may wait, the one in service not counted. Of each flow, where flows have queues of their own.
    pub limit: u32,
    /// Propagation delay to the next hop of a packet's route, or to its receiver.
    pub delay: Duration,
    /// How what DRQ noted in a packet gets to the next hop: in its ECN field, or `None`: beside the packet, as within
    /// a box.
    pub encoding: Option<Encoding>,
}

/// Flows of one kind.
#[derive(Clone, PartialEq, Debug)]
pub struct Class {
    /// Its name in reports.
    pub name: String,
    /// Cycles per bit on every CPU of the route.
    pub density: Density,
    /// The hops that its data passes, by their indices in [`Network::hops`]; at least one, none twice.
    pub route: Vec<u32>,
    /// Length of a data packet on the wire, in bytes. A SYN takes 40.
    pub packet_bytes: u32,
    /// Rate of each sender's own access link; `None` for no limit.
    pub access: Option<BitRate>,
    /// The senders.
    pub tcp: Config,
    /// When the receivers acknowledge.
    pub acks: AckPolicy,
}

/// Two-way propagation delay of a flow. What the hops of the route do not make up is divided: one half of the whole is
/// the way back, and the rest lies in equal parts before the first hop and behind the last one. ACKs meet no queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundTrip {
    /// The shortest.
    pub min: Duration,
    /// The longest; between the two all are equally likely.
    pub max: Duration,
}

/// Where flows come from.
#[derive(Clone, PartialEq, Debug)]
pub enum Traffic {
    /// Flows that always have something to send.
    LongLived {
        /// Index in [`Network::classes`].
        class: u32,
        /// How many.
        count: u32,
        /// When the first starts.
        start: Time,
        /// The starts are spread evenly over this time.
        spread: Duration,
        /// Their delays.
        rtt: RoundTrip,
    },
    /// Short flows that come as a Poisson process, with Pareto-distributed lengths.
    Web {
        /// Index in [`Network::classes`].
        class: u32,
        /// Flows per second; above zero.
        rate: f64,
        /// Mean of the Pareto distribution, in packets, at least 1. Lengths are rounded up, so their mean is half a
        /// packet more.
        mean_packets: f64,
        /// Shape of the Pareto distribution, above 1: the smaller, the heavier its tail.
        shape: f64,
        /// Their delays.
        rtt: RoundTrip,
    },
}

impl Traffic {
    /// Index of its class.
    pub fn class(&self) -> u32 {
        match self {
            Self::LongLived { class, .. } | Self::Web { class, .. } => *class,
        }
    }

    /// When the long-lived flow with this number starts, counted from 0; `None` if there is none.
    pub fn start(&self, number: u64) -> Option<Time> {
        let &Self::LongLived { count, start, spread, .. } = self else { return None };
        let after = u128::from(spread.as_nanos()) * u128::from(number) / u128::from(count.max(1));
        (number < u64::from(count)).then(|| start + Duration::from_nanos(after as u64))
    }

    /// Its flows' delays.
    pub fn rtt(&self) -> RoundTrip {
        match self {
            Self::LongLived { rtt, .. } | Self::Web { rtt, .. } => *rtt,
        }
    }
}

/// The most flows that may be under way at once, long-lived and short ones together: what a flow needs, in memory, is
/// some kilobyte.
pub const MOST_FLOWS: u32 = 1 << 20;

/// CPUs and links, and the TCP flows that cross them.
#[derive(Clone, PartialEq, Debug)]
pub struct Network {
    /// In any order; at most 65,536.
    pub hops: Vec<Hop>,
    /// Kinds of flows.
    pub classes: Vec<Class>,
    /// Where flows come from.
    pub traffic: Vec<Traffic>,
}

impl Network {
    /// What is wrong with it, if anything.
    ///
    /// # Errors
    /// In words, naming the class.
    pub fn check(&self) -> Result<(), String> {
        if self.hops.is_empty() || self.hops.len() > 1 << 16 {
            return Err(format!("a network has 1 to 65536 hops, not {}", self.hops.len()));
        }
        let mut names = BTreeSet::new();
        // Their random streams go by these.
        if let Some(hop) = self.hops.iter().find(|hop| !names.insert(&hop.name)) {
            return Err(format!("two hops are called {:?}; expected a name for each", hop.name));
        }
        for class in &self.classes {
            self.check_class(class)?;
        }
        let counts = self.traffic.iter().map(|traffic| match traffic {
            Traffic::LongLived { count, .. } => u64::from(*count),
            Traffic::Web { .. } => 0,
        });
        let flows: u64 = counts.sum();
        if flows > u64::from(MOST_FLOWS) {
            return Err(format!("{flows} long-lived flows; expected at most {MOST_FLOWS}"));
        }
        for traffic in &self.traffic {
            let Some(class) = self.classes.get(traffic.class() as usize) else {
                return Err(format!(
                    "traffic of class number {}, but there are {}",
                    traffic.class(),
                    self.classes.len()
                ));
            };
            let takes_time = |&hop: &u32| self.hops[hop as usize].service.is_needed(class);
            let is_long_lived = matches!(traffic, Traffic::LongLived { .. });
            if is_long_lived && class.access.is_none() && !class.route.iter().any(takes_time) {
                return Err(format!(
                    "class {:?}: nothing on the way of its flows takes time, so their windows would grow for ever: its \
                     packets need no processing, and come over no link; expected one on its route, or an access link",
                    class.name
                ));
            }
            let (rtt, way) = (traffic.rtt(), self.way(class));
            if rtt.max < rtt.min {
                return Err(format!("class {:?}: round trips from {} to {} are none", class.name, rtt.min, rtt.max));
            }
            if rtt.min.divided_by(2) < way {
                let name = &class.name;
                return Err(format!(
                    "class {name:?}: a round trip of {} is too short for {way} one way on its route",
                    rtt.min
                ));
            }
            if let Traffic::Web { rate, mean_packets, shape, .. } = *traffic
                && !(rate > 0.0 && rate <= 1e9 && (1.0..1e9).contains(&mean_packets) && shape > 1.0 && shape < 1e6)
            {
                let name = &class.name;
                return Err(format!(
                    "class {name:?}: {rate} short flows per second of {mean_packets} packets in the mean, shape \
                     {shape}, make no traffic: rate above 0, mean at least 1, shape above 1"
                ));
            }
        }
        Ok(())
    }

    fn check_class(&self, class: &Class) -> Result<(), String> {
        let name = &class.name;
        if class.packet_bytes == 0 || class.packet_bytes > 65_535 {
            return Err(format!("class {name:?}: packets of {} bytes; expected 1 to 65535", class.packet_bytes));
        }
        if class.route.is_empty() || class.route.len() > 255 {
            return Err(format!("class {name:?}: a route passes 1 to 255 hops, not {}", class.route.len()));
        }
        for (k, &hop) in class.route.iter().enumerate() {
            let Some(found) = self.hops.get(hop as usize) else {
                return Err(format!("class {name:?}: no hop number {hop}; there are {}", self.hops.len()));
            };
            if class.route[..k].contains(&hop) {
                return Err(format!("class {name:?}: its route passes {:?} twice", found.name));
            }
        }
        dovetail_tcp::Sender::new(class.tcp).map(drop).map_err(|e| format!("class {name:?}: {e}"))
    }

    /// Propagation delay of all hops of the class's route.
    pub(super) fn way(&self, class: &Class) -> Duration {
        class.route.iter().fold(Duration::ZERO, |sum, &hop| sum + self.hops[hop as usize].delay)
    }
}
