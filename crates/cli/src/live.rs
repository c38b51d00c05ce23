//! `dovetail live`.

use std::fs::File;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::CommandFactory;
use dovetail_config::{InputError, decode};
use dovetail_dataplane::config::{Config, EPOCH};
use dovetail_dataplane::confine::{Confinement, confine};
use dovetail_dataplane::control::protocol::Request;
use dovetail_dataplane::control::{Bound, Counter, Desk, Socket};
use dovetail_dataplane::core::{HeavySnapshot, ModuleSnapshot, QueueSnapshot, Snapshot};
use dovetail_dataplane::driver::{Clock, real_time, simulated_time};
use dovetail_dataplane::file::LONGEST;
use dovetail_dataplane::live::Live;
use dovetail_dataplane::metrics::Metrics;
use dovetail_dataplane::report::Report;
use dovetail_dataplane::trouble;
use dovetail_dataplane::watch::Watch;
use dovetail_experiment::scenario::or_nearby;
use dovetail_experiment::table::{seconds, table};
use dovetail_trace::CaptureReader;
use dovetail_units::Duration;
use log::{LevelFilter, error, info, warn};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::args;
use crate::failure::Failure;
use crate::journal::Journal;
use crate::terminal;

/// The log's target for the box as a whole.
const TARGET: &str = "box";

/// Run the box of a configuration, or talk to one that runs.
pub fn live(args: args::Live) -> Result<(), Failure> {
    match (args.command, args.start) {
        (Some(args::LiveCommand::Ctl(ctl)), _) => crate::ctl::ctl(ctl),
        (None, Some(args)) => start(args),
        (None, None) => Err(Failure::Input("expected a configuration: dovetail live CONFIG".into())),
    }
}

fn start(args: args::Start) -> Result<(), Failure> {
    let ending: Vec<i32> = terminal::ending().collect();
    // First of all: one that comes before the box can reload would end it.
    let deaf = |error: std::io::Error| Failure::run(format!("signals cannot be listened to: {error}"));
    let hangups = hear_hangups().map_err(deaf)?;
    let config = Config::parse(&args.file, &read(&args.file)?, &args.overrides).map_err(Failure::input)?;
    // Before the ports are opened: a signal must not leave behind what they have begun to write.
    let endings = Endings::hear(if config.is_simulated() { &ending } else { &[SIGINT, SIGTERM] });
    let endings = endings.map_err(deaf)?;
    let mut live = if args.dry_run { None } else { Some(Live::open(&config)?) };
    if args.duration.is_some() && config.is_simulated() {
        let message = "--for is for a box that runs by the clock; over a capture it runs as long as that lasts";
        return Err(Failure::Input(message.into()));
    }
    let Some(live) = &mut live else { return rehearse(&config) };
    live.open_state(&config).map_err(Failure::run)?;
    let (report, ended) = match config.is_simulated() {
        true => simulate(&config, live, endings)?,
        false => run(&config, live, endings, hangups, &args)?,
    };
    let report = if args.json {
        nothing_came(&report).iter().for_each(|told| terminal::say(told));
        serde_json::to_string_pretty(&report).map_err(Failure::run)?
    } else {
        text(&report, config.idle())
    };
    let printed = terminal::print(&report);
    // Also where nobody reads the report.
    ended.and(printed)
}

/// The text of a configuration; `-` is standard input.
fn read(file: &str) -> Result<String, Failure> {
    let wrong = |why: String| Failure::input(InputError::new(file, why));
    let stream: std::io::Result<Box<dyn Read>> = match file {
        "-" => Ok(Box::new(std::io::stdin())),
        path => File::open(path).map(|file| Box::new(file) as Box<dyn Read>),
    };
    let mut bytes = Vec::new();
    let read = stream.and_then(|stream| stream.take(LONGEST + 1).read_to_end(&mut bytes));
    if let Some(error) = other_than_configuration(file, read.is_ok()) {
        return Err(Failure::input(error));
    }
    let unread = |error: std::io::Error| {
        let why = match error.kind() {
            std::io::ErrorKind::IsADirectory => "it is a folder: expected a configuration (TOML)".into(),
            _ => format!("cannot be read: {error}{}", or_nearby(Path::new(file))),
        };
        let error = InputError::new(file, why);
        let ctl = args::Cli::command().find_subcommand("live").and_then(|live| live.find_subcommand("ctl").cloned());
        let is_order = ctl.is_some_and(|ctl| ctl.find_subcommand(file).is_some());
        Failure::input(if is_order {
            error.with_help(format!("to ask a box: dovetail live ctl {file}"))
        } else {
            error
        })
    };
    match read.map_err(unread)? as u64 {
        0..=LONGEST => decode(file, bytes).map_err(Failure::input),
        _ => Err(wrong("it is longer than 1 MiB: no configuration is".into())),
    }
}

