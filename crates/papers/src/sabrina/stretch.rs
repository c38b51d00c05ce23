//! The guarantees of both papers, with exact and with predicted times: PCFQ, Tables 1 and 2; CBCS, Theorem 3.

use dovetail_model::bounds_composite::{ReservedFlow, pcfq_delay_s, separate_wfq_delay_s};
use dovetail_sched::Spec;
use dovetail_sim::{Cost, Size, Source};

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::{GROUPS, congested, delays, prediction};
use dovetail_experiment::bounds::drift;
use dovetail_figure::{Bar, BarChart, BarSeries, Level, STANDARD_DEVIATION, bars_with_error};

/// How far true times are spread around the model, which makes the prediction error.
pub(super) const SPREADS: [&str; 4] = ["10 %", "25 %", "50 %", "100 %"];
/// Packets of a run whose ways are kept: all.
const PACKETS: usize = 200_000;

/// What a run with predicted times comes to.
struct Point {
    /// Sum of the errors of all CPU times over the sum of these.
    error: f64,
    /// The largest difference of two flows' total services over the bound, by scheduler.
    ratios: Vec<f64>,
}

/// What is predicted before anything is observed: the model itself.
pub(super) const MODELS: [&str; 3] =
    ["1.33333333 us/B + 8 ms", "0.16666667 us/B + 0.33333333 ms", "0.28571429 us/B + 0.71428571 ms"];

/// Thirty backlogged flows for 60 s under these schedulers: with exact times first; then predicted from nothing: by a
/// fitted line, and the resize factor as it is learnt; then by a line that starts from the model, around which true
/// times are spread, with known lengths.
fn points(bench: &Bench<'_>, schedulers: &[&str]) -> Result<Vec<Point>, ReproduceError> {
    let specs = specs(schedulers)?;
    let mut points =
        vec![point(bench, &specs, "0 %", |_| "\"oracle\"".into())?, point(bench, &specs, "0 %", |_| "\"fit\"".into())?];
    for spread in SPREADS {
        points.push(point(bench, &specs, spread, |class| known_lengths(MODELS[class]))?);
    }
    Ok(points)
}

/// These schedulers.
pub(super) fn specs(schedulers: &[&str]) -> Result<Vec<Spec>, ReproduceError> {
    let spec = |text: &&str| text.parse().map_err(|e| ReproduceError::Expected(format!("{text}: {e}")));
    schedulers.iter().map(spec).collect()
}

/// A line that starts from this model; the length that the link will see is known.
pub(super) fn known_lengths(model: &str) -> String {
    format!("{{ cpu = \"fit:first={model}\", link = \"oracle\" }}")
}

fn point(
    bench: &Bench<'_>,
    specs: &[Spec],
    spread: &str,
    estimate: impl Fn(usize) -> String,
) -> Result<Point, ReproduceError> {
    let mut overrides = vec!["until=\"60 s\"".to_string()];
    for (k, class) in GROUPS.into_iter().enumerate() {
        overrides.push(format!("class.{class}.estimate={}", estimate(k)));
        overrides.push(format!("class.{class}.spread={{ cpu = \"{spread}\" }}"));
    }
    let runs = bench.run_with(&congested::scenario(bench, &overrides)?, specs, PACKETS)?;
    let ratio = |run| drift(run).map_or(f64::NAN, |worst| worst.seen_s / worst.bound_s);
    let error = runs.first().and_then(prediction::error_of_all).unwrap_or(0.0);
    Ok(Point { error, ratios: runs.iter().map(ratio).collect() })
}

/// The ratios in words, for the notes.
fn told(points: &[Point], scheduler: usize) -> String {
    let ratio = |p: &Point| p.ratios.get(scheduler).copied().unwrap_or(f64::NAN);
    let one = |p: &Point| format!("{:.2} at {:.0} %", ratio(p), 100.0 * p.error);
    let [exact, cold, warm @ ..] = points else { return String::new() };
    let warm: Vec<String> = warm.iter().map(one).collect();
    let (exact, cold) = (ratio(exact), ratio(cold));
    format!("{exact:.2} with exact times, {cold:.2} with a cold start, and by prediction error: {}", warm.join(", "))
}

fn exact(points: &[Point]) -> f64 {
    points.first().and_then(|p| p.ratios.first()).copied().unwrap_or(f64::NAN)
}

fn worst(points: &[Point], scheduler: usize) -> f64 {
    points.iter().skip(2).filter_map(|p| p.ratios.get(scheduler)).copied().fold(f64::NAN, f64::max)
}

