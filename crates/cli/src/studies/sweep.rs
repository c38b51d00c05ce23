//! `dovetail sweep`.

use std::path::{Path, PathBuf};

use dovetail_experiment::sweep::{Plan, Settings, Sweep, SweepError};

use super::run::{tell_about, tell_of_capture, threads};
use super::{ending, progress};
use crate::args;
use crate::failure::Failure;
use crate::terminal;

/// Run what of a plan is not done yet.
pub fn sweep(args: args::Sweep) -> Result<(), Failure> {
    let cancel = ending::end_on_interrupt();
    let folder = match args.out {
        Some(folder) => folder,
        None if args.plan == Path::new("-") => {
            let message =
                "a plan from standard input has no name that the folder of the data set could have: give --out DIR";
            return Err(Failure::Input(message.into()));
        }
        None => PathBuf::from(args.plan.file_stem().unwrap_or_default()),
    };
    let plan = Plan::open(&args.plan).map_err(Failure::input)?;
    let jobs = threads(args.jobs);
    match plan.replayed() {
        Some((scenario, true)) => tell_about(&scenario),
        Some((scenario, false)) => tell_of_capture(&scenario, ""),
        None => {}
    }
    let mut sweep =
        Sweep::open(plan, &folder, &Settings { jobs, cancel, progress: &|_| () }).map_err(|error| match error {
            SweepError::Output(_) => Failure::input(error),
            other => failure(other),
        })?;
    let (rows, pending) = (sweep.rows(), sweep.pending());
    let goes_on = format!("what is done is in {}; the same command does the rest", folder.display());
    ending::keep(&goes_on);
    let bar = progress::runs(pending as u64);
    let result = sweep.run(&Settings { jobs, cancel, progress: &|done| bar.set_position(done as u64) });
    bar.finish_and_clear();
    ending::uninterrupted(|| ());
    result.map_err(|error| match error {
        SweepError::Cancelled => Failure::Paused(goes_on),
        other => failure(other),
    })?;
    let (computed, runs) = (pending - sweep.pending(), if rows == 1 { "run" } else { "runs" });
    let there = if computed == rows { String::new() } else { format!(", {computed} of them computed now") };
    terminal::print(&format!(
        "{rows} {runs}{there}: a row for each in {}, for each group of flows in {}",
        folder.join("runs").display(),
        folder.join("groups").display()
    ))
}

fn failure(error: SweepError) -> Failure {
    match error {
        SweepError::Plan(_) | SweepError::InUse(_) | SweepError::Stranger(_) => Failure::input(error),
        SweepError::Cancelled => Failure::Interrupted,
        SweepError::Output(_) | SweepError::Runs(..) => Failure::run(error),
    }
}
