//! A CPU and a link by the text of the two papers, event by event. Nothing of this workspace is used. Times are in
//! seconds.

use std::collections::VecDeque;

/// One of several alike flows.
#[derive(Clone, Copy)]
pub struct Group {
    pub flows: usize,
    /// Bytes, any in the range.
    pub bytes: [f64; 2],
    /// CPU time of a packet, and of a byte.
    pub cpu: [f64; 2],
    /// Bytes that leave per byte that came, any in the range.
    pub resize: [f64; 2],
    /// Packets per second.
    pub rate: f64,
    /// Of CPU and link.
    pub weights: [f64; 2],
    /// How many times as long the CPU may take, above and below 1.
    pub spread: f64,
}

/// How packets of a flow follow each other.
#[derive(Clone, Copy, PartialEq)]
pub enum Gaps {
    /// At equal distances, all flows beginning together.
    Equal,
    Poisson,
}

#[derive(Clone, Copy)]
pub struct Packet {
    pub flow: usize,
    pub at: f64,
    /// Before the CPU.
    bytes: f64,
    /// On CPU and link.
    pub times: [f64; 2],
    /// Of the CPU time, when it came.
    predicted: f64,
    tag: f64,
}

impl Packet {
    /// Of which the CPU time is known.
    pub fn exact(flow: usize, at: f64, times: [f64; 2]) -> Self {
        Self { flow, at, bytes: 1.0, times, predicted: times[0], tag: 0.0 }
    }
}

/// Xorshift: Marsaglia 2003.
pub struct Random(pub u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn within(&mut self, [low, high]: [f64; 2]) -> f64 {
        low + (high - low) * self.unit()
    }
}

/// All packets of `seconds`, on a link of so many bytes per second.
pub fn packets(groups: &[Group], link: f64, gaps: Gaps, seconds: f64, seed: u64) -> Vec<Packet> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut all, mut flow) = (Vec::new(), 0);
    for group in groups {
        for _ in 0..group.flows {
            let mut at = 0.0;
            while at < seconds {
                let bytes = random.within(group.bytes);
                let around = 1.0 + group.spread * random.within([-1.0, 1.0]);
                let cpu = (group.cpu[0] + group.cpu[1] * bytes) * around;
                let sent = bytes * random.within(group.resize) / link;
                all.push(Packet { flow, at, bytes, times: [cpu, sent], predicted: cpu, tag: 0.0 });
                at += match gaps {
                    Gaps::Equal => 1.0 / group.rate,
                    Gaps::Poisson => -(1.0 - random.unit()).ln() / group.rate,
                };
            }
            flow += 1;
        }
    }
    all.sort_by(|a, b| a.at.total_cmp(&b.at));
    all
}

/// Which packet is next.
#[derive(Clone, Copy, PartialEq)]
pub enum Rule {
    /// The one that came first, for the link of a composite scheduler.
    Arrival,
    /// Rounds: a flow is served while its credit, which grows by a quantum in each round, is above zero.
    Rounds,
    /// The smallest finish time by PCFQ's equations (3) to (6).
    Pcfq,
    /// The smallest finish time of weighted fair queueing.
    Wfq,
}

/// A queue per flow in front of a resource.
pub struct Stage {
    rule: Rule,
    weights: Vec<f64>,
    quantum: f64,
    queues: Vec<VecDeque<Packet>>,
    credit: Vec<f64>,
    turns: VecDeque<usize>,
    /// Whose turn it is, the first of `turns`.
    turn: Option<usize>,
    arrived: VecDeque<usize>,
    finish: Vec<f64>,
    virtual_time: f64,
    updated: f64,
}

impl Stage {
    /// `quantum` is that of the flow of the least weight.
    pub fn new(rule: Rule, weights: Vec<f64>, quantum: f64) -> Self {
        let n = weights.len();
        let (credit, finish) = (vec![0.0; n], vec![0.0; n]);
        let (queues, turns, arrived) = (vec![VecDeque::new(); n], VecDeque::new(), VecDeque::new());
        Self {
            rule,
            weights,
            quantum,
            queues,
            credit,
            turns,
            turn: None,
            arrived,
            finish,
            virtual_time: 0.0,
            updated: 0.0,
        }
    }

    pub fn len(&self, flow: usize) -> usize {
        self.queues[flow].len()
    }

    /// The virtual time, and for each flow its finish time in it.
    pub fn fluid(&mut self, now: f64) -> (f64, &[f64]) {
        self.advance(now);
        (self.virtual_time, &self.finish)
    }

