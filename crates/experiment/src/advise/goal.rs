//! What is to be reached, and the fairest scheduler that reaches it.

use std::fmt;
use std::str::FromStr;

use dovetail_sched::Spec;
use dovetail_units::Duration;
use serde::Serialize;

use super::AdviseError;
use super::decide::{Candidates, Choice};
use super::point::{Point, Runs};
use super::words::{change, flows, more_bits, time, whose};

use crate::scenario::{Scenario, ScenarioError};
use crate::statistics::Estimate;
use crate::table::{percent, seconds};

/// A resource is full that is in use for this part of the time.
const FULL: f64 = 0.97;
/// Of what misses a goal by up to this factor more than what comes nearest, the fairest is used.
const AS_NEAR: f64 = 1.01;

/// What is to be reached.
#[derive(Clone, PartialEq, Debug)]
pub enum Goal {
    /// The resource is in use for at least this part of the time that anything is in the box: above 0, up to 1.
    Use {
        /// Its name.
        resource: String,
        /// The part.
        part: f64,
    },
    /// The 99 % quantile of the group's latencies is at most this.
    Protect {
        /// Its name.
        group: String,
        /// The latency.
        p99: Duration,
    },
}

impl FromStr for Goal {
    type Err = String;

    /// `cpu 95 %`: [`Goal::Use`].
    fn from_str(text: &str) -> Result<Self, String> {
        let lacks = text.trim().rsplit_once(' ').is_some_and(|(_, number)| number.parse::<f64>().is_ok());
        let hint = if lacks { format!("; did you mean \"{} %\"?", text.trim()) } else { String::new() };
        let expected = || format!("{text:?} is not a resource and a percentage such as \"cpu 95 %\"{hint}");
        let (resource, number) =
            text.trim().strip_suffix('%').and_then(|rest| rest.trim().rsplit_once(' ')).ok_or_else(expected)?;
        let part = number.parse::<f64>().map_err(|_| expected())? / 100.0;
        match part > 0.0 && part <= 1.0 {
            true => Ok(Self::Use { resource: resource.trim().to_string(), part }),
            false => Err(format!("{number} % of a resource: above 0 and up to 100 is possible")),
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Use { resource, part } => write!(f, "{resource} is busy at least {} of the time", percent(*part)),
            Self::Protect { group, p99 } => {
                let latency = whose(group, "latency");
                write!(f, "the 99th percentile of {latency} is at most {}", seconds(p99.as_secs_f64()))
            }
        }
    }
}

/// How far the advised scheduler comes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Outcome {
    /// The goal in words.
    pub goal: String,
    /// Whether it is reached on average over the runs.
    pub reached: bool,
    /// Over the runs: the part of the time, or the latency in seconds.
    pub value: Estimate,
}

/// A goal that fits the input: where its number stands in a [`Point`].
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    goal: Goal,
    place: usize,
}

impl Wanted {
    /// The goals, if the input has the resources and groups.
    pub(super) fn all(goals: &[Goal], scenario: &Scenario, groups: &[String]) -> Result<Vec<Self>, ScenarioError> {
        let wanted = goals.iter().map(|goal| {
            let (kind, name, known) = match goal {
                Goal::Use { resource, .. } => ("resource", resource, scenario.resource_names()),
                Goal::Protect { group, .. } => ("group", group, groups.to_vec()),
            };
            let place = known.iter().position(|known| known == name);
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let unknown = || {
                let quoted: Vec<String> = known.iter().map(|known| format!("{known:?}")).collect();
                let message = format!("there is no {kind} {name:?}; there are {}", quoted.join(", "));
                ScenarioError::new(&scenario.name, message).suggesting(name, &known)
            };
            place.map(|place| Self { goal: goal.clone(), place }).ok_or_else(unknown)
        });
        wanted.collect()
    }

    /// The number that counts, if there is one.
    fn value(&self, point: &Point) -> Option<f64> {
        match self.goal {
            Goal::Use { .. } => point.utilization.get(self.place).copied(),
            Goal::Protect { .. } => point.groups.get(self.place).and_then(|group| group.p99_s),
        }
    }

