//! What happened between two snapshots of a box: who had which share of its resources, and what was due to whom.

use std::collections::BTreeMap;

use dovetail_dataplane::core::{FlowSnapshot, Latency, QueueSnapshot, Snapshot};
use dovetail_dataplane::trouble;

/// A resource that is busy for this part of the time or more bounds the throughput.
pub const BOUND: f64 = 0.95;

/// What a flow had of the resources, as parts of each, and its weight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Use {
    /// Part of the CPU, 0 to 1.
    pub cpu: f64,
    /// Part of the third resource, 0 to 1; 0 where there is none.
    pub third: f64,
    /// Part of the link, 0 to 1.
    pub link: f64,
    /// The weight of the flow, above 0.
    pub weight: f64,
}

impl Use {
    fn parts(&self) -> [f64; 3] {
        [self.cpu, self.third, self.link]
    }

    /// The largest share.
    pub fn dominant(&self) -> f64 {
        self.parts().into_iter().fold(0.0, f64::max)
    }
}

/// The dominant share that dominant resource fairness gives to a backlogged flow of weight 1: 1 / max_r sum_i w_i
/// tbar_ir over the backlogged flows, where tbar_ir is what flow i uses of resource r for a unit of its dominant
/// resource (DRGPS). Flows that used nothing do not count; `None` if none did.
pub fn fair_share(backlogged: impl IntoIterator<Item = Use>) -> Option<f64> {
    let mut used = [0.0; 3];
    for flow in backlogged.into_iter().filter(|flow| flow.dominant() > 0.0) {
        used.iter_mut().zip(flow.parts()).for_each(|(used, part)| *used += flow.weight * part / flow.dominant());
    }
    let largest = used.into_iter().fold(0.0, f64::max);
    (largest > 0.0).then(|| 1.0 / largest)
}

/// Which of CPU, third resource and link bound the throughput, since they are always busy. If none does, there is not
/// enough traffic, or the scheduler leaves all idle at times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict([bool; 3]);

impl Verdict {
    /// From the parts of the time for which they were busy.
    pub fn of(busy: &Use) -> Self {
        // As they are shown.
        Self(busy.parts().map(|busy| (1e3 * busy).round() >= 1e3 * BOUND))
    }

    /// Whether nothing bounds it.
    pub fn is_none(self) -> bool {
        self.0 == [false; 3]
    }

    /// In one or two words, of a box with this third resource.
    pub fn short(self, third: Option<&str>) -> String {
        match (self.0, third) {
            ([true, _, true], None) => "both bound".to_string(),
            ([false, _, false], None) => "neither bound".to_string(),
            _ => self.name(third),
        }
    }

    /// In words.
    pub fn name(self, third: Option<&str>) -> String {
        let bound = ["CPU", third.unwrap_or_default(), "link"].into_iter().zip(self.0);
        let bound: Vec<String> = bound.filter(|(_, is)| *is).map(|(name, _)| format!("{name}-bound")).collect();
        match (bound.len(), third) {
            (0, None) => "neither CPU-bound nor link-bound".to_string(),
            (2, None) => format!("both {}", bound.join(" and ")),
            (0, Some(_)) => "bound by none".to_string(),
            (1, _) => bound.concat(),
            _ => format!("bound by {}", bound.join(", ").replace("-bound", "")),
        }
    }
}

/// What is wrong.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// With a port.
    Port(trouble::Trouble),
    /// So many frames have no account.
    Unaccounted(i64),
}

/// A flow or a class.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its addresses and ports, or its name.
    pub name: String,
    /// The class of a flow, or the class itself.
    pub class: String,
    /// Flows: 1, or those of the class.
    pub flows: u64,
    /// What it had of CPU and link, and the weight of each flow.
    pub shares: Use,
    /// Its dominant share by what was due to its backlogged flows; `None` if none was backlogged.
    pub over_fair: Option<f64>,
    /// Frames that wait in front of the CPU, of a class all that are in the box.
    pub queue: u64,
    /// Seconds that a processed frame occupied the CPU, on average; `None` if none was processed.
    pub cpu_each: Option<f64>,
    /// Frames that left, per second.
    pub frames_s: f64,
    /// Bits that left, per second.
    pub bits_s: f64,
    /// Frames that were marked, per second.
    pub marked_s: f64,
    /// Frames that were dropped, per second.
    pub drops_s: f64,
    /// How long the frames stayed that left in the last second.
    pub latency: Latency,
    /// In the last minute.
    pub minute: Latency,
    /// Since the box started.
    pub all: Latency,
}

