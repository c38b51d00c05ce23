//! Service orders of the round robins `mr3` and `gmr3` that a person can check with a pencil, and what their turns wait
//! for.

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler, Shape, Ticket, build};
use dovetail_units::{Duration, ResourceVec, Time, Weight};

/// A flow that is always backlogged: weight in thousandths, estimated times in ns, and the factor by which they turn
/// out longer.
#[derive(Clone, Copy)]
struct Given {
    weight: u32,
    cost: [u64; 2],
    takes: u64,
}

const fn flow(weight: u32, cost: [u64; 2]) -> Given {
    Given { weight, cost, takes: 1 }
}

type Boxed = Box<dyn Scheduler<2, u32>>;

fn scheduler(spec: &str, flows: &[Given], packets: usize) -> (Boxed, Vec<FlowId>) {
    let mut scheduler: Boxed = build(&spec.parse().unwrap(), Shape::default()).unwrap();
    let mut ids = Vec::new();
    for (number, given) in flows.iter().enumerate() {
        let weight = Weight::from_milli(given.weight).unwrap();
        let id = scheduler.add_flow(FlowConfig { weight, ..FlowConfig::default() });
        ids.push(id);
        for _ in 0..packets {
            offer(&mut scheduler, id, number, given.cost);
        }
    }
    (scheduler, ids)
}

fn offer(scheduler: &mut Boxed, flow: FlowId, number: usize, cost: [u64; 2]) {
    let packet = Packet { flow, size: 100, cost: ResourceVec::from_nanos(cost), payload: number as u32 };
    scheduler.enqueue(Time::ZERO, packet).unwrap();
}

/// The flows A, B, C ... in the order of service; the pipeline is empty whenever the scheduler is asked.
fn order(spec: &str, flows: &[Given], count: usize) -> String {
    serve(&mut scheduler(spec, flows, count).0, flows, count)
}

fn serve(scheduler: &mut Boxed, flows: &[Given], count: usize) -> String {
    let mut served = String::new();
    while served.len() < count {
        let Next::Serve(mut packet) = scheduler.next(Time::ZERO) else { panic!("after {served}") };
        served.push(char::from(b'A' + packet.payload as u8));
        finish(scheduler, &mut packet.ticket, flows[packet.payload as usize].takes);
    }
    served
}

/// The packet passes the pipeline and takes this many times as long as it was charged.
fn finish(scheduler: &mut Boxed, ticket: &mut Ticket<2>, takes: u64) {
    let charged = ticket.charged();
    for (resource, &charged) in charged.iter().enumerate() {
        let used = charged.saturating_mul(takes);
        scheduler.progress(Time::ZERO, ticket, resource, Progress::Finished { used });
    }
}

#[test]
fn mr3_makes_up_for_what_a_turn_exceeded() {
    // Dominant times 3 and 9. First turns: one packet each, EC = 3 and 9, MaxEC = 9.
    // A: B = 9 - 3 = 6, 3, 0, -3: three packets, EC = 3 again. B: B = 9 - 9 = 0, -9: one packet, EC = 9 again.
    assert_eq!(order("mr3", &[flow(1000, [2, 3]), flow(1000, [9, 1])], 14), "ABAAABAAABAAAB");
}

#[test]
fn mr3_serves_a_heavy_flow_in_one_burst() {
    // Weights 4, 1, 1; all packets 4. First turns: EC / w = 1, 4, 4, MaxEC = 4.
    // A: B / w = 4 - 1 = 3, 2, 1, 0, -1: four packets. B and C: 0, -4: one packet.
    let flows = [flow(4000, [4, 4]), flow(1000, [4, 4]), flow(1000, [4, 4])];
    assert_eq!(order("mr3", &flows, 15), "ABCAAAABCAAAABC");
}

#[test]
fn mr3_charges_what_was_measured() {
    // Both say 1, A takes 4: EC = 4 and 1, MaxEC = 4. A: B = 0, then -4. B: B = 3, 2, 1, 0, -1: four packets.
    let liar = Given { takes: 4, ..flow(1000, [1, 1]) };
    assert_eq!(order("mr3", &[liar, flow(1000, [1, 1])], 12), "ABABBBBABBBB");
}

