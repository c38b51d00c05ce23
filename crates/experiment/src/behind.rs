//! How far flows fall behind the fair fluid in a run, and behind what their scheduler promises.

use std::borrow::Cow;
use std::iter;

use dovetail_model::fluid::behind::{Behind, Due, Reference, Times};
use dovetail_sched::{LONGEST_TIME, Spec};
use dovetail_sim::{Pipeline, Recorder, SimPacket, Workload};
use dovetail_units::{Duration, Time};

use crate::recorded::Recorded;
use crate::scenario::NO_FLOW;
use crate::table::seconds;

pub use dovetail_model::fluid::behind::ROUNDS;

/// How far a flow was behind at worst: behind the fair fluid, and behind what its scheduler promises. That is what it
/// is *due*: alpha times the fair share, the flow's own alpha if it has one, where that is not 0; else the fair share.
/// Times, packets and rounds are those of [`Behind`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowBehind {
    /// Behind the fair fluid, in time.
    pub time_s: f64,
    /// The same in rounds.
    pub rounds: f64,
    /// Behind what it is due, in rounds.
    pub due_rounds: f64,
    /// That round.
    pub due_round_s: f64,
    /// Behind the fair fluid, in packets.
    pub packets: u32,
    /// Behind what it is due, in packets.
    pub due_packets: u32,
}

impl FlowBehind {
    fn of(fair: Behind, due: Behind) -> Self {
        Self {
            time_s: fair.time_s,
            rounds: fair.rounds,
            due_rounds: due.rounds,
            due_round_s: due.round_s,
            packets: fair.packets,
            due_packets: due.packets,
        }
    }

    /// Behind what it is due, in time: of the packet for which that is most in rounds.
    pub fn due_s(&self) -> f64 {
        self.due_rounds * self.due_round_s
    }

    /// Whether it was behind what it is due by more than the order of packets explains.
    pub fn starves(&self) -> bool {
        self.due_rounds > ROUNDS
    }

    /// The same of its fair share.
    pub fn is_short(&self) -> bool {
        self.rounds > ROUNDS
    }
}

/// The longest packet that a scheduler is told of (`largest` of `gmr3`), in seconds: its turns are worth that much,
/// even if no packet is so long.
pub(crate) fn largest_s(scheduler: &Spec) -> f64 {
    let told = scheduler.value("largest").and_then(|time| time.parse::<Duration>().ok());
    told.map_or(0.0, |time| time.min(LONGEST_TIME).as_secs_f64())
}

/// Holds a run against the fluids.
pub struct Watch<const M: usize> {
    servers: [f64; M],
    /// Of each flow, how much more than by its weight a time counts on each resource; none if no flow's weights differ.
    counts: Vec<[f64; M]>,
    fair: Reference<M>,
    /// If it differs from the fair one.
    due: Option<Reference<M>>,
    /// When what is promised changes, the last first: seconds, part.
    changes: Vec<(f64, f64)>,
    now_s: f64,
}

impl<const M: usize> Watch<M> {
    /// For this scheduler, which promises these parts of the fair share, from these seconds on; and to some flows a
    /// part of their own, in the order of the flows, if `own` is not empty.
    pub fn new(
        workload: &Workload<M>,
        pipeline: &Pipeline<M>,
        scheduler: &Spec,
        promises: &[(f64, f64)],
        own: &[Option<f64>],
    ) -> Self {
        let weights = || workload.flows.iter().map(|flow| flow.weight.as_f64());
        let counts = || workload.flows.iter().map(|flow| flow.weights().map(|on| flow.weight.as_f64() / on.as_f64()));
        let differ = counts().flatten().any(|count| count != 1.0);
        // Where nothing is promised, the fair share is what a flow would have had.
        let speed = |part: f64| if part > 0.0 { part.min(1.0) } else { 1.0 };
        let changes: Vec<(f64, f64)> = promises.iter().rev().map(|&(at, part)| (at, speed(part))).collect();
        let own = || own.iter().map(|part| part.map(speed));
        let turn_s = largest_s(scheduler);
        let lower = changes.iter().map(|&(_, speed)| speed).chain(own().flatten()).any(|s| s < 1.0);
        Self {
            servers: pipeline.servers().map(f64::from),
            counts: if differ { counts().collect() } else { Vec::new() },
            fair: Reference::new(Due::Fair, weights()).with_turns(turn_s),
            due: lower.then(|| {
                let flows = weights().zip(own().chain(iter::repeat(None)));
                Reference::with_parts(Due::Part, flows).with_turns(turn_s)
            }),
            changes,
            now_s: 0.0,
        }
    }

