//! Fig. 7: part of the CPU that more and more flows with much processing take.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::fig5::equal_shares;
use super::sweep::{Point, SCHEMES, curve, most, sweep};
use dovetail_experiment::network::GroupSummary;
use dovetail_experiment::statistics::Estimate;
use dovetail_figure::{CurveChart, CurvePanel, Quantity, curves};

const SCENARIO: &str = include_str!("../../../../scenarios/papers/drq/fig7.toml");

/// Numbers of flows with much processing.
const FLOWS: [u32; 6] = [1, 2, 4, 6, 8, 10];
/// Their group.
const HIGH: &str = "high";
/// The CPU, in cycles/s.
const CPU: f64 = 40e6;

pub(super) fn runs(bench: &Bench<'_>, overrides: &[String]) -> Result<Vec<Point>, ReproduceError> {
    let point = |&count: &u32| {
        let own = std::iter::once(format!("tcp.{HIGH}.count={count}"));
        (f64::from(count), own.chain(overrides.iter().cloned()).collect())
    };
    sweep(bench, "drq/fig7.toml", SCENARIO, &FLOWS.iter().map(point).collect::<Vec<_>>())
}

pub fn reproduce(points: &[Point]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    if let Some(ten) = points.iter().find(|p| p.x == 10.0) {
        let share = |scheme| share(ten, scheme).map_or(f64::NAN, |s| 100.0 * s.mean);
        let note = format!(
            "equal rates would give {:.1} %, proportional fairness {:.1} %",
            100.0 * equal_rates(ten),
            100.0 * ideal(ten).unwrap_or(f64::NAN)
        );
        findings.noted("red-ten", share("red+red"), note);
        let starved = |scheme: &str| {
            let others = ten.run(scheme)?.groups.iter().filter(|g| g.group != HIGH);
            Some(most(others.map(|g| g.throughput_bps.mean / g.fair_bps.unwrap_or(f64::NAN))))
        };
        findings.found("red-starves", 100.0 * starved("red+red").unwrap_or(f64::NAN));
        findings.found("drq-over-equal", share("drq"));
    }
    for (scheme, label) in [("drq", "drq"), ("drr+red", "drr")] {
        let apart = points.iter().filter_map(|p| Some(100.0 * (share(p, scheme)?.mean - ideal(p)?).abs()));
        findings.found(format!("{label}-fair"), most(apart));
    }
    let from_shares = points.iter().filter_map(|p| Some(100.0 * (share(p, "drr+red")?.mean - equal_share(p)?).abs()));
    findings.found("drr-shares", most(from_shares));
    let from_equal = points.iter().filter_map(|p| Some(100.0 * (share(p, "red+red")?.mean - equal_rates(p)).abs()));
    findings.found("red-shares", most(from_equal));
    findings.picture("drq-fig7.svg", picture(points)?);
    Ok(findings)
}

/// Cycles of a group's useful data, in parts of the CPU.
fn cpu_of(point: &Point, group: &GroupSummary, rate: f64) -> Option<f64> {
    let density = point.scenario.groups.iter().find(|g| g.name == group.group)?.density;
    Some(rate * group.flows * density.as_f64() / CPU)
}

fn share(point: &Point, scheme: &str) -> Option<Estimate> {
    let group = point.group(scheme, HIGH)?;
    let part = |rate| cpu_of(point, group, rate);
    Some(Estimate { mean: part(group.throughput_bps.mean)?, ci95: group.throughput_bps.ci95.and_then(part) })
}

fn ideal(point: &Point) -> Option<f64> {
    let group = point.group("drq", HIGH)?;
    cpu_of(point, group, group.fair_bps?)
}

/// If all flows had the same rate.
fn equal_rates(point: &Point) -> f64 {
    let cycles = |high: bool| -> f64 {
        let groups = point.scenario.groups.iter().filter(|group| (group.name == HIGH) == high);
        groups.map(|group| f64::from(group.long_lived().unwrap_or(0)) * group.density.as_f64()).sum()
    };
    cycles(true) / (cycles(true) + cycles(false))
}

/// If the CPU and the link each gave equal shares to all who can use them.
fn equal_share(point: &Point) -> Option<f64> {
    let group = point.group("drr+red", HIGH)?;
    let index = point.scenario.groups.iter().position(|g| g.name == HIGH)?;
    cpu_of(point, group, equal_shares(&point.scenario, CPU)?[index])
}

fn picture(points: &[Point]) -> Result<String, ReproduceError> {
    let line = |(scheme, name): (&str, &str)| {
        let ideal = |p: &Point| match scheme {
            "drq" => ideal(p),
            "drr+red" => equal_share(p),
            _ => Some(equal_rates(p)),
        };
        curve(name, points, |p| share(p, scheme), ideal)
    };
    Ok(curves(&CurveChart {
        title: "Fig. 7: CPU of the flows with 10 cycles per bit, beside forty others".into(),
        x: Quantity { label: "Flows with 10 cycles per bit".into(), factor: 1.0 },
        y: Quantity { label: "Their part of the CPU (%)".into(), factor: 100.0 },
        panels: vec![CurvePanel { heading: String::new(), curves: SCHEMES.map(line).into() }],
    })?)
}
