//! `atfq` against a scheduler that computes every timestamp anew from all that happened to a flow, with plain lists.
//! Orders inside loops are compared by other tests; here each loop must have the same packets.
//!
//! Weights are such that ticks divide evenly, so that nothing is rounded.

use std::collections::VecDeque;

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, Ticket, build};
use dovetail_testkit::random::Random;
use dovetail_units::{Duration, ResourceVec, Time, Weight};

type Times = [u64; 2];

/// Equations (2) to (5) for two resources: when the next packet of a flow that is alone ends, after the one before.
fn longer_by(before: Option<Times>, next: Times, free_first: bool) -> u128 {
    let Some(before) = before else { return if free_first { 0 } else { u128::from((next[0] + next[1]).max(1)) } };
    u128::from((before[1].max(next[0]) + next[1] - before[1]).max(1))
}

/// A packet that entered a loop.
struct Entered {
    payload: u32,
    estimate: Times,
    /// What its flow is charged for it: by estimate, then by measurement.
    charge: u128,
    /// What the flow was mapped to before it.
    floor: u128,
    /// Whether it is the first one of a flow that became backlogged.
    begins: bool,
    left: bool,
    out: bool,
}

#[derive(Default)]
struct Flow {
    /// 8 per weight of one: times are in eighths.
    eighths: u128,
    waiting: VecDeque<(u32, Times)>,
    entered: Vec<Entered>,
    measured_last: Option<Times>,
    floor: u128,
    returned: bool,
    loop_of_last: Option<u64>,
}

struct Naive {
    flows: Vec<Option<Flow>>,
    published: bool,
    fair: bool,
    most: usize,
    per_flow: usize,
    virtual_time: u128,
    loops: u64,
    /// Flow, payload and F of the packets of the loop that are not out.
    present: Vec<(usize, u32, u128)>,
}

impl Naive {
    /// F of all that has entered, by what is known now.
    fn stands(&self, f: usize) -> u128 {
        let flow = self.flows[f].as_ref().unwrap();
        flow.entered.iter().fold(0, |at, packet| {
            let charge = packet.charge * flow.eighths;
            if self.published { (at + charge).max(packet.floor) } else { at.max(packet.floor) + charge }
        })
    }

    /// Start and F of the flow's next packet.
    fn next_of(&self, f: usize) -> Option<(u128, u128, u128)> {
        let flow = self.flows[f].as_ref()?;
        let &(_, times) = flow.waiting.front()?;
        let before = flow.entered.last().filter(|_| self.published || !flow.returned).map(|p| p.estimate);
        let charge = longer_by(before, times, self.published);
        let (at, ticks) = (self.stands(f), charge * flow.eighths);
        Some(if self.published {
            let finish = (at + ticks).max(flow.floor);
            (finish.saturating_sub(ticks), finish, charge)
        } else {
            let start = at.max(flow.floor);
            (start, start + ticks, charge)
        })
    }

    fn form(&mut self) {
        self.loops += 1;
        let mut ends: Option<u128> = None;
        let mut count = vec![0; self.flows.len()];
        while self.present.len() < self.most {
            let candidates = (0..self.flows.len()).filter(|&f| count[f] < self.per_flow);
            let next = candidates.filter_map(|f| self.next_of(f).map(|n| (n.1, f, n))).min();
            let Some((finish, f, (start, _, charge))) = next else { break };
            if self.fair && ends.is_some_and(|end| start >= end) {
                break;
            }
            let flow = self.flows[f].as_mut().unwrap();
            let (payload, estimate) = flow.waiting.pop_front().unwrap();
            let (floor, begins) = (flow.floor, std::mem::take(&mut flow.returned));
            flow.entered.push(Entered { payload, estimate, charge, floor, begins, left: false, out: false });
            flow.loop_of_last = Some(self.loops);
            count[f] += 1;
            if flow.waiting.is_empty() || count[f] == self.per_flow {
                ends = Some(ends.map_or(finish, |end| end.min(finish)));
            }
            self.present.push((f, payload, finish));
            if !self.published {
                self.virtual_time = self.virtual_time.max(finish);
            }
        }
    }

    fn arrives(&mut self, f: usize, payload: u32, times: Times, pipeline_is_empty: bool) {
        let waits = self.flows.iter().flatten().any(|flow| !flow.waiting.is_empty());
        if pipeline_is_empty && !waits && self.present.is_empty() {
            self.loops += 1;
        }
        let (virtual_time, loops, published) = (self.virtual_time, self.loops, self.published);
        let flow = self.flows[f].as_mut().unwrap();
        let idle = flow.waiting.is_empty() && flow.entered.iter().all(|p| p.out);
        if idle && (published || flow.loop_of_last != Some(loops)) {
            (flow.floor, flow.returned) = (virtual_time, true);
        }
        flow.waiting.push_back((payload, times));
    }

    fn goes_out(&mut self, f: usize, payload: u32) -> bool {
        if self.present.is_empty() {
            self.form();
        }
        let Some(at) = self.present.iter().position(|p| (p.0, p.1) == (f, payload)) else { return false };
        let (_, _, finish) = self.present.remove(at);
        if self.published {
            self.virtual_time = self.virtual_time.max(finish);
        }
        let entered = &mut self.flows[f].as_mut().unwrap().entered;
        entered.iter_mut().find(|p| p.payload == payload).unwrap().out = true;
        true
    }

