//! Service orders that a person can check with a pencil.

use dovetail_sched::{FlowConfig, FlowId, Next, Packet, Progress, Scheduler};
use dovetail_units::{ResourceVec, Time, Weight};

use crate::ALL;
use crate::server::{letters, scheduler, serve};
use crate::traffic::Traffic;

/// The first `count` flows served of what is all there at the start.
fn order(spec: &str, flows: &[(u32, usize, u64)], count: usize) -> String {
    let mut served = letters(&serve(&mut *scheduler(spec), &Traffic::at_once(flows)));
    served.truncate(count);
    served
}

#[test]
fn start_tags_and_finish_tags() {
    // A has packets of 2, B of 1, equal weights.
    let flows = [(1000, 20, 2), (1000, 40, 1)];
    // S of A: 0 2 4 ..; of B: 0 1 2 3 4 ..; equal tags: A.
    assert_eq!(order("sfq:newcomers=free", &flows, 9), "ABBABBABB");
    // With A's deposit of 2 and B's of 1: 2 4 6 .. and 1 2 3 4 ..
    assert_eq!(order("sfq", &flows, 9), "BABBABBAB");
    // F of A: 2 4 6 ..; of B: 1 2 3 4 ..
    assert_eq!(order("scfq", &flows, 9), "BABBABBAB");
    // V is 0 before the first service: the finish tags are those of scfq.
    assert_eq!(order("wfq", &flows, 9), "BABBABBAB");
    // V = 0: A ends at 2, B at 1: B. V = 1/2: B's next starts at 1: A. V = 3/2: of A's (2,4) and B's (1,2) only B may
    // start: B. V = 2: both may, B ends at 3: B. V = 5/2: A. So on, V counting half of what is served.
    assert_eq!(order("wf2q+", &flows, 9), "BABBABBAB");
}

#[test]
fn weights_divide_tags() {
    // A's packets of 2 at weight 2 count as much as B's of 1 at weight 1.
    for spec in ALL {
        let served = order(spec, &[(2000, 20, 2), (1000, 20, 1)], 8);
        assert_eq!(served, "ABABABAB", "{spec}");
    }
}

#[test]
fn deficit_round_robin_with_a_sufficient_quantum() {
    // The largest packet is 9: three of A, then one of B.
    assert_eq!(order("drr", &[(1000, 30, 3), (1000, 10, 9)], 12), "AAABAAABAAAB");
    // Times by weight are 6 and 18.
    assert_eq!(order("drr", &[(500, 30, 3), (1000, 10, 18)], 8), "AAABAAAB");
}

#[test]
fn deficit_round_robin_with_a_small_quantum() {
    // Deficits of A after its turns: 1 2 0 1 2 0 1 ..; of B: 4 8 3 7 2 6 1 .., serving in turns 3, 5, 7.
    assert_eq!(order("drr:quantum=4 ns", &[(1000, 30, 3), (1000, 10, 9)], 12), "AAAABAABAAAB");
    // A quantum of 1 is nine rounds for a packet of B, three for one of A.
    assert_eq!(order("drr:quantum=1 ns", &[(1000, 30, 3), (1000, 10, 9)], 8), "AAABAAAB");
}

#[test]
fn a_heavy_flow_among_ten_light_ones() {
    // Bennett and Zhang's example: A has half of the resource and eleven packets, ten others have a twentieth and one
    // packet each.
    let mut flows = vec![(10_000, 11, 100)];
    flows.extend([(1000, 1, 100); 10]);
    // In GPS A's first ten packets finish by the time the others' do: WFQ serves them in one go.
    assert_eq!(order("wfq", &flows, 21), "AAAAAAAAAABCDEFGHIJKA");
    // But A's second packet begins only when GPS has served two: WF2Q+ alternates.
    assert_eq!(order("wf2q+", &flows, 21), "ABACADAEAFAGAHAIAJAKA");
}

struct Bench {
    scheduler: Box<dyn Scheduler<2, u32>>,
    flows: [FlowId; 3],
}

impl Bench {
    fn new(spec: &str) -> Self {
        let mut scheduler = scheduler(spec);
        let flows = [0; 3].map(|_| scheduler.add_flow(FlowConfig::default()));
        Self { scheduler, flows }
    }

    fn offer(&mut self, now: u64, flow: usize, time: u64) {
        let packet = Packet {
            flow: self.flows[flow],
            size: 100,
            cost: ResourceVec::from_nanos([1, time]),
            payload: flow as u32,
        };
        self.scheduler.enqueue(Time::from_nanos(now), packet).unwrap();
    }

    fn weigh(&mut self, now: u64, flow: usize, milli: u32) {
        let config = FlowConfig { weight: Weight::from_milli(milli).unwrap(), ..FlowConfig::default() };
        self.scheduler.set_flow(Time::from_nanos(now), self.flows[flow], config).unwrap();
    }

