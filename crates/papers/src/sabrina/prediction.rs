//! PCFQ, Table 3 and section 4: the setting, and how well the processing times are predicted in it.

use dovetail_sim::stream;
use rand::RngExt;

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::stats::members;
use super::{CPU, GROUPS, LINK, delays, under};
use dovetail_experiment::recorded::{PredictionError, Recorded};
use dovetail_figure::{Bar, BarChart, BarSeries, STANDARD_DEVIATION, bars_with_error};

/// The weights of the newest observation that are compared.
const ALPHAS: [&str; 9] = ["0.02", "0.05", "0.1", "0.2", "0.3", "0.4", "0.6", "0.8", "1"];
/// The paper's.
const PAPER: &str = "0.4";

/// Traffic whose prediction error is looked at together.
pub(super) struct Kind<'a> {
    /// What the picture calls it.
    pub name: &'a str,
    /// Of its finding.
    pub key: String,
    /// Its groups of flows.
    pub groups: &'a [&'a str],
}

/// The loads, and the prediction error of every kind of traffic by alpha.
pub fn settings(bench: &Bench<'_>) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let paper = predicted(bench, PAPER)?;
    let seconds = paper.nonempty.as_secs_f64();
    findings.found("cpu", 100.0 * paper.resources[CPU].busy.as_secs_f64() / seconds);
    findings.found("link", 100.0 * paper.resources[LINK].busy.as_secs_f64() / seconds);
    let groups = GROUPS.map(|group| [group]);
    let kinds: Vec<Kind<'_>> =
        groups.iter().map(|group| Kind { name: group[0], key: format!("{}-alpha", group[0]), groups: group }).collect();
    by_alpha(&mut findings, &kinds, |alpha| predicted(bench, alpha), "pcfq-table3.svg")?;
    let by_run: Vec<f64> = RUNS.iter().map(|&alike| of_runs(alike)).collect();
    let told: Vec<String> = RUNS.iter().zip(&by_run).map(|(alike, ratio)| format!("{ratio:.3} at {alike}")).collect();
    findings.noted("alike-runs", by_run.iter().copied().fold(f64::NAN, f64::min), told.join(", "));
    Ok(findings)
}

/// Mean numbers of packets in a run of alike ones.
const RUNS: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
/// Packets of a kind of traffic.
const OF_A_KIND: usize = 20_000;
/// By group: shortest and longest length in bytes; CPU time per byte in us, and per packet in ms.
const LENGTHS: [(f64, f64, f64, f64); 3] = [
    (1500.0, 24_000.0, 1.333_333_33, 8.0),
    (4000.0, 16_000.0, 0.166_666_67, 0.333_333_33),
    (1000.0, 8000.0, 0.285_714_29, 0.714_285_71),
];

/// The error with the paper's alpha relative to the least of all alphas, the most of the three groups, of packets that
/// come in runs of so many with the same length and CPU time on average; times are 10 % around the model.
fn of_runs(alike: f64) -> f64 {
    let ratio = |(k, &(least, most, per_byte, fixed)): (usize, &(f64, f64, f64, f64))| {
        let mut random = stream(1, &format!("{} in runs of {alike}", GROUPS[k]));
        let mut length = least;
        let packets: Vec<(f64, f64)> = (0..OF_A_KIND)
            .map(|_| {
                if random.random::<f64>() < 1.0 / alike {
                    length = least + (most - least) * random.random::<f64>();
                }
                (length, (fixed + per_byte * length / 1e3) * (0.9 + 0.2 * random.random::<f64>()))
            })
            .collect();
        let errors: Vec<f64> =
            ALPHAS.iter().map(|alpha| smoothed(&packets, alpha.parse().unwrap_or(f64::NAN))).collect();
        let paper = ALPHAS.iter().position(|&alpha| alpha == PAPER).map_or(f64::NAN, |k| errors[k]);
        paper / errors.iter().copied().fold(f64::NAN, f64::min)
    };
    LENGTHS.iter().enumerate().map(ratio).fold(f64::NAN, f64::max)
}

