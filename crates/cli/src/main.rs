//! The `dovetail` program.

mod args;
mod bounds;
mod failure;
mod reproduce;
mod run;
mod schedulers;
mod terminal;
mod trace;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Run(args) => run::run(args),
        Command::Schedulers(args) => schedulers::schedulers(args),
        Command::Trace(args) => trace::trace(args),
        Command::Reproduce(args) => reproduce::reproduce(args),
        Command::Bounds(args) => bounds::bounds(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