    /// Serve a packet; with `took`, report that it took so long.
    fn serve(&mut self, now: u64, took: Option<u64>) -> char {
        let Next::Serve(mut served) = self.scheduler.next(Time::from_nanos(now)) else { panic!("nothing to serve") };
        if let Some(took) = took {
            let used = ResourceVec::<2>::from_nanos([1, took])[1];
            self.scheduler.progress(Time::from_nanos(now + took), &mut served.ticket, 1, Progress::Finished { used });
        }
        char::from(b'A' + served.payload as u8)
    }
}

#[test]
fn a_busy_period_ends_with_the_largest_finish_tag() {
    // A is served from 0 to 10; at 100 both come. Without a busy period's end B would start at v = 0, before A's 10.
    for (reported, first) in [(Some(10), 'A'), (None, 'B')] {
        let mut bench = Bench::new("sfq:newcomers=free");
        bench.offer(0, 0, 10);
        bench.serve(0, reported);
        bench.offer(100, 0, 10);
        bench.offer(100, 1, 10);
        assert_eq!(bench.serve(100, None), first);
    }
}

#[test]
fn after_an_idle_time_nobody_has_credit_or_debt() {
    // A has used an idle system for long, B has not; then they take turns.
    for spec in ALL {
        let mut bench = Bench::new(spec);
        for k in 0..500 {
            bench.offer(k * 10, 0, 10);
            bench.serve(k * 10, Some(10));
        }
        for _ in 0..100 {
            bench.offer(6000, 0, 10);
            bench.offer(6000, 1, 10);
        }
        let served: String = (0..20).map(|k| bench.serve(6000 + 10 * k, Some(10))).collect();
        assert!(served == "AB".repeat(10) || served == "BA".repeat(10), "{spec}: {served}");
    }
}

#[test]
fn who_understates_gains_nothing() {
    // A's packets take four times what is said of them; told of it, every discipline gives equal time: one of A for
    // four of B.
    for spec in ALL {
        let mut bench = Bench::new(spec);
        for _ in 0..1000 {
            bench.offer(0, 0, 100);
            bench.offer(0, 1, 100);
        }
        let (mut now, mut times) = (0, [0; 2]);
        for _ in 0..500 {
            // The scheduler hears how long the last packet took before it chooses the next.
            let mut peek = bench.scheduler.next(Time::from_nanos(now));
            let Next::Serve(served) = &mut peek else { panic!("{peek:?}") };
            let took = if served.payload == 0 { 400 } else { 100 };
            now += took;
            times[served.payload as usize] += took;
            let used = ResourceVec::<2>::from_nanos([1, took])[1];
            bench.scheduler.progress(Time::from_nanos(now), &mut served.ticket, 1, Progress::Finished { used });
        }
        // Within the largest quantum (which met a debt of 300) and a packet of each.
        let difference = times[0].abs_diff(times[1]);
        assert!(difference <= 400 + 400 + 100, "{spec}: {times:?}");
    }
}

#[test]
fn packets_that_need_nothing_give_way() {
    for spec in ALL {
        let mut bench = Bench::new(spec);
        bench.offer(0, 1, 1000);
        bench.offer(0, 1, 1000);
        let mut served = String::new();
        for k in 0..5000 {
            bench.offer(k, 0, 0);
            served.push(bench.serve(k, Some(0)));
        }
        assert_eq!(served.matches('B').count(), 2, "{spec}");
    }
}

#[test]
fn a_weight_can_change_while_packets_wait() {
    for spec in ALL {
        let mut bench = Bench::new(spec);
        for _ in 0..1000 {
            bench.offer(0, 0, 10);
            bench.offer(0, 1, 10);
        }
        let serve = |bench: &mut Bench, packets: std::ops::Range<u64>| {
            packets.filter(|k| bench.serve(10 * k, Some(10)) == 'A').count()
        };
        let equal = serve(&mut bench, 0..200);
        bench.weigh(2000, 0, 3000);
        let triple = serve(&mut bench, 200..600);
        bench.weigh(6000, 0, 1000);
        let again = serve(&mut bench, 600..800);
        // To a turn of three packets at each change.
        for (served, fair) in [(equal, 100), (triple, 300), (again, 100)] {
            assert!(served.abs_diff(fair) <= 4, "{spec}: {equal} of 200, {triple} of 400, {again} of 200");
        }
    }
}

