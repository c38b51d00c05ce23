//! `dovetail lab run`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dovetail_config::{InputError, unknown};
use dovetail_lab::scenario::{BUILT_IN, BuiltIn, Scenario, Step, Traffic};
use dovetail_lab::{Lab, Options, now};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::inside::{Inside, Source};
use super::predict;
use super::report::{Document, StepReport, Window, summary, text};
use super::verdicts;
use crate::args::{Predict, RunLab};
use crate::failure::Failure;
use crate::terminal;

/// Make the lab, go through the steps of the scenario, and remove the lab, also when interrupted.
pub fn run(args: RunLab) -> Result<(), Failure> {
    let (scenario, source) = open(&args.scenario, &args.overrides)?;
    check(&scenario, &source)?;
    let predictions = match args.predict {
        true => scenario.steps.iter().map(|step| predict::run(&scenario, &source, step).map(Some)).collect(),
        false => Ok(vec![None; scenario.steps.len()]),
    };
    let predictions = predictions?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(Failure::run)?;
    }
    let lab = Lab::up(&Options { name: args.name.clone(), ..scenario.options.clone() })?;
    let mut run = Run { lab: &lab, scenario: &scenario, source: &source, stop: &stop, inside: None, traffic: None };
    let mut document = Document::new(&scenario.title);
    for (k, (step, predicted)) in scenario.steps.iter().zip(predictions).enumerate() {
        let (report, unaccounted) = run.step(step)?;
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

/// Print what the simulator is to be given for a step.
pub fn predict(args: Predict) -> Result<(), Failure> {
    let (scenario, source) = open(&args.scenario, &args.overrides)?;
    check(&scenario, &source)?;
    let step = scenario.steps.get(args.step as usize - 1).ok_or_else(|| {
        let steps = scenario.steps.len();
        Failure::Input(format!("--step {}: the scenario has {steps}", args.step))
    })?;
    terminal::print(&predict::text(&scenario, &source, step)?)
}

/// A file, or one of the scenarios that the program brings with it.
fn open(name: &str, overrides: &[String]) -> Result<(Scenario, Source), Failure> {
    if let Some(BuiltIn { text, config, live, .. }) = BUILT_IN.iter().find(|built_in| built_in.name == name) {
        let scenario = Scenario::parse(name, text, overrides).map_err(Failure::input)?;
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
}

impl<'a> Run<'a> {
    /// Do a step. Also says how many frames a box that was ended for it has no account of.
    fn step(&mut self, step: &Step) -> Result<(StepReport, i64), Failure> {
        let mut unaccounted = 0;
        let turned = match self.inside.as_mut() {
            Some(inside) => inside.change(&step.set)?,
            None => false,
        };
        if !turned {
            unaccounted = self.end()?;
            self.inside = Some(Inside::start(self.lab, self.source, &step.set, self.stop)?);
        }
        let inside = self.inside.as_mut().ok_or_else(|| Failure::Run("there is no box".into()))?;
        let traffic = match &mut self.traffic {
            Some(traffic) => traffic,
            None => {
                inside.wait_until_ready(self.stop)?;
                self.traffic.insert(Traffic::start(self.lab, self.scenario)?)
            }
        };
        inside.wait(self.scenario.warm_up, self.stop)?;
        traffic.measure()?;
        let (begun, since) = (now(), inside.snapshot()?);
        inside.wait(step.time, self.stop)?;
        let (measured, time) = (traffic.measure()?, now() - begun);
        let window = Window { since, until: inside.snapshot()? };
        Ok((StepReport::new(step, turned, time, &self.scenario.groups, measured, window), unaccounted))
    }

    /// End the box, if there is one. Says how many frames it has no account of.
    fn end(&mut self) -> Result<i64, Failure> {
        self.inside.take().map_or(Ok(0), Inside::end)
    }
}
