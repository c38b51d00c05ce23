//! Fig. 5 under DRQ by RED's averaging weight: what a slow average costs.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::fig5::{Distance, LEAST_WINDOW, distances, runs, worst};
use super::sweep::{DRQ, PRINTED_WEIGHT, Point, drq, most, under};
use dovetail_experiment::network::{Beside, HopSummary, fair_rates};
use dovetail_experiment::statistics::Estimate;
use dovetail_figure::{Curve, CurveChart, CurvePanel, Measured, Quantity, curves};

/// Capacities in Mcycles/s at which CPU and link both limit: from B w_h = 21.3 to B w_a = 37.5.
const BOTH: [f64; 2] = [22.0, 37.0];

/// Fig. 5 under DRQ with each averaging weight.
pub(super) struct ByWeight {
    /// That of the paper.
    printed: Sweep,
    /// Dovetail's own.
    default: Sweep,
    /// A fast average.
    fast: Sweep,
}

/// Fig. 5 with one averaging weight.
struct Sweep {
    weight: &'static str,
    points: Vec<Point>,
}

/// DRQ's runs with each weight, changed by these overrides.
pub(super) fn by_weight(bench: &Bench<'_>, overrides: &[String]) -> Result<ByWeight, ReproduceError> {
    // Classes differ where the CPU limits; beyond they are alike whatever the weight. The default takes more seeds, so
    // that what is allowed lies beyond the interval of its largest distance.
    let sweep = |weight: &'static str, seeds: u32| {
        let own = |capacity: u32| {
            let seeds = if f64::from(capacity) < BOTH[1] { seeds } else { 3 };
            let own = [under(&[&drq(weight)]), format!("seeds={seeds}")];
            own.into_iter().chain(overrides.iter().cloned()).collect()
        };
        Ok::<_, ReproduceError>(Sweep { weight, points: runs(bench, own)? })
    };
    Ok(ByWeight { printed: sweep(PRINTED_WEIGHT, 12)?, default: sweep("0.002", 30)?, fast: sweep("0.01", 3)? })
}

/// What the paper's weight gives, what the default gives, and where the difference comes from.
pub(super) fn found(findings: &mut Findings, by_weight: &ByWeight) -> Result<(), ReproduceError> {
    let ByWeight { printed, default, fast } = by_weight;
    let small_windows = distances(&printed.points, DRQ, |window| window < LEAST_WINDOW);
    printed.found(findings, "drq", format!("where the fair window is smaller: {}", worst(&small_windows).1));
    default.found(findings, "drq-default", format!("with {}: {}", fast.weight, worst(&fast.wide()).1));
    findings.noted(
        "drq-used",
        printed.distance_from_used()?,
        format!("with {}: {:.1} %", default.weight, default.distance_from_used()?),
    );
    let [more, less] = [printed.idle(), default.idle()];
    let note = format!("{:.2} in the mean; {}; {}", more.mean / less.mean, printed.queues(), default.queues());
    findings.noted("drq-idle", more.least() / less.most(), note);
    findings.picture("drq-fig5-weights.svg", picture([printed, default, fast])?);
    Ok(())
}

impl ByWeight {
    /// The sweep with the paper's weight.
    pub(super) fn as_printed(&self) -> &[Point] {
        &self.printed.points
    }
}

impl Sweep {
    /// Distances from the fair rates: the largest, and on average.
    fn found(&self, findings: &mut Findings, label: &str, aside: String) {
        let far = self.wide();
        let (largest, note) = worst(&far);
        findings.noted(format!("{label}-worst"), largest, format!("{note}; {aside}"));
        findings
            .found(format!("{label}-mean"), 100.0 * far.iter().map(|d| d.part.abs()).sum::<f64>() / far.len() as f64);
    }

    /// Where the fair window is wide enough: distances from the fair rates.
    fn wide(&self) -> Vec<Distance> {
        distances(&self.points, DRQ, |window| window >= LEAST_WINDOW)
    }

