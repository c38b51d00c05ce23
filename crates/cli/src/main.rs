//! The `dovetail` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    dovetail_cli::run(&[])
}
