//! How far packets are behind the fair fluid, while they come and go: `docs/theory/behind.md` derives the measure.
//!
//! The reference is DRGPS, fed with the same packets. It is kept in virtual time V: all backlogged flows advance at the
//! rate w V', so their head packets end in the order of their finish tags; those that are promised a part of their own
//! have a second V. O(m + log n) per packet for m resources and
//! n flows; some numbers per packet that waits in the fluid, and per packet that has left it and not the machine.
//!
//! Floating point, for reports only. V begins anew whenever the fluid is empty.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::fifos::{Fifo, Pool};

/// What packets that are handed out one at a time explain, in rounds: more than this behind is starvation.
pub const ROUNDS: f64 = 3.0;

/// How far one flow was behind at worst.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Behind {
    /// In time: from a packet's end in the fluid until it left the machine. Never below 0.
    pub time_s: f64,
    /// In packets: how many had left the fluid and not the machine.
    pub packets: u32,
    /// In time, divided by the round that this packet met: the longest time of any packet on any resource, or what a
    /// turn is [worth](Reference::with_turns) if that is more, for each of the m resources and each flow in the fluid
    /// (by weight), and once more for what was under way.
    pub rounds: f64,
    /// That round.
    pub round_s: f64,
}

impl Behind {
    /// Whether it was behind by more than the order of packets explains.
    pub fn starves(&self) -> bool {
        self.rounds > ROUNDS
    }
}

/// What a packet takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times<const M: usize> {
    /// Of each resource, divided by its servers.
    pub shared_s: [f64; M],
    /// The longest of these, by weight where weights differ by resource.
    pub dominant_s: f64,
    /// The longest on one server.
    pub alone_s: f64,
}

impl<const M: usize> Times<M> {
    /// Of a packet that takes so many seconds on each resource alone. Each resource has so many servers, and counts so
    /// many times more for the flow than by its weight.
    pub fn new(alone_s: [f64; M], servers: &[f64; M], counts: &[f64; M]) -> Self {
        let shared_s = std::array::from_fn(|r| alone_s[r] / servers[r]);
        let longest = |times_s: [f64; M]| times_s.into_iter().fold(0.0, f64::max);
        let dominant_s = longest(std::array::from_fn(|r| shared_s[r] * counts[r]));
        Self { shared_s, dominant_s, alone_s: longest(alone_s) }
    }
}

/// A packet's way through the fluid.
#[derive(Clone, Copy, Debug)]
struct Packet<const M: usize> {
    dominant_s: f64,
    /// Its times divided by the dominant one.
    profile: [f64; M],
}

/// A packet that has left the fluid and not the machine.
#[derive(Clone, Copy, Debug)]
struct Done {
    at_s: f64,
    /// Flows by weight that were in the fluid with it.
    flows: f64,
}

#[derive(Clone, Debug)]
struct FluidFlow {
    /// In the fluid; the first is the head.
    waiting: Fifo,
    /// Flows by weight that were in the fluid when the head became it.
    met: f64,
    done: Fifo,
    /// Packets that have left the machine and not the fluid.
    ahead: u32,
    /// At worst, in time and in packets.
    worst_s: f64,
    worst_packets: u32,
    /// The largest of time / (flows + 1), and that number of flows.
    worst_turn: (f64, f64),
}

/// What a flow is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// The fair fluid of the same arrivals.
    Fair,
    /// What a scheduler promises that guarantees this part of the fair share, in (0, 1]: of the share among the flows
    /// that are backlogged in the fluid, or under the scheduler if that is less.
    Part,
}

/// Heads of backlogged flows; they decide how fast all advance: `V' = 1 / max_r sum of w_i tbar_ir`.
#[derive(Clone, Debug)]
struct Load<const M: usize> {
    sums: [f64; M],
    count: usize,
}

/// Of each flow that is backlogged under the scheduler, the packet that entered the machine last.
#[derive(Clone, Debug)]
struct Machine<const M: usize> {
    heads: Vec<Option<[f64; M]>>,
    load: Load<M>,
}

/// Flows whose heads end in the order of their tags.
#[derive(Clone, Debug)]
struct Clock {
    /// Part of the full speed.
    speed: f64,
    virtual_s: f64,
    /// Finish tags (bits of numbers that are not negative are in their order) of the heads, and their flows.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
}

