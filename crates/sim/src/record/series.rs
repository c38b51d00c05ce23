//! What happened in each interval of time.

use dovetail_units::{Duration, Time};

/// One interval in which packets were in the system.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct IntervalRow<const M: usize> {
    /// It begins at `index` times the length of an interval.
    pub index: u64,
    /// Its length; shorter than the others only for the interval in which the run ended.
    pub length: Duration,
    /// Service time on each resource, summed over its servers.
    pub busy: [Duration; M],
    /// Time during which at least one packet was in the system.
    pub nonempty: Duration,
    /// Integral over the interval of the fair dominant share for weight 1, in seconds: flow i's fair dominant service
    /// is its weight times this. The share is that of DRGPS (tradeoff paper, eq. 16, with weights) for the flows
    /// with packets in queue or pipeline and their head packets: the first that waits, else the last that entered
    /// the pipeline.
    pub fair: f64,
    /// The Gini index of each resource at the interval's end, in seconds, if wanted: the sum over i of the difference
    /// between what the i flows that received least have received since the start, and the same in an ideal fluid
    /// (generalised processor sharing on every resource, in series) of the same admitted packets; services by
    /// weight, divided by the number of servers.
    pub gini: Option<[f64; M]>,
    /// Where the interval's rows end in [`Series::shares`]; they begin where those of the interval before end.
    pub shares_end: usize,
}

/// A flow in an interval in which it had packets in the system.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ShareRow {
    /// The flow.
    pub flow: u32,
    /// Whether the flow had packets in the system throughout the (full) interval.
    pub backlogged: bool,
    /// Its dominant service in seconds: time on every packet's dominant resource, divided by the resource's number of
    /// servers. Where weights differ by resource, time on a resource counts as much more as the flow's one weight
    /// is more than that there, for this and which one is dominant.
    pub service: f64,
    /// Its service on all resources together in seconds, each divided by the resource's number of servers, and counted
    /// likewise.
    pub total: f64,
}

/// Intervals of equal length in order of time, without those in which the system was empty.
#[derive(Clone, PartialEq, Debug)]
pub struct Series<const M: usize> {
    /// The length of an interval.
    pub interval: Duration,
    /// The intervals.
    pub intervals: Vec<IntervalRow<M>>,
    /// The flows in the intervals, sorted by neither flow nor service; see [`Series::iter`].
    pub shares: Vec<ShareRow>,
    /// Whether the run went on after the limit of rows was reached: then only the beginning is here.
    pub truncated: bool,
}

impl<const M: usize> Series<M> {
    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval, intervals: Vec::new(), shares: Vec::new(), truncated: false }
    }

    /// Every interval with its flows.
    pub fn iter(&self) -> impl Iterator<Item = (&IntervalRow<M>, &[ShareRow])> {
        let mut start = 0;
        self.intervals.iter().map(move |row| {
            let shares = &self.shares[start..row.shares_end];
            start = row.shares_end;
            (row, shares)
        })
    }

    /// Take the last interval with its flows out, so that none of them need be in memory twice.
    pub fn pop(&mut self) -> Option<(IntervalRow<M>, Vec<ShareRow>)> {
        let row = self.intervals.pop()?;
        let mut shares = match self.intervals.last() {
            Some(before) => self.shares.split_off(before.shares_end),
            None => std::mem::take(&mut self.shares),
        };
        shares.shrink_to_fit();
        self.shares.shrink_to_fit();
        Some((row, shares))
    }

    /// When the interval of this index begins.
    pub fn start(&self, index: u64) -> Time {
        Time::ZERO + self.interval.saturating_mul(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_taken_out_from_the_last_with_their_flows() {
        let mut series = Series::<1>::new(Duration::from_secs(1));
        let ends = [0, 2, 2, 5];
        for (index, shares_end) in (0..).zip(ends) {
            let (length, busy, nonempty) = (Duration::ZERO, [Duration::ZERO], Duration::ZERO);
            series.intervals.push(IntervalRow { index, length, busy, nonempty, fair: 0.0, gini: None, shares_end });
        }
        let share = |flow| ShareRow { flow, backlogged: true, service: 0.0, total: 0.0 };
        series.shares = (0..5).map(share).collect();
        let mut expected: Vec<_> = series.iter().map(|(row, shares)| (*row, shares.to_vec())).collect();
        let mut taken: Vec<_> = std::iter::from_fn(|| series.pop()).collect();
        taken.reverse();
        assert_eq!(taken, expected);
        assert_eq!((expected.pop().unwrap().1, series.shares), ((2..5).map(share).collect(), Vec::new()));
    }
}