    /// In the order of the flows.
    pub fn finish(self) -> Vec<FlowBehind> {
        let fair = self.fair.finish(self.now_s);
        match self.due.map(|due| due.finish(self.now_s)) {
            Some(due) => fair.into_iter().zip(due).map(|(fair, due)| FlowBehind::of(fair, due)).collect(),
            None => fair.into_iter().map(|fair| FlowBehind::of(fair, fair)).collect(),
        }
    }

    /// Seconds now.
    fn at(&mut self, now: Time) -> f64 {
        self.now_s = now.as_secs_f64();
        let Some(due) = &mut self.due else { return self.now_s };
        while let Some(&(at, speed)) = self.changes.last().filter(|(at, _)| *at <= self.now_s) {
            due.set_speed(at, speed);
            self.changes.pop();
        }
        self.now_s
    }

    fn times(&self, packet: &SimPacket<M>) -> Times<M> {
        let counts = self.counts.get(packet.flow as usize).unwrap_or(&[1.0; M]);
        Times::new(packet.cost.0.map(Duration::as_secs_f64), &self.servers, counts)
    }

    fn left(&mut self, now: Time, packet: &SimPacket<M>) {
        let (now_s, dominant_s) = (self.at(now), self.times(packet).dominant_s);
        for fluid in [Some(&mut self.fair), self.due.as_mut()].into_iter().flatten() {
            fluid.left(now_s, packet.flow as usize, dominant_s);
        }
    }
}

impl<const M: usize> Recorder<M> for Watch<M> {
    fn admitted(&mut self, now: Time, packet: &SimPacket<M>) {
        let (now_s, times) = (self.at(now), self.times(packet));
        for fluid in [Some(&mut self.fair), self.due.as_mut()].into_iter().flatten() {
            fluid.arrived(now_s, packet.flow as usize, &times);
        }
    }

    fn bypassed(&mut self, now: Time, packet: &SimPacket<M>, resource: usize) {
        self.started(now, packet, resource, 0);
    }

    fn started(&mut self, now: Time, packet: &SimPacket<M>, resource: usize, _server: u32) {
        if self.due.is_some() && resource == 0 {
            let (now_s, times) = (self.at(now), self.times(packet));
            self.due.iter_mut().for_each(|due| due.started(now_s, packet.flow as usize, &times));
        }
    }

    fn delivered(&mut self, now: Time, packet: &SimPacket<M>) {
        self.left(now, packet);
    }

    fn dropped(&mut self, now: Time, packet: &SimPacket<M>, _resource: usize) {
        self.left(now, packet);
    }

    fn ended(&mut self, now: Time) {
        self.at(now);
    }
}

/// Who starves under which scheduler, a sentence each.
pub fn starving(runs: &[Recorded]) -> Vec<String> {
    starving_of(runs.iter().map(|run| (run.scheduler.to_string(), starving_under(run))))
}

/// The sentences, of schedulers and who [starves under](starving_under) each.
pub(crate) fn starving_of(runs: impl IntoIterator<Item = (String, Option<String>)>) -> Vec<String> {
    let (mut sentences, mut well) = (Vec::new(), Vec::new());
    for (scheduler, sentence) in runs {
        match sentence {
            Some(sentence) => sentences.push(sentence),
            None => well.push(scheduler),
        }
    }
    sentences.extend((!well.is_empty()).then(|| format!("Nobody starves under {}.", listed(&well, "or"))));
    sentences
}

