//! `codel` and `fq_codel` against the pseudo code of RFC 8289, section 5, and the text of RFC 8290, section 4, written
//! down as they stand there.

use std::collections::VecDeque;

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Scheduler, Shape, build};
use dovetail_testkit::random::Random;
use dovetail_units::{ResourceVec, Time};

const TARGET: f64 = 5e6;
const INTERVAL: f64 = 100e6;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Waiting {
    number: u32,
    size: u64,
    came: f64,
}

/// RFC 8289's `codel_queue_t`; times in ns.
#[derive(Default)]
struct Codel {
    packets: VecDeque<Waiting>,
    bytes: u64,
    first_above_time: f64,
    drop_next: f64,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

impl Codel {
    fn enqueue(&mut self, packet: Waiting) {
        self.bytes += packet.size;
        self.packets.push_back(packet);
    }

    fn pop(&mut self) -> Option<Waiting> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.size;
        Some(packet)
    }

    fn dodequeue(&mut self, now: f64, maxpacket: u64) -> (Option<Waiting>, bool) {
        let Some(p) = self.pop() else {
            self.first_above_time = 0.0;
            return (None, false);
        };
        let mut ok_to_drop = false;
        let sojourn_time = now - p.came;
        if sojourn_time < TARGET || self.bytes <= maxpacket {
            self.first_above_time = 0.0;
        } else if self.first_above_time == 0.0 {
            self.first_above_time = now + INTERVAL;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(p), ok_to_drop)
    }

    fn control_law(t: f64, count: u32) -> f64 {
        t + (INTERVAL / f64::from(count).sqrt()).floor()
    }

    fn deque(&mut self, now: f64, maxpacket: u64, dropped: &mut Vec<u32>) -> Option<Waiting> {
        let (mut p, mut ok_to_drop) = self.dodequeue(now, maxpacket);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                dropped.extend(p.map(|p| p.number));
                self.count += 1;
                (p, ok_to_drop) = self.dodequeue(now, maxpacket);
                if !ok_to_drop {
                    self.dropping = false;
                } else {
                    self.drop_next = Self::control_law(self.drop_next, self.count);
                }
            }
        } else if ok_to_drop {
            dropped.extend(p.map(|p| p.number));
            (p, _) = self.dodequeue(now, maxpacket);
            self.dropping = true;
            let delta = i64::from(self.count) - i64::from(self.lastcount);
            self.count = 1;
            if delta > 1 && now - self.drop_next < 16.0 * INTERVAL {
                self.count = delta as u32;
            }
            self.drop_next = Self::control_law(now, self.count);
            self.lastcount = self.count;
        }
        p
    }
}

/// RFC 8290, without its hash; what is beyond the limit goes when a packet is asked for.
struct FqCodel {
    flows: Vec<(Codel, i64)>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    quantum: i64,
    limit: usize,
}

impl FqCodel {
    fn enqueue(&mut self, flow: usize, packet: Waiting) {
        self.flows[flow].0.enqueue(packet);
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            self.flows[flow].1 = self.quantum;
            self.new.push_back(flow);
        }
    }

    fn deque(&mut self, now: f64, maxpacket: u64, dropped: &mut Vec<u32>) -> Option<Waiting> {
        while self.flows.iter().map(|flow| flow.0.packets.len()).sum::<usize>() > self.limit {
            let fattest = (0..self.flows.len()).rev().max_by_key(|&flow| self.flows[flow].0.bytes)?;
            let codel = &mut self.flows[fattest].0;
            for _ in 0..codel.packets.len().div_ceil(2).min(64) {
                dropped.extend(codel.pop().map(|p| p.number));
            }
        }
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let flow = list.pop_front()?;
            let (codel, deficit) = &mut self.flows[flow];
            if *deficit <= 0 {
                *deficit += self.quantum;
                self.old.push_back(flow);
                continue;
            }
            match codel.deque(now, maxpacket, dropped) {
                Some(packet) => {
                    *deficit -= packet.size as i64;
                    let list = if from_new { &mut self.new } else { &mut self.old };
                    list.push_front(flow);
                    return Some(packet);
                }
                None if from_new => self.old.push_back(flow),
                None => (),
            }
        }
    }
}

/// What the scheduler drops, and serves then.
fn asked(scheduler: &mut dyn Scheduler<1, u32>, now: u64) -> (Vec<u32>, Option<u32>) {
    let mut dropped = Vec::new();
    loop {
        match scheduler.next(Time::from_nanos(now)) {
            Next::Drop { payload, .. } => dropped.push(payload),
            Next::Serve(served) => return (dropped, Some(served.payload)),
            Next::Empty => return (dropped, None),
            other => panic!("{other:?}"),
        }
    }
}

/// Packets of one size or of any, more or fewer than a link takes, and now and then a pause.
struct Traffic {
    random: Random,
    now: u64,
    number: u32,
    longest: u64,
}

impl Traffic {
    fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), now: 1, number: 0, longest: 0 }
    }

    fn packet(&mut self) -> Waiting {
        let size = [1514, 64, self.random.between(1, 9000)][self.random.below(3) as usize];
        self.longest = self.longest.max(size);
        self.number += 1;
        Waiting { number: self.number, size, came: self.now as f64 }
    }

    /// So many packets come now, and after this time one is asked for.
    fn step(&mut self, busy: bool) -> (u64, u64) {
        let burst = if busy { self.random.below(4) } else { u64::from(self.random.below(3) == 0) };
        let pause = if self.random.below(400) == 0 { 3_000_000_000 } else { self.random.between(1, 2_000_000) };
        (burst, pause)
    }
}

