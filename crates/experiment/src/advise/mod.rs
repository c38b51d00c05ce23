//! Which scheduler and which alpha for an input: what it gains, who pays, and how sure that is.
//!
//! Every candidate gets the same packets, [`RUNS`] times: as they are, and as chance might have had them ([`Chance`]).
//! [`decide`] chooses among the candidates by what every run shows. The choice is made again with other costs and more
//! load.

mod again;
pub mod decide;
pub mod goal;
pub mod network;
pub mod point;
mod short;
mod show;
mod who;
mod words;

use dovetail_sched::Spec;
use serde::Serialize;

use crate::compare::{RunError, Settings};
use crate::scenario::{Scenario, ScenarioError, Variation};
use crate::statistics::Estimate;
use decide::{Candidates, Choice};
use goal::{Goal, Outcome, Wanted};
use point::{Chance, Moved, Point, Runs};

pub use show::{answer, columns, grid, groups, notes, picture, text};
pub use words::change;

/// Version of the document.
pub const SCHEMA: u32 = 5;
/// What runs today unless something else is said.
pub const TODAY: &str = "fifo";
/// Those that share fairly without an alpha, the cheapest to run first.
const FAIR: [&str; 2] = ["mr3", "drfq"];
/// Down to where a flow keeps some of its share.
const ALPHAS: [&str; 9] = ["1", "0.99", "0.95", "0.9", "0.85", "0.8", "0.7", "0.5", "0.3"];
/// Runs of every candidate.
pub const RUNS: usize = 5;
/// Runs of every candidate under each of the other circumstances.
const RUNS_OTHERWISE: usize = 3;
/// With what the choice is made again.
const VARIATIONS: [(&str, Variation); 3] = [
    ("processing takes 30 % less", Variation { costs: 0.7, load: 1.0 }),
    ("processing takes 30 % more", Variation { costs: 1.3, load: 1.0 }),
    ("twice that traffic comes", Variation { costs: 1.0, load: 2.0 }),
];

/// The choice under other circumstances.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Otherwise {
    /// If this were so.
    pub circumstances: &'static str,
    /// What would be advised.
    pub scheduler: String,
    /// How many bits more it would move than today's there, as a part of these.
    pub gain: Estimate,
    /// Of one that shares fairly: why those that are cheaper to run are not chosen, if there are such.
    pub why: Option<String>,
    /// Whether that would reach the goals; `None` without any.
    pub reached: Option<bool>,
}

/// One candidate.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Tried {
    /// What it made of the input as it is.
    #[serde(flatten)]
    pub point: Point,
    /// How many bits more it moves than the best fair scheduler, over all runs.
    pub gain_over_fair: Estimate,
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
    /// Whether anything is short, and where from the input is as it is: a sentence or two.
    pub short: String,
    /// How many times as fast as it was recorded a capture is replayed for all but [`short`](Self::short).
    pub speed: Option<f64>,
    /// What to use.
    pub scheduler: String,
    /// What runs today.
    pub today: String,
    /// The one of those that share fairly that moves most.
    pub fair: String,
    /// The goals, and how far the advised one comes.
    pub goals: Vec<Outcome>,
    /// What to use, what that gains, and who pays: a sentence or two each.
    pub sentences: [String; 3],
    /// Of a capture that is mostly flows of one packet: that fairness among flows does not hold these back, and what
    /// does.
    pub hint: Option<String>,
    /// What the advised one moves more than today's.
    pub gain: Moved,
    /// What it moves more than [`fair`](Self::fair).
    pub gain_over_fair: Moved,
    /// How often everything was run.
    pub runs: usize,
    /// In what the runs differ.
    pub differ_in: Chance,
    /// Every candidate.
    pub points: Vec<Tried>,
    /// The choice under other circumstances.
    pub otherwise: Vec<Otherwise>,
    /// Lines for the configuration of a live box.
    pub configuration: String,
}

impl Advice {
    /// What stands above [`configuration`](Self::configuration).
    pub fn for_live_box(&self) -> &'static str {
        show::for_live_box(self.reached(), self.speed.is_some_and(|speed| speed != 1.0))
    }

    /// What the table of [`points`](Self::points) says.
    pub fn caption(&self) -> String {
        show::caption(&self.scheduler, self.reached())
    }

    fn reached(&self) -> bool {
        self.goals.iter().all(|goal| goal.reached)
    }
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

/// Runs in all, about: for a progress bar.
pub fn most_runs() -> usize {
    // One to see what is short. What goals need besides is little, and so is what shows that nothing is random.
    1 + (1 + FAIR.len() + ALPHAS.len()) * (RUNS + VARIATIONS.len() * RUNS_OTHERWISE)
}

