//! `dovetail run`.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use dovetail_experiment::compare::{Kept, RunError, Settings, compare, compare_each};
use dovetail_experiment::output::Output;
use dovetail_experiment::scenario::{self, Opened, PROFILES, Pauses, Scenario};
use dovetail_experiment::summary::{Capture, Summary, Told};
use dovetail_experiment::timetable::{MOST_PACKETS, timetable};
use dovetail_experiment::{report, table};
use dovetail_sched::Spec;

use super::network;
use super::page::{PageFile, Written};
use super::report::{documents, html};
use super::{ending, progress};
use crate::args::{Input, Run, Source};
use crate::failure::Failure;
use crate::terminal;

/// Packets whose ways are kept for the picture of the schedule and the table of packets, all runs together: some 130
/// bytes each.
const PACKET_LOG: usize = 10_000_000;

/// Compare schedulers on one input.
pub fn run(args: Run) -> Result<(), Failure> {
    match scenario::open(&args.input.source.file, &args.input.source.overrides, args.input.source.profile.as_deref())
        .map_err(Failure::input)?
    {
        Opened::Network(network) => network::run(*network, &args),
        Opened::Pipeline(scenario) => pipeline(*scenario, &args),
    }
}

fn pipeline(scenario: Scenario, args: &Run) -> Result<(), Failure> {
    if let Some(capture) = args.pcap.first() {
        let message = "a pipeline has no links to capture: networks ([[hop]]) have";
        return Err(Failure::Input(format!("--pcap {}={}: {message}", capture.hop, capture.file.display())));
    }
    let (scenario, schedulers) = prepare(seeded(scenario, args.input.source.seed)?, &args.input)?;
    // From here on there is something to put in order; reading a capture may just be killed.
    let cancel = ending::end_on_interrupt();
    // Before the runs, so that an unusable folder costs no time.
    let capture = scenario.capture_file();
    let inputs: Vec<&Path> = capture.as_deref().into_iter().chain([Path::new(&args.input.source.file)]).collect();
    let output = args.out.as_ref().map(|out| Output::create(out, &report::FILES, &inputs));
    let mut output = output.transpose().map_err(Failure::input)?;
    ending::leave_nothing(output.as_ref());
    let page = args.page.as_deref().map(|file| PageFile::beside(file, &inputs, args.out.as_deref())).transpose()?;
    tell_about(&scenario);
    // One packet more than the schedule is shown of, so that more of them are noticed.
    let few = if args.schedule || page.is_some() { MOST_PACKETS + 1 } else { 0 };
    let log = if output.is_some() { PACKET_LOG / schedulers.len() } else { few };
    let kept = output.is_some() || page.is_some();
    let (summary, runs) = if kept || args.schedule {
        let runs = with_progress(&scenario, &schedulers, &args.input, cancel, log, |settings| {
            compare(&scenario, &schedulers, settings)
        })?;
        let told = runs.iter().map(|run| Told::new(run, kept));
        (Summary::of(&scenario, told.collect()), runs)
    } else {
        // Nobody needs more of a run: no two runs are in memory as a whole unless they run at the same time.
        let told = with_progress(&scenario, &schedulers, &args.input, cancel, log, |settings| {
            let kept = if args.json { Kept::Flows } else { Kept::Little };
            compare_each(&scenario, &schedulers, settings, kept, |run| Told::new(&run, args.json))
        })?;
        (Summary::of(&scenario, told), Vec::new())
    };
    let json = if kept { summary.to_json().map_err(Failure::run)? } else { String::new() };
    let pictures = if kept { report::pictures(&scenario, &runs).map_err(Failure::run)? } else { Vec::new() };
    let documents = documents(json, scenario.text(), pictures)?;
    if let Some(output) = &mut output {
        report::write(output, &runs, &documents).map_err(Failure::run)?;
    }
    let page = page.map(|page| page.write(&html(&documents)?)).transpose()?;
    let written = ending::uninterrupted(|| {
        let placed = output.map(report::place).transpose().map_err(Failure::run)?.unwrap_or_default();
        let page = page.map(Written::place).transpose()?;
        Ok::<_, Failure>(placed.into_iter().chain(page.into_iter().map(|placed| format!("wrote {placed}"))))
    })?;
    if args.json {
        terminal::print_parts(|out| {
            summary.write_json(&mut *out)?;
            out.write_all(b"\n")
        })?;
    } else {
        terminal::print(&table::comparison(&summary, terminal::width()))?;
        if args.schedule {
            match timetable(&runs, terminal::width()) {
                Some(text) => terminal::print(&format!("\n{text}"))?,
                None => terminal::say(&format!("note: --schedule shows runs of 1 to {MOST_PACKETS} packets only")),
            }
        }
    }
    for line in written {
        terminal::say(&line);
    }
    Ok(())
}

