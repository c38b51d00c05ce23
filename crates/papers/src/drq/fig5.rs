//! Fig. 5: throughput of four classes of long-lived flows on the dumbbell, by CPU capacity.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::sweep::{DRR_RED, Point, SCHEMES, least, most, sweep, throughput, under};
use super::weights::{self, ByWeight};
use dovetail_experiment::network::{GroupSummary, NetworkScenario};
use dovetail_figure::{CurveChart, CurvePanel, Quantity, curves};
use dovetail_sim::record;

const SCENARIO: &str = include_str!("../../../../scenarios/papers/drq/fig5.toml");

/// CPU capacities in Mcycles/s.
const CAPACITIES: [u32; 11] = [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55];
/// The window in packets from which Reno can react to a loss without its timer: three duplicate ACKs.
pub(super) const LEAST_WINDOW: f64 = 4.0;
/// Up to here, in Mcycles/s, the CPU alone limits: B w_h is 21.3.
const CPU_ALONE: f64 = 20.0;
const LINK_BPS: f64 = 40e6;

/// A queue for each flow that holds a window of Reno and more: the room that a lone flow of Fig. 5 fills is 100 packets
/// at most.
const ROOM: &str = "hop.L.flow_queue=100 packets";

/// The runs of Figs. 5 and 6, changed at each capacity by these overrides.
pub(super) fn runs(bench: &Bench<'_>, overrides: impl Fn(u32) -> Vec<String>) -> Result<Vec<Point>, ReproduceError> {
    let point = |&capacity: &u32| {
        let own = std::iter::once(format!("hop.L.cpu={capacity} Mcycles/s"));
        (f64::from(capacity), own.chain(overrides(capacity)).collect())
    };
    sweep(bench, "drq/fig5.toml", SCENARIO, &CAPACITIES.iter().map(point).collect::<Vec<_>>())
}

/// DRR-RED where the CPU alone limits, with queues that hold a window.
pub(super) fn runs_with_room(bench: &Bench<'_>, overrides: &[String]) -> Result<Vec<Point>, ReproduceError> {
    let points = CAPACITIES.iter().filter(|&&capacity| f64::from(capacity) <= CPU_ALONE).map(|&capacity| {
        let own = [format!("hop.L.cpu={capacity} Mcycles/s"), ROOM.into(), under(&[DRR_RED])];
        (f64::from(capacity), own.into_iter().chain(overrides.iter().cloned()).collect())
    });
    sweep(bench, "drq/fig5.toml", SCENARIO, &points.collect::<Vec<_>>())
}

/// From RED-RED's and DRR-RED's sweep, DRQ's by averaging weight, and DRR-RED's with room.
pub fn reproduce(points: &[Point], by_weight: &ByWeight, room: &[Point]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    weights::found(&mut findings, by_weight)?;
    let wide = distances(points, "drr+red", |window| window >= LEAST_WINDOW);
    let below = worst(&distances(points, "drr+red", |window| window < LEAST_WINDOW));
    let (largest, note) = worst(&wide);
    let (largest_of_all, class) = curve(points, "drr+red");
    findings.noted("drr-curve", largest_of_all, class);
    findings.noted("drr-worst", largest, format!("{note}; where the fair window is smaller: {}", below.1));
    findings.found("drr-mean", 100.0 * wide.iter().map(|d| d.part.abs()).sum::<f64>() / wide.len() as f64);
    let (largest, note) = worst(&distances(room, "drr+red", |window| window >= LEAST_WINDOW));
    findings.noted("drr-room", largest, note);
    let shares: Vec<Distance> = from_equal_shares(points);
    let note =
        format!("at most {}; these shares are up to {:.1} % from the fair rates", worst(&shares).1, apart(points));
    let far = shares.iter().map(|d| d.part.abs());
    findings.noted("drr-shares", 100.0 * far.sum::<f64>() / shares.len() as f64, note);
    let drq = by_weight.as_printed();
    let (largest, class) = curve(drq, "drq");
    findings.noted("drq-curve", largest, class);
    let indices = |points: &[Point], scheme: &str| -> Vec<f64> {
        points.iter().filter(|p| p.x <= CPU_ALONE).map(|p| jain(p, scheme)).collect()
    };
    findings.found("drq-cpu", least(indices(drq, "drq")));
    findings.found("drr-cpu", least(indices(points, "drr+red")));
    findings.found("red-cpu", most(indices(points, "red+red")));
    let (largest, at) = worst(&unequal(points));
    findings.noted("red-equal", largest, at);
    findings.picture("drq-fig5.svg", picture(points, drq)?);
    Ok(findings)
}

/// Of all groups the largest mean distance from the fair rate over all capacities, in per cent, and whose it is.
fn curve(points: &[Point], scheme: &str) -> (f64, String) {
    let groups: Vec<&str> =
        points.first().into_iter().flat_map(|p| &p.scenario.groups).map(|g| g.name.as_str()).collect();
    let mean = |group: &&str| {
        let at = |point: &Point| {
            let own = point.run(scheme)?.groups.iter().find(|g| g.group == **group)?;
            Some((own.throughput_bps.mean / own.fair_bps? - 1.0).abs())
        };
        let all: Vec<f64> = points.iter().filter_map(at).collect();
        100.0 * all.iter().sum::<f64>() / all.len() as f64
    };
    let far: Vec<f64> = groups.iter().map(mean).collect();
    let told: Vec<String> = groups.iter().zip(&far).map(|(group, far)| format!("{group} {far:.1} %")).collect();
    (most(far.iter().copied()), told.join(", "))
}

/// A group at one capacity: how far from what it should have, as a part of it.
pub(super) struct Distance {
    pub part: f64,
    /// Half the width of its confidence interval; no number where it is not known.
    pub half: f64,
    what: String,
}