/// What is wrong if the name is that of a capture or, where no file has it, of an interface.
fn other_than_configuration(name: &str, exists: bool) -> Option<InputError> {
    let path = Path::new(name);
    if path.is_file() && CaptureReader::open(path).is_ok() {
        let error = InputError::new(name, "it is a capture: expected a configuration (TOML)");
        let help = format!(
            "to compare schedulers on it: dovetail run {name}; to send it through a box: dovetail live box.toml --set \
             ports.in=pcap:{name} --set 'ports.out=pcap:>out.pcap'"
        );
        return Some(error.with_help(help));
    }
    let is_interface = !exists && !name.contains('/') && Path::new("/sys/class/net").join(name).is_dir();
    let error = InputError::new(name, "it is an interface: expected a configuration (TOML)");
    is_interface.then(|| error.with_help(format!("name it there: [ports] in = \"packet:{name}\"")))
}

/// Check all that a box would need, and say what it would do.
fn rehearse(config: &Config) -> Result<(), Failure> {
    let notes = config.rehearse().map_err(Failure::input)?;
    config.look_at_state().map_err(Failure::input)?;
    terminal::print(&config.to_string())?;
    notes.iter().for_each(|note| terminal::say(&format!("note: {note}")));
    config.warnings().iter().for_each(|warning| terminal::say(&format!("warning: {warning}")));
    Ok(())
}

/// The accounts, and what ended the box if that was an error.
type Ran = Result<(Report, Result<(), Failure>), Failure>;

/// Give up what the box does not need any more.
fn confined(config: &Config) -> Result<Confinement, Failure> {
    confine(config).map_err(|error| Failure::run(format!("the box cannot be confined: {error}")))
}

/// A box over captures.
fn simulate(config: &Config, live: &mut Live, endings: Endings) -> Ran {
    config.warnings().iter().for_each(|warning| terminal::say(&format!("warning: {warning}")));
    terminal::say(&confined(config)?.to_string());
    let start = live.next_event().unwrap_or(EPOCH);
    let (end, ended) = simulated_time(live, &endings.stop).ok_or(Failure::Interrupted)?;
    Ok((Report::new(live.totals(end), end.since(start).as_secs_f64()), ended.map_err(Failure::run)))
}

/// A box that runs by the clock.
fn run(config: &Config, live: &mut Live, mut endings: Endings, hangups: UnixStream, args: &args::Start) -> Ran {
    let doors = Doors::open(config)?;
    let mut journal = Journal::open(args.log.parse().unwrap_or(LevelFilter::Info))?;
    info!(target: TARGET, "dovetail {} starts: {}", env!("CARGO_PKG_VERSION"), config.summary());
    config.warnings().iter().for_each(|warning| warn!(target: TARGET, "{warning}"));
    info!(target: TARGET, "{}", confined(config)?);
    journal.start()?;
    let (mut desk, counter) = Desk::open();
    let counter = counter.reloading(config.clone());
    reload_on_hangup(hangups, counter.clone()).map_err(Failure::thread)?;
    let _served = doors.serve(counter)?;
    let (clock, mut watch) = (Clock::start(), Watch::default());
    let start = clock.now();
    let stop = Arc::clone(&endings.stop);
    let mut told = 0;
    let (end, ended) = real_time(live, &clock, &stop, |live, now| {
        desk.answer(now, live);
        watch.look(now, live);
        let over = desk.stop() || args.duration.is_some_and(|duration| now.since(start) >= duration);
        let asked = endings.count(over);
        if asked > told {
            let words = if told == 0 { "ends, and sends what it holds" } else { "is told to end at once" };
            info!(target: TARGET, "{words}");
            told = asked;
        }
        if asked > 1 {
            live.hurry();
        }
    });
    // Who still asks hears at once that nobody answers.
    drop(desk);
    let report = Report::new(live.totals(end), end.since(start).as_secs_f64());
    let Snapshot { total, unaccounted, .. } = &report.forward;
    let dropped: u64 = total.dropped.values().sum();
    let counts = format!("frames: {} in, {} out, {dropped} dropped", total.frames_in, total.frames_out);
    info!(target: TARGET, "has ended after {}: {counts}, {unaccounted} unaccounted for", seconds(report.ran_s));
    if let (Err(error), true) = (&ended, journal.is_journald) {
        error!(target: TARGET, "{error}");
    }
    Ok((report, ended.map_err(Failure::run)))
}

/// What asks the box to end: Ctrl-C and SIGTERM, a client, or its time; in simulated time the end of the terminal, too.
struct Endings {
    /// Whether any has.
    stop: Arc<AtomicBool>,
    /// A byte for each signal.
    signals: UnixStream,
    heard: usize,
    over: bool,
}