    fn both_limit(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(|p| p.x > BOTH[0] && p.x < BOTH[1])
    }

    /// Where both limit: the largest distance of a class in per cent from the rates that share fairly what was used of
    /// CPU and link.
    fn distance_from_used(&self) -> Result<f64, ReproduceError> {
        let mut far = Vec::new();
        for point in self.both_limit() {
            let Some(run) = point.run(DRQ) else { continue };
            let used = run.hops.0.iter().map(|(_, hop)| hop.utilization.mean).collect();
            let fair = fair_rates(&point.scenario, &Beside { used, ..Beside::default() })?;
            let parts = run.groups.iter().zip(fair).filter_map(|(g, fair)| Some(g.throughput_bps.mean / fair? - 1.0));
            far.extend(parts.map(|part| 100.0 * part.abs()));
        }
        Ok(most(far))
    }

    /// Where both limit: the mean part of the time in which CPU or link idle, together. Seed by seed, since the two are
    /// not independent.
    fn idle(&self) -> Estimate {
        let by_point: Vec<Vec<f64>> = self.both_limit().map(|point| point.idle(DRQ)).collect();
        let seeds = by_point.first().map_or(0, Vec::len);
        let of = |seed: usize| by_point.iter().map(|idle| idle[seed]).sum::<f64>() / by_point.len() as f64;
        Estimate::of(&(0..seeds).map(of).collect::<Vec<f64>>())
    }

    /// The CPU's queue in words, where it is scarce beside the link.
    fn queues(&self) -> String {
        let Some(cpu) = self.points.iter().find(|p| p.x == 35.0).and_then(|p| hops(p).next()) else {
            return String::new();
        };
        format!(
            "weight {}, 35 Mcycles/s: the CPU idles {:.1} % of the time though {:.0} packets wait in the mean, with a \
             standard deviation of {:.0}",
            self.weight,
            100.0 * (1.0 - cpu.utilization.mean),
            cpu.queue_packets.mean,
            cpu.queue_deviation_packets.mean
        )
    }
}

fn hops(point: &Point) -> impl Iterator<Item = &HopSummary> {
    point.run(DRQ).into_iter().flat_map(|run| run.hops.0.iter().map(|(_, hop)| hop))
}

fn picture(sweeps: [&Sweep; 3]) -> Result<String, ReproduceError> {
    let far = |sweep: &Sweep| {
        let largest = |point: &Point| {
            let far = distances(std::slice::from_ref(point), DRQ, |window| window >= LEAST_WINDOW);
            let worst = far.into_iter().max_by(|a, b| a.part.abs().total_cmp(&b.part.abs()))?;
            Some(Measured { x: point.x, y: worst.part.abs(), half: Some(worst.half) })
        };
        let points = sweep.points.iter().filter(|p| p.x < BOTH[1]).filter_map(largest).collect();
        Curve { name: format!("weight {}", sweep.weight), points, ideal: Vec::new() }
    };
    let idle = |sweep: &Sweep| {
        let cpu = |p: &Point| {
            let part = hops(p).next()?.utilization;
            Some(Measured { x: p.x, y: 1.0 - part.mean, half: part.ci95 })
        };
        let points = sweep.points.iter().filter(|p| p.x < BOTH[1]).filter_map(cpu).collect();
        Curve { name: format!("weight {}", sweep.weight), points, ideal: Vec::new() }
    };
    Ok(curves(&CurveChart {
        title: "Fig. 5, DRQ, by RED's averaging weight, where the CPU limits".into(),
        x: Quantity { label: "CPU capacity (Mcycles/s)".into(), factor: 1.0 },
        y: Quantity { label: "Per cent".into(), factor: 100.0 },
        panels: vec![
            CurvePanel {
                heading: "(a) largest distance of a class from its fair rate".into(),
                curves: sweeps.map(far).into(),
            },
            CurvePanel { heading: "(b) time that the CPU idles".into(), curves: sweeps.map(idle).into() },
        ],
    })?)
}
