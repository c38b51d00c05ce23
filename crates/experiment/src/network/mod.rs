//! Networks of CPUs and links that TCP flows cross: scenario files, comparison runs, summaries.
//!
//! * [`NetworkScenario`]: boxes (`[[hop]]`), kinds of processing (`[[class]]`), long-lived (`[[tcp]]`) and short
//!   (`[[web]]`) flows.
//! * [`Scheme`]: what stands in front of CPUs and links, such as `drr+red`.
//! * [`compare`]: the same network under several schemes with several seeds.
//! * [`fair_rates`]: what proportional fairness would give.
//! * [`NetworkSummary`], [`table`], [`write()`]: the result as JSON, text, and files.

mod build;
mod capture;
mod file;
mod groups;
mod ideal;
mod limits;
#[cfg(feature = "files")]
mod report;
mod run;
mod scenario;
mod summary;
mod table;
mod value;

pub use capture::PacketCapture;
pub use dovetail_sched::aqm::scheme::{Scheme, names};
pub use ideal::{Beside, fair_rates, mean_s};
#[cfg(feature = "files")]
pub use report::{FILES, pictures, tables, write};
pub use run::{Runs, Settings, compare, compare_all, simulate};
pub use scenario::{Capacity, Group, NetworkScenario, Resource, is_network};
pub use summary::{GroupSummary, HopSummary, NetworkSummary, PacketCounts, RunSummary};
pub use table::{COLUMNS, groups, hops, table};

#[cfg(test)]
mod tests;
