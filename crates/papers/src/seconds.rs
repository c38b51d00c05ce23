//! What the recorded seconds of a run say.

use dovetail_experiment::recorded::{Interval, Recorded};

/// The CPU's place in the papers' pipelines.
pub(super) const CPU: usize = 0;
/// The link's.
pub(super) const LINK: usize = 1;

/// Mean and standard deviation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the set.
    pub std: f64,
}

/// Of these values; NaN of none.
pub(super) fn spread(values: &[f64]) -> Spread {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
    Spread { mean, std: variance.sqrt() }
}

/// The recorded seconds during which there was always something in the system.
pub(super) fn full(run: &Recorded) -> impl Iterator<Item = &Interval> {
    let whole = run.interval.as_secs_f64();
    // Both are sums of whole nanoseconds, so a full second is exactly one.
    run.intervals.iter().filter(move |i| i.length >= whole && i.nonempty >= whole)
}

/// Utilisation of a resource in per cent, over these seconds.
pub(super) fn used<'a>(intervals: impl Iterator<Item = &'a Interval>, resource: usize) -> Vec<f64> {
    intervals.map(|i| 100.0 * i.utilization.get(resource).copied().unwrap_or(f64::NAN)).collect()
}

/// The smallest; NaN of none.
pub(super) fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::min)
}

/// The largest; NaN of none.
pub(super) fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::max)
}

/// Indices of the flows of these groups.
pub(super) fn flows_of(run: &Recorded, groups: &[&str]) -> Vec<usize> {
    (0..run.flows.len()).filter(|&f| groups.contains(&run.flows[f].group.as_ref())).collect()
}

/// Mean latency in seconds of all packets of these flows; NaN of none.
pub(super) fn mean_latency_s(run: &Recorded, flows: &[usize]) -> f64 {
    let (mut sum, mut count) = (0u128, 0usize);
    for &flow in flows {
        for latency in run.latencies.of_flow(flow).iter() {
            sum += u128::from(latency);
            count += 1;
        }
    }
    sum as f64 / count as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_two_values() {
        assert_eq!(spread(&[1.0, 3.0]), Spread { mean: 2.0, std: 1.0 });
        assert!(spread(&[]).mean.is_nan());
    }

    #[test]
    fn the_least_and_the_most() {
        assert_eq!((least(&[2.0, 1.0]), most(&[1.0, 2.0])), (1.0, 2.0));
        assert!(least(&[]).is_nan() && most(&[]).is_nan());
    }
}
