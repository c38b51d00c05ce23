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
mod network;
mod place;
mod reproduce;
mod run;
mod schedulers;
mod sweep;
mod terminal;
mod top;
mod trace;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser};

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| with_tip(legible(error)).exit());
    let done = match cli.command {
        Command::Run(args) => run::run(args),
        Command::Advise(args) => advise::advise(args),
        Command::Sweep(args) => sweep::sweep(args),
        Command::Schedulers(args) => schedulers::schedulers(args),
        Command::Trace(args) => trace::trace(args),
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

/// A file where a command belongs was meant to be run, and a command with a slip has a nearest one.
fn with_tip(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && std::path::Path::new(word).is_file()
    {
        let tip = format!("to run it: dovetail run {word}");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return error;
    }
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && error.get(ContextKind::SuggestedSubcommand).is_none()
        && std::env::args().nth(1).as_ref() == Some(word)
    {
        let command = Cli::command();
        let near = dovetail_config::nearest(word, command.get_subcommands().map(clap::Command::get_name));
        if let Some(near) = near.map(str::to_string) {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near]));
        }
    }
    error
}
