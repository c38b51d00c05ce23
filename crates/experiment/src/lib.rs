//! Scenario files, comparison runs, reproductions and reports.

pub mod advise;
pub mod behind;
pub mod bounds;
pub(crate) mod check;
pub mod claim;
pub mod columns;
pub mod compare;
mod entrances;
pub mod family;
pub mod network;
pub mod output;
pub mod parallel;
pub mod recorded;
pub mod report;
pub mod results;
pub mod scenario;
pub mod statistics;
mod story;
pub mod summary;
pub mod sweep;
pub mod table;
pub mod tables;
pub mod timetable;