    /// Its mean over the runs; NaN if some run has none.
    fn mean(&self, runs: &Runs, index: usize) -> f64 {
        runs.values(index, |point| self.value(point).unwrap_or(f64::NAN)).sum::<f64>() / runs.count() as f64
    }

    /// By what factor the goal is missed on average: 1 or less where it is reached.
    fn missed(&self, runs: &Runs, index: usize) -> f64 {
        let missed = match self.goal {
            Goal::Use { part, .. } => part / self.mean(runs, index),
            Goal::Protect { p99, .. } => self.mean(runs, index) / p99.as_secs_f64(),
        };
        if missed.is_nan() { f64::INFINITY } else { missed }
    }

    /// What the runs of the advised scheduler came to.
    pub(super) fn outcome(&self, runs: &Runs, index: usize) -> Outcome {
        let values: Vec<f64> = runs.values(index, |point| self.value(point).unwrap_or(f64::NAN)).collect();
        let reached = self.missed(runs, index) <= 1.0;
        Outcome { goal: self.goal.to_string(), reached, value: runs.chance().estimate(&values) }
    }
}

/// By what factor the goal is missed that is missed most: 1 or less where all are reached.
fn missed(wanted: &[Wanted], runs: &Runs, index: usize) -> f64 {
    wanted.iter().map(|wanted| wanted.missed(runs, index)).fold(0.0, f64::max)
}

/// The first of those that share fairly, or else the largest alpha, that reaches all goals; or, in the same order, the
/// first that comes as near as any.
pub(super) fn decide(wanted: &[Wanted], runs: &Runs, candidates: &Candidates) -> Choice {
    let order = || candidates.fair.iter().chain(&candidates.alphas).copied();
    let missed = |index: usize| missed(wanted, runs, index);
    if let Some(index) = order().find(|&index| missed(index) <= 1.0) {
        return Choice::Reaching(index);
    }
    let least = order().map(missed).fold(f64::INFINITY, f64::min);
    let nearest = order().find(|&index| missed(index) <= AS_NEAR * least);
    Choice::Nearest(nearest.unwrap_or(candidates.today))
}

/// [`decide`], with alphas in between to a hundredth: each is run, and joins specs, runs and candidates.
pub(super) fn refined(
    wanted: &[Wanted],
    specs: &mut Vec<Spec>,
    runs: &mut Runs,
    candidates: &mut Candidates,
    run: impl Fn(&Spec) -> Result<Vec<Point>, AdviseError>,
) -> Result<Choice, AdviseError> {
    loop {
        let choice = decide(wanted, runs, candidates);
        let Choice::Reaching(index) = choice else { return Ok(choice) };
        let place = candidates.alphas.iter().position(|&other| other == index);
        let Some(place) = place.filter(|&place| place > 0) else { return Ok(choice) };
        let [above, below] = [candidates.alphas[place - 1], index].map(|index| hundredths(&specs[index]));
        if above <= below + 1 {
            return Ok(choice);
        }
        let alpha = format!("{}", f64::from((above + below) / 2) / 100.0);
        let spec = Spec { name: "tradeoff".into(), parameters: vec![("alpha".into(), alpha)] };
        runs.add(run(&spec)?);
        specs.push(spec);
        candidates.alphas.insert(place, specs.len() - 1);
    }
}

/// The alpha of a `tradeoff`, in hundredths.
fn hundredths(spec: &Spec) -> u32 {
    spec.value("alpha").and_then(|alpha| alpha.parse::<f64>().ok()).map_or(100, |alpha| (100.0 * alpha).round() as u32)
}

