//! What the orders of ATFQ's loops cost: heuristics against the best of all orders, and keeping each flow's packets in
//! turn against not doing so.

use dovetail_sched::atfq::active_time::gap;
use dovetail_sched::atfq::gilmore_gomory::GilmoreGomory;
use dovetail_sched::atfq::insertion;
use dovetail_sched::atfq::sequence::{Sequenced, Sequencer};
use dovetail_testkit::random::Random;
use dovetail_units::ResourceVec;

#[derive(Clone, Copy, Debug)]
struct Packet<const M: usize> {
    flow: u32,
    cost: ResourceVec<M>,
}

impl<const M: usize> Sequenced<M> for Packet<M> {
    fn flow(&self) -> u32 {
        self.flow
    }

    fn cost(&self) -> &ResourceVec<M> {
        &self.cost
    }
}

fn random_cost<const M: usize>(random: &mut Random) -> ResourceVec<M> {
    ResourceVec::from_nanos(std::array::from_fn(|_| random.between(0, 100)))
}

/// Equation (6): the time on the first resource and the gaps.
fn length<const M: usize>(packets: &[Packet<M>], previous: &ResourceVec<M>, order: &[u32]) -> u64 {
    let mut before = previous;
    let mut sum = 0;
    for &k in order {
        let cost = &packets[k as usize].cost;
        sum += gap(before, cost) + cost[0].as_nanos();
        before = cost;
    }
    sum
}

/// The least of it over all orders (Held and Karp).
fn least<const M: usize>(packets: &[Packet<M>], previous: &ResourceVec<M>) -> u64 {
    let count = packets.len();
    let step = |before: &ResourceVec<M>, k: usize| gap(before, &packets[k].cost) + packets[k].cost[0].as_nanos();
    let mut shortest = vec![vec![u64::MAX; count]; 1 << count];
    for k in 0..count {
        shortest[1 << k][k] = step(previous, k);
    }
    for set in 1..1usize << count {
        for last in (0..count).filter(|k| set & (1 << k) != 0) {
            for next in (0..count).filter(|k| set & (1 << k) == 0) {
                let way = shortest[set][last] + step(&packets[last].cost, next);
                let entry = &mut shortest[set | 1 << next][next];
                *entry = (*entry).min(way);
            }
        }
    }
    shortest[(1 << count) - 1].iter().copied().min().unwrap_or(0)
}

/// One packet of each flow.
fn of_many_flows<const M: usize>(random: &mut Random, count: usize) -> Vec<Packet<M>> {
    (0..count as u32).map(|flow| Packet { flow, cost: random_cost(random) }).collect()
}

/// Mean and largest excess over the least length in per cent, of the order that is used and of the packets as they
/// come.
fn excess<const M: usize>(count: usize) -> [[f64; 2]; 2] {
    const LOOPS: usize = 1000;
    let mut random = Random::new(9);
    let mut excess = [[0.0f64; 2]; 2];
    let (mut order, mut sequencer) = (Vec::new(), Sequencer::default());
    for _ in 0..LOOPS {
        let previous = random_cost(&mut random);
        let packets = of_many_flows::<M>(&mut random, count);
        let least = least(&packets, &previous) as f64;
        let unordered: Vec<u32> = (0..count as u32).collect();
        sequencer.order(&packets, &previous, &mut order);
        for ([mean, most], order) in excess.iter_mut().zip([&order, &unordered]) {
            let over = 100.0 * (length(&packets, &previous, order) as f64 / least - 1.0);
            assert!(over >= 0.0);
            *mean += over / LOOPS as f64;
            *most = most.max(over);
        }
    }
    excess
}

#[test]
fn more_than_two_resources_come_close_to_the_best_order() {
    for count in [4, 6, 8, 10] {
        let (three, four) = (excess::<3>(count), excess::<4>(count));
        let cell = |[mean, most]: [f64; 2]| format!("{mean:.1} % (up to {most:.0} %)");
        println!("| {count} | {} | {} | {} | {} |", cell(three[0]), cell(three[1]), cell(four[0]), cell(four[1]));
        // What the documentation of `insertion` says.
        for [mean, most] in [three[0], four[0]] {
            assert!(mean < 0.95 && most < 14.5, "{count} packets: {mean} {most}");
        }
    }
}

