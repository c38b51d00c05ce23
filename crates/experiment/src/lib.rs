//! Scenario files, comparison runs, reproductions and reports.

#[cfg(feature = "files")]
pub mod advise;
pub mod behind;
pub mod bounds;
pub(crate) mod check;
pub mod claim;
#[cfg(feature = "files")]
pub mod columns;
pub mod compare;
mod entrances;
pub mod family;
pub mod network;
pub mod output;
pub mod parallel;
pub mod recorded;
#[cfg(feature = "files")]
pub mod report;
#[cfg(feature = "files")]
pub mod results;
pub mod scenario;
pub mod statistics;
mod story;
pub mod summary;
#[cfg(feature = "files")]
pub mod sweep;
pub mod table;
#[cfg(feature = "files")]
pub mod tables;
pub mod timetable;
