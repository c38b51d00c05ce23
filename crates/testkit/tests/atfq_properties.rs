//! Section III-A of the ATFQ paper as properties: bounded difference, no starvation, strategy-proofness; and where the last one fails
//! (`docs/theory/atfq.md`).
//!
//! A flow's received active time is computed anew here: its packets that were handed out pass a pipeline of their own. L is the longest total time of a
//! packet divided by its flow's weight, x the packets of a loop, n the flows, all backlogged.

use std::sync::atomic::{AtomicU32, Ordering};

use dovetail_sched::atfq::{Atfq, Extent};
use dovetail_sched::drfq::Window;
use dovetail_sched::{FlowConfig, FlowId, PerFlow, Shape, build};
use dovetail_testkit::no_wait::{Driver, NoWait};
use dovetail_testkit::operation::{Event, MAX_RESOURCES, Operation};
use dovetail_testkit::random::Random;
use dovetail_testkit::twins::Twins;
use dovetail_units::{ResourceVec, Weight};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const LONGEST: u64 = 100;
/// How often timestamps were lowered in the test of that.
static LOWERED: AtomicU32 = AtomicU32::new(0);

fn driver<const M: usize>(spec: &str) -> Driver<M> {
    Driver::new(build(&spec.parse().unwrap(), Shape { servers: M as u32 }).unwrap())
}

/// Times of one packet: any, or nothing but on one resource, or nothing at all.
fn any_cost<const M: usize>(random: &mut Random) -> ResourceVec<M> {
    let only = random.below(3 * M as u64) as usize;
    let nothing = random.below(20) == 0;
    ResourceVec::from_nanos(std::array::from_fn(|r| match (only < M && only != r) || nothing {
        true => 0,
        false => random.between(0, LONGEST),
    }))
}

/// What a flow has received: its active time beyond its first packet, divided by its weight.
struct Received<const M: usize> {
    alone: NoWait<M>,
    first: Option<u64>,
    weight: f64,
}

impl<const M: usize> Received<M> {
    fn new(weight: f64) -> Self {
        Self { alone: NoWait::default(), first: None, weight }
    }

    fn add(&mut self, cost: &ResourceVec<M>) {
        self.alone.start(cost);
        self.first.get_or_insert(self.alone.free_at(M - 1));
    }

    fn time(&self) -> f64 {
        (self.alone.free_at(M - 1) - self.first.unwrap_or(0)) as f64 / self.weight
    }
}

/// (x / n + 3) L, and 1 ns for each packet of a run, which is what free ones are charged. At the beginning of a loop every flow's next packet finishes
/// at most L after its first one does. A loop that spans S of active time by weight therefore has at least (S - L) / L packets of every flow, so
/// S <= (x / n + 1) L; inside it a flow may be ahead of another one by S and a packet of L; and first packets are free.
fn most_difference(x: usize, n: usize, longest: f64, packets: usize, least_weight: f64) -> f64 {
    (x as f64 / n as f64 + 3.0) * longest + packets as f64 / least_weight
}