/// The fluid, and who is behind it.
#[derive(Clone, Debug)]
pub struct Reference<const M: usize> {
    flows: Vec<FluidFlow>,
    /// By flow; empty where all have the least weight.
    own_weights: Vec<f64>,
    /// By flow, its own part of the fair share instead of the speed of all; empty where no flow has one.
    parts: Vec<Option<f64>>,
    waiting: Pool<Packet<M>>,
    done: Pool<Done>,
    least_weight: f64,
    now_s: f64,
    /// Of the flows at the speed of all, and of those with a part of their own, which is in their tags.
    clocks: [Clock; 2],
    /// The heads in the fluid, and those in the machine, where they count.
    load: Load<M>,
    machine: Option<Machine<M>>,
    /// Sum of the weights of the flows in the fluid.
    weights: f64,
    /// Dominant time that has left the fluid less what has left the machine.
    lead_s: f64,
    longest_s: f64,
    /// What turns are worth at least.
    turn_s: f64,
}

impl<const M: usize> Reference<M> {
    /// Of flows with these positive weights, at full speed.
    pub fn new(due: Due, weights: impl IntoIterator<Item = f64>) -> Self {
        Self::with_parts(due, weights.into_iter().map(|weight| (weight, None)))
    }

    /// Of flows with these positive weights, at full speed, of which some keep a part in (0, 1] of it whatever the
    /// [speed](Self::set_speed) of the others.
    pub fn with_parts(due: Due, flows: impl IntoIterator<Item = (f64, Option<f64>)>) -> Self {
        let flow = FluidFlow {
            waiting: Fifo::EMPTY,
            met: 0.0,
            done: Fifo::EMPTY,
            ahead: 0,
            worst_s: 0.0,
            worst_packets: 0,
            worst_turn: (0.0, 0.0),
        };
        let (mut own_weights, mut parts): (Vec<_>, Vec<_>) = flows.into_iter().unzip();
        let flows = vec![flow; own_weights.len()];
        let least_weight = own_weights.iter().copied().fold(f64::INFINITY, f64::min);
        if own_weights.iter().all(|&weight| weight == least_weight) {
            own_weights = Vec::new();
        }
        if parts.iter().all(Option::is_none) {
            parts = Vec::new();
        }
        let clock = Clock { speed: 1.0, virtual_s: 0.0, heads: BinaryHeap::new() };
        let load = Load { sums: [0.0; M], count: 0 };
        Self {
            machine: (due == Due::Part).then(|| Machine { heads: vec![None; flows.len()], load: load.clone() }),
            load,
            least_weight,
            flows,
            own_weights,
            parts,
            waiting: Pool::new(),
            done: Pool::new(),
            now_s: 0.0,
            clocks: [clock.clone(), clock],
            weights: 0.0,
            lead_s: 0.0,
            longest_s: 0.0,
            turn_s: 0.0,
        }
    }

    /// Against a scheduler whose turns are worth a packet of so many seconds on some resource, even if none is so long.
    #[must_use]
    pub fn with_turns(mut self, turn_s: f64) -> Self {
        self.turn_s = turn_s;
        self
    }

    /// All without a part of their own advance at this positive part of the speed from now on.
    pub fn set_speed(&mut self, now_s: f64, speed: f64) {
        self.advance(now_s);
        self.clocks[0].speed = speed;
    }

    /// A packet comes.
    pub fn arrived(&mut self, now_s: f64, flow: usize, times: &Times<M>) {
        self.advance(now_s);
        self.longest_s = self.longest_s.max(times.alone_s);
        let (dominant_s, profile) = (times.dominant_s, times.profile());
        if self.flows[flow].inside() == 0 {
            self.set_machine(flow, Some(profile));
        }
        self.waiting.push(&mut self.flows[flow].waiting, Packet { dominant_s, profile });
        if self.flows[flow].waiting.len() == 1 {
            self.weights += self.weight(flow);
            self.enter(flow);
        }
    }

    /// A packet of the flow enters the machine.
    pub fn started(&mut self, now_s: f64, flow: usize, times: &Times<M>) {
        self.advance(now_s);
        self.set_machine(flow, Some(times.profile()));
    }

    /// The flow's next packet, of this dominant time, leaves the machine.
    pub fn left(&mut self, now_s: f64, flow: usize, dominant_s: f64) {
        self.advance(now_s);
        self.lead_s -= dominant_s;
        let own = &mut self.flows[flow];
        match self.done.pop(&mut own.done) {
            Some(done) => own.note(now_s, done),
            None => own.ahead += 1,
        }
        if own.inside() == 0 {
            self.set_machine(flow, None);
        }
    }

