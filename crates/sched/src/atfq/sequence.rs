//! The order of the packets inside a loop.

use alloc::vec::Vec;

use dovetail_units::ResourceVec;

use super::active_time::gap;
use super::gilmore_gomory::GilmoreGomory;
use super::insertion;
use super::merge::Merger;

/// What the order of a loop depends on.
pub trait Sequenced<const M: usize> {
    /// The packet's flow: packets of one flow must keep their order.
    fn flow(&self) -> u32;
    /// The packet's times.
    fn cost(&self) -> &ResourceVec<M>;
}

/// Orders loops; keeps its working memory from one to the next.
#[derive(Clone, Debug, Default)]
pub struct Sequencer {
    gilmore_gomory: GilmoreGomory,
    jobs: Vec<[u64; 2]>,
    merger: Merger,
    candidate: Vec<u32>,
    /// Places in the order, and packets, each sorted by what they have in common.
    places: Vec<u32>,
    packets: Vec<u32>,
}

impl Sequencer {
    /// Put the indices of `loop_packets` into `order` so that the first resource is soon free for good, after a packet
    /// with the times of `previous`. Packets that are alike, and packets of one flow, keep their order. O(x log x)
    /// for x packets, and O(x) more for each of the first 32 where the order is not known to be the best.
    pub fn order<const M: usize, T: Sequenced<M>>(
        &mut self,
        loop_packets: &[T],
        previous: &ResourceVec<M>,
        order: &mut Vec<u32>,
    ) {
        if M < 2 || loop_packets.len() < 2 {
            order.clear();
            order.extend(0..loop_packets.len() as u32);
            return;
        }
        if M == 2 {
            self.gilmore_gomory(1, loop_packets, previous, order);
        } else {
            self.best_known(loop_packets, previous, order);
        }
        self.keep_in_turn(order, |k| loop_packets[k as usize].cost().0);
        if self.keep_in_turn(order, |k| loop_packets[k as usize].flow()) {
            self.merger.improve(loop_packets, previous, order);
        }
    }

    /// The order of least gaps among that of insertion and M - 1 of Gilmore and Gomory, [polished](insertion::polish).
    ///
    /// Time until the first resource is free for good, beyond the least possible, and that of packets in any order:
    /// mean (and largest) of 1000 random loops, times uniform in 0..=100 (`crates/testkit/tests/atfq_orders.rs`):
    ///
    /// | packets | 3 resources | any order | 4 resources | any order |
    /// | --- | --- | --- | --- | --- |
    /// | 4 | 0.1 % (7 %) | 23 % | 0.1 % (14 %) | 24 % |
    /// | 6 | 0.2 % (7 %) | 27 % | 0.1 % (6 %) | 30 % |
    /// | 8 | 0.5 % (10 %) | 30 % | 0.5 % (8 %) | 33 % |
    /// | 10 | 0.8 % (8 %) | 31 % | 0.9 % (7 %) | 35 % |
    fn best_known<const M: usize, T: Sequenced<M>>(
        &mut self,
        loop_packets: &[T],
        previous: &ResourceVec<M>,
        order: &mut Vec<u32>,
    ) {
        let mut candidate = core::mem::take(&mut self.candidate);
        let mut least = u64::MAX;
        for two in 1..=M {
            if two < M {
                self.gilmore_gomory(two, loop_packets, previous, &mut candidate);
                insertion::polish(loop_packets, previous, &mut candidate);
            } else {
                insertion::order(loop_packets, previous, &mut candidate);
            }
            let gaps = gaps(loop_packets, previous, &candidate);
            if gaps < least {
                least = gaps;
                core::mem::swap(order, &mut candidate);
            }
            if least == 0 {
                break;
            }
        }
        self.candidate = candidate;
    }

    /// The order of Gilmore and Gomory for two of the sums of which equation (3) is the largest difference: the times
    /// on the first `up_to` resources, and on as many from the second one on. It has the least gaps if that
    /// difference is nowhere smaller than the others: with `up_to` 1 if every later resource takes none of the
    /// packets longer than the one before it takes any (section IV-B, by which it is the best order for CPU, memory and
    /// link).
    fn gilmore_gomory<const M: usize, T: Sequenced<M>>(
        &mut self,
        up_to: usize,
        loop_packets: &[T],
        previous: &ResourceVec<M>,
        order: &mut Vec<u32>,
    ) {
        let sum = |cost: &ResourceVec<M>, from: usize| cost.iter().skip(from).take(up_to).map(|t| t.as_nanos()).sum();
        let times = |cost: &ResourceVec<M>| -> [u64; 2] { [sum(cost, 0), sum(cost, 1)] };
        self.jobs.clear();
        self.jobs.extend(loop_packets.iter().map(|p| times(p.cost())));
        // Equation (9).
        let longest = self.jobs.iter().map(|job| job[1]).max().unwrap_or(0);
        self.gilmore_gomory.order(&self.jobs, [longest, times(previous)[1]], order);
    }

    /// Deal out the places that packets of equal keys have in the order to these packets as they come; whether that
    /// changes the order.
    fn keep_in_turn<K: Ord>(&mut self, order: &mut [u32], key: impl Fn(u32) -> K) -> bool {
        let everything = 0..order.len() as u32;
        self.places.clear();
        self.places.extend(everything.clone());
        self.places.sort_unstable_by_key(|&place| (key(order[place as usize]), place));
        self.packets.clear();
        self.packets.extend(everything);
        self.packets.sort_unstable_by_key(|&packet| (key(packet), packet));
        let mut changed = false;
        for (&place, &packet) in self.places.iter().zip(&self.packets) {
            changed |= core::mem::replace(&mut order[place as usize], packet) != packet;
        }
        changed
    }
}

fn gaps<const M: usize, T: Sequenced<M>>(packets: &[T], previous: &ResourceVec<M>, order: &[u32]) -> u64 {
    let mut before = previous;
    let cost = |&k: &u32| packets[k as usize].cost();
    order.iter().map(cost).map(|cost| gap(core::mem::replace(&mut before, cost), cost)).sum()
}