/// Of all groups at all capacities where the fair window is `right`: distance from the fair rate.
pub(super) fn distances(points: &[Point], scheme: &str, right: impl Fn(f64) -> bool) -> Vec<Distance> {
    let mut found = Vec::new();
    for point in points {
        for group in point.run(scheme).into_iter().flat_map(|run| &run.groups) {
            let Some((fair, window)) = group.fair_bps.zip(point.fair_window(group)) else { continue };
            if right(window) {
                let part = group.throughput_bps.mean / fair - 1.0;
                let timeouts = group.timeouts.mean / group.flows;
                let half = group.throughput_bps.half() / fair;
                let what = format!(
                    "{:+.1} +- {:.1} % at {} Mcycles/s, {} (fair window {window:.1} packets, {timeouts:.0} timeouts \
                     per flow)",
                    100.0 * part,
                    100.0 * half,
                    point.x,
                    group.group
                );
                found.push(Distance { part, half, what });
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
            let what = format!("{:+.1} % at {} Mcycles/s, {}", 100.0 * part, point.x, group.group);
            found.push(Distance { part, half: f64::NAN, what });
        }
    }
    found
}

/// Under DRR-RED, where CPU and link both limit: how far the groups are from two equal shares.
fn from_equal_shares(points: &[Point]) -> Vec<Distance> {
    let mut found = Vec::new();
    for point in points {
        let Some((run, shares)) = point.run("drr+red").zip(equal_shares(&point.scenario, point.x * 1e6)) else {
            continue;
        };
        for (group, share) in run.groups.iter().zip(shares) {
            let part = group.throughput_bps.mean / share - 1.0;
            let what = format!("{:+.1} % at {} Mcycles/s, {}", 100.0 * part, point.x, group.group);
            found.push(Distance { part, half: f64::NAN, what });
        }
    }
    found
}

/// The largest distance of two equal shares from the fair rates, in per cent.
fn apart(points: &[Point]) -> f64 {
    let of = |p: &Point| {
        let fair = p.run("drr+red").into_iter().flat_map(|run| &run.groups).filter_map(|g| g.fair_bps);
        let shares = equal_shares(&p.scenario, p.x * 1e6);
        shares.map(|shares| most(shares.iter().zip(fair).map(|(share, fair)| (share / fair - 1.0).abs())))
    };
    100.0 * most(points.iter().filter_map(of))
}

/// What a flow of each group gets over such a CPU, in cycles/s, and the link if the CPU gives all flows that can use it
/// the same number of cycles, and the link all that can use it the same rate (max-min fairness of each by itself);
/// `None` unless both limit.
pub(super) fn equal_shares(scenario: &NetworkScenario, cpu: f64) -> Option<Vec<f64>> {
    let groups: Vec<(f64, f64)> =
        (scenario.groups.iter()).filter_map(|g| Some((f64::from(g.long_lived()?), g.density.as_f64()))).collect();
    let rates = |rate: f64, cycles: f64| groups.iter().map(move |&(_, density)| rate.min(cycles / density));
    let used = |rate: f64, cycles: f64, of: fn(f64) -> f64| {
        rates(rate, cycles).zip(&groups).map(|(r, &(flows, density))| r * flows * of(density)).sum::<f64>()
    };
    // Of the CPU with so much of the link each; then the link with what the CPU leaves.
    let cycles = |rate: f64| bisect(|cycles| used(rate, cycles, |density| density) <= cpu);
    let rate = bisect(|rate| used(rate, cycles(rate), |_| 1.0) <= LINK_BPS);
    let both = rate < LARGEST && cycles(rate) < LARGEST;
    both.then(|| rates(rate, cycles(rate)).collect())
}

/// Beyond every rate and every share of a CPU here.
const LARGEST: f64 = 1e9;

/// The largest number from 0 to [`LARGEST`] of which `fits`, which does of small ones.
fn bisect(fits: impl Fn(f64) -> bool) -> f64 {
    if fits(LARGEST) {
        return LARGEST;
    }
    let (mut low, mut high) = (0.0, LARGEST);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}

/// Jain's index of the groups' CPU use: 1 if all use the same.
fn jain(point: &Point, scheme: &str) -> f64 {
    let groups = point.run(scheme).into_iter().flat_map(|run| &run.groups);
    let cycles = groups.zip(&point.scenario.groups).map(|(g, of)| g.throughput_bps.mean * of.density.as_f64());
    record::jain(&cycles.collect::<Vec<f64>>())
}

/// The largest distance in per cent, and where it is.
pub(super) fn worst(distances: &[Distance]) -> (f64, String) {
    let largest = most(distances.iter().map(|d| d.part.abs()));
    let what = distances.iter().find(|d| d.part.abs() == largest).map_or_else(|| "nothing".into(), |d| d.what.clone());
    (100.0 * largest, what)
}

fn picture(points: &[Point], drq: &[Point]) -> Result<String, ReproduceError> {
    let groups: Vec<&str> =
        points.first().into_iter().flat_map(|p| &p.scenario.groups).map(|g| g.name.as_str()).collect();
    let panel = |(scheme, name): (&str, &str)| CurvePanel {
        heading: name.into(),
        curves: (groups.iter())
            .map(|group| throughput(if scheme == "drq" { drq } else { points }, scheme, group))
            .collect(),
    };
    Ok(curves(&CurveChart {
        title: "Fig. 5: throughput of a flow of each class".into(),
        x: Quantity { label: "CPU capacity (Mcycles/s)".into(), factor: 1.0 },
        y: Quantity { label: "Throughput (Mbit/s)".into(), factor: 1e-6 },
        panels: SCHEMES.map(panel).into(),
    })?)
}
