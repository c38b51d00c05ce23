//! Disciplines by tags: a flow gains nothing by being new, and loses nothing by being idle for a moment.
//!
//! Bounds are those of [`dovetail_sched::flow_tags`]: a rival that waits throughout has had all that V has moved but
//! for its largest packet, and what all the flows of a stream got one after another is no more than V has moved.

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, build};
use dovetail_units::{ResourceVec, Time, Weight};

#[path = "single_resource/traffic.rs"]
#[allow(dead_code)]
mod traffic;
use traffic::Random;

/// What counts as service by each discipline, of a packet's times.
type Service = fn([u64; 2]) -> u64;

const DOMINANT: Service = |cost| cost[0].max(cost[1]);
const ON_LINK: Service = |cost| cost[1];
const ON_CPU: Service = |cost| cost[0];
const TOTAL: Service = |cost| cost[0] + cost[1];

/// The defaults, and what they share; `bf` shares the first resource here, as it does until its interval is over.
const SAFE: [(&str, Service); 6] = [
    ("drfq", DOMINANT),
    ("sfq", ON_LINK),
    ("scfq", ON_LINK),
    ("pcfq", TOTAL),
    ("bf:interval=1000000 s", ON_CPU),
    // With times in proportion, as here, each resource is shared alike.
    ("drfq:mode=dovetail", DOMINANT),
];

/// One server after the other, a packet at a time.
struct Bench {
    scheduler: Box<dyn Scheduler<2, u32>>,
    now: Time,
}

impl Bench {
    fn new(spec: &str) -> Self {
        Self { scheduler: build(&spec.parse().unwrap(), Shape::default()).unwrap(), now: Time::ZERO }
    }

    fn add(&mut self, milli: u32) -> FlowId {
        let weight = Weight::from_milli(milli).unwrap();
        self.scheduler.add_flow(FlowConfig { weight, ..FlowConfig::default() })
    }

    /// A packet of `whom`.
    fn offer(&mut self, flow: FlowId, whom: usize, cost: [u64; 2]) {
        let packet = Packet { flow, size: 1, cost: ResourceVec::from_nanos(cost), payload: whom as u32 };
        self.scheduler.enqueue(self.now, packet).unwrap();
    }

    /// Serve a packet that takes `256ths` of its times: whose, and what it took.
    fn serve_in(&mut self, of_256: impl Fn(usize) -> u64) -> (usize, [u64; 2]) {
        let Next::Serve(mut served) = self.scheduler.next(self.now) else { panic!("nothing is served") };
        let charged = served.ticket.charged();
        let mut took = [0; 2];
        for r in 0..2 {
            self.scheduler.progress(self.now, &mut served.ticket, r, Progress::Started);
            took[r] = charged[r].as_nanos() * of_256(served.payload as usize) / 256;
            let used = ResourceVec::<2>::from_nanos([took[r]; 2])[0];
            self.now += used;
            self.scheduler.progress(self.now, &mut served.ticket, r, Progress::Finished { used });
        }
        (served.payload as usize, took)
    }

    fn serve(&mut self) -> (usize, [u64; 2]) {
        self.serve_in(|_| 256)
    }
}

const RIVALS: usize = 9;
/// The one that is not a rival.
const ATTACKER: usize = RIVALS;

/// Times of a packet, in proportion so that flows have one dominant resource.
fn cost(main: u64) -> [u64; 2] {
    [main, main.div_ceil(2)]
}

/// Rivals with packets of random times, always two or more waiting.
struct Rivals {
    flows: Vec<FlowId>,
    smallest_largest: Vec<(u64, u64)>,
    served: [u64; RIVALS + 1],
}

impl Rivals {
    fn come(bench: &mut Bench, random: &mut Random) -> Self {
        let range = |random: &mut Random| {
            let largest = [100, 1_000, 10_000][random.below(3) as usize];
            if random.below(2) == 0 { (largest, largest) } else { (1 + random.below(largest), largest) }
        };
        let smallest_largest: Vec<_> = (0..RIVALS).map(|_| range(random)).collect();
        let flows = (0..RIVALS).map(|_| bench.add(1000)).collect();
        let rivals = Self { flows, smallest_largest, served: [0; RIVALS + 1] };
        (0..RIVALS).for_each(|whom| (0..3).for_each(|_| rivals.offer(bench, whom, random)));
        rivals
    }

