//! How far flows are behind the fair fluid: by hand, and against a fluid that is computed anew from event to event.

use dovetail_model::fluid::behind::{Behind, Due, Reference, Times};
use dovetail_model::fluid::{Input, Policy, run};
use dovetail_model::{Head, drgps};
use proptest::prelude::*;

/// A packet of one flow: when it comes, what it takes, and when it leaves the machine.
#[derive(Clone, Copy, Debug)]
struct Packet {
    flow: usize,
    comes_s: f64,
    times_s: [f64; 2],
    leaves_s: f64,
}

fn times(times_s: [f64; 2]) -> Times<2> {
    let longest = times_s[0].max(times_s[1]);
    Times { shared_s: times_s, dominant_s: longest, alone_s: longest }
}

/// Everything that happens, in order: at one instant packets leave before others come, as in the machine.
fn events(packets: &[Packet]) -> Vec<(f64, bool, Packet)> {
    let both = |p: &Packet| [(p.comes_s, true, *p), (p.leaves_s, false, *p)];
    let mut events: Vec<_> = packets.iter().flat_map(both).collect();
    events.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    events
}

fn behind(weights: &[f64], packets: &[Packet]) -> Vec<Behind> {
    let mut fluid = Reference::<2>::new(Due::Fair, weights.iter().copied());
    let mut now_s = 0.0;
    for (at_s, comes, packet) in events(packets) {
        now_s = at_s;
        match comes {
            true => fluid.arrived(at_s, packet.flow, &times(packet.times_s)),
            false => fluid.left(at_s, packet.flow, times(packet.times_s).dominant_s),
        }
    }
    fluid.finish(now_s)
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "found {found}, expected {expected}");
}

/// A flow of long packets and one of a short one, on the first resource; all come at 0. In the fluid the short one ends
/// at 2 s; first in, first out, it leaves at 9 s.
#[test]
fn a_short_packet_behind_a_heap_of_others_waits_longer_than_is_fair() {
    let long = |k: u32| Packet { flow: 0, comes_s: 0.0, times_s: [2.0, 0.0], leaves_s: 2.0 * f64::from(k) };
    let short = Packet { flow: 1, comes_s: 0.0, times_s: [1.0, 0.0], leaves_s: 9.0 };
    let found = behind(&[1.0; 2], &[long(1), long(2), long(3), long(4), short]);
    assert_eq!(found[0].time_s, 0.0, "the other one is ahead");
    close(found[1].time_s, 7.0);
    assert_eq!(found[1].packets, 1);
    // Two flows in the fluid, once more for what is under way, 2 s each, on two resources.
    close(found[1].round_s, 12.0);
    assert!(!found[1].starves(), "one of four packets' time is no more than taking turns may cost");
}

#[test]
fn a_flow_that_is_passed_over_starves_and_one_that_asks_for_little_does_not() {
    // 1000 packets of each of two flows wait; the first flow's are all served first. A third sends one packet a second.
    let greedy =
        |flow, k: u32, from| Packet { flow, comes_s: 0.0, times_s: [0.1, 0.05], leaves_s: from + 0.1 * f64::from(k) };
    let modest =
        |k: u32| Packet { flow: 2, comes_s: f64::from(k), times_s: [0.01, 0.01], leaves_s: f64::from(k) + 0.1 };
    let packets: Vec<Packet> =
        (1..=1000).flat_map(|k| [greedy(0, k, 0.0), greedy(1, k, 100.0)]).chain((0..100).map(modest)).collect();
    let found = behind(&[1.0; 3], &packets);
    assert_eq!(found.iter().map(Behind::starves).collect::<Vec<_>>(), [false, true, false]);
    assert!(found[1].packets > 450 && found[1].time_s > 45.0, "{found:?}");
    assert!(found[2].packets <= 1 && found[2].time_s < 0.1, "{found:?}");
}

/// A machine that idles half of the time is slow for all: nobody's share went to another.
#[test]
fn what_the_machine_loses_in_all_starves_nobody() {
    let slow = |flow: usize, k: u32| Packet {
        flow,
        comes_s: 0.0,
        times_s: [0.1, 0.0],
        leaves_s: 0.2 * f64::from(2 * k) + 0.2 * flow as f64,
    };
    let packets: Vec<Packet> = (1..=500).flat_map(|k| [slow(0, k), slow(1, k)]).collect();
    assert!(behind(&[1.0; 2], &packets).iter().all(|flow| !flow.starves()));
}

#[test]
fn a_packet_that_never_leaves_is_behind_until_the_end() {
    let mut fluid = Reference::<2>::new(Due::Fair, [1.0, 1.0]);
    fluid.arrived(0.0, 0, &times([1.0, 0.0]));
    assert_eq!(fluid.finish(61.0)[0].time_s, 60.0);
}

#[test]
fn where_a_part_is_promised_time_counts_for_as_much_less() {
    let mut fluid = Reference::<2>::new(Due::Part, [1.0]);
    fluid.set_speed(0.0, 0.5);
    fluid.arrived(0.0, 0, &times([1.0, 0.0]));
    fluid.left(3.0, 0, 1.0);
    close(fluid.finish(3.0)[0].time_s, 1.0);
}

