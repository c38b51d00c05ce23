//! Standard output, progress, and signals that end the program.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use dovetail_experiment::output::{Leftovers, Output};
use dovetail_experiment::table::digits;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::Failure;

/// Set by the [`ending`] signals.
static CANCELLED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Hidden files of the work under way.
static LEFTOVERS: Mutex<Option<Leftovers>> = Mutex::new(None);

/// What is kept of it if it is ended.
static KEPT: Mutex<Option<String>> = Mutex::new(None);

/// Whether its results are in place.
static PLACED: AtomicBool = AtomicBool::new(false);

/// Width of tables when the output is no terminal.
const PLAIN_WIDTH: u16 = 120;

/// Print to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    if dovetail_dataplane::standard::output_was_closed() {
        return Err(Failure::Run("cannot write to standard output: it is closed".into()));
    }
    let (mut out, text) = (std::io::stdout().lock(), harmless(text));
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// Tell something on standard error. If nobody hears it (a closed pipe, a full disk), the work goes on.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", harmless(text));
}

/// Names of files may hold what a terminal obeys: it is shown as `\u{1b}` and the like.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(obeyed) {
        return text.into();
    }
    let shown = |c: char| if obeyed(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect::<String>().into()
}

/// Columns that a table may use.
pub fn width() -> u16 {
    terminal_size::terminal_size().map_or(PLAIN_WIDTH, |(width, _)| width.0.clamp(60, 200))
}

/// From now on Ctrl-C and the other [`ending`] signals end the work in an orderly way; returns the flag that they set.
pub fn on_interrupt() -> &'static AtomicBool {
    for signal in ending() {
        // These signals can be caught.
        let _ = signal_hook::flag::register(signal, Arc::clone(&CANCELLED));
    }
    &CANCELLED
}

/// How often it is looked whether the work was interrupted, and how long it may then take to end in an orderly way.
const LOOK: Duration = Duration::from_millis(100);
const GRACE: Duration = Duration::from_millis(600);

/// As [`on_interrupt`]; work that does not end by itself soon is ended. Not for what has to be undone.
pub fn end_on_interrupt() -> &'static AtomicBool {
    std::thread::spawn(|| {
        // Nobody ever sends.
        let (_sender, never) = std::sync::mpsc::channel::<()>();
        while !CANCELLED.load(Ordering::Relaxed) {
            let _ = never.recv_timeout(LOOK);
        }
        let _ = never.recv_timeout(GRACE);
        // Results are moved into place, or not.
        let leftovers = LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner);
        if PLACED.load(Ordering::Relaxed) {
            return;
        }
        if let Some(leftovers) = leftovers.as_ref() {
            leftovers.remove();
        }
        let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = kept.map_or(Failure::Interrupted, Failure::Paused).report();
        std::process::exit(130);
    });
    on_interrupt()
}

/// What to remove if the work is ended.
pub fn leave_nothing(output: Option<&Output>) {
    *LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner) = output.and_then(Output::leftovers);
}

/// What is kept, in words, if the work is ended.
pub fn keep(words: &str) {
    *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some(words.to_string());
}

/// Work that is not ended halfway, and has to be short; afterwards there is nothing to remove.
pub fn uninterrupted<T>(work: impl FnOnce() -> T) -> T {
    let mut leftovers = LEFTOVERS.lock().unwrap_or_else(PoisonError::into_inner);
    let done = work();
    PLACED.store(true, Ordering::Relaxed);
    *leftovers = None;
    done
}

/// The signals that ask the program to end: Ctrl-C, `kill`, and the end of the terminal, unless it is to go on then.
pub fn ending() -> impl Iterator<Item = i32> {
    [SIGINT, SIGTERM].into_iter().chain((!survives_terminal()).then_some(SIGHUP))
}

/// Whether who started the program has SIGHUP ignored, as `nohup` does.
fn survives_terminal() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|signals| u64::from_str_radix(signals.trim(), 16).ok());
    ignored.is_some_and(|signals| signals >> (SIGHUP - 1) & 1 == 1)
}

/// Progress on a terminal, with rate and time left; nothing elsewhere.
pub fn progress(expected: f64) -> ProgressBar {
    let bar = if expected.is_finite() && expected >= 1.0 {
        ProgressBar::new(expected as u64)
    } else {
        ProgressBar::new_spinner()
    };
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let template = "{bar:30} {percent:>3} %  {human_pos} packets  {rate}  {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.with_key("rate", rate));
    }
    bar
}

/// As [`progress`], for work of unknown length.
pub fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    if !std::io::stderr().is_terminal() {
        spinner.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {human_pos} packets  {rate}") {
        spinner.set_style(style.with_key("rate", rate));
    }
    spinner
}

/// As [`progress`], for work of this many parts; a message says which is under way.
pub fn parts(expected: u64) -> ProgressBar {
    let bar = ProgressBar::new(expected.max(1));
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  {eta} left") {
        bar.set_style(style);
    }
    bar
}

/// As [`progress`], for work of this many runs.
pub fn runs(expected: u64) -> ProgressBar {
    let bar = parts(expected);
    let template = "{bar:30} {percent:>3} %  {human_pos} of {human_len} runs  {rate}  {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.with_key("rate", few));
    }
    bar
}

/// Runs per second, of which there may be less than one.
fn few(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    // As with `rate`.
    let _ = write!(out, "{}/s", digits(state.per_sec()));
}

/// Packets per second, in whole packets.
fn rate(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    // Nothing can be done about a bar that cannot be drawn.
    let _ = write!(out, "{}/s", HumanCount(state.per_sec() as u64));
}
