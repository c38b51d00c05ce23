//! Whose turn it is to be favoured where there are more than two resources.
//!
//! With two, order (23) has ends, and the bonus is for those near them ([`turns`](super::turns)). With more there is no
//! order: heads are points with a time on each resource, and the bonus is for up to `M` of them, a basic solution of
//! the linear program (21). So the heads are put into *cells*: per resource the normalised time's class, of which each
//! is wider than the one before by half the tolerance. A cell stands in the program ([`program`](super::program)) as
//! its lower corner, no matter who is in it. The basis is kept from one solution to the next: it changes only when a
//! cell comes or goes, or when with other loads it is not feasible any more.
//!
//! The bonus of a basic cell is for those near it: in cells that differ by no more than one class on each resource. A
//! head near a cell takes at most 1 + tolerance of what the corner takes (and 2^-20 of a resource), so that no more of
//! the best bonus than that part is lost (`docs/theory/tradeoff-many.md`). Of these flows it is the turn of the one
//! with the least *finish*: what it has had of bonuses, divided by its weight, and its whole head packet. Who comes to
//! a cell starts with as much as anybody there or near it has had, less by what it was behind in the cell that it
//! comes from. The shares are then those of the program for the flows whose turn it is, by their own times.
//!
//! Cost: O(log n) for a head in the tree of its cell and the cell among all; a look at every cell for each of some M
//! steps from one basis to the next; one more to see who is near. A call looks at no more than [`LOOKS`] cells. What
//! is not looked at is looked at next time: where heads fall into more cells than [`MANY`], which takes so many kinds
//! of packets at a time, a bonus can be less than the best one for some events, and who is in the same cell is near.

use alloc::vec::Vec;
use core::cmp::Reverse;

use dovetail_units::{Duration, ResourceVec, Weight};

use super::bonus::{Bonus, Favours};
use super::flow::Times;
use super::forest::Forest;
use super::program::{Basis, Column, Name, SHARE_BITS, UNIT, UNIT_BITS};
use crate::queues::{NIL, Unfinished};
use crate::steps;
use crate::tag;

/// So many cells are looked at for one solution, and all are for who is near another.
const MANY: usize = 48;
/// So many are looked at in a call.
const LOOKS: usize = 300;
/// As [`EVENTS_PER_CALL`](super::EVENTS_PER_CALL), which take longer here.
pub const EVENTS_OF_MANY: usize = 4;
/// From one basis to the best one in so many steps, of which it takes some `M`.
const STEPS: usize = 40;
/// Finishes are below 2^95 ticks.
const LAST: u128 = (1 << 95) - 1;

/// The classes of normalised times.
#[derive(Clone, Debug)]
pub struct Grid {
    /// The least time of each class but class 0, which is that of no time; empty where only equals are in one class.
    least: Vec<u32>,
}

impl Grid {
    /// Of which two neighbouring classes are wide enough for times that differ by this part.
    pub fn new(tolerance: f64) -> Self {
        // Its square is 1 + tolerance at most: the series of the root, without what comes after.
        let factor = 1.0 + tolerance / 2.0 - tolerance * tolerance / 8.0;
        let mut least = Vec::new();
        let mut next = 1;
        while factor > 1.0 && next <= UNIT {
            least.push(next);
            next = ((f64::from(next) * factor) as u32).max(next + 1);
        }
        Self { least }
    }

    /// The class of a time in units of 2^-20.
    pub fn class(&self, time: u32) -> u32 {
        if self.least.is_empty() { time } else { self.least.partition_point(|&least| least <= time) as u32 }
    }

    /// The least time of a class.
    pub fn least(&self, class: u32) -> u32 {
        match class.checked_sub(1) {
            Some(class) if !self.least.is_empty() => self.least[class as usize],
            _ => class,
        }
    }

    /// Whether heads in these cells take turns.
    #[inline]
    pub fn are_near(&self, a: &[u32], b: &[u32]) -> bool {
        let apart = u32::from(!self.least.is_empty());
        a.iter().zip(b).all(|(a, b)| a.abs_diff(*b) <= apart)
    }
}

/// One flow's part in the turns.
#[derive(Clone, Copy, Debug)]
struct Turn<const M: usize> {
    /// Its cell, if `epoch` is the present one; or [`NIL`].
    cell: u32,
    epoch: u32,
    /// What it is counted to have had of bonuses, in ticks of virtual time; and the most that a flow near it had when
    /// it was last favoured.
    had: u128,
    most: u128,
    /// Virtual service time of its head.
    head: u128,
    /// Of a tick that earlier services have left, in thousandths of the weight.
    part: u32,
    /// For how long the head uses the resources, in all, at most: ticks of time.
    work: u128,
    /// The head's normalised times, in units of 2^-20, rounded up.
    times: [u32; M],
}

