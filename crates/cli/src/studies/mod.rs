//! What simulates, and shows what came out.

mod advise;
mod bounds;
mod ending;
mod network;
mod page;
mod progress;
mod report;
mod reproduce;
mod run;
mod showcase;
mod sweep;

use crate::args::Study;
use crate::failure::Failure;

/// Do one of them.
pub fn study(study: Study) -> Result<(), Failure> {
    match study {
        Study::Run(args) => run::run(args),
        Study::Advise(args) => advise::advise(args),
        Study::Sweep(args) => sweep::sweep(args),
        Study::Report(args) => report::report(args),
        Study::Reproduce(args) => reproduce::reproduce(args),
        Study::Bounds(args) => bounds::bounds(args),
    }
}
