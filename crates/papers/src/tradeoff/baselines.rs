//! The fair schedulers that the paper compares with: its sentences about them, beside strict fairness.

use dovetail_sched::Spec;

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::Findings;
use super::seconds::{CPU, LINK, full, spread, used};
use super::table2::makespan_s;
use super::trace::{PatternRuns, Run};
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::scenario::Scenario;

/// The one that Fig. 8 draws.
pub const MR3: &str = "mr3";
/// Those that section 6.2 names.
pub const NAMED: [&str; 2] = [MR3, "drfq"];
/// Those that section 6.1.2 names.
const ROUNDS: [&str; 2] = [MR3, "gmr3"];
/// In the order of the text.
pub const ALL: [&str; 3] = [MR3, "gmr3", "drfq"];

/// This one with its default parameters.
pub fn spec(name: &str) -> Spec {
    Spec { name: name.into(), parameters: Vec::new() }
}

/// Makespan and utilisation on the input of Table 2, in per cent of those at full fairness.
pub fn table2(
    findings: &mut Findings,
    bench: &Bench<'_>,
    scenario: &Scenario,
    fair: Option<&Recorded>,
) -> Result<(), ReproduceError> {
    let runs = bench.run_with(scenario, &ALL.map(spec), 0)?;
    for (name, run) in ALL.iter().zip(&runs) {
        let relative = |value: &dyn Fn(&Recorded) -> Option<f64>| {
            fair.and_then(value).zip(value(run)).map_or(f64::NAN, |(fair, ours)| 100.0 * ours / fair)
        };
        let makespan = makespan_s(run).unwrap_or(f64::NAN);
        findings.noted(format!("{name}-makespan"), relative(&makespan_s), format!("{makespan:.3} s"));
        for (label, resource) in [("cpu", CPU), ("link", LINK)] {
            let used = |run: &Recorded| run.resources.get(resource).map(|r| 100.0 * r.utilization);
            let note = format!("{:.2} % used", used(run).unwrap_or(f64::NAN));
            findings.noted(format!("{name}-{label}"), relative(&used), note);
        }
    }
    Ok(())
}

/// Utilisation of the round-robin schedulers on the input of Fig. 5, in per cent of that at full fairness.
pub fn fig5(
    findings: &mut Findings,
    bench: &Bench<'_>,
    scenario: &Scenario,
    fair: &Recorded,
) -> Result<(), ReproduceError> {
    let runs = bench.run_with(scenario, &ROUNDS.map(spec), 0)?;
    for (name, run) in ROUNDS.iter().zip(&runs) {
        for (label, resource) in [("cpu", CPU), ("link", LINK)] {
            let mean = |run: &Recorded| spread(&used(full(run), resource)).mean;
            findings.noted(
                format!("{name}-{label}"),
                100.0 * mean(run) / mean(fair),
                format!("{:.2} % used", mean(run)),
            );
        }
    }
    Ok(())
}

/// Utilisation of trace-driven runs: how far from that at full fairness.
pub fn trace_driven(findings: &mut Findings, runs: &PatternRuns) {
    for name in ALL {
        let key = format!("{}-{name}", runs.pattern.name());
        let pairs = runs.beside(name);
        if pairs.is_empty() {
            let reason = format!("no assignment of flows to modules makes this traffic {}", runs.pattern.name());
            findings.missing(key, reason);
            continue;
        }
        let mean = |run: &dyn Fn(&(&Run, &Run)) -> f64| spread(&pairs.iter().map(run).collect::<Vec<_>>()).mean;
        let both = [CPU, LINK].map(|r| (mean(&|p| p.0.utilization[r]), mean(&|p| p.1.utilization[r])));
        let [cpu, link] = both.map(|(fair, ours)| 100.0 * (ours / fair - 1.0));
        let [(fair_cpu, our_cpu), (fair_link, our_link)] = both;
        let note = format!(
            "CPU {our_cpu:.1} % beside {fair_cpu:.1} % ({cpu:+.2} %), link {our_link:.1} % beside {fair_link:.1} % \
             ({link:+.2} %); {} runs",
            pairs.len()
        );
        findings.noted(key, cpu.abs().max(link.abs()), note);
    }
}
