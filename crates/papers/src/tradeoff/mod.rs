//! The tables and figures of Wang, Feng, Li, Liang, "On the Fairness-Efficiency Tradeoff for Packet Processing with
//! Multiple Resources", CoNEXT 2014.

mod baselines;
mod fig1;
mod fig2;
mod fig3;
mod fig4;
mod fig5;
mod fig6;
mod fig7;
mod fig8;
mod fig9;
mod table2;
mod trace;

use std::cell::OnceCell;

use super::bench::{Bench, get_or_try};
use super::expected::Findings;
use super::{ReproduceError, seconds};
use dovetail_experiment::recorded::Recorded;
use trace::Patterns;

/// Runs that several figures look at, made once.
#[derive(Default)]
pub struct Shared {
    table2: OnceCell<Vec<Recorded>>,
    patterns: OnceCell<Patterns>,
}

impl Shared {
    /// The runs of Table 2, also those of Figs. 3 and 4.
    fn table2(&self, bench: &Bench<'_>) -> Result<&[Recorded], ReproduceError> {
        let runs = get_or_try(&self.table2, || bench.run(&table2::scenario(bench, &[])?))?;
        Ok(runs)
    }

    /// The trace-driven runs of Figs. 7 and 8.
    fn patterns(&self, bench: &Bench<'_>) -> Result<&Patterns, ReproduceError> {
        get_or_try(&self.patterns, || trace::patterns(bench, &trace::Size::FULL))
    }
}

/// Compute the table or figure of this id, one of those that are done.
pub fn reproduce(id: &str, bench: &Bench<'_>, shared: &Shared) -> Result<Findings, ReproduceError> {
    match id {
        "tradeoff-fig1" => fig1::reproduce(bench),
        "tradeoff-fig2" => fig2::reproduce(),
        "tradeoff-fig3" => fig3::reproduce(shared.table2(bench)?),
        "tradeoff-fig4" => fig4::reproduce(shared.table2(bench)?),
        "tradeoff-fig5" => fig5::compare(bench, &fig5::scenario(bench, &[])?),
        "tradeoff-fig6" => fig6::compare(bench, &fig6::scenario(bench, &[])?),
        "tradeoff-fig7" => fig7::reproduce(shared.patterns(bench)?),
        "tradeoff-fig8" => fig8::reproduce(shared.patterns(bench)?),
        "tradeoff-fig9" => fig9::compare(bench, &fig9::traffic(bench)?, fig9::ASSIGNMENTS),
        "tradeoff-table2" => table2::compare(bench, &table2::scenario(bench, &[])?, shared.table2(bench)?),
        other => Err(ReproduceError::Id(format!("{other} is not reproduced yet"))),
    }
}

#[cfg(test)]
mod tests;

/// The fairness level of a run.
fn alpha(run: &Recorded) -> f64 {
    run.promised().unwrap_or(f64::NAN)
}

/// The fairness level in words.
fn level(run: &Recorded) -> String {
    format!("alpha = {:.2}", alpha(run))
}

/// The run at this fairness level.
fn at(runs: &[Recorded], level: f64) -> Option<&Recorded> {
    runs.iter().find(|run| alpha(run) == level)
}
