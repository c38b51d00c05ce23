//! What an alpha that turns itself came to.

use serde::{Deserialize, Serialize};

use crate::recorded::Recorded;
use crate::table::percent;

/// By the last 50 ms of a run in which packets waited.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Steering {
    /// That alpha.
    pub alpha: f64,
    /// The resource that the target names, or else the one that was used least.
    pub resource: String,
    /// Its use, 0 to 1.
    pub used: f64,
    /// Whether the target cannot be had with the least alpha that is allowed.
    pub out_of_reach: bool,
}

impl Steering {
    /// Of a run with a target.
    pub(crate) fn of(run: &Recorded) -> Option<Self> {
        let dovetail_sched::Steering { alpha, resource, used, is_out_of_reach } = run.steering?;
        let resource = run.resources.get(resource)?.name.clone();
        Some(Self { alpha, resource, used, out_of_reach: is_out_of_reach })
    }

    /// In a sentence about this scheduler.
    pub(crate) fn told(&self, scheduler: &str) -> String {
        let Self { alpha, resource, used, out_of_reach } = self;
        let (used, reach) = (percent(*used), if *out_of_reach { ", which is the most that can be had" } else { "" });
        format!("{scheduler}: alpha came to {alpha:.3}, where {resource} works {used} of the time{reach}")
    }
}
