//! Reno flows with ECN over queues, event by event, by the DRQ paper's text and RFC 5681. Nothing of this workspace is
//! used. Times are in nanoseconds, queues in packets of 500 bytes.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

const SECOND: f64 = 1e9;
const BITS: f64 = 4000.0;
/// Beyond so many packets a queue loses what comes.
const ROOM: usize = 1200;
const RTT_NS: u64 = 40_000_000;
const LEAST_TIMEOUT_NS: u64 = 200_000_000;

/// How a queue marks, or in which order it serves.
#[derive(Clone, Copy)]
pub enum Rule {
    /// Section IV's gentle RED with this averaging weight; marks are kept apart, as ns-2 does.
    Red(f64),
    /// Fig. 3, by the same curve.
    Drq(f64),
    /// Deficit round robin; each flow has room for so many packets.
    Drr(usize),
}

/// Alike flows: how many, and the queues on their way with what a bit needs at each.
pub type Group<'a> = (usize, &'a [(usize, f64)]);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Packet {
    flow: usize,
    number: u64,
    sent: u64,
    again: bool,
    /// Which queue of its way it is at.
    hop: usize,
    /// 0, and 1 if signalling-marked, 2 if congestion-marked.
    ecn: u8,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Start(usize),
    Arrives(Packet),
    Served(usize),
    /// All before `number` has come, says the answer to this packet.
    Answered(Packet),
    Timer(usize),
}

/// Xorshift: Marsaglia 2003.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A queue in front of a CPU or a link.
struct Stage {
    rule: Rule,
    /// Cycles or bits in a second.
    can: f64,
    /// One queue, or one for each flow.
    queues: Vec<VecDeque<Packet>>,
    turns: VecDeque<usize>,
    deficits: Vec<f64>,
    quantum: f64,
    average: f64,
    idle_since: u64,
    /// How long the last packet took.
    took: u64,
    /// Packets since the last mark.
    since: f64,
    serving: Option<Packet>,
    busy: u64,
}

impl Stage {
    fn new(rule: Rule, can: f64, flows: usize, most: f64) -> Self {
        let queues = if matches!(rule, Rule::Drr(_)) { flows } else { 1 };
        Self {
            rule,
            can,
            queues: vec![VecDeque::new(); queues],
            turns: VecDeque::new(),
            deficits: vec![0.0; queues],
            quantum: most * BITS,
            average: 0.0,
            idle_since: 0,
            took: 1,
            since: 0.0,
            serving: None,
            busy: 0,
        }
    }

    /// The curve of equation (10), at the average that equation (12) has when a packet comes.
    fn probability(&mut self, weight: f64, now: u64) -> f64 {
        let waiting = self.queues[0].len();
        if waiting == 0 && self.serving.is_none() {
            let missed = (now - self.idle_since) as f64 / self.took as f64;
            self.average *= (1.0 - weight).powf(missed);
        }
        self.average += weight * (waiting as f64 - self.average);
        match self.average {
            low if low < 50.0 => 0.0,
            middle if middle < 550.0 => 0.1 * (middle - 50.0) / 500.0,
            high => (0.1 + 0.9 * (high - 550.0) / 550.0).min(1.0),
        }
    }

    /// Whether there is room for it; it may be marked.
    fn take(&mut self, mut packet: Packet, needs: f64, now: u64, random: &mut Random) -> bool {
        match self.rule {
            Rule::Drr(room) => {
                let queue = &mut self.queues[packet.flow];
                if queue.len() >= room {
                    return false;
                }
                if queue.is_empty() {
                    self.turns.push_back(packet.flow);
                    self.deficits[packet.flow] = 0.0;
                }
                queue.push_back(packet);
                return true;
            }
            Rule::Red(weight) => {
                let p = self.probability(weight, now);
                self.since = if p == 0.0 { 0.0 } else { self.since + 1.0 };
                let chance = match self.since * p {
                    near if near < 1.0 => 0.0,
                    far if far < 2.0 => p / (2.0 - far),
                    _ => 1.0,
                };
                if random.unit() < chance {
                    (packet.ecn, self.since) = (2, 0.0);
                }
            }
            Rule::Drq(weight) => {
                let price = needs * self.probability(weight, now);
                let [inner, outer] = [price * price, std::f64::consts::SQRT_2 * price];
                if random.unit() < inner {
                    packet.ecn = 2;
                }
                if packet.ecn < 2 && random.unit() < outer {
                    packet.ecn += 1;
                }
            }
        }
        let fits = self.queues[0].len() < ROOM;
        if fits {
            self.queues[0].push_back(packet);
        }
        fits
    }

    fn next(&mut self, cost: impl Fn(&Packet) -> f64) -> Option<Packet> {
        if !matches!(self.rule, Rule::Drr(_)) {
            return self.queues[0].pop_front();
        }
        loop {
            let flow = *self.turns.front()?;
            let needs = self.queues[flow].front().map(&cost)?;
            if self.deficits[flow] >= needs {
                self.deficits[flow] -= needs;
                let packet = self.queues[flow].pop_front();
                if self.queues[flow].is_empty() {
                    self.turns.pop_front();
                }
                return packet;
            }
            // Its turn is over; the next one begins with a quantum more.
            self.turns.rotate_left(1);
            self.deficits[flow] += self.quantum;
        }
    }
}

