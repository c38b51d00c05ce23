//! Figs. 14 and 15: two edge routers run the schemes, the rest of the network RED.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::sweep::{DRR_RED, PRINTED_WEIGHT, Point, SCHEMES, curve, drq, least, most, sweep, throughput, under};
use dovetail_experiment::statistics::Estimate;
use dovetail_figure::{CurveChart, CurvePanel, Quantity, curves};

const SCENARIO: &str = include_str!("../../../../scenarios/papers/drq/fig14.toml");

/// Capacities of IE1's and EE1's CPUs in Mcycles/s (Fig. 14).
const CAPACITIES: [u32; 4] = [5, 10, 20, 40];
/// Flows in each of SG1, SG2 and SG3.
const FLOWS: f64 = 10.0;
/// Densities of SG1 in cycles/bit (Fig. 15).
const DENSITIES: [u32; 4] = [2, 5, 10, 20];

fn cpus(capacity: u32) -> [String; 2] {
    ["IE1", "EE1"].map(|hop| format!("hop.{hop}.cpu={capacity} Mcycles/s"))
}

/// The runs of Fig. 14.
pub(super) fn by_capacity(bench: &Bench<'_>, overrides: &[String]) -> Result<Vec<Point>, ReproduceError> {
    let point = |&capacity: &u32| {
        let own = cpus(capacity).into_iter();
        (f64::from(capacity), own.chain(overrides.iter().cloned()).collect())
    };
    sweep(bench, "drq/fig14.toml", SCENARIO, &CAPACITIES.iter().map(point).collect::<Vec<_>>())
}

/// Those with CPUs of 20 Mcycles/s, and core links of twice the rate.
pub(super) fn with_wide_core(bench: &Bench<'_>, overrides: &[String]) -> Result<Vec<Point>, ReproduceError> {
    let core = ["L1", "L2"].map(|hop| format!("hop.{hop}.rate=200 Mbps"));
    let own = cpus(20).into_iter().chain(core).chain([under(&[DRR_RED, &drq(PRINTED_WEIGHT)])]);
    sweep(bench, "drq/fig14.toml", SCENARIO, &[(20.0, own.chain(overrides.iter().cloned()).collect())])
}

/// The runs of Fig. 15: CPUs of 30 Mcycles/s, SG2 needs 1 cycle per bit.
pub(super) fn by_density(bench: &Bench<'_>, overrides: &[String]) -> Result<Vec<Point>, ReproduceError> {
    let point = |&density: &u32| {
        let densities =
            [("high", density), ("low", 1)].map(|(class, w)| format!("class.{class}.density={w} cycles/bit"));
        let own = cpus(30).into_iter().chain(densities);
        (f64::from(density), own.chain(overrides.iter().cloned()).collect())
    };
    sweep(bench, "drq/fig14.toml", SCENARIO, &DENSITIES.iter().map(point).collect::<Vec<_>>())
}

/// Fig. 14, and with a core of twice the rate.
pub fn capacity(points: &[Point], wide_core: &[Point]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let (unequal, at) = unequal(points);
    findings.noted("red-equal", unequal, at);
    let scarce = || points.iter().filter(|p| p.x <= 20.0);
    for (scheme, label) in [("drq", "drq-more"), ("drr+red", "drr-more")] {
        let note = format!("{:+.1} % and more", least(scarce().map(|p| gain(p, scheme, "red+red"))));
        findings.noted(label, least(scarce().map(|p| gain(p, scheme, "red+red") / fair_gain(p))), note);
    }
    let higher: Vec<f64> = scarce().map(|p| gain(p, "drr+red", "drq")).collect();
    findings.found("drr-higher", least(higher.iter().copied()));
    let note = format!("up to {:+.1} %", most(higher.iter().copied()));
    findings.noted("drr-slightly", higher.iter().sum::<f64>() / higher.len() as f64, note);
    findings.found("drr-slightly-core", most(wide_core.iter().map(|p| gain(p, "drr+red", "drq"))));
    let x = Quantity { label: "CPU capacity of IE1 and EE1 (Mcycles/s)".into(), factor: 1.0 };
    findings.picture("drq-fig14.svg", picture(points, "Fig. 14: DRQ at the edge", x)?);
    Ok(findings)
}

