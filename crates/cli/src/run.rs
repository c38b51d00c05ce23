//! `dovetail run`.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use dovetail_experiment::compare::{RunError, Settings, compare};
use dovetail_experiment::report::Output;
use dovetail_experiment::scenario::{self, CAPTURE_DEFAULTS, Opened, Scenario};
use dovetail_experiment::summary::Summary;
use dovetail_experiment::timetable::{MOST_PACKETS, timetable};
use dovetail_experiment::{report, table};
use dovetail_sched::Spec;

use crate::args::{Input, Run};
use crate::failure::Failure;
use crate::{network, terminal};

/// Packets whose ways are kept for the picture of the schedule and the table of packets, all runs together: some 100
/// bytes each.
const PACKET_LOG: usize = 10_000_000;

/// Compare schedulers on one input.
pub fn run(args: Run) -> Result<(), Failure> {
    match scenario::open(&args.input.file, &args.input.overrides).map_err(Failure::input)? {
        Opened::Network(network) => network::run(*network, &args),
        Opened::Pipeline(scenario) => pipeline(*scenario, &args),
    }
}

fn pipeline(scenario: Scenario, args: &Run) -> Result<(), Failure> {
    if let Some(capture) = args.pcap.first() {
        let message = "a pipeline has no links to capture: networks ([[hop]]) have";
        return Err(Failure::Input(format!("--pcap {}={}: {message}", capture.hop, capture.file.display())));
    }
    let (scenario, schedulers) = prepare(scenario, &args.input)?;
    // From here on there is something to put in order; reading a capture may just be killed.
    let cancel = terminal::on_interrupt();
    // Before the runs, so that an unusable folder costs no time.
    let capture = scenario.capture_file();
    let inputs: Vec<&Path> = capture.as_deref().into_iter().chain([Path::new(&args.input.file)]).collect();
    let output = args.out.as_ref().map(|out| Output::create(out, &report::FILES, &inputs));
    let output = output.transpose().map_err(Failure::input)?;
    tell_about(&scenario);
    // One packet more than the schedule is shown of, so that more of them are noticed.
    let few = if args.schedule { MOST_PACKETS + 1 } else { 0 };
    let log = if output.is_some() { PACKET_LOG / schedulers.len() } else { few };
    let runs = compare_with_progress(&scenario, &schedulers, &args.input, cancel, log)?;
    let json = serde_json::to_string_pretty(&Summary::new(&scenario, &runs)).map_err(Failure::run)?;
    let written = output.map(|o| report::write(o, &scenario, &runs, &json)).transpose().map_err(Failure::run)?;
    if args.json {
        terminal::print(&json)?;
    } else {
        terminal::print(&table::comparison(&scenario, &runs, terminal::width()))?;
        if args.schedule {
            match timetable(&runs, terminal::width()) {
                Some(text) => terminal::print(&format!("\n{text}"))?,
                None => terminal::say(&format!("note: --schedule shows runs of 1 to {MOST_PACKETS} packets only")),
            }
        }
    }
    for line in written.iter().flatten() {
        terminal::say(&format!("wrote {line}"));
    }
    Ok(())
}

/// Read the input and find out which schedulers to run.
pub fn open(input: &Input) -> Result<(Scenario, Vec<Spec>), Failure> {
    let prepared = prepare(Scenario::open(&input.file, &input.overrides).map_err(Failure::input)?, input)?;
    tell_about(&prepared.0);
    Ok(prepared)
}

fn prepare(mut scenario: Scenario, input: &Input) -> Result<(Scenario, Vec<Spec>), Failure> {
    if let Some(seed) = input.seed {
        scenario = scenario.with_seed(seed).map_err(Failure::input)?;
    }
    let schedulers = if input.schedulers.is_empty() { scenario.schedulers() } else { input.schedulers.clone() };
    for note in dovetail_experiment::compare::check(&scenario, &schedulers).map_err(Failure::input)? {
        terminal::say(&format!("note: {note}"));
    }
    Ok((scenario, schedulers))
}

/// What the user should know of a capture.
fn tell_about(scenario: &Scenario) {
    let Some(report) = scenario.capture_report() else { return };
    if scenario.around_capture {
        terminal::say(&table::wrapped(CAPTURE_DEFAULTS, terminal::width()));
    }
    if let Some(damage) = &report.damage {
        terminal::say(&format!("warning: {damage}"));
    }
    if report.clamped_times > 0 {
        let clamped = report.clamped_times;
        terminal::say(&format!(
            "warning: {clamped} packets had a time before the one ahead of them; they arrive with it"
        ));
    }
    let (packets, no_flow) = (report.records, report.no_flow_packets());
    let speed = scenario.replay_speed().unwrap_or(1.0);
    let load = scenario
        .replay_load()
        .map_or(String::new(), |load| format!(", to offer the busiest resource {load} times what it can do"));
    terminal::say(&format!(
        "{packets} packets, {no_flow} of them without a flow, replayed {speed:.6} times as fast as recorded{load}"
    ));
    if packets == 0 {
        terminal::say("warning: the capture holds no packets");
    }
}

/// Run the comparison, with a progress bar on a terminal.
pub fn compare_with_progress(
    scenario: &Scenario,
    schedulers: &[Spec],
    input: &Input,
    cancel: &AtomicBool,
    packet_log: usize,
) -> Result<Vec<dovetail_experiment::compare::Recorded>, Failure> {
    let bar = terminal::progress(scenario.expected_packets() * schedulers.len() as f64);
    let settings = Settings {
        threads: threads(input.threads),
        cancel,
        progress: &|packets| bar.set_position(packets),
        packet_log,
    };
    let result = compare(scenario, schedulers, &settings);
    bar.finish_and_clear();
    result.map_err(failure)
}

/// Threads to use.
pub fn threads(wanted: Option<u32>) -> usize {
    wanted.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), |n| n as usize)
}

/// What a failed comparison means for the shell.
pub fn failure(error: RunError) -> Failure {
    match error {
        RunError::Spec(message) => Failure::Input(message),
        RunError::Cancelled => Failure::Interrupted,
        RunError::Sim { .. } => Failure::run(error),
    }
}
