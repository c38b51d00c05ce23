//! `dovetail lab run`.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dovetail_config::{InputError, unknown};
use dovetail_lab::scenario::{BUILT_IN, BuiltIn, Scenario, Step, Traffic};
use dovetail_lab::{Lab, Options, Place, ask_to_end, now, pause};
use dovetail_units::Duration;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::report::{BoxReport, Document, StepReport, text};
use crate::args::RunLab;
use crate::failure::Failure;
use crate::terminal;

/// How often to look whether to stop.
const LOOK: Duration = Duration::from_millis(20);

/// How long the box may take to be ready.
const READY: Duration = Duration::from_secs(10);

/// How long the box may take to send what it holds and to report.
const DRAIN: Duration = Duration::from_secs(20);

/// Make the lab, go through the steps of the scenario, and remove the lab, also when interrupted.
pub fn run(args: RunLab) -> Result<(), Failure> {
    let (scenario, config) = open(&args)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(Failure::run)?;
    }
    let lab = Lab::up(&Options { name: args.name.clone(), ..scenario.options.clone() })?;
    let mut traffic = None;
    let mut steps = Vec::new();
    for (k, step) in scenario.steps.iter().enumerate() {
        let report = do_step(&lab, &scenario, &config, step, &mut traffic, &stop)?;
        if args.json {
            steps.push(report);
        } else {
            let before = match k {
                0 if scenario.title.is_empty() => String::new(),
                0 => format!("{}\n\n", scenario.title),
                _ => "\n".to_string(),
            };
            terminal::print(&format!("{before}{}", text(&report)))?;
        }
    }
    if args.json {
        let document = Document::new(&scenario.title, steps);
        terminal::print(&serde_json::to_string_pretty(&document).map_err(Failure::run)?)?;
    }
    Ok(())
}

/// Where the box reads its configuration from.
enum Config {
    File(String),
    Text(&'static str),
}

/// A file, or one of the scenarios that the program brings with it.
fn open(args: &RunLab) -> Result<(Scenario, Config), Failure> {
    let name = args.scenario.as_str();
    if let Some(BuiltIn { text, config, .. }) = BUILT_IN.iter().find(|built_in| built_in.name == name) {
        let scenario = Scenario::parse(name, text, &args.overrides).map_err(Failure::input)?;
        return Ok((scenario, Config::Text(config)));
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        let known = BUILT_IN.map(|built_in| built_in.name);
        let message = match error.kind() {
            std::io::ErrorKind::NotFound => unknown("scenario", name, &known),
            _ => format!("cannot be read: {error}"),
        };
        Failure::input(InputError::new(name, message))
    })?;
    let scenario = Scenario::parse(name, &text, &args.overrides).map_err(Failure::input)?;
    let config = scenario.live.to_string_lossy().into_owned();
    if !scenario.live.is_file() {
        return Err(Failure::input(InputError::new(name, format!("there is no configuration of the box {config:?}"))));
    }
    Ok((scenario, Config::File(config)))
}

fn do_step<'a>(
    lab: &'a Lab,
    scenario: &'a Scenario,
    config: &Config,
    step: &Step,
    traffic: &mut Option<Traffic<'a>>,
    stop: &AtomicBool,
) -> Result<StepReport, Failure> {
    let mut inside = start_box(lab, config, step)?;
    // Traffic goes on from step to step.
    let traffic = match traffic {
        Some(traffic) => traffic,
        None => {
            wait_until_ready(lab, &mut inside, stop)?;
            traffic.insert(Traffic::start(lab, scenario)?)
        }
    };
    wait(scenario.warm_up, &mut inside, stop)?;
    traffic.measure()?;
    let begun = now();
    wait(step.time, &mut inside, stop)?;
    let (groups, window) = (traffic.measure()?, now() - begun);
    let report = end_box(inside)?;
    Ok(StepReport::new(step, window, &scenario.groups, groups, report))
}

/// Start the middlebox in its place. It gets a process group of its own, so that Ctrl-C on a terminal reaches only this program, which ends it in good order.
fn start_box(lab: &Lab, config: &Config, step: &Step) -> Result<Child, Failure> {
    let program = std::env::current_exe().map_err(Failure::run)?;
    let mut command = Command::new(program);
    command.args(["live", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    for change in &step.set {
        command.args(["--set", change]);
    }
    match config {
        Config::File(path) => command.arg(path).stdin(Stdio::null()),
        Config::Text(_) => command.arg("-").stdin(Stdio::piped()),
    };
    let mut inside = lab.spawn(Place::Box, &mut command)?;
    if let (Config::Text(text), Some(mut input)) = (config, inside.stdin.take()) {
        // If it has ended already, it says why.
        let _ = input.write_all(text.as_bytes());
    }
    Ok(inside)
}

/// Wait until the box forwards: connections that are opened before would wait a second for their next attempt.
fn wait_until_ready(lab: &Lab, inside: &mut Child, stop: &AtomicBool) -> Result<(), Failure> {
    let begun = now();
    while !lab.gets_through(LOOK)? {
        check(inside, stop)?;
        if now() - begun > READY {
            return Err(Failure::Run(format!("nothing gets through the box within {READY}")));
        }
    }
    Ok(())
}

/// Wait while the box runs, unless the user interrupts.
fn wait(time: Duration, inside: &mut Child, stop: &AtomicBool) -> Result<(), Failure> {
    let end = now() + time;
    while now() < end {
        check(inside, stop)?;
        pause(end.since(now()).min(LOOK));
    }
    Ok(())
}

/// Whether to go on.
fn check(inside: &mut Child, stop: &AtomicBool) -> Result<(), Failure> {
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted);
    }
    let Some(status) = inside.try_wait().map_err(Failure::run)? else { return Ok(()) };
    let mut said = String::new();
    if let Some(mut errors) = inside.stderr.take() {
        // What it cannot say any more is not known.
        let _ = errors.read_to_string(&mut said);
    }
    let message = said.trim().trim_start_matches("error: ").to_string();
    Err(match status.code() {
        Some(2) => Failure::Input(message),
        _ => Failure::Run(format!("the box has ended too early ({status}): {message}")),
    })
}

/// End the box and read what it reports.
fn end_box(inside: Child) -> Result<BoxReport, Failure> {
    ask_to_end(&inside)?;
    // Its report may be longer than a pipe holds, so it is read while the box ends.
    let reader = std::thread::spawn(move || inside.wait_with_output());
    let deadline = now() + DRAIN;
    while !reader.is_finished() {
        if now() > deadline {
            return Err(Failure::Run(format!("the box has not ended within {DRAIN}")));
        }
        pause(LOOK);
    }
    let output = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(Failure::run)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::Run(format!("the box has failed ({}): {}", output.status, said.trim())));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| Failure::Run(format!("the report of the box: {error}")))
}