    fn offer(&self, bench: &mut Bench, whom: usize, random: &mut Random) {
        let (smallest, largest) = self.smallest_largest[whom];
        bench.offer(self.flows[whom], whom, cost(smallest + random.below(largest - smallest + 1)));
    }

    /// Serve a packet; who is no rival any more has to send another. Whether it was the attacker's.
    fn serve(&mut self, bench: &mut Bench, service: Service, random: &mut Random) -> bool {
        let (whom, took) = bench.serve();
        self.served[whom] += service(took);
        if whom < RIVALS {
            self.offer(bench, whom, random);
        }
        whom == ATTACKER
    }

    /// The attacker's service by the fair share of one flow.
    fn gain(&self) -> f64 {
        (RIVALS + 1) as f64 * self.served[ATTACKER] as f64 / self.served.iter().sum::<u64>() as f64
    }

    /// By how much the attacker is before each rival, at most, less that rival's largest packet.
    fn beyond(&self, service: Service) -> i64 {
        let ahead = |whom: usize| {
            let allowed = self.served[whom] + service(cost(self.smallest_largest[whom].1));
            self.served[ATTACKER] as i64 - allowed as i64
        };
        (0..RIVALS).map(ahead).max().unwrap_or(0)
    }
}

/// Packets of one flow of the attacker's, no more than `most`.
fn burst(most: u64, random: &mut Random) -> Vec<u64> {
    let (count, largest) = (1 + random.below(most), [3, 300, 1_000, 30_000][random.below(4) as usize]);
    let mut times: Vec<u64> = (0..count).map(|_| 1 + random.below(largest)).collect();
    match random.below(4) {
        0 => times.sort_unstable(),
        1 => times.sort_unstable_by(|a, b| b.cmp(a)),
        // Tiny ones, then a huge one.
        2 => times.iter_mut().rev().skip(1).for_each(|time| *time = 1),
        _ => (),
    }
    times
}

/// Whenever its flow is empty, the attacker goes on with a new one: the old one is removed, stays, or is used again
/// later.
fn attack(spec: &str, service: Service, seed: u64, most: u64) -> Rivals {
    let (mut bench, mut random) = (Bench::new(spec), Random(seed));
    let mut rivals = Rivals::come(&mut bench, &mut random);
    let habit = random.below(4);
    let (mut flow, mut old, mut waiting) = (bench.add(1000), Vec::new(), 0);
    for _ in 0..3000 {
        if waiting == 0 {
            match habit {
                0 => bench.scheduler.remove_flow(bench.now, flow, &mut |_| ()).unwrap(),
                1 => old.push(flow),
                _ => (),
            }
            if habit < 2 {
                flow = if old.len() > 20 { old.remove(random.below(20) as usize) } else { bench.add(1000) };
            }
            let burst = burst(most, &mut random);
            waiting = burst.len();
            burst.into_iter().for_each(|time| bench.offer(flow, ATTACKER, cost(time)));
        }
        waiting -= usize::from(rivals.serve(&mut bench, service, &mut random));
    }
    rivals
}

#[test]
fn a_stream_of_new_flows_gains_nothing() {
    for (spec, service) in SAFE {
        let mut largest = 0.0;
        for seed in 0..300 {
            let rivals = attack(spec, service, seed, 8);
            assert!(rivals.beyond(service) <= 0, "{spec}, seed {seed}: {:?}", rivals.served);
            largest = f64::max(largest, rivals.gain());
        }
        println!("{spec}: a gain of {largest:.3} at most");
        assert!(largest < 1.05, "{spec}: {largest}");
    }
}

#[test]
fn a_stream_of_new_flows_starves_others_as_published() {
    let free = [
        ("drfq:newcomers=free", DOMINANT, 9.0),
        ("sfq:newcomers=free", ON_LINK, 9.0),
        ("bf:newcomers=free,interval=1000000 s", ON_CPU, 9.0),
        ("drfq:mode=dovetail,newcomers=free", DOMINANT, 9.0),
        // By packets that are smaller than those of all rivals only: few of these bursts are.
        ("pcfq:clock=tags", TOTAL, 1.5),
    ];
    for (spec, service, expected) in free {
        let largest = (0..40).map(|seed| attack(spec, service, seed, 1).gain()).fold(0.0, f64::max);
        println!("{spec}: a gain of {largest:.3}");
        assert!(largest > expected, "{spec}: {largest}");
    }
}

