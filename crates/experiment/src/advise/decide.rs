//! Which of several schedulers to use, by what each made of the same packets, several times.

use super::point::Runs;

/// So much of the most that can be gained is enough: a lower alpha pays more and more for less and less.
pub const ENOUGH: f64 = 0.9;
/// Fairness is not given up, and a queue not changed, for less than this part more throughput.
pub const WORTH: f64 = 0.02;
/// A latency that falls to this part of itself is worth a change.
const FASTER: f64 = 0.5;
/// Of schedulers that share fairly, one is as good as the best if its throughput is at least this part of the best
/// one's.
const AS_MUCH: f64 = 0.99;
/// And if no group waits longer than this many times its shortest wait under any, unless it waits less than half of
/// what it waits today.
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

/// Why a fair scheduler is not as good as the best of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Flaw {
    /// In most runs some flow starves under it.
    Starves,
    /// It moves less in every run.
    Less,
    /// The group at this index waits longer in every run.
    Waits(usize),
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
    /// The indices of so many points, with alphas from 1 down.
    pub fn in_order(&self, count: usize) -> impl Iterator<Item = usize> {
        let others = (0..count).filter(|&index| index == self.today || !self.alphas.contains(&index));
        others.chain(self.alphas.iter().copied().filter(|&index| index != self.today))
    }

    /// The one of those that share fairly that moves most bits on average; of equal ones the first.
    pub fn strict(&self, runs: &Runs) -> usize {
        let more = |a: usize, b: usize| if runs.gain(b, self.today) > runs.gain(a, self.today) { b } else { a };
        self.fair.iter().copied().reduce(more).unwrap_or(self.today)
    }

    /// The alpha below 1 that moves most bits on average, if there is one.
    pub fn fastest(&self, runs: &Runs) -> Option<usize> {
        let alphas = self.alphas.iter().copied().filter(|index| !self.fair.contains(index));
        alphas.max_by(|&a, &b| runs.gain(a, self.today).total_cmp(&runs.gain(b, self.today)))
    }

    /// What counts is what every run shows; and a gain of bits only if the interval of their mean leaves out zero.
    ///
    /// * Today's stays, if in most runs nobody starves, nothing moves [`WORTH`] more bits, and strict fairness halves
    ///   no group's latency.
    /// * Else the largest alpha that reaches [`ENOUGH`] of the most that any gains over the best of those that share
    ///   fairly, of all that gain at least [`WORTH`].
    /// * Else the first of the fair ones that is as good as the best of them.
    pub fn decide(&self, runs: &Runs) -> Choice {
        let moves_more = |&index: &usize| runs.gains(index, self.today);
        let faster = |&index: &usize| halves(runs, self.today, index);
        let better = self.fair.iter().chain(&self.alphas).any(moves_more) || self.fair.iter().any(faster);
        if !runs.starves(self.today) && !better {
            return Choice::Today;
        }
        match self.knee(runs, self.strict(runs), |_| true) {
            Some(index) => Choice::Efficient(index),
            None => Choice::Fair(self.cheapest(runs)),
        }
    }

    /// The largest alpha that reaches [`ENOUGH`] of the most that any gains over `base`, of those that gain at least
    /// [`WORTH`] and of which this is so.
    pub(super) fn knee(&self, runs: &Runs, base: usize, is_so: impl Fn(usize) -> bool) -> Option<usize> {
        let worthwhile = || self.alphas.iter().copied().filter(|&index| is_so(index) && runs.gains(index, base));
        let gain = |index: usize| runs.gain(index, base);
        let most = worthwhile().map(gain).fold(0.0, f64::max);
        worthwhile().find(|&index| gain(index) >= ENOUGH * most)
    }

    /// The most that any alpha gains over strict fairness, if that is worthwhile; else 0.
    pub fn most(&self, runs: &Runs) -> f64 {
        let strict = self.strict(runs);
        let worthwhile = self.alphas.iter().filter(|&&index| runs.gains(index, strict));
        worthwhile.map(|&index| runs.gain(index, strict)).fold(0.0, f64::max)
    }

    fn cheapest(&self, runs: &Runs) -> usize {
        let good = |&&index: &&usize| self.flaw(runs, index).is_none();
        self.fair.iter().find(good).or(self.fair.last()).copied().unwrap_or(self.today)
    }

    /// Why this fair one is not as good as the best of them, if it is not.
    pub(super) fn flaw(&self, runs: &Runs, index: usize) -> Option<Flaw> {
        let strict = self.strict(runs);
        let waits = |&group: &usize| {
            runs.always(|run| {
                let p99 = |index: usize| run[index].groups[group].p99_s;
                let least = self.fair.iter().filter_map(|&index| p99(index)).fold(f64::MAX, f64::min);
                let enough = FASTER * p99(self.today).unwrap_or(0.0);
                p99(index).is_some_and(|p99| p99 > f64::max(AS_SOON * least, enough))
            })
        };
        if runs.starves(index) {
            return Some(Flaw::Starves);
        }
        if runs.always(|run| run[index].throughput_bps < AS_MUCH * run[strict].throughput_bps) {
            return Some(Flaw::Less);
        }
        (0..runs.first().first()?.groups.len()).find(waits).map(Flaw::Waits)
    }
}

