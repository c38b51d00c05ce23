//! Steps in which alpha adjusts itself: whether it reaches what it is for, and what it must leave everybody.

use dovetail_experiment::claim::Criterion;
use dovetail_lab::scenario::{Demand, RESOURCES, Theory};
use dovetail_sched::catalog::find;
use dovetail_sched::promise::Alpha;
use dovetail_sched::{Names, Spec};
use dovetail_units::Duration;

use super::{StepChecks, StepReport, Value};

/// How far use may be from what is wanted, per cent: the error that `target` promises.
const POINTS: f64 = 2.0;

/// Of a hundred packets of a protected class so many may be late over a long time, where late is all or nothing: a turn
/// in which all are late only doubles what others yield, and 35 turns without any halve it (`exp(-0.02)` each).
const LATE: f64 = 100.0 / 36.0;

/// Seconds of a turn: one more may fall into a step.
const TURN: f64 = 0.05;

/// Why frames were late whatever alpha was.
const PAUSED: &str = "the box did not run for longer than a turn of alpha: this machine is busy";

/// What alpha adjusts itself for, and the least that it may be.
#[derive(Clone, PartialEq, Debug)]
pub struct Steered {
    least: f64,
    aim: Aim,
}

#[derive(Clone, PartialEq, Debug)]
enum Aim {
    /// A part of the named resource, by its place among shares, or of each.
    Use { resource: Option<usize>, wanted: f64 },
    /// The 99th percentile of the class with this number.
    Latency { class: usize, p99: Duration },
}

impl Steered {
    /// What this scheduler aims at; `None` of one whose alpha does not turn.
    pub fn of(spec: &Spec, names: &Names) -> Option<Self> {
        let spec = names.number_all(spec).ok().filter(|spec| spec.name == "tradeoff")?;
        let aim = spec.value("target").and_then(target).or_else(|| spec.value("protect").and_then(protect))?;
        Some(Self { least: find(&spec.name)?.fact::<Alpha>()?.of(&spec)?, aim })
    }
}

/// `95 %`, or with the number of a resource `0 95 %`.
fn target(value: &str) -> Option<Aim> {
    let part = value.strip_suffix('%')?.trim();
    let (resource, part) = match part.split_once(' ') {
        Some((resource, part)) => (Some(resource.parse().ok().filter(|&resource| resource < RESOURCES)?), part),
        None => (None, part),
    };
    Some(Aim::Use { resource, wanted: part.parse::<f64>().ok()? / 100.0 })
}

/// The number of a class and a time.
fn protect(value: &str) -> Option<Aim> {
    let (class, time) = value.split_once(' ')?;
    Some(Aim::Latency { class: class.parse().ok()?, p99: time.parse().ok()? })
}