/// Read the input and find out which schedulers to run.
pub fn open(input: &Input) -> Result<(Scenario, Vec<Spec>), Failure> {
    let prepared = prepare(open_source(&input.source)?, input)?;
    tell_about(&prepared.0);
    Ok(prepared)
}

/// Read a pipeline's input.
pub fn open_source(source: &Source) -> Result<Scenario, Failure> {
    let scenario = Scenario::open_with(&source.file, &source.overrides, source.profile.as_deref());
    seeded(scenario.map_err(Failure::input)?, source.seed)
}

/// The scenario under this seed, if one is given.
pub fn seeded(scenario: Scenario, seed: Option<u64>) -> Result<Scenario, Failure> {
    match seed {
        Some(seed) => scenario.with_seed(seed).map_err(Failure::input),
        None => Ok(scenario),
    }
}

fn prepare(scenario: Scenario, input: &Input) -> Result<(Scenario, Vec<Spec>), Failure> {
    let schedulers = if input.schedulers.is_empty() { scenario.schedulers() } else { input.schedulers.clone() };
    for note in dovetail_experiment::compare::check(&scenario, &schedulers).map_err(Failure::input)? {
        terminal::say(&format!("note: {note}"));
    }
    Ok((scenario, schedulers))
}

/// Tells what the user should know of a capture.
pub fn tell_about(scenario: &Scenario) {
    tell_of_capture(scenario, &replayed(scenario));
}

/// The same, a line each.
pub fn about(scenario: &Scenario) -> Vec<String> {
    of_capture(scenario, &replayed(scenario))
}

fn replayed(scenario: &Scenario) -> String {
    let speed = scenario.replay_speed().unwrap_or(1.0);
    // A single packet, or none, has no speed that could be told.
    let several = scenario.capture_report().is_some_and(|report| report.records > 1);
    let load = scenario.replay_load().filter(|_| several).map_or(String::new(), |load| match load.missed() {
        None => format!(", to load the busiest resource to {} times its capacity", load.asked),
        Some(_) if load.offered.is_infinite() => ", where all packets arrive at once, whatever the load".into(),
        Some(why) => format!(
            ", which loads the busiest resource to {} times its capacity, not to {} times: {why}",
            table::times(load.offered),
            load.asked
        ),
    });
    format!(", replayed {}{load}", as_fast(speed))
}

/// How fast a capture is replayed.
pub fn as_fast(speed: f64) -> String {
    let faster = if speed == 1.0 { String::new() } else { format!("{} times ", table::times(speed)) };
    format!("{faster}as fast as recorded")
}

/// The same with these words about its speed.
pub fn tell_of_capture(scenario: &Scenario, replayed: &str) {
    for line in of_capture(scenario, replayed) {
        terminal::say(&table::wrapped(&line, terminal::width()));
    }
}

fn of_capture(scenario: &Scenario, replayed: &str) -> Vec<String> {
    let Some(capture) = Capture::of(scenario) else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(profile) = &scenario.profile {
        let default = if profile == PROFILES[0] { " (the default)" } else { "" };
        let title = scenario.profile_title();
        let colon = if title.is_empty() { "" } else { ": " };
        lines.push(format!("profile {profile}{default}{colon}{title}"));
    }
    lines.extend(scenario.pauses().and_then(|pauses| of_pauses(&pauses, scenario)));
    lines.extend(capture.warnings());
    lines.push(format!("{}{replayed}", capture.packets()));
    lines
}

/// That pauses were shortened, or that most of the capture is pauses.
fn of_pauses(pauses: &Pauses, scenario: &Scenario) -> Option<String> {
    let Pauses { longest, count, more, cut } = *pauses;
    let in_all = table::seconds(more.as_secs_f64());
    let plural = if count == 1 { "pause" } else { "pauses" };
    match cut {
        _ if count == 0 => None,
        true => Some(format!("{count} {plural} shortened to {longest}, which leaves out {in_all} (trace.gap)")),
        false if more.as_secs_f64() < scenario.recorded_s() / 2.0 => None,
        false => Some(format!(
            "note: {count} {plural} longer than {longest} make up most of the recorded time ({in_all}); \
             --set trace.gap=\"{longest}\" shortens them to that"
        )),
    }
}

/// Make runs under these schedulers, with a progress bar on a terminal.
pub fn with_progress<T>(
    scenario: &Scenario,
    schedulers: &[Spec],
    input: &Input,
    cancel: &AtomicBool,
    packet_log: usize,
    runs: impl FnOnce(&Settings<'_>) -> Result<T, RunError>,
) -> Result<T, Failure> {
    let bar = progress::packets(scenario.expected_packets() * schedulers.len() as f64);
    let settings = Settings {
        threads: threads(input.source.threads),
        cancel,
        progress: &|packets| bar.set_position(packets),
        packet_log,
    };
    let result = runs(&settings);
    bar.finish_and_clear();
    result.map_err(Failure::from)
}

/// Threads to use.
pub fn threads(wanted: Option<u32>) -> usize {
    wanted.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), |n| n as usize)
}
