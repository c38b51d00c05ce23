//! The delay guarantees (16) and (17) of the PCFQ paper in a run, with exact and with predicted times: PCFQ, Table 2.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::stretch::{MODELS, SPREADS, known_lengths, specs};
use super::{GROUPS, delays, prediction};
use dovetail_experiment::bounds::{Worst, delay};
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::scenario::Scenario;
use dovetail_figure::{Bar, BarChart, BarSeries, Level, STANDARD_DEVIATION, bars_with_error};

/// PCFQ as printed, and as it pays what was measured; separate WFQs alike.
const SCHEDULERS: [&str; 4] = [
    "pcfq:clock=paper,charge=estimated",
    "pcfq:clock=tags",
    "wfq+wfq:buffer=none,charge=estimated",
    "wfq+wfq:buffer=none",
];
/// Half of the rates of the delay runs, in random order: what a flow sends takes 97 % of a server that has its shares
/// of CPU and link, one after the other, as the expected arrival counts. At the full rates that falls behind without
/// end, and a packet is never late.
const RATES: [&str; 3] = ["1.13447 pps", "8.0415 pps", "2.027645 pps"];
/// Packets of a run whose ways are kept: all.
const PACKETS: usize = 200_000;

/// What a run with predicted times comes to.
struct Point {
    /// What the picture calls it.
    name: String,
    /// The worst delay over what is allowed for it, by scheduler.
    ratios: Vec<f64>,
}

/// With exact times; then predicted from nothing, and the resize factor as it is learnt; then by a line that starts
/// from the model, around which true times are spread, with known lengths.
pub fn add(findings: &mut Findings, bench: &Bench<'_>) -> Result<(), ReproduceError> {
    let mut points = vec![
        point(bench, "exact", "0 %", |_| "\"oracle\"".into())?,
        point(bench, "cold start", "0 %", |_| "\"fit\"".into())?,
    ];
    for spread in SPREADS {
        points.push(point(bench, "", spread, |class| known_lengths(MODELS[class]))?);
    }
    report(findings, "delay", &points, 2);
    let title = "Delay after the expected arrival over its guarantee, (17) and (16)";
    findings.picture("pcfq-table2-delay.svg", picture(title, MEAN_ERROR, &points, false)?);
    Ok(())
}

/// The first point has exact times; of those from `predicted` on the largest counts. Keys begin with `prefix`.
fn report(findings: &mut Findings, prefix: &str, points: &[Point], predicted: usize) {
    for (scheduler, exact, worst) in
        [(0, "17", "17-estimated"), (1, "", "17-measured"), (2, "16", "16-estimated"), (3, "", "16-measured")]
    {
        let ratio = |p: &Point| p.ratios.get(scheduler).copied().unwrap_or(f64::NAN);
        let told: Vec<String> = points.iter().map(|p| format!("{:.3} ({})", ratio(p), p.name)).collect();
        let told = format!("by prediction error: {}", told.join(", "));
        if !exact.is_empty() {
            findings.noted(format!("{prefix}{exact}"), points.first().map_or(f64::NAN, ratio), told.clone());
        }
        let largest = points.iter().skip(predicted).map(ratio).fold(f64::NAN, f64::max);
        findings.noted(format!("{prefix}{worst}"), largest, told);
    }
}

/// One flow at its reserved rate among nine that always wait.
const ADVERSARY: &str = include_str!("../../../../scenarios/papers/pcfq/adversary.toml");
/// By how many per cent the nine flows' times are predicted too short, and the tenth's too long.
const ERRORS_PERCENT: [u32; 6] = [0, 10, 25, 50, 75, 90];

/// The nine flows' times are predicted too short by `error` per cent, the tenth's too long.
pub(super) fn against_one(bench: &Bench<'_>, error: u32, overrides: &[String]) -> Result<Scenario, ReproduceError> {
    // Of 10 ms.
    let told = |class: &str, percent: u32| format!("class.{class}.estimate.cpu='{} us'", 100 * percent);
    let predictions = [told("waiting", 100 - error), told("reserved", 100 + error)];
    bench.scenario("pcfq/adversary.toml", ADVERSARY, &[&predictions[..], overrides].concat())
}