/// What happened between two snapshots.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Its length, seconds.
    pub length_s: f64,
    /// The parts of the time for which the resources were busy.
    pub busy: Use,
    /// The fair share of a flow of weight 1.
    pub fair: Option<f64>,
    /// Flows of which something waited at its beginning and at its end, and not less than one frame on average: who
    /// sends little may be met waiting twice by chance.
    pub backlogged: usize,
    /// How much later than due the frames left that did, on average, seconds; `None` if none left.
    pub late: Option<f64>,
    /// Drops per second by reason, those that happened.
    pub drops: Vec<(String, f64)>,
    /// What is wrong with ports and accounts, with remedies.
    pub troubles: Vec<Trouble>,
    /// The part of the time that the box could not make up for.
    pub lost: f64,
    /// All classes.
    pub classes: Vec<Row>,
    /// Flows that both snapshots tell of, or that are new.
    pub flows: Vec<Row>,
}

/// The difference of two counts, per second.
struct Rates<'a> {
    before: Option<&'a QueueSnapshot>,
    after: &'a QueueSnapshot,
    length_s: f64,
}

impl Rates<'_> {
    fn of(&self, count: impl Fn(&QueueSnapshot) -> f64) -> f64 {
        let change = count(self.after) - self.before.map_or(0.0, &count);
        change.max(0.0) / self.length_s
    }

    /// How many frames were in the box on average, by those that left and how long each of them had stayed (Little's
    /// law); `None` if none left.
    fn inside(&self) -> Option<f64> {
        (self.of(|frames| frames.frames_out as f64) > 0.0).then(|| self.of(QueueSnapshot::stayed_s))
    }

    fn shares(&self, weight: f64) -> Use {
        Use {
            cpu: self.of(|frames| frames.cpu_s),
            third: self.of(|frames| frames.third_s.unwrap_or(0.0)),
            link: self.of(|frames| frames.link_s),
            weight,
        }
    }

    fn cpu_each(&self) -> Option<f64> {
        let processed = self.of(|frames| frames.frames_processed as f64);
        (processed > 0.0).then(|| self.of(|frames| frames.cpu_s) / processed)
    }

    fn row(&self, name: &str, class: &str, weight: f64) -> Row {
        Row {
            name: name.to_string(),
            class: class.to_string(),
            flows: 1,
            shares: self.shares(weight),
            over_fair: None,
            queue: self.after.held,
            cpu_each: self.cpu_each(),
            frames_s: self.of(|frames| frames.frames_out as f64),
            bits_s: self.of(|frames| 8.0 * frames.bytes_out as f64),
            marked_s: self.of(|frames| frames.marked as f64),
            drops_s: self.of(|frames| frames.dropped.values().sum::<u64>() as f64),
            latency: self.after.latency_second_s,
            minute: self.after.latency_minute_s,
            all: self.after.latency_s,
        }
    }
}

impl Interval {
    /// From two snapshots of the same box; `None` if the second is not the later one, as after a restart. O(flows log
    /// flows).
    pub fn between(before: &Snapshot, after: &Snapshot) -> Option<Self> {
        let length_s = after.time_s - before.time_s;
        if length_s <= 0.0 || after.total.frames_in < before.total.frames_in {
            return None;
        }
        let total = Rates { before: Some(&before.total), after: &after.total, length_s };
        let mut flows = Vec::new();
        let mut backlogged = Vec::new();
        let earlier: BTreeMap<(u32, &str), &FlowSnapshot> =
            before.flows.iter().map(|flow| ((flow.index, flow.flow.as_str()), flow)).collect();
        // A flow that the first snapshot does not tell of is a new one only if it tells of all.
        let all = before.classes.iter().map(|class| class.flows).sum::<u64>() == before.flows.len() as u64;
        let weights: BTreeMap<&str, f64> =
            after.classes.iter().map(|class| (class.class.as_str(), class.weight)).collect();
        for flow in &after.flows {
            let known = earlier.get(&(flow.index, flow.flow.as_str()));
            let start = known.map(|flow| &flow.frames).or(if all { None } else { Some(&flow.frames) });
            let weight = weights.get(flow.class.as_str()).copied().unwrap_or(1.0);
            let rates = Rates { before: start, after: &flow.frames, length_s };
            flows.push(Row { queue: flow.queued, ..rates.row(&flow.flow, &flow.class, weight) });
            let waits = flow.queued > 0 && known.is_some_and(|flow| flow.queued > 0);
            backlogged.push(waits && rates.inside().is_none_or(|inside| inside >= 1.0));
        }
        let waiting = || flows.iter().zip(&backlogged).filter(|&(_, &waits)| waits).map(|(row, _)| row);
        let fair = fair_share(waiting().map(|row| row.shares));
        let mut due: BTreeMap<String, f64> = BTreeMap::new();
        for row in waiting().filter(|row| row.shares.dominant() > 0.0) {
            *due.entry(row.class.clone()).or_default() += row.shares.weight * fair.unwrap_or_default();
        }
        let count = waiting().count();
        for (row, _) in flows.iter_mut().zip(&backlogged).filter(|&(_, &waits)| waits) {
            row.over_fair = fair.map(|fair| row.shares.dominant() / (fair * row.shares.weight));
        }
        Some(Self {
            length_s,
            busy: total.shares(1.0),
            fair,
            backlogged: count,
            late: late(before, after),
            drops: drops(before, after, length_s),
            troubles: troubles(before, after),
            lost: (after.lost_time_s - before.lost_time_s).max(0.0) / length_s,
            classes: classes(before, after, length_s, &due),
            flows,
        })
    }
}