/// Who starves under this scheduler, in a sentence; nothing if nobody does.
pub(crate) fn starving_under(run: &Recorded) -> Option<String> {
    run.flows.iter().any(|flow| flow.behind.starves()).then(|| sentence(run))
}

fn sentence(run: &Recorded) -> String {
    let starves = |&flow: &usize| run.flows[flow].behind.starves();
    let all = 0..run.flows.len();
    let mut groups: Vec<(&str, usize, usize)> = Vec::new();
    for (index, flow) in run.flows.iter().enumerate() {
        let at = groups.iter().position(|(name, ..)| *name == &*flow.group).unwrap_or_else(|| {
            groups.push((&flow.group, 0, 0));
            groups.len() - 1
        });
        groups[at].1 += usize::from(starves(&index));
        groups[at].2 += 1;
    }
    let who: Vec<String> = groups.iter().filter(|group| group.1 > 0).map(group_in_words).collect();
    let one = all.clone().filter(starves).count() == 1;
    let unexplained = |&flow: &usize| {
        let FlowBehind { due_rounds, due_round_s, .. } = run.flows[flow].behind;
        (due_rounds - ROUNDS) * due_round_s
    };
    let worst = all.filter(starves).max_by(|a, b| unexplained(a).total_cmp(&unexplained(b)));
    let Some(worst) = worst else { return String::new() };
    let (name, behind) = (run.flows[worst].name.text(), run.flows[worst].behind);
    let no_flow = name == NO_FLOW;
    let verb = if one && !no_flow { "starves" } else { "starve" };
    let due = match run.promised_to(worst) {
        Some(part) if (f64::MIN_POSITIVE..1.0).contains(&part) => format!("what alpha={part} promises"),
        _ if no_flow => "their fair share".into(),
        _ => "its fair share".into(),
    };
    let packets = behind.due_packets;
    format!(
        "Under {}, {} {verb}. Worst off {}: {} ({packets} packet{}) behind {due}, of which waiting for a turn explains \
         {}.",
        run.scheduler,
        listed(&who, "and"),
        if no_flow { format!("are {NO_FLOW_PACKETS}") } else { format!("is {}", quoted(&name)) },
        seconds(behind.due_s()),
        if packets == 1 { "" } else { "s" },
        seconds(ROUNDS * behind.due_round_s),
    )
}

pub(crate) const NO_FLOW_PACKETS: &str = "the packets without a flow";

fn group_in_words(&(name, starving, flows): &(&str, usize, usize)) -> String {
    let how_many = if starving == flows { format!("all {flows}") } else { format!("{starving} of {flows}") };
    match flows {
        _ if name == NO_FLOW => NO_FLOW_PACKETS.into(),
        1 => quoted(name).into(),
        _ if is_plain(name) => format!("{how_many} {name} flows"),
        _ => format!("{how_many} flows of {}", quoted(name)),
    }
}

/// A packet of this group, in words.
pub(crate) fn a_packet_of(group: &str) -> String {
    match group {
        NO_FLOW => "a packet without a flow".into(),
        _ => format!("a packet of the group {}", quoted(group)),
    }
}

/// Whether a name can stand in a sentence without quotes.
fn is_plain(name: &str) -> bool {
    !name.contains(',')
}

pub(crate) fn quoted(name: &str) -> Cow<'_, str> {
    if is_plain(name) { name.into() } else { format!("\"{name}\"").into() }
}

/// In words: up to five, or the first four and how many others.
pub(crate) fn listed(names: &[String], and: &str) -> String {
    const MOST: usize = 5;
    let mut shown = names.to_vec();
    if names.len() > MOST {
        shown.truncate(MOST - 1);
        shown.push(format!("{} others", names.len() - shown.len()));
    }
    match shown.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} {and} {last}", before.join(", ")),
        None => String::new(),
    }
}
