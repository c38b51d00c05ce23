//! Means over seeds with their confidence.

use serde::Serialize;

/// A mean over runs with different seeds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval (Student's t); `None` from a single run.
    pub ci95: Option<f64>,
}

impl Estimate {
    /// Of these values; 0 without any.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        if values.is_empty() {
            return Self { mean: 0.0, ci95: None };
        }
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let ci95 = (values.len() > 1).then(|| student_975(values.len() - 1) * (variance / n).sqrt());
        Self { mean, ci95 }
    }
}

/// The 97.5 % quantile of Student's t distribution, to 0.0005: a table up to ten degrees of freedom, then the expansion of Cornish and
/// Fisher (M. Abramowitz, I. Stegun, "Handbook of Mathematical Functions", 26.7.5) around the normal quantile.
fn student_975(degrees: usize) -> f64 {
    const TABLE: [f64; 10] = [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281];
    if let Some(&quantile) = TABLE.get(degrees.wrapping_sub(1)) {
        return quantile;
    }
    let (x, n) = (1.959_964_f64, degrees as f64);
    let terms = [
        x,
        (x.powi(3) + x) / 4.0,
        (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / 96.0,
        (3.0 * x.powi(7) + 19.0 * x.powi(5) + 17.0 * x.powi(3) - 15.0 * x) / 384.0,
    ];
    terms.iter().rev().fold(0.0, |sum, term| sum / n + term)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_printed_tables() {
        for (degrees, printed) in
            [(1, 12.706), (4, 2.776), (10, 2.228), (11, 2.201), (20, 2.086), (30, 2.042), (1000, 1.962)]
        {
            assert!((student_975(degrees) - printed).abs() < 0.00051, "{degrees}: {}", student_975(degrees));
        }
    }

    #[test]
    fn the_interval_of_five_values_is_that_of_the_textbook() {
        // Mean 3, standard deviation sqrt(2.5), standard error sqrt(0.5), times 2.7764.
        let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(estimate.mean, 3.0);
        assert!((estimate.ci95.unwrap() - 2.7764 * 0.5_f64.sqrt()).abs() < 1e-9);
        assert_eq!(Estimate::of(&[2.0]), Estimate { mean: 2.0, ci95: None });
    }
}
