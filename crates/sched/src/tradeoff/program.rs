//! The bonus problem (21) for any number of resources, in integers: the largest sum of the columns' bonus within what
//! is left of every resource.
//!
//! The primal simplex method on the basis itself. A basis has one column for each of the `M` resources, which may be
//! the *slack* of one: then that is not used up. With few resources the inverse is kept as the adjugate matrix and the
//! determinant, both of which are whole numbers, so that no comparison is rounded.
//!
//! Sizes, for `M` = 4: times have 20 bits, so minors of 3 x 3 have 61 ([0, 1] matrices of that size have determinants
//! of 2 at most), the determinant 82 (3 at most); gains have 40, prices 103, reduced costs 126; remaining shares have
//! 32, bonuses 95. All but the minors, which fit 64 bits, are kept in 128.

use core::cmp::Ordering;

/// Normalised times in the program are in units of 2^-20.
pub(super) const UNIT_BITS: u32 = 20;
/// The dominant one.
pub(super) const UNIT: u32 = 1 << UNIT_BITS;
/// Remaining shares are in units of 2^-32.
pub(super) const SHARE_BITS: u32 = 32;
/// What a unit of bonus is worth, before ties are broken.
const WORTH: i64 = 1 << 39;

/// What a flow takes of every resource for its bonus, and what that is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Column<const M: usize> {
    uses: [i64; M],
    gain: i64,
}

impl<const M: usize> Column<M> {
    /// Of a packet with these normalised times.
    pub(super) fn of(times: [u32; M]) -> Self {
        Self { uses: times.map(i64::from), gain: gain(&times) }
    }

    fn slack(resource: usize) -> Self {
        Self { uses: core::array::from_fn(|r| if r == resource { i64::from(UNIT) } else { 0 }), gain: 0 }
    }
}

/// What a unit of bonus of a packet with these normalised times (units of 2^-20) is worth.
///
/// Beside the dominant throughput, which (19) maximises, the use of all resources counts for some 2^-14 of that as in
/// (18), and a hash of the times for 2^-21, so that the best solution is one only, wherever the search for it begins.
pub fn gain(times: &[u32]) -> i64 {
    let used: i64 = times.iter().map(|&time| i64::from(time)).sum();
    let mut hash = 0x9E37_79B9_7F4A_7C15_u64;
    for &time in times {
        hash = (hash ^ u64::from(time)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        hash ^= hash >> 29;
    }
    WORTH + (used << 3) + (hash >> 46) as i64
}

/// Who is in a basis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Name {
    /// The slack of some resource.
    Slack,
    /// The column of this number.
    Column(u32),
}

/// A basis and its inverse.
#[derive(Clone, Debug)]
pub(super) struct Basis<const M: usize> {
    names: [Name; M],
    columns: [Column<M>; M],
    /// By basic column and resource: the inverse times the determinant.
    adjugate: [[i64; M]; M],
    /// Above zero.
    determinant: i128,
    /// By basic column: its bonus times the determinant, in units of 2^-([`SHARE_BITS`] - [`UNIT_BITS`]).
    bonus: [i128; M],
    /// By resource: its price times the determinant.
    prices: [i128; M],
}

impl<const M: usize> Basis<M> {
    /// Nothing is used.
    pub(super) fn new() -> Self {
        let columns = core::array::from_fn(Column::slack);
        let mut basis = Self {
            names: [Name::Slack; M],
            columns,
            adjugate: [[0; M]; M],
            determinant: 1,
            bonus: [0; M],
            prices: [0; M],
        };
        basis.invert();
        basis
    }

    /// The basic columns' names and bonuses above 0, once the basis was [set](Self::set) right. They are rounded down
    /// to 2^-42, so that it makes no difference by which of several bases of one solution they are computed.
    pub(super) fn solution(&self) -> impl Iterator<Item = (u32, f64)> {
        const FINER: u32 = 30;
        const SCALE: f64 = (1_u64 << (SHARE_BITS - UNIT_BITS + FINER)) as f64;
        self.names.iter().zip(&self.bonus).filter_map(|(&name, &bonus)| match name {
            Name::Column(name) if bonus > 0 => Some((name, ((bonus << FINER) / self.determinant) as f64 / SCALE)),
            _ => None,
        })
    }

    /// Whether this column is in the basis.
    pub(super) fn has(&self, column: u32) -> bool {
        self.names.contains(&Name::Column(column))
    }

    /// So much is left of every resource: whether the basis is feasible.
    pub(super) fn set(&mut self, left: &[i64; M]) -> bool {
        self.bonus = self.adjugate.map(|row| row.iter().zip(left).map(|(&a, &l)| i128::from(a) * i128::from(l)).sum());
        self.bonus.iter().all(|&bonus| bonus >= 0)
    }

    /// By how much a unit of this column's bonus is worth more than what it takes, times the determinant.
    pub(super) fn reduced(&self, column: &Column<M>) -> i128 {
        // Neither uses nor gains are below nothing, and a product by an unsigned number takes fewer instructions.
        let times = |number: i128, by: i64| {
            debug_assert!(by >= 0);
            number * i128::from(by as u64)
        };
        let cost: i128 = self.prices.iter().zip(&column.uses).map(|(&price, &uses)| times(price, uses)).sum();
        times(self.determinant, column.gain) - cost
    }

