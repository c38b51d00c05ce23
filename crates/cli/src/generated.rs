//! `dovetail completions` and `dovetail man`: made from the definition of the command line.

use clap::CommandFactory;

use dovetail_experiment::report::Output;

use crate::args::{Cli, Completions, Man};
use crate::failure::Failure;
use crate::terminal;

/// Print the completion script of a shell.
pub fn completions(args: Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "dovetail", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))
}

/// Write a man page for the program and for each command.
pub fn man(args: Man) -> Result<(), Failure> {
    let mut output = Output::create(&args.folder).map_err(Failure::input)?;
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    pages(&program, &mut output)?;
    for path in output.commit().map_err(Failure::run)? {
        terminal::say(&format!("wrote {}", path.display()));
    }
    Ok(())
}

fn pages(command: &clap::Command, output: &mut Output) -> Result<(), Failure> {
    let man = clap_mangen::Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page).map_err(Failure::run)?;
    output.write(&man.get_filename(), &page).map_err(Failure::run)?;
    command.get_subcommands().try_for_each(|c| pages(c, output))
}
