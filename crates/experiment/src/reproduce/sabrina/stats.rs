//! Means over flows and over seeds.

use crate::compare::{FlowTotal, Recorded};

/// A mean with the half width of its 95 % confidence interval, from independent runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Estimated {
    /// The mean.
    pub mean: f64,
    /// Half of the interval; NaN of fewer than two runs.
    pub half: f64,
}

/// Student's t, 97.5 % quantile, for 1 degree of freedom and more.
const T: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

/// Of these values, at most 11 of them.
pub(super) fn estimated(values: &[f64]) -> Estimated {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let t = values.len().checked_sub(2).and_then(|k| T.get(k)).copied().unwrap_or(f64::NAN);
    Estimated { mean, half: t * (variance / count).sqrt() }
}

impl Estimated {
    /// The lower end of the interval.
    pub fn least(self) -> f64 {
        self.mean - self.half
    }

    /// The upper end of the interval.
    pub fn most(self) -> f64 {
        self.mean + self.half
    }
}

impl std::fmt::Display for Estimated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3} +- {:.3}", self.mean, self.half)
    }
}

/// Indices of the flows of a group.
pub(super) fn members<'a>(run: &'a Recorded, group: &'a str) -> impl Iterator<Item = usize> + Clone + 'a {
    (0..run.flows.len()).filter(move |&f| run.flows[f].group == group)
}

/// A quantity of every flow of a group.
pub(super) fn of_group(run: &Recorded, group: &str, value: impl Fn(&FlowTotal) -> f64) -> Vec<f64> {
    members(run, group).map(|f| value(&run.flows[f])).collect()
}

/// The mean; NaN of none.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The smallest and the largest; NaN of none.
pub(super) fn extent(values: &[f64]) -> (f64, f64) {
    let fold = |pick: fn(f64, f64) -> f64| values.iter().copied().fold(f64::NAN, pick);
    (fold(f64::min), fold(f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 2, 3: variance 1, so the mean's standard error is 1 / sqrt(3); t for 2 degrees of freedom is 4.303.
    #[test]
    fn the_interval_of_three_values() {
        let of_three = estimated(&[1.0, 2.0, 3.0]);
        assert_eq!(of_three.mean, 2.0);
        assert!((of_three.half - 4.303 / 3f64.sqrt()).abs() < 1e-12);
        assert!(estimated(&[1.0]).half.is_nan() && estimated(&[]).mean.is_nan());
        assert_eq!(extent(&[2.0, 1.0]), (1.0, 2.0));
    }
}
