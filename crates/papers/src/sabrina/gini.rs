//! The Gini index over time: CBCS, Figs. 4 and 5; PCFQ, Figs. 5 and 6.

use super::super::ReproduceError;
use super::super::expected::Findings;
use super::delays::Delays;
use super::stats::mean;
use super::{CPU, LINK, under};
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::report;
use dovetail_experiment::statistics::Estimate;
use dovetail_figure::{Series, UtilizationPanel, over_time};

/// A sample this many times the mean of both schedulers' samples is a spike.
const SPIKE: f64 = 2.0;

/// The reading of the claims.
const PRINTED: &str = "printed";

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

/// How the samples under two schedulers compare over the seeds.
struct Compared {
    /// Mean under the separate schedulers per that under the composite one.
    ratio: Estimate,
    /// Spikes under the separate schedulers less those under the composite one.
    more: Estimate,
    /// In words.
    told: String,
}

fn compare(samples: &[[Vec<f64>; 2]], [a, b]: [&str; 2]) -> Compared {
    let pairs: Vec<[Sampled; 2]> = samples.iter().cloned().map(sampled).collect();
    let of = |value: &dyn Fn(&[Sampled; 2]) -> f64| Estimate::of(&pairs.iter().map(value).collect::<Vec<f64>>());
    let both = |value: fn(&Sampled) -> f64| [of(&|pair| value(&pair[0])), of(&|pair| value(&pair[1]))];
    let ratio = of(&|[composite, separate]| separate.mean / composite.mean);
    let more = of(&|[composite, separate]| separate.spikes - composite.spikes);
    let higher = of(&|[composite, separate]| separate.highest / composite.highest);
    let ([mean_a, mean_b], [spikes_a, spikes_b]) = (both(|s| s.mean), both(|s| s.spikes));
    let told = format!(
        "mean {ratio}: {mean_a} s under {a}, {mean_b} s under {b}; spikes {spikes_a} and {spikes_b} of 100 samples, \
         {more} more; highest {higher}"
    );
    Compared { ratio, more, told }
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
    /// The keys of its findings begin so.
    key: &'static str,
    /// In the title of its picture.
    words: &'static str,
    runs: &'a Delays,
}

/// The delay runs by what the papers leave open.
pub struct Readings<'a> {
    /// As printed: estimates stay, and weights are what a flow asks for on each resource.
    pub printed: &'a Delays,
    /// As `printed`, but charges are corrected by what was measured.
    pub measured: &'a Delays,
    /// As `printed`, but for the same weight of all flows.
    pub equal: &'a Delays,
    /// As `printed`, but for the quanta of separate DRR, which are those of CBCS; under these two only.
    pub quantum: &'a Delays,
    /// As `printed`, but for more than both resources can do and another mix of rates; under CBCS and separate DRR
    /// only.
    pub congested: &'a Delays,
}

impl Readings<'_> {
    fn common(&self) -> Vec<Case<'_>> {
        vec![
            Case { key: PRINTED, words: "as printed", runs: self.printed },
            Case { key: "measured", words: "charged as measured", runs: self.measured },
            Case { key: "equal", words: "equal weights", runs: self.equal },
        ]
    }

    /// CBCS against separate DRR.
    pub fn cbcs(&self, id: &str, resource: usize) -> Result<Findings, ReproduceError> {
        let mut cases = self.common();
        cases.push(Case { key: "quantum", words: "long DRR quanta", runs: self.quantum });
        cases.push(Case { key: "congested", words: "congested", runs: self.congested });
        of(&cases, id, ["cbcs", "drr+drr"], resource)
    }

    /// PCFQ against separate WFQ.
    pub fn pcfq(&self, id: &str, resource: usize) -> Result<Findings, ReproduceError> {
        of(&self.common(), id, ["pcfq", "wfq+wfq"], resource)
    }
}

/// The spikes and the mean index of the claims, over session utilities; of the other readings the mean index, and of
/// all readings that over all flows.
fn of(cases: &[Case<'_>], id: &str, names: [&str; 2], resource: usize) -> Result<Findings, ReproduceError> {
    let mut findings = Findings::default();
    for case in cases {
        let sessions = compare(&of_sessions(case.runs, names, resource)?, names);
        let all = compare(&of_all_flows(case.runs, names, resource)?, names);
        if case.key == PRINTED {
            findings.noted("spikes", sessions.more.least(), sessions.told.clone());
            if resource == CPU {
                // One sentence, about both figures.
                for (key, resource) in [("cpu-spikes", CPU), ("link-spikes", LINK)] {
                    let of_it = compare(&of_sessions(case.runs, names, resource)?, names);
                    findings.noted(key, of_it.more.least(), of_it.told);
                }
            }
            match id {
                // Of the CPU it says that the index is similar, of the link that it is higher with separate WFQ.
                "pcfq-fig5" => findings.noted("ratio", sessions.ratio.mean, sessions.told),
                "pcfq-fig6" => findings.noted("ratio", sessions.ratio.least(), sessions.told),
                _ => {}
            }
        } else {
            findings.noted(case.key, sessions.ratio.mean, sessions.told);
        }
        findings.noted(format!("{}-all-flows", case.key), all.ratio.mean, all.told);
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
        Ok(UtilizationPanel { scheduler: super::name(run), resources })
    };
    let panels = names.iter().map(panel).collect::<Result<Vec<_>, ReproduceError>>()?;
    let number = id.rsplit("fig").next().unwrap_or_default();
    let of = if resource == CPU { "CPU" } else { "link" };
    let title = format!("Fig. {number}: Gini index of the {of}'s service, against an ideal fluid, {}", case.words);
    let suffix = if case.key == PRINTED { String::new() } else { format!("-{}", case.key) };
    findings.picture(&format!("{id}{suffix}.svg"), over_time(&title, report::GINI, &panels)?);
    Ok(())
}
