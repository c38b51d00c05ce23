//! Which scheduler and which alpha for an input: what it gains, who pays, and how sure that is.
//!
//! Every candidate gets the same packets. [`decide`] chooses among them. The chosen one, strict fairness and what runs
//! today are repeated with other seeds, and the choice is made again with other costs and more load.

pub mod decide;
pub mod goal;
mod words;

use dovetail_sched::Spec;
use serde::Serialize;

use crate::compare::{RunError, Settings, compare};
use crate::scenario::{Scenario, ScenarioError, Variation};
use crate::statistics::Estimate;
use crate::summary::{Run, Summary};
use crate::table::{percent, rate, seconds};
use decide::Candidates;
use dovetail_figure::{Column, FigureError, Overview, overview};
use goal::{Goal, Outcome, Wanted};

pub use words::{certainty, change, grid, otherwise, text};

/// Version of the document.
pub const SCHEMA: u32 = 2;
/// What runs today unless something else is said.
pub const TODAY: &str = "fifo";
/// Those that share fairly without an alpha, the cheapest to run first.
const FAIR: [&str; 2] = ["mr3", "drfq"];
/// Down to where a flow keeps some of its share.
const ALPHAS: [&str; 9] = ["1", "0.99", "0.95", "0.9", "0.85", "0.8", "0.7", "0.5", "0.3"];
/// Runs of the chosen one, with a seed each.
pub const SEEDS: u64 = 5;
/// With what the choice is made again.
const VARIATIONS: [(&str, Variation); 3] = [
    ("processing takes 30 % less", Variation { costs: 0.7, load: 1.0 }),
    ("processing takes 30 % more", Variation { costs: 1.3, load: 1.0 }),
    ("twice as much comes", Variation { costs: 1.0, load: 2.0 }),
];

/// What a scheduler made of the input.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Point {
    /// The scheduler.
    pub scheduler: String,
    /// Delivered bits per second of makespan.
    pub throughput_bps: f64,
    /// Busy part of each resource while anything was in the box, 0 to 1.
    pub utilization: Vec<f64>,
    /// Part of the packets that was lost.
    pub lost: f64,
    /// 99 % quantile of all latencies.
    pub p99_s: Option<f64>,
    /// Flows that starve.
    pub starving: usize,
    /// The groups, in the order of the input.
    pub groups: Vec<GroupPoint>,
}

/// What it made of a group of flows.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct GroupPoint {
    /// The group.
    pub group: String,
    /// Delivered bits per second of makespan, all flows together.
    pub throughput_bps: f64,
    /// 99 % quantile of its packets' latencies.
    pub p99_s: Option<f64>,
}

impl Point {
    fn of(run: &Run) -> Self {
        let packets = &run.packets;
        Self {
            scheduler: run.scheduler.clone(),
            throughput_bps: run.groups.iter().map(|group| group.throughput_bps).sum(),
            utilization: run.resources.0.iter().map(|(_, resource)| resource.utilization).collect(),
            lost: packets.lost() as f64 / packets.offered.max(1) as f64,
            p99_s: run.latency_s.map(|latency| latency.p99),
            starving: run.starving,
            groups: run.groups.iter().map(GroupPoint::of).collect(),
        }
    }
}

impl GroupPoint {
    fn of(group: &crate::summary::Group) -> Self {
        let p99_s = group.latency_s.map(|latency| latency.p99);
        Self { group: group.group.clone(), throughput_bps: group.throughput_bps, p99_s }
    }
}

/// The choice under other circumstances.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Otherwise {
    /// If this were so.
    pub circumstances: &'static str,
    /// What would be advised.
    pub scheduler: String,
    /// Its throughput over today's, less 1.
    pub gain: f64,
}

