//! Statistics of flows.

use dovetail_experiment::recorded::{FlowTotal, Recorded};

/// Indices of the flows of a group.
pub(super) fn members<'a>(run: &'a Recorded, group: &'a str) -> impl Iterator<Item = usize> + Clone + 'a {
    (0..run.flows.len()).filter(move |&f| &*run.flows[f].group == group)
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

    #[test]
    fn the_extent_of_some_values_and_of_none() {
        assert_eq!(extent(&[2.0, 1.0]), (1.0, 2.0));
        assert!(extent(&[]).0.is_nan() && mean(&[]).is_nan());
    }
}
