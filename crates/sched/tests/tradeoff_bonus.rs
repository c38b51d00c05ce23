//! Who has the bonus of `tradeoff`: near equals share it by weight, whatever a flow does besides waiting.

use std::collections::VecDeque;

use dovetail_sched::tradeoff::{DEFAULT_TOLERANCE, Tradeoff, near_end};
use dovetail_sched::{FlowConfig, FlowId, Next, Packet, PerFlow, Progress, Scheduler, Shape, build};
use dovetail_units::{Duration, ResourceVec, Time, Weight};

/// The packets of many flows of one packet each, of every kind, that are served before nothing happens any more.
fn served_of_many<const M: usize>(flows: usize) -> usize {
    let mut scheduler = build::<M, ()>(&"tradeoff:alpha=0".parse().unwrap(), Shape::default()).unwrap();
    let mut state: u64 = 1;
    let mut cost = || {
        ResourceVec(std::array::from_fn(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Duration::from_nanos(1 + (state >> 33) % 20_000)
        }))
    };
    for _ in 0..flows {
        let flow = scheduler.add_flow(FlowConfig::default());
        scheduler.enqueue(Time::ZERO, Packet { flow, size: 1, cost: cost(), payload: () }).unwrap();
    }
    let (mut now, mut served) = (Time::ZERO, 0);
    loop {
        match scheduler.next(now) {
            Next::Serve(mut packet) => {
                served += 1;
                for resource in 0..M {
                    let used = packet.ticket.charged()[resource];
                    scheduler.progress(now, &mut packet.ticket, resource, Progress::Started);
                    now += used;
                    scheduler.progress(now, &mut packet.ticket, resource, Progress::Finished { used });
                }
            }
            Next::At(time) if time < Time::MAX => now = time,
            _ => return served,
        }
    }
}

/// A call looks at no more kinds of packets than it may, and still finds somebody to favour.
#[test]
fn without_guarantees_all_packets_of_many_kinds_are_served() {
    for flows in [30, 60, 200] {
        assert_eq!((served_of_many::<3>(flows), served_of_many::<4>(flows)), (flows, flows));
    }
}

/// Flows that always have `depth` packets, on a CPU that asks when it is idle and a link behind it.
struct Box {
    scheduler: PerFlow<2, usize, Tradeoff>,
    flows: Vec<(FlowId, [u64; 2])>,
    now: u64,
    /// Time on the dominant resource, by flow.
    served: Vec<u64>,
}

impl Box {
    fn new(alpha: f64, tolerance: f64) -> Self {
        let scheduler = PerFlow::new(Tradeoff::with_tolerance(alpha, tolerance).unwrap());
        Self { scheduler, flows: Vec::new(), now: 0, served: Vec::new() }
    }

    fn add(&mut self, milli: u32, cost: [u64; 2], depth: usize) -> usize {
        let weight = Weight::from_milli(milli).unwrap();
        let flow = self.scheduler.add_flow(FlowConfig { weight, ..FlowConfig::default() });
        self.flows.push((flow, cost));
        self.served.push(0);
        (0..depth).for_each(|_| self.enqueue(self.flows.len() - 1));
        self.flows.len() - 1
    }

    fn enqueue(&mut self, flow: usize) {
        let (id, cost) = self.flows[flow];
        self.send(id, cost, flow);
    }

    fn send(&mut self, id: FlowId, cost: [u64; 2], payload: usize) {
        let packet = Packet { flow: id, size: 1, cost: ResourceVec::from_nanos(cost), payload };
        self.scheduler.enqueue(Time::from_nanos(self.now), packet).unwrap();
    }

    /// Serve one packet: its flow. Its end on the CPU is now.
    fn serve(&mut self) -> usize {
        loop {
            match self.scheduler.next(Time::from_nanos(self.now)) {
                Next::Serve(served) => {
                    let cost = served.ticket.charged();
                    self.served[served.payload] += cost.dominant_time().as_nanos();
                    self.now += cost[0].as_nanos();
                    return served.payload;
                }
                Next::At(time) => self.now = time.as_nanos(),
                other => panic!("{other:?}"),
            }
        }
    }

    fn run(&mut self, until: u64) {
        while self.now < until {
            let flow = self.serve();
            self.enqueue(flow);
        }
    }

    fn share(&self, flow: usize) -> f64 {
        self.served[flow] as f64 / self.now as f64
    }
}

