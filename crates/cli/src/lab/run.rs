//! `dovetail lab run`.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use dovetail_config::{InputError, decode, unknown};
use dovetail_experiment::scenario::or_nearby;
use dovetail_lab::scenario::{BUILT_IN, BuiltIn, Scenario, Step, Traffic};
use dovetail_lab::{Lab, Options};
use dovetail_sched::cost::Linear;
use dovetail_units::Duration;

use super::classes;
use super::inside::{Inside, Source};
use super::predict::{Cost, Draft, Lack};
use super::real;
use super::report::{Document, StepReport, summary, text};
use super::slices::{Looks, Purpose, Slice, slices};
use super::verdicts;
use crate::args::{Predict, RunLab};
use crate::failure::Failure;
use crate::terminal;

/// For how long the cost of frames is measured for a scenario that is only printed.
const CALIBRATION: Duration = Duration::from_secs(5);

/// Make the lab, go through the steps of the scenario, and remove the lab, also when interrupted.
pub fn run(args: RunLab) -> Result<(), Failure> {
    let (scenario, source) = open(&args.scenario, &args.overrides)?;
    classes::check(&scenario, &source)?;
    let drafted = if args.predict { scenario.steps.as_slice() } else { &[] };
    let drafts: Vec<Draft> =
        drafted.iter().map(|step| Draft::new(&scenario, &source, step)).collect::<Result<_, Failure>>()?;
    let stop = terminal::on_interrupt();
    let lab = Lab::up(&Options { name: args.name.clone(), ..scenario.options.clone() })?;
    let takes: f64 = scenario.steps.iter().map(|step| (scenario.warm_up + step.time).as_secs_f64()).sum();
    let (steps, takes) = (scenario.steps.len(), if args.predict { 2.0 * takes } else { takes });
    terminal::say(&format!("lab: {steps} step{}, about {takes:.0} s", if steps == 1 { "" } else { "s" }));
    let mut run = Run::new(&lab, &scenario, &source, stop);
    let mut document = Document::new(&scenario.title);
    for (k, step) in scenario.steps.iter().enumerate() {
        let unaccounted = run.prepare(step)?;
        let draft = drafts.get(k);
        let (report, costs) = run.measure(step, draft)?;
        let prediction = draft.zip(costs).map(|(draft, costs)| draft.run(&costs)).transpose()?;
        let verdicts = verdicts::of_step(&args.scenario, &scenario, &report, prediction.as_ref());
        if !args.json {
            let before = match k {
                0 if scenario.title.is_empty() => String::new(),
                0 => format!("{}\n\n", scenario.title),
                _ => "\n".to_string(),
            };
            terminal::print(&format!("{before}{}", text(&report, &verdicts)))?;
        }
        document.add(report, verdicts.checks, unaccounted);
    }
    document.add_unaccounted(run.end()?);
    match args.json {
        true => terminal::print(&serde_json::to_string_pretty(&document).map_err(Failure::run)?),
        false => terminal::print(&summary(&document)),
    }
}

/// Print what the simulator is to be given for a step. Where something must be measured for it, that is done in a lab.
pub fn predict(args: Predict) -> Result<(), Failure> {
    let (scenario, source) = open(&args.scenario, &args.overrides)?;
    classes::check(&scenario, &source)?;
    let step = scenario.steps.get(args.step as usize - 1).ok_or_else(|| {
        let steps = scenario.steps.len();
        Failure::Input(format!("--step {}: the scenario has {steps}", args.step))
    })?;
    let draft = Draft::new(&scenario, &source, step)?;
    let costs = match draft.must_measure() {
        true => {
            let stop = terminal::on_interrupt();
            let lab = Lab::up(&Options { name: args.name, ..scenario.options.clone() })?;
            let mut run = Run::new(&lab, &scenario, &source, stop);
            run.prepare(step)?;
            let mut looks = run.looks()?;
            let due = looks.at + CALIBRATION;
            let costs = costs(&scenario, &draft, Some(&looks.next(due)?), None);
            run.end()?;
            costs
        }
        false => costs(&scenario, &draft, None, None),
    };
    let lacks = || scenario.groups.iter().zip(&costs).filter_map(|(group, cost)| Some((&group.class, cost.err()?)));
    let all = lacks().count() == costs.len();
    if let Some((class, lack)) = lacks().find(|(_, lack)| all || *lack == Lack::Unprocessed) {
        return Err(Failure::Run(format!("what {class:?} costs cannot be measured: {}", lack.why())));
    }
    let left_out =
        |(class, lack): (&String, Lack)| format!("# Without {class:?}: {} within {CALIBRATION}.\n", lack.why());
    let remarks: String = lacks().map(left_out).collect();
    terminal::print(&format!("{remarks}{}", draft.text(&costs)?))
}

/// For how long a frame of each group occupied the CPU on average, if the configuration does not say; all frames of a
/// group are of one length. That is measured in the box, at work on the very traffic: it is a matter of caches, which a
/// module shares with all frames that wait and with the kernel, which receives and sends on the same core; measured
/// anywhere else it is something else. `between` is where it was measured, if it had to be, and `besides` what else of
/// the step was.
fn costs(scenario: &Scenario, draft: &Draft, between: Option<&Slice>, besides: Option<&Slice>) -> Vec<Cost> {
    draft.costs(|k| {
        let of_class = |slice: &Slice| slice.inside.class(&scenario.groups[k].class).cpu_each;
        let was_there = |slice: &Slice| {
            let group = &slice.traffic.groups[k];
            group.sent + group.missed > 0 || of_class(slice).is_some()
        };
        match between.and_then(of_class) {
            Some(time) => Ok(Linear::from_picos(0, (time * 1e12).round() as u64)),
            None if between.into_iter().chain(besides).any(was_there) => Err(Lack::Unprocessed),
            None => Err(Lack::Unsent),
        }
    })
}

