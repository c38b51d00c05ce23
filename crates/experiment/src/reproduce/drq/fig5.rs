//! Fig. 5: throughput of four classes of long-lived flows on the dumbbell, by CPU capacity.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::sweep::{Point, SCHEMES, most, sweep, throughput};
use crate::figure::{CurveChart, CurvePanel, Quantity, curves};
use crate::network::GroupSummary;

const SCENARIO: &str = include_str!("../../../../../scenarios/papers/drq/fig5.toml");

/// CPU capacities in Mcycles/s.
const CAPACITIES: [u32; 11] = [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55];
/// The window in packets from which Reno can react to a loss without its timer: three duplicate ACKs.
const LEAST_WINDOW: f64 = 4.0;

/// The runs of Figs. 5 and 6, changed by these overrides.
pub(super) fn runs(bench: &Bench<'_>, overrides: &[String]) -> Result<Vec<Point>, ReproduceError> {
    let point = |&capacity: &u32| {
        let own = std::iter::once(format!("hop.L.cpu={capacity} Mcycles/s"));
        (f64::from(capacity), own.chain(overrides.iter().cloned()).collect())
    };
    sweep(bench, "drq/fig5.toml", SCENARIO, &CAPACITIES.iter().map(point).collect::<Vec<_>>())
}

pub fn reproduce(points: &[Point]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let wide = |scheme: &str| distances(points, scheme, |window| window >= LEAST_WINDOW);
    let narrow = |scheme: &str| distances(points, scheme, |window| window < LEAST_WINDOW);
    for (scheme, label) in [("drq", "drq"), ("drr+red", "drr")] {
        let (largest, below) = (worst(&wide(scheme)), worst(&narrow(scheme)));
        findings.noted(
            format!("{label}-worst"),
            largest.0,
            format!("{}; where the fair window is smaller: {}", largest.1, below.1),
        );
        let far: Vec<f64> = wide(scheme).iter().map(|d| d.part.abs()).collect();
        findings.found(format!("{label}-mean"), 100.0 * far.iter().sum::<f64>() / far.len() as f64);
    }
    let (largest, at) = worst(&unequal(points));
    findings.noted("red-equal", largest, at);
    findings.picture("drq-fig5.svg", picture(points)?);
    Ok(findings)
}

/// A group at one capacity: how far from what it should have, as a part of it.
struct Distance {
    part: f64,
    what: String,
}

/// Of all groups at all capacities where the fair window is `right`: distance from the fair rate.
fn distances(points: &[Point], scheme: &str, right: impl Fn(f64) -> bool) -> Vec<Distance> {
    let mut found = Vec::new();
    for point in points {
        for group in point.run(scheme).into_iter().flat_map(|run| &run.groups) {
            let Some((fair, window)) = group.fair_bps.zip(point.fair_window(group)) else { continue };
            if right(window) {
                let part = group.throughput_bps.mean / fair - 1.0;
                let timeouts = group.timeouts.mean / group.flows;
                let what = format!(
                    "{:+.1} % at {} Mcycles/s, {} (fair window {window:.1} packets, {timeouts:.0} timeouts per flow)",
                    100.0 * part,
                    point.x,
                    group.group
                );
                found.push(Distance { part, what });
            }
        }
    }
    found
}

/// Under RED-RED: how far the groups are from the mean of all.
fn unequal(points: &[Point]) -> Vec<Distance> {
    let mut found = Vec::new();
    for point in points {
        let groups: Vec<&GroupSummary> = point.run("red+red").into_iter().flat_map(|run| &run.groups).collect();
        let mean = groups.iter().map(|g| g.throughput_bps.mean).sum::<f64>() / groups.len().max(1) as f64;
        for group in groups {
            let part = group.throughput_bps.mean / mean - 1.0;
            found.push(Distance {
                part,
                what: format!("{:+.1} % at {} Mcycles/s, {}", 100.0 * part, point.x, group.group),
            });
        }
    }
    found
}

/// The largest distance in per cent, and where it is.
fn worst(distances: &[Distance]) -> (f64, String) {
    let largest = most(distances.iter().map(|d| d.part.abs()));
    let what = distances.iter().find(|d| d.part.abs() == largest).map_or_else(|| "nothing".into(), |d| d.what.clone());
    (100.0 * largest, what)
}

fn picture(points: &[Point]) -> Result<String, ReproduceError> {
    let groups: Vec<&str> =
        points.first().into_iter().flat_map(|p| &p.scenario.groups).map(|g| g.name.as_str()).collect();
    let panel = |(scheme, name): (&str, &str)| CurvePanel {
        heading: name.into(),
        curves: groups.iter().map(|group| throughput(points, scheme, group)).collect(),
    };
    Ok(curves(&CurveChart {
        title: "Fig. 5: throughput of a flow of each class".into(),
        x: Quantity { label: "CPU capacity (Mcycles/s)".into(), factor: 1.0 },
        y: Quantity { label: "Throughput (Mbit/s)".into(), factor: 1e-6 },
        panels: SCHEMES.map(panel).into(),
    })?)
}