impl Endings {
    /// From now on these signals are heard.
    fn hear(ending: &[i32]) -> std::io::Result<Self> {
        let (signals, signal) = UnixStream::pair()?;
        signals.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        for &number in ending {
            signal_hook::low_level::pipe::register(number, signal.try_clone()?)?;
            signal_hook::flag::register(number, Arc::clone(&stop))?;
        }
        Ok(Self { stop, signals, heard: 0, over: false })
    }

    /// How often the box was asked to end: by each signal, and once because its time is `over` or a client says so.
    fn count(&mut self, over: bool) -> usize {
        if over {
            self.over = true;
            self.stop.store(true, Ordering::Relaxed);
        }
        if self.stop.load(Ordering::Relaxed) {
            // An error says that there are none.
            self.heard += self.signals.read(&mut [0; 16]).unwrap_or(0);
        }
        self.heard + usize::from(self.over)
    }
}

/// What a running box is asked and watched through, opened while it still may.
struct Doors {
    socket: Option<Bound>,
    metrics: Option<TcpListener>,
}

impl Doors {
    fn open(config: &Config) -> Result<Self, Failure> {
        let socket = config.control().socket.as_ref().map(|path| {
            Bound::at(path).map_err(|error| Failure::run(format!("control socket {}: {error}", path.display())))
        });
        let metrics = config.metrics().map(|address| {
            TcpListener::bind(address).map_err(|error| Failure::run(format!("metrics at {address}: {error}")))
        });
        Ok(Self { socket: socket.transpose()?, metrics: metrics.transpose()? })
    }

    /// Answer, for as long as the returned values live.
    fn serve(self, counter: Counter) -> Result<(Option<Socket>, Option<Metrics>), Failure> {
        let socket = self.socket.map(|socket| socket.serve(counter.clone()));
        let metrics = self.metrics.map(|listener| Metrics::serve(listener, counter.clone()));
        Ok((socket.transpose().map_err(Failure::thread)?, metrics.transpose().map_err(Failure::thread)?))
    }
}

/// From now on there is a byte for each SIGHUP, which ends the process no more.
fn hear_hangups() -> std::io::Result<UnixStream> {
    let (hangups, hangup) = UnixStream::pair()?;
    signal_hook::low_level::pipe::register(SIGHUP, hangup)?;
    Ok(hangups)
}

/// Read the configuration again for each SIGHUP that has come or comes.
fn reload_on_hangup(mut hangups: UnixStream, counter: Counter) -> std::io::Result<()> {
    let wait = move || {
        while hangups.read_exact(&mut [0]).is_ok() {
            // The log says what came of it.
            counter.ask_by(Request::Reload {}, "SIGHUP");
        }
    };
    // It ends with the process.
    std::thread::Builder::new().name("reload".into()).spawn(wait).map(drop)
}

/// The report of a box that forgets a flow without a frame for as long as `idle`.
fn text(report: &Report, idle: Duration) -> String {
    let mut text = overview(&report.forward, report.ran_s);
    if report.ran_s > idle.as_secs_f64() {
        text.push_str(&format!("\nflows: those with a packet in the last {idle} (flows.idle)"));
    }
    for (name, port) in &report.forward.ports {
        text.push_str(&format!(
            "\nport {name}: received {}, missed {}, oversize {}, sent {}, unsent {}",
            port.received, port.missed, port.oversize, port.sent, port.unsent
        ));
    }
    for (port, waiting) in [("in", report.reverse.outgoing), ("out", report.forward.outgoing)] {
        if waiting > 0 {
            text.push_str(&format!("\nframes that the port {port} has not taken: {waiting}"));
        }
    }
    nothing_came(report).iter().for_each(|told| text.push_str(&format!("\n{told}")));
    text.push_str(&troubles(&report.forward, report.unaccounted));
    text
}

/// What is wrong with ports and accounts, a line each behind what came before; nothing where all is well.
pub fn troubles(snapshot: &Snapshot, unaccounted: i64) -> String {
    let ports = trouble::of_ports(None, snapshot);
    let mut text: String =
        ports.iter().map(|trouble| format!("\n{}", trouble.line(&trouble::amount(trouble.frames)))).collect();
    if unaccounted != 0 {
        text.push_str(&format!("\nunaccounted: {unaccounted}"));
    }
    text
}

/// That the scheduled direction had nothing to do: of a report that is all zeros it is not clear whether anything is
/// wrong.
fn nothing_came(report: &Report) -> Option<&'static str> {
    (report.forward.total.frames_in == 0).then_some("no frames: the port in has brought none")
}