/// One flow in the obvious fluid.
#[derive(Clone, Debug, Default)]
struct Obvious {
    waiting: Vec<[f64; 2]>,
    remaining_s: f64,
    ends_s: Vec<f64>,
    left_s: Vec<f64>,
}

/// The same by definition: shares by `drgps::allocate` of all heads after every event, nothing kept but what remains.
fn obviously(weights: &[f64], packets: &[Packet]) -> Vec<f64> {
    let mut flows = vec![Obvious::default(); weights.len()];
    let (mut now_s, mut lead_s, mut longest_s) = (0.0, 0.0, 0.0_f64);
    let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
    for (at_s, comes, packet) in events(packets) {
        loop {
            let inside: Vec<usize> = (0..flows.len()).filter(|&i| !flows[i].waiting.is_empty()).collect();
            let count: f64 = inside.iter().map(|&i| weights[i] / least).sum();
            if inside.is_empty() || lead_s > (count + 1.0) * longest_s {
                break;
            }
            let heads: Vec<Head> =
                inside.iter().map(|&i| Head::new(&flows[i].waiting[0], weights[i]).unwrap()).collect();
            let shares = drgps::allocate(&heads).unwrap().shares;
            let first = inside.iter().zip(&shares).map(|(&i, share)| flows[i].remaining_s / share);
            let step_s = first.fold(f64::INFINITY, f64::min).min(at_s - now_s);
            now_s += step_s;
            for (&i, share) in inside.iter().zip(&shares) {
                flows[i].remaining_s -= share * step_s;
                if flows[i].remaining_s < 1e-12 {
                    let done = times(flows[i].waiting.remove(0));
                    flows[i].ends_s.push(now_s);
                    lead_s += done.dominant_s;
                    flows[i].remaining_s = flows[i].waiting.first().map_or(0.0, |next| times(*next).dominant_s);
                }
            }
            if now_s >= at_s {
                break;
            }
        }
        now_s = at_s;
        let flow = &mut flows[packet.flow];
        let dominant_s = times(packet.times_s).dominant_s;
        if comes {
            longest_s = longest_s.max(dominant_s);
            if flow.waiting.is_empty() {
                flow.remaining_s = dominant_s;
            }
            flow.waiting.push(packet.times_s);
        } else {
            lead_s -= dominant_s;
            flow.left_s.push(at_s);
        }
    }
    let late = |flow: &Obvious| flow.ends_s.iter().zip(&flow.left_s).map(|(end, left)| left - end).fold(0.0, f64::max);
    flows.iter().map(late).collect()
}

fn some_packets() -> impl Strategy<Value = Vec<Packet>> {
    let packet = (0..4_usize, 0.0..0.3_f64, 0.001..0.1_f64, 0.001..0.1_f64, 0.0..2.0_f64);
    proptest::collection::vec(packet, 1..60).prop_map(|given| {
        let (mut clock_s, mut free_s) = (0.0, [0.0_f64; 4]);
        let packet = |(flow, gap_s, cpu_s, link_s, stay_s): (usize, f64, f64, f64, f64)| {
            clock_s += gap_s;
            free_s[flow] = free_s[flow].max(clock_s + cpu_s + link_s + stay_s);
            Packet { flow, comes_s: clock_s, times_s: [cpu_s, link_s], leaves_s: free_s[flow] }
        };
        given.into_iter().map(packet).collect()
    })
}

proptest! {
    #[test]
    fn it_is_what_the_obvious_computation_finds(packets in some_packets()) {
        let weights = [1.0, 1.0, 2.0, 0.5];
        let found = behind(&weights, &packets);
        for (found, right) in found.iter().zip(obviously(&weights, &packets)) {
            prop_assert!((found.time_s - right).abs() < 1e-6, "{} is not {right}", found.time_s);
        }
    }

    /// Powers of two are not rounded.
    #[test]
    fn only_the_ratios_of_weights_matter(packets in some_packets()) {
        for weights in [[1.0; 4], [1.0, 1.0, 2.0, 0.5]] {
            prop_assert_eq!(behind(&weights, &packets), behind(&weights.map(|weight| 2.0 * weight), &packets));
        }
    }

    /// Where the machine does as the fluid, but later by a constant, that is how far everybody is behind.
    #[test]
    fn a_machine_that_is_a_constant_later_than_the_fluid_is_so_much_behind(packets in some_packets()) {
        let mut input = Input::new(2).unwrap();
        (0..4).for_each(|_| { input.add_flow(1.0).unwrap(); });
        packets.iter().for_each(|p| input.push(p.flow, p.comes_s, &p.times_s).unwrap());
        let fluid = run(&input, &Policy::Drgps).unwrap();
        let mut next = [0; 4];
        let later = packets.iter().map(|p| {
            next[p.flow] += 1;
            Packet { leaves_s: fluid.finishes_s(p.flow)[next[p.flow] - 1] + 0.0005, ..*p }
        });
        for (flow, found) in behind(&[1.0; 4], &later.collect::<Vec<_>>()).iter().enumerate() {
            let right = if next[flow] > 0 { 0.0005 } else { 0.0 };
            prop_assert!((found.time_s - right).abs() < 1e-9, "{}", found.time_s);
        }
    }
}
