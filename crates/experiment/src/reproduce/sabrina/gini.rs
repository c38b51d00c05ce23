//! The Gini index over time: CBCS, Figs. 4 and 5; PCFQ, Figs. 5 and 6.

use super::super::ReproduceError;
use super::super::expected::Findings;
use super::delays::Delays;
use super::stats::{estimated, mean};
use super::under;
use crate::compare::Recorded;
use crate::figure::{Series, UtilizationPanel, over_time};
use crate::report;

/// A sample this many times the mean of both schedulers' samples is a spike.
const SPIKE: f64 = 2.0;

/// The samples of a run.
fn samples(run: &Recorded, resource: usize) -> Vec<f64> {
    run.intervals.iter().filter_map(|i| i.gini.as_ref()?.get(resource).copied()).collect()
}

/// Spikes of each of two runs.
fn spikes(a: &Recorded, b: &Recorded, resource: usize) -> [f64; 2] {
    let both = [samples(a, resource), samples(b, resource)];
    let limit = SPIKE * mean(&both.concat());
    both.map(|samples| samples.iter().filter(|&&v| v > limit).count() as f64)
}

/// Of the composite and the separate schedulers: mean index, and spikes.
fn compare(delays: &Delays, names: [&str; 2], resource: usize) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    let means = names.map(|name| delays.each(name, |run| mean(&samples(run, resource))));
    let [composite, separate] = means;
    let (composite, separate) = (composite?, separate?);
    let ratios: Vec<f64> = separate.iter().zip(&composite).map(|(s, c)| s / c).collect();
    let [a, b] = names;
    let note = format!("{} s under {a}, {} s under {b}", estimated(&composite), estimated(&separate));
    findings.noted("ratio", mean(&ratios), note);
    let mut counts = [0.0; 2];
    for runs in &delays.runs {
        let counted = spikes(under(runs, a)?, under(runs, b)?, resource);
        counts.iter_mut().zip(counted).for_each(|(sum, n)| *sum += n / delays.runs.len() as f64);
    }
    let note = format!("{:.1} under {a}, {:.1} under {b}, of 100 samples each", counts[0], counts[1]);
    findings.noted("spikes", counts[1] - counts[0], note);
    Ok(findings)
}

fn picture(
    findings: &mut Findings,
    id: &str,
    delays: &Delays,
    names: [&str; 2],
    resource: usize,
) -> Result<(), ReproduceError> {
    let panel = |name: &&str| {
        let run = under(delays.first(), name)?;
        let whole = report::gini_panel(run);
        let resources: Vec<Series> = whole.resources.into_iter().skip(resource).take(1).collect();
        Ok(UtilizationPanel { resources, ..whole })
    };
    let panels = names.iter().map(panel).collect::<Result<Vec<_>, ReproduceError>>()?;
    findings.picture(
        &format!("{id}.svg"),
        over_time("Gini index of the resource's service, against an ideal fluid", report::GINI, &panels)?,
    );
    Ok(())
}

/// CBCS against separate DRR.
pub fn cbcs(id: &str, delays: &Delays, resource: usize) -> Result<Findings, ReproduceError> {
    of(id, delays, ["cbcs", "drr+drr"], resource)
}

/// PCFQ against separate WFQ.
pub fn pcfq(id: &str, delays: &Delays, resource: usize) -> Result<Findings, ReproduceError> {
    of(id, delays, ["pcfq", "wfq+wfq"], resource)
}

fn of(id: &str, delays: &Delays, names: [&str; 2], resource: usize) -> Result<Findings, ReproduceError> {
    let mut findings = compare(delays, names, resource)?;
    picture(&mut findings, id, delays, names, resource)?;
    Ok(findings)
}