#[test]
fn mr3_lets_others_catch_up() {
    // C has two packets of 9, A and B have packets of 1. First turns: EC = 1, 1, 9. A and B: B = 9 - 1 = 8 down to -1:
    // nine packets. C: B = 0: its last packet. As published that is forgiven, and MaxEC = 1 from then on: one
    // packet a turn. By default it counts once more: 9.
    let nine = |flow: &str| flow.repeat(9);
    for (spec, then) in [("mr3:newcomers=free", "ABABAB".to_string()), ("mr3", nine("A") + &nine("B") + "ABABAB")] {
        let flows = [flow(1000, [1, 1]), flow(1000, [1, 1]), flow(1000, [9, 9])];
        let (mut scheduler, ids) = scheduler(spec, &flows, 0);
        for (number, count) in [30, 30, 2].into_iter().enumerate() {
            (0..count).for_each(|_| offer(&mut scheduler, ids[number], number, flows[number].cost));
        }
        let expected = format!("ABC{}{}C{then}", nine("A"), nine("B"));
        assert_eq!(serve(&mut scheduler, &flows, expected.len()), expected, "{spec}");
    }
}

#[test]
fn mr3_gives_a_new_flow_one_packet_in_its_first_turn() {
    // A has packets of 9, B of 1. First turns: EC = 9, 1. Then A: B = 0: one packet; B: B = 9 - 1 = 8: nine.
    // C comes with packets of 1 and has its turn after A's next: published, B = 9: ten packets; by default one, EC = 1,
    // and B = 8 next.
    for (spec, first) in [("mr3:newcomers=free", 10), ("mr3", 1)] {
        let flows = [flow(1000, [9, 9]), flow(1000, [1, 1]), flow(1000, [1, 1])];
        let (mut scheduler, ids) = scheduler(spec, &flows, 0);
        (0..2).for_each(|f| (0..99).for_each(|_| offer(&mut scheduler, ids[f], f, flows[f].cost)));
        assert_eq!(serve(&mut scheduler, &flows, 3), "ABA", "{spec}");
        (0..99).for_each(|_| offer(&mut scheduler, ids[2], 2, flows[2].cost));
        let (b, c) = ("B".repeat(9), "C".repeat(first));
        let expected = format!("{b}A{c}{b}ACCCCCCCCC{b}");
        assert_eq!(serve(&mut scheduler, &flows, expected.len()), expected, "{spec}");
    }
}

#[test]
fn estimates_that_were_too_long_earn_nothing_after_a_pause() {
    for name in ["mr3", "mr3:newcomers=free", "gmr3:largest=4 ns", "gmr3:largest=4 ns,newcomers=free"] {
        let (mut scheduler, ids) = scheduler(name, &EQUALS, 0);
        offer(&mut scheduler, ids[0], 0, [8, 8]);
        let mut early = take(&mut scheduler).1;
        for (number, &id) in ids.iter().enumerate() {
            (0..9).for_each(|_| offer(&mut scheduler, id, number, [4, 4]));
        }
        // It is known only now that A's packet, after which it had no more, took no time.
        finish(&mut scheduler, &mut early[0], 0);
        assert_eq!(serve(&mut scheduler, &EQUALS, 6), "ABABAB", "{name}");
    }
}

#[test]
fn gmr3_serves_equal_flows_a_credit_each() {
    // Dominant times 3 and 9, L = 9; weights are powers of two in thousandths, so that c = L = 9.
    // A: B = 9, 6, 3, 0: three packets, EC = 0. B: B = 9, 0: one packet, EC = 0.
    let flows = [flow(1024, [2, 3]), flow(1024, [9, 1])];
    assert_eq!(order("gmr3:largest=9 ns,newcomers=free", &flows, 12), "AAABAAABAAAB");
}

#[test]
fn gmr3_learns_the_largest_time() {
    // As before, but A's first turn knows of no packet longer than its own 3: one packet. Then B's 9 is known.
    let flows = [flow(1024, [2, 3]), flow(1024, [9, 1])];
    assert_eq!(order("gmr3:newcomers=free", &flows, 10), "ABAAABAAAB");
}