    /// `cost` is what the packet counts for, by weight where tags are.
    pub fn push(&mut self, mut packet: Packet, cost: f64, now: f64) {
        self.advance(now);
        let flow = packet.flow;
        self.finish[flow] = self.finish[flow].max(self.virtual_time) + cost;
        packet.tag = if matches!(self.rule, Rule::Rounds) { cost } else { self.finish[flow] };
        if self.queues[flow].is_empty() {
            self.turns.push_back(flow);
            self.credit[flow] = 0.0;
        }
        self.queues[flow].push_back(packet);
        self.arrived.push_back(flow);
    }

    /// The sum of the weights of the flows that are backlogged, here or in the fluid.
    fn backlogged(&self) -> f64 {
        let there = |&f: &usize| match self.rule {
            Rule::Wfq => self.finish[f] > self.virtual_time,
            _ => !self.queues[f].is_empty(),
        };
        (0..self.queues.len()).filter(there).map(|f| self.weights[f]).sum()
    }

    fn advance(&mut self, now: f64) {
        if !matches!(self.rule, Rule::Pcfq | Rule::Wfq) {
            return;
        }
        while self.updated < now {
            let (sum, left) = (self.backlogged(), now - self.updated);
            if sum == 0.0 {
                break;
            }
            let ends = self.finish.iter().copied().filter(|&f| f > self.virtual_time).fold(f64::INFINITY, f64::min);
            // A fluid's rate changes where a flow's work ends; by (5) it is that of the whole time between arrivals.
            let step = if self.rule == Rule::Wfq { left.min((ends - self.virtual_time) * sum) } else { left };
            self.virtual_time =
                if self.rule == Rule::Wfq && step < left { ends } else { self.virtual_time + step / sum };
            self.updated += step;
        }
        self.updated = now;
    }

    /// The next packet of a flow that `may` be served.
    pub fn pop(&mut self, now: f64, may: impl Fn(usize) -> bool) -> Option<Packet> {
        let can = |stage: &Self, f: usize| !stage.queues[f].is_empty() && may(f);
        if !(0..self.queues.len()).any(|f| can(self, f)) {
            return None;
        }
        self.advance(now);
        let flow = match self.rule {
            Rule::Arrival => {
                let at = self.arrived.iter().position(|&f| can(self, f))?;
                self.arrived.remove(at)?
            }
            Rule::Rounds => loop {
                if let Some(flow) = self.turn
                    && can(self, flow)
                    && self.credit[flow] > 0.0
                {
                    break flow;
                }
                if self.turn.is_some() {
                    self.turns.rotate_left(1);
                }
                self.turn = self.turns.front().copied();
                if let Some(flow) = self.turn.filter(|&flow| can(self, flow)) {
                    self.credit[flow] += self.quantum * self.weights[flow];
                }
            },
            Rule::Pcfq | Rule::Wfq => {
                let tag = |&f: &usize| self.queues[f].front().map_or(f64::INFINITY, |p| p.tag);
                (0..self.queues.len()).filter(|&f| can(self, f)).min_by(|a, b| tag(a).total_cmp(&tag(b)))?
            }
        };
        let packet = self.queues[flow].pop_front()?;
        self.credit[flow] -= packet.tag;
        if self.queues[flow].is_empty() {
            self.turns.retain(|&f| f != flow);
            self.turn = None;
        }
        Some(packet)
    }
}