/// A flow that sends its next packets as soon as it has none waiting: one at a time, or in bursts.
fn on_and_off(spec: &str, service: Service, seed: u64, overstated: u64) -> (Rivals, u64) {
    let (mut bench, mut random) = (Bench::new(spec), Random(seed));
    let mut rivals = Rivals::come(&mut bench, &mut random);
    let (flow, most) = (bench.add(1000), 1 + random.below(4));
    let (mut waiting, mut largest) = (0, 0);
    for _ in 0..6000 {
        if waiting == 0 {
            waiting = 1 + random.below(most);
            for _ in 0..waiting {
                let time = if random.below(2) == 0 { 1 } else { 1 + random.below(2000) };
                largest = largest.max(service(cost(time * overstated)));
                bench.offer(flow, ATTACKER, cost(time).map(|time| time * overstated));
            }
        }
        let (whom, took) = bench.serve_in(|whom| if whom == ATTACKER { 256 / overstated } else { 256 });
        rivals.served[whom] += service(took);
        if whom < RIVALS {
            rivals.offer(&mut bench, whom, &mut random);
        } else {
            waiting -= 1;
        }
    }
    (rivals, largest)
}

/// It gets what every rival gets, but for its largest packet and that one's. By start tags, that its packets are taken
/// for four times as large until they are measured costs it nothing more. A time of 1 ns is no part of one: hence those
/// that count are rounded up.
#[test]
fn a_flow_that_is_idle_for_a_moment_loses_nothing() {
    for (spec, service) in SAFE {
        for overstated in [1, 4] {
            if overstated > 1 && ["scfq", "pcfq"].contains(&spec) {
                continue;
            }
            for seed in 0..100 {
                let (rivals, largest) = on_and_off(spec, service, seed, overstated);
                for whom in 0..RIVALS {
                    let behind = rivals.served[whom] as i64 - rivals.served[ATTACKER] as i64;
                    let allowed = largest + service(cost(rivals.smallest_largest[whom].1));
                    assert!(behind <= allowed as i64, "{spec}, seed {seed}, times {overstated}: {:?}", rivals.served);
                }
                assert!(rivals.beyond(service) <= 0, "{spec}, seed {seed}, times {overstated}: {:?}", rivals.served);
            }
        }
    }
}

/// Service of two flows of these weights in thousandths, with packets of these times, of which always two wait.
fn shared(spec: &str, weights: [u32; 2], times: [u64; 2], packets: usize) -> [u64; 2] {
    let mut bench = Bench::new(spec);
    let flows = weights.map(|milli| bench.add(milli));
    (0..4).for_each(|k| bench.offer(flows[k % 2], k % 2, [times[k % 2]; 2]));
    let mut served = [0; 2];
    for _ in 0..packets {
        let (whom, took) = bench.serve();
        served[whom] += took[1];
        bench.offer(flows[whom], whom, [times[whom]; 2]);
    }
    served
}

#[test]
fn weights_and_times_of_any_size_are_shared_by_weight() {
    let weights = [1, 1_000, 1_000_000, 100_000_000, 66_000_000, 1_000_000_000u32];
    let times = [1, 30, 200, 1_000_000, 300_000_000_000u64];
    let all = ["drfq", "drfq:mode=dovetail", "drfq:newcomers=free", "sfq", "sfq:newcomers=free", "scfq", "pcfq", "bf"];
    for spec in all {
        for (a, b) in weights.iter().flat_map(|&a| weights.map(|b| (a, b))) {
            for (s, t) in times.iter().flat_map(|&s| times.map(|t| (s, t))) {
                let served = shared(spec, [a, b], [s, t], 200);
                // |D_a / a - D_b / b| <= s / a + t / b, times a b, and two ticks of 2^-22 ns for each flow (of 1/1000
                // of a weight).
                let [a, b] = [a, b].map(i128::from);
                let apart = (i128::from(served[0]) * b - i128::from(served[1]) * a).abs();
                let allowed = i128::from(s) * b + i128::from(t) * a + 4 * a * b / (1000 << 22);
                assert!(apart <= allowed, "{spec}, weights {a} and {b}, times {s} and {t}: {served:?}");
            }
        }
    }
}

#[test]
fn large_weights_do_not_vanish() {
    for spec in ["drfq", "drfq:mode=dovetail", "drfq:delta=1 ms", "drfq:newcomers=free", "sfq", "scfq", "pcfq", "bf"] {
        let served = shared(spec, [1_000_000_000, 500_000_000], [200; 2], 3000);
        assert!((served[0] / 200).abs_diff(2000) <= 1, "{spec}: {served:?}");
        let served = shared(spec, [100_000_000, 66_000_000], [30; 2], 1660);
        assert!((served[0] / 30).abs_diff(1000) <= 1, "{spec}: {served:?}");
    }
}