/// Fig. 15.
pub fn density(points: &[Point]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let steep = || points.iter().filter(|p| p.x >= 5.0);
    for (scheme, label) in [("drq", "drq"), ("drr+red", "drr")] {
        findings.found(format!("{label}-lower"), most(points.iter().map(|p| ratio(p, scheme))));
        findings.found(format!("{label}-more"), least(steep().map(|p| gain(p, scheme, "red+red"))));
        let cycles = steep().map(|p| (p.x * ratio(p, scheme)).ln().abs().exp());
        findings.found(format!("{label}-cpu"), most(cycles));
    }
    findings.found("red-cpu", least(steep().map(|p| p.x * ratio(p, "red+red"))));
    let (unequal, at) = unequal(points);
    findings.noted("red-equal", unequal, at);
    let x = Quantity { label: "Density of SG1 (cycles per bit)".into(), factor: 1.0 };
    findings.picture("drq-fig15.svg", picture(points, "Fig. 15: neighbours that need more processing", x)?);
    Ok(findings)
}

fn mean(point: &Point, scheme: &str, group: &str) -> f64 {
    point.group(scheme, group).map_or(f64::NAN, |g| g.throughput_bps.mean)
}

/// RED-RED's largest difference of SG1 from SG2 in per cent, and where it is.
fn unequal(points: &[Point]) -> (f64, String) {
    let apart = |p: &Point| 100.0 * (ratio(p, "red+red") - 1.0);
    let largest = most(points.iter().map(|p| apart(p).abs()));
    let at = points.iter().find(|p| apart(p).abs() == largest).map_or(String::new(), |p| {
        let window = mean(p, "red+red", "SG1") * 0.040 / 4000.0;
        format!("{:+.1} % at {}, where a flow has {window:.1} packets in a round trip of 40 ms", apart(p), p.x)
    });
    (largest, at)
}

/// SG1's throughput over SG2's.
fn ratio(point: &Point, scheme: &str) -> f64 {
    mean(point, scheme, "SG1") / mean(point, scheme, "SG2")
}

/// Throughput of SG1 and SG2 together over that under another scheme, in per cent more.
fn gain(point: &Point, scheme: &str, other: &str) -> f64 {
    let both = |scheme| mean(point, scheme, "SG1") + mean(point, scheme, "SG2");
    100.0 * (both(scheme) / both(other) - 1.0)
}

/// The same of the fair rates over RED-RED.
fn fair_gain(point: &Point) -> f64 {
    let fair = fair_together(point, "drq").unwrap_or(f64::NAN) / FLOWS;
    100.0 * (fair / (mean(point, "red+red", "SG1") + mean(point, "red+red", "SG2")) - 1.0)
}

/// The fair rate of all flows of SG1 and SG2.
fn fair_together(point: &Point, scheme: &str) -> Option<f64> {
    let fair = |group| point.group(scheme, group)?.fair_bps;
    Some((fair("SG1")? + fair("SG2")?) * FLOWS)
}

fn together(point: &Point, scheme: &str) -> Option<Estimate> {
    point.together(scheme, |group| ["SG1", "SG2"].contains(&group.name.as_str()))
}

fn picture(points: &[Point], title: &str, x: Quantity) -> Result<String, ReproduceError> {
    let panel = |(scheme, name): (&str, &str)| {
        let per_ten = |group: &str| {
            let mut one = throughput(points, scheme, group);
            one.name = format!("{group}, ten flows");
            one.points.iter_mut().for_each(|p| {
                p.y *= FLOWS;
                p.half = p.half.map(|h| h * FLOWS);
            });
            one.ideal.iter_mut().for_each(|(_, rate)| *rate *= FLOWS);
            one
        };
        let mut lines: Vec<_> = ["SG1", "SG2", "SG3"].map(per_ten).into();
        lines.push(curve("SG1 and SG2 together", points, |p| together(p, scheme), |p| fair_together(p, scheme)));
        CurvePanel { heading: name.into(), curves: lines }
    };
    Ok(curves(&CurveChart {
        title: title.into(),
        x,
        y: Quantity { label: "Throughput (Mbit/s)".into(), factor: 1e-6 },
        panels: SCHEMES.map(panel).into(),
    })?)
}
