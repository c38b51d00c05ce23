//! Fig. 9: utilisation of CPU and link.

use super::super::ReproduceError;
use super::super::bench::Bench;
use super::super::expected::{Findings, papers_values};
use super::seconds::{CPU, LINK, least, most};
use super::twenty::{self, ORDERS, Twenty};
use super::{MEMORYLESS, STRICT, atfq, in_loops, name, spec, under};
use dovetail_experiment::recorded::Recorded;
use dovetail_figure::{Bar, BarChart, BarSeries, STANDARD_DEVIATION, bars_with_error};

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

/// How far utilisation depends on the order in which the flows stand, which the paper does not give: of memoryless DRFQ
/// it decides which of equal stamps comes first.
pub fn by_order(findings: &mut Findings, bench: &Bench<'_>, overrides: &[String]) -> Result<(), ReproduceError> {
    let names =
        [("strict", spec(STRICT)?), ("memoryless", spec(MEMORYLESS)?), ("atfq-5", atfq(5)?), ("atfq-20", atfq(20)?)];
    let schedulers = names.clone().map(|(_, spec)| spec);
    let mut found = vec![[Vec::new(), Vec::new()]; names.len()];
    for order in 0..ORDERS {
        let mut all = twenty::in_order(order);
        all.push("until=\"2 s\"".into());
        let scenario = twenty::scenario(bench, &[&all[..], overrides].concat())?;
        for (run, found) in bench.run_with(&scenario, &schedulers, 0)?.iter().zip(&mut found) {
            RESOURCES.iter().zip(found).for_each(|((_, resource), found)| found.push(used(run, *resource)));
        }
    }
    for ((key, _), found) in names.iter().zip(&found) {
        let told = RESOURCES
            .iter()
            .zip(found)
            .map(|((label, _), found)| format!("{label} {:.2} to {:.2} %", least(found), most(found)));
        let note = format!("{} over {ORDERS} orders of the flows, 2 s each", told.collect::<Vec<_>>().join(", "));
        findings.noted(format!("order-{key}"), most(&found[CPU]) - least(&found[CPU]), note);
    }
    Ok(())
}

fn used(run: &Recorded, resource: usize) -> f64 {
    run.resources.get(resource).map_or(f64::NAN, |total| 100.0 * total.utilization)
}

fn picture(runs: &[Recorded]) -> Result<String, ReproduceError> {
    let shown: Vec<&Recorded> = runs.iter().filter(|run| run.scheduler.to_string() != MEMORYLESS).collect();
    let series = |(label, resource): (&str, usize)| {
        let key = |run: &&Recorded| match name(run).as_str() {
            "strict DRFQ" => format!("drfq-{label}"),
            other => format!("{}-{label}", other.to_lowercase()),
        };
        Ok(BarSeries {
            paper: papers_values("atfq-fig9", &shown.iter().map(key).collect::<Vec<_>>())?,
            name: label.into(),
            values: shown.iter().map(|run| Some(Bar { mean: used(run, resource), std: 0.0 })).collect(),
        })
    };
    Ok(bars_with_error(&BarChart {
        whiskers: STANDARD_DEVIATION,
        title: "Fig. 9: utilisation under DRFQ and ATFQ".into(),
        x_label: String::new(),
        y_label: "Utilisation (%)".into(),
        categories: shown.iter().map(|run| name(run)).collect(),
        series: RESOURCES.into_iter().map(series).collect::<Result<_, ReproduceError>>()?,
        log: false,
        ..Default::default()
    })?)
}