/// A flow has waited at weight 0.001, so far behind V, or at 1000, when it gets the other one: it must not catch up by
/// a million packets, nor lose its share.
#[test]
fn a_changed_weight_is_no_claim_on_the_past() {
    for spec in ["drfq", "drfq:mode=dovetail", "sfq", "bf"] {
        for (before, after, share) in [(1, 1_000_000, 1000), (1_000_000, 1, 0)] {
            let mut bench = Bench::new(spec);
            let flows = [before, 1000].map(|milli| bench.add(milli));
            (0..4).for_each(|k| bench.offer(flows[k % 2], k % 2, [1000; 2]));
            serve(&mut bench, flows, 2500);
            let weight = Weight::from_milli(after).unwrap();
            bench.scheduler.set_flow(bench.now, flows[0], FlowConfig { weight, ..FlowConfig::default() }).unwrap();
            // A thousand to one or the other way round, but for one packet of each.
            let served = serve(&mut bench, flows, 2002);
            assert!(served.abs_diff(2 * share) <= 2, "{spec}, {before} to {after}: {served} of 2002");
        }
    }
}

/// A's packet takes a thousand times what was estimated, which it owes; a new bottleneck is shared from zero by those
/// that waited before and by who comes.
#[test]
fn a_new_bottleneck_knows_no_debts() {
    for spec in ["bf:interval=1 us", "bf:interval=1 us,newcomers=free"] {
        let mut bench = Bench::new(spec);
        let flows = [0; 2].map(|_| bench.add(1000));
        // On the link, of which more is needed. A's two packets after the first wait with what it owes on the CPU, the
        // bottleneck until now.
        (0..3).for_each(|_| bench.offer(flows[0], 0, [10, 100]));
        bench.serve_in(|_| 256_000);
        (0..3).for_each(|_| bench.offer(flows[1], 1, [10, 100]));
        let served: String = (0..5).map(|_| if bench.serve().0 == 0 { 'A' } else { 'B' }).collect();
        assert_eq!(served, "ABABB", "{spec}");
    }
}

/// Packets of the first flow among so many, of which always two of each wait.
fn serve(bench: &mut Bench, flows: [FlowId; 2], packets: usize) -> usize {
    let mut first = 0;
    for _ in 0..packets {
        let (whom, _) = bench.serve();
        bench.offer(flows[whom], whom, [1000; 2]);
        first += usize::from(whom == 0);
    }
    first
}

/// Rivals' packets of 10,000 that go before one of 500 of a flow that sends now and then, among sixty: the mean and the
/// most.
fn wait(spec: &str) -> (f64, usize) {
    let (mut bench, mut random) = (Bench::new(spec), Random(1));
    let flows: Vec<FlowId> = (0..60).map(|_| bench.add(1000)).collect();
    let sparse = bench.add(1000);
    for (whom, &flow) in flows.iter().enumerate() {
        (0..2).for_each(|_| bench.offer(flow, whom, cost(5_000 + random.below(5_001))));
    }
    let mut waits = Vec::new();
    for _ in 0..500 {
        let pause = 60 + random.below(200);
        let mut before = 0;
        for k in 0.. {
            if k == pause {
                bench.offer(sparse, 60, cost(500));
            }
            let (whom, _) = bench.serve();
            match flows.get(whom) {
                Some(&flow) => bench.offer(flow, whom, cost(5_000 + random.below(5_001))),
                None => break,
            }
            before += usize::from(k >= pause);
        }
        waits.push(before);
    }
    (waits.iter().sum::<usize>() as f64 / waits.len() as f64, waits.into_iter().max().unwrap())
}

#[test]
fn small_packets_of_sparse_flows_wait_little() {
    for spec in ["drfq", "drfq:newcomers=free", "sfq", "sfq:newcomers=free", "scfq", "pcfq", "pcfq:clock=tags", "bf"] {
        let (mean, most) = wait(spec);
        println!("{spec}: {mean:.1} packets go before, {most} at most");
        // Whose tags are within 500 of V: a packet of each of the sixty at most, as two are 5000 apart. Rivals' are
        // spread over the 7500 of a round on the average: 4 of them.
        assert!(most <= 60 && mean < 60.0 / 4.0, "{spec}: {mean} {most}");
    }
}
