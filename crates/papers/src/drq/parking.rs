//! Figs. 10, 11 and 12: the parking lot.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::sweep::{DRR_RED, Point, SCHEMES, curve, fair_utilization, least, most, sweep, throughput, under};
use dovetail_experiment::network::{Beside, HopSummary, fair_rates};
use dovetail_experiment::statistics::Estimate;
use dovetail_figure::{CurveChart, CurvePanel, Quantity, curves};

const SCENARIO: &str = include_str!("../../../../scenarios/papers/drq/fig10.toml");

const L3: &str = "L3.link";
/// Rates of L3 in Mbit/s.
const RATES: [u32; 5] = [20, 35, 50, 70, 90];
/// Groups over three links, and groups over the last one.
const LONG: [&str; 4] = ["SG1", "SG2", "SG3", "SG4"];
const SHORT: [&str; 4] = ["SG7", "SG8", "SG9", "SG10"];
/// The window in packets from which Reno can react to a loss without its timer.
const LEAST_WINDOW: f64 = 4.0;
const PACKET_BITS: f64 = 4000.0;

pub(super) fn runs(bench: &Bench<'_>, overrides: &[String]) -> Result<Vec<Point>, ReproduceError> {
    let point = |&rate: &u32| {
        let own = std::iter::once(format!("hop.L3.rate={rate} Mbps"));
        (f64::from(rate), own.chain(overrides.iter().cloned()).collect())
    };
    sweep(bench, "drq/fig10.toml", SCENARIO, &RATES.iter().map(point).collect::<Vec<_>>())
}

/// DRR-RED at the largest rate of L3, with queues there that hold a window.
pub(super) fn runs_with_room(bench: &Bench<'_>, overrides: &[String]) -> Result<Vec<Point>, ReproduceError> {
    let rate = RATES[RATES.len() - 1];
    let own = [format!("hop.L3.rate={rate} Mbps"), "hop.L3.flow_queue=100 packets".into(), under(&[DRR_RED])];
    let point = (f64::from(rate), own.into_iter().chain(overrides.iter().cloned()).collect());
    sweep(bench, "drq/fig10.toml", SCENARIO, &[point])
}

/// Fig. 10: throughput of the flows over L3.
pub fn groups(points: &[Point]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    for (names, label) in [(LONG, "long"), (SHORT, "short")] {
        let mut far = Far::default();
        let mut far_beside_queues = Far::default();
        for point in points {
            let beside_queues = fair_beside_queues(point)?;
            for group in names.iter().filter_map(|name| point.group("drq", name)) {
                let Some((fair, window)) = group.fair_bps.zip(point.fair_window(group)) else { continue };
                if window >= LEAST_WINDOW {
                    far.add(group.throughput_bps.mean / fair);
                    far_beside_queues.add(group.throughput_bps.mean / beside_queues(&group.group));
                }
            }
        }
        findings.noted(label, far.mean(), far.note());
        findings.noted(format!("{label}-queues"), far_beside_queues.mean(), far_beside_queues.note());
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

/// How far from the ideal, in per cent.
#[derive(Default)]
struct Far(Vec<f64>);

impl Far {
    fn add(&mut self, part: f64) {
        self.0.push(100.0 * (part - 1.0));
    }

    fn mean(&self) -> f64 {
        self.0.iter().map(|part| part.abs()).sum::<f64>() / self.0.len() as f64
    }

    fn note(&self) -> String {
        let (least, most) = (least(self.0.iter().copied()), most(self.0.iter().copied()));
        format!("{least:+.1} to {most:+.1} %; {} values with a fair window of 4 packets or more", self.0.len())
    }
}

/// The fair rates of the groups under DRQ if the mean times that packets spend at each resource belong to the round
/// trips.
fn fair_beside_queues(point: &Point) -> Result<impl Fn(&str) -> f64 + use<>, ReproduceError> {
    let mut beside = Beside::default();
    if let Some(run) = point.run("drq") {
        // Little's law; all packets have the same length.
        let time = |hop: &HopSummary| {
            (hop.queue_packets.mean + hop.utilization.mean) * PACKET_BITS / hop.rate_bps.mean.max(1.0)
        };
        beside.queues_s.extend(run.hops.0.iter().map(|(_, hop)| time(hop)));
        beside.short_bps.extend(run.groups.iter().map(|g| if g.long_lived { 0.0 } else { g.throughput_bps.mean }));
    }
    let rates = fair_rates(&point.scenario, &beside)?;
    let names: Vec<String> = point.scenario.groups.iter().map(|group| group.name.clone()).collect();
    Ok(move |name: &str| {
        let found = names.iter().position(|n| n == name).and_then(|index| rates[index]);
        found.unwrap_or(f64::NAN)
    })
}

/// Fig. 11: throughput of all flows.
pub fn total(points: &[Point]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let over = |other: &str| {
        let gain = |p: &Point| {
            100.0 * (sum(p, "drq").map_or(f64::NAN, |t| t.mean) / sum(p, other).map_or(f64::NAN, |t| t.mean) - 1.0)
        };
        let gains: Vec<f64> = points.iter().map(gain).collect();
        let mean = gains.iter().sum::<f64>() / gains.len() as f64;
        (mean, least(gains.iter().copied()), format!("up to {:.1} %", most(gains)))
    };
    for (scheme, label) in [("drr+red", "over-drr"), ("red+red", "over-red")] {
        let (mean, least, note) = over(scheme);
        findings.noted(label, least, note);
        findings.found(format!("{label}-mean"), mean);
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

/// Fig. 12: utilisation of L3; and of DRR-RED with room.
pub fn utilization(points: &[Point], room: &[Point]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let used = |p: &Point, scheme: &str| of_link(p, scheme).map_or(f64::NAN, |u| 100.0 * u.mean);
    let apart = |p: &Point| used(p, "drq") - used(p, "drr+red");
    let largest = most(points.iter().map(|p| apart(p).abs()));
    let at = points.iter().find(|p| apart(p).abs() == largest).map_or(String::new(), |p| {
        format!("DRQ {:.1} %, DRR-RED {:.1} % at {} Mbit/s", used(p, "drq"), used(p, "drr+red"), p.x)
    });
    findings.noted("drq-drr", largest, at);
    for (with, without) in room.iter().filter_map(|with| Some((with, points.iter().find(|p| p.x == with.x)?))) {
        let (drr, drq) = (used(with, "drr+red"), used(without, "drq"));
        findings.noted(
            "drq-drr-room",
            (drq - drr).abs(),
            format!("DRQ {drq:.1} %, DRR-RED {drr:.1} % at {} Mbit/s", with.x),
        );
    }
    let lines = SCHEMES.map(|(scheme, name)| {
        let ideal = |p: &Point| if scheme == "drq" { fair_utilization(p, L3) } else { None };
        curve(name, points, |p| of_link(p, scheme), ideal)
    });
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
    hops.iter().find(|(name, _)| name == L3).map(|(_, hop)| hop.utilization)
}

/// All long-lived flows.
fn sum(point: &Point, scheme: &str) -> Option<Estimate> {
    point.together(scheme, |group| group.long_lived().is_some())
}
