//! What cannot be run is refused with a message; a run can be stopped.

use std::sync::atomic::AtomicBool;

use crate::common::{Script, at, fifo, listed, ns, pipeline, record, simulate};
use dovetail_sched::Scheduler;
use dovetail_sim::{
    Arrival, Change, Cost, End, Flow, Generator, List, Options, Outcome, Pattern, SimError, Size, Source, Spell,
    TimeScale, Workload,
};
use dovetail_units::{Duration, PacketRate};

fn attempt(workload: &Workload<1>, scheduler: &mut dyn Scheduler<1, u32>) -> Result<Outcome, SimError> {
    simulate(workload, &pipeline(), scheduler, &mut (), Options::default())
}

/// The message about a workload of one flow with a free resource and this source.
fn refusal(source: Source<1>) -> String {
    let flow = Flow::new("web", [Cost::Linear("0 us".parse().unwrap())]);
    let workload = Workload { flows: vec![flow], sources: vec![source] };
    attempt(&workload, &mut *fifo()).unwrap_err().to_string()
}

fn rate() -> PacketRate {
    "10 pps".parse().unwrap()
}

fn generator(size: Size) -> Generator {
    Generator { packets: Some(1), ..Generator::new(0, Pattern::Constant(rate()), size) }
}

fn list(arrivals: &[(u64, u32, u32)]) -> List<1> {
    let arrival = |&(time, flow, size): &(u64, u32, u32)| Arrival { time: at(time), flow, size };
    List::new(arrivals.iter().map(arrival).collect::<Vec<_>>())
}

#[test]
fn messages_name_the_source_what_is_wrong_and_what_was_expected() {
    let endless = Generator { packets: None, ..generator(Size::Fixed(1)) };
    let disordered = Pattern::Jittered { rate: rate(), jitter: ns(100_000_001) };
    let never_on = Pattern::OnOff { rate: rate(), on: Spell::Fixed(ns(0)), off: Spell::Fixed(ns(1)) };
    let sources = [
        (Source::Generator(generator(Size::Fixed(0))), "at least 1 byte"),
        (Source::Generator(generator(Size::Uniform { min: 9, max: 8 })), "min <= max"),
        (Source::Generator(generator(Size::Mix(vec![(100, 0)]))), "packet lengths"),
        (Source::Generator(Generator { flow: 1, ..generator(Size::Fixed(1)) }), "flow 1; there are 1"),
        (Source::Generator(endless), "never ends"),
        (Source::Generator(Generator { pattern: disordered, ..generator(Size::Fixed(1)) }), "at most 100 ms"),
        (Source::Generator(Generator { pattern: never_on, ..generator(Size::Fixed(1)) }), "never on"),
        (Source::List(list(&[(0, 0, 0)])), "packet 0 has length zero"),
        (Source::List(list(&[(5, 0, 1), (4, 0, 1)])), "packet 1 comes at 4 ns, before the one ahead of it (5 ns)"),
        (Source::List(list(&[(0, 7, 1)])), "packet 0 is of flow 7; there are 1"),
        (Source::List(List { costs: Some([].into()), ..list(&[(0, 0, 1)]) }), "1 packets with 0 costs"),
        (Source::List(List { scale: TimeScale { numerator: 1, denominator: 0 }, ..list(&[]) }), "1/0"),
    ];
    for (source, expected) in sources {
        let message = refusal(source);
        assert!(message.starts_with("source 0: ") && message.contains(expected), "{message}");
    }
}

#[test]
fn costs_per_packet_need_a_list_with_costs() {
    let flows = vec![Flow::new("ipsec", [Cost::PerPacket])];
    for source in [Source::Generator(generator(Size::Fixed(1))), Source::List(list(&[(0, 0, 1)]))] {
        let workload = Workload { flows: flows.clone(), sources: vec![source] };
        let message = attempt(&workload, &mut *fifo()).unwrap_err().to_string();
        assert!(message.contains("\"ipsec\" has costs per packet"), "{message}");
    }
}