/// Which scheduler reaches the goals, and which does and moves more; or that none does, what comes nearest, and why it
/// is not more.
pub(super) fn sentence(
    wanted: &[Wanted],
    scenario: &Scenario,
    (runs, candidates): (&Runs, &Candidates),
    choice: Choice,
) -> String {
    let index = choice.index(candidates.today);
    let scheduler = &runs.first()[index].scheduler;
    match choice {
        Choice::Nearest(_) => {
            let alone: Vec<String> = wanted.iter().map(|wanted| wanted.goal.to_string()).collect();
            let values: Vec<String> = wanted.iter().map(|wanted| wanted.told(runs, index)).collect();
            format!(
                "Out of reach on average over the runs: that {}. The fairest of what comes nearest is {scheduler} \
                 ({}{}).{}",
                alone.join(", and that "),
                values.join(" and "),
                why_not(wanted, scenario, runs, index),
                unfair(wanted, runs, candidates, index),
            )
        }
        _ => {
            let fair = candidates.fair.contains(&index);
            let it = match fair {
                true => "it shares fairly, and on average over the runs",
                false => "it is the fairest of those under which, on average over the runs,",
            };
            let goals: Vec<String> =
                wanted.iter().map(|wanted| format!("{} ({})", wanted.goal, wanted.told(runs, index))).collect();
            format!("Use {scheduler}: {it} {}.{}", goals.join(", and "), faster(wanted, (runs, candidates), index))
        }
    }
}

/// An alpha that reaches the goals as well, and moves more.
fn faster(wanted: &[Wanted], (runs, candidates): (&Runs, &Candidates), index: usize) -> String {
    let reaches = |other: usize| missed(wanted, runs, other) <= 1.0;
    candidates.knee(runs, index, reaches).map_or(String::new(), |other| {
        let bits = runs.moved(other, index).bits;
        let [other, than] = [other, index].map(|index| &runs.first()[index].scheduler);
        format!(" {other} reaches that too, and moves {}.", more_bits(bits, than))
    })
}

/// That today's comes nearer, but is not fair.
fn unfair(wanted: &[Wanted], runs: &Runs, candidates: &Candidates, index: usize) -> String {
    let today = &runs.first()[candidates.today];
    let [own, before] = [index, candidates.today].map(|index| missed(wanted, runs, index));
    if AS_NEAR * before > own || today.starving == 0 {
        return String::new();
    }
    let values: Vec<String> = wanted.iter().map(|wanted| wanted.told(runs, candidates.today)).collect();
    let (values, starving) = (values.join(" and "), flows(today.starving));
    let verb = if today.starving == 1 { "starves" } else { "starve" };
    format!(" {} has {values} on average, but {starving} {verb} under it.", today.scheduler)
}

impl Wanted {
    /// What the runs came to, in words.
    fn told(&self, runs: &Runs, index: usize) -> String {
        let value = self.outcome(runs, index).value;
        match self.goal {
            _ if value.mean.is_nan() => "no packet".into(),
            Goal::Use { .. } => change(value),
            Goal::Protect { .. } => time(value),
        }
    }
}

