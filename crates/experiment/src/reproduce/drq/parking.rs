//! Figs. 10, 11 and 12: the parking lot.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::sweep::{Point, SCHEMES, curve, least, most, sweep, throughput};
use crate::figure::{CurveChart, CurvePanel, Quantity, curves};
use crate::network::Estimate;

const SCENARIO: &str = include_str!("../../../../../scenarios/papers/drq/fig10.toml");

/// Rates of L3 in Mbit/s.
const RATES: [u32; 5] = [20, 35, 50, 70, 90];
/// Groups over three links, and groups over the last one.
const LONG: [&str; 4] = ["SG1", "SG2", "SG3", "SG4"];
const SHORT: [&str; 4] = ["SG7", "SG8", "SG9", "SG10"];
/// The window in packets from which Reno can react to a loss without its timer.
const LEAST_WINDOW: f64 = 4.0;

pub(super) fn runs(bench: &Bench<'_>, overrides: &[String]) -> Result<Vec<Point>, ReproduceError> {
    let point = |&rate: &u32| {
        let own = std::iter::once(format!("hop.L3.rate={rate} Mbps"));
        (f64::from(rate), own.chain(overrides.iter().cloned()).collect())
    };
    sweep(bench, "drq/fig10.toml", SCENARIO, &RATES.iter().map(point).collect::<Vec<_>>())
}

/// Fig. 10: throughput of the flows over L3.
pub fn groups(points: &[Point]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    for (names, label) in [(LONG, "long"), (SHORT, "short")] {
        let mut far = Vec::new();
        for point in points {
            for group in names.iter().filter_map(|name| point.group("drq", name)) {
                let Some((fair, window)) = group.fair_bps.zip(point.fair_window(group)) else { continue };
                if window >= LEAST_WINDOW {
                    far.push(100.0 * (group.throughput_bps.mean / fair - 1.0).abs());
                }
            }
        }
        let note = format!(
            "at most {:.1} %; {} values with a fair window of 4 packets or more",
            most(far.iter().copied()),
            far.len()
        );
        findings.noted(label, far.iter().sum::<f64>() / far.len() as f64, note);
    }
    let panel = |(heading, names): (&str, [&str; 4])| CurvePanel {
        heading: heading.into(),
        curves: names.iter().map(|name| throughput(points, "drq", name)).collect(),
    };
    let chart = CurveChart {
        title: "Fig. 10: throughput of a flow under DRQ, parking lot".into(),
        x: rate_of_l3(),
        y: Quantity { label: "Throughput (Mbit/s)".into(), factor: 1e-6 },
        panels: [("(a) over L1, L2 and L3", LONG), ("(b) over L3", SHORT)].map(panel).into(),
    };
    findings.picture("drq-fig10.svg", curves(&chart)?);
    Ok(findings)
}

/// Fig. 11: throughput of all flows.
pub fn total(points: &[Point]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let over = |other: &str| {
        let gain = |p: &Point| {
            100.0 * (sum(p, "drq").map_or(f64::NAN, |t| t.mean) / sum(p, other).map_or(f64::NAN, |t| t.mean) - 1.0)
        };
        let gains: Vec<f64> = points.iter().map(gain).collect();
        (least(gains.iter().copied()), format!("up to {:.1} %", most(gains)))
    };
    for (scheme, label) in [("drr+red", "over-drr"), ("red+red", "over-red")] {
        let (gain, note) = over(scheme);
        findings.noted(label, gain, note);
    }
    let lines = SCHEMES.map(|(scheme, name)| {
        let ideal = |p: &Point| {
            let rates = p.run("drq")?.groups.iter().filter_map(|g| Some(g.fair_bps? * g.flows));
            (scheme == "drq").then(|| rates.sum())
        };
        curve(name, points, |p| sum(p, scheme), ideal)
    });
    let chart = CurveChart {
        title: "Fig. 11: throughput of SG1 to SG10 together, parking lot".into(),
        x: rate_of_l3(),
        y: Quantity { label: "Throughput (Mbit/s)".into(), factor: 1e-6 },
        panels: vec![CurvePanel { heading: String::new(), curves: lines.into() }],
    };
    findings.picture("drq-fig11.svg", curves(&chart)?);
    Ok(findings)
}

/// Fig. 12: utilisation of L3.
pub fn utilization(points: &[Point]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let used = |p: &Point, scheme: &str| of_link(p, scheme).map_or(f64::NAN, |u| 100.0 * u.mean);
    findings.found("drq-drr", most(points.iter().map(|p| (used(p, "drq") - used(p, "drr+red")).abs())));
    let lines = SCHEMES.map(|(scheme, name)| curve(name, points, |p| of_link(p, scheme), |_| None));
    let chart = CurveChart {
        title: "Fig. 12: utilisation of L3, parking lot".into(),
        x: rate_of_l3(),
        y: Quantity { label: "Utilisation of L3 (%)".into(), factor: 100.0 },
        panels: vec![CurvePanel { heading: String::new(), curves: lines.into() }],
    };
    findings.picture("drq-fig12.svg", curves(&chart)?);
    Ok(findings)
}

fn rate_of_l3() -> Quantity {
    Quantity { label: "Rate of L3 (Mbit/s)".into(), factor: 1.0 }
}

fn of_link(point: &Point, scheme: &str) -> Option<Estimate> {
    let hops = &point.run(scheme)?.hops.0;
    hops.iter().find(|(name, _)| name == "L3.link").map(|(_, hop)| hop.utilization)
}

/// All long-lived flows; the half width adds up as for independent groups.
fn sum(point: &Point, scheme: &str) -> Option<Estimate> {
    let groups = || point.run(scheme).into_iter().flat_map(|run| &run.groups).filter(|g| g.long_lived);
    let squares = groups().map(|g| g.throughput_bps.ci95.map(|half| (half * g.flows).powi(2)));
    let ci95 = squares.sum::<Option<f64>>().map(f64::sqrt);
    point.run(scheme)?;
    Some(Estimate { mean: groups().map(|g| g.throughput_bps.mean * g.flows).sum(), ci95 })
}
