//! Which of several schedulers to use, by what each made of the same packets.

use super::Point;

/// So much of the most that can be gained is enough: a lower alpha pays more and more for less and less.
pub const ENOUGH: f64 = 0.9;
/// Fairness is not given up, and a queue not changed, for less than this part more throughput.
pub const WORTH: f64 = 0.02;
/// A latency that falls to this part of itself is worth a change.
const FASTER: f64 = 0.5;
/// Of schedulers that share fairly, one is as good as the best if its throughput is at least this part of the best
/// one's.
const AS_MUCH: f64 = 0.99;
/// And if no group waits longer than this many times its shortest wait under any.
const AS_SOON: f64 = 1.25;

/// What to use.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Choice {
    /// What is there today: nothing else is noticeably better.
    Today,
    /// One that shares fairly, the point at this index: efficiency has little to gain.
    Fair(usize),
    /// `tradeoff` below alpha = 1, the point at this index.
    Efficient(usize),
    /// The fairest that reaches the [goals](super::goal), the point at this index.
    Reaching(usize),
    /// None reaches them; what comes nearest, the point at this index.
    Nearest(usize),
}

impl Choice {
    /// The index of the point; today's is `today`.
    pub fn index(self, today: usize) -> usize {
        match self {
            Self::Today => today,
            Self::Fair(index) | Self::Efficient(index) | Self::Reaching(index) | Self::Nearest(index) => index,
        }
    }
}

/// The candidates, by their indices in a list of points.
#[derive(Clone, Debug)]
pub struct Candidates {
    /// What runs today.
    pub today: usize,
    /// Those that share fairly, the cheapest to run first; the last one is `tradeoff` with alpha = 1.
    pub fair: Vec<usize>,
    /// `tradeoff` with alpha from 1 down.
    pub alphas: Vec<usize>,
}

impl Candidates {
    /// The points with alphas from 1 down.
    pub fn in_order(&self, points: &[Point]) -> Vec<Point> {
        let others = (0..points.len()).filter(|&index| index == self.today || !self.alphas.contains(&index));
        let alphas = self.alphas.iter().copied().filter(|&index| index != self.today);
        others.chain(alphas).map(|index| points[index].clone()).collect()
    }

    /// The one of those that share fairly that moves most; of equal ones the first.
    pub fn strict(&self, points: &[Point]) -> usize {
        let more = |a: usize, b: usize| if points[b].throughput_bps > points[a].throughput_bps { b } else { a };
        self.fair.iter().copied().reduce(more).unwrap_or(self.today)
    }

    /// Throughput of strict fairness at its best, and the largest of any alpha, no less than that.
    pub fn range(&self, points: &[Point]) -> [f64; 2] {
        let strict = points[self.strict(points)].throughput_bps;
        [strict, self.alphas.iter().map(|&index| points[index].throughput_bps).fold(strict, f64::max)]
    }

    /// * Today's, if its throughput is within [`WORTH`] of the best, nobody starves, and strict fairness halves no
    ///   group's latency.
    /// * Else the largest alpha that reaches [`ENOUGH`] of the way from strict fairness to the best throughput, if that
    ///   is at least [`WORTH`] more.
    /// * Else the first of the fair ones that is as good as the best of them.
    pub fn decide(&self, points: &[Point]) -> Choice {
        let [strict, best] = self.range(points);
        let today = &points[self.today];
        let faster = self.fair.iter().any(|&index| halves(today, &points[index]));
        if today.throughput_bps >= (1.0 - WORTH) * best && today.starving == 0 && !faster {
            return Choice::Today;
        }
        if best >= (1.0 + WORTH) * strict {
            let enough = |&&index: &&usize| points[index].throughput_bps >= strict + ENOUGH * (best - strict);
            if let Some(&index) = self.alphas.iter().find(enough) {
                return Choice::Efficient(index);
            }
        }
        Choice::Fair(self.fairest(points))
    }