/// What a packet counts for on the CPU.
#[derive(Clone, Copy, PartialEq)]
pub enum Charge {
    /// What it takes.
    Measured,
    /// What equation (2) with alpha = 0.4 says when it comes.
    AtArrival,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Scheme {
    /// One order for both resources, by the sum of both times.
    Composite(Rule),
    /// One for each.
    Separate(Rule),
}

pub struct Machine {
    pub scheme: Scheme,
    /// What is charged.
    pub charge: Charge,
    /// A byte's prediction is a packet's, where the time has nothing to do with the length.
    pub per_packet: bool,
    pub engines: usize,
    /// Packets of a flow in front of the link beyond which more are lost, or, with `hold`, wait in front of the CPU.
    pub room: usize,
    pub hold: bool,
    /// CPU time of a flow's queue above which it closes, and below which it opens.
    pub limits: Option<[f64; 2]>,
    /// What a second of CPU, and of link, counts for a composite scheduler.
    pub worth: [f64; 2],
}

/// What a flow has had.
#[derive(Clone, Default, Debug)]
pub struct Flow {
    pub processed: usize,
    pub received: usize,
    /// On CPU and link.
    pub times: [f64; 2],
    pub delays: Vec<f64>,
    /// When CPU and link began and ended its packets.
    pub on: [Vec<[f64; 2]>; 2],
}

impl Machine {
    /// The flows after `seconds`, and whatever was still to be done then left undone.
    pub fn run(&self, groups: &[Group], packets: &[Packet], seconds: f64) -> Vec<Flow> {
        let of_flow: Vec<&Group> = groups.iter().flat_map(|g| std::iter::repeat_n(g, g.flows)).collect();
        let n = of_flow.len();
        let longest = |r: usize| {
            let time =
                |p: &Packet| if r == 2 { self.worth[0] * p.times[0] + self.worth[1] * p.times[1] } else { p.times[r] };
            packets.iter().map(time).fold(0.0, f64::max)
        };
        let (composite, rule) = match self.scheme {
            Scheme::Composite(rule) => (true, rule),
            Scheme::Separate(rule) => (false, rule),
        };
        // Rounds count weights as multiples of the least.
        let weights = |of: &dyn Fn(&Group) -> f64| -> Vec<f64> {
            let all: Vec<f64> = of_flow.iter().map(|g| of(g)).collect();
            let least = if rule == Rule::Rounds { all.iter().copied().fold(f64::INFINITY, f64::min) } else { 1.0 };
            all.iter().map(|w| w / least).collect()
        };
        let mut cpu = if composite {
            Stage::new(rule, weights(&|g| g.weights[0] + g.weights[1]), longest(2))
        } else {
            Stage::new(rule, weights(&|g| g.weights[0]), longest(0))
        };
        let on_link = if composite { Rule::Arrival } else { rule };
        let mut link = Stage::new(on_link, weights(&|g| g.weights[1]), longest(1));
        let mut flows = vec![Flow::default(); n];
        let (mut per_byte, mut waiting, mut closed) = (vec![None; n], vec![0.0; n], vec![false; n]);
        let mut engines: Vec<Option<(f64, Packet)>> = vec![None; self.engines];
        let mut sending: Option<(f64, Packet)> = None;
        let (mut next, mut now) = (0, 0.0);
        loop {
            for slot in &mut engines {
                let Some((_, packet)) = slot.take_if(|(end, _)| *end <= now) else { continue };
                let (flow, unit) = (&mut flows[packet.flow], if self.per_packet { 1.0 } else { packet.bytes });
                flow.processed += 1;
                flow.times[0] += packet.times[0];
                flow.on[0].push([now - packet.times[0], now]);
                let observed = packet.times[0] / unit;
                let smoothed = per_byte[packet.flow].map_or(observed, |old: f64| 0.4 * observed + 0.6 * old);
                per_byte[packet.flow] = Some(smoothed);
                if composite || self.hold || link.len(packet.flow) < self.room {
                    let by_weight = if rule == Rule::Rounds { 1.0 } else { of_flow[packet.flow].weights[1] };
                    link.push(packet, packet.times[1] / by_weight, now);
                }
            }
            if let Some((_, packet)) = sending.take_if(|(end, _)| *end <= now) {
                let flow = &mut flows[packet.flow];
                flow.received += 1;
                flow.times[1] += packet.times[1];
                flow.on[1].push([now - packet.times[1], now]);
                flow.delays.push(now - packet.at);
            }
            while next < packets.len() && packets[next].at <= now {
                let mut packet = packets[next];
                next += 1;
                let f = packet.flow;
                let unit = if self.per_packet { 1.0 } else { packet.bytes };
                if self.charge != Charge::Measured {
                    packet.predicted = per_byte[f].map_or(0.0, |time| time * unit);
                }
                if let Some([close, open]) = self.limits {
                    closed[f] = waiting[f] > if closed[f] { open } else { close };
                }
                if !closed[f] {
                    waiting[f] += packet.predicted;
                    let w = if rule == Rule::Rounds { [1.0; 2] } else { of_flow[f].weights };
                    let own = self.worth[0] * packet.predicted / w[0];
                    let cost =
                        if composite { own + self.worth[1] * packet.times[1] / w[1] } else { packet.predicted / w[0] };
                    cpu.push(packet, cost, now);
                }
            }
            if sending.is_none() {
                sending = link.pop(now, |_| true).map(|p| (now + p.times[1], p));
            }
            let mut inside: Vec<usize> = (0..n).map(|f| link.len(f)).collect();
            engines.iter().flatten().for_each(|(_, p)| inside[p.flow] += 1);
            for slot in &mut engines {
                let full = composite && self.hold && inside.iter().sum::<usize>() >= self.room;
                if slot.is_some() || full {
                    continue;
                }
                let may = |f: usize| composite || !self.hold || inside[f] < self.room;
                if let Some(packet) = cpu.pop(now, may) {
                    waiting[packet.flow] -= packet.predicted;
                    inside[packet.flow] += 1;
                    *slot = Some((now + packet.times[0], packet));
                }
            }
            let ends = engines.iter().flatten().chain(&sending).map(|(end, _)| *end);
            now = ends.chain(packets.get(next).map(|p| p.at)).fold(f64::INFINITY, f64::min);
            if now > seconds {
                return flows;
            }
        }
    }
}