/// Heads of nearly equal proportions.
#[derive(Clone, Copy, Debug)]
struct Cell<const M: usize> {
    classes: [u32; M],
    column: Column<M>,
    /// The most that a flow that is in it has had.
    most: u128,
    /// Of the tree of its flows by finish.
    root: u32,
    /// Where it is in the list of cells.
    at: u32,
}

/// The backlogged flows in their cells.
#[derive(Clone, Debug)]
pub struct Cells<const M: usize> {
    grid: Grid,
    flows: Vec<Turn<M>>,
    by_finish: Forest<u128>,
    /// By number, with some that are not in use.
    cells: Vec<Cell<M>>,
    free: Vec<u32>,
    /// Those in use.
    live: Vec<u32>,
    by_classes: Forest<[u32; M]>,
    root: u32,
    /// How often all flows have left at once.
    epoch: u32,
    basis: Basis<M>,
    /// No cell would do better than those in the basis.
    is_best: bool,
    /// Where in `live` the next look is.
    cursor: usize,
    /// Cells that may be looked at in this call.
    looks: usize,
}

impl<const M: usize> Bonus<M> for Cells<M> {
    type Place = Times<M>;
    // Times are rounded up by 2^-20 of a resource for each flow that has a bonus.
    const SPARE: u32 = 16;
    const EVENTS: usize = EVENTS_OF_MANY;

    fn new(tolerance: f64) -> Self {
        Self {
            grid: Grid::new(tolerance),
            flows: Vec::new(),
            by_finish: Forest::default(),
            cells: Vec::new(),
            free: Vec::new(),
            live: Vec::new(),
            by_classes: Forest::default(),
            root: NIL,
            epoch: 0,
            basis: Basis::new(),
            is_best: false,
            cursor: 0,
            looks: LOOKS,
        }
    }

    fn place(cost: &ResourceVec<M>) -> Times<M> {
        Times::of(cost)
    }

    fn normalised(place: Times<M>) -> [u64; M] {
        place.0
    }

    fn next_call(&mut self) {
        self.looks = LOOKS;
    }

    fn forget(&mut self, flow: u32) {
        if let Some(turn) = self.flows.get_mut(flow as usize) {
            turn.part = 0;
        }
    }

    fn join(&mut self, flow: u32) {
        let blank = Turn { cell: NIL, epoch: 0, had: 0, most: 0, head: 0, part: 0, work: 0, times: [0; M] };
        if self.flows.len() <= flow as usize {
            self.flows.resize(flow as usize + 1, blank);
        }
        self.flows[flow as usize].cell = NIL;
    }

    fn leave(&mut self, flow: u32) {
        if let Some(cell) = self.cell_of(flow) {
            self.take_out(flow, cell);
        }
    }

    fn take_head(&mut self, flow: u32, place: Times<M>, (time, weight): (Duration, Weight), work: u128) -> u128 {
        let cell = self.cell_of(flow);
        let turn = &mut self.flows[flow as usize];
        let (service, part) = tag::virtual_time(time.as_nanos() as i64, weight, turn.part);
        let service = (service as u128).max(1);
        let before = core::mem::replace(&mut turn.head, service);
        (turn.part, turn.work) = (part, work);
        turn.times = place.0.map(|time| time.div_ceil(1 << (32 - UNIT_BITS)) as u32);
        let classes = turn.times.map(|time| self.grid.class(time));
        match cell {
            Some(cell) if self.cells[cell as usize].classes == classes => self.set_finish(flow, cell),
            Some(cell) => {
                let behind = self.cells[cell as usize].most.saturating_sub(self.flows[flow as usize].had);
                self.take_out(flow, cell);
                self.put_in(flow, classes, behind.min(before));
            }
            None => self.put_in(flow, classes, 0),
        }
        service
    }

    fn work(&self, flow: u32) -> u128 {
        self.flows[flow as usize].work
    }

    fn scale(&mut self, flow: u32, scale: impl Fn(i128) -> i128) {
        let turn = &mut self.flows[flow as usize];
        turn.head = scale(turn.head as i128) as u128;
        if let Some(cell) = self.cell_of(flow) {
            self.set_finish(flow, cell);
        }
    }

