//! Fig. 2: bandwidth and CPU under proportional fairness and under equal rates, one CPU and one link.

use dovetail_model::drq::{Hop, Network, Regime, Single, SingleAllocation, solve};

use super::super::ReproduceError;
use super::super::expected::Findings;
use super::sweep::most;
use dovetail_figure::{LineChart, LinePanel, Quantity, Series, lines};

/// Cycles per bit of the four flows.
const DENSITIES: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// The link; C/B counts, not B.
const LINK_BPS: f64 = 40e6;
/// Values of C/B.
const STEPS: usize = 100;
const LARGEST_RATIO: f64 = 5.0;

pub fn reproduce() -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let single = single(1.0)?;
    let mut ratios: Vec<f64> = (1..=STEPS).map(|k| LARGEST_RATIO * k as f64 / STEPS as f64).collect();
    // The lines bend there.
    ratios.extend([single.harmonic_mean(), single.arithmetic_mean()]);
    ratios.sort_by(f64::total_cmp);
    ratios.dedup();
    let points = ratios.into_iter().map(Allocations::at).collect::<Result<Vec<Allocations>, ReproduceError>>()?;
    findings.found("harmonic", single.harmonic_mean());
    findings.found("arithmetic", single.arithmetic_mean());
    findings.found("solver", most(points.iter().map(Allocations::distance_of_solver)));
    findings.found("cpu-limited", most(points.iter().filter_map(|p| p.spread(Regime::CpuLimited, true))));
    findings.found("link-limited", most(points.iter().filter_map(|p| p.spread(Regime::BandwidthLimited, false))));
    findings.found("jointly-limited", most(points.iter().filter_map(Allocations::unused_jointly)));
    let gain = most(points.iter().map(Allocations::gain));
    let equal_above = points.iter().filter(|p| p.ratio >= single.arithmetic_mean()).map(Allocations::gain);
    findings.noted("gain", gain, "the largest, in the CPU-limited case: w_a / w_h");
    findings.found("no-gain", most(equal_above));
    let below = points.iter().filter(|p| p.ratio < single.arithmetic_mean()).map(Allocations::gain);
    findings.found("always-gain", super::sweep::least(below));
    findings.picture("drq-fig2.svg", picture(&points)?);
    Ok(findings)
}

fn single(ratio: f64) -> Result<Single, ReproduceError> {
    Ok(Single::new(ratio * LINK_BPS, LINK_BPS, &DENSITIES.map(|w| (1.0, w)))?)
}

/// Rates at one ratio of C to B.
struct Allocations {
    ratio: f64,
    fair: SingleAllocation,
    /// By the solver for any network.
    solved: Vec<f64>,
    equal: Vec<f64>,
}

impl Allocations {
    fn at(ratio: f64) -> Result<Self, ReproduceError> {
        let mut network = Network::new();
        let (cpu, link) = (network.add_cpu(ratio * LINK_BPS)?, network.add_link(LINK_BPS)?);
        for density in DENSITIES {
            network.add_flow(1.0, &[Hop::cpu(cpu, density), Hop::link(link)])?;
        }
        let fair = single(ratio)?.proportional();
        Ok(Self { ratio, fair, solved: solve(&network)?.rates, equal: network.equal_rates()? })
    }

    fn distance_of_solver(&self) -> f64 {
        most(self.fair.rates.iter().zip(&self.solved).map(|(a, b)| (a / b - 1.0).abs()))
    }

    /// In this regime: how far apart the flows' CPU shares, or rates, are.
    fn spread(&self, regime: Regime, cpu: bool) -> Option<f64> {
        let use_of = |(rate, density): (&f64, f64)| if cpu { rate * density } else { *rate };
        let uses: Vec<f64> = self.fair.rates.iter().zip(DENSITIES).map(use_of).collect();
        (self.fair.regime == regime).then(|| most(uses.iter().map(|u| (u / uses[0] - 1.0).abs())))
    }

    /// When both limit: the unused part of either.
    fn unused_jointly(&self) -> Option<f64> {
        let bits: f64 = self.fair.rates.iter().sum();
        let cycles: f64 = self.fair.rates.iter().zip(DENSITIES).map(|(r, w)| r * w).sum();
        let unused = [1.0 - bits / LINK_BPS, 1.0 - cycles / (self.ratio * LINK_BPS)];
        (self.fair.regime == Regime::JointlyLimited).then(|| most(unused.map(f64::abs)))
    }

    /// Throughput of all flows under proportional fairness over that under equal rates.
    fn gain(&self) -> f64 {
        self.fair.rates.iter().sum::<f64>() / self.equal.iter().sum::<f64>()
    }
}

fn picture(points: &[Allocations]) -> Result<String, ReproduceError> {
    let line = |flow: usize, equal: bool, cpu: bool| {
        let share = |p: &Allocations| {
            let rate = if equal { p.equal[flow] } else { p.fair.rates[flow] };
            if cpu { rate * DENSITIES[flow] / (p.ratio * LINK_BPS) } else { rate / LINK_BPS }
        };
        let name = format!("w = {}", DENSITIES[flow]);
        Series { name, points: points.iter().map(|p| (p.ratio, share(p))).collect() }
    };
    let panel = |heading: &str, equal: bool, cpu: bool| LinePanel {
        heading: heading.into(),
        lines: (0..DENSITIES.len()).map(|flow| line(flow, equal, cpu)).collect(),
    };
    Ok(lines(&LineChart {
        title: "Fig. 2: shares of bandwidth and CPU of four flows".into(),
        x: Quantity { label: "C/B (cycles per bit)".into(), factor: 1.0 },
        y: Quantity { label: "Part of the resource (%)".into(), factor: 100.0 },
        panels: vec![
            panel("(a) bandwidth, proportionally fair", false, false),
            panel("(b) CPU, proportionally fair", false, true),
            panel("(c) bandwidth, equal rates", true, false),
            panel("(d) CPU, equal rates", true, true),
        ],
        ..Default::default()
    })?)
}
