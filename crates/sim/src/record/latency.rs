//! Exact latency distributions.

use std::ops::Range;

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

/// Latencies of delivered packets in nanoseconds, per flow in ascending order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Latencies {
    starts: Vec<usize>,
    values: Vec<u64>,
}

impl Latencies {
    /// Those of one flow, ascending; empty for an unknown flow.
    pub fn of_flow(&self, flow: usize) -> &[u64] {
        let range = self.range(flow).unwrap_or(0..0);
        &self.values[range]
    }

    /// Those of several flows together, ascending.
    pub fn of_flows(&self, flows: impl IntoIterator<Item = usize>) -> Vec<u64> {
        let mut merged: Vec<u64> = flows.into_iter().flat_map(|flow| self.of_flow(flow)).copied().collect();
        merged.sort_unstable();
        merged
    }

    /// Those of all flows together, ascending.
    pub fn of_all(&self) -> Vec<u64> {
        let mut all = self.values.clone();
        all.sort_unstable();
        all
    }

    fn range(&self, flow: usize) -> Option<Range<usize>> {
        Some(*self.starts.get(flow)?..*self.starts.get(flow + 1)?)
    }
}

/// Collects one latency per delivered packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatencySamples {
    flows: Vec<u32>,
    latencies: Vec<u64>,
}

impl LatencySamples {
    pub fn push(&mut self, flow: u32, latency: u64) {
        self.flows.push(flow);
        self.latencies.push(latency);
    }

    /// Sort by flow (counting), then each flow's.
    pub fn into_latencies(self, flows: usize) -> Latencies {
        let mut starts = vec![0; flows + 1];
        for &flow in &self.flows {
            starts[flow as usize + 1] += 1;
        }
        for i in 0..flows {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut values = vec![0; self.latencies.len()];
        for (&flow, &latency) in self.flows.iter().zip(&self.latencies) {
            let at = &mut next[flow as usize];
            values[*at] = latency;
            *at += 1;
        }
        for flow in 0..flows {
            values[starts[flow]..starts[flow + 1]].sort_unstable();
        }
        Latencies { starts, values }
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
        assert_eq!(latencies.of_flow(0), [3, 4]);
        assert_eq!(latencies.of_flow(1), []);
        assert_eq!(latencies.of_flow(2), [1, 5]);
        assert_eq!(latencies.of_flow(3), []);
        assert_eq!(latencies.of_flows([0, 2]), [1, 3, 4, 5]);
    }
}
