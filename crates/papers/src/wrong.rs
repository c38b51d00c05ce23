//! Wrong disciplines under the names of the right ones: a claim that holds under them too says nothing of the right
//! ones.

use dovetail_sched::Spec;

use dovetail_experiment::network::Runs;
use dovetail_experiment::recorded::Recorded;

/// What runs instead of every packet scheduler.
pub(super) fn order_of_arrival() -> Spec {
    Spec { name: "fifo".into(), parameters: Vec::new() }
}

/// This run under the name of `scheduler`, which promises what that does.
pub(super) fn named(run: &Recorded, scheduler: &Spec) -> Recorded {
    let alpha = scheduler.value("alpha").and_then(|alpha| alpha.parse().ok());
    let mut run = run.clone();
    (run.scheduler, run.promises) = (scheduler.clone(), vec![(alpha.unwrap_or(1.0), 0.0)]);
    run
}

/// The schemes of a network that are run instead of these.
pub(super) fn schemes(schedulers: &[Spec]) -> Vec<Spec> {
    let red = Spec {
        name: "red+red".into(),
        parameters: vec![("rules".into(), "ns2".into()), ("wait".into(), "yes".into())],
    };
    let mut instead: Vec<Spec> = schedulers.iter().filter(|spec| spec.name != "drq").cloned().collect();
    if instead.is_empty() {
        instead.push(red);
    }
    instead
}

/// Runs under [`schemes`] under the names of `schedulers`.
pub(super) fn renamed(runs: &[Runs], schedulers: &[Spec]) -> Vec<Runs> {
    let found = |name: &str| runs.iter().find(|run| run.scheduler.name == name);
    let instead = |spec: &Spec| if spec.name == "red+red" { found("drr+red") } else { found("red+red") };
    let pair = |spec: &Spec| {
        let run = instead(spec).or(runs.first())?;
        Some(Runs { scheduler: spec.clone(), results: run.results.clone() })
    };
    schedulers.iter().filter_map(pair).collect()
}
