//! One CPU and one link that every flow passes: the three regimes (section II.B, Figs. 1 and 2).

use crate::error::{ModelError, in_range};

/// Which resource limits the proportionally fair rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// `C/B <= w_h`: the CPU is full and shared equally; the link has room or is just full.
    CpuLimited,
    /// `w_h < C/B < w_a`: both are full.
    JointlyLimited,
    /// `C/B >= w_a`: the link is full and shared equally; the CPU has room or is just full.
    BandwidthLimited,
}

/// The proportionally fair allocation of one CPU and one link.
#[derive(Clone, Debug, PartialEq)]
pub struct SingleAllocation {
    /// What limits the rates.
    pub regime: Regime,
    /// `r_s` in bit/s.
    pub rates: Vec<f64>,
    /// The CPU's price `theta`, in weight per cycle/s.
    pub cpu_price: f64,
    /// The link's price `pi`, in weight per bit/s.
    pub link_price: f64,
}

/// One CPU and one link, shared by flows that pass both.
#[derive(Clone, Debug, PartialEq)]
pub struct Single {
    cpu: f64,
    link: f64,
    /// Weights divided by their sum.
    parts: Vec<f64>,
    weight_sum: f64,
    densities: Vec<f64>,
}

impl Single {
    /// `cpu` in cycles/s, `link` in bit/s, and for every flow its weight `alpha_s` and processing density `w_s` in
    /// cycles/bit.
    ///
    /// # Errors
    /// [`ModelError::Empty`] without flows; [`ModelError::Value`] for capacities outside 1e-6..1e18, weights outside
    /// 1e-15..1e15 and densities outside 1e-9..1e9.
    pub fn new(cpu: f64, link: f64, flows: &[(f64, f64)]) -> Result<Self, ModelError> {
        let capacity = |what, value| in_range(what, value, 1e-6..=1e18, "a number from 1e-6 to 1e18");
        let (cpu, link) = (capacity("CPU capacity in cycles/s", cpu)?, capacity("link capacity in bit/s", link)?);
        for &(weight, density) in flows {
            in_range("weight", weight, 1e-15..=1e15, "a number from 1e-15 to 1e15")?;
            in_range("processing density in cycles/bit", density, 1e-9..=1e9, "a number from 1e-9 to 1e9")?;
        }
        let weight_sum: f64 = flows.iter().map(|flow| flow.0).sum();
        if flows.is_empty() {
            return Err(ModelError::Empty { what: "flow" });
        }
        let parts = flows.iter().map(|flow| flow.0 / weight_sum).collect();
        Ok(Self { cpu, link, parts, weight_sum, densities: flows.iter().map(|flow| flow.1).collect() })
    }

    /// The weighted arithmetic mean of the densities, `w_a`, in cycles/bit.
    pub fn arithmetic_mean(&self) -> f64 {
        self.flows().map(|(part, density)| part * density).sum()
    }

    /// The weighted harmonic mean of the densities, `w_h`, in cycles/bit. At most
    /// [`arithmetic_mean`](Self::arithmetic_mean).
    pub fn harmonic_mean(&self) -> f64 {
        1.0 / self.flows().map(|(part, density)| part / density).sum::<f64>()
    }

    /// The proportionally fair allocation: problem P, equation (6).
    ///
    /// With `u = theta C / sum alpha`, the CPU's part of all that is paid, equation (6) and `theta C + pi B = sum
    /// alpha` (which complementary slackness gives) make
    ///
    /// ```text
    /// r_s = a_s B / (1 + u (k_s - 1)),    a_s = alpha_s / sum alpha,    k_s = w_s B / C
    /// ```
    ///
    /// `u = 0` and `u = 1` are the paper's two closed forms. Between them, `sum r_s = B` says that u is the root of the
    /// falling `g(u) = sum a_s (k_s - 1) / (1 + u (k_s - 1))`; `g(0) > 0` is `C/B < w_a` and `g(1) < 0` is `C/B >
    /// w_h`, so the signs name the regime. Newton's method with bisection as its guard takes some five steps of
    /// O(S).
    pub fn proportional(&self) -> SingleAllocation {
        let ratio = self.cpu / self.link;
        if ratio >= self.arithmetic_mean() {
            self.at(Regime::BandwidthLimited, 0.0)
        } else if ratio <= self.harmonic_mean() {
            self.at(Regime::CpuLimited, 1.0)
        } else {
            self.at(Regime::JointlyLimited, self.joint_root())
        }
    }

    /// The largest equal (but for weights) rates, in bit/s: `a_s B` if `C/B >= w_a`, else `a_s C / w_a`. What RED on
    /// both resources gives TCP flows, as the paper has it. See
    /// [`Network::equal_rates`](super::Network::equal_rates).
    pub fn equal_rates(&self) -> Vec<f64> {
        let total = self.link.min(self.cpu / self.arithmetic_mean());
        self.parts.iter().map(|part| part * total).collect()
    }

    fn flows(&self) -> impl Iterator<Item = (f64, f64)> {
        self.parts.iter().copied().zip(self.densities.iter().copied())
    }

    /// `w_s B / C - 1` with each part.
    fn excesses(&self) -> impl Iterator<Item = (f64, f64)> {
        let scale = self.link / self.cpu;
        self.flows().map(move |(part, density)| (part, density * scale - 1.0))
    }

    fn at(&self, regime: Regime, u: f64) -> SingleAllocation {
        // 1 + u e as a mean of two positive numbers, so that u = 1 gives exactly the density's share.
        let scale = self.link / self.cpu;
        let rate = |(part, density): (f64, f64)| part * self.link / ((1.0 - u) + u * density * scale);
        SingleAllocation {
            regime,
            rates: self.flows().map(rate).collect(),
            cpu_price: u * self.weight_sum / self.cpu,
            link_price: (1.0 - u) * self.weight_sum / self.link,
        }
    }

    fn joint_root(&self) -> f64 {
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        let mut u = 0.5;
        // Bisection alone would be done after some 60 steps.
        for _ in 0..200 {
            let (mut value, mut slope) = (0.0, 0.0);
            for (part, excess) in self.excesses() {
                let term = excess / (1.0 + u * excess);
                value += part * term;
                slope -= part * term * term;
            }
            if value > 0.0 {
                low = u;
            } else {
                high = u;
            }
            let newton = u - value / slope;
            let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
            if (next - u).abs() <= f64::EPSILON * u {
                return next;
            }
            u = next;
        }
        u
    }
}