#[test]
fn a_fluid_that_is_cleared_leaves_neither_credit_nor_debt() {
    // Of 400 flows that are handed out at once a call ends fewer in the fluid, so that after a pause it is cleared. A's
    // packet was ten times as long as the others', and its tag is far ahead of V then; yet A and B take turns.
    for spec in ["wfq", "wf2q+", "drgps", "drgps:order=start"] {
        let mut bench = Bench::new(spec);
        let others: Vec<_> = (0..400).map(|_| bench.scheduler.add_flow(FlowConfig::default())).collect();
        bench.offer(0, 0, 1000);
        for flow in others {
            let packet = Packet { flow, size: 100, cost: ResourceVec::from_nanos([1, 100]), payload: 2 };
            bench.scheduler.enqueue(Time::ZERO, packet).unwrap();
        }
        let mut now = 0;
        while bench.scheduler.stats().queued > 0 {
            match bench.scheduler.next(Time::from_nanos(now)) {
                Next::At(time) => now = time.as_nanos(),
                other => assert!(matches!(other, Next::Serve(_)), "{spec}: {other:?}"),
            }
        }
        now += 1_000_000;
        for _ in 0..6 {
            bench.offer(now, 1, 100);
            bench.offer(now, 0, 100);
        }
        let served: String = (0..12)
            .map(|k| {
                loop {
                    match bench.scheduler.next(Time::from_nanos(now + 100 * k)) {
                        Next::Serve(served) => return char::from(b'A' + served.payload as u8),
                        Next::At(_) => now += 1,
                        other => panic!("{spec}: {other:?}"),
                    }
                }
            })
            .collect();
        // Equal starts, or finishes, go by index: what came first may be B's and what comes next A's.
        for k in 0..=served.len() {
            let ahead = served[..k].matches('A').count().abs_diff(served[..k].matches('B').count());
            assert!(ahead <= 1, "{spec}: {served}");
        }
    }
}

#[test]
fn what_is_left_in_gps_takes_the_changed_weight() {
    // A's packets of 100 and B's one of 500 come at 0 at equal weights. At 100 V is 50, and A is at weight 10: the 150
    // that are left of its two packets in GPS take until V = 65. Nothing of A is counted twice or lost: C's packet
    // of 14 then ends at 64, one of 16 at 66.
    for (time, next) in [(14, 'C'), (16, 'A')] {
        let mut bench = Bench::new("wfq");
        bench.offer(0, 0, 100);
        bench.offer(0, 0, 100);
        bench.offer(0, 1, 500);
        assert_eq!(bench.serve(0, None), 'A');
        bench.weigh(100, 0, 10_000);
        bench.offer(100, 2, time);
        assert_eq!(bench.serve(100, None), next, "{time}");
    }
}

#[test]
fn gps_goes_on_with_the_changed_weight() {
    // A and B have a packet of 100 each; A's weight becomes 10, so GPS is done with A at V = 10, time 110, and has V =
    // 50 at 150. C's packet of 60 then ends at 110, after B's at 100. At 50, V is 50/11: a packet of 90 ends before
    // B's.
    for (at, time, next) in [(150, 60, 'B'), (50, 90, 'C')] {
        let mut bench = Bench::new("wfq");
        bench.offer(0, 0, 100);
        bench.offer(0, 1, 100);
        bench.weigh(0, 0, 10_000);
        assert_eq!(bench.serve(0, None), 'A');
        bench.offer(at, 2, time);
        assert_eq!(bench.serve(at, None), next);
    }
}

#[test]
fn the_virtual_time_of_wf2q_plus_passes_while_a_packet_is_served() {
    // A's packet of 100 and C's of 120 come at 0; A goes first. At 90 V is 45, so B's packet of 100 ends at 145, after
    // C's at 120.
    let mut bench = Bench::new("wf2q+");
    bench.offer(0, 0, 100);
    bench.offer(0, 2, 120);
    assert_eq!(bench.serve(0, None), 'A');
    bench.offer(90, 1, 100);
    assert_eq!(bench.serve(100, None), 'C');
}

#[test]
fn a_busy_period_of_wf2q_plus_ends_with_the_largest_finish_tag() {
    // A's and B's packets of 100 end at V = 100. A is made heavier when V is 50 and then counts in W tenfold: V is 59
    // when all is served. Yet A, back at 1000, has no debt to C.
    let mut bench = Bench::new("wf2q+");
    bench.offer(0, 0, 100);
    bench.offer(0, 1, 100);
    assert_eq!((bench.serve(0, None), bench.serve(100, None)), ('A', 'B'));
    bench.weigh(100, 0, 10_000);
    bench.offer(1000, 2, 100);
    bench.offer(1000, 0, 100);
    assert_eq!(bench.serve(1000, None), 'A');
}

#[test]
fn one_large_packet_makes_one_long_turn() {
    // A's first packet of 90 makes the first round's quantum 90: thirty packets of B. Then turns are of one packet
    // again.
    let mut bench = Bench::new("drr");
    bench.offer(0, 0, 90);
    for _ in 0..50 {
        bench.offer(0, 0, 3);
        bench.offer(0, 1, 3);
    }
    let served: String = (0..39).map(|k| bench.serve(k, None)).collect();
    assert_eq!(served, format!("A{}ABABABAB", "B".repeat(30)));
}

#[test]
fn a_deficit_is_worth_the_same_time_at_another_weight() {
    // A's deficit of 99 is not enough for its packet of 100. At weight 100 its next turn is worth 9900 and the 99 left:
    // 99 packets.
    let mut bench = Bench::new("drr:quantum=99 ns");
    for _ in 0..300 {
        bench.offer(0, 0, 100);
        bench.offer(0, 1, 1);
    }
    assert_eq!(bench.serve(0, None), 'B');
    bench.weigh(0, 0, 100_000);
    let served: String = (0..198).map(|k| bench.serve(k, None)).collect();
    assert_eq!(served, format!("{}{}B", "B".repeat(98), "A".repeat(99)));
}
