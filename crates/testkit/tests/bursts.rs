//! Calls for many packets are single calls in a row: two equal schedulers, one called so and one so, mixed at random.

use dovetail_sched::touch::BY_TAGS;
use dovetail_sched::{
    FlowConfig, FlowId, Next, Packet, Progress, Refused, Scheduler, Served, Shape, Spec, Ticket, build,
};
use dovetail_testkit::conformance::specs;
use dovetail_testkit::random::Random;
use dovetail_units::{Bytes, Duration, ResourceVec, Time, Weight};

/// The same calls, one by one and many at a time.
struct Twins<const M: usize> {
    single: Box<dyn Scheduler<M, u32>>,
    many: Box<dyn Scheduler<M, u32>>,
    random: Random,
    flows: Vec<FlowId>,
    now: Time,
    sent: u32,
    /// Packets in the pipeline, and the resource that they come to next.
    inside: Vec<(Ticket<M>, usize)>,
}

impl<const M: usize> Twins<M> {
    fn new(spec: &Spec, flows: usize, seed: u64) -> Option<Self> {
        let made = || build(spec, Shape { servers: M as u32 }).ok();
        let (single, many) = (made()?, made()?);
        let (random, inside) = (Random::new(seed), Vec::new());
        let mut this = Self { single, many, random, flows: Vec::new(), now: Time::ZERO, sent: 0, inside };
        (0..flows).for_each(|_| this.add());
        Some(this)
    }

    fn add(&mut self) {
        let weight = Weight::from_milli(500 << self.random.below(4)).unwrap();
        let mut config = FlowConfig { weight, ..FlowConfig::default() };
        config.limit.packets = (self.random.below(8) == 0).then_some(3);
        config.limit.bytes = (self.random.below(8) == 0).then_some(Bytes(4000));
        let flow = self.single.add_flow(config);
        assert_eq!(self.many.add_flow(config), flow);
        self.flows.push(flow);
    }

    fn packet(&mut self) -> Packet<M, u32> {
        self.sent += 1;
        // Some are of flows that were removed.
        let flow = match self.random.below(50) {
            0 => FlowId::new(self.random.below(5000) as u32, 77),
            _ => self.flows[self.random.below(self.flows.len() as u64) as usize],
        };
        let cost = std::array::from_fn(|_| self.random.below(6) * self.random.below(5_000));
        Packet {
            flow,
            size: 40 + self.random.below(1460) as u32,
            cost: ResourceVec::from_nanos(cost),
            payload: self.sent,
        }
    }

    fn enqueue(&mut self) {
        let count = self.random.below(40);
        let mut packets: Vec<_> = (0..count).map(|_| self.packet()).collect();
        let single: Vec<Refused<u32>> =
            packets.iter().filter_map(|&packet| self.single.enqueue(self.now, packet).err()).collect();
        let mut many = Vec::new();
        if count.is_multiple_of(5) {
            many.extend(packets.into_iter().filter_map(|packet| self.many.enqueue(self.now, packet).err()));
        } else {
            self.many.enqueue_many(self.now, &mut packets, &mut |refused| many.push(refused));
            assert!(packets.is_empty());
        }
        assert_eq!(single, many);
    }

    fn next(&mut self) {
        let most = self.random.below(40) as usize;
        let (mut single, mut pause) = (Vec::new(), None);
        while single.len() < most && pause.is_none() {
            match self.single.next(self.now) {
                Next::Serve(packet) => single.push(packet),
                other => pause = Some(other),
            }
        }
        let mut many: Vec<Served<M, u32>> = Vec::new();
        assert_eq!(self.many.next_many(self.now, most, &mut many), pause);
        assert_eq!(many, single);
        self.inside.extend(many.into_iter().map(|packet| (packet.ticket, 0)));
        if let Some(Next::At(time)) = pause {
            self.now = time;
        }
    }

    /// Some packets that come to the same resource next have gone through it, or never come there.
    fn progress(&mut self) {
        let Some(&(_, resource)) = self.inside.first() else { return };
        let count = 1 + self.random.below(40) as usize;
        let mut at: Vec<usize> = (0..self.inside.len()).filter(|&k| self.inside[k].1 == resource).collect();
        at.truncate(count);
        let mut tickets: Vec<Ticket<M>> = at.iter().map(|&k| self.inside[k].0).collect();
        let events: Vec<Progress> = tickets.iter().map(|ticket| self.event(ticket.charged()[resource])).collect();
        let mut single = tickets.clone();
        for (ticket, &event) in single.iter_mut().zip(&events) {
            self.single.progress(self.now, ticket, resource, event);
        }
        self.many.progress_many(self.now, &mut tickets, resource, &events);
        assert_eq!(single, tickets);
        for ((&k, ticket), event) in at.iter().zip(tickets).zip(events).rev() {
            self.inside[k] = (ticket, resource + 1);
            if resource + 1 == M || event == Progress::Abandoned {
                self.inside.remove(k);
            }
        }
    }

    fn event(&mut self, estimated: Duration) -> Progress {
        match self.random.below(20) {
            0 => Progress::Abandoned,
            1..=6 => Progress::Finished { used: estimated },
            _ => Progress::Finished { used: Duration::from_nanos(self.random.below(9_000)) },
        }
    }

    fn remove(&mut self) {
        let flow = self.flows.swap_remove(self.random.below(self.flows.len() as u64) as usize);
        let mut dropped = [Vec::new(), Vec::new()];
        let [of_single, of_many] = &mut dropped;
        self.single.remove_flow(self.now, flow, &mut |packet| of_single.push(packet)).unwrap();
        self.many.remove_flow(self.now, flow, &mut |packet| of_many.push(packet)).unwrap();
        assert_eq!(of_single, of_many);
        self.add();
    }

    fn run(&mut self, turns: usize) {
        for _ in 0..turns {
            match self.random.below(10) {
                0..=3 => self.enqueue(),
                4..=6 => self.next(),
                7..=8 => self.progress(),
                _ => self.remove(),
            }
            self.now += Duration::from_nanos(self.random.below(20_000));
        }
        assert_eq!(self.single.stats(), self.many.stats());
    }
}

fn check<const M: usize>(spec: &str, flows: usize, turns: usize) {
    let parsed: Spec = spec.parse().unwrap();
    for seed in 0..3 {
        if let Some(mut twins) = Twins::<M>::new(&parsed, flows, seed) {
            twins.run(turns);
        }
    }
}

#[test]
fn many_calls_at_once_are_single_calls_in_a_row() {
    for spec in specs() {
        check::<1>(spec, 20, 150);
        check::<2>(spec, 20, 300);
        check::<4>(spec, 20, 150);
        // So many that what they need is read ahead, in bursts and singly.
        check::<2>(spec, BY_TAGS.singly, 400);
    }
}
