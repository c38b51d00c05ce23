//! The round robins at the extremes: exact shares whatever the size of weights and times, and no long call. One test
//! counts steps of the whole program, so all are one after the other.

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, Ticket, build, steps};
use dovetail_units::{Duration, ResourceVec, Time, Weight};

type Boxed = Box<dyn Scheduler<2, u32>>;

const ALL: [&str; 9] = [
    "mr3",
    "gmr3",
    "cbcs",
    "drr",
    "mr3:newcomers=free",
    "gmr3:newcomers=free",
    "cbcs:newcomers=free",
    "cbcs:quantum=1 us",
    "drr:quantum=1 us",
];

fn made(spec: &str) -> Boxed {
    build(&spec.parse().unwrap(), Shape::default()).unwrap()
}

fn weighing(milli: u32) -> FlowConfig<2> {
    FlowConfig { weight: Weight::from_milli(milli).unwrap(), ..FlowConfig::default() }
}

fn offer(scheduler: &mut Boxed, flow: FlowId, number: usize, nanos: u64) {
    let packet = Packet { flow, size: 1, cost: ResourceVec::from_nanos([nanos; 2]), payload: number as u32 };
    scheduler.enqueue(Time::ZERO, packet).unwrap();
}

/// Serve a packet; it has passed the pipeline when the next is asked for.
fn serve(scheduler: &mut Boxed) -> Option<usize> {
    let Next::Serve(mut packet) = scheduler.next(Time::ZERO) else { return None };
    let used = packet.ticket.charged();
    finish(scheduler, &mut packet.ticket, used);
    Some(packet.payload as usize)
}

fn finish(scheduler: &mut Boxed, ticket: &mut Ticket<2>, used: ResourceVec<2>) {
    (0..2).for_each(|r| scheduler.progress(Time::ZERO, ticket, r, Progress::Finished { used: used[r] }));
}

/// Services of two flows that are always backlogged.
fn services(spec: &str, weights: [u32; 2], nanos: [u64; 2], count: usize) -> [usize; 2] {
    let mut scheduler = made(spec);
    let flows = weights.map(|milli| scheduler.add_flow(weighing(milli)));
    let mut served = [0; 2];
    for _ in 0..count {
        (0..2).for_each(|f| (scheduler.queued(flows[f])..3).for_each(|_| offer(&mut scheduler, flows[f], f, nanos[f])));
        served[serve(&mut scheduler).unwrap()] += 1;
    }
    served
}

#[test]
fn shares_do_not_depend_on_the_size_of_weights_and_times() {
    const MINUTES: u64 = 600_000_000_000;
    // A quantum of 1 us for weight 1 is many packets at a larger one.
    for spec in ALL.into_iter().filter(|spec| !spec.contains("quantum")) {
        // Thousandths. Of 3000 packets flows get parts by weight; a turn more or less is at most three packets.
        for (weights, expected) in [
            ([1_000_000_000, 500_000_000], 2000),
            ([100_000_000, 66_000_000], 1807),
            ([999_999_999, 1_000_000_000], 1500),
            ([3, 2], 1800),
            ([1, 2], 1000),
        ] {
            for nanos in [1, 3, 30, 200, 1_000_003, MINUTES] {
                let [a, _] = services(spec, weights, [nanos; 2], 3000);
                assert!(a.abs_diff(expected) <= 4, "{spec}, {weights:?}, {nanos} ns: {a}, right is {expected}");
            }
        }
        // Packets of 3 and 7 ns at the largest weights: as many as 7 : 3.
        let [a, _] = services(spec, [1_000_000_000; 2], [3, 7], 3000);
        assert!(a.abs_diff(2100) <= 10, "{spec}: {a}");
    }
    counted();
}

/// The most steps of one call.
struct Longest(u64);

impl Longest {
    fn of<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let before = steps::taken();
        let result = call();
        self.0 = self.0.max(steps::taken() - before);
        result
    }
}

