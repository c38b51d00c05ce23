//! What a run did to its flows, measured from when each packet was processed where; and a search for runs that are as
//! bad as possible.
//!
//! * Backlogged is a flow while at least one of its packets waits in the scheduler: from arrival to entrance into the
//!   first resource.
//! * Service of a flow is the time for which its packets were processed, up to now, each on its own dominant resource;
//!   not what was charged on entrance. In these runs all packets of a flow share a dominant resource.
//! * Fairness of a pair is the largest difference of the services per weight that two flows got in any interval in
//!   which both were backlogged throughout.
//! * Start-up of a flow that becomes backlogged lasts until its first packet enters the first resource.
//! * Delay of a packet lasts from when it was the first of its flow in the scheduler until it left the last resource.
//! * L is the longest time of any packet of the run on any resource.
#![allow(dead_code, reason = "every test file uses its part")]

use dovetail_sched::{Shape, build};
use dovetail_sim::record::{PacketLog, PacketRecord};
use dovetail_sim::{Arrival, Cost, Flow, List, Options, Pipeline, Source, TimeScale, Workload, simulate};
use dovetail_testkit::random::Random;
use dovetail_units::{ResourceVec, Time, Weight};

/// A packet: arrival in ns, flow, times in ns.
pub type Given<const M: usize> = (u64, usize, [u64; M]);

/// The input of a run.
#[derive(Clone, Debug)]
pub struct Case<const M: usize> {
    /// Of every flow, in thousandths.
    pub weights: Vec<u32>,
    /// In any order.
    pub packets: Vec<Given<M>>,
}

impl<const M: usize> Case<M> {
    pub fn longest(&self) -> u64 {
        self.packets.iter().flat_map(|p| p.2).max().unwrap_or(0)
    }

    /// Every packet's way, through single servers with unlimited buffers, in order of arrival.
    pub fn run(&self, spec: &str) -> Vec<PacketRecord<M>> {
        let mut packets = self.packets.clone();
        packets.sort_by_key(|p| p.0);
        let arrivals = packets.iter().map(|p| Arrival { time: Time::from_nanos(p.0), flow: p.1 as u32, size: 1 });
        let costs = packets.iter().map(|p| ResourceVec::from_nanos(p.2));
        let list = List { arrivals: arrivals.collect(), costs: Some(costs.collect()), scale: TimeScale::ONE };
        let flow = |&milli: &u32| {
            let mut flow = Flow::new("", [Cost::PerPacket; M]);
            flow.weight = Weight::from_milli(milli).unwrap();
            flow
        };
        let flows = self.weights.iter().map(flow).collect();
        let mut log = PacketLog::new(usize::MAX);
        let mut scheduler = build(&spec.parse().unwrap(), Shape { servers: M as u32 }).unwrap();
        let pipeline = Pipeline::new([""; M]);
        let workload = Workload { flows, sources: vec![Source::List(list)] };
        simulate(&workload, &pipeline, &mut *scheduler, &mut log, Options::default()).unwrap();
        log.records().to_vec()
    }
}

/// One flow's way through a run. Times in ns.
#[derive(Default)]
struct Way {
    /// Backlogged from, to.
    spells: Vec<[u64; 2]>,
    /// Processed on the dominant resource from, to, and how long before.
    spans: Vec<[u64; 3]>,
    start_up: u64,
    delay: u64,
}

impl Way {
    fn of<'a, const M: usize>(log: impl Iterator<Item = &'a PacketRecord<M>>) -> Self {
        let mut way = Self::default();
        let (mut entered, mut service) = (None, 0);
        for packet in log {
            let arrival = packet.packet.arrival.as_nanos();
            let dominant = packet.packet.cost.dominant_resource();
            let [started, finished] =
                [packet.started, packet.finished].map(|times| times.map(|t| t.unwrap().as_nanos()));
            match way.spells.last_mut() {
                // A packet that comes at the instant at which the one before enters is there before.
                Some([_, to]) if arrival <= *to => *to = started[0],
                _ => {
                    way.spells.push([arrival, started[0]]);
                    way.start_up = way.start_up.max(started[0] - arrival);
                }
            }
            way.delay = way.delay.max(finished[M - 1] - arrival.max(entered.unwrap_or(0)));
            entered = Some(started[0]);
            way.spans.push([started[dominant], finished[dominant], service]);
            service += finished[dominant] - started[dominant];
        }
        way
    }

    fn service(&self, time: u64) -> u64 {
        let begun = self.spans.partition_point(|span| span[0] <= time);
        self.spans[..begun].last().map_or(0, |&[from, to, before]| before + time.min(to) - from)
    }
}

/// The worst of a run. Times in ns.
#[derive(Clone, Debug, Default)]
pub struct Worst {
    /// Of any pair of flows, divided by the pair's `unit`.
    pub fairness: f64,
    /// Of any flow.
    pub start_up: u64,
    /// Of any packet of each flow.
    pub delay: Vec<u64>,
}

/// Measure a run; `unit` of the weights of a pair is what its fairness is divided by.
pub fn measure<const M: usize>(case: &Case<M>, spec: &str, unit: fn(f64, f64) -> f64) -> Worst {
    let log = case.run(spec);
    let flows = 0..case.weights.len();
    let ways: Vec<Way> = flows.map(|f| Way::of(log.iter().filter(|p| p.packet.flow as usize == f))).collect();
    let weight = |flow: usize| f64::from(case.weights[flow]) / 1000.0;
    let mut worst = Worst {
        fairness: 0.0,
        start_up: ways.iter().map(|way| way.start_up).max().unwrap_or(0),
        delay: ways.iter().map(|way| way.delay).collect(),
    };
    for i in 0..ways.len() {
        for j in 0..i {
            let here = unfairness([&ways[i], &ways[j]], [weight(i), weight(j)]) / unit(weight(i), weight(j));
            worst.fairness = worst.fairness.max(here);
        }
    }
    worst
}