/// Whether some group's latency falls to half of itself or less in every run.
fn halves(runs: &Runs, from: usize, to: usize) -> bool {
    let groups = runs.first().first().map_or(0, |point| point.groups.len());
    (0..groups).any(|group| {
        runs.always(|run| {
            let [from, to] = [from, to].map(|index| run[index].groups[group].p99_s);
            from.zip(to).is_some_and(|(from, to)| to <= FASTER * from)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::point::{Chance, GroupPoint, Point};

    /// Throughputs of fifo, mr3, and alpha = 1, 0.9, 0.8, 0.5; one group with this latency under each.
    fn points(throughputs: [f64; 6], p99_s: [f64; 6]) -> Vec<Point> {
        let point = |(throughput_bps, p99): (f64, f64)| Point {
            throughput_bps,
            groups: vec![GroupPoint { p99_s: Some(p99), ..GroupPoint::default() }],
            ..Point::default()
        };
        throughputs.into_iter().zip(p99_s).map(point).collect()
    }

    fn candidates() -> Candidates {
        Candidates { today: 0, fair: vec![1, 2], alphas: vec![2, 3, 4, 5] }
    }

    fn decide(runs: &[Vec<Point>]) -> Choice {
        candidates().decide(&Runs::new(runs.to_vec(), Chance::Seeds))
    }

    #[test]
    fn the_largest_alpha_with_nine_tenths_of_the_gain_is_used() {
        // Of the 20 to gain 0.9 gives 10, 0.8 gives a little more than 18.
        let points = points([95.0, 99.0, 100.0, 110.0, 118.01, 120.0], [1.0; 6]);
        assert_eq!(decide(&[points]), Choice::Efficient(4));
    }

    #[test]
    fn fairness_is_not_given_up_for_nothing() {
        let points = points([90.0, 99.5, 100.0, 101.0, 101.5, 101.9], [1.0; 6]);
        assert_eq!(decide(&[points]), Choice::Fair(1));
    }

    #[test]
    fn nor_for_what_not_every_run_shows() {
        let gains = points([90.0, 99.5, 100.0, 105.0, 106.0, 107.0], [1.0; 6]);
        let not = points([90.0, 99.5, 100.0, 101.0, 101.0, 101.0], [1.0; 6]);
        assert_eq!(decide(&[gains.clone(), not]), Choice::Fair(1));
        // Of 0.9 and 0.5, which every run shows to gain, 0.5 gains 7.5 on average. What 0.8 gains does not count.
        let other = points([90.0, 99.5, 100.0, 107.0, 90.0, 108.0], [1.0; 6]);
        let runs = [gains, other];
        assert_eq!(decide(&runs), Choice::Efficient(5));
        let most = candidates().most(&Runs::new(runs.to_vec(), Chance::Seeds));
        assert!((most - 0.075).abs() < 1e-12, "{most}");
    }

    #[test]
    fn nor_for_what_chance_may_explain() {
        // Five runs that all show a gain, of 7.6 on average, but one of them most of it: the interval reaches below 0.
        let run = |gain: f64| points([90.0, 99.5, 100.0, 100.0, 100.0, 100.0 + gain], [1.0; 6]);
        assert_eq!(decide(&[2.5, 3.0, 3.5, 4.0, 25.0].map(run)), Choice::Fair(1));
        assert_eq!(decide(&[2.5, 3.0, 3.5, 4.0, 4.5].map(run)), Choice::Efficient(5));
    }

    #[test]
    fn gains_are_over_the_best_that_shares_fairly() {
        // 0.5 moves 3 % more than alpha = 1, but 1 % more than mr3.
        let points = points([90.0, 102.0, 100.0, 101.0, 102.0, 103.0], [1.0; 6]);
        assert_eq!(decide(&[points]), Choice::Fair(1));
    }

    #[test]
    fn of_fair_ones_a_slow_one_or_one_under_which_somebody_starves_is_not_used() {
        let mut slow = points([90.0, 98.0, 100.0, 100.0, 100.0, 100.0], [1.0; 6]);
        assert_eq!(decide(std::slice::from_ref(&slow)), Choice::Fair(2));
        let other = points([90.0, 100.0, 100.0, 100.0, 100.0, 100.0], [1.0; 6]);
        assert_eq!(decide(&[slow.clone(), other.clone()]), Choice::Fair(1), "not every run shows it");
        slow[1].throughput_bps = 100.0;
        assert_eq!(decide(std::slice::from_ref(&slow)), Choice::Fair(1));
        slow[1].starving = 1;
        assert_eq!(decide(std::slice::from_ref(&slow)), Choice::Fair(2));
        assert_eq!(decide(&[slow, other]), Choice::Fair(1), "not in most runs");
        let mut waits = points([90.0, 100.0, 100.0, 100.0, 100.0, 100.0], [1.0, 1.3, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(decide(std::slice::from_ref(&waits)), Choice::Fair(2));
        waits[0].groups[0].p99_s = Some(2.6);
        assert_eq!(decide(&[waits]), Choice::Fair(1), "half of what it waits today is soon enough");
    }

    #[test]
    fn over_nothing_bits_are_compared_and_not_their_ratios() {
        // Both mr3 and alpha = 1 move something where fifo moves nothing, alpha = 1 more.
        let nothing = points([0.0, 50.0, 100.0, 100.0, 100.0, 100.0], [1.0; 6]);
        assert_eq!(decide(std::slice::from_ref(&nothing)), Choice::Fair(2));
        // Of the 100 that 0.5 moves where nothing that is fair moves anything, 0.9 moves half, and 0.8 enough.
        let efficient = points([0.0, 0.0, 0.0, 50.0, 91.0, 100.0], [1.0; 6]);
        assert_eq!(decide(std::slice::from_ref(&efficient)), Choice::Efficient(4));
        let none = points([0.0; 6], [1.0; 6]);
        assert_eq!(decide(std::slice::from_ref(&none)), Choice::Today);
        assert_eq!(decide(&[efficient, none]), Choice::Today, "not every run shows it");
    }

    #[test]
    fn today_stays_unless_somebody_gains() {
        let mut same = points([100.0; 6], [1.0; 6]);
        assert_eq!(decide(std::slice::from_ref(&same)), Choice::Today);
        let faster = points([100.0; 6], [1.0, 0.5, 0.5, 0.5, 0.5, 0.5]);
        assert_eq!(decide(std::slice::from_ref(&faster)), Choice::Fair(1));
        assert_eq!(decide(&[faster, same.clone()]), Choice::Today, "not every run shows it");
        same[0].starving = 1;
        assert_eq!(decide(&[same]), Choice::Fair(1));
        let more = points([100.0, 100.0, 100.0, 103.0, 103.0, 103.0], [1.0; 6]);
        assert_eq!(decide(&[more]), Choice::Efficient(3));
    }
}