    /// How far each flow was behind at worst, if the run ends now.
    pub fn finish(mut self, now_s: f64) -> Vec<Behind> {
        self.advance(now_s);
        let longest_s = if self.longest_s > 0.0 { self.longest_s.max(self.turn_s) } else { 0.0 };
        let mut done = self.done;
        let worst = |mut flow: FluidFlow| {
            while let Some(done) = done.pop(&mut flow.done) {
                flow.note(now_s, done);
            }
            let (turn_s, flows) = flow.worst_turn;
            let round_s = M as f64 * longest_s * (flows + 1.0);
            let rounds = if longest_s > 0.0 { turn_s / (M as f64 * longest_s) } else { 0.0 };
            Behind { time_s: flow.worst_s, packets: flow.worst_packets, rounds, round_s }
        };
        self.flows.into_iter().map(worst).collect()
    }

    /// Let the time pass. The fluid stands still while it leads the machine by more than a packet of each flow: what
    /// the machine loses in all is not lost by one flow to another.
    fn advance(&mut self, to_s: f64) {
        while self.clocks.iter().any(|clock| !clock.heads.is_empty()) {
            if self.lead_s > (self.flows_by_weight() + 1.0) * self.longest_s {
                break;
            }
            let load = self.machine.as_ref().map_or(0.0, |machine| machine.load.most()).max(self.load.most());
            let ends = [0, 1].map(|clock| self.clocks[clock].first_end_s(self.now_s, load));
            let first = usize::from(ends[1] < ends[0]);
            let end_s = ends[first];
            if end_s > to_s {
                self.clocks.iter_mut().for_each(|clock| clock.run((to_s - self.now_s).max(0.0), load));
                break;
            }
            self.clocks[1 - first].run(end_s - self.now_s, load);
            self.now_s = end_s;
            if let Some(flow) = self.clocks[first].first_ends() {
                self.leave(first, flow);
            }
        }
        self.now_s = self.now_s.max(to_s);
    }

    /// The head of the flow, which is the first of this clock, has left the fluid.
    fn leave(&mut self, clock: usize, index: usize) {
        let with = self.flows_by_weight();
        let flow = &mut self.flows[index];
        let Some(head) = self.waiting.pop(&mut flow.waiting) else { return };
        self.lead_s += head.dominant_s;
        let done = Done { at_s: self.now_s, flows: flow.met.max(with) };
        match flow.ahead {
            0 => self.done.push(&mut flow.done, done),
            _ => flow.ahead -= 1,
        }
        flow.worst_packets = flow.worst_packets.max(flow.done.len());
        let weight = self.weight(index);
        let next = self.next_head(index, Some(head.profile));
        let first = self.clocks[clock].heads.peek_mut();
        match (first, next) {
            (Some(mut first), Some((_, next))) => {
                *first = next;
                return;
            }
            (Some(first), None) => drop(PeekMut::pop(first)),
            (None, _) => (),
        }
        self.weights -= weight;
        self.load.change(weight, Some(head.profile), None);
        if self.clocks.iter().all(|clock| clock.heads.is_empty()) {
            // Rounding does not outlive a busy period.
            self.weights = 0.0;
            self.clocks.iter_mut().for_each(|clock| clock.virtual_s = 0.0);
        }
    }

    /// The first packet of a flow that had none becomes its head.
    fn enter(&mut self, index: usize) {
        if let Some((clock, head)) = self.next_head(index, None) {
            self.clocks[clock].heads.push(head);
        }
    }

    /// The flow's first packet becomes its head in place of one with the profile `before`: its clock, and what stands
    /// for it there.
    fn next_head(&mut self, index: usize, before: Option<[f64; M]>) -> Option<(usize, Reverse<(u64, usize)>)> {
        let (with, weight) = (self.flows_by_weight(), self.weight(index));
        let flow = &mut self.flows[index];
        let head = self.waiting.first(&flow.waiting)?;
        self.load.change(weight, before, Some(head.profile));
        flow.met = with;
        let part = self.parts.get(index).copied().flatten();
        let (clock, by) = part.map_or((0, weight), |part| (1, weight * part));
        Some((clock, Reverse(((self.clocks[clock].virtual_s + head.dominant_s / by).to_bits(), index))))
    }

    fn set_machine(&mut self, flow: usize, profile: Option<[f64; M]>) {
        let weight = self.weight(flow);
        if let Some(Machine { heads, load }) = &mut self.machine {
            let before = std::mem::replace(&mut heads[flow], profile);
            load.change(weight, before, profile);
        }
    }

