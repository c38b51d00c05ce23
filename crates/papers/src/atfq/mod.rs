//! The figures of Zhang, Li, Guo, Qi, Li, "ATFQ: A Fair and Efficient Packet Scheduling Method in Multi-resource
//! Environments".
//!
//! The paper's "strict DRFQ" is `drfq:mode=dovetail,newcomers=free`; what memoryless DRFQ does instead is said beside
//! it.

mod fig1;
mod fig10;
mod fig2;
mod fig5;
mod fig6;
mod fig7;
mod fig8;
mod fig9;
mod twenty;

use std::cell::OnceCell;

use dovetail_sched::Spec;

use super::ReproduceError;
use super::bench::{Bench, get_or_try};
use super::expected::Findings;
use super::seconds;
use dovetail_experiment::recorded::Recorded;
use twenty::Twenty;

/// The paper's strict DRFQ.
const STRICT: &str = "drfq:mode=dovetail,newcomers=free";
/// DRFQ with a time stamp for the largest time of each packet only.
const MEMORYLESS: &str = "drfq:newcomers=free";

/// How loops are filled and newcomers mapped in the paper, but by default are not.
const PUBLISHED: &str = ",fill=all,newcomers=free";

/// Runs that several figures look at, made once.
#[derive(Default)]
pub struct Shared {
    twenty: OnceCell<Twenty>,
}

impl Shared {
    /// The runs of Figs. 6 to 10.
    fn twenty(&self, bench: &Bench<'_>) -> Result<&Twenty, ReproduceError> {
        get_or_try(&self.twenty, || Twenty::run(bench, &twenty::scenario(bench, &[])?))
    }
}

/// Compute the figure of this id, one of those that are done.
pub fn reproduce(id: &str, bench: &Bench<'_>, shared: &Shared) -> Result<Findings, ReproduceError> {
    match id {
        "atfq-fig1" => fig1::reproduce(bench),
        "atfq-fig2" => fig2::reproduce(bench),
        "atfq-fig5" => {
            fig5::compare(&bench.run(&fig5::scenario(bench, &[])?)?, &fig5::Anticipated::measure(bench, &[])?)
        }
        "atfq-fig6" => fig6::reproduce(shared.twenty(bench)?),
        "atfq-fig7" => fig7::reproduce(shared.twenty(bench)?),
        "atfq-fig8" => {
            let mut findings = fig8::reproduce(shared.twenty(bench)?)?;
            fig8::by_order(&mut findings, bench, fig8::PACKETS, &[])?;
            Ok(findings)
        }
        "atfq-fig9" => {
            let mut findings = fig9::reproduce(shared.twenty(bench)?)?;
            fig9::by_order(&mut findings, bench, &[])?;
            Ok(findings)
        }
        "atfq-fig10" => fig10::reproduce(shared.twenty(bench)?),
        other => Err(ReproduceError::Id(format!("{other} is not reproduced yet"))),
    }
}

#[cfg(test)]
mod tests;

/// The run under this scheduler.
fn under<'a>(runs: &'a [Recorded], scheduler: &str) -> Option<&'a Recorded> {
    runs.iter().find(|run| run.scheduler.to_string() == scheduler)
}

/// ATFQ-x.
fn atfq(packets: u32) -> Result<Spec, ReproduceError> {
    spec(&format!("atfq:loop={packets}{PUBLISHED}"))
}

fn spec(text: &str) -> Result<Spec, ReproduceError> {
    text.parse().map_err(|e| ReproduceError::Expected(format!("{text}: {e}")))
}

/// The run of ATFQ with loops of so many packets: the paper's ATFQ-x.
fn in_loops(runs: &[Recorded], packets: u32) -> Option<&Recorded> {
    under(runs, &format!("atfq:loop={packets}{PUBLISHED}"))
}

/// As the paper calls the run's scheduler.
fn name(run: &Recorded) -> String {
    let spec = run.scheduler.to_string();
    match (spec.as_str(), spec.strip_prefix("atfq:loop=").and_then(|rest| rest.strip_suffix(PUBLISHED))) {
        (STRICT, _) => "strict DRFQ".into(),
        (MEMORYLESS, _) => "memoryless DRFQ".into(),
        (_, Some(packets)) => format!("ATFQ-{packets}"),
        _ => spec,
    }
}
