//! Where the runs of a reproduction are made.

use std::cell::{Cell, OnceCell, RefCell};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use dovetail_sched::Spec;

use super::{ReproduceError, Settings, wrong};
use dovetail_experiment::compare::{self, RunError, compare};
use dovetail_experiment::network::{self, NetworkScenario, Runs};
use dovetail_experiment::parallel::in_parallel;
use dovetail_experiment::recorded::Recorded;
use dovetail_experiment::scenario::Scenario;

/// Runs scenarios, and counts packets over all of them.
pub(super) struct Bench<'a> {
    /// As the caller wants it.
    pub settings: &'a Settings<'a>,
    item: RefCell<String>,
    /// Packets of the comparisons before the one under way.
    before: Cell<u64>,
}

impl<'a> Bench<'a> {
    /// For these settings.
    pub fn new(settings: &'a Settings<'a>) -> Self {
        Self { settings, item: RefCell::default(), before: Cell::new(0) }
    }

    /// What follows is for this item.
    pub fn begin(&self, id: &str) {
        *self.item.borrow_mut() = id.to_string();
        (self.settings.progress)(id, self.before.get());
    }

    /// A built-in scenario.
    pub fn scenario(&self, name: &str, text: &str, overrides: &[String]) -> Result<Scenario, ReproduceError> {
        Ok(Scenario::parse(name, text, overrides, PathBuf::new())?)
    }

    /// The scenario under each of its own schedulers.
    pub fn run(&self, scenario: &Scenario) -> Result<Vec<Recorded>, ReproduceError> {
        self.run_with(scenario, &scenario.schedulers(), 0)
    }

    /// The scenario under these schedulers, keeping the ways of the first `packet_log` packets.
    pub fn run_with(
        &self,
        scenario: &Scenario,
        schedulers: &[Spec],
        packet_log: usize,
    ) -> Result<Vec<Recorded>, ReproduceError> {
        let (before, most) = (self.before.get(), AtomicU64::new(0));
        let item = self.item.borrow().clone();
        let progress = |packets: u64| {
            most.fetch_max(packets, Ordering::Relaxed);
            (self.settings.progress)(&item, before + packets);
        };
        let settings = compare::Settings {
            threads: self.settings.threads,
            cancel: self.settings.cancel,
            progress: &progress,
            packet_log,
        };
        let runs = match self.settings.wrong {
            true => {
                let run = compare(scenario, &[wrong::order_of_arrival()], &settings)?;
                run.first().into_iter().flat_map(|run| schedulers.iter().map(|spec| wrong::named(run, spec))).collect()
            }
            false => compare(scenario, schedulers, &settings)?,
        };
        self.before.set(before + most.load(Ordering::Relaxed));
        Ok(runs)
    }

    /// Networks, each under each of its own schedulers and with each of its seeds.
    pub fn networks(&self, scenarios: &[NetworkScenario]) -> Result<Vec<Vec<Runs>>, ReproduceError> {
        let (before, item) = (self.before.get(), self.item.borrow().clone());
        let most = AtomicU64::new(0);
        let progress = |packets: u64| {
            most.fetch_max(packets, Ordering::Relaxed);
            (self.settings.progress)(&item, before + packets);
        };
        let settings =
            network::Settings { threads: self.settings.threads, cancel: self.settings.cancel, progress: &progress };
        let named = |s: &NetworkScenario| match self.settings.wrong {
            true => wrong::schemes(&s.schedulers()),
            false => s.schedulers(),
        };
        let schemes = scenarios.iter().map(|s| s.schemes(&named(s))).collect::<Result<Vec<_>, _>>()?;
        let inputs: Vec<_> = scenarios.iter().zip(&schemes).map(|(s, schemes)| (s, schemes.as_slice())).collect();
        let mut runs = network::compare_all(&inputs, &settings)?;
        self.before.set(before + most.load(Ordering::Relaxed));
        if self.settings.wrong {
            runs = runs.iter().zip(scenarios).map(|(runs, s)| wrong::renamed(runs, &s.schedulers())).collect();
        }
        Ok(runs)
    }

    /// [`RunError::Cancelled`] if the caller wants no result any more.
    pub fn go_on(&self) -> Result<(), ReproduceError> {
        if self.settings.cancel.load(Ordering::Relaxed) { Err(RunError::Cancelled.into()) } else { Ok(()) }
    }

    /// `work` for each of `inputs`, several at a time; results in their order.
    pub fn parallel<I: Sync, O: Send>(
        &self,
        inputs: &[I],
        work: impl Fn(&I) -> Result<O, ReproduceError> + Sync,
    ) -> Result<Vec<O>, ReproduceError> {
        let cancelled = || Err(RunError::Cancelled.into());
        let results = in_parallel(self.settings.threads, self.settings.cancel, inputs, work);
        results.into_iter().map(|result| result.unwrap_or_else(cancelled)).collect()
    }
}

/// What is in the cell, made now if nothing is.
pub(super) fn get_or_try<T>(
    cell: &OnceCell<T>,
    make: impl FnOnce() -> Result<T, ReproduceError>,
) -> Result<&T, ReproduceError> {
    if cell.get().is_none() {
        let made = make()?;
        return Ok(cell.get_or_init(|| made));
    }
    cell.get().ok_or_else(|| ReproduceError::Expected("no shared runs".into()))
}