#[test]
fn gmr3_gives_a_heavy_flow_turns_more_often() {
    // Weights 2, 1, 1: S = 4 slots; A has a turn in every 2 slots, B and C in every 4. Every turn is one packet.
    // Slots from 0 on; first turns are in the next interval: A's begins at 2, and at 4 all begin. A | A B A C | A B A
    // C.
    let flows = [flow(2048, [1, 1]), flow(1024, [1, 1]), flow(1024, [1, 1])];
    assert_eq!(order("gmr3", &flows, 9), "AABACABAC");
}

#[test]
fn gmr3_brings_turns_closer_when_flows_leave() {
    // Weights 2 and six times 1: S = 8 slots; A has a turn in every 4 slots, the others in every 8. D to G have one
    // packet: with them gone S = 4 from the next common beginning of intervals on, as above.
    let flows: Vec<Given> = (0..7).map(|f| flow(if f == 0 { 2048 } else { 1024 }, [1, 1])).collect();
    let (mut scheduler, ids) = scheduler("gmr3", &flows, 0);
    for (number, &id) in ids.iter().enumerate() {
        let count = if number < 3 { 20 } else { 1 };
        (0..count).for_each(|_| offer(&mut scheduler, id, number, [1, 1]));
    }
    assert_eq!(serve(&mut scheduler, &flows, 17), "AABCDAEFGABACABAC");
}

#[test]
fn gmr3_carries_what_a_turn_exceeded() {
    // L = 4, c = 4, packets of A take 3. B = 4, 1, -2: two packets, EC = 2. B = 2, -1: one, EC = 1. B = 3, 0: one, EC =
    // 0. B takes 4: one packet a turn.
    let flows = [flow(1024, [3, 1]), flow(1024, [1, 4])];
    assert_eq!(order("gmr3:largest=4 ns,newcomers=free", &flows, 14), "AABABABAABABAB");
}

#[test]
fn gmr3_charges_what_was_measured() {
    // Both say 4 = L = c; A takes 8, and L = c = 8 from then on: EC = 4 (its 8 less its c of 4).
    // B: B = 8, 4, 0: two packets. A: B = 8 - 4 = 4, then -4: EC = 4 again.
    let late = Given { takes: 2, ..flow(1024, [4, 4]) };
    assert_eq!(order("gmr3:largest=4 ns,newcomers=free", &[late, flow(1024, [4, 4])], 9), "ABBABBABB");
}

#[test]
fn gmr3_newcomers_pay_in_advance() {
    // As above, but all begin with EC = L, so that B = 0 and first turns are of one packet.
    let flows = [flow(1024, [2, 3]), flow(1024, [9, 1])];
    // A: B = 0, -3; 6, 3, 0; 9, 6, 3, 0. B, of 9 = L: one packet a turn.
    assert_eq!(order("gmr3:largest=9 ns", &flows, 12), "ABAABAAABAAA");
    // A's first turn knows of no packet longer than its own.
    assert_eq!(order("gmr3", &flows, 10), "ABAABAAABA");
    // A: B = 0, -3; 1, -2; 2, -1; 3, 0; 4, 1, -2.
    assert_eq!(order("gmr3:largest=4 ns", &[flow(1024, [3, 1]), flow(1024, [1, 4])], 14), "ABABABABAABABA");
    // A takes 8 for 4: EC = 4 and 4 more; L = c = 8 from then on, and B = 0 in every turn. B: B = 0, -4; 4, 0; 8, 4, 0.
    let late = Given { takes: 2, ..flow(1024, [4, 4]) };
    assert_eq!(order("gmr3:largest=4 ns", &[late, flow(1024, [4, 4])], 12), "ABABABBABBAB");
}

/// Takes packets until the scheduler waits; the flows, and their tickets.
fn take(scheduler: &mut Boxed) -> (String, Vec<Ticket<2>>) {
    let (mut taken, mut tickets) = (String::new(), Vec::new());
    while let Next::Serve(packet) = scheduler.next(Time::ZERO) {
        taken.push(char::from(b'A' + packet.payload as u8));
        tickets.push(packet.ticket);
    }
    (taken, tickets)
}