    fn leaves(&mut self, f: usize, payload: u32, took: Times) {
        let published = self.published;
        let Some(flow) = self.flows[f].as_mut() else { return };
        let before = flow.measured_last.replace(took);
        let Some(packet) = flow.entered.iter_mut().find(|p| p.payload == payload) else { return };
        packet.left = true;
        packet.charge = longer_by(before.filter(|_| published || !packet.begins), took, published);
    }
}

struct Both {
    subject: Box<dyn Scheduler<2, u32>>,
    naive: Naive,
    ids: Vec<FlowId>,
    pipeline: VecDeque<(usize, Ticket<2>, u32, Times)>,
    payloads: u32,
}

impl Both {
    fn add(&mut self, random: &mut Random) {
        let power = random.below(6) as u32;
        let weight = Weight::from_milli(250 << power).unwrap();
        let id = self.subject.add_flow(FlowConfig { weight, ..FlowConfig::default() });
        let flow = Some(Flow { eighths: 32 >> power, ..Flow::default() });
        if id.index() < self.ids.len() {
            (self.ids[id.index()], self.naive.flows[id.index()]) = (id, flow);
        } else {
            self.ids.push(id);
            self.naive.flows.push(flow);
        }
    }

    fn offer(&mut self, f: usize, random: &mut Random) {
        // A flow's packets of one mapping are measured before it is mapped twice more.
        if self.naive.flows[f].as_ref().unwrap().waiting.is_empty() {
            while self.pipeline.iter().any(|p| p.0 == f) {
                self.leave();
            }
        }
        let largest = [1, 4, 50, 100_000][random.below(4) as usize];
        let times = [random.between(0, largest), random.between(0, largest)];
        let packet =
            Packet { flow: self.ids[f], size: 1, cost: ResourceVec::from_nanos(times), payload: self.payloads };
        assert!(self.subject.enqueue(Time::ZERO, packet).is_ok());
        self.naive.arrives(f, self.payloads, times, self.pipeline.is_empty());
        self.payloads += 1;
    }

    fn serve(&mut self, random: &mut Random, exact: bool) {
        match self.subject.next(Time::ZERO) {
            Next::Serve(served) => {
                let f = served.ticket.flow().index();
                assert!(self.naive.goes_out(f, served.payload), "{f} {} is not in the loop", served.payload);
                let said = served.ticket.charged();
                let took = [0, 1].map(|r| match (exact, random.below(3)) {
                    (false, 0) => random.between(0, 2 * said[r].as_nanos()),
                    (false, 1) => random.below(60),
                    _ => said[r].as_nanos(),
                });
                self.pipeline.push_back((f, served.ticket, served.payload, took));
            }
            Next::Empty => assert!(self.naive.flows.iter().flatten().all(|f| f.waiting.is_empty())),
            other => panic!("{other:?}"),
        }
    }

    fn leave(&mut self) {
        let Some((f, mut ticket, payload, took)) = self.pipeline.pop_front() else { return };
        for (r, took) in took.into_iter().enumerate() {
            let used = Duration::from_nanos(took);
            self.subject.progress(Time::ZERO, &mut ticket, r, Progress::Finished { used });
        }
        if ticket.flow() == self.ids[f] {
            self.naive.leaves(f, payload, took);
        }
    }

    fn remove(&mut self, f: usize) {
        if self.naive.flows[f].take().is_some() {
            self.naive.present.retain(|p| p.0 != f);
            self.subject.remove_flow(Time::ZERO, self.ids[f], &mut |_| ()).unwrap();
        }
    }
}

fn agree(spec: &str, seed: u64, exact: bool) {
    let mut random = Random::new(seed);
    let value = |name: &str| {
        spec.split([':', ',']).find_map(|p| p.strip_prefix(name)?.strip_prefix('=')).map(|v| v.parse().unwrap())
    };
    let naive = Naive {
        flows: Vec::new(),
        published: spec.contains("newcomers=free"),
        fair: !spec.contains("fill=all"),
        most: value("loop").unwrap_or(20),
        per_flow: value("per-flow").unwrap_or(usize::MAX),
        virtual_time: 0,
        loops: 0,
        present: Vec::new(),
    };
    let spec = format!("{spec},window=1000000").parse().unwrap();
    let subject = build(&spec, Shape::default()).unwrap();
    let mut both = Both { subject, naive, ids: Vec::new(), pipeline: VecDeque::new(), payloads: 0 };
    for _ in 0..1500 {
        let live: Vec<usize> = (0..both.ids.len()).filter(|&f| both.naive.flows[f].is_some()).collect();
        let one = live.get(random.below(live.len().max(1) as u64) as usize).copied();
        match (random.below(100), one) {
            (0..3, _) | (_, None) if live.len() < 8 => both.add(&mut random),
            (3..4, Some(f)) => both.remove(f),
            (4..12, Some(f)) => (0..random.below(12)).for_each(|_| both.offer(f, &mut random)),
            (12..45, Some(f)) => both.offer(f, &mut random),
            (45..60, _) => both.leave(),
            _ => both.serve(&mut random, exact),
        }
    }
}

#[test]
fn every_loop_has_the_packets_that_a_plain_computation_says() {
    for spec in [
        "atfq:loop=1",
        "atfq:loop=5",
        "atfq:loop=20",
        "atfq:loop=1000",
        "atfq:loop=20,per-flow=1",
        "atfq:loop=7,per-flow=2",
        "atfq:loop=20,fill=all",
        "atfq:loop=20,newcomers=free",
        "atfq:loop=20,fill=all,newcomers=free",
        "atfq:loop=4,fill=all,newcomers=free,per-flow=1",
    ] {
        for seed in 0..60 {
            agree(spec, seed, seed % 3 == 0);
        }
    }
}