impl StepChecks<'_> {
    /// Whether alpha has come to where it should, and whether everybody has had what it must leave them.
    pub(super) fn of_steered(&mut self, steered: &Steered) {
        match &steered.aim {
            Aim::Use { resource, wanted } => self.of_use(*resource, *wanted, steered.least),
            Aim::Latency { class, p99 } => self.of_latency(*class, *p99),
        }
        self.floors(steered.least);
    }

    /// Alpha can do as much as the fluids of its ends: with alpha = 1 the box may be fuller than wanted, and with the
    /// least alpha emptier.
    fn of_use(&mut self, resource: Option<usize>, wanted: f64, least: f64) {
        let names: Vec<&str> = self.report.inside.resources().collect();
        let least_used = |shares: [f64; RESOURCES]| shares[..names.len()].iter().copied().fold(1.0, f64::min);
        let used = |shares: [f64; RESOURCES]| resource.map_or_else(|| least_used(shares), |r| shares[r]);
        let (Some(strict), Some(most)) = (of_fluid(self.report, 1.0), of_fluid(self.report, least)) else { return };
        let (low, high) = (wanted.min(used(most)), wanted.max(used(strict)));
        let within = |part: f64, points: f64| (10.0 * (100.0 * part + points)).round() / 10.0;
        let value = Value {
            quantity: match resource {
                None => "utilisation of the resource that is used least".into(),
                Some(r) => format!("{} utilisation", names[r]),
            },
            unit: "%",
            theory: None,
            criterion: Criterion::Between(within(low, -POINTS), within(high, POINTS)),
            why: "what is wanted; or what strict fairness uses, if that is more; or what the least alpha can use, if \
                that is less: by the fluid schedule of the same flows, within 2 points",
        };
        self.hold(value, self.hindered.map(|()| (100.0 * used(self.report.inside.total().shares), "")));
    }

    /// A packet is late by its way from sender to receiver.
    fn of_latency(&mut self, class: usize, p99: Duration) {
        let Some(class) = self.report.inside.until().classes.get(class).map(|class| &class.class) else { return };
        let Some(group) = self.report.groups.iter().find(|group| group.class == *class) else { return };
        let most = LATE + 100.0 * TURN / self.report.measured_s;
        let value = Value {
            quantity: format!("{class}: later than {p99}"),
            unit: "%",
            theory: None,
            criterion: Criterion::AtMost((10.0 * most).round() / 10.0),
            why: "the part of the packets that came later than wanted, from sender to receiver: over a long time 1 %, \
                or up to 2.8 % where at times all are late; and one turn of alpha more",
        };
        let late = group.late(p99).ok_or("no frame of it came");
        let paused = if self.report.inside.lost() * self.report.measured_s > TURN { Err(PAUSED) } else { Ok(()) };
        self.hold(value, self.hindered.and(paused).and(late.map(|late| (100.0 * late, ""))));
    }

    fn floors(&mut self, least: f64) {
        for group in &self.report.groups {
            let class = self.report.inside.until().classes.iter().find(|class| class.class == group.class);
            let alpha = class.and_then(|class| class.alpha).unwrap_or(least);
            let demand = &group.demand;
            // A packet of each flow may be under way, and one in front of it.
            let packets = 2.0 * f64::from(demand.flows) * demand.times[group.dominant()] / self.report.measured_s;
            let floor = 100.0 * (alpha * group.fair_share - packets).max(0.0);
            let value = Value {
                quantity: format!("{}: dominant share", group.class),
                unit: "%",
                theory: None,
                criterion: Criterion::AtLeast((10.0 * floor).round() / 10.0),
                why: "its floor: the least alpha of its fair share, less two packets of each flow",
            };
            self.hold(value, self.hindered.map(|()| (100.0 * group.dominant_share, "by the box's account")));
        }
    }
}

/// The parts of the resources that are used at this alpha; `None` if nothing came.
fn of_fluid(report: &StepReport, alpha: f64) -> Option<[f64; RESOURCES]> {
    let demands: Vec<Demand> = report.groups.iter().map(|group| group.demand).collect();
    let shares = Theory::Tradeoff(alpha).shares(&demands).ok()?;
    Some(std::array::from_fn(|r| shares.iter().map(|share| share[r]).sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(spec: &str) -> Option<Steered> {
        let names = Names {
            resources: ["cpu", "link"].map(String::from).into(),
            classes: ["bulk", "calls abroad"].map(String::from).into(),
        };
        Steered::of(&spec.parse().unwrap(), &names)
    }

    #[test]
    fn an_aim_is_read_as_the_scheduler_reads_it() {
        let used = |resource, wanted, least| Some(Steered { least, aim: Aim::Use { resource, wanted } });
        assert_eq!(of("tradeoff:alpha=0.2,target=95 %"), used(None, 0.95, 0.2));
        assert_eq!(of("tradeoff:target=95%"), used(None, 0.95, 0.85));
        assert_eq!(of("tradeoff:alpha=0.5,target=link 90 %"), used(Some(1), 0.9, 0.5));
        let aim = Aim::Latency { class: 1, p99: Duration::from_millis(5) };
        assert_eq!(of("tradeoff:alpha=0.5,protect=calls abroad 5 ms"), Some(Steered { least: 0.5, aim }));
        for spec in ["tradeoff:alpha=0.5", "tradeoff:target=none", "tradeoff:protect=none", "drfq"] {
            assert_eq!(of(spec), None, "{spec}");
        }
    }
}
