//! The tables and figures of two papers by F. Sabrina, S. S. Kanhere and S. K. Jha: PCFQ ("Design, Analysis, and
//! Implementation of a Novel Multiple Resource Scheduler") and CBCS ("Design, Analysis, and Implementation of a Novel
//! Low Complexity Scheduler for Joint Resource Allocation", 2007). They simulate the same thirty flows.

mod congested;
mod delay_stretch;
mod delays;
mod gini;
mod ixp;
mod prediction;
mod sessions;
mod shares;
mod stats;
mod stretch;

use std::cell::OnceCell;

use super::ReproduceError;
use super::bench::{Bench, get_or_try};
use super::expected::Findings;
use delays::Delays;
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::scenario::Scenario;
use gini::Readings;
use ixp::Ixp;

/// The groups of the thirty flows.
const GROUPS: [&str; 3] = ["mpeg2", "decryption", "encryption"];
/// The CPU's place in the pipelines of these papers.
const CPU: usize = 0;
/// The link's.
const LINK: usize = 1;

/// Runs that several figures look at, made once.
#[derive(Default)]
pub struct Shared {
    congested: OnceCell<Vec<Recorded>>,
    delays: OnceCell<Delays>,
    equal: OnceCell<Delays>,
    measured: OnceCell<Delays>,
    quantum: OnceCell<Delays>,
    overloaded: OnceCell<Delays>,
    ixp: OnceCell<Ixp>,
}

impl Shared {
    /// CBCS, Table 3 and Figs. 2 and 3.
    fn congested(&self, bench: &Bench<'_>) -> Result<&[Recorded], ReproduceError> {
        let runs = get_or_try(&self.congested, || bench.run(&congested::scenario(bench, &[])?))?;
        Ok(runs)
    }

    /// CBCS, Table 2 and Figs. 4 and 5; PCFQ, Tables 4 and 5 and Figs. 2 to 6.
    fn delays(&self, bench: &Bench<'_>) -> Result<&Delays, ReproduceError> {
        get_or_try(&self.delays, || Delays::run(bench, &delays::scenario(bench, &[])?, delays::SEEDS))
    }

    /// The same charged as measured.
    fn measured(&self, bench: &Bench<'_>) -> Result<&Delays, ReproduceError> {
        get_or_try(&self.measured, || Delays::run(bench, &delays::as_measured(bench, &[])?, delays::SEEDS))
    }

    /// CBCS, Figs. 4 and 5; PCFQ, Figs. 5 and 6: by all readings of what the papers leave open.
    fn readings(&self, bench: &Bench<'_>) -> Result<Readings<'_>, ReproduceError> {
        let run = |scenario: Result<Scenario, ReproduceError>| Delays::run(bench, &scenario?, delays::SEEDS);
        Ok(Readings {
            printed: self.delays(bench)?,
            measured: self.measured(bench)?,
            equal: get_or_try(&self.equal, || run(delays::of_equal_weights(bench, &[])))?,
            quantum: get_or_try(&self.quantum, || run(delays::with_quantum(bench, &[])))?,
            congested: get_or_try(&self.overloaded, || run(delays::of_congestion(bench, &[])))?,
        })
    }

    /// CBCS, Table 5 and Figs. 8 and 9.
    fn ixp(&self, bench: &Bench<'_>) -> Result<&Ixp, ReproduceError> {
        get_or_try(&self.ixp, || Ixp::run(bench, &ixp::scenario(bench, &[])?, ixp::SEEDS))
    }
}

/// Compute the table or figure of this id, one of those that are done.
pub fn reproduce(id: &str, bench: &Bench<'_>, shared: &Shared) -> Result<Findings, ReproduceError> {
    match id {
        "pcfq-fig2" | "pcfq-fig3" | "pcfq-fig4" => delays::figure(id, shared.delays(bench)?),
        "pcfq-fig5" => shared.readings(bench)?.pcfq(id, CPU),
        "pcfq-fig6" => shared.readings(bench)?.pcfq(id, LINK),
        "pcfq-table1" => stretch::delay_guarantees(bench),
        "pcfq-table2" => {
            let mut findings = stretch::pcfq(bench)?;
            delay_stretch::add(&mut findings, bench)?;
            delay_stretch::adversary(&mut findings, bench, &[])?;
            delay_stretch::overlap(&mut findings, bench)?;
            Ok(findings)
        }
        "pcfq-table3" => prediction::settings(bench),
        "pcfq-table4" => delays::table(shared.delays(bench)?, shared.measured(bench)?, delays::PCFQ),
        "pcfq-table5" => shares::table(bench, &[], delays::SEEDS),
        "cbcs-fig2" => congested::fig2(shared.congested(bench)?),
        "cbcs-fig3" => congested::fig3(bench, shared.congested(bench)?),
        "cbcs-fig4" => shared.readings(bench)?.cbcs(id, CPU),
        "cbcs-fig5" => shared.readings(bench)?.cbcs(id, LINK),
        "cbcs-fig8" => shared.ixp(bench)?.figure(id, "high CPU, high bandwidth"),
        "cbcs-fig9" => shared.ixp(bench)?.figure(id, "low CPU, high bandwidth"),
        "cbcs-table2" => delays::table(shared.delays(bench)?, shared.measured(bench)?, delays::CBCS),
        "cbcs-table3" => {
            let mut findings = congested::table3(shared.congested(bench)?)?;
            congested::other_readings(&mut findings, bench, &[])?;
            Ok(findings)
        }
        "cbcs-table5" => {
            let mut findings = shared.ixp(bench)?.table()?;
            ixp::further_stage(&mut findings, bench, shared.ixp(bench)?, &[])?;
            ixp::congested(&mut findings, bench, shared.ixp(bench)?.seeds(), &[])?;
            ixp::smoothing(&mut findings, bench, &[])?;
            Ok(findings)
        }
        other => Err(ReproduceError::Id(format!("{other} is not reproduced yet"))),
    }
}

/// The run under the scheduler of this name, whatever its parameters.
fn under<'a>(runs: &'a [Recorded], name: &str) -> Result<&'a Recorded, ReproduceError> {
    let found = runs.iter().find(|run| run.scheduler.name == name);
    found.ok_or_else(|| ReproduceError::Expected(format!("no run under {name}")))
}

/// As the papers call the run's scheduler.
fn name(run: &Recorded) -> String {
    match run.scheduler.name.as_str() {
        "cbcs" => "CBCS".into(),
        "pcfq" => "PCFQ".into(),
        "drr+drr" => "separate DRR".into(),
        "wfq+wfq" => "separate WFQ".into(),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests;