/// Random loops of up to eight packets whose times `shape` changes: their orders are as short as the best.
fn is_best<const M: usize>(shape: impl Fn(&mut Random, &mut [u64; M])) {
    let mut random = Random::new(4);
    let (mut order, mut sequencer) = (Vec::new(), Sequencer::default());
    for _ in 0..1000 {
        let cost = |random: &mut Random| {
            let mut times = std::array::from_fn(|_| random.between(0, 100));
            shape(random, &mut times);
            ResourceVec::from_nanos(times)
        };
        let previous = cost(&mut random);
        let packets: Vec<Packet<M>> =
            (0..random.between(2, 8) as u32).map(|flow| Packet { flow, cost: cost(&mut random) }).collect();
        sequencer.order(&packets, &previous, &mut order);
        let found = length(&packets, &previous, &order);
        assert_eq!(found, least(&packets, &previous), "{packets:?} after {previous:?}: {order:?}");
    }
}

#[test]
fn three_resources_of_which_the_last_is_always_shorter_are_ordered_best() {
    // Section IV-B: CPU, memory and a link of sufficient bandwidth. And the same with one more such resource.
    is_best::<3>(|random, times| (times[1], times[2]) = (random.between(30, 100), random.between(0, 30)));
    is_best::<4>(|random, times| {
        (times[1], times[2], times[3]) = (random.between(40, 100), random.between(20, 40), random.between(0, 20));
    });
    // And if the first resource always takes longer than the second, only sums of two differ.
    is_best::<3>(|random, times| (times[0], times[1]) = (random.between(30, 100), random.between(0, 30)));
}

#[test]
fn many_packets_are_ordered_piece_by_piece() {
    let mut random = Random::new(2);
    let packets: Vec<Packet<3>> = (0..200).map(|_| Packet { flow: 0, cost: random_cost(&mut random) }).collect();
    let previous = random_cost(&mut random);
    let mut order = Vec::new();
    insertion::order(&packets, &previous, &mut order);
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert!(sorted.iter().copied().eq(0..200));
    for (piece, packets) in order.chunks(insertion::PIECE).enumerate() {
        assert!(packets.iter().all(|&k| k as usize / insertion::PIECE == piece), "{packets:?} in piece {piece}");
    }
    let unordered: Vec<u32> = (0..200).collect();
    assert!(length(&packets, &previous, &order) < length(&packets, &previous, &unordered));
}

#[test]
fn packets_of_a_flow_keep_their_order() {
    let mut random = Random::new(8);
    let mut sequencer = Sequencer::default();
    let mut order = Vec::new();
    for _ in 0..500 {
        let few: Vec<ResourceVec<2>> = (0..4).map(|_| random_cost(&mut random)).collect();
        let packets: Vec<Packet<2>> = (0..30)
            .map(|_| {
                // Flows 0 and 1 have packets of one kind, the others mixed ones.
                let flow = random.below(5) as u32;
                let kind = if flow < 2 { u64::from(flow) } else { random.below(4) };
                Packet { flow, cost: few[kind as usize] }
            })
            .collect();
        sequencer.order(&packets, &ResourceVec::ZERO, &mut order);
        for flow in 0..5 {
            let served: Vec<u32> = order.iter().copied().filter(|&k| packets[k as usize].flow == flow).collect();
            assert!(served.is_sorted(), "flow {flow}: {served:?}");
        }
    }
}

#[test]
fn packets_that_are_alike_keep_their_order() {
    // Six flows of packets of three kinds.
    let mut random = Random::new(8);
    let mut order = Vec::new();
    for _ in 0..500 {
        let kinds: Vec<ResourceVec<2>> = (0..3).map(|_| random_cost(&mut random)).collect();
        let packets: Vec<Packet<2>> = (0..30)
            .map(|_| random.below(6) as u32)
            .map(|flow| Packet { flow, cost: kinds[flow as usize % 3] })
            .collect();
        Sequencer::default().order(&packets, &ResourceVec::ZERO, &mut order);
        for kind in kinds {
            let served: Vec<u32> = order.iter().copied().filter(|&k| packets[k as usize].cost == kind).collect();
            assert!(served.is_sorted(), "{kind:?}: {served:?}");
        }
    }
}

/// Loops of twenty packets of five flows: by how much longer than the best order of all (in which flows may be out of
/// order) are, in per cent, the order that is used; the best orders of the flows' first packets, four times; and the
/// packets as they come.
fn cost_of_turns(mixed: bool) -> [f64; 3] {
    let mut random = Random::new(21);
    let mut sequencer = Sequencer::default();
    let (mut best, mut lengths) = (0, [0u64; 3]);
    let mut order = Vec::new();
    for _ in 0..500 {
        let kinds: Vec<ResourceVec<2>> = (0..5).map(|_| random_cost(&mut random)).collect();
        let mut packet = |k: u32| {
            let cost = if mixed { random_cost(&mut random) } else { kinds[k as usize % 5] };
            Packet { flow: k % 5, cost }
        };
        let packets: Vec<Packet<2>> = (0..20).map(&mut packet).collect();
        best += best_length(&packets);
        sequencer.order(&packets, &ResourceVec::ZERO, &mut order);
        lengths[0] += length(&packets, &ResourceVec::ZERO, &order);
        let mut previous = ResourceVec::ZERO;
        for firsts in packets.chunks(5) {
            sequencer.order(firsts, &previous, &mut order);
            lengths[1] += length(firsts, &previous, &order);
            previous = firsts[order[4] as usize].cost;
        }
        lengths[2] += length(&packets, &ResourceVec::ZERO, &(0..20).collect::<Vec<u32>>());
    }
    lengths.map(|length| 100.0 * (length as f64 / best as f64 - 1.0))
}