const EQUALS: [Given; 2] = [flow(1024, [4, 4]), flow(1024, [4, 4])];

#[test]
fn a_turn_waits_for_the_start_of_the_packets_before() {
    for name in ["mr3", "gmr3"] {
        let (mut scheduler, _) = scheduler(name, &EQUALS, 9);
        let (taken, mut tickets) = take(&mut scheduler);
        assert_eq!(taken, "AB", "{name}");
        let used = Duration::from_nanos(4);
        scheduler.progress(Time::ZERO, &mut tickets[0], 0, Progress::Finished { used });
        assert_eq!(take(&mut scheduler).0, "", "{name}: on the first resource, which is not the last");
        scheduler.progress(Time::ZERO, &mut tickets[0], 1, Progress::Started);
        assert_eq!(take(&mut scheduler).0, "A", "{name}");
        scheduler.progress(Time::ZERO, &mut tickets[1], 1, Progress::Abandoned);
        assert_eq!(take(&mut scheduler).0, "B", "{name}");
        scheduler.progress(Time::ZERO, &mut tickets[0], 1, Progress::Finished { used });
        assert_eq!(take(&mut scheduler).0, "", "{name}: the packet of a turn that is long past");
    }
}

#[test]
fn a_turn_waits_for_the_finish_if_so_told() {
    for name in ["mr3:progress=finished", "gmr3:progress=finished"] {
        let (mut scheduler, _) = scheduler(name, &EQUALS, 9);
        let mut tickets = take(&mut scheduler).1;
        scheduler.progress(Time::ZERO, &mut tickets[0], 1, Progress::Started);
        assert_eq!(take(&mut scheduler).0, "", "{name}");
        let used = Duration::from_nanos(4);
        scheduler.progress(Time::ZERO, &mut tickets[0], 1, Progress::Finished { used });
        assert_eq!(take(&mut scheduler).0, "A", "{name}");
    }
}

#[test]
fn a_turn_waits_for_nothing_if_so_told() {
    for name in ["mr3:progress=none", "gmr3:progress=none"] {
        let (mut scheduler, _) = scheduler(name, &EQUALS, 3);
        assert_eq!(take(&mut scheduler).0, "ABABAB", "{name}");
    }
}

#[test]
fn a_flow_that_is_alone_has_a_few_packets_on_their_way() {
    for name in ["mr3", "gmr3"] {
        let (mut scheduler, ids) = scheduler(name, &[flow(1024, [4, 4]), flow(1024, [4, 4])][..], 0);
        (0..9).for_each(|_| offer(&mut scheduler, ids[0], 0, [4, 4]));
        // One for each of two servers.
        let (taken, mut tickets) = take(&mut scheduler);
        assert_eq!(taken, "AA", "{name}");
        scheduler.progress(Time::ZERO, &mut tickets[0], 1, Progress::Started);
        assert_eq!(take(&mut scheduler).0, "", "{name}");
        scheduler.progress(Time::ZERO, &mut tickets[0], 1, Progress::Finished { used: Duration::from_nanos(4) });
        assert_eq!(take(&mut scheduler).0, "A", "{name}");
        // When another comes it waits for both, in the order of turns.
        offer(&mut scheduler, ids[1], 1, [4, 4]);
        scheduler.progress(Time::ZERO, &mut tickets[1], 1, Progress::Started);
        assert!(!take(&mut scheduler).0.contains('A'), "{name}");
    }
}

#[test]
fn wrong_parameters_are_explained() {
    let error = |spec: &str| build::<2, u32>(&spec.parse().unwrap(), Shape::default()).err().unwrap().to_string();
    assert_eq!(error("mr3:progress=maybe"), "progress=maybe: expected started | finished | none");
    assert_eq!(error("gmr3:largest=many"), "largest=many: expected a time such as 200 us");
    assert_eq!(error("mr3:largest=1 us"), "mr3 has no parameter \"largest\"; it has progress, newcomers");
}
