//! The Gini index over time: CBCS, Figs. 4 and 5; PCFQ, Figs. 5 and 6.

use super::super::ReproduceError;
use super::super::expected::Findings;
use super::delays::Delays;
use super::stats::mean;
use super::under;
use crate::compare::Recorded;
use crate::figure::{Series, UtilizationPanel, over_time};
use crate::report;
use crate::statistics::Estimate;

/// A sample this many times the mean of both schedulers' samples is a spike.
const SPIKE: f64 = 2.0;

/// Of the runs in which flows ask for more than there is.
const CONGESTED: &str = "congested-";

/// The samples of a run.
fn samples(run: &Recorded, resource: usize) -> Vec<f64> {
    run.intervals.iter().filter_map(|i| i.gini.as_ref()?.get(resource).copied()).collect()
}

/// What the samples under a scheduler come to in one run.
#[derive(Clone, Copy)]
struct Sampled {
    mean: f64,
    spikes: f64,
    highest: f64,
}

/// Of the samples of two runs of the same packets.
fn sampled(both: [Vec<f64>; 2]) -> [Sampled; 2] {
    let limit = SPIKE * mean(&both.concat());
    both.map(|samples| Sampled {
        mean: mean(&samples),
        spikes: samples.iter().filter(|&&v| v > limit).count() as f64,
        highest: samples.iter().copied().fold(0.0, f64::max),
    })
}

/// How the index goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    /// About a mean, with spikes.
    Level,
    /// The same, and the paper says of the mean that it is similar under both schedulers.
    Similar,
    /// It rises all along: what is above twice the mean are late samples, not spikes.
    Rising,
}

/// Of the composite and the separate schedulers: mean index, number of spikes where there are any, and the highest
/// sample; of what is claimed to be more, the lower end of the 95 % interval over the seeds. Keys begin with `prefix`.
fn compare(findings: &mut Findings, prefix: &str, samples: &[[Vec<f64>; 2]], [a, b]: [&str; 2], course: Course) {
    let pairs: Vec<[Sampled; 2]> = samples.iter().cloned().map(sampled).collect();
    let of = |value: &dyn Fn(&[Sampled; 2]) -> f64| Estimate::of(&pairs.iter().map(value).collect::<Vec<f64>>());
    let told = |value: fn(&Sampled) -> f64, unit: &str| {
        format!("{}{unit} under {a}, {}{unit} under {b}", of(&|pair| value(&pair[0])), of(&|pair| value(&pair[1])))
    };
    let ratio = of(&|[composite, separate]| separate.mean / composite.mean);
    let note = format!("{ratio}; {}", told(|s| s.mean, " s"));
    findings.noted(format!("{prefix}ratio"), if course == Course::Similar { ratio.mean } else { ratio.least() }, note);
    if course != Course::Rising {
        let more = of(&|[composite, separate]| separate.spikes - composite.spikes);
        let note = format!("{more}; {} of 100 samples each", told(|s| s.spikes, ""));
        findings.noted(format!("{prefix}spikes"), more.least(), note);
    }
    let higher = of(&|[composite, separate]| separate.highest / composite.highest);
    findings.noted(format!("{prefix}highest"), higher.least(), format!("{higher}; {}", told(|s| s.highest, " s")));
}

/// By seed, of both schedulers: the index against the fluid in series over all flows.
fn of_all_flows(delays: &Delays, names: [&str; 2], resource: usize) -> Result<Vec<[Vec<f64>; 2]>, ReproduceError> {
    let pair = |runs: &Vec<Recorded>| {
        Ok([samples(under(runs, names[0])?, resource), samples(under(runs, names[1])?, resource)])
    };
    delays.runs.iter().map(pair).collect()
}

