//! What the box has done until some instant, for reports, the control socket and metrics.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use dovetail_sched::{Seen, Steering};
use dovetail_units::{Part, Time};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::account::Account;
use super::flows::name;
use super::latency::Stays;
use super::middlebox::{CPU, LINK, Middlebox, THIRD, names};
use super::resources::OUTGOING;
use super::setup::NamedModule;
use crate::port::{LinkState, Port, PortCounters};

/// The version of [`Snapshot`]'s form.
pub const SCHEMA: u32 = 1;

/// The whole box. Counts are since its start; rates are differences of two snapshots.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The box's time, seconds.
    pub time_s: f64,
    /// The scheduler, with parameters as they are.
    pub scheduler: String,
    /// What an alpha that adjusts itself has come to; absent without a target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steering: Option<SteeringSnapshot>,
    /// The CPU, the link, and a third resource if there is one.
    pub resources: BTreeMap<String, ResourceSnapshot>,
    /// All frames together.
    pub total: QueueSnapshot,
    /// By class.
    pub classes: Vec<ClassSnapshot>,
    /// By flow; of many, those of which most waits.
    pub flows: Vec<FlowSnapshot>,
    /// By module, in the order of the configuration.
    pub modules: Vec<ModuleSnapshot>,
    /// What the ports `in` and `out` counted; nothing where a box has none.
    pub ports: BTreeMap<String, PortSnapshot>,
    /// Frames that have left over the link and wait for the port.
    pub outgoing: u64,
    /// Fragments that wait for the one that tells what they are of; they are in no account yet.
    #[serde(default)]
    pub waiting: u64,
    /// Frames that came in and are neither sent, nor dropped for a named reason, nor found anywhere in the box: 0.
    pub unaccounted: i64,
    /// Frames of flows that share queues, since the table of flows was full.
    pub overflowed: u64,
    /// Measurements of processing that were not believed, since the kernel had taken the core away.
    pub outliers: u64,
    /// Memory for frames.
    pub buffers: BufferSnapshot,
    /// Time that a late worker could not make up for, seconds.
    pub lost_time_s: f64,
    /// How much later than due frames left the link.
    pub late_s: LateSnapshot,
}

impl Snapshot {
    /// The name of the third resource, if there is one.
    pub fn third(&self) -> Option<&str> {
        self.resources.keys().map(String::as_str).find(|name| !["cpu", "link"].contains(name))
    }
}

/// What an alpha that adjusts itself has come to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SteeringSnapshot {
    /// That alpha.
    pub alpha: f64,
    /// What is wanted, and what there is of it.
    #[serde(flatten)]
    pub seen: SeenSnapshot,
    /// Whether what is wanted cannot be had with the least alpha that is allowed.
    pub out_of_reach: bool,
}

/// What an alpha adjusts itself for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SeenSnapshot {
    /// The use of a resource, by the last 50 ms in which frames waited.
    Use {
        /// The resource that the target names, or else the one that was used least.
        resource: String,
        /// Its use, 0 to 1.
        used: f64,
    },
    /// The latency of a class, by its last thousand frames or so.
    Latency {
        /// The class.
        class: String,
        /// The part of its frames that came too late, 0 to 1.
        late: f64,
        /// About the 99th percentile, seconds.
        p99_s: f64,
    },
}

/// From the instant at which a frame was through by the rate of the link, where its latency ends, to that at which the
/// worker looked, seconds; 0 if nothing has left. What the worker does until it sends, and the time for which a frame
/// waits for the port, are not in it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct LateSnapshot {
    /// Of all frames that left.
    pub sum: f64,
    /// Of the one that was latest.
    pub max: f64,
}

/// Buffers of frames, of [`BUFFER`](crate::frame::BUFFER) bytes each.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct BufferSnapshot {
    /// That were made: as many as were in use at a time. They are used again and again.
    pub made: u64,
    /// The most that can be made: what may be in the box, wait for ports, be in their hands, or be on its way back;
    /// `null` is no limit.
    pub limit: Option<u64>,
    /// In use without a frame that is anywhere: 0.
    pub lost: i64,
}