#[test]
fn weight_buys_bonus() {
    let mut own = Box::new(0.95, DEFAULT_TOLERANCE);
    own.add(1000, [5_000, 30_000], 50);
    own.add(4000, [5_000, 30_000], 50);
    own.add(20_000, [20_000, 7_000], 50);
    own.run(1_000_000_000);
    // d = 1 / (5/6 + 20). The CPU is short even for the first two: case 1, 0.05 / (1/6) of bonus, 1 to 4.
    let fair = 1.0 / (5.0 / 6.0 + 20.0);
    for (flow, weight) in [(0, 1.0), (1, 4.0), (2, 20.0)] {
        let bonus = if flow < 2 { 0.3 * weight / 5.0 } else { 0.0 };
        let expected = 0.95 * weight * fair + bonus;
        // 2(n-1)L behind the fluid and L ahead (Theorem 5), and a head of bonus, of 30 us, more or less.
        let part = 6.0 * 30e-6;
        assert!((own.share(flow) - expected).abs() < part, "flow {flow}: {} of {expected}", own.share(flow));
    }
}

#[test]
fn weights_and_times_of_any_size_share_alike() {
    // Weights 1 to 2, in the whole range, with packets from 30 ns to minutes; and a third flow at the other end.
    for (unit, time) in [(1, 200), (1, 3_000_000_000), (500_000_000, 200), (500_000_000, 30), (1_000, 20_000_000_000)] {
        let mut own = Box::new(0.5, DEFAULT_TOLERANCE);
        own.add(unit, [time, 10 * time], 20);
        own.add(2 * unit, [time, 10 * time], 20);
        own.add(unit, [10 * time, time], 20);
        own.run(20_000 * time);
        let ratio = own.share(1) / own.share(0);
        assert!((ratio - 2.0).abs() < 0.02, "unit {unit}, {time} ns: {ratio}");
    }
}

/// Forty flows through checking and twenty through IPsec, whose packets are of 800, 801, .. 819 bytes at 200 Mbit/s.
fn near_equals(tolerance: f64) -> Vec<f64> {
    let mut own = Box::new(0.85, tolerance);
    (0..40).for_each(|_| _ = own.add(1000, [7_000, 32_000], 20));
    (0..20).for_each(|k| _ = own.add(1000, [96_700, 32_000 + 40 * k], 20));
    own.run(4_000_000_000);
    (40..60).map(|flow| own.served[flow] as f64 / 96_700.0).collect()
}

#[test]
fn near_equals_share_the_bonus() {
    let packets = near_equals(DEFAULT_TOLERANCE);
    let (least, most) = packets.iter().fold((f64::MAX, 0_f64), |(a, b), &p| (a.min(p), b.max(p)));
    // In the fluid: a head of bonus more or less, and one that is under way; and half of what is guaranteed may be
    // behind, by 2(n-1)L.
    assert!(most - least <= 4.0, "{packets:?}");
    // As published, whoever is at the end alone has it all.
    let published = near_equals(0.0);
    let favoured = published.iter().filter(|&&p| p > 1.2 * least).count();
    assert!(favoured <= 3, "{published:?}");
}

#[test]
fn who_is_near_an_end_is_between_half_a_width_and_a_width() {
    const ONE: u64 = 1 << 32;
    let of_ratio = |ratio: f64| {
        let one = ONE as f64;
        if ratio < 1.0 { [(ratio * one) as u64, ONE] } else { [ONE, (one / ratio) as u64] }
    };
    let tolerance = DEFAULT_TOLERANCE;
    for k in 0..20_000 {
        // Ratios from 2^-16 to 2^16, and another that is by up to twice the tolerance farther from the end.
        let ratio = (f64::from(k) * 0.001_107 - 11.09).exp();
        let beyond = 1.0 + f64::from(k % 97) / 96.0 * 2.0 * tolerance;
        for end in 0..2 {
            let other = if end == 0 { ratio / beyond } else { ratio * beyond };
            let near = near_end(&[of_ratio(ratio), of_ratio(other)], end, tolerance);
            assert!(near[0]);
            // Rounding of the times to 2^-32, of which the least is 2^-16; half a width in a logarithm by whose slope
            // of 3/2 instead of 21/16 a class may be narrower.
            let rounding = 1e-4;
            assert!(!near[1] || beyond <= 1.0 + tolerance + rounding, "{ratio} {beyond}: too far");
            assert!(
                near[1] || beyond.ln() >= 0.437 * (tolerance - tolerance * tolerance / 2.0) - rounding,
                "{ratio} {beyond}"
            );
        }
    }
}

