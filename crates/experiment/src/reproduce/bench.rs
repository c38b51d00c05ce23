//! Where the runs of a reproduction are made.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use dovetail_sched::Spec;

use super::{ReproduceError, Settings};
use crate::compare::{self, Recorded, compare};
use crate::scenario::Scenario;

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
    pub fn run_with(&self, scenario: &Scenario, schedulers: &[Spec], packet_log: usize) -> Result<Vec<Recorded>, ReproduceError> {
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
        let runs = compare(scenario, schedulers, &settings)?;
        self.before.set(before + most.load(Ordering::Relaxed));
        Ok(runs)
    }
}