fn best_length(packets: &[Packet<2>]) -> u64 {
    let jobs: Vec<[u64; 2]> = packets.iter().map(|p| [p.cost[0].as_nanos(), p.cost[1].as_nanos()]).collect();
    let longest = jobs.iter().map(|job| job[1]).max().unwrap_or(0);
    let mut order = Vec::new();
    GilmoreGomory::default().order(&jobs, [longest, 0], &mut order);
    length(packets, &ResourceVec::ZERO, &order)
}

#[test]
fn turns_cost_nothing_if_the_packets_of_each_flow_are_alike() {
    let [used, firsts, unordered] = cost_of_turns(false);
    println!("alike: {used:.1} %, first packets only {firsts:.1} %, as they come {unordered:.1} %");
    assert!(used == 0.0 && firsts > 0.0 && unordered > 10.0);
}

#[test]
fn turns_of_mixed_packets_cost_less_than_loops_of_first_packets() {
    // What the documentation of `atfq` says, rounded up.
    let [used, firsts, unordered] = cost_of_turns(true);
    println!("mixed: {used:.1} %, first packets only {firsts:.1} %, as they come {unordered:.1} %");
    assert!(used < 4.0 && used < firsts && firsts < unordered);
}

/// The least length of any order in which each of `flows` flows has its packets in turn: by how many of each flow have
/// been, and whose the last one was.
fn least_in_turn(packets: &[Packet<2>], previous: &ResourceVec<2>, flows: usize) -> u64 {
    let own: Vec<Vec<&Packet<2>>> =
        (0..flows as u32).map(|flow| packets.iter().filter(|p| p.flow == flow).collect()).collect();
    let step = |before: &ResourceVec<2>, cost: &ResourceVec<2>| gap(before, cost) + cost[0].as_nanos();
    let mut shortest = std::collections::BTreeMap::from([((vec![0; flows], usize::MAX), 0)]);
    for _ in packets {
        let mut longer = std::collections::BTreeMap::new();
        for ((been, last), length) in shortest {
            let before = own.get(last).map_or(previous, |own| &own[been[last] - 1].cost);
            for next in (0..flows).filter(|&f| been[f] < own[f].len()) {
                let way = length + step(before, &own[next][been[next]].cost);
                let mut been = been.clone();
                been[next] += 1;
                let entry = longer.entry((been, next)).or_insert(way);
                *entry = way.min(*entry);
            }
        }
        shortest = longer;
    }
    shortest.into_values().min().unwrap_or(0)
}

/// Mean and largest excess of loops of mixed packets over the best order that keeps flows in turn, in per cent.
fn excess_in_turn(flows: usize, count: u32, loops: usize) -> [f64; 2] {
    let mut random = Random::new(13);
    let (mut order, mut sequencer) = (Vec::new(), Sequencer::default());
    let [mut mean, mut most] = [0.0f64; 2];
    for _ in 0..loops {
        let previous = random_cost(&mut random);
        let packets: Vec<Packet<2>> =
            (0..count).map(|k| Packet { flow: k % flows as u32, cost: random_cost(&mut random) }).collect();
        sequencer.order(&packets, &previous, &mut order);
        let least = least_in_turn(&packets, &previous, flows);
        let over = 100.0 * (length(&packets, &previous, &order) as f64 / least as f64 - 1.0);
        assert!(over >= 0.0);
        (mean, most) = (mean + over / loops as f64, most.max(over));
    }
    [mean, most]
}

#[test]
fn mixed_packets_come_close_to_the_best_order_in_turn() {
    let (two, three, five) = (excess_in_turn(2, 20, 200), excess_in_turn(3, 21, 100), excess_in_turn(5, 15, 60));
    println!("two flows {two:?}, three {three:?}, five {five:?}");
    assert_eq!(two[1], 0.0, "one merge of two sequences is the best");
    // What the documentation of `merge` says, rounded up.
    assert!(three[0] < 1.0 && three[1] < 7.0 && five[0] < 2.0 && five[1] < 8.0);
}
