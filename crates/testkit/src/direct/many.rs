//! Who has the bonus of more than two resources: the linear program (21) over the occupied cells, by its vertices.
//!
//! A cell is a class of the head's normalised times (units of 2^-20, rounded up) on each resource, and stands in the
//! program as its lower corner. Of all choices of as many columns as there are resources, among them the slack of each,
//! that one is right for which no bonus is below nothing and no other column is worth more than it takes. Of the flows
//! in cells near a basic one that has a bonus, the favoured one has the least sum of what it has had and its whole
//! head; equals go by index. Their shares are those of the program for their own times, rounded down to 2^-42.

use std::collections::BTreeMap;

use dovetail_sched::tradeoff::{Grid, gain};

use super::{DirectTradeoff, Head, normalised};

/// The cells with backlogged flows.
#[derive(Clone, Debug)]
pub(super) struct Occupied<const M: usize> {
    pub grid: Grid,
    /// By its classes: the most that a flow that is in it has had.
    pub most: BTreeMap<[u32; M], u128>,
    /// The basis that was right last, which is tried first.
    pub guess: Option<Vec<[u32; M]>>,
}

/// Units of 2^-20, rounded up.
fn times<const M: usize>(head: &Head<M>) -> [u32; M] {
    normalised(&head.cost).map(|time| time.div_ceil(1 << 12) as u32)
}

impl<const M: usize, P> DirectTradeoff<M, P> {
    fn classes(&self, head: &Head<M>) -> [u32; M] {
        times(head).map(|time| self.cells.grid.class(time))
    }

    /// The flow has another head or none, or has come.
    pub(super) fn move_cell(&mut self, flow: usize, ended: Option<&Head<M>>) {
        if M == 2 {
            return;
        }
        let from = ended.map(|head| self.classes(head));
        let to = self.flows[flow].head.as_ref().map(|head| self.classes(head));
        if from == to {
            return;
        }
        let mut behind = 0;
        if let (Some(from), Some(ended)) = (from, ended) {
            behind = self.cells.most[&from].saturating_sub(self.flows[flow].had_of_all).min(ended.service);
            let others = self.backlogged().filter(|&(i, ..)| i != flow);
            if !others.map(|(_, _, head)| self.classes(head)).any(|classes| classes == from) {
                self.cells.most.remove(&from);
            }
        }
        if let Some(to) = to {
            let Occupied { grid, most, .. } = &mut self.cells;
            let near = most.iter().filter(|(cell, _)| grid.are_near(&to, &cell[..])).map(|(_, had)| *had);
            let near = near.max().unwrap_or(0);
            self.flows[flow].had_of_all = most.entry(to).or_insert(near).saturating_sub(behind);
        }
    }

    /// The flow pays for what it has had.
    pub(super) fn charge_in_cell(&mut self, flow: usize) {
        let bonus = self.take_uncharged(flow);
        let record = &mut self.flows[flow];
        let Some(head) = record.head.as_ref().filter(|_| bonus > 0) else { return };
        let had = record.had_of_all.max(record.most_near.saturating_sub(head.service)) + bonus;
        record.had_of_all = had;
        let classes = times(head).map(|time| self.cells.grid.class(time));
        if let Some(most) = self.cells.most.get_mut(&classes) {
            *most = had.max(*most);
        }
    }

    /// The favoured flows in the order of the basic cells.
    pub(super) fn by_vertices(&mut self, left: [f64; M]) -> [Option<(usize, f64)>; M] {
        let mut favoured = [None; M];
        let left = left.map(|left| (left * 4_294_967_296.0) as i128);
        let cells: Vec<[u32; M]> = self.cells.most.keys().copied().collect();
        let corners: Vec<_> = cells.iter().map(|cell| cell.map(|class| self.cells.grid.least(class))).collect();
        let (basis, solution) = best(&corners, &left, self.cells.guess.take());
        self.cells.guess = Some(basis);
        let mut flows: Vec<usize> = Vec::new();
        for (cell, _) in cells.iter().zip(&solution).filter(|(_, bonus)| **bonus > 0.0) {
            let is_near = |classes: &[u32; M]| self.cells.grid.are_near(cell, classes);
            let finish = |(i, f, h): (usize, &super::Flow<M, P>, &Head<M>)| (f.had_of_all + h.service, i);
            let near = self.backlogged().filter(|(_, _, h)| is_near(&self.classes(h)));
            let Some((_, flow)) = near.map(finish).min() else { continue };
            let most = self.cells.most.iter().filter(|(classes, _)| is_near(classes)).map(|(_, most)| *most).max();
            if !flows.contains(&flow) {
                flows.push(flow);
                self.flows[flow].most_near = most.unwrap_or(0);
            }
        }
        let own: Vec<_> = flows.iter().filter_map(|&flow| self.flows[flow].head.as_ref().map(times)).collect();
        let (_, shares) = best(&own, &left, None);
        for (slot, (flow, bonus)) in flows.into_iter().zip(shares).enumerate().filter(|(_, (_, bonus))| *bonus > 0.0) {
            favoured[slot] = Some((flow, bonus));
        }
        favoured
    }
}