/// Sender and receiver.
struct Flow {
    group: usize,
    /// All before has been acknowledged; the next one to be sent; beyond all that was ever sent.
    acknowledged: u64,
    next: u64,
    beyond: u64,
    window: f64,
    threshold: f64,
    doubles: u32,
    /// In fast recovery.
    fast: bool,
    /// No fast retransmit, and no answer to a mark, before this is acknowledged.
    recover: u64,
    cut: u64,
    rtt: Option<[f64; 2]>,
    timeout: u64,
    /// When the timer is due, if anything is outstanding, and when it is looked at next.
    due: Option<u64>,
    watched: Option<u64>,
    timeouts: u32,
    expected: u64,
    ahead: BTreeSet<u64>,
}

impl Flow {
    fn new(group: usize) -> Self {
        Self {
            group,
            acknowledged: 0,
            next: 0,
            beyond: 0,
            window: 2.0,
            threshold: f64::INFINITY,
            doubles: 0,
            fast: false,
            recover: 0,
            cut: 0,
            rtt: None,
            timeout: 3_000_000_000,
            due: None,
            watched: None,
            timeouts: 0,
            expected: 0,
            ahead: BTreeSet::new(),
        }
    }

    fn sampled(&mut self, ns: f64) {
        let [mean, deviation] = match self.rtt {
            None => [ns, ns / 2.0],
            Some([mean, d]) => [mean + (ns - mean) / 8.0, d + ((ns - mean).abs() - d) / 4.0],
        };
        self.rtt = Some([mean, deviation]);
        self.timeout = ((mean + 4.0 * deviation) as u64).max(LEAST_TIMEOUT_NS);
    }

    /// Whether the first outstanding packet is to be sent again at once.
    fn answered(&mut self, upto: u64, packet: Packet, now: u64) -> bool {
        if !packet.again {
            self.sampled((now - packet.sent) as f64);
        }
        let marked = packet.ecn == 2 && upto > self.cut;
        if marked {
            self.threshold = (self.window / 2.0).max(2.0);
            (self.window, self.cut) = ((self.window / 2.0).max(1.0), self.next);
        }
        if upto > self.acknowledged {
            (self.acknowledged, self.doubles) = (upto, 0);
            self.next = self.next.max(upto);
            if self.fast {
                (self.fast, self.window) = (false, self.threshold);
            } else if !marked {
                self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
            }
            self.due = (self.next > upto).then_some(now + self.timeout);
            return false;
        }
        self.doubles += 1;
        if self.fast {
            self.window += 1.0;
        }
        let again = self.doubles == 3 && !self.fast && self.acknowledged >= self.recover;
        if again {
            self.threshold = (self.window / 2.0).max(2.0);
            (self.window, self.fast, self.recover) = (self.threshold + 3.0, true, self.beyond);
        }
        again
    }

    fn expired(&mut self) {
        self.threshold = (self.window / 2.0).max(2.0);
        (self.window, self.next, self.doubles, self.fast) = (1.0, self.acknowledged, 0, false);
        self.recover = self.beyond;
        (self.timeout, self.due) = ((2 * self.timeout).min(60_000_000_000), None);
        self.timeouts += 1;
    }
}

/// What a run has shown after its first part.
pub struct Seen {
    /// Bit/s of a flow of each group.
    pub rates: Vec<f64>,
    /// The part of the time in which each queue's CPU or link was busy.
    pub used: Vec<f64>,
    /// Timeouts of a flow of each group, the first part included.
    pub timeouts: Vec<f64>,
}

struct Network<'a> {
    groups: &'a [Group<'a>],
    flows: Vec<Flow>,
    stages: Vec<Stage>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    planned: u64,
    random: Random,
    now: u64,
}