/// A file, or one of the scenarios that the program brings with it.
fn open(name: &str, overrides: &[String]) -> Result<(Scenario, Source), Failure> {
    if let Some(BuiltIn { text, config, live, .. }) = BUILT_IN.iter().find(|built_in| built_in.name == name) {
        let scenario = Scenario::parse(name, text, overrides).map_err(Failure::input)?;
        if scenario.live.as_os_str() != *live {
            let message = format!(
                "live={:?}: this scenario brings its box with it; what a step changes of it, step.0.set says",
                scenario.live.display()
            );
            return Err(Failure::input(InputError::new(name, message)));
        }
        return Ok((scenario, Source { file: None, name: live.to_string(), text: config.to_string() }));
    }
    let bytes = File::open(name).and_then(dovetail_config::bytes).map_err(|error| {
        let known: Vec<&str> = BUILT_IN.iter().map(|built_in| built_in.name).chain([real::NAME]).collect();
        let message = match error.kind() {
            std::io::ErrorKind::NotFound if name == real::NAME => {
                format!("it has no steps that could be simulated; dovetail lab run {name} runs it")
            }
            std::io::ErrorKind::NotFound if !name.ends_with(".toml") => unknown("scenario", name, &known),
            std::io::ErrorKind::IsADirectory => "it is a folder: expected a scenario of a lab (TOML)".into(),
            _ => format!("cannot be read: {error}{}", or_nearby(Path::new(name))),
        };
        Failure::input(InputError::new(name, message))
    })?;
    let text = decode(name, bytes).map_err(Failure::input)?;
    let scenario = Scenario::parse(name, &text, overrides).map_err(Failure::input)?;
    let live = scenario.live.to_string_lossy().into_owned();
    let bytes = File::open(&live).and_then(dovetail_config::bytes).map_err(|error| {
        let message = match error.kind() {
            std::io::ErrorKind::NotFound => format!("there is no configuration of the box {live:?}"),
            _ => format!("the configuration of the box {live:?} cannot be read: {error}"),
        };
        Failure::input(InputError::new(name, message))
    })?;
    let text = decode(&live, bytes).map_err(Failure::input)?;
    Ok((scenario, Source { file: Some(live.clone()), name: live, text }))
}

/// A run on its way.
struct Run<'a> {
    lab: &'a Lab,
    scenario: &'a Scenario,
    source: &'a Source,
    stop: &'a AtomicBool,
    inside: Option<Inside<'a>>,
    /// Goes on from step to step.
    traffic: Option<Traffic<'a>>,
    /// Whether the box of the step before was changed for this one, rather than started anew.
    turned: bool,
}

impl<'a> Run<'a> {
    fn new(lab: &'a Lab, scenario: &'a Scenario, source: &'a Source, stop: &'a AtomicBool) -> Self {
        Self { lab, scenario, source, stop, inside: None, traffic: None, turned: false }
    }

    /// Look at box and traffic from now on.
    fn looks(&mut self) -> Result<Looks<'_, 'a>, Failure> {
        let nothing = || Failure::Run("there is no box".into());
        let inside = self.inside.as_mut().ok_or_else(nothing)?;
        Looks::begin(inside, self.traffic.as_mut().ok_or_else(nothing)?, self.stop)
    }

    /// Bring box and traffic to where the step can be measured. Says how many frames a box that was ended for it has no
    /// account of.
    fn prepare(&mut self, step: &Step) -> Result<i64, Failure> {
        let mut unaccounted = 0;
        self.turned = match self.inside.as_mut() {
            Some(inside) => inside.change(&step.set)?,
            None => false,
        };
        if !self.turned {
            unaccounted = self.end()?;
            self.inside = Some(Inside::start(self.lab, self.source, &step.set, self.stop)?);
        }
        if self.traffic.is_none() {
            self.inside.iter_mut().try_for_each(|inside| inside.wait_until_ready(self.stop))?;
            self.traffic = Some(Traffic::start(self.lab, self.scenario)?);
        }
        self.inside.iter_mut().try_for_each(|inside| inside.wait(self.scenario.warm_up, self.stop))?;
        Ok(unaccounted)
    }

    /// Measure what the step comes to, and what the draft must know of the cost of frames meanwhile.
    fn measure(&mut self, step: &Step, draft: Option<&Draft>) -> Result<(StepReport, Option<Vec<Cost>>), Failure> {
        let (turned, scenario) = (self.turned, self.scenario);
        let must_measure = draft.is_some_and(Draft::must_measure);
        let mut looks = self.looks()?;
        let (mut due, mut measured, mut between) = (looks.at, Vec::new(), Vec::new());
        for (purpose, time) in slices(step.time, must_measure) {
            due += time;
            let slice = looks.next(due)?;
            match purpose {
                Purpose::Step => measured.push(slice),
                Purpose::Costs => between.push(slice),
            }
        }
        let [measured, between] = [measured, between].map(|slices| slices.into_iter().reduce(Slice::and));
        let measured = measured.ok_or_else(|| Failure::Run("nothing was measured".into()))?;
        let costs = draft.map(|draft| costs(scenario, draft, between.as_ref(), Some(&measured)));
        Ok((StepReport::new(step, turned, &scenario.groups, measured), costs))
    }

    /// End the box, if there is one. Says how many frames it has no account of.
    fn end(&mut self) -> Result<i64, Failure> {
        self.inside.take().map_or(Ok(0), Inside::end)
    }
}
