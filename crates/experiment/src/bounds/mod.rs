//! The guarantees that are known for a scheduler, and how near a run came to them.
//!
//! `facts` says what is true of a run, `measure` and `pairs` what happened in it; each discipline's file lists its
//! guarantees, with why one does not apply where it does not.

mod composite;
mod dominant;
mod facts;
mod measure;
mod one_resource;
mod pairs;
#[cfg(test)]
mod tests;
mod tradeoff;

use dovetail_model::bounds::work_conserving_makespan_s;
use dovetail_sim::End;
use serde::Serialize;

use crate::behind::ROUNDS;
use crate::recorded::Recorded;
use crate::scenario::Scenario;
use facts::{Facts, PARALLEL};

pub use composite::{delay, drift};
pub use measure::Worst;

/// Packets of a run that bounds are checked on: their ways are kept in memory.
pub const PACKETS: usize = 2_000_000;

/// A guarantee and what a run made of it.
#[derive(Clone, Debug, Serialize)]
pub struct Bound {
    /// The scheduler.
    pub scheduler: String,
    /// What is bounded.
    pub guarantee: &'static str,
    /// Where it is proved.
    pub source: &'static str,
    /// The most (seconds); `null` if it could not be computed or does not apply.
    pub bound_s: Option<f64>,
    /// The most that the run showed (seconds).
    pub seen_s: Option<f64>,
    /// `seen / bound`.
    pub ratio: Option<f64>,
    /// What must hold for it, or why there is no number.
    pub remark: String,
}

impl Bound {
    fn new(run: &Recorded, guarantee: &'static str, source: &'static str, remark: impl Into<String>) -> Self {
        let scheduler = run.scheduler.to_string();
        Self { scheduler, guarantee, source, bound_s: None, seen_s: None, ratio: None, remark: remark.into() }
    }

    /// Times are whole nanoseconds, and parts of them; what sums and differences of them in floating point have below a
    /// picosecond means nothing.
    fn with(self, bound_s: f64, seen_s: f64) -> Self {
        let [bound, seen] = [bound_s, seen_s].map(|time_s| (time_s * 1e12).round() / 1e12);
        let ratio = (bound > 0.0).then(|| seen / bound);
        Self { bound_s: Some(bound), seen_s: Some(seen), ratio, ..self }
    }
}

/// A guarantee before it is known whether it applies.
#[derive(Clone, Copy)]
struct Guarantee<'a> {
    run: &'a Recorded,
    what: &'static str,
    source: &'static str,
    /// What must hold for it.
    remark: &'static str,
}

impl Guarantee<'_> {
    /// The row: why it does not apply, or the worst that was seen, if there was anything to see.
    fn row(self, applies: Result<(), &'static str>, seen: impl FnOnce() -> Option<Worst>) -> Bound {
        let row = |remark: &str| Bound::new(self.run, self.what, self.source, remark);
        match applies.map(|()| seen()) {
            Err(reason) => row(reason),
            Ok(None) => row("nothing to see: no packet or no two flows were in such a situation"),
            Ok(Some(worst)) => row(self.remark).with(worst.bound_s, worst.seen_s),
        }
    }
}

/// The document of `dovetail bounds --json`.
#[derive(Debug, Serialize)]
pub struct Document {
    /// Version of the document.
    pub schema: u32,
    /// One per scheduler and guarantee.
    pub bounds: Vec<Bound>,
}

/// Every guarantee known for each run of the scenario. The runs must have kept their packets' ways.
pub fn bounds(scenario: &Scenario, runs: &[Recorded]) -> Document {
    let bounds = runs.iter().flat_map(|run| {
        let facts = Facts::of(scenario, run);
        let mut rows = vec![makespan(run, scenario, &facts)];
        rows.extend(own(run, &facts));
        rows.extend(behind(run));
        rows
    });
    Document { schema: 1, bounds: bounds.collect() }
}

