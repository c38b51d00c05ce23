//! The guarantees that are known for a scheduler, and how near a run came to them.
//!
//! `facts` says what is true of a run, `measure` and `pairs` what happened in it; each discipline's file lists its
//! guarantees, with why one does not apply where it does not. `OURS` says which discipline has which; one that was
//! registered brings its own, as the fact [`Guarantees`] of its entry.

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
use dovetail_sched as sched;
use dovetail_sched::catalog::Entry;
use dovetail_sched::composition::parts;
use dovetail_sched::promise::{Counted, Fluid};
use dovetail_sim::End;
use serde::Serialize;

use crate::behind::ROUNDS;
use crate::recorded::Recorded;
use crate::scenario::Scenario;
use facts::PARALLEL;

pub use composite::{delay, drift};
pub use facts::{Facts, FlowFacts};
pub use measure::{
    Passage, Worst, after_drgps, after_gps, first_start, head_delay, packet_delay, passages, start_up, worst,
};
pub use pairs::{Counting, worst_pair};

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
    /// No number, and why.
    pub fn new(run: &Recorded, guarantee: &'static str, source: &'static str, remark: impl Into<String>) -> Self {
        let scheduler = run.scheduler.to_string();
        Self { scheduler, guarantee, source, bound_s: None, seen_s: None, ratio: None, remark: remark.into() }
    }

    /// Times are whole nanoseconds, and parts of them; what sums and differences of them in floating point have below a
    /// picosecond means nothing.
    pub fn with(self, bound_s: f64, seen_s: f64) -> Self {
        let [bound, seen] = [bound_s, seen_s].map(|time_s| (time_s * 1e12).round() / 1e12);
        let ratio = (bound > 0.0).then(|| seen / bound);
        Self { bound_s: Some(bound), seen_s: Some(seen), ratio, ..self }
    }
}

/// A guarantee before it is known whether it applies.
#[derive(Clone, Copy)]
pub struct Guarantee<'a> {
    /// Of which run.
    pub run: &'a Recorded,
    /// What is bounded.
    pub what: &'static str,
    /// Where it is proved.
    pub source: &'static str,
    /// What must hold for it.
    pub remark: &'static str,
}

impl Guarantee<'_> {
    /// The row: why it does not apply, or the worst that was seen, if there was anything to see.
    pub fn row(self, applies: Result<(), &'static str>, seen: impl FnOnce() -> Option<Worst>) -> Bound {
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
        rows.extend(behind(run, &facts));
        rows
    });
    Document { schema: 1, bounds: bounds.collect() }
}

/// What a discipline guarantees: a row for each guarantee, of a run under it of which these facts are true. As the
/// [fact](dovetail_sched::catalog::Entry::fact) of a registered discipline's entry it is shown by `dovetail bounds`.
#[derive(Clone, Copy)]
pub struct Guarantees(pub fn(&Recorded, &Facts) -> Vec<Bound>);

/// Those of the disciplines of `dovetail_sched`.
const OURS: [(Entry, Guarantees); 14] = [
    (sched::fifo::ENTRY, Guarantees(dominant::fifo)),
    (sched::drfq::ENTRY, Guarantees(dominant::drfq)),
    (sched::atfq::ENTRY, Guarantees(dominant::atfq)),
    (sched::mr3::ENTRY, Guarantees(dominant::mr3)),
    (sched::gmr3::ENTRY, Guarantees(dominant::gmr3)),
    (sched::drgps::ENTRY, Guarantees(dominant::drgps)),
    (sched::tradeoff::ENTRY, Guarantees(tradeoff::tradeoff)),
    (sched::cbcs::ENTRY, Guarantees(composite::cbcs)),
    (sched::pcfq::ENTRY, Guarantees(composite::pcfq)),
    (sched::drr::ENTRY, Guarantees(one_resource::drr)),
    (sched::wfq::ENTRY, Guarantees(one_resource::wfq)),
    (sched::wf2q_plus::ENTRY, Guarantees(one_resource::wf2q_plus)),
    (sched::sfq::ENTRY, Guarantees(one_resource::sfq)),
    (sched::scfq::ENTRY, Guarantees(one_resource::scfq)),
];

/// The disciplines of a run; none of one that is in no catalogue.
fn parts_of(run: &Recorded) -> Vec<&'static Entry> {
    parts(&run.scheduler.name).unwrap_or_default()
}

/// Whether the scheduler is a composition of just these.
fn composed_of(run: &Recorded, disciplines: [&Entry; 2]) -> bool {
    parts_of(run).iter().map(|entry| entry.name).eq(disciplines.map(|entry| entry.name))
}

/// What the discipline itself guarantees. One of which nothing is known, such as most compositions, has its makespan
/// only.
fn own(run: &Recorded, facts: &Facts) -> Vec<Bound> {
    let separate_wfqs = composed_of(run, [&sched::wfq::ENTRY; 2]).then_some(Guarantees(composite::separate_wfqs));
    let of = |entry: &Entry| {
        let ours = OURS.into_iter().find(|(ours, _)| ours.name == entry.name).map(|(_, guarantees)| guarantees);
        ours.or_else(|| entry.fact().copied())
    };
    let guarantees = match parts_of(run)[..] {
        [entry] => of(entry),
        _ => separate_wfqs,
    };
    guarantees.map_or_else(Vec::new, |Guarantees(rows)| rows(run, facts))
}

/// Whether some resource is busy whenever a packet is in the system, and by how much each packet may nevertheless be
/// kept (seconds). Disciplines that wait only for what is inside the pipeline, as by a window or progress control, are
/// work conserving in this sense.
fn work_conserving(run: &Recorded, scenario: &Scenario, facts: &Facts) -> Result<f64, &'static str> {
    const WAITS: Result<f64, &str> =
        Err("does not apply: the scheduler waits for its fluid and is not work conserving");
    let waits = |fluid: &Fluid| matches!(fluid, Fluid::DominantShares | Fluid::Tradeoff);
    match parts_of(run).iter().filter_map(|entry| entry.promise.fluid).find(waits) {
        None => Ok(0.0),
        // On one resource the fluid has done as much as that. Where it reaches a packet between two nanoseconds, the
        // next one counts.
        Some(Fluid::DominantShares)
            if run.resources.len() == 1 && facts.substantial().is_ok() && !scenario.has_estimates() =>
        {
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
fn behind(run: &Recorded, facts: &Facts) -> Option<Bound> {
    let shares = matches!(parts_of(run)[..], [entry] if entry.promise.counted == Counted::Dominant);
    let some = run.promises.iter().all(|&(_, part)| part > 0.0);
    let promised = (0..run.flows.len()).all(|flow| run.own_promise(flow).map_or(some, |part| part > 0.0));
    let all = run.flows.iter().map(|flow| flow.behind);
    let worst = all.max_by(|a, b| a.due_rounds.total_cmp(&b.due_rounds)).filter(|_| shares && promised)?;
    let remark = "what waiting for a turn explains; more is called starvation; no theorem";
    let row = Bound::new(run, "a packet behind its due share <= 3 rounds", "docs/theory/behind.md", remark);
    if let Err(reason) = facts.told() {
        return Some(Bound { remark: reason.into(), ..row });
    }
    let explained = ROUNDS * worst.due_round_s;
    Some(if explained > 0.0 { row.with(explained, worst.due_s()) } else { row })
}