/// A resource.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResourceSnapshot {
    /// For how long it was occupied, seconds.
    pub busy_s: f64,
    /// Frames that wait in front of it.
    pub waiting: u64,
    /// Of the CPU the part of a core, of the link bits per second; `null` is no limit. Of a third resource `null`.
    pub capacity: Option<f64>,
}

/// What a port counted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PortSnapshot {
    /// What it is called: the interface, or the capture.
    #[serde(default)]
    pub name: String,
    /// Whether its interface carries frames; `null` where there is no interface.
    #[serde(default)]
    pub link: Option<LinkState>,
    /// Frames that it brought.
    pub received: u64,
    /// Frames that were lost before anybody saw them.
    pub missed: u64,
    /// Frames that were longer than a buffer, or several segments in one.
    pub oversize: u64,
    /// Frames that it sent.
    pub sent: u64,
    /// Frames that were never sent: the interface refused them.
    pub unsent: u64,
    /// Of these, frames longer than its MTU allows.
    #[serde(default)]
    pub too_long: u64,
    /// Of these, frames for which it was down.
    #[serde(default)]
    pub down: u64,
    /// Of these, frames for which its queue had been full for too long.
    #[serde(default)]
    pub full: u64,
    /// Of these, frames too short for a link header, or no packets at all.
    #[serde(default)]
    pub short: u64,
    /// Frames that it keeps back on purpose at the moment.
    pub held: u64,
}

impl PortSnapshot {
    /// What this port has counted, and how its interface is at the moment.
    pub fn of(port: &mut dyn Port) -> Self {
        let PortCounters { received, missed, oversize, sent, unsent, too_long, down, full, short, held } =
            port.counters();
        let (name, link) = (port.name().to_string(), port.link_state());
        Self { name, link, received, missed, oversize, sent, unsent, too_long, down, full, short, held }
    }
}

/// What became of frames.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueueSnapshot {
    /// Frames that came in.
    pub frames_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Frames that the CPU is done with, or that passed it by since they needed nothing of it; also those that were
    /// dropped afterwards or are held yet.
    pub frames_processed: u64,
    /// Frames that the box made of others that were too long, as they left.
    #[serde(default)]
    pub frames_made: u64,
    /// Frames that left over the link.
    pub frames_out: u64,
    /// Their bytes as they left.
    pub bytes_out: u64,
    /// Of these, with a congestion mark of ours.
    pub marked: u64,
    /// Frames that were dropped, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Frames that are in the box.
    pub held: u64,
    /// Time of the processed frames on the CPU, seconds.
    pub cpu_s: f64,
    /// Time on the link of the frames that left, seconds.
    pub link_s: f64,
    /// Time on the third resource of the frames that it is done with, seconds; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub third_s: Option<f64>,
    /// How long frames stayed, of all since the start.
    pub latency_s: Latency,
    /// The same of those that left in the last minute.
    #[serde(default)]
    pub latency_minute_s: Latency,
    /// The same of those that left in the last second.
    #[serde(default)]
    pub latency_second_s: Latency,
}

impl QueueSnapshot {
    /// How long the frames that left had stayed, all together, seconds.
    pub fn stayed_s(&self) -> f64 {
        self.latency_s.mean.unwrap_or(0.0) * self.frames_out as f64
    }
}

/// From receipt to the instant at which the frame was through by the rate of the link, seconds; `null` if nothing has
/// left.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
}

/// A class of flows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClassSnapshot {
    /// Its name.
    pub class: String,
    /// The weight of each of its flows.
    pub weight: f64,
    /// Which part of its fair share each of its flows is guaranteed, if it was given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Its flows that are kept.
    pub flows: u64,
    /// What became of its frames.
    #[serde(flatten)]
    pub frames: QueueSnapshot,
}

/// A flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowSnapshot {
    /// Its addresses and ports.
    pub flow: String,
    /// Its number in the box.
    pub index: u32,
    /// Its class.
    pub class: String,
    /// Frames that wait in front of the CPU.
    pub queued: u64,
    /// What became of its frames.
    #[serde(flatten)]
    pub frames: QueueSnapshot,
}

