//! Fig. 9: utilisation of CPU and link.

use super::super::ReproduceError;
use super::super::expected::Findings;
use super::seconds::{CPU, LINK, least};
use super::twenty::Twenty;
use super::{MEMORYLESS, STRICT, in_loops, name, under};
use crate::compare::Recorded;
use crate::figure::{Bar, BarChart, BarSeries, STANDARD_DEVIATION, bars_with_error};

const RESOURCES: [(&str, usize); 2] = [("cpu", CPU), ("link", LINK)];

pub fn reproduce(Twenty { runs, .. }: &Twenty) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    for (label, resource) in RESOURCES {
        let at = |run: Option<&Recorded>| run.map_or(f64::NAN, |run| used(run, resource));
        let loops = |packets: u32| at(in_loops(runs, packets));
        let (strict, memoryless) = (at(under(runs, STRICT)), at(under(runs, MEMORYLESS)));
        findings.noted(format!("drfq-{label}"), strict, format!("memoryless DRFQ: {memoryless:.2} %"));
        findings.noted(format!("atfq-1-{label}"), (loops(1) - strict).abs(), format!("{:.2} %", loops(1)));
        for packets in [5, 20] {
            findings.found(format!("atfq-{packets}-{label}"), loops(packets));
        }
        let grows: Vec<f64> = [1, 5, 10, 20, 50, 100].map(loops).windows(2).map(|w| w[1] - w[0]).collect();
        let texts: Vec<String> = [1, 5, 10, 20, 50, 100].map(loops).iter().map(|u| format!("{u:.2}")).collect();
        let note = format!("{} % with 1, 5, 10, 20, 50, 100 packets", texts.join(", "));
        findings.noted(format!("grows-{label}"), least(&grows), note);
        findings.found(format!("bound-{label}"), (loops(100) - loops(20)) / (loops(20) - loops(1)));
    }
    findings.picture("atfq-fig9.svg", picture(runs)?);
    Ok(findings)
}

fn used(run: &Recorded, resource: usize) -> f64 {
    run.resources.get(resource).map_or(f64::NAN, |total| 100.0 * total.utilization)
}

fn picture(runs: &[Recorded]) -> Result<String, ReproduceError> {
    let shown: Vec<&Recorded> = runs.iter().filter(|run| run.scheduler.to_string() != MEMORYLESS).collect();
    let series = |(label, resource): (&str, usize)| BarSeries {
        name: label.into(),
        values: shown.iter().map(|run| Some(Bar { mean: used(run, resource), std: 0.0 })).collect(),
    };
    Ok(bars_with_error(&BarChart {
        whiskers: STANDARD_DEVIATION,
        title: "Fig. 9: utilisation under DRFQ and ATFQ".into(),
        x_label: String::new(),
        y_label: "Utilisation (%)".into(),
        categories: shown.iter().map(|run| name(run)).collect(),
        series: RESOURCES.map(series).into(),
        log: false,
    })?)
}