#[test]
fn a_resource_has_servers() {
    let mut none = pipeline::<1>();
    none.resources[0].servers = 0;
    let error = simulate(&listed::<1>(&[]), &none, &mut *fifo(), &mut (), Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "resource \"r\": 0 servers; expected 1 to 65536");
}

#[test]
fn a_scheduler_that_waits_for_nothing_is_an_error_not_a_hang() {
    let error = attempt(&listed(&[(3, 0, [5])]), &mut Script::<1>::new([])).unwrap_err();
    assert_eq!(error, SimError::Stalled { at: at(3), waiting: 1, answer: "\"wait for progress\"" });
}

#[test]
fn a_refused_parameter_is_an_error_with_its_instant() {
    let changes = vec![Change { at: at(2), parameter: "alpha".into(), value: "1".into() }];
    let options = Options { changes, ..Options::default() };
    let workload = listed::<1>(&[(0, 0, [5])]);
    let error = simulate(&workload, &pipeline(), &mut *fifo(), &mut (), options).unwrap_err();
    assert!(error.to_string().starts_with("parameter change at 2 ns: fifo has no parameters"), "{error}");
}

#[test]
fn time_ends_after_584_years() {
    let error = attempt(&listed(&[(9, 0, [u64::MAX])]), &mut *fifo()).unwrap_err();
    assert_eq!(error, SimError::TooLong { flow: 0, at: at(9) });
    assert!(matches!(attempt(&listed(&[(u64::MAX, 0, [0])]), &mut *fifo()), Err(SimError::TooLong { .. })));
}

#[test]
fn a_run_of_centuries_ends_without_filling_the_memory() {
    // One packet of 300 years: its series has the first ten million seconds; its totals are complete.
    let century = 100 * 365 * 86_400 * 1_000_000_000u64;
    let workload = listed(&[(0, 0, [3 * century]), (5 * century, 0, [1])]);
    let metrics = dovetail_sim::MetricsOptions { rows: 1000, ..Default::default() };
    let result = dovetail_sim::run(&workload, &pipeline(), &mut *fifo(), metrics, Options::default()).unwrap();
    assert!(result.series.truncated);
    assert_eq!(result.series.intervals.len(), 1000);
    assert_eq!((result.nonempty, result.resources[0].busy), (ns(3 * century + 1), ns(3 * century + 1)));
    assert_eq!(result.resources[0].utilization, 1.0);
}

#[test]
fn a_cancelled_run_keeps_what_it_has() {
    let packets: Vec<_> = (0..100_000).map(|k| (k, 0, [1])).collect();
    let cancel = AtomicBool::new(true);
    let mut reports = 0;
    let mut progress = |_: &_| reports += 1;
    let options = Options { cancel: Some(&cancel), progress: Some(&mut progress), ..Options::default() };
    let (result, _) = record(&listed(&packets), &pipeline(), &mut *fifo(), Duration::from_secs(1), options);
    let tally = result.outcome.tally;
    assert_eq!((result.outcome.end, reports), (End::Cancelled, 0));
    assert!(tally.delivered > 0 && tally.offered < 100_000);
    assert_eq!(tally.offered, tally.delivered + tally.in_pipeline);
    assert_eq!(result.latencies.of_flow(0).summary().unwrap().max, 1e-9);
}

#[test]
fn progress_is_reported_now_and_then() {
    let packets: Vec<_> = (0..100_000).map(|k| (k, 0, [1])).collect();
    let mut seen = Vec::new();
    let mut progress = |tally: &dovetail_sim::Tally| seen.push(tally.delivered);
    let options = Options { progress: Some(&mut progress), ..Options::default() };
    simulate(&listed(&packets), &pipeline::<1>(), &mut *fifo(), &mut (), options).unwrap();
    assert!(seen.len() >= 10 && seen.is_sorted(), "{seen:?}");
}

#[test]
fn nothing_to_do_is_a_run_too() {
    let result = attempt(&Workload { flows: Vec::new(), sources: Vec::new() }, &mut *fifo()).unwrap();
    assert_eq!((result.end, result.tally.offered, result.makespan()), (End::Drained, 0, None));
}