/// (17) and (18) have the CPU in full use by anybody, and the link most by A's first packet, then by B's, and then by
/// A's second.
#[test]
fn with_alpha_zero_a_packet_that_is_not_favoured_does_not_start() {
    let mut own = Box::new(0.0, DEFAULT_TOLERANCE);
    let [a, b] = [[10_000, 8_000], [10_000, 5_000]].map(|cost| own.add(1000, cost, 1));
    own.send(own.flows[a].0, [10_000, 1_000], a);
    (0..4).for_each(|_| own.enqueue(b));
    let order: Vec<usize> = (0..7).map(|_| own.serve()).collect();
    assert_eq!(order, [a, b, b, b, b, b, a]);
}

/// What a flow does to have more than its rivals, packet by packet.
#[derive(Clone, Copy, Debug)]
enum Play {
    /// Is removed and added for every so many packets, when they have been handed out.
    Fresh(usize),
    /// The same with a small packet first.
    SmallFirst(usize),
    /// Refills a queue of so many packets when it is empty.
    Refill(usize),
    /// Sends so many packets, and nothing for as long as they should take.
    OnOff(usize),
}

/// Dominant service of one player among `rivals` that always wait, as a multiple of theirs.
fn gain(alpha: f64, rivals: usize, play: Play, cost: [u64; 2], other: [u64; 2]) -> f64 {
    let mut own = Box::new(alpha, DEFAULT_TOLERANCE);
    (0..rivals).for_each(|_| _ = own.add(1000, cost, 10));
    (0..2).for_each(|_| _ = own.add(1000, other, 10));
    let player = own.add(1000, cost, 0);
    let mut queue: VecDeque<[u64; 2]> = VecDeque::new();
    let mut back = 0;
    let horizon = 4_000 * cost[0].max(cost[1]);
    while own.now < horizon {
        if queue.is_empty() && own.now >= back {
            let (packets, small) = match play {
                Play::Fresh(packets) | Play::Refill(packets) | Play::OnOff(packets) => (packets, false),
                Play::SmallFirst(packets) => (packets, true),
            };
            if matches!(play, Play::Fresh(_) | Play::SmallFirst(_)) {
                own.scheduler.remove_flow(Time::from_nanos(own.now), own.flows[player].0, &mut |_| ()).unwrap();
                own.flows[player].0 = own.scheduler.add_flow(FlowConfig::default());
            }
            if let Play::OnOff(packets) = play {
                back = own.now + (packets * (rivals + 3)) as u64 * cost[0].max(cost[1]);
            }
            let first = small.then_some(cost.map(|time| time.div_ceil(100)));
            queue.extend(first.into_iter().chain((0..packets).map(|_| cost)));
            queue.iter().for_each(|&cost| own.send(own.flows[player].0, cost, player));
        }
        let flow = own.serve();
        if flow == player { _ = queue.pop_front() } else { own.enqueue(flow) }
    }
    own.served[player] as f64 * rivals as f64 / own.served[..rivals].iter().sum::<u64>() as f64
}

/// The most by any play, over ways of playing it.
fn most(alpha: f64, plays: &[fn(usize) -> Play], cost: [u64; 2], other: [u64; 2]) -> f64 {
    let mut most = 0.0_f64;
    for rivals in [1, 2, 9] {
        for packets in [1, 2, 5] {
            for play in plays {
                let gain = gain(alpha, rivals, play(packets), cost, other);
                println!("{gain:.3}: alpha {alpha}, {rivals} rivals, {:?}, {cost:?}", play(packets));
                most = most.max(gain);
            }
        }
    }
    most
}

/// The header and the catalogue's `gains` say so.
#[test]
fn nothing_but_waiting_brings_a_share() {
    let times: [[[u64; 2]; 2]; 2] = [[[5_000, 30_000], [20_000, 7_000]], [[30_000, 5_000], [7_000, 9_000]]];
    for alpha in [1.0, 0.85, 0.5, 0.0] {
        for [cost, other] in times {
            let plays: [fn(usize) -> Play; 4] = [Play::Refill, Play::OnOff, Play::Fresh, Play::SmallFirst];
            assert!(most(alpha, &plays, cost, other) <= 1.05);
        }
    }
}
