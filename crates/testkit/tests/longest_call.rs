//! No call does work in proportion to the number of flows or packets. Steps are counted ([`dovetail_sched::steps`]) for
//! the whole program, so this file has one test that runs at a time.

use std::sync::{Mutex, PoisonError};

use dovetail_sched::steps::taken;
use dovetail_sched::{FlowConfig, Next, Packet, Progress, Scheduler, Shape, build, catalog};
use dovetail_testkit::calls::{Meter, Workload, run};
use dovetail_testkit::conformance::specs;
use dovetail_units::{Duration, ResourceVec, Time, Weight};

/// Steps that one call may take.
///
/// A step is a level of a heap, or a record of a flow or a packet that is looked at. A 4-ary heap of 10^6 flows has 10
/// levels, so that to change a key takes up to 20 steps and a look at the flow's record. A call moves a flow in some 4
/// heaps at most (waiting, eligible, in the fluid, by class), which is 100 steps, and handles a bounded number of
/// events of what runs in the background, or gathers a loop of 20 or 40 packets, or passes 256 turns of up to eight
/// looks each: twenty times that at most.
const MOST: u64 = 2100;

/// Steps that one call of this discipline may take. Who asks for loops of 1000 packets instead of 20 gets them.
fn allowed(spec: &str) -> u64 {
    if spec == "atfq:loop=1000" { 25 * MOST } else { MOST }
}

/// One at a time.
static COUNTING: Mutex<()> = Mutex::new(());

/// The longest call of each workload.
#[derive(Default)]
struct Longest {
    from: u64,
    steps: [u64; Workload::ALL.len()],
}

impl Meter for Longest {
    fn begin(&mut self) {
        self.from = taken();
    }

    fn end(&mut self, workload: Workload) {
        let longest = &mut self.steps[workload as usize];
        *longest = (*longest).max(taken() - self.from);
    }
}

/// The table of the longest calls; fails if one is longer than allowed.
fn table(flows: usize, turns: usize) {
    if !cfg!(debug_assertions) {
        println!("steps are counted with debug assertions only");
        return;
    }
    let _alone = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    println!("\nsteps of the longest call with {flows} flows:\n");
    println!("{:<20}{}", "", Workload::ALL.map(|w| format!("{:>14}", w.name())).concat());
    let mut above = Vec::new();
    let mut tell = |spec: &str, longest: Longest| {
        println!("{spec:<20}{}", longest.steps.map(|steps| format!("{steps:>14}")).concat());
        let long = Workload::ALL.iter().zip(longest.steps).filter(|(_, steps)| *steps > MOST);
        above.extend(long.map(|(workload, steps)| format!("{spec}, {}: {steps} steps", workload.name())));
    };
    for spec in catalog().iter().map(|e| e.name).chain([
        "drgps:order=start",
        "tradeoff:alpha=1",
        "cbcs:quantum=1 us",
        "fq_codel:quantum=1 B",
    ]) {
        let mut longest = Longest::default();
        run::<2>(spec, flows, turns, &mut longest).unwrap();
        tell(spec, longest);
    }
    // The only one that is another with more resources.
    let (mut three, mut four) = (Longest::default(), Longest::default());
    run::<3>("tradeoff", flows, turns, &mut three).unwrap();
    tell("tradeoff, of three", three);
    run::<4>("tradeoff", flows, turns, &mut four).unwrap();
    tell("tradeoff, of four", four);
    assert!(above.is_empty(), "more than {MOST} steps in one call with {flows} flows:\n{}", above.join("\n"));
}