/// What was found out, for those who put it into words.
struct Found<'a> {
    scenario: &'a Scenario,
    runs: Runs,
    candidates: Candidates,
    wanted: Vec<Wanted>,
    choice: Choice,
}

impl Found<'_> {
    fn chosen(&self) -> usize {
        self.choice.index(self.candidates.today)
    }

    fn strict(&self) -> usize {
        self.candidates.strict(&self.runs)
    }

    /// The point of a candidate in the input as it is.
    fn point(&self, index: usize) -> &Point {
        &self.runs.first()[index]
    }

    /// What a candidate moves more than another one.
    fn moved(&self, index: usize, base: usize) -> Moved {
        self.runs.moved(index, base)
    }
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
    let comparer = again::Comparer::new(settings);
    let short::Short { sentence: short, groups } = short::look(scenario, today, &comparer)?;
    // A wrong name is told before all that is to be run.
    Wanted::all(goals, scenario, &groups)?;
    let (mut specs, mut candidates) = candidates(today);
    let mut runs = again::all(scenario, &specs, &comparer)?;
    let chance = runs.chance();
    let groups: Vec<String> = runs.first()[0].groups.iter().map(|group| group.group.clone()).collect();
    let wanted = Wanted::all(goals, scenario, &groups)?;
    let varied = |variation: Variation, specs: &[Spec], count: usize| {
        again::varied(scenario, (variation, chance), specs, &comparer, count)
    };
    let choice = match goals {
        [] => candidates.decide(&runs),
        _ => {
            let run = |spec: &Spec| {
                let runs = varied(Variation::NONE, std::slice::from_ref(spec), RUNS)?;
                Ok(runs.of(0))
            };
            goal::refined(&wanted, &mut specs, &mut runs, &mut candidates, run)?
        }
    };
    let otherwise = VARIATIONS.map(|(circumstances, variation)| -> Result<_, AdviseError> {
        let runs = varied(variation, &specs, RUNS_OTHERWISE)?;
        let choice = match goals {
            [] => candidates.decide(&runs),
            _ => goal::decide(&wanted, &runs, &candidates),
        };
        let chosen = choice.index(candidates.today);
        let gain = runs.moved(chosen, candidates.today).bits;
        let why = words::passed_over(&runs, &candidates, choice);
        let reached = match choice {
            Choice::Reaching(_) => Some(true),
            Choice::Nearest(_) => Some(false),
            _ => None,
        };
        Ok(Otherwise { circumstances, scheduler: specs[chosen].to_string(), gain, why, reached })
    });
    let otherwise = otherwise.into_iter().collect::<Result<_, _>>()?;
    let found = Found { scenario, runs, candidates, wanted, choice };
    Ok(found.advice(today, short, otherwise))
}

impl Found<'_> {
    fn advice(&self, today: &Spec, short: String, otherwise: Vec<Otherwise>) -> Advice {
        let (chosen, strict) = (self.chosen(), self.strict());
        let tried =
            |index: usize| Tried { point: self.point(index).clone(), gain_over_fair: self.moved(index, strict).bits };
        let scheduler = self.point(chosen).scheduler.clone();
        Advice {
            schema: SCHEMA,
            input: self.scenario.name.clone(),
            resources: self.scenario.resource_names(),
            short,
            speed: self.scenario.replay_speed(),
            today: today.to_string(),
            fair: self.point(strict).scheduler.clone(),
            goals: self.wanted.iter().map(|wanted| wanted.outcome(&self.runs, chosen)).collect(),
            sentences: words::sentences(self),
            hint: self.scenario.newcomers().map(|newcomers| words::of_newcomers(&newcomers)),
            gain: self.moved(chosen, self.candidates.today),
            gain_over_fair: self.moved(chosen, strict),
            runs: self.runs.count(),
            differ_in: self.runs.chance(),
            points: self.candidates.in_order(self.runs.first().len()).map(tried).collect(),
            otherwise,
            configuration: format!("scheduler = \"{scheduler}\""),
            scheduler,
        }
    }
}

fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let resources = scenario.resources();
    if resources != 2 {
        let message = format!(
            "advice is for two resources, such as a CPU and a link, and this pipeline has {resources}: `dovetail run` \
             compares schedulers on it"
        );
        return Err(ScenarioError::new(&scenario.name, message));
    }
    match scenario.changes().is_empty() {
        true => Ok(()),
        false => Err(scenario.change_error(0, "advice is for schedulers that stay as they are: leave out [[change]]")),
    }
}

/// A scheduler without parameters.
fn spec(name: &str) -> Spec {
    Spec { name: name.into(), parameters: Vec::new() }
}

/// The schedulers that are tried, and what they are.
fn candidates(today: &Spec) -> (Vec<Spec>, Candidates) {
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

#[cfg(test)]
mod tests;
