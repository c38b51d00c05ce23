//! The order of packets through two resources without a buffer between them that takes the least time.
//!
//! Gilmore and Gomory, *Sequencing a one state-variable machine: a solvable case of the traveling salesman problem*,
//! Operations Research 12(5), 1964; Algorithm 1 of the ATFQ paper.

use alloc::vec::Vec;

use crate::steps;

/// Finds best orders; keeps its working memory from one to the next.
///
/// ```
/// use dovetail_sched::atfq::gilmore_gomory::GilmoreGomory;
///
/// // Times on the two resources. The least makespan of these four is 16 (the order 1, 2, 0, 3, for one).
/// let jobs = [[4, 3], [1, 6], [5, 2], [2, 4]];
/// let mut order = Vec::new();
/// GilmoreGomory::default().order(&jobs, [0, 0], &mut order);
/// let mut makespan = 0;
/// let mut ahead = 0;
/// for &job in &order {
///     let [first, second] = jobs[job as usize];
///     makespan += first.max(ahead);
///     ahead = second;
/// }
/// assert_eq!(makespan + ahead, 16);
/// ```
#[derive(Clone, Debug, Default)]
pub struct GilmoreGomory {
    /// Times on the second resource with their packets, sorted. A packet's place here is its position, p.
    second: Vec<(u64, u32)>,
    /// Times on the first resource with their packets, sorted: packet number p here is the original successor, phi(p).
    first: Vec<(u64, u32)>,
    /// The position of each packet.
    position: Vec<u32>,
    /// The position of the successor of each position.
    successor: Vec<u32>,
    components: Components,
    /// What exchanging the successors of p and p + 1 costs.
    exchanges: Vec<(u64, u32)>,
    /// Chosen exchanges, to be made from the last position to the first, and then these from the first to the last.
    falling: Vec<u32>,
    rising: Vec<u32>,
}

impl GilmoreGomory {
    /// Put the indices of `jobs` (times on the first and second resource) into `order` so that
    ///
    /// ```text
    /// max(around[1], first of the first job)
    ///     +  sum of max(second of a job, first of the next)
    ///     +  max(second of the last job, around[0])
    /// ```
    ///
    /// is least: `around` is a virtual job that closes the order to a ring. `[0, 0]` minimises the makespan on idle
    /// resources; equation (9), `[largest second time, second time of the job before]`, the time until the first
    /// resource is free for good. O(n log n); exact, and the same order for the same input.
    pub fn order(&mut self, jobs: &[[u64; 2]], around: [u64; 2], order: &mut Vec<u32>) {
        let around_at = jobs.len() as u32;
        let cities = || jobs.iter().chain([&around]).zip(0..);
        sort_into(&mut self.second, cities().map(|(job, k)| (job[1], k)));
        sort_into(&mut self.first, cities().map(|(job, k)| (job[0], k)));
        self.position.clear();
        self.position.resize(jobs.len() + 1, 0);
        for (p, &(_, city)) in (0..).zip(&self.second) {
            self.position[city as usize] = p;
        }
        self.successor.clear();
        self.successor.extend(self.first.iter().map(|&(_, city)| self.position[city as usize]));
        self.choose_exchanges();
        self.make_exchanges();
        self.walk(around_at, order);
    }

    /// A least-cost set of exchanges that joins the cycles of the original successors to one: Kruskal over {p, p + 1}.
    fn choose_exchanges(&mut self) {
        self.falling.clear();
        self.rising.clear();
        self.components.reset(self.successor.len());
        for (p, &successor) in (0..).zip(&self.successor) {
            self.components.join(p, successor);
        }
        if self.components.count == 1 {
            return;
        }
        // All costs belong to the original successors; max(.., 0) by saturation.
        let bounds = self.second.iter().zip(&self.first).map(|(b, a)| (b.0.min(a.0), b.0.max(a.0)));
        let above = bounds.clone().skip(1);
        let costs = (0..).zip(bounds.zip(above)).map(|(p, ((_, most), (least, _)))| (least.saturating_sub(most), p));
        sort_into(&mut self.exchanges, costs);
        for &(_, p) in &self.exchanges {
            if self.components.count == 1 {
                break;
            }
            if self.components.join(p, p + 1) {
                let rises = self.first[p as usize].0 < self.second[p as usize].0;
                if rises { self.rising.push(p) } else { self.falling.push(p) }
            }
        }
    }

    /// The order of exchanges matters: only this one costs what was computed for each alone.
    fn make_exchanges(&mut self) {
        self.falling.sort_unstable();
        self.rising.sort_unstable();
        for &p in self.falling.iter().rev().chain(&self.rising) {
            self.successor.swap(p as usize, p as usize + 1);
        }
    }

    fn walk(&self, around: u32, order: &mut Vec<u32>) {
        order.clear();
        let start = self.position[around as usize];
        let mut at = self.successor[start as usize];
        while at != start {
            order.push(self.second[at as usize].1);
            at = self.successor[at as usize];
        }
    }
}

fn sort_into(sorted: &mut Vec<(u64, u32)>, items: impl Iterator<Item = (u64, u32)>) {
    sorted.clear();
    sorted.extend(items);
    steps::take(sorted.len());
    sorted.sort_unstable();
}

/// Disjoint sets of positions.
#[derive(Clone, Debug, Default)]
struct Components {
    parent: Vec<u32>,
    count: usize,
}

impl Components {
    fn reset(&mut self, positions: usize) {
        self.parent.clear();
        self.parent.extend(0..positions as u32);
        self.count = positions;
    }

    fn root(&mut self, mut at: u32) -> u32 {
        while self.parent[at as usize] != at {
            let above = self.parent[self.parent[at as usize] as usize];
            self.parent[at as usize] = above;
            at = above;
        }
        at
    }

    /// Whether they were in different sets.
    fn join(&mut self, one: u32, other: u32) -> bool {
        let (one, other) = (self.root(one), self.root(other));
        self.parent[one as usize] = other;
        let joined = one != other;
        self.count -= usize::from(joined);
        joined
    }
}
