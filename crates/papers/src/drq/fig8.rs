//! Fig. 8: long-lived flows beside short ones whose density is varied.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::sweep::{Point, SCHEMES, curve, fair_utilization, least, most, sweep, throughput};
use dovetail_experiment::statistics::Estimate;
use dovetail_figure::{CurveChart, CurvePanel, Quantity, curves};

const SCENARIO: &str = include_str!("../../../../scenarios/papers/drq/fig8.toml");

/// Densities of the short flows in cycles/bit.
const DENSITIES: [f64; 6] = [0.25, 0.5, 1.0, 1.5, 2.0, 2.5];
const LINK: &str = "L.link";

pub(super) fn runs(bench: &Bench<'_>, overrides: &[String]) -> Result<Vec<Point>, ReproduceError> {
    let point = |&density: &f64| {
        let own = std::iter::once(format!("class.web.density={density} cycles/bit"));
        (density, own.chain(overrides.iter().cloned()).collect())
    };
    sweep(bench, "drq/fig8.toml", SCENARIO, &DENSITIES.iter().map(point).collect::<Vec<_>>())
}

pub fn reproduce(points: &[Point]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let unequal = points.iter().filter_map(|p| p.run("red+red")).map(|run| {
        let rates = || run.groups.iter().filter(|g| g.long_lived).map(|g| g.throughput_bps.mean);
        100.0 * (most(rates()) / least(rates()) - 1.0)
    });
    findings.found("red-equal", most(unequal));
    for (scheme, label) in [("drq", "drq"), ("drr+red", "drr")] {
        let groups = || points.iter().filter_map(|p| p.run(scheme)).flat_map(|run| &run.groups);
        let far: Vec<f64> =
            groups().filter_map(|g| Some(100.0 * (g.throughput_bps.mean / g.fair_bps? - 1.0).abs())).collect();
        findings.noted(
            format!("{label}-fair"),
            far.iter().sum::<f64>() / far.len() as f64,
            format!("at most {:.1} %", most(far)),
        );
    }
    let used = |p: &Point, scheme: &str| utilization(p, scheme).map_or(f64::NAN, |u| 100.0 * u.mean);
    if let Some(scarce) = points.last() {
        let note = format!(
            "DRQ {:.1} %, DRR-RED {:.1} %, RED-RED {:.1} %",
            used(scarce, "drq"),
            used(scarce, "drr+red"),
            used(scarce, "red+red")
        );
        let better = used(scarce, "drq").min(used(scarce, "drr+red")) - used(scarce, "red+red");
        findings.noted("under-utilised", better, note);
    }
    let load = points.iter().filter_map(|p| Some(p.group("drq", "web")?.throughput_bps.mean / 40e6 * 100.0));
    let loads: Vec<f64> = load.collect();
    findings.found("load", loads.iter().sum::<f64>() / loads.len() as f64);
    findings.picture("drq-fig8.svg", picture(points)?);
    findings.picture("drq-fig8-utilization.svg", utilization_picture(points)?);
    Ok(findings)
}

fn utilization(point: &Point, scheme: &str) -> Option<Estimate> {
    let hops = &point.run(scheme)?.hops.0;
    hops.iter().find(|(name, _)| name == LINK).map(|(_, hop)| hop.utilization)
}

fn x() -> Quantity {
    Quantity { label: "Density of the short flows (cycles per bit)".into(), factor: 1.0 }
}

fn picture(points: &[Point]) -> Result<String, ReproduceError> {
    let groups = points.first().into_iter().flat_map(|p| &p.scenario.groups).filter(|g| g.long_lived().is_some());
    let groups: Vec<&str> = groups.map(|g| g.name.as_str()).collect();
    let panel = |(scheme, name): (&str, &str)| CurvePanel {
        heading: name.into(),
        curves: groups.iter().map(|group| throughput(points, scheme, group)).collect(),
    };
    Ok(curves(&CurveChart {
        title: "Fig. 8: throughput of a long-lived flow of each class beside short flows".into(),
        x: x(),
        y: Quantity { label: "Throughput (Mbit/s)".into(), factor: 1e-6 },
        panels: SCHEMES.map(panel).into(),
    })?)
}

fn utilization_picture(points: &[Point]) -> Result<String, ReproduceError> {
    let line = |(scheme, name): (&str, &str)| {
        let ideal = |p: &Point| if scheme == "drq" { fair_utilization(p, LINK) } else { None };
        curve(name, points, |p| utilization(p, scheme), ideal)
    };
    Ok(curves(&CurveChart {
        title: "Fig. 8: bandwidth utilisation with short flows".into(),
        x: x(),
        y: Quantity { label: "Utilisation of the link (%)".into(), factor: 100.0 },
        panels: vec![CurvePanel { heading: String::new(), curves: SCHEMES.map(line).into() }],
    })?)
}