/// Mean relative error of equation (2) for packets of these lengths and times.
fn smoothed(packets: &[(f64, f64)], alpha: f64) -> f64 {
    let Some(&(length, time)) = packets.first() else { return f64::NAN };
    let mut per_byte = time / length;
    let mut sum = 0.0;
    for (length, time) in &packets[1..] {
        sum += (per_byte * length / time - 1.0).abs();
        per_byte = alpha * time / length + (1.0 - alpha) * per_byte;
    }
    sum / (packets.len() - 1) as f64
}

/// The error of the first resource's times with the paper's alpha relative to the least of all alphas, of every kind;
/// `run` with an alpha. And a picture.
pub(super) fn by_alpha(
    findings: &mut Findings,
    kinds: &[Kind<'_>],
    run: impl Fn(&str) -> Result<Recorded, ReproduceError>,
    file: &str,
) -> Result<(), ReproduceError> {
    let errors = |alpha| run(alpha).map(|run| kinds.iter().map(|kind| error(&run, kind.groups)).collect());
    let errors = ALPHAS.into_iter().map(errors).collect::<Result<Vec<Vec<f64>>, _>>()?;
    for (g, kind) in kinds.iter().enumerate() {
        let of = |k: usize| errors[k][g];
        let best = (0..ALPHAS.len()).min_by(|&a, &b| of(a).total_cmp(&of(b))).unwrap_or(0);
        let at = |alpha| ALPHAS.iter().position(|&a| a == alpha).map_or(f64::NAN, of);
        let note = format!(
            "mean error {:.1} % at 0.4, least {:.1} % at {}",
            100.0 * at(PAPER),
            100.0 * of(best),
            ALPHAS[best]
        );
        findings.noted(kind.key.clone(), at(PAPER) / of(best), note);
    }
    findings.picture(file, picture(kinds, &errors)?);
    Ok(())
}

fn predicted(bench: &Bench<'_>, alpha: &str) -> Result<Recorded, ReproduceError> {
    let estimate = |class| format!("class.{class}.estimate=\"ses:alpha={alpha},scale=payload\"");
    let overrides: Vec<String> = GROUPS.into_iter().map(estimate).collect();
    let scenario = delays::scenario(bench, &overrides)?;
    let pcfq: Vec<_> = scenario.schedulers().into_iter().filter(|s| s.name == "pcfq").collect();
    under(&bench.run_with(&scenario, &pcfq, 0)?, "pcfq").cloned()
}

/// Mean of |predicted - actual| / actual of the CPU times of these groups.
fn error(run: &Recorded, groups: &[&str]) -> f64 {
    let mut sum = PredictionError::default();
    let flows = groups.iter().flat_map(|group| members(run, group));
    flows.filter_map(|f| run.flows[f].prediction(CPU)).for_each(|own| sum.add(&own));
    sum.mean_relative().unwrap_or(f64::NAN)
}

/// Sum of the errors of all CPU times over the sum of these; `None` if nothing was predicted.
pub(super) fn error_of_all(run: &Recorded) -> Option<f64> {
    let mut sum = PredictionError::default();
    run.flows.iter().filter_map(|f| f.prediction(CPU)).for_each(|own| sum.add(&own));
    sum.weighted_relative()
}

fn picture(kinds: &[Kind<'_>], errors: &[Vec<f64>]) -> Result<String, ReproduceError> {
    let bars = |g: usize| errors.iter().map(|e| Some(Bar { mean: 100.0 * e[g], std: 0.0 })).collect();
    Ok(bars_with_error(&BarChart {
        whiskers: STANDARD_DEVIATION,
        title: "Error of predicted CPU times by smoothing".into(),
        x_label: "alpha, the weight of the newest observation".into(),
        y_label: "Mean relative error (%)".into(),
        categories: ALPHAS.map(String::from).to_vec(),
        series: kinds
            .iter()
            .enumerate()
            .map(|(g, kind)| BarSeries { name: kind.name.into(), values: bars(g), ..Default::default() })
            .collect(),
        log: false,
        ..Default::default()
    })?)
}