/// CBCS, Theorem 3.
pub fn cbcs(findings: &mut Findings, bench: &Bench<'_>) -> Result<(), ReproduceError> {
    let names = ["cbcs:charge=estimated,newcomers=free", "cbcs:newcomers=free"];
    let points = points(bench, &names)?;
    findings.noted("theorem3", exact(&points), told(&points, 0));
    findings.noted("theorem3-estimated", worst(&points, 0), told(&points, 0));
    findings.noted("theorem3-measured", worst(&points, 1), told(&points, 1));
    findings.picture(
        "cbcs-fig3-theorem3.svg",
        picture("CBCS: relative fairness over its bound, Theorem 3", &names, &points)?,
    );
    Ok(())
}

/// PCFQ, Theorem 2.
pub fn pcfq(bench: &Bench<'_>) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let names = ["pcfq:clock=paper,charge=estimated", "pcfq:clock=tags"];
    let points = points(bench, &names)?;
    findings.noted("theorem2", exact(&points), told(&points, 0));
    findings.noted("theorem2-estimated", worst(&points, 0), told(&points, 0));
    findings.noted("theorem2-measured", worst(&points, 1), told(&points, 1));
    findings.picture("pcfq-table2.svg", picture("PCFQ: relative fairness over its bound, Theorem 2", &names, &points)?);
    Ok(findings)
}

fn picture(title: &str, names: &[&str], points: &[Point]) -> Result<String, ReproduceError> {
    let category = |(k, p): (usize, &Point)| match k {
        0 => "exact".into(),
        1 => "cold start".into(),
        _ => format!("{:.1} %", 100.0 * p.error),
    };
    let bars = |s: usize| points.iter().map(|p| Some(Bar { mean: *p.ratios.get(s)?, std: 0.0 })).collect();
    Ok(bars_with_error(&BarChart {
        levels: vec![Level { at: 1.0, name: "the bound".into() }],
        whiskers: STANDARD_DEVIATION,
        title: title.into(),
        x_label: "Sum of the errors of the predicted CPU times over their sum".into(),
        y_label: "Largest difference of two flows / bound".into(),
        categories: points.iter().enumerate().map(category).collect(),
        series: names
            .iter()
            .enumerate()
            .map(|(s, n)| BarSeries { name: n.to_string(), values: bars(s), ..Default::default() })
            .collect(),
        log: false,
    })?)
}

/// PCFQ, Table 1: delay guarantees of the thirty flows under PCFQ in per cent of those under separate WFQ.
pub fn delay_guarantees(bench: &Bench<'_>) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    findings.missing("lower", "the two example flows of Table 1 are not legible in the text at hand");
    let workload = delays::scenario(bench, &[])?.workload::<2>();
    let mut flows: Vec<(String, [[f64; 2]; 2], [f64; 2])> = Vec::new();
    let total = |r: usize| workload.flows.iter().map(|f| f.weights()[r].as_f64()).sum::<f64>();
    let totals = [total(0), total(1)];
    for (flow, source) in workload.flows.iter().zip(&workload.sources) {
        let Source::Generator(generator) = source else { continue };
        let (min, max) = match generator.size {
            Size::Fixed(size) => (size, size),
            Size::Uniform { min, max } => (min, max),
            Size::Mix(_) => continue,
        };
        let longest = f64::from(flow.resize.most) / 1e6;
        let times =
            |size: u32| [time_s(&flow.cost[0], f64::from(size)), time_s(&flow.cost[1], f64::from(size) * longest)];
        let share = |r: usize| flow.weights()[r].as_f64() / totals[r];
        flows.push((flow.group.to_string(), [times(min), times(max)], [share(0), share(1)]));
    }
    let reserved: Vec<ReservedFlow<'_>> =
        flows.iter().map(|(_, packets_s, shares)| ReservedFlow { packets_s, shares: *shares }).collect();
    for group in GROUPS {
        let Some(flow) = flows.iter().position(|(name, ..)| name == group).and_then(|k| reserved.get(k)) else {
            continue;
        };
        // PCFQ's virtual time passes by the larger sum of weights.
        let larger = totals[0].max(totals[1]);
        let shares = [0, 1].map(|r| flow.shares[r] * totals[r] / larger);
        let composite = ReservedFlow { shares, ..*flow };
        let (pcfq, wfq) = (pcfq_delay_s(&composite, &reserved), separate_wfq_delay_s(flow, &reserved));
        findings.noted(group, 100.0 * pcfq / wfq, format!("{pcfq:.3} s with PCFQ, {wfq:.3} s with separate WFQ"));
    }
    Ok(findings)
}

fn time_s(cost: &Cost, size: f64) -> f64 {
    match cost {
        Cost::Linear(linear) => linear.time(size.round() as u64).as_secs_f64(),
        Cost::Link(rate) => 8.0 * size / rate.as_bps() as f64,
        Cost::PerPacket => 0.0,
    }
}