fn send(scheduler: &mut dyn Scheduler<1, u32>, flow: FlowId, packet: Waiting, now: u64) {
    let packet = Packet { flow, size: packet.size as u32, cost: ResourceVec::from_nanos([1]), payload: packet.number };
    assert!(scheduler.enqueue(Time::from_nanos(now), packet).is_ok());
}

#[test]
fn codel_is_the_pseudo_code_of_rfc_8289() {
    let mut all = 0;
    for seed in 0..40 {
        let mut scheduler = build::<1, u32>(&"codel".parse().unwrap(), Shape { servers: 1 }).unwrap();
        let flows = [(); 3].map(|()| scheduler.add_flow(FlowConfig::default()));
        let (mut twin, mut traffic) = (Codel::default(), Traffic::new(seed));
        for step in 0..6_000 {
            let (burst, pause) = traffic.step(step % 1500 < 900);
            for _ in 0..burst {
                let (packet, flow) = (traffic.packet(), flows[traffic.random.below(3) as usize]);
                twin.enqueue(packet);
                send(&mut *scheduler, flow, packet, traffic.now);
            }
            traffic.now += pause;
            let mut dropped = Vec::new();
            let served = twin.deque(traffic.now as f64, traffic.longest, &mut dropped).map(|p| p.number);
            all += dropped.len();
            assert_eq!(asked(&mut *scheduler, traffic.now), (dropped, served), "seed {seed}, step {step}");
        }
    }
    assert!(all > 1_500, "only {all} packets are dropped");
}

#[test]
fn fq_codel_is_what_rfc_8290_says() {
    let (mut late, mut beyond) = (0, 0);
    for seed in 0..40 {
        let (quantum, limit) = [(1514, 10_240), (300, 60), (9000, 300), (1, 10_240)][seed as usize % 4];
        let spec = format!("fq_codel:quantum={quantum} B,limit={limit}");
        let mut scheduler = build::<1, u32>(&spec.parse().unwrap(), Shape { servers: 1 }).unwrap();
        let flows = [(); 12].map(|()| scheduler.add_flow(FlowConfig::default()));
        let twins = flows.iter().map(|_| (Codel::default(), 0)).collect();
        let (new, old) = (VecDeque::new(), VecDeque::new());
        let mut twin = FqCodel { flows: twins, new, old, quantum, limit };
        let mut traffic = Traffic::new(seed);
        for step in 0..6_000 {
            let (burst, pause) = traffic.step(step % 1500 < 900);
            for _ in 0..burst {
                // Some flows send seldom.
                let (a, b) = (traffic.random.below(12), traffic.random.below(12));
                let (flow, packet) = (a.min(b) as usize, traffic.packet());
                twin.enqueue(flow, packet);
                send(&mut *scheduler, flows[flow], packet, traffic.now);
            }
            traffic.now += pause;
            let mut dropped = Vec::new();
            let served = twin.deque(traffic.now as f64, traffic.longest, &mut dropped).map(|p| p.number);
            *(if limit > 1000 { &mut late } else { &mut beyond }) += dropped.len();
            assert_eq!(asked(&mut *scheduler, traffic.now), (dropped, served), "{spec}, seed {seed}, step {step}");
        }
    }
    assert!(late > 1_500 && beyond > 1_500, "dropped: {late} late ones, {beyond} for the limit or late");
}

/// With many flows one call does not see all of them, and with a tiny quantum each needs many turns for its next
/// packet.
#[test]
fn fq_codel_keeps_the_order_of_rfc_8290_with_many_flows_and_a_tiny_quantum() {
    let mut random = Random::new(1);
    let spec = "fq_codel:quantum=1 B,target=1 s,interval=10 s";
    let mut scheduler = build::<1, u32>(&spec.parse().unwrap(), Shape { servers: 1 }).unwrap();
    let flows: Vec<_> = (0..700).map(|_| scheduler.add_flow(FlowConfig::default())).collect();
    let twins = flows.iter().map(|_| (Codel::default(), 0)).collect();
    let mut twin = FqCodel { flows: twins, new: VecDeque::new(), old: VecDeque::new(), quantum: 1, limit: 10_240 };
    let mut now = 1;
    for number in 0..3_000 {
        let flow = random.below(700) as usize;
        let packet = Waiting { number, size: random.between(1, 9000), came: 1.0 };
        twin.enqueue(flow, packet);
        send(&mut *scheduler, flows[flow], packet, now);
    }
    let (mut calls, mut packets) = (0, 0);
    loop {
        let expected = twin.deque(1.0, 9_000, &mut Vec::new()).map(|packet| packet.number);
        let served = loop {
            calls += 1;
            match scheduler.next(Time::from_nanos(now)) {
                Next::At(time) => {
                    assert_eq!(scheduler.next(Time::from_nanos(now)), Next::At(time), "asked twice at one instant");
                    now = time.as_nanos();
                }
                Next::Serve(served) => break Some(served.payload),
                Next::Empty => break None,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(served, expected);
        if served.is_none() {
            break;
        }
        packets += 1;
    }
    // Two rounds for each packet and each flow that leaves at most, of 256 turns a call, whatever the quantum.
    assert!((2 * packets..2 * (packets + 700) * 3).contains(&calls), "{calls} calls for {packets} packets");
}
