//! `dovetail completions` and `dovetail man`: made from the definition of the command line.

use clap::CommandFactory;
use clap_complete::Shell;

use dovetail_experiment::output::Output;

use crate::args::{Cli, Completions, Man};
use crate::failure::Failure;
use crate::terminal;

/// Print the completion script of a shell.
pub fn completions(args: Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "dovetail", &mut script);
    let more = if args.shell == Shell::Fish { arguments_for_fish() } else { String::new() };
    terminal::print(&format!("{}{more}", String::from_utf8_lossy(&script)))
}

/// Arguments with known values, such as names of schedulers and ids, which `clap_complete` leaves out for fish.
fn arguments_for_fish() -> String {
    let mut lines = String::new();
    for command in Cli::command().get_subcommands() {
        for argument in command.get_positionals() {
            let values: Vec<String> = argument.get_possible_values().iter().map(|v| v.get_name().to_string()).collect();
            if !values.is_empty() {
                let (name, values) = (command.get_name(), values.join(" "));
                lines.push_str(&format!(
                    "complete -c dovetail -n \"__fish_dovetail_using_subcommand {name}\" -f -a \"{values}\"\n"
                ));
            }
        }
    }
    lines
}

/// Write a man page for the program and for each command.
pub fn man(args: Man) -> Result<(), Failure> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let pages = pages(&program).map_err(Failure::run)?;
    let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
    let mut output = Output::create(&args.folder, &names, &[]).map_err(Failure::input)?;
    for (name, page) in &pages {
        output.write(name, page).map_err(Failure::run)?;
    }
    for path in output.commit().map_err(Failure::run)? {
        terminal::say(&format!("wrote {path}"));
    }
    Ok(())
}

/// The same of every command.
const EXIT_STATUS: &str = ".SH \"EXIT STATUS\"
.TP
\\fB0\\fR
Done.
.TP
\\fB1\\fR
A run failed, or what was done could not be written.
.TP
\\fB2\\fR
The input or the command line is wrong.
.TP
\\fB130\\fR
Interrupted.
";

/// The names and texts of the pages of a command and those below it.
fn pages(command: &clap::Command) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let man = clap_mangen::Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    page.extend_from_slice(EXIT_STATUS.as_bytes());
    let mut all = vec![(man.get_filename(), page)];
    for below in command.get_subcommands() {
        all.extend(pages(below)?);
    }
    Ok(all)
}
