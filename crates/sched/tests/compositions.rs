//! How compositions are written.

use dovetail_sched::composition::{PARAMETERS, parameters, same};
use dovetail_sched::{FlowConfig, Next, Packet, Progress, Schedulers, Shape, SpecError, build_all};
use dovetail_units::{Duration, ResourceVec, Time};

fn made<const M: usize>(spec: &str) -> Result<Schedulers<M, u32>, SpecError> {
    build_all(&spec.parse()?, Shape { servers: M as u32 })
}

fn refusal(spec: &str) -> SpecError {
    made::<2>(spec).err().unwrap()
}

fn names<const M: usize>(schedulers: &Schedulers<M, u32>) -> Vec<&'static str> {
    let further = schedulers.between.iter().flatten().map(|part| part.entry.name);
    std::iter::once(schedulers.entrance.entry.name).chain(further).collect()
}

#[test]
fn one_discipline_stands_in_front_of_each_resource() {
    assert_eq!(names(&made::<2>("drr+wf2q+").unwrap()), ["drr", "wf2q+"]);
    assert_eq!(names(&made::<3>("wf2q++fifo+sfq").unwrap()), ["wf2q+", "fifo", "sfq"]);
    assert!(made::<3>("wf2q++fifo+sfq").unwrap().between[0].is_none());
    let plain = made::<2>("drfq:window=3").unwrap();
    assert_eq!((names(&plain), plain.buffer.packets), (vec!["drfq"], None));
}

#[test]
fn the_buffer_is_64_packets_of_each_flow_unless_said_otherwise() {
    for (spec, packets) in
        [("drr+drr", Some(64)), ("drr+drr:buffer=1", Some(1)), ("sfq+sfq:full=hold,buffer=none", None)]
    {
        assert_eq!(made::<2>(spec).unwrap().buffer.packets, packets, "{spec}");
    }
}

/// Of 100 packets of a flow, how many the first resource is given if the next one begins with none.
fn given_to_the_first(spec: &str) -> usize {
    let mut entrance = made::<2>(spec).unwrap().entrance.scheduler;
    let flow = entrance.add_flow(FlowConfig::default());
    let used = Duration::from_micros(1);
    for payload in 0..100 {
        let packet = Packet { flow, size: 100, cost: ResourceVec([used; 2]), payload };
        assert_eq!(entrance.enqueue(Time::ZERO, packet), Ok(()));
    }
    let mut given = 0;
    while let Next::Serve(mut served) = entrance.next(Time::ZERO) {
        entrance.progress(Time::ZERO, &mut served.ticket, 0, Progress::Started);
        entrance.progress(Time::ZERO, &mut served.ticket, 0, Progress::Finished { used });
        given += 1;
    }
    given
}

#[test]
fn a_default_that_is_written_changes_nothing() {
    assert_eq!([given_to_the_first("drr+drr"), given_to_the_first("drr+drr:full=hold")], [100, 64]);
    let [buffer, full] = PARAMETERS.map(|p| format!("{}={}", p.name, p.default));
    for (plain, written) in [
        ("drr+drr", format!("drr+drr:{buffer}")),
        ("drr+drr", format!("drr+drr:{full}")),
        ("drr+drr:full=hold", format!("drr+drr:full=hold,{buffer}")),
    ] {
        assert_eq!(given_to_the_first(plain), given_to_the_first(&written), "{written}");
        let [plain, with] = [plain, &written].map(|spec| made::<2>(spec).unwrap().buffer);
        assert_eq!(plain, with, "{written}");
    }
}

#[test]
fn queue_management_is_said_to_be_for_networks_and_boxes() {
    for name in ["red", "drq", "drq+red", "drr+red"] {
        let error = made::<2>(name).err().unwrap();
        assert!(error.to_string().contains("networks (scenarios with a [[hop]]) and live boxes"), "{error}");
    }
}