/// A module.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ModuleSnapshot {
    /// Its name.
    pub module: String,
    /// Its kind.
    pub kind: String,
    /// What it has counted since it was made, or has left, by name.
    pub counters: BTreeMap<String, u64>,
    /// Flows and prefixes with the most bytes, largest first, at most ten of each. Empty where a snapshot tells of no
    /// flows.
    pub heavy: Vec<HeavySnapshot>,
}

/// A flow or a prefix with many bytes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HeavySnapshot {
    /// Its addresses, and ports.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
}

/// Frames that are made of one that is too long before it is known whether there is room, and answers to senders.
const BESIDES: u64 = 64;

impl Middlebox {
    fn steering(&self, steering: Steering) -> SteeringSnapshot {
        let Steering { alpha, seen, is_out_of_reach } = steering;
        let seen = match seen {
            Seen::Use { resource, used } => {
                let names = names(self.third.as_ref(), std::iter::empty()).resources;
                SeenSnapshot::Use { resource: names.get(resource).cloned().unwrap_or_default(), used }
            }
            Seen::Latency { class, late, p99 } => {
                let class = self.classes.get(usize::from(class)).map(|class| class.setup.name.clone());
                SeenSnapshot::Latency { class: class.unwrap_or_default(), late, p99_s: p99.as_secs_f64() }
            }
        };
        SteeringSnapshot { alpha, seen, out_of_reach: is_out_of_reach }
    }

    /// What was done until `now`, with all flows. O(flows).
    pub fn snapshot(&self, now: Time) -> Snapshot {
        self.snapshot_of(now, usize::MAX)
    }

    /// What was done until `now`, with at most so many flows: those first of which most waits, then those that had most
    /// of the CPU and the link. O(flows).
    pub fn snapshot_of(&self, now: Time, flows: usize) -> Snapshot {
        let total = self.total();
        let mut stays = Stays::none();
        let classes = self.class_snapshots(now, &mut stays);
        let rate = self.pace.rate().map(|rate| rate.as_bps() as f64);
        let cpu = ResourceSnapshot {
            busy_s: total.cpu.as_secs_f64(),
            waiting: self.queues[CPU].len() as u64,
            capacity: Some(f64::from(self.budget.as_millionths()) / 1e6),
        };
        let waiting = self.queues[LINK].len() as u64;
        let link = ResourceSnapshot { busy_s: total.link.as_secs_f64(), waiting, capacity: rate };
        let waiting = self.queues[THIRD].len() as u64;
        let third = ResourceSnapshot { busy_s: total.third.as_secs_f64(), waiting, capacity: None };
        let third = self.third.as_ref().map(|resource| (resource.name.clone(), third));
        Snapshot {
            schema: SCHEMA,
            time_s: now.as_secs_f64(),
            scheduler: self.scheduler.to_string(),
            steering: self.queues[CPU].steering().map(|steering| self.steering(steering)),
            resources: [("cpu".to_string(), cpu), ("link".to_string(), link)].into_iter().chain(third).collect(),
            total: self.frames(&total, &stays),
            classes,
            flows: self.flow_snapshots(now, flows),
            modules: self.modules.iter().map(|module| module_snapshot(module, flows > 0)).collect(),
            ports: BTreeMap::new(),
            outgoing: self.outgoing.len() as u64,
            waiting: self.waiting() as u64,
            unaccounted: self.missing(),
            overflowed: self.flows.overflowed,
            outliers: self.meter.outliers,
            buffers: self.buffers(),
            lost_time_s: self.lost_time.as_secs_f64(),
            late_s: LateSnapshot { sum: self.lateness.sum.as_secs_f64(), max: self.lateness.longest.as_secs_f64() },
        }
    }

    fn buffers(&self) -> BufferSnapshot {
        let (in_use, found) = (self.pool.in_use() as i64, self.found() as i64 + self.outgoing.len() as i64);
        let found = found + (self.tails + self.answers.len() + self.waiting()) as i64;
        let limit = self.most.map(|most| u64::from(most) + (OUTGOING + self.fragments.limits.waiting) as u64 + BESIDES);
        BufferSnapshot { made: self.pool.made() as u64, limit, lost: in_use - found }
    }

