//! A network at several values of something, under the three schemes.

use super::super::ReproduceError;
use super::super::bench::Bench;
use dovetail_experiment::network::{Capacity, Group, GroupSummary, NetworkScenario, NetworkSummary, RunSummary, Runs};
use dovetail_experiment::statistics::Estimate;
use dovetail_figure::{Curve, Measured};
use dovetail_sim::network::{NetworkResult, Traffic};

/// The names of the paper's RED-RED, DRR-RED and DRQ.
pub(super) const SCHEMES: [(&str, &str); 3] = [("red+red", "RED-RED"), ("drr+red", "DRR-RED"), (DRQ, "DRQ")];

/// DRR-RED with RED's parameters of section IV.A, as the scenario files have it.
pub(super) const DRR_RED: &str = "drr+red:rules=ns2,wait=yes,weight=0.0001";
/// RED's averaging weight of section IV.A.
pub(super) const PRINTED_WEIGHT: &str = "0.0001";
/// DRQ's name.
pub(super) const DRQ: &str = "drq";

/// DRQ with this averaging weight.
pub(super) fn drq(weight: &str) -> String {
    format!("{DRQ}:weight={weight}")
}

/// The override by which a scenario is run under these schemes only.
pub(super) fn under(schemes: &[&str]) -> String {
    format!("schedulers={schemes:?}")
}

/// One value of the sweep.
pub(super) struct Point {
    /// What is swept.
    pub x: f64,
    /// What was run.
    pub scenario: NetworkScenario,
    /// What came of it.
    pub summary: NetworkSummary,
    /// By scheme and seed.
    runs: Vec<Runs>,
}

impl Point {
    /// Under the scheme of this name, whatever its parameters.
    pub fn run(&self, scheme: &str) -> Option<&RunSummary> {
        self.summary.runs.iter().find(|run| run.scheduler.split(':').next() == Some(scheme))
    }

    /// A group under a scheme.
    pub fn group(&self, scheme: &str, group: &str) -> Option<&GroupSummary> {
        self.run(scheme)?.groups.iter().find(|g| g.group == group)
    }

    /// Throughput of some groups together under a scheme: summed seed by seed, since groups that share a link are not
    /// independent.
    pub fn together(&self, scheme: &str, wanted: impl Fn(&Group) -> bool) -> Option<Estimate> {
        let runs = self.runs.iter().find(|runs| runs.scheduler.name == scheme)?;
        let sum = |result: &NetworkResult| {
            let of_groups = self.scenario.groups.iter().zip(&result.traffic).filter(|(group, _)| wanted(group));
            of_groups.map(|(_, traffic)| traffic.goodput_bps).sum()
        };
        Some(Estimate::of(&runs.results.iter().map(|(_, result)| sum(result)).collect::<Vec<f64>>()))
    }

    /// Of each seed in turn, the part of the time in which a scheme's resources idle, of all of them together.
    pub fn idle(&self, scheme: &str) -> Vec<f64> {
        let results = self.runs.iter().filter(|runs| runs.scheduler.name == scheme).flat_map(|runs| &runs.results);
        results.map(|(_, result)| result.hops.iter().map(|hop| 1.0 - hop.utilization).sum()).collect()
    }

    /// The proportionally fair window of a group's flows in packets.
    pub fn fair_window(&self, group: &GroupSummary) -> Option<f64> {
        let described = self.scenario.groups.iter().find(|g| g.name == group.group)?;
        let dovetail_sim::network::Traffic::LongLived { rtt, .. } = described.traffic else { return None };
        let packet_bits = 8.0 * f64::from(described.packet_bytes);
        Some(group.fair_bps? * dovetail_experiment::network::mean_s(rtt) / packet_bits)
    }
}

/// Run `text` with every of these overrides.
pub(super) fn sweep(
    bench: &Bench<'_>,
    name: &str,
    text: &str,
    points: &[(f64, Vec<String>)],
) -> Result<Vec<Point>, ReproduceError> {
    let scenarios = points
        .iter()
        .map(|(_, overrides)| Ok(NetworkScenario::parse(name, text, overrides)?))
        .collect::<Result<Vec<NetworkScenario>, ReproduceError>>()?;
    let runs = bench.networks(&scenarios)?;
    let point = |((&(x, _), scenario), runs): ((&(f64, Vec<String>), NetworkScenario), Vec<_>)| {
        let summary = NetworkSummary::new(&scenario, &runs)?;
        Ok(Point { x, scenario, summary, runs })
    };
    points.iter().zip(scenarios).zip(runs).map(point).collect()
}

/// A quantity along the sweep.
pub(super) fn curve(
    name: &str,
    points: &[Point],
    value: impl Fn(&Point) -> Option<Estimate>,
    ideal: impl Fn(&Point) -> Option<f64>,
) -> Curve {
    let measured = |p: &Point| value(p).map(|e| Measured { x: p.x, y: e.mean, half: e.ci95 });
    Curve {
        name: name.into(),
        points: points.iter().filter_map(measured).collect(),
        ideal: points.iter().filter_map(|p| Some((p.x, ideal(p)?))).collect(),
    }
}

/// Throughput of a group's flows under a scheme along the sweep, with the fair rates.
pub(super) fn throughput(points: &[Point], scheme: &str, group: &str) -> Curve {
    let of = |p: &Point| p.group(scheme, group).cloned();
    curve(group, points, |p| Some(of(p)?.throughput_bps), |p| of(p)?.fair_bps)
}

/// The part of a link that long-lived flows with their fair rates use beside what short ones have under DRQ.
pub(super) fn fair_utilization(point: &Point, link: &str) -> Option<f64> {
    let resources = &point.scenario.resources;
    let place = resources.iter().position(|resource| resource.name == link)?;
    let Capacity::Link(rate) = resources[place].capacity else { return None };
    let groups = point.scenario.groups.iter().zip(&point.run(DRQ)?.groups);
    let rates = groups.filter(|(group, _)| group.route.contains(&place)).map(|(group, summary)| match group.traffic {
        Traffic::LongLived { .. } => Some(summary.fair_bps? * summary.flows),
        Traffic::Web { .. } => Some(summary.throughput_bps.mean),
    });
    Some(rates.sum::<Option<f64>>()? / rate.as_bps() as f64)
}

/// The largest of these numbers, or negative infinity.
pub(super) fn most(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::NEG_INFINITY, f64::max)
}

/// The smallest of these numbers, or infinity.
pub(super) fn least(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::INFINITY, f64::min)
}
