//! What a worker is asked is done or refused, and seen in the next snapshot.

use std::thread;

use dovetail_dataplane::control::Desk;
use dovetail_dataplane::control::protocol::{Answer, Request};
use dovetail_units::{Duration, Time};

use crate::support::{
    CONFIG, Running, alpha, between_ports, budget, middlebox, put, queue, rate, set, settings, weight, with_traffic,
};

#[test]
fn changes_are_seen_in_the_next_snapshot() {
    let running = Running::start(|| with_traffic(0));
    assert_eq!(running.change(set("alpha", "0.5")), "alpha=0.5");
    assert_eq!(running.change(weight("dear", "2.5")), "weight of dear=2.5");
    assert_eq!(running.change(budget("40 %")), "budget=40 %");
    assert_eq!(running.change(rate("10 Mbps")), "rate=10 Mbps");
    let expected = ("tradeoff:alpha=0.5".to_string(), vec![2.5, 1.0], [Some(0.4), Some(1e7)]);
    assert_eq!(settings(&running.snapshot()), expected);
    assert_eq!(running.change(alpha("cheap", "0.7")), "alpha of cheap=0.7");
    let alphas = || running.snapshot().classes.iter().map(|class| class.alpha).collect::<Vec<_>>();
    assert_eq!(alphas(), [None, Some(0.7)]);
    assert_eq!(running.change(alpha("cheap", "none")), "alpha of cheap=none");
    assert_eq!(alphas(), [None, None]);
    running.change(rate("unlimited"));
    assert_eq!(running.snapshot().resources["link"].capacity, None);
}

#[test]
fn a_queue_limit_changes_for_flows_that_exist_and_those_to_come() {
    let (mut desk, counter) = Desk::open();
    let mut live = between_ports(with_traffic(0));
    assert_eq!(live.middlebox.drops().total(), 1, "the fourth finds no room in a queue of two");
    let asking = thread::spawn(move || counter.ask(queue("dear", "unlimited")));
    let mut now = Time::from_nanos(1_000_060_000);
    while !asking.is_finished() {
        now += Duration::from_nanos(1);
        desk.answer(now, &mut live);
    }
    assert!(matches!(asking.join().unwrap(), Answer::Done(_)));
    (0..9).for_each(|_| put(&mut live.middlebox, now, 5000));
    assert_eq!(live.middlebox.drops().total(), 1);
}

#[test]
fn a_wrong_request_names_the_nearest_and_changes_nothing() {
    let running = Running::start(|| with_traffic(0));
    let before = settings(&running.snapshot());
    running.refuses(set("alhpa", "0.5"), "did you mean \"alpha\"?");
    running.refuses(set("alpha", "1.5"), "alpha=1.5: expected");
    running.refuses(weight("daer", "2"), "there is no class \"daer\"; did you mean \"dear\"?");
    running.refuses(weight("dear", "-1"), "-1");
    running.refuses(weight("dear", "heavy"), "heavy");
    running.refuses(alpha("daer", "0.5"), "there is no class \"daer\"; did you mean \"dear\"?");
    running.refuses(alpha("dear", "1.5"), "\"1.5\": it is out of range; expected 0 or a number from 0.001 to 1");
    running.refuses(alpha("dear", "off"), "or none for what all are guaranteed");
    running.refuses(queue("dear", "many"), "expected \"unlimited\", \"200 packets\"");
    running.refuses(queue("cheep", "unlimited"), "did you mean \"cheap\"?");
    running.refuses(budget("120 %"), "up to \"100 %\"");
    running.refuses(budget("0 %"), "above 0");
    running.refuses(rate("40"), "40");
    running.refuses(rate("0 Mbps"), "0 Mbps");
    assert_eq!(settings(&running.snapshot()), before);
}

#[test]
fn a_scheduler_without_an_alpha_takes_none_of_a_class() {
    let running = Running::start(|| middlebox(&CONFIG.replace("tradeoff:alpha=0.85", "drfq")));
    running.refuses(alpha("dear", "0.7"), "drfq guarantees no parts of fair shares; tradeoff does");
}

#[test]
fn a_parameter_of_a_composition_changes_in_the_parts_that_have_it() {
    let running = Running::start(|| middlebox(&CONFIG.replace("tradeoff:alpha=0.85", "drr+sfq")));
    running.change(set("quantum", "120 us"));
    running.refuses(set("quantun", "120 us"), "did you mean \"quantum\"?");
    running.refuses(set("quantum", "-3 us"), "quantum");
}

#[test]
fn of_many_flows_those_come_first_of_which_most_waits() {
    let running = Running::start(|| with_traffic(200));
    let flows = |flows| match running.counter.ask(Request::Snapshot { flows }) {
        Answer::Snapshot(snapshot) => {
            assert_eq!(snapshot.classes.iter().map(|class| class.flows).sum::<u64>(), 201);
            snapshot.flows
        }
        other => panic!("{other:?}"),
    };
    assert!(flows(0).is_empty());
    assert_eq!(flows(20).len(), 20);
    assert_eq!(flows(usize::MAX).len(), 201);
    let first = flows(1);
    assert_eq!((first[0].class.as_str(), first[0].queued), ("dear", 2));
}

#[test]
fn after_the_worker_has_ended_clients_hear_so() {
    let counter = Running::start(|| middlebox(CONFIG)).counter.clone();
    let Answer::Unavailable(message) = counter.ask(Request::Stop {}) else { panic!() };
    assert!(message.contains("the box ends"), "{message}");
}