/// How far the guarantees stretch where they bind, by a prediction error that is against one flow.
pub fn adversary(findings: &mut Findings, bench: &Bench<'_>, overrides: &[String]) -> Result<(), ReproduceError> {
    let mut points = Vec::new();
    for error in ERRORS_PERCENT {
        let scenario = against_one(bench, error, overrides)?;
        points.push(Point::new(format!("{error} %"), &bench.run_with(&scenario, &specs(&SCHEDULERS)?, PACKETS)?));
    }
    report(findings, "adversary", &points, 1);
    let title = "Worst delay over its guarantee, predictions against one of ten flows";
    findings.picture("pcfq-table2-adversary.svg", picture(title, "Prediction error", &points, true)?);
    Ok(())
}

/// Two flows by hand: fifty packets of the first are on the CPU, on the link and in front of it when the second's only
/// one comes.
const OVERLAP: &str = include_str!("../../../../scenarios/papers/pcfq/overlap.toml");

/// How far (17) is from where packets overlap on CPU and link.
pub fn overlap(findings: &mut Findings, bench: &Bench<'_>) -> Result<(), ReproduceError> {
    for (key, changes) in
        [("overlap17", &[][..]), ("overlap17-unlimited", &["resource.link.buffer='unlimited'".into()])]
    {
        let scenario = bench.scenario("pcfq/overlap.toml", OVERLAP, changes)?;
        let runs = bench.run_with(&scenario, &scenario.schedulers(), PACKETS)?;
        let worst = runs.first().and_then(delay);
        let told = |w: Worst| format!("{:.1} us, allowed {:.0} us", 1e6 * w.seen_s, 1e6 * w.bound_s);
        findings.noted(key, worst.map_or(f64::NAN, |w| w.seen_s / w.bound_s), worst.map_or(String::new(), told));
    }
    Ok(())
}

fn point(
    bench: &Bench<'_>,
    name: &str,
    spread: &str,
    estimate: impl Fn(usize) -> String,
) -> Result<Point, ReproduceError> {
    let mut overrides = Vec::new();
    for (k, class) in GROUPS.into_iter().enumerate() {
        overrides.push(format!("flows.{class}.rate=\"{}\"", RATES[k]));
        overrides.push(format!("flows.{class}.arrivals=\"poisson\""));
        overrides.push(format!("class.{class}.estimate={}", estimate(k)));
        overrides.push(format!("class.{class}.spread={{ cpu = \"{spread}\" }}"));
    }
    let runs = bench.run_with(&delays::scenario(bench, &overrides)?, &specs(&SCHEDULERS)?, PACKETS)?;
    let error = runs.first().and_then(prediction::error_of_all).unwrap_or(0.0);
    let name = if name.is_empty() { format!("{:.1} %", 100.0 * error) } else { name.to_string() };
    Ok(Point::new(name, &runs))
}

impl Point {
    fn new(name: String, runs: &[Recorded]) -> Self {
        let ratio = |run| delay(run).map_or(f64::NAN, |worst| worst.seen_s / worst.bound_s);
        Self { name, ratios: runs.iter().map(ratio).collect() }
    }
}

const MEAN_ERROR: &str = "Sum of the errors of the predicted CPU times over their sum";

fn picture(title: &str, errors: &str, points: &[Point], log: bool) -> Result<String, ReproduceError> {
    let bars = |s: usize| points.iter().map(|p| Some(Bar { mean: *p.ratios.get(s)?, std: 0.0 })).collect();
    Ok(bars_with_error(&BarChart {
        levels: vec![Level { at: 1.0, name: "the guarantee".into() }],
        whiskers: STANDARD_DEVIATION,
        title: title.into(),
        x_label: errors.into(),
        y_label: "Worst packet / guarantee".into(),
        categories: points.iter().map(|p| p.name.clone()).collect(),
        series: SCHEDULERS
            .iter()
            .enumerate()
            .map(|(s, n)| BarSeries { name: n.to_string(), values: bars(s), ..Default::default() })
            .collect(),
        log,
    })?)
}
