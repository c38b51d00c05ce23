//! Fig. 4: dominant share of every flow in every second, in the runs of Table 2.

use super::super::ReproduceError;
use super::super::expected::Findings;
use super::seconds::{full, least, most};
use super::{alpha, at, level};
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::report;
use dovetail_figure::{SharePanel, dominant_shares};

/// The first 20 seconds, during which all flows are backlogged.
const SECONDS: usize = 20;

pub fn reproduce(runs: &[Recorded]) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    if let Some(fair) = at(runs, 1.0) {
        let shares: Vec<f64> = full(fair).take(SECONDS).map(|i| 100.0 * i.fair / i.length).collect();
        findings.found("fair-share", most(&shares));
        findings.found("equal", most(&distances(fair)));
    }
    let favoured: Vec<f64> = runs.iter().filter(|run| alpha(run) < 1.0).map(most_over_fair).collect();
    findings.found("favoured", least(&favoured));
    for run in runs {
        let level = alpha(run);
        let Some(shortfall) = run.shortfall else {
            findings.missing(format!("packets-{level:.2}"), "no two flows were backlogged together");
            continue;
        };
        let worst = shortfall.by_packets;
        let name = run.flows.get(worst.flow as usize).map_or("".into(), |f| f.name.text());
        let note = format!("{name} in second {}", worst.interval);
        findings.noted(format!("packets-{level:.2}"), worst.packets, note);
    }
    let panels: Vec<SharePanel> = runs.iter().map(beginning).collect();
    findings.picture("tradeoff-fig4.svg", dominant_shares("Fig. 4: dominant share per second", &panels)?);
    Ok(findings)
}

/// The largest service of a flow in a second, in parts of the fair one.
fn most_over_fair(run: &Recorded) -> f64 {
    let over =
        |i: &dovetail_experiment::recorded::Interval| i.shares.iter().map(|s| s.service / i.fair).fold(0.0, f64::max);
    most(&full(run).take(SECONDS).skip(1).map(over).collect::<Vec<_>>())
}

/// In each second and for each flow, the distance from the fair service in packets of the flow.
fn distances(run: &Recorded) -> Vec<f64> {
    let distance = |fair: f64, share: &dovetail_experiment::recorded::ShareRow| {
        (share.service - fair).abs() / run.flows[share.flow as usize].mean_dominant_time
    };
    // In the first second the pipeline is empty at the beginning.
    full(run).take(SECONDS).skip(1).flat_map(|i| i.shares.iter().map(move |s| distance(i.fair, s))).collect()
}

fn beginning(run: &Recorded) -> SharePanel {
    let mut panel = SharePanel { scheduler: level(run), ..report::share_panel(run) };
    let shown = |&(second, _): &(f64, f64)| second < SECONDS as f64;
    panel.flows.iter_mut().for_each(|flow| flow.points.retain(shown));
    panel.fair_share.retain(shown);
    panel.guaranteed.iter_mut().for_each(|line| line.retain(shown));
    panel
}
