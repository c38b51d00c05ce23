//! What an alpha that adjusts itself came to.

use dovetail_sched::{Names, Seen};
use serde::{Deserialize, Serialize};

use crate::table::percent;

/// At the end of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Steering {
    /// That alpha.
    pub alpha: f64,
    /// What was wanted, and what there was of it.
    #[serde(flatten)]
    pub seen: Reached,
    /// Whether what is wanted cannot be had with the least alpha that is allowed.
    pub out_of_reach: bool,
}

/// What an alpha turned itself for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reached {
    /// The use of a resource, by the last 50 ms in which packets waited.
    Use {
        /// The resource that the target names, or else the one that was used least.
        resource: String,
        /// Its use, 0 to 1.
        used: f64,
    },
    /// The latency of a class, by its last thousand packets or so.
    Latency {
        /// The class.
        class: String,
        /// The part of its packets that came too late, 0 to 1.
        late: f64,
        /// About the 99th percentile, seconds.
        p99_s: f64,
    },
}

impl Steering {
    /// With the names of what it tells by number.
    pub(crate) fn of(told: dovetail_sched::Steering, names: &Names) -> Option<Self> {
        let dovetail_sched::Steering { alpha, seen, is_out_of_reach } = told;
        let seen = match seen {
            Seen::Use { resource, used } => Reached::Use { resource: names.resources.get(resource)?.clone(), used },
            Seen::Latency { class, late, p99 } => {
                let class = names.classes.get(usize::from(class))?.clone();
                Reached::Latency { class, late, p99_s: p99.as_secs_f64() }
            }
        };
        Some(Self { alpha, seen, out_of_reach: is_out_of_reach })
    }

    /// In a sentence about this scheduler.
    pub(crate) fn told(&self, scheduler: &str) -> String {
        let Self { alpha, seen, out_of_reach } = self;
        let (last, better) = match seen {
            Reached::Use { resource, used } => {
                let used = percent(*used);
                let last =
                    format!("Over the last 50 ms in which packets waited, {resource} was busy {used} of the time");
                (last, "that more")
            }
            Reached::Latency { class, late, .. } => {
                let late = percent(*late);
                (format!("Of about the last thousand packets of {class}, {late} were late"), "them fewer")
            }
        };
        let but = if *out_of_reach { format!(". No alpha that is allowed makes {better}") } else { String::new() };
        format!("{scheduler}: at the end alpha was {alpha:.3}. {last}{but}")
    }
}
