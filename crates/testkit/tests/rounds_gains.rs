//! What a flow can gain among round robins: a search over ways to play with its queue, against nine rivals that are
//! always backlogged.
//!
//! The attacker always has a packet waiting, in one flow at a time, or, on and off, in none; so its share is that of
//! one flow at most. Its gain is its service by weight as a multiple of the rivals' mean. Every packet takes the same
//! time on both resources, so that dominant, total and link time are in proportion. Runs have some 400 packets of each
//! flow: whole packets leave 1 to 3 % open.

use std::collections::VecDeque;

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, build};
use dovetail_testkit::random::Random;
use dovetail_units::{Duration, ResourceVec, Time, Weight};

const LONGEST: u64 = 15_000;
const SHORT: u64 = 900;
const RIVALS: usize = 9;

/// When the attacker's flow is another one.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Flow {
    Same,
    RemovedAndAdded,
    /// A new one for every burst; the old ones stay.
    New,
    /// So many in rotation.
    Rotated(usize),
}

#[derive(Clone, Copy, Debug)]
struct Attack {
    flow: Flow,
    /// Packets of a burst.
    burst: usize,
    /// Whether a packet follows every service, so that the queue holds `burst`; else the next burst comes when it is
    /// empty.
    refilled_at_once: bool,
    /// Services between an empty queue and the next burst.
    away: usize,
    sizes: Sizes,
    weight: u32,
    /// The time that is estimated for its packets, if not the right one.
    told: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Sizes {
    Random,
    All(u64),
    /// The first packet of a burst takes 1 ns, the others the most.
    SmallFirst,
}

impl Sizes {
    fn of(self, place: usize, random: &mut Random) -> u64 {
        match self {
            Self::Random => random.between(1, LONGEST),
            Self::All(time) => time,
            Self::SmallFirst => [1, LONGEST][usize::from(place > 0)],
        }
    }
}

/// The payload is twice the packet's time, and one more if it is the attacker's.
type Boxed = Box<dyn Scheduler<2, u32>>;

fn add(scheduler: &mut Boxed, milli: u32) -> FlowId {
    scheduler.add_flow(FlowConfig { weight: Weight::from_milli(milli).unwrap(), ..FlowConfig::default() })
}

fn offer(scheduler: &mut Boxed, flow: FlowId, attacker: bool, time: u64, told: u64) {
    let cost = ResourceVec::from_nanos([told; 2]);
    let payload = 2 * time as u32 + u32::from(attacker);
    scheduler.enqueue(Time::ZERO, Packet { flow, size: 1, cost, payload }).unwrap();
}

/// The attacker's flows.
struct Attacker {
    attack: Attack,
    flows: VecDeque<FlowId>,
    place: usize,
    away: usize,
}

impl Attacker {
    fn new(attack: Attack, scheduler: &mut Boxed) -> Self {
        let count = if let Flow::Rotated(count) = attack.flow { count } else { 1 };
        let flows = (0..count).map(|_| add(scheduler, attack.weight)).collect();
        Self { attack, flows, place: 0, away: 0 }
    }

