//! Standard output, and signals that end the program.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::Failure;

/// Set by the [`ending`] signals.
static CANCELLED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Width of tables when the output is not a terminal.
const PLAIN_WIDTH: u16 = 120;

/// Print to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let text = harmless(text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    print_parts(|out| write!(out, "{text}{end}"))
}

/// Print what `write` writes, which has nothing in it that a terminal obeys.
pub fn print_parts(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    if dovetail_dataplane::standard::output_was_closed() {
        return Err(Failure::Run("cannot write to standard output: it is closed".into()));
    }
    let mut out = BufWriter::new(io::stdout().lock());
    write(&mut out)?;
    Ok(out.flush()?)
}

/// Tell something on standard error. If nobody hears it (a closed pipe, a full disk), the work goes on.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", harmless(text));
}

/// Names of files may hold what a terminal obeys: it is shown as `\u001b` and the like, as in JSON, which stays valid.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(obeyed) {
        return text.into();
    }
    let shown = |c: char| if obeyed(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
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