    /// Who was long not near a cell with a bonus, and had nothing meanwhile, is not given it now.
    fn charge(&mut self, flow: u32, _slot: usize, bonus: u128) {
        if bonus == 0 {
            return;
        }
        let turn = &mut self.flows[flow as usize];
        let least = turn.most.saturating_sub(turn.head);
        turn.had = (turn.had.max(least) + bonus).min(LAST);
        let had = turn.had;
        if let Some(cell) = self.cell_of(flow) {
            let most = &mut self.cells[cell as usize].most;
            *most = had.max(*most);
            self.set_finish(flow, cell);
        }
    }

    fn clear(&mut self) {
        self.cells.clear();
        self.free.clear();
        self.live.clear();
        self.root = NIL;
        self.epoch = self.epoch.wrapping_add(1);
        (self.basis, self.is_best) = (Basis::new(), false);
    }

    fn allocate(&mut self, left: [f64; M], _place: impl Fn(u32) -> Option<Times<M>>) -> Result<Favours<M>, Unfinished> {
        const SHARE: f64 = (1_u64 << SHARE_BITS) as f64;
        let left = left.map(|left| (left * SHARE) as i64);
        self.improve(&left);
        self.fill(&left);
        Ok(self.favoured(&left))
    }
}

impl<const M: usize> Cells<M> {
    fn cell_of(&self, flow: u32) -> Option<u32> {
        let turn = self.flows.get(flow as usize)?;
        Some(turn.cell).filter(|&cell| cell != NIL && turn.epoch == self.epoch)
    }

    fn put_in(&mut self, flow: u32, classes: [u32; M], behind: u128) {
        let cell = match self.by_classes.find(self.root, classes) {
            Some(cell) => cell,
            None => self.open(classes),
        };
        let Cell { root, most, .. } = self.cells[cell as usize];
        let turn = &mut self.flows[flow as usize];
        (turn.cell, turn.epoch, turn.had) = (cell, self.epoch, most.saturating_sub(behind));
        self.cells[cell as usize].root = self.by_finish.insert(root, flow, turn.had + turn.head);
    }

    fn take_out(&mut self, flow: u32, cell: u32) {
        let root = self.by_finish.remove(self.cells[cell as usize].root, flow);
        self.cells[cell as usize].root = root;
        self.flows[flow as usize].cell = NIL;
        if root == NIL {
            self.close(cell);
        }
    }

    fn set_finish(&mut self, flow: u32, cell: u32) {
        let Turn { had, head, .. } = self.flows[flow as usize];
        let root = self.by_finish.remove(self.cells[cell as usize].root, flow);
        self.cells[cell as usize].root = self.by_finish.insert(root, flow, had + head);
    }

    /// The first flow comes to a cell.
    fn open(&mut self, classes: [u32; M]) -> u32 {
        let near = self.near(&classes).map(|cell| self.cells[cell as usize].most);
        let most = near.max().unwrap_or(0);
        let column = Column::of(classes.map(|class| self.grid.least(class)));
        let cell = Cell { classes, column, most, root: NIL, at: self.live.len() as u32 };
        let number = match self.free.pop() {
            Some(number) => {
                self.cells[number as usize] = cell;
                number
            }
            None => {
                self.cells.push(cell);
                self.cells.len() as u32 - 1
            }
        };
        self.live.push(number);
        self.root = self.by_classes.insert(self.root, number, classes);
        self.is_best = false;
        number
    }

    /// The last flow has left a cell.
    fn close(&mut self, cell: u32) {
        let at = self.cells[cell as usize].at;
        self.live.swap_remove(at as usize);
        if let Some(&moved) = self.live.get(at as usize) {
            self.cells[moved as usize].at = at;
        }
        self.root = self.by_classes.remove(self.root, cell);
        self.free.push(cell);
        if self.basis.has(cell) {
            (self.basis, self.is_best) = (Basis::new(), false);
        }
    }

    /// The cells near these classes, if there are not too many to look at.
    fn near<'a>(&'a self, classes: &'a [u32; M]) -> impl Iterator<Item = u32> + 'a {
        let all = if self.live.len() <= MANY { self.live.as_slice() } else { &[] };
        all.iter().copied().filter(|&cell| {
            steps::take(1);
            self.grid.are_near(&self.cells[cell as usize].classes, classes)
        })
    }