/// Flows that start within 20 s, of which the seconds from `warm` to `end` count.
pub fn run(groups: &[Group<'_>], stages: &[(Rule, f64)], [warm, end]: [f64; 2], seed: u64) -> Seen {
    let flows = groups.iter().enumerate().flat_map(|(g, (n, _))| (0..*n).map(move |_| Flow::new(g)));
    let flows: Vec<Flow> = flows.collect();
    let most = |stage: usize| {
        let needs =
            groups.iter().flat_map(|(_, way)| way.iter().filter(|(at, _)| *at == stage).map(|(_, needs)| *needs));
        needs.fold(0.0, f64::max)
    };
    let stage = |(at, &(rule, can)): (usize, &(Rule, f64))| Stage::new(rule, can, flows.len(), most(at));
    let stages = stages.iter().enumerate().map(stage).collect();
    let random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut network = Network { groups, flows, stages, events: BinaryHeap::new(), planned: 0, random, now: 0 };
    for flow in 0..network.flows.len() {
        let start = (20.0 * SECOND * network.random.unit()) as u64;
        network.plan(start, Event::Start(flow));
    }
    network.until((warm * SECOND) as u64);
    let before: Vec<u64> = network.flows.iter().map(|flow| flow.acknowledged).collect();
    network.stages.iter_mut().for_each(|stage| stage.busy = 0);
    network.until((end * SECOND) as u64);
    let mean = |of: &dyn Fn(usize) -> f64| {
        let of_group = |(g, (n, _)): (usize, &Group<'_>)| {
            let own = (0..network.flows.len()).filter(|&f| network.flows[f].group == g);
            own.map(of).sum::<f64>() / *n as f64
        };
        groups.iter().enumerate().map(of_group).collect()
    };
    Seen {
        rates: mean(&|f| (network.flows[f].acknowledged - before[f]) as f64 * BITS / (end - warm)),
        used: network.stages.iter().map(|stage| stage.busy as f64 / SECOND / (end - warm)).collect(),
        timeouts: mean(&|f| f64::from(network.flows[f].timeouts)),
    }
}

impl Network<'_> {
    fn plan(&mut self, at: u64, event: Event) {
        self.planned += 1;
        self.events.push(Reverse((at, self.planned, event)));
    }

    fn until(&mut self, end: u64) {
        while self.events.peek().is_some_and(|Reverse((at, ..))| *at <= end) {
            let Some(Reverse((at, _, event))) = self.events.pop() else { break };
            self.now = at;
            match event {
                Event::Start(flow) => self.send(flow),
                Event::Arrives(packet) => self.arrives(packet),
                Event::Served(stage) => self.served(stage),
                Event::Answered(packet) => self.answered(packet),
                Event::Timer(flow) => self.timer(flow),
            }
        }
    }

    fn needs(&self, packet: &Packet) -> (usize, f64) {
        self.groups[self.flows[packet.flow].group].1[packet.hop]
    }

    fn emit(&mut self, flow: usize, number: u64) {
        let state = &mut self.flows[flow];
        let packet = Packet { flow, number, sent: self.now, again: number < state.beyond, hop: 0, ecn: 0 };
        state.beyond = state.beyond.max(number + 1);
        state.due = state.due.or(Some(self.now + state.timeout));
        self.plan(self.now + RTT_NS / 4, Event::Arrives(packet));
        self.watch(flow);
    }

    /// Look at the timer when it is due.
    fn watch(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        if let Some(due) = state.due.filter(|due| state.watched.is_none_or(|at| *due < at)) {
            state.watched = Some(due);
            self.plan(due, Event::Timer(flow));
        }
    }

    fn send(&mut self, flow: usize) {
        loop {
            let state = &self.flows[flow];
            // Limited transmit: the first two answers that acknowledge nothing let one more packet go each (RFC 3042).
            let more = if state.fast { 0 } else { u64::from(state.doubles.min(2)) };
            if state.next >= state.acknowledged + state.window as u64 + more {
                break;
            }
            let number = self.flows[flow].next;
            self.emit(flow, number);
            self.flows[flow].next += 1;
        }
    }

    fn arrives(&mut self, packet: Packet) {
        let (at, needs) = self.needs(&packet);
        if self.stages[at].take(packet, needs, self.now, &mut self.random) && self.stages[at].serving.is_none() {
            self.serve(at);
        }
    }

    fn serve(&mut self, at: usize) {
        let (groups, flows) = (self.groups, &self.flows);
        let needs = |packet: &Packet| groups[flows[packet.flow].group].1[packet.hop].1 * BITS;
        let stage = &mut self.stages[at];
        stage.serving = stage.next(needs);
        let Some(packet) = stage.serving else {
            stage.idle_since = self.now;
            return;
        };
        stage.took = (needs(&packet) / stage.can * SECOND) as u64;
        let end = self.now + stage.took;
        self.plan(end, Event::Served(at));
    }

    fn served(&mut self, at: usize) {
        self.stages[at].busy += self.stages[at].took;
        if let Some(mut packet) = self.stages[at].serving.take() {
            packet.hop += 1;
            if packet.hop < self.groups[self.flows[packet.flow].group].1.len() {
                self.arrives(packet);
            } else {
                self.received(packet);
            }
        }
        self.serve(at);
    }

    /// The answer says what is expected next, in `number`.
    fn received(&mut self, mut packet: Packet) {
        let flow = &mut self.flows[packet.flow];
        flow.ahead.insert(packet.number);
        while flow.ahead.remove(&flow.expected) {
            flow.expected += 1;
        }
        flow.ahead = flow.ahead.split_off(&flow.expected);
        packet.number = flow.expected;
        self.plan(self.now + RTT_NS / 4 * 3, Event::Answered(packet));
    }

    fn answered(&mut self, packet: Packet) {
        let flow = packet.flow;
        let state = &mut self.flows[flow];
        let upto = packet.number;
        if state.answered(upto, packet, self.now) {
            self.emit(flow, upto);
        }
        self.watch(flow);
        self.send(flow);
    }

    fn timer(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        if state.watched != Some(self.now) {
            return;
        }
        state.watched = None;
        if state.due.is_some_and(|due| due <= self.now) {
            state.expired();
            self.send(flow);
        }
        self.watch(flow);
    }
}