/// No call takes more than 256 turns of up to eight looks each and some heap's levels, with many flows, after `set`,
/// and with all of them in debt.
fn counted() {
    const FLOWS: usize = 20_000;
    let more = ["mr3:progress=none", "gmr3:progress=none", "cbcs:quantum=1 ms", "drr:quantum=1 ms"];
    let usual = ALL.into_iter().chain(more).map(|spec| (spec, 15_000, 3));
    // Here a turn is of three packets, by which a flow is in debt for more than a turn.
    for (spec, nanos, packets) in usual.chain([("gmr3:largest=1 ms,progress=none", 400_000, 6)]) {
        let mut scheduler = made(spec);
        let mut longest = Longest(0);
        let flows: Vec<FlowId> = (0..FLOWS).map(|_| scheduler.add_flow(weighing(1000))).collect();
        for (number, &flow) in flows.iter().enumerate() {
            (0..packets).for_each(|_| longest.of(|| offer(&mut scheduler, flow, number, nanos)));
        }
        // All packets of a round take a hundred times as long as was estimated, which is known when all are on their
        // way.
        let mut on_their_way = Vec::new();
        let round = if packets > 3 { 3 * FLOWS } else { FLOWS };
        while on_their_way.len() < round {
            let Next::Serve(packet) = longest.of(|| scheduler.next(Time::ZERO)) else { break };
            on_their_way.push(packet.ticket);
        }
        // The next round has begun by then.
        for ticket in &mut on_their_way {
            longest.of(|| scheduler.progress(Time::ZERO, ticket, 1, Progress::Started));
        }
        assert!(longest.of(|| serve(&mut scheduler)).is_some(), "{spec}: nothing is served");
        for ticket in &mut on_their_way {
            let used = Duration::from_nanos(100 * nanos);
            longest.of(|| scheduler.progress(Time::ZERO, ticket, 1, Progress::Finished { used }));
        }
        for quantum in ["1 ns", "1 us", "auto", "100 ns"] {
            let _ = longest.of(|| scheduler.set(Time::ZERO, "quantum", quantum));
            for _ in 0..300 {
                assert!(longest.of(|| serve(&mut scheduler)).is_some(), "{spec}: nothing is served");
            }
        }
        for &flow in &flows[..FLOWS / 2] {
            let _ = longest.of(|| scheduler.set_flow(Time::ZERO, flow, weighing(1_000_000)));
        }
        for &flow in &flows[FLOWS / 4..FLOWS / 2] {
            longest.of(|| scheduler.remove_flow(Time::ZERO, flow, &mut |_| {})).unwrap();
        }
        (0..300).for_each(|_| assert!(longest.of(|| serve(&mut scheduler)).is_some(), "{spec}: nothing is served"));
        println!("{spec}: {}", longest.0);
        assert!(longest.0 <= 8 * 256 + 32, "{spec}: {} steps", longest.0);
    }
}

#[test]
fn a_lone_flow_in_debt_changes_its_class() {
    // L is 100 ms by then, and stays so while the flow is backlogged: the debt is a turn or two, not 10^8.
    for spec in ["gmr3", "gmr3:newcomers=free", "mr3", "cbcs", "drr"] {
        let mut scheduler = made(spec);
        let flow = scheduler.add_flow(weighing(1000));
        (0..9).for_each(|_| offer(&mut scheduler, flow, 0, 1));
        let Next::Serve(mut packet) = scheduler.next(Time::ZERO) else { panic!("nothing to serve") };
        let used = ResourceVec::from_nanos([100_000_000; 2]);
        finish(&mut scheduler, &mut packet.ticket, used);
        scheduler.set_flow(Time::ZERO, flow, weighing(5000)).unwrap();
        for _ in 0..8 {
            let before = steps::taken();
            assert!(serve(&mut scheduler).is_some(), "{spec}");
            // The other test's steps count, too.
            assert!(steps::taken() - before < 10_000_000, "{spec}");
        }
    }
}

#[test]
fn what_is_known_of_the_longest_packet_survives_a_change_of_class() {
    for spec in ["gmr3", "gmr3:newcomers=free"] {
        let mut scheduler = made(spec);
        let a = scheduler.add_flow(weighing(1000));
        (0..9).for_each(|_| offer(&mut scheduler, a, 0, 1));
        let Next::Serve(mut packet) = scheduler.next(Time::ZERO) else { panic!("nothing to serve") };
        finish(&mut scheduler, &mut packet.ticket, ResourceVec::from_nanos([100_000_000; 2]));
        scheduler.set_flow(Time::ZERO, a, weighing(5000)).unwrap();
        let b = scheduler.add_flow(weighing(5000));
        (0..9).for_each(|_| offer(&mut scheduler, b, 1, 1));
        // L = 100 ms and c = 122 ms: A owes 100 ms at most, so its first turn is a turn for all that it has; then B's,
        // too.
        let order: Vec<usize> = (0..17).map(|_| serve(&mut scheduler).unwrap()).collect();
        assert!(order[..8].iter().all(|&f| f == 0), "{spec}: {order:?}");
    }
}

/// Three rivals with packets of 15 us always wait. A flow of packets of 1 us sends 15, a turn's worth, whenever it has
/// none. It is due what each of them has.
#[test]
fn a_flow_that_is_idle_for_a_moment_keeps_its_turns() {
    for spec in ["mr3", "gmr3", "cbcs:quantum=15 us", "drr:quantum=15 us"] {
        let mut scheduler = made(spec);
        let flows = [1, 15, 15, 15].map(|_| scheduler.add_flow(weighing(1024)));
        let mut served = [0; 4];
        for _ in 0..5000 {
            for (f, &flow) in flows.iter().enumerate().skip(1) {
                (scheduler.queued(flow)..3).for_each(|_| offer(&mut scheduler, flow, f, 15_000));
            }
            if scheduler.queued(flows[0]) == 0 {
                (0..15).for_each(|_| offer(&mut scheduler, flows[0], 0, 1000));
            }
            let whom = serve(&mut scheduler).unwrap();
            served[whom] += if whom == 0 { 1 } else { 15 };
        }
        assert!(100 * served[0] >= 97 * served[1], "{spec}: {served:?}");
    }
}
