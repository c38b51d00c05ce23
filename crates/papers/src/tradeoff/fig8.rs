//! Fig. 8: latencies and drop rates at full and at 80 % fairness and under MR3, for three patterns of traffic.

use super::super::ReproduceError;
use super::super::expected::Findings;
use super::baselines::{MR3, NAMED};
use super::seconds::{Spread, spread};
use super::trace::{PatternRuns, Patterns, Run};
use dovetail_experiment::statistics::Estimate;
use dovetail_figure::{Bar, BarChart, BarSeries, Cdf, STANDARD_DEVIATION, bars_with_error, latency_cdf};

/// The two levels that are compared.
const LEVELS: [f64; 2] = [1.0, 0.8];

pub fn reproduce(patterns: &Patterns) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    for (part, runs) in ["a", "b", "c"].iter().zip(&patterns.0) {
        let name = runs.pattern.name();
        let pairs = pairs(runs);
        if pairs.is_empty() {
            let reason = format!("no assignment of flows to modules makes this traffic {name}");
            findings.missing(format!("{name}-drops"), reason.clone());
            findings.missing(format!("{name}-throughput"), reason.clone());
            findings.missing(format!("{name}-latency"), reason.clone());
            for scheduler in NAMED {
                findings.missing(format!("{name}-{scheduler}-latency"), reason.clone());
                findings.missing(format!("{name}-{scheduler}-drops"), reason.clone());
            }
        } else {
            compare(&mut findings, name, &pairs);
            for scheduler in NAMED {
                beside(&mut findings, name, scheduler, &runs.beside(scheduler));
            }
        }
        let first = pairs.first().into_iter().flat_map(|(fair, relaxed)| [*fair, *relaxed]);
        let shown = first.chain(runs.beside(MR3).first().map(|(_, mr3)| *mr3));
        let cdfs: Vec<Cdf> = shown.map(|run| run.cdf.clone()).collect();
        let title = format!("Fig. 8{part}: latency, {name} traffic (first run)");
        findings.picture(&format!("tradeoff-fig8{part}.svg"), latency_cdf(&title, &cdfs)?);
    }
    findings.picture("tradeoff-fig8d.svg", picture(patterns)?);
    Ok(findings)
}

/// Each assignment at full and at 80 % fairness.
fn pairs(runs: &PatternRuns) -> Vec<(&Run, &Run)> {
    let at = |levels: &'_ [Run], level: f64| levels.iter().position(|run| run.alpha == level);
    let pair = |levels| Some((at(levels, LEVELS[0])?, at(levels, LEVELS[1])?));
    runs.runs.iter().filter_map(|levels| pair(levels).map(|(f, r)| (&levels[f], &levels[r]))).collect()
}

fn compare(findings: &mut Findings, name: &str, pairs: &[(&Run, &Run)]) {
    let over = |value: &dyn Fn(&(&Run, &Run)) -> f64| spread(&pairs.iter().map(value).collect::<Vec<_>>());
    drops(findings, name, pairs, &over);
    let ratios: Vec<f64> = pairs.iter().map(|(fair, relaxed)| relaxed.mean_latency_s / fair.mean_latency_s).collect();
    let latency = Estimate::of(&ratios);
    let (fair, relaxed) = (over(&|p| 1e3 * p.0.mean_latency_s), over(&|p| 1e3 * p.1.mean_latency_s));
    let note = format!("{latency}; {:.1} ms at alpha = 1, {:.1} ms at 0.8", fair.mean, relaxed.mean);
    findings.noted(format!("{name}-latency"), latency.most(), note);
}

/// A mean over the runs.
type Over<'a> = dyn Fn(&dyn Fn(&(&Run, &Run)) -> f64) -> Spread + 'a;