/// The answer.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Advice {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The input.
    pub input: String,
    /// The names of the resources.
    pub resources: Vec<String>,
    /// What to use.
    pub scheduler: String,
    /// What runs today.
    pub today: String,
    /// The goals, and how far the advised one comes.
    pub goals: Vec<Outcome>,
    /// What to use, what that gains, and who pays: a sentence or two each.
    pub sentences: [String; 3],
    /// Throughput of the advised one over today's, less 1, over [`seeds`](Self::seeds).
    pub gain: Estimate,
    /// The same over that one of those that share fairly which moves most.
    pub gain_over_fair: Estimate,
    /// Seeds of the runs that the estimates are of: one if another seed changes nothing.
    pub seeds: Vec<u64>,
    /// What every candidate made of the input.
    pub points: Vec<Point>,
    /// The choice under other circumstances.
    pub otherwise: Vec<Otherwise>,
    /// Lines for the configuration of a live box.
    pub configuration: String,
}

/// Why there is no advice.
#[derive(Debug)]
pub enum AdviseError {
    /// The input is not of a kind that this can advise on, or a seed is wrong.
    Input(ScenarioError),
    /// A run failed.
    Run(RunError),
}

impl From<RunError> for AdviseError {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

impl From<ScenarioError> for AdviseError {
    fn from(error: ScenarioError) -> Self {
        Self::Input(error)
    }
}

/// Runs in all, at most: for a progress bar.
pub fn most_runs() -> usize {
    let candidates = 1 + FAIR.len() + ALPHAS.len();
    // The chosen one, strict fairness and today's. What goals need besides is little.
    candidates * (1 + VARIATIONS.len()) + 3 * (SEEDS as usize - 1)
}

/// Find out what to use for this input instead of `today`: what [`decide`] says, or, with goals, the fairest that
/// reaches them all.
///
/// # Errors
/// The scenario has another number of resources than two, or changes parameters; it lacks the resource or group of a
/// goal; a run fails or is cancelled.
pub fn advise(
    scenario: &Scenario,
    today: &Spec,
    goals: &[Goal],
    settings: &Settings<'_>,
) -> Result<Advice, AdviseError> {
    check(scenario)?;
    let (mut specs, mut candidates) = candidates(today);
    let mut points = points(scenario, &specs, settings)?;
    let wanted = Wanted::all(goals, scenario, &points[0])?;
    let run = |spec: &Spec| Ok(self::points(scenario, std::slice::from_ref(spec), settings)?.remove(0));
    let choice = match goals {
        [] => candidates.decide(&points),
        _ => goal::refined(&wanted, &mut specs, &mut points, &mut candidates, run)?,
    };
    let chosen = choice.index(candidates.today);
    let (seeds, runs) = repeated(scenario, &specs, &candidates, chosen, &points, settings)?;
    let [gain, gain_over_fair] =
        [0, 1].map(|base| Estimate::of(&runs.iter().map(|run| over(run, 2, base)).collect::<Vec<_>>()));
    let otherwise = VARIATIONS.map(|(circumstances, variation)| -> Result<_, AdviseError> {
        let points = self::points(&scenario.clone().varied(variation), &specs, settings)?;
        let choice = match goals {
            [] => candidates.decide(&points),
            _ => goal::decide(&wanted, &points, &candidates),
        };
        let chosen = choice.index(candidates.today);
        let gain = over(&points, chosen, candidates.today);
        Ok(Otherwise { circumstances, scheduler: points[chosen].scheduler.clone(), gain })
    });
    Ok(Advice {
        schema: SCHEMA,
        input: scenario.name.clone(),
        resources: scenario.resource_names(),
        scheduler: points[chosen].scheduler.clone(),
        today: today.to_string(),
        goals: wanted.iter().map(|wanted| wanted.outcome(runs.iter().map(|run| &run[2]))).collect(),
        sentences: words::sentences(scenario, &points, &candidates, (choice, &wanted), [gain, gain_over_fair]),
        gain,
        gain_over_fair,
        seeds,
        configuration: format!("scheduler = \"{}\"", points[chosen].scheduler),
        points: candidates.in_order(&points),
        otherwise: otherwise.into_iter().collect::<Result<_, _>>()?,
    })
}

/// What every candidate made of the input, as a picture: bars with their numbers.
///
/// # Errors
/// If it cannot be drawn.
pub fn picture(advice: &Advice) -> Result<String, FigureError> {
    let column = |heading: String, group: Option<&str>, full, value: &dyn Fn(&Point) -> Option<f64>, shown: Shown| {
        let values = advice.points.iter().map(|point| value(point).map(|v| (v, shown(v))));
        Column { heading, group: group.map(String::from), full, values: values.collect() }
    };
    let mut totals = vec![column("throughput".into(), None, None, &|point| Some(point.throughput_bps), rate)];
    totals.extend(advice.resources.iter().enumerate().map(|(k, name)| {
        column(format!("{name} used"), None, Some(1.0), &|point| point.utilization.get(k).copied(), percent)
    }));
    let groups = advice.points.first().map_or(&[][..], |point| &point.groups);
    let p99 = groups.iter().enumerate().map(|(k, group)| {
        let value = |point: &Point| point.groups.get(k).and_then(|group| group.p99_s);
        column(format!("{}: p99", group.group), Some(&group.group), None, &value, seconds)
    });
    overview(&Overview {
        title: advice.input.clone(),
        schedulers: advice.points.iter().map(|point| point.scheduler.clone()).collect(),
        bands: vec![totals, p99.collect()],
        note: Some("p99: the time within which 99 of 100 packets of a group left.".into()),
    })
}

/// How a number is written.
type Shown = fn(f64) -> String;

fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let resources = scenario.resources();
    if resources != 2 {
        let message =
            format!("advice is about alpha, which tradeoff has for two resources; this pipeline has {resources}");
        return Err(ScenarioError::new(&scenario.name, message));
    }
    match scenario.changes().is_empty() {
        true => Ok(()),
        false => Err(scenario.change_error(0, "advice is for schedulers that stay as they are: leave out [[change]]")),
    }
}

