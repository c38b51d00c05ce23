//! Fig. 2: the fair fluid (DRGPS) for the two flows of Fig. 1.

use dovetail_model::{Allocation, Head, drgps};

use super::super::ReproduceError;
use super::super::expected::{Findings, papers_values};
use dovetail_figure::{Bar, BarChart, BarSeries, STANDARD_DEVIATION, bars_with_error};

/// Processing times of the flows' packets on CPU and link.
const TIMES: [[f64; 2]; 2] = [[2.0, 3.0], [9.0, 1.0]];

pub fn reproduce() -> Result<Findings, ReproduceError> {
    let heads = TIMES.iter().map(|times| Head::new(times, 1.0)).collect::<Result<Vec<_>, _>>()?;
    let allocation = drgps::allocate(&heads)?;
    let mut findings = Findings::default();
    for (flow, head) in heads.iter().enumerate() {
        for (resource, part) in ["cpu", "link"].iter().zip(shares(&allocation, flow, head)) {
            findings.found(format!("flow-{}-{resource}", flow + 1), part);
        }
    }
    findings.found("fair-share", allocation.fair_share);
    findings.found("link", allocation.utilisation[1]);
    findings.picture("tradeoff-fig2.svg", picture(&heads, &allocation)?);
    Ok(findings)
}

/// A flow's part of each resource, eq. 11.
fn shares<'a>(allocation: &'a Allocation, flow: usize, head: &'a Head) -> impl Iterator<Item = f64> + 'a {
    head.normalised().iter().map(move |tbar| tbar * allocation.shares[flow])
}

fn picture(heads: &[Head], allocation: &Allocation) -> Result<String, ReproduceError> {
    let series = heads.iter().enumerate().map(|(flow, head)| {
        let keys = ["cpu", "link"].map(|resource| format!("flow-{}-{resource}", flow + 1));
        Ok(BarSeries {
            paper: papers_values("tradeoff-fig2", &keys)?,
            name: format!("flow {}", flow + 1),
            values: shares(allocation, flow, head).map(|mean| Some(Bar { mean, std: 0.0 })).collect(),
        })
    });
    Ok(bars_with_error(&BarChart {
        whiskers: STANDARD_DEVIATION,
        title: "Fig. 2: the fair fluid".into(),
        x_label: "Resource".into(),
        y_label: "Part of the resource".into(),
        categories: vec!["CPU".into(), "link".into()],
        series: series.collect::<Result<_, ReproduceError>>()?,
        log: false,
        ..Default::default()
    })?)
}