fn drops(findings: &mut Findings, name: &str, pairs: &[(&Run, &Run)], over: &Over<'_>) {
    if pairs.iter().any(|(fair, _)| fair.drop_rate == 0.0) {
        findings.missing(format!("{name}-drops"), "a run drops no packet at alpha = 1");
        findings.missing(format!("{name}-throughput"), "a run drops no packet at alpha = 1");
        return;
    }
    let each: Vec<f64> = pairs.iter().map(|(f, r)| 100.0 * (1.0 - r.drop_rate / f.drop_rate)).collect();
    let decrease = Estimate::of(&each);
    let (fair, relaxed) = (over(&|p| 100.0 * p.0.drop_rate), over(&|p| 100.0 * p.1.drop_rate));
    let more: Vec<f64> = pairs.iter().map(|(f, r)| 100.0 * (r.bytes_per_s / f.bytes_per_s - 1.0)).collect();
    let throughput = Estimate::of(&more);
    findings.noted(format!("{name}-throughput"), throughput.least(), format!("{throughput} %"));
    let note = format!(
        "{:.1} % of the packets at alpha = 1, {:.1} % at 0.8; decrease {decrease} points",
        fair.mean, relaxed.mean
    );
    findings.noted(format!("{name}-drops"), decrease.mean, note);
}

/// This scheduler beside full fairness, over the same assignments.
fn beside(findings: &mut Findings, name: &str, scheduler: &str, pairs: &[(&Run, &Run)]) {
    let over = |value: &dyn Fn(&(&Run, &Run)) -> f64| spread(&pairs.iter().map(value).collect::<Vec<_>>()).mean;
    let (fair, other) = (over(&|p| 1e3 * p.0.mean_latency_s), over(&|p| 1e3 * p.1.mean_latency_s));
    let latency = over(&|(fair, other)| other.mean_latency_s / fair.mean_latency_s);
    let note = format!("{fair:.1} ms at alpha = 1, {other:.1} ms under {scheduler}");
    findings.noted(format!("{name}-{scheduler}-latency"), latency, note);
    let key = format!("{name}-{scheduler}-drops");
    if pairs.iter().any(|(fair, _)| fair.drop_rate == 0.0) {
        findings.missing(key, "a run drops no packet at alpha = 1");
        return;
    }
    let drops = over(&|(fair, other)| other.drop_rate / fair.drop_rate);
    let (fair, other) = (over(&|p| 100.0 * p.0.drop_rate), over(&|p| 100.0 * p.1.drop_rate));
    findings.noted(key, drops, format!("{fair:.1} % of the packets at alpha = 1, {other:.1} % under {scheduler}"));
}

fn picture(patterns: &Patterns) -> Result<String, ReproduceError> {
    let bar = |runs: Vec<&Run>| {
        let rates = spread(&runs.iter().map(|run| 100.0 * run.drop_rate).collect::<Vec<_>>());
        Some(Bar { mean: rates.mean, std: rates.std })
    };
    let at = |runs: &PatternRuns, level: f64| bar(runs.runs.iter().flatten().filter(|r| r.alpha == level).collect());
    let mr3 = |runs: &PatternRuns| bar(runs.beside(MR3).into_iter().map(|(_, mr3)| mr3).collect());
    let levels = LEVELS.iter().map(|&level| BarSeries {
        name: format!("alpha = {level:.2}"),
        values: patterns.0.iter().map(|p| at(p, level)).collect(),
        ..Default::default()
    });
    let round_robin =
        BarSeries { name: "MR3".into(), values: patterns.0.iter().map(mr3).collect(), ..Default::default() };
    Ok(bars_with_error(&BarChart {
        whiskers: STANDARD_DEVIATION,
        title: "Fig. 8d: dropped packets".into(),
        x_label: "Traffic".into(),
        y_label: "Dropped packets (%)".into(),
        categories: patterns.0.iter().map(|p| p.pattern.name().to_string()).collect(),
        series: levels.chain([round_robin]).collect(),
        log: false,
        ..Default::default()
    })?)
}