/// The best basis for these columns, and the bonus of each, rounded down to 2^-42.
pub fn best<const M: usize>(
    columns: &[[u32; M]],
    left: &[i128; M],
    guess: Option<Vec<[u32; M]>>,
) -> (Vec<[u32; M]>, Vec<f64>) {
    let slacks = (0..M).map(|r| (std::array::from_fn(|s| if r == s { 1 << 20 } else { 0 }), 0));
    let all: Vec<([u32; M], i128)> =
        columns.iter().map(|column| (*column, i128::from(gain(column)))).chain(slacks).collect();
    // A flow may have the times of a slack; it is the first of the two, and worth more.
    let find = |column: &[u32; M]| all.iter().position(|(other, _)| other == column);
    let guess = guess.and_then(|basis| basis.iter().map(find).collect::<Option<Vec<_>>>());
    let solved = guess.and_then(|basis| Some((solve(&all, &basis, left)?, basis))).or_else(|| {
        let mut basis: Vec<usize> = (0..M).collect();
        loop {
            if let Some(solution) = solve(&all, &basis, left) {
                return Some((solution, basis));
            }
            // The next choice of M of the columns, in lexicographic order.
            let movable = (0..M).rev().find(|&i| basis[i] < all.len() - M + i)?;
            basis[movable] += 1;
            (movable + 1..M).for_each(|i| basis[i] = basis[i - 1] + 1);
        }
    });
    let (solution, basis) = solved.unwrap_or_else(|| panic!("{columns:?} with {left:?} left have no best basis"));
    let mut bonus = vec![0.0; all.len()];
    basis.iter().zip(solution).for_each(|(&column, b)| bonus[column] = b);
    bonus.truncate(columns.len());
    (basis.iter().map(|&column| all[column].0).collect(), bonus)
}

/// The bonuses of these columns if they use up what is left, none is below 0, and no column is worth more than it
/// takes.
fn solve<const M: usize>(all: &[([u32; M], i128)], basis: &[usize], left: &[i128; M]) -> Option<[f64; M]> {
    let rows: Vec<Vec<i128>> = basis.iter().map(|&c| all[c].0.iter().map(|&t| i128::from(t)).collect()).collect();
    let determinant = determinant(&rows);
    if determinant == 0 {
        return None;
    }
    let sign = determinant.signum();
    // Cramer's rule: a bonus has what is left in the place of its column.
    let replaced = |i: usize, row: &[i128]| {
        let mut rows = rows.clone();
        rows[i] = row.to_vec();
        sign * self::determinant(&rows)
    };
    let bonus: [i128; M] = std::array::from_fn(|i| replaced(i, left));
    if bonus.iter().any(|&b| b < 0) {
        return None;
    }
    // A column is worth its parts of the basic ones' gains.
    let is_no_better = |(column, gain): &([u32; M], i128)| {
        let column: Vec<i128> = column.iter().map(|&t| i128::from(t)).collect();
        let worth: i128 = (0..M).map(|i| replaced(i, &column) * all[basis[i]].1).sum();
        worth >= gain * determinant * sign
    };
    all.iter()
        .all(is_no_better)
        .then(|| bonus.map(|b| ((b << 30) / (determinant * sign)) as f64 / (1_u64 << 42) as f64))
}

fn determinant(rows: &[Vec<i128>]) -> i128 {
    let Some((first, rest)) = rows.split_first() else { return 1 };
    let minor = |without: usize| {
        let row = |row: &Vec<i128>| row.iter().enumerate().filter(|(i, _)| *i != without).map(|(_, e)| *e).collect();
        determinant(&rest.iter().map(row).collect::<Vec<Vec<i128>>>())
    };
    let sign = |i: usize| if i.is_multiple_of(2) { 1 } else { -1 };
    (0..first.len()).filter(|&i| first[i] != 0).map(|i| sign(i) * first[i] * minor(i)).sum()
}