    /// From the last basis to the best one, where so much is left of every resource.
    fn improve(&mut self, left: &[i64; M]) {
        if !self.basis.set(left) {
            (self.basis, self.is_best) = (Basis::new(), false);
            self.basis.set(left);
        }
        for _ in 0..STEPS {
            if self.is_best {
                return;
            }
            let cell = self.best_of_others();
            match (cell, self.basis.idle()) {
                (Some((gain, cell)), idle) if idle.is_none_or(|(slack, _)| gain >= slack) => {
                    self.basis.enter(Name::Column(cell), self.cells[cell as usize].column, left);
                }
                (_, Some((_, slack))) => self.basis.enter(Name::Slack, slack, left),
                _ => return,
            }
        }
    }

    /// Where nobody has a bonus only because this call may look at no more cells, some cell has it: with alpha = 0
    /// nothing would ever happen again.
    fn fill(&mut self, left: &[i64; M]) {
        let is_empty = self.basis.solution().next().is_none();
        if let (true, false, Some(&cell)) = (is_empty, self.is_best, self.live.first()) {
            self.basis.enter(Name::Column(cell), self.cells[cell as usize].column, left);
        }
    }

    /// The cell whose bonus would be worth the most beyond what it takes, and how much that is; if all were looked at
    /// and there is none, the basis is the best one.
    fn best_of_others(&mut self) -> Option<(i128, u32)> {
        let looks = self.live.len().min(MANY).min(self.looks);
        self.looks -= looks;
        let mut best = None;
        for _ in 0..looks {
            steps::take(1);
            self.cursor = if self.cursor + 1 < self.live.len() { self.cursor + 1 } else { 0 };
            let number = self.live[self.cursor];
            let cell = &self.cells[number as usize];
            let gain = self.basis.reduced(&cell.column);
            if gain > 0 {
                best = best.max(Some((gain, Reverse(cell.classes), number)));
            }
        }
        self.is_best = best.is_none() && looks == self.live.len() && self.basis.idle().is_none();
        best.map(|(gain, _, cell)| (gain, cell))
    }

    /// The flows whose turn it is, with the bonuses that are best for them.
    fn favoured(&mut self, left: &[i64; M]) -> [Option<(u32, f64)>; M] {
        let mut basic = [([u32::MAX; M], NIL); M];
        for (place, (cell, _)) in basic.iter_mut().zip(self.basis.solution()) {
            *place = (self.cells[cell as usize].classes, cell);
        }
        basic.sort_unstable();
        let mut flows = [NIL; M];
        let mut slot = 0;
        for (classes, cell) in basic.iter().take_while(|(_, cell)| *cell != NIL) {
            let near = self.near(classes).chain([*cell]).map(|cell| &self.cells[cell as usize]);
            let first = |cell: &Cell<M>| Some((self.by_finish.first(cell.root)?, cell.most));
            let turns = near.filter_map(first).fold((None, 0), |(least, most), (finish, had)| {
                (Some(least.map_or(finish, |least: (u128, u32)| least.min(finish))), had.max(most))
            });
            let (Some((_, flow)), most) = turns else { continue };
            if !flows.contains(&flow) {
                flows[slot] = flow;
                self.flows[flow as usize].most = most;
                slot += 1;
            }
        }
        let times = flows.map(|flow| (flow != NIL).then(|| (flow, self.flows[flow as usize].times)));
        solve(&times, left)
    }
}

/// The best bonuses for these flows with these times.
fn solve<const M: usize>(flows: &[Option<(u32, [u32; M])>; M], left: &[i64; M]) -> [Option<(u32, f64)>; M] {
    let columns = flows.map(|flow| flow.map(|(_, times)| Column::of(times)));
    let mut basis = Basis::new();
    basis.set(left);
    for _ in 0..STEPS {
        let slots = (0..M).filter_map(|slot| Some((slot, columns[slot]?)));
        let gains =
            slots.map(|(slot, column)| (basis.reduced(&column), Reverse(slot), Name::Column(slot as u32), column));
        let idle = basis.idle().map(|(gain, column)| (gain, Reverse(M), Name::Slack, column));
        let best = gains.chain(idle).filter(|(gain, ..)| *gain > 0).max_by_key(|&(gain, slot, ..)| (gain, slot));
        let Some((_, _, name, column)) = best else { break };
        basis.enter(name, column, left);
    }
    let mut favoured = [None; M];
    for (slot, bonus) in basis.solution() {
        favoured[slot as usize] = flows[slot as usize].map(|(flow, _)| (flow, bonus));
    }
    favoured
}
