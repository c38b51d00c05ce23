//! The same input several times, as chance might have had it.

use std::sync::atomic::{AtomicU64, Ordering};

use dovetail_sched::Spec;

use super::AdviseError;
use super::point::{Chance, Point, Runs};
use crate::compare::{Kept, RunError, Settings, compare_each};
use crate::parallel::in_parallel;
use crate::recorded::Recorded;
use crate::scenario::{Scenario, Variation};
use crate::summary::Run;

/// Loads of the runs of an input in which nothing is random.
const LOADS: [f64; super::RUNS] = [1.0, 0.98, 1.02, 0.99, 1.01];

/// Compares one input after another; progress is that of all together.
pub(super) struct Comparer<'a> {
    settings: &'a Settings<'a>,
    packets: AtomicU64,
}

impl<'a> Comparer<'a> {
    pub(super) fn new(settings: &'a Settings<'a>) -> Self {
        Self { settings, packets: AtomicU64::new(0) }
    }

    /// What `keep` makes of each scheduler's run of the input.
    pub(super) fn each<T: Send>(
        &self,
        scenario: &Scenario,
        specs: &[Spec],
        keep: impl Fn(&Recorded) -> T + Sync,
    ) -> Result<Vec<T>, AdviseError> {
        self.each_on(self.settings.threads, scenario, specs, keep)
    }

    fn each_on<T: Send>(
        &self,
        threads: usize,
        scenario: &Scenario,
        specs: &[Spec],
        keep: impl Fn(&Recorded) -> T + Sync,
    ) -> Result<Vec<T>, AdviseError> {
        let seen = AtomicU64::new(0);
        let progress = |packets: u64| {
            let more = packets.saturating_sub(seen.fetch_max(packets, Ordering::Relaxed));
            (self.settings.progress)(self.packets.fetch_add(more, Ordering::Relaxed) + more);
        };
        let settings = Settings { threads, progress: &progress, ..*self.settings };
        Ok(compare_each(scenario, specs, &settings, Kept::Little, |run| keep(&run))?)
    }

    fn points(&self, scenario: &Scenario, specs: &[Spec]) -> Result<Vec<Point>, AdviseError> {
        self.points_on(self.settings.threads, scenario, specs)
    }

    fn points_on(&self, threads: usize, scenario: &Scenario, specs: &[Spec]) -> Result<Vec<Point>, AdviseError> {
        self.each_on(threads, scenario, specs, |recorded| Point::of(recorded, &Run::new(recorded)))
    }
}

/// What each made of it [`RUNS`](super::RUNS) times.
pub(super) fn all(scenario: &Scenario, specs: &[Spec], comparer: &Comparer<'_>) -> Result<Runs, AdviseError> {
    let mut runs = vec![comparer.points(scenario, specs)?];
    let mut chance = Chance::Pieces;
    if scenario.capture_report().is_none() {
        let other = comparer.points(&again(scenario, Chance::Seeds, 1)?, specs)?;
        chance = if other == runs[0] { Chance::Loads } else { Chance::Seeds };
        runs.extend((chance == Chance::Seeds).then_some(other));
    }
    for number in runs.len()..super::RUNS {
        runs.push(comparer.points(&again(scenario, chance, number)?, specs)?);
    }
    Ok(Runs::new(runs, chance))
}

/// What each makes of it under other circumstances, so many times.
pub(super) fn varied(
    scenario: &Scenario,
    (variation, chance): (Variation, Chance),
    specs: &[Spec],
    comparer: &Comparer<'_>,
    count: usize,
) -> Result<Runs, AdviseError> {
    // Few schedulers would leave threads idle.
    let settings = comparer.settings;
    let at_a_time = if specs.len() < settings.threads { settings.threads.min(count).max(1) } else { 1 };
    let run = |number: usize| {
        let again = again(scenario, chance, number)?;
        let load = if chance == Chance::Loads { LOADS[number] } else { 1.0 };
        let varied = again.varied(Variation { load: variation.load * load, ..variation });
        comparer.points_on(settings.threads / at_a_time, &varied, specs)
    };
    let numbers: Vec<usize> = (0..count).collect();
    let runs = in_parallel(at_a_time, settings.cancel, &numbers, |&number| run(number));
    let runs = runs.into_iter().map(|run| run.unwrap_or(Err(RunError::Cancelled.into())));
    Ok(Runs::new(runs.collect::<Result<_, _>>()?, chance))
}

/// The input for the run with this number; 0 is the input itself.
fn again(scenario: &Scenario, chance: Chance, number: usize) -> Result<Scenario, AdviseError> {
    let scenario = scenario.clone();
    if number == 0 {
        return Ok(scenario);
    }
    let seed = scenario.seed().wrapping_add(number as u64);
    Ok(match chance {
        Chance::Seeds => scenario.with_seed(seed)?,
        Chance::Pieces => scenario.with_pieces(seed)?,
        Chance::Loads => scenario.varied(Variation { costs: 1.0, load: LOADS[number] }),
    })
}
