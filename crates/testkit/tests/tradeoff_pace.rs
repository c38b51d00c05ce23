//! The fluid of `tradeoff` waits for resources that are late, and for no others.

use std::collections::VecDeque;

use dovetail_sched::tradeoff::{Tradeoff, TradeoffOfMany};
use dovetail_sched::{FlowConfig, Next, Packet, PerFlow, Progress, Scheduler, Shape, Ticket};
use dovetail_sim::record::PacketLog;
use dovetail_sim::{Arrival, Cost, Flow, List, Options, Pipeline, Source, TimeScale, Workload, simulate};
use dovetail_testkit::random::Random;
use dovetail_units::{Duration, ResourceVec, Time};

const FLOWS: u32 = 12;

/// Packets of random flows and times, most of them in bursts; one of `bypassing` needs no CPU.
fn workload(random: &mut Random, packets: u64, bypassing: u64) -> Workload<2> {
    let mut now = 0;
    let mut arrivals = Vec::new();
    let mut costs = Vec::new();
    for _ in 0..packets {
        now += if random.below(3) == 0 { random.below(200_000) } else { 0 };
        arrivals.push(Arrival { time: Time::from_nanos(now), flow: random.below(FLOWS.into()) as u32, size: 1 });
        let needs_cpu = random.below(bypassing) > 0;
        costs.push(ResourceVec::from_nanos([
            u64::from(needs_cpu) * (1 + random.below(100_000)),
            1 + random.below(100_000),
        ]));
    }
    let list = List { arrivals: arrivals.into(), costs: Some(costs.into()), scale: TimeScale::ONE };
    let flows = (0..FLOWS).map(|f| Flow::new(format!("{f}"), [Cost::PerPacket; 2])).collect();
    Workload { flows, sources: vec![Source::List(list)] }
}

#[test]
fn with_exact_times_the_fluid_never_stands_still() {
    for (seed, bypassing) in (0..200).flat_map(|seed| [(seed, u64::MAX), (seed, 2)]) {
        let mut random = Random::new(seed);
        let alpha = [1.0, 0.85, 0.5, 0.1, 0.0][seed as usize % 5];
        let mut scheduler = PerFlow::new(Tradeoff::new(alpha).unwrap());
        let mut log = PacketLog::new(0);
        let (workload, pipeline) = (workload(&mut random, 400, bypassing), Pipeline::new(["cpu", "link"]));
        simulate(&workload, &pipeline, &mut scheduler, &mut log, Options::default()).unwrap();
        assert_eq!(scheduler.discipline().stood_still(), Duration::ZERO, "seed {seed}, one of {bypassing} bypasses");
    }
}

/// CPU, accelerator and link, each with a line of packets of which the first is served until then. Packets that need no
/// accelerator go past it.
struct Passing {
    scheduler: PerFlow<3, u32, TradeoffOfMany<3>>,
    lines: [VecDeque<Ticket<3>>; 3],
    ends: [Option<Time>; 3],
}

impl Passing {
    fn come(&mut self, now: Time, resource: usize, mut ticket: Ticket<3>) {
        let used = ticket.charged().0.get(resource).copied();
        match used {
            None => {}
            Some(used) if resource == 1 && used == Duration::ZERO => {
                self.scheduler.progress(now, &mut ticket, 1, Progress::Started);
                self.scheduler.progress(now, &mut ticket, 1, Progress::Finished { used });
                self.come(now, 2, ticket);
            }
            Some(_) => {
                self.lines[resource].push_back(ticket);
                self.start(now, resource);
            }
        }
    }

    fn start(&mut self, now: Time, resource: usize) {
        if let (None, Some(first)) = (self.ends[resource], self.lines[resource].front_mut()) {
            self.scheduler.progress(now, first, resource, Progress::Started);
            self.ends[resource] = Some(now + first.charged()[resource]);
        }
    }

    fn end(&mut self, now: Time, resource: usize) {
        self.ends[resource] = None;
        let mut ticket = self.lines[resource].pop_front().unwrap();
        let used = ticket.charged()[resource];
        self.scheduler.progress(now, &mut ticket, resource, Progress::Finished { used });
        self.start(now, resource);
        self.come(now, resource + 1, ticket);
    }

