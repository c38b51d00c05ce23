//! Fig. 6: bandwidth utilisation on the dumbbell, by CPU capacity.

use super::super::ReproduceError;
use super::super::expected::Findings;
use super::sweep::{Point, SCHEMES, curve, fair_utilization, least, most};
use dovetail_experiment::statistics::Estimate;
use dovetail_figure::{CurveChart, CurvePanel, Quantity, curves};

/// The link.
const LINK: &str = "L.link";
const LINK_BPS: f64 = 40e6;

/// From the paper's sweep, and DRR-RED's with room.
pub fn reproduce(points: &[Point], room: &[Point]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let used = |p: &Point, scheme: &str| utilization(p, scheme).map_or(f64::NAN, |u| 100.0 * u.mean);
    let scarce = |p: &&Point| p.x < 40.0;
    for (scheme, label) in [("drq", "drq"), ("drr+red", "drr")] {
        let gain = |p: &Point| used(p, scheme) / used(p, "red+red");
        let gains: Vec<f64> = points.iter().filter(|p| p.x <= 20.0).map(gain).collect();
        let of_fair = |p: &Point| (gain(p) - 1.0) / (fair_gain(p) - 1.0);
        let all: Vec<f64> = points.iter().filter(scarce).map(of_fair).collect();
        findings.noted(
            format!("{label}-far-more"),
            least(gains),
            "the least gain at up to 20 Mcycles/s, where the CPU alone limits",
        );
        findings.found(format!("{label}-more"), least(all));
    }
    let apart = points.iter().map(|p| (used(p, "drq") - used(p, "drr+red")).abs());
    findings.found("drq-drr", most(apart));
    let with_room = |p: &Point| {
        let same = points.iter().find(|other| other.x == p.x)?;
        Some((used(same, "drq") - used(p, "drr+red")).abs())
    };
    findings.found("drq-drr-room", most(room.iter().filter_map(with_room)));
    let enough = points.iter().filter(|p| p.x >= 45.0);
    let full = enough.flat_map(|p| SCHEMES.map(|(scheme, _)| used(p, scheme)));
    findings.found("full", least(full));
    findings.picture("drq-fig6.svg", picture(points)?);
    Ok(findings)
}

/// Throughput under proportional fairness over that of equal rates: the largest that CPU and link allow.
fn fair_gain(point: &Point) -> f64 {
    let groups = || point.run("drq").into_iter().flat_map(|run| &run.groups);
    let fair: f64 = groups().map(|g| g.fair_bps.unwrap_or(f64::NAN) * g.flows).sum();
    let flows: f64 = groups().map(|g| g.flows).sum();
    let cycles: f64 = point.scenario.groups.iter().zip(groups()).map(|(of, g)| of.density.as_f64() * g.flows).sum();
    fair / LINK_BPS.min(point.x * 1e6 * flows / cycles)
}

fn utilization(point: &Point, scheme: &str) -> Option<Estimate> {
    let hops = &point.run(scheme)?.hops.0;
    hops.iter().find(|(name, _)| name == LINK).map(|(_, hop)| hop.utilization)
}

fn picture(points: &[Point]) -> Result<String, ReproduceError> {
    let line = |(scheme, name): (&str, &str)| {
        curve(
            name,
            points,
            |p| utilization(p, scheme),
            |p| if scheme == "drq" { fair_utilization(p, LINK) } else { None },
        )
    };
    Ok(curves(&CurveChart {
        title: "Fig. 6: bandwidth utilisation".into(),
        x: Quantity { label: "CPU capacity (Mcycles/s)".into(), factor: 1.0 },
        y: Quantity { label: "Utilisation of the link (%)".into(), factor: 100.0 },
        panels: vec![CurvePanel { heading: String::new(), curves: SCHEMES.map(line).into() }],
    })?)
}
