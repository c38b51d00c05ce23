//! The same network under several schemes, each with several seeds.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dovetail_sched::Spec;
use dovetail_sched::aqm::Scheme;
use dovetail_sim::network::{NetworkOptions, NetworkResult, Tap, simulate_network};

use super::scenario::NetworkScenario;
use crate::compare::RunError;
use crate::parallel::in_parallel;

/// How a comparison is carried out; nothing here changes its results.
pub struct Settings<'a> {
    /// Runs at the same time, at least 1.
    pub threads: usize,
    /// When it becomes true, the comparison ends with [`RunError::Cancelled`].
    pub cancel: &'a AtomicBool,
    /// Called after every run with the data packets that reached their receivers so far, all runs together.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// What came of one scheme.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The scheme as it was named.
    pub scheduler: Spec,
    /// Seed and result of every run.
    pub results: Vec<(u64, NetworkResult)>,
}

/// Run the scenario under each of `schemes` with each of its seeds; results in their order, the same for any number of
/// threads.
///
/// # Errors
/// The first run that fails; [`RunError::Cancelled`].
pub fn compare(scenario: &NetworkScenario, schemes: &[Scheme], settings: &Settings<'_>) -> Result<Vec<Runs>, RunError> {
    Ok(compare_all(&[(scenario, schemes)], settings)?.pop().unwrap_or_default())
}

/// As [`compare`], for several scenarios at once.
///
/// # Errors
/// As [`compare`].
pub fn compare_all(
    inputs: &[(&NetworkScenario, &[Scheme])],
    settings: &Settings<'_>,
) -> Result<Vec<Vec<Runs>>, RunError> {
    let mut jobs = Vec::new();
    for (scenario, schemes) in inputs {
        for scheme in *schemes {
            jobs.extend(scenario.seeds().into_iter().map(|seed| (*scenario, scheme, seed)));
        }
    }
    let done = AtomicU64::new(0);
    let one = |&(scenario, scheme, seed): &(&NetworkScenario, &Scheme, u64)| {
        let result = simulate(scenario, scheme, seed, settings.cancel, &mut ())?;
        (settings.progress)(done.fetch_add(result.packets, Ordering::Relaxed) + result.packets);
        Ok((seed, result))
    };
    let mut results = in_parallel(settings.threads, settings.cancel, &jobs, one)
        .into_iter()
        .map(|result| result.unwrap_or(Err(RunError::Cancelled)));
    let mut runs_of = |scenario: &NetworkScenario, scheme: &Scheme| {
        let results = results.by_ref().take(scenario.seeds().len()).collect::<Result<Vec<_>, RunError>>()?;
        Ok(Runs { scheduler: scheme.spec.clone(), results })
    };
    inputs.iter().map(|(scenario, schemes)| schemes.iter().map(|s| runs_of(scenario, s)).collect()).collect()
}

/// One run.
///
/// # Errors
/// If it fails; [`RunError::Cancelled`].
pub fn simulate(
    scenario: &NetworkScenario,
    scheme: &Scheme,
    seed: u64,
    cancel: &AtomicBool,
    tap: &mut impl Tap,
) -> Result<NetworkResult, RunError> {
    let options = NetworkOptions { seed, warm_up: scenario.warm_up(), until: scenario.until(), cancel: Some(cancel) };
    let failed = |error| RunError::Sim { scheduler: scheme.spec.to_string(), error };
    simulate_network(&scenario.network(scheme), options, tap).map_err(failed)?.ok_or(RunError::Cancelled)
}