fn unfairness(ways: [&Way; 2], weights: [f64; 2]) -> f64 {
    let ahead = |time| ways[0].service(time) as f64 / weights[0] - ways[1].service(time) as f64 / weights[1];
    let mut worst: f64 = 0.0;
    for a in &ways[0].spells {
        for b in &ways[1].spells {
            let (from, to) = (a[0].max(b[0]), a[1].min(b[1]));
            if from >= to {
                continue;
            }
            // Services are piecewise linear: their difference is extreme where one of them bends.
            let (mut least, mut most) = (ahead(from).min(ahead(to)), ahead(from).max(ahead(to)));
            for way in ways {
                let first = way.spans.partition_point(|span| span[1] <= from);
                for time in way.spans[first..].iter().take_while(|span| span[0] < to).flat_map(|s| [s[0], s[1]]) {
                    let here = ahead(time.clamp(from, to));
                    (least, most) = (least.min(here), most.max(here));
                }
            }
            worst = worst.max(most - least);
        }
    }
    worst
}

/// The longest time in drawn cases, in ns: tiny packets next to it take next to nothing.
pub const LONGEST: u64 = 1_000;

/// A case of `flows` flows and about `count` packets; each flow has its dominant resource, its kind of packets and its
/// time to come.
pub fn draw<const M: usize>(random: &mut Random, flows: usize, count: usize) -> Case<M> {
    let together = random.below(3) == 0;
    let mut packets = Vec::new();
    for flow in 0..flows {
        let (dominant, kind, on_and_off) = (random.below(M as u64) as usize, random.below(5), random.below(3) == 0);
        // Some flows are alone for a while.
        let mut now = if together || flow == 0 { 0 } else { random.below(LONGEST * count as u64 / 2) };
        for k in 0..count.div_ceil(flows) {
            if on_and_off && random.below(8) == 0 {
                now += random.below(20 * LONGEST * flows as u64);
            }
            packets.push((now, flow, times(random, dominant, kind, k)));
        }
    }
    Case { weights: vec![1000; flows], packets }
}

/// Times of a packet, the dominant one the longest. It needs a little of each resource between others: what needs
/// nothing there goes past, and the bounds are of packets that keep their order.
fn times<const M: usize>(random: &mut Random, dominant: usize, kind: u64, k: usize) -> [u64; M] {
    let long = match kind {
        0 => random.between(2, LONGEST),
        1 => [2, LONGEST][random.below(2) as usize],
        2 => [LONGEST, LONGEST, 2, 2, 2, LONGEST / 2 + 1][k % 6],
        3 => [LONGEST, 10][usize::from(random.below(10) > 0)],
        _ => LONGEST,
    };
    let others = random.below(3);
    let mut times = std::array::from_fn(|r| match others {
        _ if r == dominant => long,
        0 => random.below(long),
        1 => 0,
        _ => long - 1,
    });
    (1..M - 1).for_each(|r| times[r] = times[r].max(1));
    times
}

/// The case, a little different.
pub fn mutate<const M: usize>(random: &mut Random, case: &Case<M>) -> Case<M> {
    let mut case = case.clone();
    for _ in 0..random.between(1, 6) {
        let at = random.below(case.packets.len() as u64) as usize;
        let (time, flow, cost) = case.packets[at];
        let dominant = ResourceVec::from_nanos(cost).dominant_resource();
        match random.below(5) {
            0 | 1 => case.packets[at].2 = times(random, dominant, random.clone().below(5), at),
            2 => case.packets[at].0 = (time + random.below(4 * LONGEST)).saturating_sub(random.below(4 * LONGEST)),
            3 => {
                let later = random.below(10 * LONGEST);
                case.packets.iter_mut().filter(|p| p.1 == flow && p.0 >= time).for_each(|p| p.0 += later);
            }
            _ => case.packets.push((time, flow, times(random, dominant, 0, at))),
        }
    }
    case
}

/// Runs with at least this many packets in all: half of them drawn, half near the worst so far by one of the `K` values
/// that `judge` returns. Returns the worst values and how many packets there were.
pub fn search<const M: usize, const K: usize>(
    seed: u64,
    packets: usize,
    mut fresh: impl FnMut(&mut Random) -> Case<M>,
    mut judge: impl FnMut(&Case<M>) -> [f64; K],
) -> ([f64; K], usize) {
    let mut random = Random::new(seed);
    let mut worst: [(f64, Option<Case<M>>); K] = [const { (0.0, None) }; K];
    let mut count = 0;
    while count < packets {
        let near = random.below(2 * K as u64) as usize;
        let case = match worst.get(near).and_then(|(_, case)| case.as_ref()) {
            // Cases grow by mutation: one that is far too large is not pursued.
            Some(case) if case.packets.len() < 1_000 => mutate(&mut random, case),
            _ => fresh(&mut random),
        };
        count += case.packets.len();
        let values = judge(&case);
        for (value, worst) in values.into_iter().zip(&mut worst) {
            if value > worst.0 {
                *worst = (value, Some(case.clone()));
            }
        }
    }
    (worst.map(|w| w.0), count)
}
