//! The order of the packets inside a loop.

use alloc::vec::Vec;

use dovetail_units::ResourceVec;

use super::gilmore_gomory::GilmoreGomory;
use super::insertion;

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
    /// Places in the order, and packets, each sorted by what they have in common.
    places: Vec<u32>,
    packets: Vec<u32>,
}

impl Sequencer {
    /// Put the indices of `loop_packets` into `order` so that the first resource is soon free for good, after a packet with the times of
    /// `previous`. Packets that are alike, and packets of one flow, keep their order. O(x log x) for x packets.
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
            self.best_of_two_resources(loop_packets, previous, order);
        } else {
            insertion::order(loop_packets, previous, order);
        }
        self.keep_in_turn(order, |k| loop_packets[k as usize].cost().0);
        if self.keep_in_turn(order, |k| loop_packets[k as usize].flow()) {
            insertion::improve(loop_packets, previous, order);
        }
    }

    fn best_of_two_resources<const M: usize, T: Sequenced<M>>(
        &mut self,
        loop_packets: &[T],
        previous: &ResourceVec<M>,
        order: &mut Vec<u32>,
    ) {
        let times = |cost: &ResourceVec<M>| [cost[0].as_nanos(), cost[1].as_nanos()];
        self.jobs.clear();
        self.jobs.extend(loop_packets.iter().map(|p| times(p.cost())));
        // Equation (9).
        let longest = self.jobs.iter().map(|job| job[1]).max().unwrap_or(0);
        self.gilmore_gomory.order(&self.jobs, [longest, times(previous)[1]], order);
    }

    /// Deal out the places that packets of equal keys have in the order to these packets as they come; whether that changes the order.
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
