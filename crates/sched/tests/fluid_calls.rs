//! How much a single call does with many flows, counted in steps: the disciplines that have a clock of a fluid, and
//! what stands around them.
//!
//! One test only: the count is one for the whole program.

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Scheduler, Shape, build, build_all, steps};
use dovetail_units::{Duration, ResourceVec, Time, Weight};

const FLOWS: usize = 100_000;
/// The events of a call take up to three operations of a heap that is 9 deep at 10^5 flows and 10 deep at 10^6; 25 and
/// 16 of them are allowed there, and twice as many where both V passes ends and packets come to their starts. Each
/// touches up to 25 records and packets, which count too.
const MOST: u64 = 2 * 25 * (3 * 9 + 25);

struct Counted {
    scheduler: Box<dyn Scheduler<1, u32>>,
    now: Time,
    /// Of the longest call since the last look, and of all calls, and how many these were.
    longest: u64,
    all: u64,
    calls: u64,
}

impl Counted {
    fn new(spec: &str) -> Self {
        let scheduler = build(&spec.parse().unwrap(), Shape { servers: 1 }).unwrap();
        Self { scheduler, now: Time::ZERO, longest: 0, all: 0, calls: 0 }
    }

    fn call<T>(&mut self, call: impl FnOnce(&mut dyn Scheduler<1, u32>, Time) -> T) -> T {
        let before = steps::taken();
        let result = call(&mut *self.scheduler, self.now);
        let taken = steps::taken() - before;
        (self.longest, self.all, self.calls) = (self.longest.max(taken), self.all + taken, self.calls + 1);
        result
    }

    fn offer(&mut self, flow: FlowId, nanos: u64) {
        let packet = Packet { flow, size: 100, cost: ResourceVec::from_nanos([nanos]), payload: 0 };
        self.call(|s, now| s.enqueue(now, packet)).unwrap();
    }

    /// Serve all that wait, each for its time, or all at this instant.
    fn serve_all(&mut self, takes_time: bool) -> usize {
        let mut served = 0;
        loop {
            match self.call(|s, now| s.next(now)) {
                Next::Serve(packet) if takes_time => self.now += packet.ticket.charged()[0],
                Next::Serve(_) => (),
                Next::At(time) => self.now = time,
                _ => return served,
            }
            served += 1;
        }
    }

    fn longest(&mut self, spec: &str, what: &str) {
        let (longest, mean) = (self.longest, self.all as f64 / self.calls as f64);
        println!("{spec:18} {what:28} longest {longest:5}, mean {mean:6.1}");
        assert!(longest <= MOST, "{spec}, {what}: {longest} steps");
        (self.longest, self.all, self.calls) = (0, 0, 0);
    }
}

fn weight(milli: u32) -> FlowConfig<1> {
    FlowConfig { weight: Weight::from_milli(milli).unwrap(), ..FlowConfig::default() }
}

fn no_call_is_long(spec: &str) {
    let mut bench = Counted::new(spec);
    let mut flows: Vec<FlowId> = (0..FLOWS).map(|_| bench.scheduler.add_flow(FlowConfig::default())).collect();
    for round in 0..2 {
        flows.clone().into_iter().for_each(|flow| bench.offer(flow, 1000 + round));
    }
    bench.longest(spec, "a burst of every flow");
    bench.serve_all(true);
    bench.longest(spec, "all in step");
    bench.now += Duration::from_millis(60_000);
    flows.clone().into_iter().for_each(|flow| bench.offer(flow, 1000));
    bench.longest(spec, "idle for long and back");
    // All are handed out at once; the fluid has all of them before it.
    bench.serve_all(false);
    bench.now += Duration::from_millis(99);
    bench.offer(flows[0], 1000);
    bench.now += Duration::from_millis(60_000);
    bench.offer(flows[1], 1000);
    bench.serve_all(false);
    bench.longest(spec, "handed out at once, idle");
    for k in 0..3 {
        flows.clone().into_iter().for_each(|flow| bench.offer(flow, 1000 + k));
    }
    bench.now += Duration::from_millis(250);
    _ = bench.call(|s, now| s.set(now, "no such", "1"));
    bench.longest(spec, "set after a pause");
    for (k, &flow) in flows.iter().enumerate().step_by(7) {
        bench.call(|s, now| s.set_flow(now, flow, weight(500 + k as u32))).unwrap();
    }
    bench.longest(spec, "weights change");
    let served = bench.serve_all(true);
    assert!(served >= 3 * FLOWS, "{spec}: {served}");
    bench.longest(spec, "what waited meanwhile");
    flows.clone().into_iter().for_each(|flow| bench.offer(flow, 1000));
    bench.serve_all(false);
    bench.now += Duration::from_millis(99);
    for flow in flows.drain(..) {
        bench.call(|s, now| s.remove_flow(now, flow, &mut |_| ())).unwrap();
    }
    bench.longest(spec, "mass removal");
    for _ in 0..FLOWS / 10 {
        let flow = bench.scheduler.add_flow(FlowConfig::default());
        (0..3).for_each(|_| bench.offer(flow, 700));
        bench.call(|s, now| s.next(now));
        bench.now += Duration::from_nanos(700);
        bench.call(|s, now| s.remove_flow(now, flow, &mut |_| ())).unwrap();
    }
    bench.longest(spec, "bursts of fresh flows");
    // One flow with many packets: its weight, and what the fluid does of it.
    let deep = bench.scheduler.add_flow(FlowConfig::default());
    (0..FLOWS).for_each(|_| bench.offer(deep, 10));
    bench.call(|s, now| s.set_flow(now, deep, weight(3000))).unwrap();
    bench.now += Duration::from_millis(60_000);
    bench.call(|s, now| s.set_flow(now, deep, weight(2000))).unwrap();
    assert!(bench.serve_all(false) >= FLOWS);
    bench.longest(spec, "one deep queue");
}

/// A flow's first packet passes the first resource, a hundred thousand wait behind it.
fn a_gate_opens_slowly() {
    let mut entrance = build_all::<2, u32>(&"wfq+wfq".parse().unwrap(), Shape::default()).unwrap().entrance.scheduler;
    let flow = entrance.add_flow(FlowConfig::default());
    for k in 0..FLOWS as u32 {
        let cost = ResourceVec::from_nanos([u64::from(k > 0), 5]);
        entrance.enqueue(Time::ZERO, Packet { flow, size: 1, cost, payload: k }).unwrap();
    }
    for k in 0..FLOWS as u32 {
        let before = steps::taken();
        let Next::Serve(served) = entrance.next(Time::from_nanos(k.into())) else { panic!("{k} waits") };
        let taken = steps::taken() - before;
        assert!(served.payload == k && taken < 100, "{}: {taken} steps", served.payload);
    }
}

#[test]
fn no_call_does_work_for_many_flows_or_packets() {
    for spec in ["wfq", "wf2q+", "drgps", "drgps:order=start"] {
        no_call_is_long(spec);
    }
    a_gate_opens_slowly();
}
