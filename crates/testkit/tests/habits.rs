//! Whatever a scheduler's owner does that the contract allows, the scheduler conforms.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dovetail_sched::catalog::Parameter;
use dovetail_sched::{FlowConfig, Next, Packet, Progress, Scheduler, Shape, build_all};
use dovetail_testkit::conformance::specs;
use dovetail_testkit::habits::{Habit, Owned};
use dovetail_testkit::model::Model;
use dovetail_testkit::operation::Operation;
use dovetail_testkit::random::Random;
use dovetail_testkit::twins::Twins;
use dovetail_units::{Duration, ResourceVec, Time};

const COMPOSITIONS: [&str; 5] =
    ["drr+drr", "wfq+wfq", "fifo+fifo:full=hold,buffer=2", "sfq+scfq:full=hold,buffer=1", "wf2q++drr"];

const SETTING: (&str, &[&str]) = ("quantum", &["5 us"]);

fn made(spec: &str) -> Box<dyn Scheduler<2, u32>> {
    build_all(&spec.parse().unwrap(), Shape::default()).unwrap().entrance.scheduler
}

/// Every spec of the suite and compositions, each with random bytes.
fn all() -> impl Iterator<Item = (&'static str, Random)> {
    let pairs = specs().chain(COMPOSITIONS).flat_map(|spec| (0..6).map(move |seed| (spec, seed)));
    pairs.map(|(spec, seed)| (spec, Random::new(seed)))
}

#[test]
fn a_report_repeated_changes_nothing() {
    for (spec, random) in all() {
        let [subject, oracle] = [Habit::RepeatsReports, Habit::None].map(|habit| Owned::new(made(spec), habit));
        let mut twins = Twins::new(subject, oracle, SETTING);
        assert_eq!(twins.run(&mut random.take(12_000)), Ok(()), "{spec}");
    }
}

#[test]
fn a_report_of_a_resource_that_is_not_there_changes_nothing() {
    for spec in specs().chain(COMPOSITIONS) {
        let mut scheduler = made(spec);
        let flow = scheduler.add_flow(FlowConfig::default());
        let cost = ResourceVec::from_nanos([1_000, 2_000]);
        scheduler.enqueue(Time::ZERO, Packet { flow, size: 100, cost, payload: 7 }).unwrap();
        let Next::Serve(served) = scheduler.next(Time::ZERO) else { panic!("{spec} serves nothing") };
        for resource in [2, 3, usize::MAX / 2, usize::MAX] {
            for event in [Progress::Started, Progress::Finished { used: Duration::from_nanos(9) }, Progress::Abandoned]
            {
                let mut ticket = served.ticket;
                scheduler.progress(Time::ZERO, &mut ticket, resource, event);
                assert_eq!(ticket, served.ticket, "{spec}, resource {resource}");
            }
        }
    }
}

/// As where a request is cancelled too late: it is not counted out twice.
#[test]
fn a_report_after_the_end_changes_nothing() {
    for spec in specs().chain(["drfq:window=1", "atfq:window=1"]) {
        let mut scheduler = made(spec);
        let flow = scheduler.add_flow(FlowConfig::default());
        let cost = ResourceVec::from_nanos([1_000, 2_000]);
        scheduler.enqueue(Time::ZERO, Packet { flow, size: 100, cost, payload: 7 }).unwrap();
        let Next::Serve(mut served) = scheduler.next(Time::ZERO) else { panic!("{spec} serves nothing") };
        scheduler.progress(Time::ZERO, &mut served.ticket, 1, Progress::Finished { used: cost[1] });
        let mut ticket = served.ticket;
        scheduler.progress(Time::ZERO, &mut ticket, 1, Progress::Abandoned);
        assert_eq!(ticket, served.ticket, "{spec}");
    }
}

#[test]
fn packets_that_need_nothing_bypass_the_first_resource_in_their_flows_order() {
    const NONE: &[Parameter] = &[];
    for (spec, random) in all() {
        let owned = Owned::<2>::new(made(spec), Habit::AsksForBypass);
        let bypassed = Arc::clone(&owned.bypassed);
        let mut model = Model::new(Box::new(owned), NONE);
        let mut bytes = random.take(12_000);
        while let Some(operation) = Operation::read(&mut bytes) {
            assert_eq!(model.apply(half_without_processing(operation)), Ok(()), "{spec}, {operation:?}");
        }
        assert_eq!(model.drain(), Ok(()), "{spec}");
        let bypassed = bypassed.load(Ordering::Relaxed);
        assert!(bypassed > 50, "{spec}: only {bypassed} packets bypass");
    }
}

/// Every second packet needs nothing on the first resource.
fn half_without_processing(operation: Operation) -> Operation {
    match operation {
        Operation::Enqueue { flow, count, size, cost: [first, rest @ ..] } => {
            let [b, c, d] = rest;
            let first = if size / 6 % 2 == 0 { 0 } else { first };
            Operation::Enqueue { flow, count, size, cost: [first, b, c, d] }
        }
        other => other,
    }
}