fn differences<const M: usize>(x: usize, weights: &[u32], seed: u64) -> Result<(), String> {
    const PACKETS: usize = 300;
    let mut random = Random::new(seed);
    let mut driver = driver::<M>(&format!("atfq:loop={x}"));
    let mut queues: Vec<(FlowId, Vec<ResourceVec<M>>, Received<M>)> = Vec::new();
    for &weight in weights {
        let config = FlowConfig { weight: Weight::from_milli(weight * 1000).unwrap(), ..FlowConfig::default() };
        let flow = driver.scheduler.add_flow(config);
        queues.push((flow, Vec::new(), Received::new(f64::from(weight))));
    }
    for (flow, costs, _) in &mut queues {
        for payload in 0..PACKETS {
            let cost = any_cost(&mut random);
            costs.push(cost);
            driver.offer(*flow, cost, payload as u64);
        }
    }
    let least_weight = f64::from(*weights.iter().min().unwrap());
    let longest = M as f64 * LONGEST as f64 / least_weight;
    let allowed = most_difference(x, weights.len(), longest, PACKETS, least_weight);
    for _ in 0..PACKETS {
        let packet = driver.serve(|_, _, cost| cost).unwrap();
        let (_, costs, received) = &mut queues[packet.flow];
        received.add(&costs[packet.payload as usize]);
        let times = || queues.iter().map(|(_, _, received)| received.time());
        let difference = times().fold(0.0, f64::max) - times().fold(f64::INFINITY, f64::min);
        if difference > allowed {
            return Err(format!("{difference} > {allowed}"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn received_active_times_differ_by_a_bounded_amount(
        x in prop_oneof![Just(1usize), 2..40usize],
        weights in prop::collection::vec(1..5u32, 2..8),
        seed in any::<u64>(),
    ) {
        prop_assert_eq!(differences::<1>(x, &weights, seed), Ok(()));
        prop_assert_eq!(differences::<2>(x, &weights, seed), Ok(()));
        prop_assert_eq!(differences::<3>(x, &weights, seed), Ok(()));
    }

    fn same_when_lowered(
        bytes in prop::collection::vec(any::<u8>(), 0..3000),
        x in 1..6usize,
    ) {
        let window = Window::Packets(u32::MAX);
        let make = || Atfq::<2>::new(Extent::Packets(x), window);
        let subject = PerFlow::<2, u64, _>::new(make().rebasing_at(1 << 32));
        let mut both = Twins::new(subject, PerFlow::new(make()), ("loop", &["1", "5", "3", "0"]));
        both.tame = tame;
        prop_assert_eq!(both.run(&mut bytes.iter().copied()), Ok(()));
        LOWERED.fetch_add(both.subject.discipline().rebases(), Ordering::Relaxed);
    }
}

#[test]
fn lowering_all_timestamps_changes_nothing() {
    same_when_lowered();
    assert!(LOWERED.load(Ordering::Relaxed) > 100);
}

/// Timestamps of flows that are behind by more than half the span at which all are lowered fall together at zero. This is not seen as long as loops
/// (five packets of 60 us) are shorter than that (0.5 ms) and nothing is measured.
fn tame(operation: Operation) -> Operation {
    let tame_config =
        |config: FlowConfig<MAX_RESOURCES>| FlowConfig { weight: config.weight.max(Weight::ONE), ..config };
    match operation {
        Operation::AddFlow(config) => Operation::AddFlow(tame_config(config)),
        Operation::SetFlow(flow, config) => Operation::SetFlow(flow, tame_config(config)),
        Operation::Enqueue { flow, count, size, cost } => {
            Operation::Enqueue { flow, count, size, cost: cost.map(|time| time.min(30_000)) }
        }
        Operation::Progress { packet, resource, .. } => Operation::Progress { packet, resource, event: Event::Started },
        other => other,
    }
}

/// Flows 1 and 2 are backlogged; flow 0 comes when both have had much. Packets served before its first one.
fn wait_of_a_newcomer(spec: &str, newcomer: [u64; 2]) -> usize {
    let mut driver = driver::<2>(spec);
    let flows: Vec<FlowId> = (0..3).map(|_| driver.scheduler.add_flow(FlowConfig::default())).collect();
    for payload in 0..2000 {
        driver.offer(flows[1], ResourceVec::from_nanos([20, 10]), payload);
        driver.offer(flows[2], ResourceVec::from_nanos([10, 30]), payload);
    }
    for _ in 0..1003 {
        driver.serve(|_, _, cost| cost).unwrap();
    }
    driver.offer(flows[0], ResourceVec::from_nanos(newcomer), 0);
    (0..).find(|_| driver.serve(|_, _, cost| cost).unwrap().flow == 0).unwrap()
}

#[test]
fn a_newcomer_is_in_the_next_loop() {
    for x in [1, 5, 20, 100] {
        for newcomer in [[1, 1], [0, 0], [1_000_000, 1]] {
            // The rest of this loop, and its own.
            let before = wait_of_a_newcomer(&format!("atfq:loop={x}"), newcomer);
            assert!(before < 2 * x, "{before} packets before it in loops of {x}");
        }
    }
}

/// Flow 0 always has one packet and no more: the next comes when it is served. The others are backlogged. Packets of every flow among 1000.
fn one_at_a_time(spec: &str, kinds: &[[u64; 2]]) -> Vec<usize> {
    let mut driver = driver::<2>(spec);
    let flows: Vec<FlowId> = kinds.iter().map(|_| driver.scheduler.add_flow(FlowConfig::default())).collect();
    for (&flow, &kind) in flows.iter().zip(kinds) {
        (0..if flow.index() == 0 { 1 } else { 1000 })
            .for_each(|_| driver.offer(flow, ResourceVec::from_nanos(kind), 0));
    }
    let mut served = vec![0; kinds.len()];
    for _ in 0..1000 {
        let packet = driver.serve(|_, _, cost| cost).unwrap();
        served[packet.flow] += 1;
        if packet.flow == 0 {
            driver.offer(flows[0], ResourceVec::from_nanos(kinds[0]), 0);
        }
    }
    served
}

#[test]
fn a_flow_that_returns_with_every_packet_gains_nothing() {
    // Equation (1) alone would map each of its packets to what is being served: it would be served all the time.
    assert_eq!(one_at_a_time("atfq:loop=1", &[[3, 3], [3, 3]]), [500, 500]);
    let served = one_at_a_time("atfq:loop=20", &[[3, 3], [3, 3], [3, 3]]);
    assert!(served[0] <= 334 && served[1].abs_diff(served[2]) <= 1, "{served:?}");
}

#[test]
fn free_packets_starve_nobody() {
    let served = one_at_a_time("atfq:loop=1", &[[0, 0], [5, 5]]);
    // Free packets count 1 ns.
    assert!(served[1] >= 1000 / 6, "{served:?}");
}

/// Packets of each flow that have ended by `until`, all flows being backlogged: `takes` what they take, `says` what flow 0's packets are said to take.
fn delivered(spec: &str, takes: &[[u64; 2]], says: [u64; 2], until: u64) -> Vec<u64> {
    let mut driver = driver::<2>(spec);
    let said = |flow: usize| ResourceVec::from_nanos(if flow == 0 { says } else { takes[flow] });
    let flows: Vec<FlowId> = takes.iter().map(|_| driver.scheduler.add_flow(FlowConfig::default())).collect();
    for &flow in &flows {
        (0..30).for_each(|_| driver.offer(flow, said(flow.index()), 0));
    }
    let mut delivered = vec![0; takes.len()];
    loop {
        let packet = driver.serve(|flow, _, _| ResourceVec::from_nanos(takes[flow])).unwrap();
        if packet.end > until {
            return delivered;
        }
        delivered[packet.flow] += 1;
        driver.offer(flows[packet.flow], said(packet.flow), 0);
    }
}

/// Random flows of packets of one kind each, and what flow 0 inflates its times to.
fn flows_and_inflated(random: &mut Random) -> (Vec<[u64; 2]>, [u64; 2]) {
    let kinds: Vec<[u64; 2]> =
        (0..random.between(2, 4)).map(|_| [random.between(1, 6), random.between(1, 6)]).collect();
    let inflated = [kinds[0][0] + random.between(0, 2), kinds[0][1] + random.between(0, 2)];
    (kinds, inflated)
}

#[test]
fn strict_atfq_gives_no_more_packets_to_a_flow_that_inflates_its_packets() {
    let mut random = Random::new(5);
    for _ in 0..500 {
        let (honest, inflated) = flows_and_inflated(&mut random);
        let mut wasteful = honest.clone();
        wasteful[0] = inflated;
        let before = delivered("atfq:loop=1", &honest, honest[0], 1500)[0];
        let after = delivered("atfq:loop=1", &wasteful, inflated, 1500)[0];
        // The order repeats after a while; a part of a period may be lost or won at the end, and the first packet is free.
        assert!(after <= before + 3, "{honest:?} to {inflated:?}: {before} packets, then {after}");
    }
}

#[test]
fn no_flow_gets_more_active_time_than_others_by_lying() {
    // Whatever is said, what was taken is charged in the end. Two loops' and the pipeline's packets may not be corrected yet.
    let mut random = Random::new(6);
    for _ in 0..200 {
        let (takes, says) = flows_and_inflated(&mut random);
        for (x, spec) in [(1, "atfq:loop=1"), (6, "atfq:loop=6"), (20, "atfq:loop=20")] {
            for says in [says, [0, 0], [100, 0], [0, 100]] {
                let delivered = delivered(spec, &takes, says, 20_000);
                let active = |flow: usize| delivered[flow] * takes[flow][0].max(takes[flow][1]);
                let others = (1..takes.len()).map(active).max().unwrap();
                let wrong = 100 * (2 * x as u64 + 3);
                assert!(active(0) <= others + wrong, "{spec}, {takes:?}, said {says:?}: {delivered:?}");
            }
        }
    }
}

#[test]
fn counterexample_of_a_loop() {
    // A of <3,4> beside B of <1,1>, loops of four packets: with packets of <4,4> it has more of them
    // through; so has B.
    let honest = delivered("atfq:loop=4", &[[3, 4], [1, 1]], [3, 4], 1500);
    let wasteful = delivered("atfq:loop=4", &[[4, 4], [1, 1]], [4, 4], 1500);
    assert_eq!((honest, wasteful), (vec![150, 599], vec![158, 630]));
}

#[test]
fn counterexample_of_strict_order() {
    // A of <2,1>, B of <1,1>, C of <1,2>, one packet a loop: A says <3,3> and takes what it took. All gain.
    let kinds = [[2, 1], [1, 1], [1, 2]];
    let honest = delivered("atfq:loop=1", &kinds, kinds[0], 1500);
    let lying = delivered("atfq:loop=1", &kinds, [3, 3], 1500);
    assert_eq!((honest, lying), (vec![250, 499, 250], vec![299, 599, 300]));
}
