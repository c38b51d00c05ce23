//! Fig. 3: utilisation of both resources over time, in the runs of Table 2.

use super::super::ReproduceError;
use super::super::expected::Findings;
use super::seconds::{CPU, LINK, full, least, most, spread, used};
use super::{at, level};
use dovetail_experiment::recorded::{Interval, Recorded};
use dovetail_experiment::report;
use dovetail_figure::{UtilizationPanel, utilization};

/// The levels that are drawn.
const LEVELS: [f64; 4] = [1.0, 0.95, 0.9, 0.85];
/// Full seconds at the beginning, after the one in which the pipeline fills, in which all flows are backlogged at every
/// level.
const BEGINNING: std::ops::Range<usize> = 1..20;

pub fn reproduce(runs: &[Recorded]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let shown: Vec<&Recorded> = LEVELS.iter().filter_map(|&level| at(runs, level)).collect();
    if let (Some(fair), Some(relaxed)) = (at(runs, 1.0), at(runs, 0.85)) {
        strict(&mut findings, fair);
        findings.found("relaxed-cpu", beginning(relaxed, CPU).0);
        let ends = [relaxed, fair].map(link_bound_end_s);
        findings.noted("later", ends[0] / ends[1], format!("{:.2} and {:.2} s", ends[0], ends[1]));
    }
    let steps: Vec<f64> = shown.windows(2).map(|w| beginning(w[1], CPU).0 - beginning(w[0], CPU).0).collect();
    findings.noted("cpu-grows", least(&steps), format!("steps of {}", points(&steps)));
    let panel = |run: &&Recorded| UtilizationPanel { scheduler: level(run), ..report::utilization_panel(run) };
    let panels: Vec<_> = shown.iter().map(panel).collect();
    findings.picture("tradeoff-fig3.svg", utilization("Fig. 3: utilisation over time", &panels, None)?);
    Ok(findings)
}

fn strict(findings: &mut Findings, fair: &Recorded) {
    let ((cpu, _), (link, least_link)) = (beginning(fair, CPU), beginning(fair, LINK));
    findings.found("strict-cpu", cpu);
    findings.noted("strict-link", least_link, format!("mean {link:.3} %"));
    let end = link_bound_end_s(fair);
    let after = || full(fair).filter(move |i| i.start >= end);
    findings.noted("shift-cpu", least(&used(after(), CPU)), format!("from second {:.0} on", end.ceil()));
    findings.found("shift-link", most(&used(after(), LINK)));
}

/// Mean and least utilisation, in per cent, while all flows are backlogged.
fn beginning(run: &Recorded, resource: usize) -> (f64, f64) {
    let values = used(full(run), resource);
    let values = values.get(BEGINNING).unwrap_or_default();
    (spread(values).mean, least(values))
}

/// When the link-bound flows are through, in seconds: in their last second they get what they got in the second before
/// until they end.
fn link_bound_end_s(run: &Recorded) -> f64 {
    let own = |s: &&dovetail_experiment::recorded::ShareRow| &*run.flows[s.flow as usize].group != "ipsec";
    let served = |i: &Interval| i.shares.iter().filter(own).map(|s| s.service).sum::<f64>();
    let Some(last) = run.intervals.iter().rposition(|i| served(i) > 0.0) else { return 0.0 };
    let (last, before) = (&run.intervals[last], &run.intervals[last.saturating_sub(1)]);
    last.start + last.length * (served(last) / served(before)).min(1.0)
}

fn points(values: &[f64]) -> String {
    let texts: Vec<String> = values.iter().map(|v| format!("{v:.1}")).collect();
    format!("{} points", texts.join(", "))
}