fn late(before: &Snapshot, after: &Snapshot) -> Option<f64> {
    let left = after.total.frames_out.saturating_sub(before.total.frames_out);
    (left > 0).then(|| (after.late_s.sum - before.late_s.sum).max(0.0) / left as f64)
}

fn drops(before: &Snapshot, after: &Snapshot, length_s: f64) -> Vec<(String, f64)> {
    let earlier = |reason: &str| before.total.dropped.get(reason).copied().unwrap_or(0);
    let new = after.total.dropped.iter().map(|(reason, &count)| (reason, count.saturating_sub(earlier(reason))));
    new.filter(|&(_, new)| new > 0).map(|(reason, new)| (reason.clone(), new as f64 / length_s)).collect()
}

/// Of ports what is so now or has happened since; frames that nobody has an account of, whenever they were lost.
fn troubles(before: &Snapshot, after: &Snapshot) -> Vec<Trouble> {
    let of_ports = trouble::of_ports(Some(before), after).into_iter().map(Trouble::Port);
    let unaccounted = (after.unaccounted != 0).then_some(Trouble::Unaccounted(after.unaccounted));
    unaccounted.into_iter().chain(of_ports).collect()
}

fn classes(before: &Snapshot, after: &Snapshot, length_s: f64, due: &BTreeMap<String, f64>) -> Vec<Row> {
    let row = |class: &dovetail_dataplane::core::ClassSnapshot| {
        let earlier = before.classes.iter().find(|earlier| earlier.class == class.class);
        let rates = Rates { before: earlier.map(|class| &class.frames), after: &class.frames, length_s };
        let row = rates.row(&class.class, &class.class, class.weight);
        let over_fair = due.get(&class.class).map(|due| row.shares.dominant() / due);
        Row { flows: class.flows, over_fair, ..row }
    };
    after.classes.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(cpu: f64, link: f64, weight: f64) -> Use {
        Use { cpu, third: 0.0, link, weight }
    }

    #[test]
    fn alike_flows_share_their_dominant_resource_equally() {
        let fair = fair_share([used(0.3, 0.1, 1.0); 4]).unwrap();
        assert!((fair - 0.25).abs() < 1e-12);
    }

    /// DRFQ, section 3: one flow needs 3 of the CPU for 1 of the link, another 1 for 3; each gets 3/4 of its dominant
    /// resource.
    #[test]
    fn complementary_flows_get_more_than_a_half() {
        let fair = fair_share([used(0.75, 0.25, 1.0), used(0.25, 0.75, 1.0)]).unwrap();
        assert!((fair - 0.75).abs() < 1e-12, "{fair}");
        // What they really got says nothing about what is due.
        let starved = fair_share([used(0.9, 0.3, 1.0), used(0.01, 0.03, 1.0)]).unwrap();
        assert!((starved - 0.75).abs() < 1e-12, "{starved}");
    }

    #[test]
    fn weights_divide_what_there_is() {
        let fair = fair_share([used(0.5, 0.0, 3.0), used(0.5, 0.0, 1.0)]).unwrap();
        assert!((fair - 0.25).abs() < 1e-12, "the first is due 3/4, the second 1/4");
    }

    #[test]
    fn without_backlog_nothing_is_due() {
        assert_eq!(fair_share([]), None);
        assert_eq!(fair_share([used(0.0, 0.0, 1.0)]), None);
    }

    #[test]
    fn what_is_nearly_always_busy_is_the_bound() {
        let name = |cpu, third, link, of| Verdict::of(&Use { third, ..used(cpu, link, 1.0) }).name(of);
        assert_eq!(name(0.9495, 0.0, 0.9494, None), "CPU-bound");
        assert_eq!(name(0.2, 0.0, 1.0, None), "link-bound");
        assert_eq!(name(1.0, 0.0, 1.0, None), "both CPU-bound and link-bound");
        assert_eq!(name(0.94, 0.0, 0.94, None), "neither CPU-bound nor link-bound");
        assert_eq!(name(0.2, 1.0, 0.94, Some("crypto")), "crypto-bound");
        assert_eq!(name(1.0, 1.0, 1.0, Some("crypto")), "bound by CPU, crypto, link");
        assert_eq!(name(0.2, 0.2, 0.2, Some("crypto")), "bound by none");
    }

    /// Three flows of 1, 1/2 and 1/4 of the time on each: all share the one that all need most.
    #[test]
    fn a_third_resource_counts_as_the_others_do() {
        let fair = fair_share([Use { third: 0.4, ..used(0.1, 0.2, 1.0) }; 3]).unwrap();
        assert!((fair - 1.0 / 3.0).abs() < 1e-12, "{fair}");
    }
}