/// The same over the session utilities of the flows that wait.
fn of_sessions(delays: &Delays, names: [&str; 2], resource: usize) -> Result<Vec<[Vec<f64>; 2]>, ReproduceError> {
    let place = |name: &str| {
        let found = delays.first().iter().position(|run| run.scheduler.name == name);
        found.ok_or_else(|| ReproduceError::Expected(format!("no run under {name}")))
    };
    let places = [place(names[0])?, place(names[1])?];
    Ok(delays.sessions.iter().map(|runs| places.map(|place| runs[place][resource].clone())).collect())
}

/// The delay runs by one reading of what the papers leave open.
struct Case<'a> {
    /// Keys of its checks begin so.
    prefix: &'static str,
    /// In the title of its picture.
    words: &'static str,
    runs: &'a Delays,
}

/// The delay runs by what the papers leave open.
pub struct Readings<'a> {
    /// Weights are what a flow asks for on each resource; charges are corrected by what was measured.
    pub reserved: &'a Delays,
    /// As `reserved`, but for the same weight of all flows.
    pub equal: &'a Delays,
    /// As `reserved`, but for charges that stay as predicted.
    pub predicted: &'a Delays,
    /// As `predicted`, but for the quanta of separate DRR, which are those of CBCS; under these two only.
    pub quantum: &'a Delays,
    /// As `predicted`, but for more than both resources can do and another mix of rates; under CBCS and separate DRR
    /// only.
    pub congested: &'a Delays,
}

impl Readings<'_> {
    fn common(&self) -> Vec<Case<'_>> {
        vec![
            Case { prefix: "", words: "reserved weights", runs: self.reserved },
            Case { prefix: "equal-", words: "equal weights", runs: self.equal },
            Case { prefix: "predicted-", words: "charged as predicted", runs: self.predicted },
        ]
    }

    /// CBCS against separate DRR.
    pub fn cbcs(&self, id: &str, resource: usize) -> Result<Findings, ReproduceError> {
        let mut cases = self.common();
        cases.push(Case { prefix: "quantum-", words: "long DRR quanta", runs: self.quantum });
        cases.push(Case { prefix: CONGESTED, words: "congested", runs: self.congested });
        of(&cases, id, ["cbcs", "drr+drr"], resource)
    }

    /// PCFQ against separate WFQ.
    pub fn pcfq(&self, id: &str, resource: usize) -> Result<Findings, ReproduceError> {
        of(&self.common(), id, ["pcfq", "wfq+wfq"], resource)
    }
}

fn of(cases: &[Case<'_>], id: &str, names: [&str; 2], resource: usize) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    for case in cases {
        let course = match (id, case.prefix) {
            (_, CONGESTED) => Course::Rising,
            // Of the CPU under PCFQ.
            ("pcfq-fig5", _) => Course::Similar,
            _ => Course::Level,
        };
        compare(&mut findings, case.prefix, &of_all_flows(case.runs, names, resource)?, names, course);
        let sessions = of_sessions(case.runs, names, resource)?;
        compare(&mut findings, &format!("{}sessions-", case.prefix), &sessions, names, course);
        picture(&mut findings, id, case, names, resource)?;
    }
    Ok(findings)
}

fn picture(
    findings: &mut Findings,
    id: &str,
    case: &Case<'_>,
    names: [&str; 2],
    resource: usize,
) -> Result<(), ReproduceError> {
    let panel = |name: &&str| {
        let run = under(case.runs.first(), name)?;
        let whole = report::gini_panel(run);
        let resources: Vec<Series> = whole.resources.into_iter().skip(resource).take(1).collect();
        Ok(UtilizationPanel { resources, ..whole })
    };
    let panels = names.iter().map(panel).collect::<Result<Vec<_>, ReproduceError>>()?;
    let number = id.rsplit("fig").next().unwrap_or_default();
    let of = if resource == super::CPU { "CPU" } else { "link" };
    let title = format!("Fig. {number}: Gini index of the {of}'s service, against an ideal fluid, {}", case.words);
    let suffix = case.prefix.strip_suffix('-').map_or_else(String::new, |prefix| format!("-{prefix}"));
    findings.picture(&format!("{id}{suffix}.svg"), over_time(&title, report::GINI, &panels)?);
    Ok(())
}
