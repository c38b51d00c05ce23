//! How far the work is, on a terminal.

use std::io::IsTerminal;

use dovetail_experiment::table::digits;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Progress on a terminal, with rate and time left; nothing elsewhere.
pub fn packets(expected: f64) -> ProgressBar {
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

/// As [`packets`], for work of unknown length.
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

/// As [`packets`], for work of this many parts; a message says which is under way.
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

/// As [`packets`], for work of this many runs.
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