    fn fairest(&self, points: &[Point]) -> usize {
        let fair = || self.fair.iter().map(|&index| &points[index]);
        let most = fair().map(|point| point.throughput_bps).fold(0.0, f64::max);
        let least_p99 = |group: usize| fair().filter_map(|point| point.groups[group].p99_s).fold(f64::MAX, f64::min);
        let good = |point: &Point| {
            let soon =
                |(k, group): (usize, &super::GroupPoint)| group.p99_s.is_none_or(|p99| p99 <= AS_SOON * least_p99(k));
            point.starving == 0 && point.throughput_bps >= AS_MUCH * most && point.groups.iter().enumerate().all(soon)
        };
        let last = self.fair.last().copied().unwrap_or(self.today);
        self.fair.iter().copied().find(|&index| good(&points[index])).unwrap_or(last)
    }
}

/// Whether some group's latency falls to half of itself or less.
fn halves(from: &Point, to: &Point) -> bool {
    let latencies = from.groups.iter().zip(&to.groups).filter_map(|(from, to)| Some((from.p99_s?, to.p99_s?)));
    latencies.into_iter().any(|(from, to)| to <= FASTER * from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::GroupPoint;

    /// Throughputs of fifo, mr3, and alpha = 1, 0.9, 0.8, 0.5; one group with this latency under each.
    fn points(throughputs: [f64; 6], p99_s: [f64; 6]) -> (Vec<Point>, Candidates) {
        let point = |(throughput_bps, p99): (f64, f64)| Point {
            throughput_bps,
            groups: vec![GroupPoint { p99_s: Some(p99), ..GroupPoint::default() }],
            ..Point::default()
        };
        let points = throughputs.into_iter().zip(p99_s).map(point).collect();
        (points, Candidates { today: 0, fair: vec![1, 2], alphas: vec![2, 3, 4, 5] })
    }

    #[test]
    fn the_largest_alpha_with_nine_tenths_of_the_gain_is_used() {
        // Of the 20 to gain 0.9 gives 10, 0.8 gives 18.
        let (points, candidates) = points([95.0, 99.0, 100.0, 110.0, 118.0, 120.0], [1.0; 6]);
        assert_eq!(candidates.decide(&points), Choice::Efficient(4));
    }

    #[test]
    fn fairness_is_not_given_up_for_nothing() {
        let (points, candidates) = points([90.0, 99.5, 100.0, 101.0, 101.5, 101.9], [1.0; 6]);
        assert_eq!(candidates.decide(&points), Choice::Fair(1));
    }

    #[test]
    fn of_fair_ones_a_slow_one_or_one_under_which_somebody_starves_is_not_used() {
        let (mut slow, candidates) = points([90.0, 98.0, 100.0, 100.0, 100.0, 100.0], [1.0; 6]);
        assert_eq!(candidates.decide(&slow), Choice::Fair(2));
        slow[1].throughput_bps = 100.0;
        assert_eq!(candidates.decide(&slow), Choice::Fair(1));
        slow[1].starving = 1;
        assert_eq!(candidates.decide(&slow), Choice::Fair(2));
        let (waits, candidates) = points([90.0, 100.0, 100.0, 100.0, 100.0, 100.0], [1.0, 1.3, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(candidates.decide(&waits), Choice::Fair(2));
    }

    #[test]
    fn today_stays_unless_somebody_gains() {
        let (mut same, candidates) = points([100.0; 6], [1.0; 6]);
        assert_eq!(candidates.decide(&same), Choice::Today);
        same[0].starving = 1;
        assert_eq!(candidates.decide(&same), Choice::Fair(1));
        let (faster, candidates) = points([100.0; 6], [1.0, 0.5, 0.5, 0.5, 0.5, 0.5]);
        assert_eq!(candidates.decide(&faster), Choice::Fair(1));
        let (more, candidates) = points([100.0, 100.0, 100.0, 103.0, 103.0, 103.0], [1.0; 6]);
        assert_eq!(candidates.decide(&more), Choice::Efficient(3));
    }
}
