//! The `dovetail` program.

mod advise;
mod args;
mod bounds;
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
mod network;
mod page;
mod place;
mod report;
mod reproduce;
mod run;
mod schedulers;
mod sweep;
mod terminal;
mod top;
mod trace;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| meant::with_tip(legible(error)).exit());
    let done = match cli.command {
        Command::Run(args) => run::run(args),
        Command::Advise(args) => advise::advise(args),
        Command::Sweep(args) => sweep::sweep(args),
        Command::Schedulers(args) => schedulers::schedulers(args),
        Command::Trace(args) => trace::trace(args),
        Command::Report(args) => report::report(args),
        Command::Reproduce(args) => reproduce::reproduce(args),
        Command::Bounds(args) => bounds::bounds(args),
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

/// The same error about arguments in which nothing is left that a terminal obeys.
fn legible(error: clap::Error) -> clap::Error {
    let shown = std::env::args_os().map(|arg| terminal::harmless(&arg.to_string_lossy()).into_owned());
    Cli::try_parse_from(shown).err().unwrap_or(error)
}