    /// Before every service.
    fn play(&mut self, scheduler: &mut Boxed, random: &mut Random) {
        let Attack { flow, burst, refilled_at_once, away, sizes, weight, told } = self.attack;
        let waiting = scheduler.queued(self.flows[0]) as usize;
        if waiting > 0 && !refilled_at_once {
            return;
        }
        if waiting == 0 {
            self.away += 1;
            if self.away <= away {
                return;
            }
            (self.away, self.place) = (0, 0);
            match flow {
                Flow::Same => {}
                Flow::RemovedAndAdded => {
                    scheduler.remove_flow(Time::ZERO, self.flows[0], &mut |_| {}).unwrap();
                    self.flows[0] = add(scheduler, weight);
                }
                Flow::New => self.flows[0] = add(scheduler, weight),
                Flow::Rotated(_) => self.flows.rotate_left(1),
            }
        }
        for _ in waiting..burst {
            let time = sizes.of(self.place % burst, random);
            offer(scheduler, self.flows[0], true, time, told.unwrap_or(time));
            self.place += 1;
        }
    }
}

/// The attacker's service by weight over the rivals' mean.
fn gain(spec: &str, attack: Attack, rival: Sizes) -> f64 {
    let mut random = Random::new(1);
    let mut scheduler: Boxed = build(&spec.parse().unwrap(), Shape::default()).unwrap();
    let rivals: Vec<FlowId> = (0..RIVALS).map(|_| add(&mut scheduler, 1000)).collect();
    let mut attacker = Attacker::new(attack, &mut scheduler);
    let mut service = [0u64; 2];
    // The smaller the rivals' packets, the more of them pass while the attacker has as many.
    let services = if rival == Sizes::All(SHORT) { 12_000 } else { 4_000 };
    for _ in 0..services {
        for &flow in &rivals {
            for _ in scheduler.queued(flow)..3 {
                let time = rival.of(0, &mut random);
                offer(&mut scheduler, flow, false, time, time);
            }
        }
        attacker.play(&mut scheduler, &mut random);
        let Next::Serve(mut served) = scheduler.next(Time::ZERO) else { panic!("{spec}: nothing to serve") };
        let (time, attacker) = (u64::from(served.payload / 2), served.payload as usize % 2);
        let used = Duration::from_nanos(time);
        for r in 0..2 {
            scheduler.progress(Time::ZERO, &mut served.ticket, r, Progress::Finished { used });
        }
        service[attacker] += time;
    }
    service[1] as f64 * 1000.0 / f64::from(attack.weight) / (service[0] as f64 / RIVALS as f64)
}

fn attacks() -> Vec<Attack> {
    let mut attacks = Vec::new();
    let flows = [Flow::Same, Flow::RemovedAndAdded, Flow::New, Flow::Rotated(2), Flow::Rotated(3)];
    let sizes = [Sizes::Random, Sizes::All(LONGEST), Sizes::All(LONGEST / 2 + 1), Sizes::SmallFirst];
    for flow in flows {
        for burst in [1, 2, 8] {
            for sizes in sizes {
                let attack = Attack { flow, burst, refilled_at_once: false, away: 0, sizes, weight: 1000, told: None };
                attacks.push(attack);
                attacks.push(Attack { weight: 3300, ..attack });
                attacks.push(Attack { away: 7, ..attack });
                if flow == Flow::Same {
                    attacks.push(Attack { refilled_at_once: true, ..attack });
                    attacks.push(Attack { told: Some(1), ..attack });
                    attacks.push(Attack { told: Some(10 * LONGEST), ..attack });
                }
            }
        }
    }
    attacks
}

/// The largest gain, and by what.
fn most(spec: &str) -> (f64, String) {
    let rivals = [Sizes::Random, Sizes::All(LONGEST), Sizes::All(SHORT)];
    let all = attacks().into_iter().flat_map(|attack| rivals.map(|rival| (attack, rival)));
    let gains = all.map(|(attack, rival)| (gain(spec, attack, rival), format!("{attack:?} against {rival:?}")));
    gains.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
}

#[test]
fn nobody_gains_by_coming_and_going() {
    for spec in ["mr3", "gmr3", "cbcs", "cbcs:quantum=1 us", "drr", "drr:quantum=1 us"] {
        let (gain, how) = most(spec);
        println!("{spec}: {gain:.3} by {how}");
        assert!(gain <= 1.05, "{spec}: {gain} by {how}");
    }
}

#[test]
fn as_published_some_do() {
    for (spec, least) in [
        ("mr3:newcomers=free", 1.5),
        ("gmr3:newcomers=free", 1.2),
        ("cbcs:newcomers=free", 1.5),
        ("cbcs:newcomers=free,quantum=1 us", 10.0),
    ] {
        let (gain, how) = most(spec);
        println!("{spec}: {gain:.3} by {how}");
        assert!(gain >= least, "{spec}: {gain} by {how}");
    }
}