/// Steps of the longest call after a packet took `debt` longer than estimated: its flow's weight changes, its next
/// packet comes, and it is served.
fn steps_in_debt(spec: &str, debt: Duration) -> u64 {
    let config = |milli| FlowConfig { weight: Weight::from_milli(milli).unwrap(), ..FlowConfig::default() };
    let mut longest = 0;
    for (before, after) in [(1_000_000_000, 1), (1, 1_000_000_000), (1_000, 4_000), (520, 1_000_000), (1_000, 1)] {
        let mut scheduler: Box<dyn Scheduler<2, u32>> = build(&spec.parse().unwrap(), Shape::default()).unwrap();
        let mut now = Time::ZERO;
        let flow = scheduler.add_flow(config(before));
        for payload in 0..3 {
            let packet = Packet { flow, size: 1, cost: ResourceVec::from_nanos([1_000; 2]), payload };
            scheduler.enqueue(now, packet).unwrap();
        }
        for _ in 0..40 {
            let from = taken();
            let next = scheduler.next(now);
            longest = longest.max(taken() - from);
            match next {
                Next::Serve(mut packet) => {
                    now += debt;
                    let from = taken();
                    (0..2).for_each(|r| {
                        scheduler.progress(now, &mut packet.ticket, r, Progress::Finished { used: debt })
                    });
                    scheduler.set_flow(now, flow, config(after)).unwrap();
                    longest = longest.max(taken() - from);
                }
                Next::At(time) => now = time,
                Next::Drop { .. } => (),
                Next::AwaitProgress | Next::Empty => break,
            }
        }
        assert_eq!(scheduler.stats().queued, 0, "{spec} leaves packets after a debt of {debt}");
    }
    longest
}

#[test]
fn a_flow_in_debt_whose_weight_changes_keeps_nobody() {
    let _alone = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    // Briefly first: where work follows the debt, the longer ones would take for ever.
    for millis in [1, 1_000, 15 * 60_000] {
        let debt = Duration::from_millis(millis);
        let long: Vec<_> =
            specs().map(|spec| (spec, steps_in_debt(spec, debt))).filter(|(_, steps)| *steps > MOST).collect();
        assert!(long.is_empty(), "steps of one call after a packet took {debt} instead of 1 us: {long:?}");
    }
}

/// Steps of the longest call when many flows learn at once that a packet took much longer than estimated, after one of
/// them has had its next turn.
fn steps_with_many_in_debt(spec: &str, debt: Duration) -> u64 {
    let mut scheduler: Box<dyn Scheduler<2, u32>> = build(&spec.parse().unwrap(), Shape::default()).unwrap();
    let (mut now, mut longest) = (Time::ZERO, 0);
    let (mut begun, mut inside, mut finish) = (Vec::new(), Vec::new(), false);
    for _ in 0..5_000 {
        let flow = scheduler.add_flow(FlowConfig::default());
        for payload in 0..3 {
            let packet = Packet { flow, size: 1, cost: ResourceVec::from_nanos([1_000; 2]), payload };
            scheduler.enqueue(now, packet).unwrap();
        }
    }
    loop {
        let from = taken();
        let next = scheduler.next(now);
        longest = longest.max(taken() - from);
        match next {
            Next::Serve(packet) => begun.push(packet),
            Next::At(time) => now = now.max(time),
            Next::Drop { .. } => (),
            Next::AwaitProgress | Next::Empty if begun.is_empty() && inside.is_empty() => return longest,
            Next::AwaitProgress | Next::Empty => {
                for packet in &mut begun {
                    (0..2).for_each(|r| scheduler.progress(now, &mut packet.ticket, r, Progress::Started));
                }
                finish = begun.is_empty();
                inside.append(&mut begun);
            }
        }
        if finish || begun.len() == 1 {
            finish = false;
            now += debt;
            for mut packet in inside.drain(..) {
                (0..2).for_each(|r| scheduler.progress(now, &mut packet.ticket, r, Progress::Finished { used: debt }));
            }
        }
    }
}

#[test]
fn many_flows_in_debt_keep_nobody() {
    let _alone = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let debt = Duration::from_millis(1);
    let steps = specs().map(|spec| (spec, steps_with_many_in_debt(spec, debt)));
    let long: Vec<_> = steps.filter(|&(spec, steps)| steps > allowed(spec)).collect();
    assert!(long.is_empty(), "steps of one call after a packet of each flow took {debt} instead of 1 us: {long:?}");
}

#[test]
fn no_call_takes_steps_in_proportion_to_flows() {
    table(100_000, 20_000);
}

#[test]
#[ignore = "minutes; `make search` runs it"]
fn nor_with_a_million_flows() {
    table(1_000_000, 200_000);
}