    /// Serve all of these.
    fn serve(&mut self, arrivals: Vec<(Time, Packet<3, u32>)>) {
        let mut arrivals = VecDeque::from(arrivals);
        let mut wake = None;
        let mut now = Time::ZERO;
        loop {
            while arrivals.front().is_some_and(|(at, _)| *at == now) {
                self.scheduler.enqueue(now, arrivals.pop_front().unwrap().1).unwrap();
            }
            (0..3)
                .rev()
                .filter(|&r| self.ends[r] == Some(now))
                .collect::<Vec<_>>()
                .iter()
                .for_each(|&r| self.end(now, r));
            if self.lines[0].is_empty() {
                wake = None;
                match self.scheduler.next(now) {
                    Next::Serve(served) => self.come(now, 0, served.ticket),
                    Next::At(at) => wake = Some(at),
                    _ => {}
                }
            }
            let next = self.ends.iter().copied().chain([wake, arrivals.front().map(|(at, _)| *at)]).flatten().min();
            let Some(next) = next else { return };
            now = next;
        }
    }
}

#[test]
fn what_is_overtaken_on_an_accelerator_is_not_waited_for() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let alpha = [1.0, 0.85, 0.5, 0.1, 0.0][seed as usize % 5];
        let mut scheduler = PerFlow::new(TradeoffOfMany::with(alpha, 0.06, Shape { servers: 3 }).unwrap());
        let flows = [(); FLOWS as usize].map(|()| scheduler.add_flow(FlowConfig::default()));
        let mut at = 0;
        let arrivals = (0..400).map(|payload| {
            at += if random.below(3) == 0 { random.below(200_000) } else { 0 };
            let cost = [1 + random.below(50_000), random.below(2) * random.below(100_000), 1 + random.below(100_000)];
            let flow = flows[random.below(FLOWS.into()) as usize];
            (Time::from_nanos(at), Packet { flow, size: 1, cost: ResourceVec::from_nanos(cost), payload })
        });
        let arrivals = arrivals.collect();
        let mut passing = Passing { scheduler, lines: Default::default(), ends: [None; 3] };
        passing.serve(arrivals);
        assert_eq!(passing.scheduler.stats().served, 400);
        assert_eq!(passing.scheduler.discipline().stood_still(), Duration::ZERO, "seed {seed}");
    }
}

/// Each of eight CPUs has a packet for eight times as long as one CPU of their speed would: none of them is late for
/// that.
#[test]
fn several_cpus_are_not_waited_for() {
    let mut pipeline = Pipeline::new(["cpu", "link"]);
    pipeline.resources[0].servers = 8;
    let costs: Vec<_> = [ResourceVec::from_nanos([100_000, 4_000]); 4_000].into();
    let arrivals: Vec<_> = [Arrival { time: Time::ZERO, flow: 0, size: 1 }; 4_000].into();
    for flows in [1, 4] {
        let arrivals = arrivals.iter().enumerate().map(|(k, a)| Arrival { flow: k as u32 % flows, ..*a }).collect();
        let list = List { arrivals, costs: Some(costs.clone().into()), scale: TimeScale::ONE };
        let flows = (0..flows).map(|f| Flow::new(format!("{f}"), [Cost::PerPacket; 2])).collect();
        let workload = Workload { flows, sources: vec![Source::List(list)] };
        let mut scheduler = PerFlow::new(Tradeoff::of_shape(1.0, Shape { servers: 9 }).unwrap());
        let mut log = PacketLog::new(0);
        let outcome = simulate(&workload, &pipeline, &mut scheduler, &mut log, Options::default()).unwrap();
        // 4000 packets of 100 us on eight CPUs, and the last one's time on the link; the first eight come to idle CPUs
        // one by one.
        let busy = Duration::from_nanos(4_000 * 100_000 / 8);
        let makespan = outcome.makespan().unwrap();
        assert!(makespan >= busy && makespan <= busy + Duration::from_nanos(200_000), "{makespan}");
        assert_eq!(scheduler.discipline().stood_still(), Duration::ZERO);
    }
}

/// Nobody asks for packets for a while. What had started waits meanwhile, and no more than is planned for twice as long
/// as the first one takes starts; so who comes then waits for no more.
#[test]
fn a_cpu_that_does_not_ask_is_waited_for() {
    let mut scheduler = PerFlow::new(Tradeoff::new(1.0).unwrap());
    let cost = ResourceVec::from_nanos([1000, 1000]);
    let flows = [(); 4].map(|()| scheduler.add_flow(FlowConfig::default()));
    for k in 0..400 {
        let flow = flows[k % 4];
        scheduler.enqueue(Time::ZERO, Packet { flow, size: 1, cost, payload: k }).unwrap();
    }
    let late = Time::from_nanos(100_000);
    let newcomer = scheduler.add_flow(FlowConfig::default());
    scheduler.enqueue(late, Packet { flow: newcomer, size: 1, cost, payload: 400 }).unwrap();
    let mut before = 0;
    while let Next::Serve(served) = scheduler.next(late) {
        if served.payload == 400 {
            break;
        }
        before += 1;
    }
    // The first packet is planned to take 2 us; in that time the fluid has half a packet of each flow.
    assert_eq!(before, 4);
}
