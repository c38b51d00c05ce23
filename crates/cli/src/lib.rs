//! The `dovetail` program, as a library: a program of one line is the same one with schedulers of other crates beside
//! its own, named wherever a scheduler is.
//!
//! ```text
//! fn main() -> std::process::ExitCode {
//!     dovetail_cli::run(&[dovetail_sched::catalog::Addition::of::<Mine>()])
//! }
//! ```

mod allocator;
mod args;
mod calibrate;
mod checks;
mod composition;
mod ctl;
mod failure;
mod generated;
mod journal;
mod known;
mod lab;
mod live;
mod meant;
mod place;
mod schedulers;
#[cfg(feature = "studies")]
mod studies;
mod terminal;
mod top;
mod trace;

use std::process::ExitCode;

use clap::Parser;
use dovetail_sched::catalog::{Addition, register};

use args::{Cli, Command};
use failure::Failure;

/// The program: does what its arguments say, with these schedulers in the catalogue beside its own.
pub fn run(additions: &[Addition]) -> ExitCode {
    allocator::give_back_large_blocks();
    if let Err(why) = register(additions) {
        return Failure::input(why).report();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return told(&meant::with_tip(legible(error))),
    };
    let done = match cli.command {
        #[cfg(feature = "studies")]
        Command::Study(study) => studies::study(study),
        Command::Schedulers(args) => schedulers::schedulers(args),
        Command::Trace(args) => trace::trace(args),
        Command::Live(args) => live::live(args),
        Command::Lab(command) => lab::lab(command),
        Command::Calibrate(args) => calibrate::calibrate(args),
        Command::Top(args) => top::top(args),
        Command::Completions(args) => generated::completions(args),
        Command::Man(args) => generated::man(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Tell what is wrong with arguments, or the help that was asked for.
fn told(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        error.exit();
    }
    terminal::print(&error.render().to_string()).map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS)
}

/// The same error about arguments in which nothing is left that a terminal obeys.
fn legible(error: clap::Error) -> clap::Error {
    let shown = std::env::args_os().map(|arg| terminal::harmless(&arg.to_string_lossy()).into_owned());
    Cli::try_parse_from(shown).err().unwrap_or(error)
}