/// What keeps a resource from being used more.
fn why_not(wanted: &[Wanted], scenario: &Scenario, runs: &Runs, index: usize) -> String {
    let uses =
        wanted.iter().filter(|wanted| matches!(wanted.goal, Goal::Use { .. }) && wanted.missed(runs, index) > 1.0);
    let (Some(missed), Some(point)) = (uses.into_iter().next(), runs.first().get(index)) else {
        return String::new();
    };
    let names = scenario.resource_names();
    let full = point.utilization.iter().enumerate().find(|&(k, &part)| k != missed.place && part >= FULL);
    match full {
        Some((k, &part)) => format!("; {} is full: {}", names[k], percent(part)),
        None if point.lost == 0.0 => "; it serves all that comes".into(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::point::Chance;

    fn cpu(part: f64) -> Wanted {
        Wanted { goal: Goal::Use { resource: "cpu".into(), part }, place: 0 }
    }

    /// The CPU's use under mr3 and alpha = 1, 0.9 and 0.5, at each of which it is 1.3 less alpha.
    fn runs() -> (Vec<Spec>, Runs, Candidates) {
        let specs = ["mr3", "tradeoff:alpha=1", "tradeoff:alpha=0.9", "tradeoff:alpha=0.5"];
        let specs: Vec<Spec> = specs.map(|spec| spec.parse().unwrap()).into();
        let runs = Runs::new(vec![specs.iter().map(point).collect()], Chance::Seeds);
        (specs, runs, Candidates { today: 0, fair: vec![0, 1], alphas: vec![1, 2, 3] })
    }

    fn point(spec: &Spec) -> Point {
        let used = 1.3 - f64::from(hundredths(spec)) / 100.0;
        Point { scheduler: spec.to_string(), utilization: vec![used], ..Point::default() }
    }

    fn refine(part: f64) -> (Choice, Vec<Spec>) {
        let (mut specs, mut runs, mut candidates) = runs();
        let run = |spec: &Spec| Ok(vec![point(spec)]);
        let choice = refined(&[cpu(part)], &mut specs, &mut runs, &mut candidates, run).unwrap();
        (choice, specs)
    }

    #[test]
    fn the_largest_hundredth_that_reaches_it_is_found() {
        for (part, alpha) in [(0.45, "0.85"), (0.405, "0.89"), (0.79, "0.51"), (0.8, "0.5"), (0.4, "0.9")] {
            // A little less, as 1.3 - 0.9 is no decimal.
            let (choice, specs) = refine(part - 1e-9);
            let Choice::Reaching(index) = choice else { panic!("{part}: {choice:?}") };
            assert_eq!(specs[index].value("alpha"), Some(alpha), "{part}");
        }
    }

    #[test]
    fn fairness_is_kept_where_it_reaches_the_goal_and_what_is_out_of_reach_is_said_to_be() {
        assert_eq!(refine(0.2).0, Choice::Reaching(0));
        assert_eq!(refine(0.95).0, Choice::Nearest(3));
    }

    /// The CPU's use under mr3 and alpha = 1, 0.9 and 0.5, where none reaches 95 %.
    fn nearest(used: [f64; 4]) -> Choice {
        let (_, runs, candidates) = runs();
        let points = runs.first().iter().zip(used);
        let points = points.map(|(point, used)| Point { utilization: vec![used], ..point.clone() }).collect();
        decide(&[cpu(0.95)], &Runs::new(vec![points], Chance::Seeds), &candidates)
    }

    #[test]
    fn of_what_comes_as_near_as_any_the_fairest_is_used() {
        assert_eq!(nearest([0.860, 0.861, 0.860, 0.862]), Choice::Nearest(0));
        assert_eq!(nearest([0.80, 0.80, 0.860, 0.868]), Choice::Nearest(2));
        assert_eq!(nearest([0.80, 0.80, 0.860, 0.87]), Choice::Nearest(3));
        assert_eq!(nearest([0.0; 4]), Choice::Nearest(0));
    }

    #[test]
    fn what_reaches_a_goal_and_moves_more_is_told_besides() {
        let (_, mut runs, candidates) = runs();
        let throughputs = [100.0, 100.0, 110.0, 120.0];
        let points = runs.first().iter().zip(throughputs);
        let points = points.map(|(point, throughput_bps)| Point { throughput_bps, ..point.clone() }).collect();
        runs = Runs::new(vec![points], Chance::Seeds);
        // All use at least 30 %.
        assert!(faster(&[cpu(0.29)], (&runs, &candidates), 0).starts_with(" tradeoff:alpha=0.5 reaches that too"));
        assert_eq!(faster(&[cpu(0.29)], (&runs, &candidates), 3), "");
    }

    #[test]
    fn a_goal_is_a_resource_and_a_percentage() {
        assert_eq!("cpu 95 %".parse(), Ok(Goal::Use { resource: "cpu".into(), part: 0.95 }));
        assert_eq!(" my cpu  9.5% ".parse(), Ok(Goal::Use { resource: "my cpu".into(), part: 0.095 }));
        for wrong in ["", "95 %", "cpu", "cpu 95", "cpu %", "cpu x %", "cpu 0 %", "cpu -3 %", "cpu 101 %", "cpu NaN %"]
        {
            assert!(wrong.parse::<Goal>().is_err(), "{wrong}");
        }
    }
}