    fn weight(&self, flow: usize) -> f64 {
        self.own_weights.get(flow).copied().unwrap_or(self.least_weight)
    }

    /// Backlogged flows; one of twice the least weight counts twice.
    fn flows_by_weight(&self) -> f64 {
        self.weights / self.least_weight
    }
}

impl Clock {
    /// When the first head ends, if all goes on under this load; never, if there is none.
    fn first_end_s(&self, now_s: f64, load: f64) -> f64 {
        let until = |&Reverse((tag, _)): &Reverse<(u64, usize)>| {
            now_s + ((f64::from_bits(tag) - self.virtual_s) / (self.speed / load)).max(0.0)
        };
        self.heads.peek().map_or(f64::INFINITY, until)
    }

    fn run(&mut self, seconds: f64, load: f64) {
        if !self.heads.is_empty() {
            self.virtual_s += seconds * (self.speed / load);
        }
    }

    /// The first head ends now: its flow.
    fn first_ends(&mut self) -> Option<usize> {
        let &Reverse((tag, flow)) = self.heads.peek()?;
        self.virtual_s = self.virtual_s.max(f64::from_bits(tag));
        Some(flow)
    }
}

impl<const M: usize> Times<M> {
    fn profile(&self) -> [f64; M] {
        self.shared_s.map(|time| if self.dominant_s > 0.0 { time / self.dominant_s } else { 0.0 })
    }
}

impl<const M: usize> Load<M> {
    /// The head of a flow of this weight had the profile `before`, and has `after`.
    fn change(&mut self, weight: f64, before: Option<[f64; M]>, after: Option<[f64; M]>) {
        for (r, sum) in self.sums.iter_mut().enumerate() {
            *sum += weight * (after.map_or(0.0, |p| p[r]) - before.map_or(0.0, |p| p[r]));
        }
        self.count = self.count + usize::from(after.is_some()) - usize::from(before.is_some());
        if self.count == 0 {
            self.sums = [0.0; M];
        }
    }

    /// On the busiest resource.
    fn most(&self) -> f64 {
        self.sums.iter().copied().fold(0.0, f64::max)
    }
}

impl FluidFlow {
    /// Its packets in the machine.
    fn inside(&self) -> u32 {
        self.waiting.len() + self.done.len() - self.ahead
    }

    fn note(&mut self, now_s: f64, done: Done) {
        let late_s = now_s - done.at_s;
        // Packets leave the machine at whole nanoseconds: less than half of one is rounding.
        let late_s = if late_s < 0.5e-9 { 0.0 } else { late_s };
        self.worst_s = self.worst_s.max(late_s);
        let turn_s = late_s / (done.flows + 1.0);
        if turn_s > self.worst_turn.0 {
            self.worst_turn = (turn_s, done.flows);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_one_cache_line() {
        assert_eq!(size_of::<FluidFlow>(), 64);
    }

    /// Whether packets leave the fluid first or the machine.
    #[test]
    fn the_machine_has_a_head_of_every_flow_with_packets_in_it_and_of_no_other() {
        let mut state: u64 = 1;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut reference = Reference::<2>::new(Due::Part, [1.0; 4]);
        reference.set_speed(0.0, 0.5);
        let (mut inside, mut were_ahead): ([Vec<f64>; 4], _) = (Default::default(), false);
        for step in 0..20_000 {
            let (now_s, flow) = (f64::from(step), random(4) as usize);
            if random(16) < 8 {
                // The machine is faster than the fluid for a while, then slower.
                let dominant_s = 0.1 * random(if step / 1000 % 2 == 0 { 30 } else { 5 }) as f64;
                inside[flow].push(dominant_s);
                let times = Times { shared_s: [dominant_s, 0.0], dominant_s, alone_s: dominant_s };
                reference.arrived(now_s, flow, &times);
            } else if !inside[flow].is_empty() {
                reference.left(now_s, flow, inside[flow].remove(0));
            }
            were_ahead |= reference.flows.iter().any(|flow| flow.ahead > 2);
            let machine = reference.machine.as_ref().unwrap();
            for (flow, packets) in inside.iter().enumerate() {
                assert_eq!(reference.flows[flow].inside() as usize, packets.len());
                assert_eq!(machine.heads[flow].is_some(), !packets.is_empty());
            }
            assert_eq!(machine.load.count, inside.iter().filter(|packets| !packets.is_empty()).count());
        }
        assert!(reference.flows.iter().all(|flow| flow.worst_packets > 2), "the machine was never behind");
        assert!(were_ahead, "the machine was never ahead");
    }
}
