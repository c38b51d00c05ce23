//! Exact latency distributions.

/// What is known of a set of latencies, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LatencySummary {
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the set (not of a sample from a larger one).
    pub std: f64,
    /// Median, as all quantiles the smallest value that is not below the wanted part of all (nearest rank).
    pub p50: f64,
    /// 90 % quantile.
    pub p90: f64,
    /// 99 % quantile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl LatencySummary {
    /// Of latencies in nanoseconds, in ascending order; `None` of none.
    pub fn of_sorted(values: &[u64]) -> Option<Self> {
        let max = *values.last()?;
        let count = values.len() as f64;
        let mean = values.iter().map(|&v| u128::from(v)).sum::<u128>() as f64 / count;
        let variance = values.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / count;
        let seconds = |ns: f64| ns / 1e9;
        let quantile = |percent: usize| {
            let rank = (values.len() * percent).div_ceil(100);
            seconds(values[rank.saturating_sub(1)] as f64)
        };
        Some(Self {
            mean: seconds(mean),
            std: seconds(variance.sqrt()),
            p50: quantile(50),
            p90: quantile(90),
            p99: quantile(99),
            max: seconds(max as f64),
        })
    }
}

/// Latencies of delivered packets in nanoseconds, per flow in ascending order: 4 bytes each, and 8 more of those from
/// 4.3 s on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Latencies {
    starts: Vec<usize>,
    /// [`LARGE`] stands for a value in `large`.
    values: Vec<u32>,
    /// By flow and value.
    large: Vec<(u32, u64)>,
}

/// From here on latencies do not fit beside the others.
const LARGE: u32 = u32::MAX;

impl Latencies {
    /// Those of one flow, ascending; none for an unknown flow.
    pub fn of_flow(&self, flow: usize) -> impl Iterator<Item = u64> {
        let range = self.starts.get(flow).zip(self.starts.get(flow + 1)).map_or(0..0, |(&from, &to)| from..to);
        let values = &self.values[range];
        let small = values.partition_point(|&value| value < LARGE);
        let first = match values.len() - small {
            0 => 0,
            _ => self.large.partition_point(|&(other, _)| (other as usize) < flow),
        };
        let large = self.large[first..].iter().take(values.len() - small).map(|&(_, value)| value);
        values[..small].iter().map(|&value| value.into()).chain(large)
    }

    /// Those of several flows together, ascending.
    pub fn of_flows(&self, flows: impl IntoIterator<Item = usize>) -> Vec<u64> {
        let mut merged: Vec<u64> = flows.into_iter().flat_map(|flow| self.of_flow(flow)).collect();
        merged.sort_unstable();
        merged
    }

    /// Those of all flows together, ascending.
    pub fn of_all(&self) -> Vec<u64> {
        let mut small: Vec<u32> = self.values.iter().copied().filter(|&value| value < LARGE).collect();
        small.sort_unstable();
        let mut large: Vec<u64> = self.large.iter().map(|&(_, value)| value).collect();
        large.sort_unstable();
        small.into_iter().map(u64::from).chain(large).collect()
    }
}

/// Collects one latency per delivered packet, in 8 bytes, or 24 from 4.3 s on.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatencySamples {
    samples: Vec<(u32, u32)>,
    large: Vec<(u32, u64)>,
}

impl LatencySamples {
    #[inline]
    pub fn push(&mut self, flow: u32, latency: u64) {
        let small = u32::try_from(latency).unwrap_or(LARGE);
        if small == LARGE {
            self.large.push((flow, latency));
        }
        self.samples.push((flow, small));
    }

    /// Sort by flow (counting), then each flow's.
    pub fn into_latencies(self, flows: usize) -> Latencies {
        let Self { samples, mut large } = self;
        let mut starts = vec![0; flows + 1];
        for &(flow, _) in &samples {
            starts[flow as usize + 1] += 1;
        }
        for i in 0..flows {
            starts[i + 1] += starts[i];
        }
        let mut values = vec![0; samples.len()];
        // Each start moves on to the next flow's.
        for &(flow, latency) in &samples {
            let at = &mut starts[flow as usize];
            values[*at] = latency;
            *at += 1;
        }
        drop(samples);
        starts.rotate_right(1);
        starts[0] = 0;
        for flow in 0..flows {
            values[starts[flow]..starts[flow + 1]].sort_unstable();
        }
        large.sort_unstable();
        Latencies { starts, values, large }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_of_1_to_100_seconds() {
        let values: Vec<u64> = (1..=100).map(|s| s * 1_000_000_000).collect();
        let summary = LatencySummary::of_sorted(&values).unwrap();
        assert_eq!((summary.mean, summary.p50, summary.p90, summary.p99, summary.max), (50.5, 50.0, 90.0, 99.0, 100.0));
        // Variance of 1..n is (n^2 - 1) / 12; the squares are exact in f64, only the root and the division round.
        assert!((summary.std - (9999.0f64 / 12.0).sqrt()).abs() < 1e-12 * summary.std);
        assert_eq!(LatencySummary::of_sorted(&[]), None);
    }

    #[test]
    fn samples_are_kept_per_flow_and_can_be_merged() {
        let mut samples = LatencySamples::default();
        for (flow, latency) in [(2, 5), (0, 3), (2, 1), (0, 4)] {
            samples.push(flow, latency);
        }
        let latencies = samples.into_latencies(3);
        let of_flow = |flow| latencies.of_flow(flow).collect::<Vec<_>>();
        assert_eq!([0, 1, 2, 3].map(of_flow), [vec![3, 4], vec![], vec![1, 5], vec![]]);
        assert_eq!(latencies.of_flows([0, 2]), [1, 3, 4, 5]);
        assert_eq!(latencies.of_all(), [1, 3, 4, 5]);
    }

    #[test]
    fn latencies_are_exact_whatever_their_size() {
        let most = u64::from(u32::MAX);
        let all = [(1, most + 7), (0, most - 1), (1, 2), (0, u64::MAX), (1, most), (3, most + 1), (0, most + 3)];
        let mut samples = LatencySamples::default();
        all.iter().for_each(|&(flow, latency)| samples.push(flow, latency));
        let latencies = samples.into_latencies(4);
        for flow in 0..4 {
            let mut own: Vec<u64> = all.iter().filter(|(f, _)| *f == flow).map(|&(_, latency)| latency).collect();
            own.sort_unstable();
            assert_eq!(latencies.of_flow(flow as usize).collect::<Vec<_>>(), own);
        }
        let mut sorted = all.map(|(_, latency)| latency);
        sorted.sort_unstable();
        assert_eq!(latencies.of_all(), sorted);
        assert_eq!(latencies.of_flows([3, 1]), [2, most, most + 1, most + 7]);
    }
}