/// What the discipline itself guarantees. One that is not listed, such as most compositions, has its makespan only.
fn own(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    let guarantees: fn(&Recorded, &Facts) -> Vec<Bound> = match run.scheduler.name.as_str() {
        "fifo" => dominant::fifo,
        "drfq" => dominant::drfq,
        "atfq" => dominant::atfq,
        "mr3" => dominant::mr3,
        "gmr3" => dominant::gmr3,
        "drgps" => dominant::drgps,
        "tradeoff" => tradeoff::tradeoff,
        "cbcs" => composite::fairness,
        "pcfq" => composite::fairness,
        "wfq+wfq" => composite::separate_wfqs,
        "drr" => one_resource::drr,
        "wfq" => one_resource::wfq,
        "wf2q+" => one_resource::wf2q_plus,
        "sfq" => one_resource::sfq,
        "scfq" => one_resource::scfq,
        _ => return Vec::new(),
    };
    guarantees(run, facts)
}

/// Whether some resource is busy whenever a packet is in the system, and by how much each packet may nevertheless be
/// kept (seconds). Disciplines that wait only for what is inside the pipeline, as by a window or progress control, are
/// work conserving in this sense.
fn work_conserving(run: &Recorded, scenario: &Scenario, facts: &Facts) -> Result<f64, &'static str> {
    const WAITS: Result<f64, &str> =
        Err("does not apply: the scheduler waits for its fluid and is not work conserving");
    let parts = dovetail_sched::composition::parts(&run.scheduler.name).unwrap_or_default();
    match parts.iter().map(|entry| entry.name).find(|&name| name == "tradeoff" || name == "drgps") {
        None => Ok(0.0),
        // On one resource the fluid has done as much as that. Where it reaches a packet between two nanoseconds, the
        // next one counts.
        Some("drgps") if run.resources.len() == 1 && facts.substantial().is_ok() && !scenario.has_estimates() => {
            Ok(1e-9)
        }
        Some(_) => WAITS,
    }
}

/// Theorem 1.
fn makespan(run: &Recorded, scenario: &Scenario, facts: &Facts) -> Bound {
    let row =
        |remark| Bound::new(run, "makespan <= m x work of the busiest resource", "tradeoff paper, Theorem 1", remark);
    if run.resources.iter().any(|r| r.servers > 1) {
        return row(PARALLEL);
    }
    let kept = match work_conserving(run, scenario, facts) {
        Ok(kept) => kept,
        Err(reason) => return row(reason),
    };
    if run.outcome.makespan().is_none() || run.outcome.end != End::Drained {
        return row("does not apply: the run was cut off, or nothing was delivered");
    }
    let work = run.resources.iter().map(|r| r.busy.as_secs_f64() / f64::from(r.servers)).fold(0.0, f64::max);
    let bound = work_conserving_makespan_s(run.resources.len(), work) + kept * run.outcome.tally.offered as f64;
    row("for work-conserving schedules; of the time with packets in the box, as it holds in each busy period")
        .with(bound, run.nonempty.as_secs_f64())
}

/// What is kept of a flow's due share by the disciplines that share dominant resources, in rounds.
fn behind(run: &Recorded) -> Option<Bound> {
    let shares = ["drfq", "drgps", "mr3", "gmr3", "tradeoff"].contains(&run.scheduler.name.as_str());
    let promised = run.promises.iter().all(|&(_, part)| part > 0.0);
    let all = run.flows.iter().map(|flow| flow.behind.due);
    let worst = all.max_by(|a, b| a.rounds.total_cmp(&b.rounds)).filter(|_| shares && promised)?;
    let remark = "what waiting for a turn explains, on any traffic; more is called starvation; a theorem for mr3 only";
    let row = Bound::new(run, "a packet behind its due share <= 3 rounds", "docs/theory/behind.md", remark);
    Some(if worst.round_s > 0.0 { row.with(ROUNDS * worst.round_s, worst.rounds * worst.round_s) } else { row })
}
