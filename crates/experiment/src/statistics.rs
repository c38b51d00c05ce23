//! Means of independent values, such as runs with different seeds, with their confidence.

use std::fmt;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean of independent values.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean; NaN of no values.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval (Student's t); `None` of fewer than two values.
    pub ci95: Option<f64>,
}

impl Estimate {
    /// Of these values.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let t = StudentsT::new(0.0, 1.0, n - 1.0).ok().filter(|_| values.len() > 1);
        Self { mean, ci95: t.map(|t| t.inverse_cdf(0.975) * (variance / n).sqrt()) }
    }

    /// Half the width of the interval; NaN if it is not known.
    pub fn half(self) -> f64 {
        self.ci95.unwrap_or(f64::NAN)
    }

    /// The lower end of the interval; NaN if it is not known.
    pub fn least(self) -> f64 {
        self.mean - self.half()
    }

    /// The upper end of the interval; NaN if it is not known.
    pub fn most(self) -> f64 {
        self.mean + self.half()
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} +- {:.3}", self.mean, self.half())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student's t, by so many times 0 and 1: the standard error of their mean is 1/2 over the root of the degrees of
    /// freedom.
    fn quantile(pairs: usize) -> f64 {
        let values = [0.0, 1.0].repeat(pairs);
        Estimate::of(&values).half() * 2.0 * ((values.len() - 1) as f64).sqrt()
    }

    #[test]
    fn quantiles_are_exact() {
        // One degree of freedom is Cauchy's distribution. With three, the distribution is 1/2 + (x / (1 + x^2) + atan
        // x) / pi of x = t / sqrt(3).
        assert!((quantile(1) / (0.475 * std::f64::consts::PI).tan() - 1.0).abs() < 1e-12, "{}", quantile(1));
        let x = quantile(2) / 3.0_f64.sqrt();
        let part = 0.5 + (x / (1.0 + x * x) + x.atan()) / std::f64::consts::PI;
        assert!((part - 0.975).abs() < 1e-12, "{part}");
    }

    #[test]
    fn quantiles_are_those_of_printed_tables() {
        for (pairs, printed) in [(3, 2.571), (5, 2.262), (6, 2.201), (15, 2.045), (500, 1.962)] {
            let quantile = quantile(pairs);
            assert!((quantile - printed).abs() <= 0.0005, "{} degrees: {quantile}", 2 * pairs - 1);
        }
    }

    /// 1, 2, 3: variance 1, so the mean's standard error is 1 / sqrt(3); t for two degrees of freedom is 0.95 / sqrt(2
    /// 0.975 0.025).
    #[test]
    fn the_interval_of_three_values() {
        let of_three = Estimate::of(&[1.0, 2.0, 3.0]);
        let half = 0.95 / (2.0_f64 * 0.975 * 0.025).sqrt() / 3.0_f64.sqrt();
        assert_eq!(of_three.mean, 2.0);
        assert!((of_three.half() - half).abs() < 1e-12);
        assert_eq!([of_three.least(), of_three.most()], [2.0 - of_three.half(), 2.0 + of_three.half()]);
        assert_eq!(of_three.to_string(), "2.000 +- 2.484");
    }

    #[test]
    fn fewer_than_two_values_have_no_interval() {
        assert_eq!(Estimate::of(&[2.0]), Estimate { mean: 2.0, ci95: None });
        assert!(Estimate::of(&[2.0]).most().is_nan() && Estimate::of(&[]).mean.is_nan());
    }
}
