//! `bf` when the bottleneck changes. One test, as [`dovetail_sched::steps`] counts for the whole program.

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, build, steps};
use dovetail_units::{Duration, ResourceVec, Time};

#[path = "single_resource/traffic.rs"]
#[allow(dead_code)]
mod traffic;
use traffic::Random;

/// What a flow has had that does not count.
const GONE: u64 = u64::MAX / 2;

struct Bench {
    scheduler: Box<dyn Scheduler<2, u32>>,
    flows: Vec<FlowId>,
    random: Random,
    now: Time,
    /// By flow, the service on each resource since the bottleneck changed.
    served: Vec<[u64; 2]>,
    longest: u64,
}

impl Bench {
    fn new(flows: usize) -> Self {
        let mut scheduler = build::<2, u32>(&"bf".parse().unwrap(), Shape::default()).unwrap();
        let flows: Vec<FlowId> = (0..flows).map(|_| scheduler.add_flow(FlowConfig::default())).collect();
        let served = vec![[0; 2]; flows.len()];
        Self { scheduler, flows, random: Random(1), now: Time::ZERO, served, longest: 0 }
    }

    fn counted<T>(&mut self, call: impl FnOnce(&mut dyn Scheduler<2, u32>) -> T) -> T {
        let before = steps::taken();
        let answer = call(&mut *self.scheduler);
        self.longest = self.longest.max(steps::taken() - before);
        answer
    }

    fn offer(&mut self, flow: usize, demanded: usize) {
        let mut cost = [1 + self.random.below(100); 2];
        cost[demanded] += 400 + self.random.below(500);
        let packet =
            Packet { flow: self.flows[flow], size: 1, cost: ResourceVec::from_nanos(cost), payload: flow as u32 };
        let now = self.now;
        self.counted(|s| s.enqueue(now, packet)).unwrap();
    }

    /// Serve a packet; its flow sends another that needs this resource most.
    fn serve(&mut self, demanded: usize) {
        let now = self.now;
        let Next::Serve(mut served) = self.counted(|s| s.next(now)) else { panic!("nothing is served") };
        for r in 0..2 {
            let used = served.ticket.charged()[r];
            self.served[served.payload as usize][r] += used.as_nanos();
            self.counted(|s| s.progress(now, &mut served.ticket, r, Progress::Finished { used }));
        }
        self.offer(served.payload as usize, demanded);
    }
}

#[test]
fn a_new_bottleneck_is_shared_from_its_beginning_and_takes_no_long_call() {
    const FLOWS: usize = 5_000;
    let mut bench = Bench::new(FLOWS);
    for flow in 0..FLOWS {
        (0..2).for_each(|_| bench.offer(flow, 1));
    }
    for round in 0..4 {
        // Until all that waits needs this resource most: at most forty packets of a flow while it has two others.
        let most = 1 - round % 2;
        (0..50 * FLOWS).for_each(|_| bench.serve(most));
        // It is in most demand for an interval, and then the bottleneck.
        bench.now += Duration::from_secs(1);
        (0..500).for_each(|_| bench.serve(most));
        bench.now += Duration::from_secs(1);
        bench.served.fill([0; 2]);
        // Flows come and go, some of them without tags on it yet.
        for k in 0..200 {
            bench.serve(most);
            let flow = (round * 901 + k * 37) % FLOWS;
            let (now, id) = (bench.now, bench.flows[flow]);
            bench.counted(|s| s.remove_flow(now, id, &mut |_| ())).unwrap();
            bench.flows[flow] = bench.scheduler.add_flow(FlowConfig::default());
            bench.served[flow] = [GONE; 2];
            (0..2).for_each(|_| bench.offer(flow, most));
        }
        (0..3 * FLOWS).for_each(|_| bench.serve(most));
        let stayed = bench.served.iter().map(|served| served[most]).filter(|&served| served < GONE);
        let (least, largest) = stayed.fold((u64::MAX, 0), |(a, b), served| (a.min(served), b.max(served)));
        // The longest packets of two of them, of 1000 ns at most.
        assert!(largest - least <= 2000 && least > 0, "round {round}: {least} to {largest}");
    }
    // Two heaps of some six levels change for each of at most four flows, and for the packet's own.
    assert!((20..150).contains(&bench.longest), "{}", bench.longest);
}