    /// All classes, whose latencies are added to `total`.
    fn class_snapshots(&self, now: Time, total: &mut Stays) -> Vec<ClassSnapshot> {
        let mut flows = vec![0; self.classes.len()];
        self.flows.iter().for_each(|(_, flow)| flows[usize::from(flow.class)] += 1);
        // What a class did that is no more belongs to the whole. What nobody has asked for is of no interest while it
        // does nothing.
        let classes = self.classes.iter().zip(flows);
        let classes =
            classes.filter(|(class, _)| !(class.retired || class.setup.built_in) || class.books.account.frames_in > 0);
        let snapshot = |(class, flows): (&super::middlebox::Class, u64)| {
            let stays = class.books.latency.at(now);
            total.add(&stays);
            ClassSnapshot {
                class: class.setup.name.clone(),
                weight: class.setup.weight.as_f64(),
                alpha: class.setup.alpha.map(Part::as_f64),
                flows,
                frames: self.frames(&class.books.account, &stays),
            }
        };
        classes.map(snapshot).collect()
    }

    fn flow_snapshots(&self, now: Time, most: usize) -> Vec<FlowSnapshot> {
        let snapshot = |(index, flow): (u32, &super::flows::FlowEntry)| FlowSnapshot {
            flow: name(&flow.key),
            index,
            class: self.classes[usize::from(flow.class)].setup.name.clone(),
            queued: u64::from(self.queues[CPU].queued(index)),
            frames: self.frames(&flow.books.account, &flow.books.latency.at(now)),
        };
        if most >= self.flows.len() {
            return self.flows.iter().map(snapshot).collect();
        }
        let mut flows: Vec<(u32, &super::flows::FlowEntry)> =
            if most == 0 { Vec::new() } else { self.flows.iter().collect() };
        let rank = |&(index, flow): &(u32, &super::flows::FlowEntry)| {
            let account = &flow.books.account;
            Reverse((self.queues[CPU].queued(index), account.cpu + account.third + account.link))
        };
        if most > 0 {
            flows.select_nth_unstable_by_key(most - 1, rank);
            flows.truncate(most);
            flows.sort_unstable_by_key(|&(index, _)| index);
        }
        flows.into_iter().map(snapshot).collect()
    }

    fn frames(&self, account: &Account, stays: &Stays) -> QueueSnapshot {
        QueueSnapshot { third_s: self.third.as_ref().map(|_| account.third.as_secs_f64()), ..queue(account, stays) }
    }
}

fn module_snapshot(NamedModule { name, module, .. }: &NamedModule, heavy: bool) -> ModuleSnapshot {
    let heavy = if heavy { module.heavy() } else { Vec::new() };
    ModuleSnapshot {
        module: name.clone(),
        kind: module.name().to_string(),
        counters: module.counters().into_iter().map(|(name, count)| (name.to_string(), count)).collect(),
        heavy: heavy.into_iter().map(|(name, bytes)| HeavySnapshot { name, bytes }).collect(),
    }
}

fn queue(account: &Account, stays: &Stays) -> QueueSnapshot {
    let Account { frames_in, bytes_in, frames_processed, frames_made, frames_out, bytes_out, marked, .. } = account;
    let Account { cpu, link, drops, .. } = account;
    QueueSnapshot {
        frames_in: *frames_in,
        bytes_in: *bytes_in,
        frames_processed: *frames_processed,
        frames_made: *frames_made,
        frames_out: *frames_out,
        bytes_out: *bytes_out,
        marked: *marked,
        dropped: drops.iter().map(|(reason, count)| (reason.to_string(), count)).collect(),
        held: account.held(),
        cpu_s: cpu.as_secs_f64(),
        link_s: link.as_secs_f64(),
        third_s: None,
        latency_s: latency(&stays.all),
        latency_minute_s: latency(&stays.minute),
        latency_second_s: latency(&stays.second),
    }
}

fn latency(times: &Histogram<u32>) -> Latency {
    if times.is_empty() {
        return Latency::default();
    }
    let at = |quantile| Some(times.value_at_quantile(quantile) as f64 / 1e9);
    Latency {
        mean: Some(times.mean() / 1e9),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        max: Some(times.max() as f64 / 1e9),
    }
}
