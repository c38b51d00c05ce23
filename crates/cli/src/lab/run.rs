//! `dovetail lab run`.

use std::sync::atomic::AtomicBool;

use dovetail_config::{InputError, unknown};
use dovetail_lab::scenario::{BUILT_IN, BuiltIn, Scenario, Step, Traffic};
use dovetail_lab::{Lab, Options, now};
use dovetail_sched::cost::Linear;
use dovetail_units::Duration;

use super::inside::{Inside, Source};
use super::predict::Draft;
use super::report::{Document, PARTS, StepReport, Window, summary, text};
use super::verdicts;
use crate::args::{Predict, RunLab};
use crate::failure::Failure;
use crate::terminal;

/// For how long the cost of frames is measured where it is not given: in the box, at work on the very traffic, just before and just after what is held against the simulation. What a module takes
/// is a matter of caches, which it shares with all frames that wait and with the kernel, which receives and sends on the same core; measured anywhere else it is something else. And it
/// drifts: of a steady drift the mean of before and after knows nothing.
const CALIBRATION: Duration = Duration::from_secs(5);

/// Make the lab, go through the steps of the scenario, and remove the lab, also when interrupted.
pub fn run(args: RunLab) -> Result<(), Failure> {
    let (scenario, source) = open(&args.scenario, &args.overrides)?;
    check(&scenario, &source)?;
    let drafted = if args.predict { scenario.steps.as_slice() } else { &[] };
    let drafts: Vec<Draft> =
        drafted.iter().map(|step| Draft::new(&scenario, &source, step)).collect::<Result<_, Failure>>()?;
    let stop = terminal::on_interrupt();
    let lab = Lab::up(&Options { name: args.name.clone(), ..scenario.options.clone() })?;
    let mut run = Run::new(&lab, &scenario, &source, stop);
    let mut document = Document::new(&scenario.title);
    for (k, step) in scenario.steps.iter().enumerate() {
        let unaccounted = run.prepare(step)?;
        let draft = drafts.get(k);
        let before = draft.map_or(Ok(Vec::new()), |draft| run.costs(draft))?;
        let report = run.measure(step)?;
        let after = draft.map_or(Ok(Vec::new()), |draft| run.costs(draft))?;
        let costs: Vec<Linear> = before.into_iter().zip(after).map(|(before, after)| mean(before, after)).collect();
        let predicted = draft.map(|draft| draft.run(&costs)).transpose()?;
        let verdicts = verdicts::of_step(&args.scenario, &scenario, &report, predicted.as_deref());
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
    check(&scenario, &source)?;
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
            let costs = run.costs(&draft)?;
            run.end()?;
            costs
        }
        false => Vec::new(),
    };
    terminal::print(&draft.text(&costs)?)
}

fn mean(before: Linear, after: Linear) -> Linear {
    let [before, after] = [before, after].map(Linear::as_picos);
    Linear::from_picos((before.0 + after.0) / 2, (before.1 + after.1) / 2)
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
    let text = std::fs::read_to_string(name).map_err(|error| {
        let known = BUILT_IN.map(|built_in| built_in.name);
        let message = match error.kind() {
            std::io::ErrorKind::NotFound => unknown("scenario", name, &known),
            _ => format!("cannot be read: {error}"),
        };
        Failure::input(InputError::new(name, message))
    })?;
    let scenario = Scenario::parse(name, &text, overrides).map_err(Failure::input)?;
    let live = scenario.live.to_string_lossy().into_owned();
    let text = std::fs::read_to_string(&live).map_err(|error| {
        let message = match error.kind() {
            std::io::ErrorKind::NotFound => format!("there is no configuration of the box {live:?}"),
            _ => format!("the configuration of the box {live:?} cannot be read: {error}"),
        };
        Failure::input(InputError::new(name, message))
    })?;
    Ok((scenario, Source { file: Some(live.clone()), name: live, text }))
}

/// Whether the box can be what every step wants it to be, and knows the classes: before anything is made.
fn check(scenario: &Scenario, source: &Source) -> Result<(), Failure> {
    for step in &scenario.steps {
        let middlebox = source.config(&step.set).and_then(|config| config.middlebox()).map_err(Failure::input)?;
        let classes: Vec<&str> = middlebox.class_names().collect();
        if let Some(group) = scenario.groups.iter().find(|group| !classes.contains(&group.class.as_str())) {
            return Err(Failure::input(InputError::new(&source.name, unknown("class", &group.class, &classes))));
        }
    }
    Ok(())
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

    /// The box, and the traffic.
    fn parts(&mut self) -> Result<(&mut Inside<'a>, &mut Traffic<'a>), Failure> {
        let nothing = || Failure::Run("there is no box".into());
        Ok((self.inside.as_mut().ok_or_else(nothing)?, self.traffic.as_mut().ok_or_else(nothing)?))
    }

    /// Bring box and traffic to where the step can be measured. Says how many frames a box that was ended for it has no account of.
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
        let (warm_up, stop) = (self.scenario.warm_up, self.stop);
        self.parts()?.0.wait(warm_up, stop)?;
        Ok(unaccounted)
    }

    /// For how long a frame of each group occupies the CPU in the mean, if the draft must know; all frames of a group are of one length. What is given is not measured.
    fn costs(&mut self, draft: &Draft) -> Result<Vec<Linear>, Failure> {
        if !draft.must_measure() {
            return Ok(Vec::new());
        }
        let (stop, groups) = (self.stop, &self.scenario.groups);
        let inside = self.parts()?.0;
        let since = inside.snapshot()?;
        inside.wait(CALIBRATION, stop)?;
        let window = Window { since, between: Vec::new(), until: inside.snapshot()? };
        let cost = |class: &str| match window.processing(class) {
            Some(time) => Ok(Linear::from_picos(0, (time * 1e12).round() as u64)),
            None => {
                Err(Failure::Run(format!("what {class:?} costs cannot be measured: the box processes no frame of it")))
            }
        };
        let costs = groups.iter().zip(draft.given());
        costs.map(|(group, given)| given.map_or_else(|| cost(&group.class), Ok)).collect()
    }

    /// Measure what the step comes to.
    fn measure(&mut self, step: &Step) -> Result<StepReport, Failure> {
        let (turned, stop, groups) = (self.turned, self.stop, &self.scenario.groups);
        let (inside, traffic) = self.parts()?;
        traffic.measure()?;
        let (begun, since) = (now(), inside.snapshot()?);
        let mut between = Vec::new();
        for _ in 1..PARTS {
            inside.wait(step.time.divided_by(PARTS), stop)?;
            between.push(inside.snapshot()?);
        }
        inside.wait((begun + step.time).since(now()), stop)?;
        let (measured, time) = (traffic.measure()?, now() - begun);
        let window = Window { since, between, until: inside.snapshot()? };
        Ok(StepReport::new(step, turned, time, groups, measured, window))
    }

    /// End the box, if there is one. Says how many frames it has no account of.
    fn end(&mut self) -> Result<i64, Failure> {
        self.inside.take().map_or(Ok(0), Inside::end)
    }
}