/// Classes in a table, and drops, of a box that has run for so many seconds.
pub fn overview(forward: &Snapshot, ran_s: f64) -> String {
    let mut header = vec!["class", "flows", "packets in", "packets out", "dropped", "cpu"];
    header.extend(forward.third());
    header.extend(["link", "Mbit/s", "mean delay", "p99 delay"]);
    let row = |name: &str, flows: u64, frames: &QueueSnapshot| {
        // A capture without frames takes no time.
        let per_second = |amount: f64| if ran_s > 0.0 { amount / ran_s } else { 0.0 };
        let share = |busy: f64| format!("{:.1} %", 100.0 * per_second(busy));
        let delay = |time: Option<f64>| time.map_or("-".into(), seconds);
        let mut row = vec![
            name.to_string(),
            flows.to_string(),
            frames.frames_in.to_string(),
            frames.frames_out.to_string(),
            frames.dropped.values().sum::<u64>().to_string(),
            share(frames.cpu_s),
        ];
        row.extend(frames.third_s.map(share));
        row.extend([
            share(frames.link_s),
            format!("{:.3}", per_second(frames.bytes_out as f64 * 8e-6)),
            delay(frames.latency_s.mean),
            delay(frames.latency_s.p99),
        ]);
        row
    };
    let classes = forward.classes.iter().map(|class| row(&class.class, class.flows, &class.frames));
    let flows = forward.classes.iter().map(|class| class.flows).sum();
    let rows = classes.chain([row("all", flows, &forward.total)]).collect();
    let mut text = format!("{} for {}\n\n", forward.scheduler, seconds(ran_s));
    text.push_str(&table(&header, 1, rows, terminal::width()).to_string());
    text.push('\n');
    let late = forward.late_s;
    if late.max > 0.0 {
        let [mean, max] = [late.sum / forward.total.frames_out as f64, late.max].map(seconds);
        text.push_str(&format!("\nframes left later than due by {mean} on average, {max} at most"));
    }
    for (reason, count) in &forward.total.dropped {
        text.push_str(&format!("\ndropped, {reason}: {count}"));
    }
    forward.modules.iter().for_each(|module| text.push_str(&counted(module)));
    text
}

/// What a module has counted, and the heaviest flows and prefixes that it knows.
fn counted(snapshot: &ModuleSnapshot) -> String {
    let ModuleSnapshot { module, kind, counters, heavy } = snapshot;
    if counters.is_empty() && heavy.is_empty() {
        return String::new();
    }
    let counters: Vec<String> = counters.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let mut text = format!("\nmodule {module} ({kind}): {}", counters.join(", ").replace('_', " "));
    for HeavySnapshot { name, bytes } in heavy {
        text.push_str(&format!("\n  {bytes:>12} B  {name}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_dataplane::core::Account;
    use dovetail_dataplane::live::Totals;
    use dovetail_units::Time;

    #[test]
    fn every_signal_asks_a_box_to_end_and_its_time_does_so_once() {
        let mut endings = Endings::hear(&[SIGINT, SIGTERM]).unwrap();
        assert_eq!((endings.count(false), endings.count(false)), (0, 0));
        signal_hook::low_level::raise(SIGTERM).unwrap();
        assert_eq!((endings.count(false), endings.count(false)), (1, 1));
        assert_eq!((endings.count(true), endings.count(true)), (2, 2));
        signal_hook::low_level::raise(SIGTERM).unwrap();
        assert_eq!(endings.count(false), 3);
    }

    /// The last lines of the report of a box that has left so many frames to its ports.
    fn end(outgoing: u64, returning: u64, unaccounted: i64) -> String {
        end_after(1.0, outgoing, returning, unaccounted)
    }

    fn end_after(ran_s: f64, outgoing: u64, returning: u64, unaccounted: i64) -> String {
        let text = "scheduler = \"fifo\"\nports = { in = \"packet:a\", out = \"packet:b\" }\n";
        let forward = Config::parse("box.toml", text, &[]).unwrap().middlebox().unwrap().snapshot(Time::ZERO);
        let mut forward = Snapshot { outgoing, unaccounted, ..forward };
        forward.total.frames_in = 5;
        let totals = Totals { forward, reverse: Account::default(), returning };
        let text = super::text(&Report::new(totals, ran_s), Duration::from_secs(60));
        // Below the table.
        let lines = text.lines().skip_while(|line| !line.starts_with("all"));
        lines.skip(1).collect::<Vec<_>>().join("\n").trim().to_string()
    }

    #[test]
    fn that_flows_may_have_been_forgotten_is_told() {
        assert_eq!(end_after(60.0, 0, 0, 0), "");
        assert_eq!(end_after(61.0, 0, 0, 0), "flows: those with a packet in the last 60 s (flows.idle)");
    }

    #[test]
    fn what_was_left_to_a_port_that_took_it_no_more_is_told() {
        assert_eq!(end(0, 0, 0), "");
        assert_eq!(end(3, 0, 0), "frames that the port out has not taken: 3");
        assert_eq!(end(0, 2, -1), "frames that the port in has not taken: 2\nunaccounted: -1");
    }
}
