//! The `dovetail` program with `least` beside its own schedulers.

use std::process::ExitCode;

use dovetail_sched::catalog::Addition;

fn main() -> ExitCode {
    dovetail_cli::run(&[Addition::of::<least::Least>()])
}
