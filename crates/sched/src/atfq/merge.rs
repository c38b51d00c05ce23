//! The order of packets that must keep their flows' order: each flow's packets are merged anew into the others, in the
//! best way there is.
//!
//! Merging two sequences so that the gaps are least takes a step for each pair of places, by dynamic programming. To do
//! so for every flow of a loop in turn costs about as much as trying all moves of single packets, and moves together
//! what belongs together. With two flows the first merge is the best order of all.
//!
//! Time until the first of two resources is free for good, beyond the best order that keeps flows in turn: mean (and
//! largest) of random loops, times uniform in 0..=100, every packet different (`crates/testkit/tests/atfq_orders.rs`):
//!
//! | flows | packets | merged | moved one by one |
//! | --- | --- | --- | --- |
//! | 2 | 20 | 0 % | 3.1 % (11 %) |
//! | 3 | 21 | 0.5 % (5 %) | 3.6 % (18 %) |
//! | 5 | 20 | 1.2 % (6 %) | 3.6 % (11 %) |
//!
//! A third pass gains a tenth of a per cent for half as much time again.

use alloc::vec::Vec;
use core::mem::take;

use dovetail_units::ResourceVec;

use super::active_time::gap;
use super::insertion::PIECE;
use super::sequence::Sequenced;
use crate::steps;

/// How often every flow is merged.
const PASSES: usize = 2;
/// The gaps of a merge that there is not.
const NEVER: u64 = u64::MAX / 2;

/// Merges; keeps its working memory from one loop to the next.
#[derive(Clone, Debug, Default)]
pub struct Merger {
    flows: Vec<u32>,
    /// Of the flow that is merged.
    own: Vec<u32>,
    /// Of the others.
    others: Vec<u32>,
    /// By how many others and own packets are placed, and whether the last one is an own one: the least gaps, and
    /// whether the one before it is an own one.
    least: Vec<[(u64, bool); 2]>,
}

/// Packets, the times of the one before them and of the one behind.
struct Line<'a, const M: usize, T> {
    packets: &'a [T],
    previous: &'a ResourceVec<M>,
    following: Option<&'a ResourceVec<M>>,
}

impl<'a, const M: usize, T: Sequenced<M>> Line<'a, M, T> {
    fn cost(&self, k: u32) -> &'a ResourceVec<M> {
        self.packets[k as usize].cost()
    }
}

impl Merger {
    /// Improve `order`, packets of each flow in turn. More than [`PIECE`] packets are improved piece by piece, at other
    /// borders in each pass: O(min(x, 32)) for each of x packets.
    pub fn improve<const M: usize, T: Sequenced<M>>(
        &mut self,
        packets: &[T],
        previous: &ResourceVec<M>,
        order: &mut [u32],
    ) {
        for pass in 0..PASSES {
            let mut from = 0;
            while from < order.len() {
                let shorter = if pass % 2 == 1 && from == 0 && order.len() > PIECE { PIECE / 2 } else { PIECE };
                let to = (from + shorter).min(order.len());
                let cost = |at: usize| packets[order[at] as usize].cost();
                let previous = from.checked_sub(1).map_or(previous, cost);
                let following = (to < order.len()).then(|| cost(to));
                self.piece(&Line { packets, previous, following }, &mut order[from..to]);
                from = to;
            }
        }
    }

    fn piece<const M: usize, T: Sequenced<M>>(&mut self, line: &Line<'_, M, T>, order: &mut [u32]) {
        let mut flows = take(&mut self.flows);
        flows.clear();
        flows.extend(order.iter().map(|&k| line.packets[k as usize].flow()));
        flows.sort_unstable();
        flows.dedup();
        if flows.len() > 1 {
            flows.iter().for_each(|&flow| self.merge(line, flow, order));
        }
        self.flows = flows;
    }

    /// Put this flow's packets between the others where the gaps are least.
    fn merge<const M: usize, T: Sequenced<M>>(&mut self, line: &Line<'_, M, T>, flow: u32, order: &mut [u32]) {
        let (is_own, is_other) = {
            let is_own = |k: &&u32| line.packets[**k as usize].flow() == flow;
            (is_own, move |k: &&u32| !is_own(k))
        };
        self.own.clear();
        self.own.extend(order.iter().filter(is_own));
        self.others.clear();
        self.others.extend(order.iter().filter(is_other));
        self.least.clear();
        let width = self.own.len() + 1;
        for (i, j) in (0..=self.others.len()).flat_map(|i| (0..width).map(move |j| (i, j))) {
            steps::take(usize::from(j == 0));
            // Before all there is one packet, which counts as one of the others.
            let (other, own) = (i.checked_sub(1).map(|i| self.others[i]), j.checked_sub(1).map(|j| self.own[j]));
            let reached = |cell: Option<usize>, next: Option<u32>, others: usize, owns: usize| {
                let (Some(cell), Some(next)) = (cell.and_then(|c| self.least.get(c)), next) else {
                    return (NEVER, false);
                };
                let next = line.cost(next);
                let before = others.checked_sub(1).map_or(line.previous, |at| line.cost(self.others[at]));
                let behind_other = cell[0].0.saturating_add(gap(before, next));
                let behind_own = owns
                    .checked_sub(1)
                    .map_or(NEVER, |at| cell[1].0.saturating_add(gap(line.cost(self.own[at]), next)));
                if behind_own < behind_other { (behind_own, true) } else { (behind_other, false) }
            };
            let cell = match (i, j) {
                (0, 0) => [(0, false), (NEVER, false)],
                _ => [
                    reached(i.checked_sub(1).map(|i| i * width + j), other, i.saturating_sub(1), j),
                    reached(j.checked_sub(1).map(|j| i * width + j), own, i, j.saturating_sub(1)),
                ],
            };
            self.least.push(cell);
        }
        self.write(line, order);
    }

    /// Follow the least gaps back from the end.
    fn write<const M: usize, T: Sequenced<M>>(&self, line: &Line<'_, M, T>, order: &mut [u32]) {
        let width = self.own.len() + 1;
        let (mut i, mut j) = (self.others.len(), self.own.len());
        let end = self.least[i * width + j];
        let to_end = |last: Option<&u32>| {
            last.zip(line.following).map_or(0, |(&last, following)| gap(line.cost(last), following))
        };
        let [other, own] = [to_end(self.others.last()), to_end(self.own.last())];
        let mut own_last = end[1].0.saturating_add(own) < end[0].0.saturating_add(other);
        for place in order.iter_mut().rev() {
            let before_own = self.least[i * width + j][usize::from(own_last)].1;
            if own_last {
                j -= 1;
                *place = self.own[j];
            } else {
                i -= 1;
                *place = self.others[i];
            }
            own_last = before_own;
        }
    }
}