/// The schedulers that are tried, and what they are.
fn candidates(today: &Spec) -> (Vec<Spec>, Candidates) {
    let spec = |text: &str| Spec { name: text.into(), parameters: Vec::new() };
    let tradeoff = |alpha: &str| Spec { name: "tradeoff".into(), parameters: vec![("alpha".into(), alpha.into())] };
    let mut specs = vec![today.clone()];
    let mut add = |spec: Spec| {
        let same = specs.iter().position(|other| dovetail_sched::composition::same(other, &spec));
        same.unwrap_or_else(|| {
            specs.push(spec);
            specs.len() - 1
        })
    };
    let mut fair: Vec<usize> = FAIR.iter().map(|name| add(spec(name))).collect();
    let alphas: Vec<usize> = ALPHAS.iter().map(|alpha| add(tradeoff(alpha))).collect();
    fair.extend(alphas.first());
    (specs, Candidates { today: 0, fair, alphas })
}

fn points(scenario: &Scenario, specs: &[Spec], settings: &Settings<'_>) -> Result<Vec<Point>, RunError> {
    let runs = compare(scenario, specs, settings)?;
    Ok(Summary::new(scenario, &runs).runs.iter().map(Point::of).collect())
}

fn over(points: &[Point], index: usize, base: usize) -> f64 {
    points[index].throughput_bps / points[base].throughput_bps - 1.0
}

/// Today's, strict fairness and the chosen one, for each seed.
fn repeated(
    scenario: &Scenario,
    specs: &[Spec],
    candidates: &Candidates,
    chosen: usize,
    first: &[Point],
    settings: &Settings<'_>,
) -> Result<(Vec<u64>, Vec<[Point; 3]>), AdviseError> {
    let three = [candidates.today, candidates.strict(first), chosen];
    let mut wanted = three.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    let place = |index: usize| wanted.iter().position(|&other| other == index).unwrap_or(0);
    let short: Vec<Spec> = wanted.iter().map(|&index| specs[index].clone()).collect();
    let (mut seeds, mut runs) = (vec![scenario.seed()], vec![three.map(|index| first[index].clone())]);
    for more in 1..SEEDS {
        let seed = scenario.seed().wrapping_add(more);
        let points = points(&scenario.clone().with_seed(seed)?, &short, settings)?;
        if wanted.iter().zip(&points).all(|(&index, point)| first[index] == *point) {
            break;
        }
        seeds.push(seed);
        runs.push(three.map(|index| points[place(index)].clone()));
    }
    Ok((seeds, runs))
}

#[cfg(test)]
mod tests;
