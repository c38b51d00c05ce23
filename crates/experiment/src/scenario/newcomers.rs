//! Flows of one packet each, which fairness among flows does not hold back.

use dovetail_trace::FlowTable;
use dovetail_units::Time;
use dovetail_wire::{FlowKey, KeyKind};

use super::Scenario;

/// Keys by which flows may be put together, and among whom a box then shares; first those of the senders, who share it.
const KEYS: [(&str, &str); 4] = [
    ("host", "senders"),
    ("prefix", "networks of senders"),
    ("to-host", "receivers"),
    ("to-prefix", "networks of receivers"),
];

/// Flows of one packet that are most flows of a capture, and need most of the time of its busiest resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Newcomers {
    /// How many.
    pub flows: usize,
    /// Of so many.
    pub of: usize,
    /// Their part of the time that all packets need there.
    pub part: f64,
    /// The busiest resource.
    pub resource: String,
    /// A key under which this is no longer so, and among whom it shares.
    pub key: Option<(&'static str, &'static str)>,
}

/// What flows have in all, by their numbers.
#[derive(Default)]
struct Sums {
    packets: Vec<u64>,
    needed_s: Vec<f64>,
}

impl Sums {
    fn add(&mut self, flow: usize, packets: u64, needed_s: f64) {
        if self.packets.len() <= flow {
            self.packets.resize(flow + 1, 0);
            self.needed_s.resize(flow + 1, 0.0);
        }
        self.packets[flow] += packets;
        self.needed_s[flow] += needed_s;
    }

    /// The number of flows of one packet and their part of the time, if both are more than half. Then they take more
    /// than all others together, and as each of them has less than any share, no fairness among flows takes it away.
    fn of_one_packet(&self) -> Option<(usize, f64)> {
        let single = |flow: &usize| self.packets[*flow] == 1;
        let flows = (0..self.packets.len()).filter(single).count();
        let needed_s: f64 = (0..self.packets.len()).filter(single).map(|flow| self.needed_s[flow]).sum();
        let part = needed_s / self.needed_s.iter().sum::<f64>();
        (2 * flows > self.packets.len() && part > 0.5).then_some((flows, part))
    }
}

/// Those of the scenario's capture, if it has one, tells flows apart by five-tuples, and asks more of a resource than
/// that can do. O(packets).
pub(super) fn of(scenario: &Scenario) -> Option<Newcomers> {
    let capture = scenario.capture.as_ref()?;
    let resource = capture.busiest(scenario)?;
    let by_tuple = capture.keys().all(|(key, _)| matches!(key, None | Some(FlowKey::FiveTuple(_))));
    if !by_tuple || capture.load(scenario, 1.0).offered <= 1.0 {
        return None;
    }
    let mut sums = Sums::default();
    for (flow, needed_s) in capture.needed_s(scenario, resource) {
        sums.add(flow, 1, needed_s);
    }
    let (flows, part) = sums.of_one_packet()?;
    let grouped = |kind: KeyKind| {
        let (mut table, mut groups) = (FlowTable::new(), Sums::default());
        for ((key, class), (&packets, &needed_s)) in capture.keys().zip(sums.packets.iter().zip(&sums.needed_s)) {
            let key = match key {
                Some(FlowKey::FiveTuple(tuple)) => Some(kind.key(&tuple)),
                other => other,
            };
            groups.add(table.add_of_class(key, class, Time::ZERO, 0) as usize, packets, needed_s);
        }
        groups
    };
    let helps = |name: &str| name.parse().is_ok_and(|kind| grouped(kind).of_one_packet().is_none());
    let key = KEYS.into_iter().find(|(name, _)| helps(name));
    Some(Newcomers {
        flows,
        of: sums.packets.len(),
        part,
        resource: scenario.resource_names().swap_remove(resource),
        key,
    })
}