    /// The slack whose resource is dearest below nothing, if one is.
    pub(super) fn idle(&self) -> Option<(i128, Column<M>)> {
        let slack = |r: usize| (-self.prices[r] * i128::from(UNIT), Column::slack(r));
        (0..M).map(slack).filter(|(reduced, _)| *reduced > 0).max_by_key(|&(reduced, _)| reduced)
    }

    /// The column enters the basis, and the first one whose bonus comes to nothing by that leaves it. So much is left
    /// of every resource.
    pub(super) fn enter(&mut self, name: Name, column: Column<M>, left: &[i64; M]) {
        let taken = self
            .adjugate
            .map(|row| row.iter().zip(&column.uses).map(|(&a, &uses)| i128::from(a) * i128::from(uses)).sum::<i128>());
        let limits = (0..M).filter(|&row| taken[row] > 0);
        let leaves = limits.min_by(|&a, &b| compare((self.bonus[a], taken[a]), (self.bonus[b], taken[b])));
        // Every column uses some resource, so one is used up.
        let Some(leaves) = leaves else { return };
        (self.names[leaves], self.columns[leaves]) = (name, column);
        self.invert();
        self.set(left);
    }

    fn invert(&mut self) {
        for (basic, row) in self.adjugate.iter_mut().enumerate() {
            for (resource, entry) in row.iter_mut().enumerate() {
                let minor = minor(&self.columns, basic, resource);
                *entry = if (basic + resource) % 2 == 0 { minor } else { -minor };
            }
        }
        let first = self.columns[0].uses.iter().zip(&self.adjugate[0]);
        self.determinant = first.map(|(&uses, &entry)| i128::from(uses) * i128::from(entry)).sum();
        if self.determinant < 0 {
            self.determinant = -self.determinant;
            self.adjugate.iter_mut().flatten().for_each(|entry| *entry = -*entry);
        }
        self.prices = core::array::from_fn(|r| {
            let part = |(column, row): (&Column<M>, &[i64; M])| i128::from(column.gain) * i128::from(row[r]);
            self.columns.iter().zip(&self.adjugate).map(part).sum()
        });
    }
}

/// The determinant of the columns without this one and this resource; for `M` up to 4.
fn minor<const M: usize>(columns: &[Column<M>; M], without: usize, resource: usize) -> i64 {
    let mut rows = [[0; 3]; 3];
    let others = (0..M).filter(|&column| column != without);
    for (row, column) in rows.iter_mut().zip(others) {
        let entries = (0..M).filter(|&r| r != resource).map(|r| columns[column].uses[r]);
        row.iter_mut().zip(entries).for_each(|(place, entry)| *place = entry);
    }
    let two = |i: usize, j: usize, a: usize, b: usize| rows[i][a] * rows[j][b] - rows[i][b] * rows[j][a];
    match M {
        0 | 1 => 1,
        2 => rows[0][0],
        3 => two(0, 1, 0, 1),
        _ => rows[0][0] * two(1, 2, 1, 2) - rows[0][1] * two(1, 2, 0, 2) + rows[0][2] * two(1, 2, 0, 1),
    }
}

/// Compares `a.0 / a.1` with `b.0 / b.1`, none below 0, those below the line above it: by their continued fractions, as
/// products would not fit.
fn compare(mut a: (i128, i128), mut b: (i128, i128)) -> Ordering {
    loop {
        let whole = (a.0 / a.1).cmp(&(b.0 / b.1));
        let (rest_a, rest_b) = (a.0 % a.1, b.0 % b.1);
        if whole.is_ne() || rest_a == 0 || rest_b == 0 {
            return whole.then(rest_a.min(1).cmp(&rest_b.min(1)));
        }
        // The inverses of what is left are ordered the other way round.
        (a, b) = ((b.1, rest_b), (a.1, rest_a));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_compared_exactly() {
        let big = (1_i128 << 126) - 1;
        for (a, b, expected) in [
            ((1, 2), (2, 4), Ordering::Equal),
            ((0, 5), (0, 9), Ordering::Equal),
            ((0, 5), (1, 9), Ordering::Less),
            ((big, big - 1), (big - 1, big - 2), Ordering::Less),
            ((big - 2, big), (big - 1, big), Ordering::Less),
            ((7, 3), (5, 2), Ordering::Less),
            ((9, 4), (11, 5), Ordering::Greater),
        ] {
            assert_eq!(compare(a, b), expected, "{a:?} {b:?}");
            assert_eq!(compare(b, a), expected.reverse(), "{b:?} {a:?}");
        }
        for (a, b, c, d) in (0..20_000).map(|i| (i % 7, 1 + i % 11, i % 13, 1 + i % 17)) {
            assert_eq!(compare((a, b), (c, d)), (a * d).cmp(&(c * b)), "{a}/{b} {c}/{d}");
        }
    }
}
