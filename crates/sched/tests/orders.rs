//! Service orders that a person can check with a pencil.

use dovetail_sched::{FlowConfig, Next, Packet, Scheduler, Shape, build};
use dovetail_units::{ResourceVec, Time};

/// Serve `count` packets, the pipeline empty whenever the scheduler is asked; flow `i` always backlogged with packets
/// of `costs[i]` (in turn). Returns the flows in the order of service.
fn order(spec: &str, costs: &[&[[u64; 2]]], count: usize) -> String {
    let mut scheduler: Box<dyn Scheduler<2, u32>> = build(&spec.parse().unwrap(), Shape::default()).unwrap();
    for (i, pattern) in costs.iter().enumerate() {
        let flow = scheduler.add_flow(FlowConfig::default());
        for k in 0..count {
            let cost = ResourceVec::from_nanos(pattern[k % pattern.len()]);
            scheduler.enqueue(Time::ZERO, Packet { flow, size: 100, cost, payload: i as u32 }).unwrap();
        }
    }
    let (mut now, mut served) = (Time::ZERO, String::new());
    while served.len() < count {
        match scheduler.next(now) {
            Next::Serve(mut packet) => {
                served.push(char::from(b'A' + packet.payload as u8));
                let used = packet.ticket.charged();
                for (resource, &used) in used.iter().enumerate() {
                    scheduler.progress(now, &mut packet.ticket, resource, dovetail_sched::Progress::Started);
                    scheduler.progress(now, &mut packet.ticket, resource, dovetail_sched::Progress::Finished { used });
                }
            }
            Next::At(time) => {
                assert!(time > now);
                now = time;
            }
            other => panic!("{other:?} with {} packets queued", scheduler.stats().queued),
        }
    }
    served
}

#[test]
fn fifo_serves_in_order_of_arrival() {
    assert_eq!(order("fifo", &[&[[9, 1]], &[[1, 1]]], 4), "AAAA");
}

#[test]
fn drfq_gives_equal_dominant_service() {
    // Dominant times 3 and 9: three packets of A for one of B (paper, Fig. 1a).
    assert_eq!(order("drfq:newcomers=free", &[&[[2, 3]], &[[9, 1]]], 12), "ABAAABAAABAA");
    // With deposits of 3 and 9: A at 3, 6, 9, 12, 15 .., B at 9, 18 ..; of equal tags A.
    assert_eq!(order("drfq", &[&[[2, 3]], &[[9, 1]]], 12), "AAABAAABAAAB");
}

#[test]
fn dovetailing_counts_alternating_needs_as_one() {
    // A alternates <2,1> and <1,2>, B is <3,3>: memoryless charges A 2 per packet, so 3 of A for 2 of B; dovetailing
    // charges 3 for two packets on each resource, so 2 of A for 1 of B.
    let costs: &[&[[u64; 2]]] = &[&[[2, 1], [1, 2]], &[[3, 3]]];
    let share = |spec: &str| order(spec, costs, 300).matches('A').count();
    assert_eq!(share("drfq:mode=memoryless"), 180);
    assert_eq!(share("drfq:mode=dovetail"), 200);
    assert_eq!(share("drfq:mode=memoryless,newcomers=free"), 180);
    assert_eq!(share("drfq:mode=dovetail,newcomers=free"), 200);
}

#[test]
fn tradeoff_at_one_follows_the_fair_fluid() {
    // Each flow has 3/5 of its dominant resource: A ends a packet every 5, B every 15.
    assert_eq!(order("tradeoff:alpha=1", &[&[[2, 3]], &[[9, 1]]], 12), "ABAAABAAABAA");
}

#[test]
fn tradeoff_at_zero_fills_both_resources() {
    // Fig. 1b: A gets 24/25 of the link, B 9/25 of the CPU: eight packets of A for one of B.
    let served = order("tradeoff:alpha=0", &[&[[2, 3]], &[[9, 1]]], 900);
    assert_eq!(served.matches('A').count(), 800, "{served}");
}

/// The paper's Fig. 1: packets of flow U (here A) take <4,4>, those of V (B) <2,1>.
const FIG_1: [&[[u64; 2]]; 2] = [&[[4, 4]], &[[2, 1]]];

#[test]
fn strict_atfq_serves_one_packet_of_u_for_two_of_v() {
    // F of A: 0, 4, 8, 12; of B: 0, 2, 4, 6, 8; equal ones in the order of the flows.
    assert_eq!(order("atfq:loop=1,newcomers=free", &FIG_1, 12), "ABBABBABBABB");
    // Who pays for the first packet: of A 8, 12, 16, 20; of B 3, 5, 7, 9, 11.
    assert_eq!(order("atfq:loop=1", &FIG_1, 15), "BBBABBABBABBABB");
}

#[test]
fn loops_of_atfq_serve_packets_together_that_go_well_together() {
    // Each loop is one A and two B; the pipeline is empty before each. BBA keeps the CPU busy, ABB would have it idle
    // for 2.
    assert_eq!(order("atfq:loop=3,newcomers=free", &FIG_1, 12), "BBABBABBABBA");
    assert_eq!(order("atfq:loop=6,newcomers=free", &FIG_1, 12), "BBBBAABBBBAA");
    // A pays 8 for its first packet, so that the first three are of B.
    assert_eq!(order("atfq:loop=3", &FIG_1, 12), "BBBBBABBABBA");
    assert_eq!(order("atfq:loop=6", &FIG_1, 18), "BBBBBABBBBAABBBBAA");
}

#[test]
fn a_loop_of_atfq_has_one_packet_of_a_flow_if_it_may_have_no_more() {
    // F of A: 8, 12, 16; of B: 3, 5, 7, 9. A packet of A is in a loop with B's if it begins before that ends: the one
    // from 0 with B's first, the one from 8 with B's from 7 to 9, the one from 12 with B's from 11 to 13.
    assert_eq!(order("atfq:per-flow=1", &FIG_1, 12), "BABBBABBABBA");
    // As published each flow has a packet in every loop.
    assert_eq!(order("atfq:per-flow=1,fill=all,newcomers=free", &FIG_1, 12), "BABABABABABA");
}
