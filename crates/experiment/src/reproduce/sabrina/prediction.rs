//! PCFQ, Table 3 and section 4: the setting, and how well the processing times are predicted in it.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::stats::members;
use super::{CPU, GROUPS, LINK, delays, under};
use crate::compare::{PredictionError, Recorded};
use crate::figure::{Bar, BarChart, BarSeries, STANDARD_DEVIATION, bars_with_error};

/// The weights of the newest observation that are compared.
const ALPHAS: [&str; 9] = ["0.02", "0.05", "0.1", "0.2", "0.3", "0.4", "0.6", "0.8", "1"];
/// The paper's.
const PAPER: &str = "0.4";

/// The loads, and the prediction error of every kind of traffic by alpha.
pub fn settings(bench: &Bench<'_>) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let mut errors: Vec<[f64; 3]> = Vec::new();
    for alpha in ALPHAS {
        let run = predicted(bench, alpha)?;
        if alpha == PAPER {
            let seconds = run.nonempty.as_secs_f64();
            findings.found("cpu", 100.0 * run.resources[CPU].busy.as_secs_f64() / seconds);
            findings.found("link", 100.0 * run.resources[LINK].busy.as_secs_f64() / seconds);
        }
        errors.push(GROUPS.map(|group| error(&run, group)));
    }
    for (g, group) in GROUPS.into_iter().enumerate() {
        let of = |k: usize| errors[k][g];
        let best = (0..ALPHAS.len()).min_by(|&a, &b| of(a).total_cmp(&of(b))).unwrap_or(0);
        let at = |alpha| ALPHAS.iter().position(|&a| a == alpha).map_or(f64::NAN, of);
        let note = format!(
            "mean error {:.1} % at 0.4, least {:.1} % at {}",
            100.0 * at(PAPER),
            100.0 * of(best),
            ALPHAS[best]
        );
        findings.noted(format!("{group}-alpha"), at(PAPER) / of(best), note);
    }
    findings.picture("pcfq-table3.svg", picture(&errors)?);
    Ok(findings)
}

fn predicted(bench: &Bench<'_>, alpha: &str) -> Result<Recorded, ReproduceError> {
    let estimate = |class| format!("class.{class}.estimate=\"ses:alpha={alpha},scale=payload\"");
    let overrides: Vec<String> = GROUPS.into_iter().map(estimate).collect();
    let scenario = delays::scenario(bench, &overrides)?;
    let pcfq: Vec<_> = scenario.schedulers().into_iter().filter(|s| s.name == "pcfq").collect();
    under(&bench.run_with(&scenario, &pcfq, 0)?, "pcfq").cloned()
}

/// Mean of |predicted - actual| / actual of the CPU times of a group.
fn error(run: &Recorded, group: &str) -> f64 {
    let mut sum = PredictionError::default();
    members(run, group).filter_map(|f| run.flows[f].prediction[CPU]).for_each(|own| sum.add(&own));
    sum.mean_relative().unwrap_or(f64::NAN)
}

/// Sum of the errors of all CPU times over the sum of these; `None` if nothing was predicted.
pub(super) fn error_of_all(run: &Recorded) -> Option<f64> {
    let mut sum = PredictionError::default();
    run.flows.iter().filter_map(|f| f.prediction[CPU]).for_each(|own| sum.add(&own));
    sum.weighted_relative()
}

fn picture(errors: &[[f64; 3]]) -> Result<String, ReproduceError> {
    let bars = |g: usize| errors.iter().map(|e| Some(Bar { mean: 100.0 * e[g], std: 0.0 })).collect();
    Ok(bars_with_error(&BarChart {
        whiskers: STANDARD_DEVIATION,
        title: "Error of predicted CPU times by smoothing".into(),
        x_label: "alpha, the weight of the newest observation".into(),
        y_label: "Mean relative error (%)".into(),
        categories: ALPHAS.map(String::from).to_vec(),
        series: GROUPS
            .into_iter()
            .enumerate()
            .map(|(g, name)| BarSeries { name: name.into(), values: bars(g) })
            .collect(),
        log: false,
    })?)
}
