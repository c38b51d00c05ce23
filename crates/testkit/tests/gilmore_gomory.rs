//! The Gilmore-Gomory order against the best of all orders.

use dovetail_sched::atfq::gilmore_gomory::GilmoreGomory;
use dovetail_testkit::random::Random;

const MOST: usize = 8;

/// What [`GilmoreGomory::order`] minimises, for an order.
fn length(jobs: &[[u64; 2]], around: [u64; 2], order: impl Iterator<Item = usize>) -> u64 {
    let (sum, last) = order.fold((0, around[1]), |(sum, before), k| (sum + before.max(jobs[k][0]), jobs[k][1]));
    sum + last.max(around[0])
}

/// The least of it over all orders: the shortest way through every set of jobs to each of its members (Held and Karp).
fn least(jobs: &[[u64; 2]], around: [u64; 2]) -> u64 {
    let all = (1usize << jobs.len()) - 1;
    let mut shortest = [[u64::MAX; MOST]; 1 << MOST];
    for (k, job) in jobs.iter().enumerate() {
        shortest[1 << k][k] = around[1].max(job[0]);
    }
    for set in 1..=all {
        for last in (0..jobs.len()).filter(|k| set & (1 << k) != 0) {
            let so_far = shortest[set][last];
            for next in (0..jobs.len()).filter(|k| set & (1 << k) == 0) {
                let way = &mut shortest[set | 1 << next][next];
                *way = (*way).min(so_far + jobs[last][1].max(jobs[next][0]));
            }
        }
    }
    (0..jobs.len()).map(|k| shortest[all][k] + jobs[k][1].max(around[0])).min().unwrap_or(around[0].max(around[1]))
}

/// Times from a range so small that most are equal, up to one so large that hardly any are; zero is always in it.
fn job(random: &mut Random, largest: u64) -> [u64; 2] {
    [random.between(0, largest), random.between(0, largest)]
}

#[test]
fn no_order_is_shorter() {
    let mut random = Random::new(3);
    let mut subject = GilmoreGomory::default();
    let mut order = Vec::new();
    for instance in 0..100_000 {
        let largest = [1, 3, 9, 30, 100_000][instance % 5];
        let jobs: Vec<[u64; 2]> = (0..random.between(0, MOST as u64)).map(|_| job(&mut random, largest)).collect();
        let around = match instance % 3 {
            0 => [0, 0],
            1 => [jobs.iter().map(|job| job[1]).max().unwrap_or(0), random.between(0, largest)],
            _ => job(&mut random, largest),
        };
        subject.order(&jobs, around, &mut order);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..jobs.len() as u32), "{order:?} is no order of {jobs:?}");
        let found = length(&jobs, around, order.iter().map(|&k| k as usize));
        assert_eq!(found, least(&jobs, around), "{jobs:?} around {around:?}: {order:?}");
    }
}

#[test]
fn known_makespans() {
    let mut order = Vec::new();
    for (first, second, makespan) in
        [(&[4, 1, 5, 2][..], &[3, 6, 2, 4][..], 16), (&[3, 1, 4, 1, 5], &[9, 2, 6, 5, 3], 26)]
    {
        let jobs: Vec<[u64; 2]> = first.iter().zip(second).map(|(&a, &b)| [a, b]).collect();
        GilmoreGomory::default().order(&jobs, [0, 0], &mut order);
        assert_eq!(length(&jobs, [0, 0], order.iter().map(|&k| k as usize)), makespan);
    }
}

/// The least length by the theory: the sorted times paired off, and the cheapest joins of the rings that this makes.
fn least_by_theory(jobs: &[[u64; 2]], around: [u64; 2]) -> u64 {
    let mut first: Vec<(u64, usize)> = jobs.iter().chain([&around]).enumerate().map(|(k, job)| (job[0], k)).collect();
    let mut second: Vec<(u64, usize)> = jobs.iter().chain([&around]).enumerate().map(|(k, job)| (job[1], k)).collect();
    first.sort_unstable();
    second.sort_unstable();
    let mut ring: Vec<usize> = (0..first.len()).collect();
    let join = |ring: &mut Vec<usize>, one: usize, other: usize| {
        let (from, to) = (ring[one], ring[other]);
        ring.iter_mut().filter(|r| **r == from).for_each(|r| *r = to);
    };
    for (a, b) in first.iter().zip(&second) {
        join(&mut ring, a.1, b.1);
    }
    let mut length: u64 = first.iter().zip(&second).map(|(a, b)| a.0.max(b.0)).sum();
    let cost = |p: usize| {
        let (least, most) = (first[p + 1].0.min(second[p + 1].0), first[p].0.max(second[p].0));
        least.saturating_sub(most)
    };
    while let Some(p) = (0..jobs.len()).filter(|&p| ring[second[p].1] != ring[second[p + 1].1]).min_by_key(|&p| cost(p))
    {
        length += cost(p);
        join(&mut ring, second[p].1, second[p + 1].1);
    }
    length
}

#[test]
fn many_packets_are_as_short_as_the_theory_says() {
    let mut random = Random::new(5);
    for largest in [5, 40, 1000, 100_000] {
        for count in [20, 100, 300] {
            let jobs: Vec<[u64; 2]> = (0..count).map(|_| job(&mut random, largest)).collect();
            let around = job(&mut random, largest);
            let mut order = Vec::new();
            GilmoreGomory::default().order(&jobs, around, &mut order);
            let found = length(&jobs, around, order.iter().map(|&k| k as usize));
            assert_eq!(found, least_by_theory(&jobs, around), "{count} packets of up to {largest}");
        }
    }
}