#[test]
fn messages_name_what_is_wrong_and_what_would_be_right() {
    for (spec, wrong, known, message) in [
        ("drr+drrr", "drrr", "drr", "there is no scheduler \"drrr\""),
        ("wfqq+drr", "wfqq", "wfq", "there is no scheduler \"wfqq\""),
        ("drr+drfk", "drfk", "drr", "part of a composition can be fifo, drr, "),
        ("drr+drr:bufer=3", "bufer", "buffer", "it has buffer, full, quantum"),
        ("sfq+sfq:quantum=1 us", "quantum", "full", "it has buffer, full"),
    ] {
        let error = refusal(spec);
        assert_eq!(error.wrong(), wrong, "{spec}");
        assert!(error.known().contains(&known), "{spec}: {:?}", error.known());
        assert!(error.to_string().contains(message), "{spec}: {error}");
    }
    for (spec, message) in [
        ("drr+drr+drr", "has a discipline for each of 3 resources; this pipeline has 2"),
        ("drr+", "a scheduler's name is missing after the last plus sign"),
        ("+drr", "missing before the first plus sign"),
        ("+", "missing before the first plus sign"),
        ("drr++wfq", "missing between the plus signs after \"drr\""),
        ("wf2q+++drr", "missing between the plus signs after \"wf2q"),
        ("drr+drfq", "drfq decides for all resources of a pipeline"),
        ("bf+drr", "bf decides for all resources of a pipeline"),
        ("drr+drr:resource=0", "resource is implied"),
        ("drr+drr:buffer=0", "packets from 1"),
        ("drr+drr:buffer=x", "packets from 1"),
        ("drr+drr:full=wait", "drop or hold"),
        ("drr+wfq:quantum=0 s", "a time above 0 s"),
    ] {
        assert!(refusal(spec).to_string().contains(message), "{spec}: {}", refusal(spec));
    }
}

#[test]
fn parameters_are_those_of_the_parts_without_the_resource() {
    let of = |name| parameters(name).map(|all| all.iter().map(|p| p.name).collect::<Vec<_>>());
    assert_eq!(of("drr+drr"), Some(vec!["buffer", "full", "quantum", "charge"]));
    assert_eq!(of("sfq+wfq"), Some(vec!["buffer", "full", "charge", "newcomers"]));
    assert_eq!(of("fifo+sfq"), Some(vec!["buffer", "full", "charge", "newcomers"]));
    assert_eq!(of("sfq"), Some(vec!["resource", "charge", "newcomers"]));
    assert_eq!(of("drr+drfq"), None);
}

#[test]
fn a_change_reaches_every_part_that_has_the_parameter() {
    for spec in ["drr+drr", "sfq+drr", "drr+sfq", "drr+drr:full=hold"] {
        let mut schedulers = made::<2>(spec).unwrap();
        assert!(schedulers.set(Time::ZERO, "quantum", "3 us").is_ok(), "{spec}");
        assert!(schedulers.set(Time::ZERO, "quantum", "?").is_err(), "{spec}");
        for name in ["buffer", "full", "resource", ""] {
            assert!(schedulers.set(Time::ZERO, name, "1").is_err(), "{spec}: {name}");
        }
        for (name, value) in [("buffer", "16"), ("full", "drop")] {
            let error = schedulers.set(Time::ZERO, name, value).unwrap_err().to_string();
            assert_eq!(error, format!("{name} of a composition cannot change while running"), "{spec}");
        }
    }
}

#[test]
fn schedulers_are_the_same_that_are_written_alike_but_for_defaults_and_order() {
    let same = |a: &str, b: &str| same(&a.parse().unwrap(), &b.parse().unwrap());
    for (a, b) in [
        ("drfq", "drfq"),
        ("drfq", "drfq:mode=memoryless"),
        ("tradeoff:alpha=0.85", "tradeoff"),
        ("drr+drr:buffer=64,quantum=2 ms,full=drop", "drr + drr:quantum=2 ms,charge=measured"),
        ("atfq:domain=1 s,gamma=3,window=8", "atfq:window=8,domain=1 s,gamma=3"),
    ] {
        assert!(same(a, b) && same(b, a), "{a} and {b}");
    }
    for (a, b) in [
        ("drr", "wfq"),
        ("drr", "drr+drr"),
        ("tradeoff", "tradeoff:alpha=0.9"),
        ("pcfq", "pcfq:clock=paper"),
        // Values are texts.
        ("tradeoff", "tradeoff:alpha=0.850"),
    ] {
        assert!(!same(a, b) && !same(b, a), "{a} and {b}");
    }
}
