//! What `dovetail run`, `advise`, `bounds` and `sweep` do, as a library.
//!
//! * [`scenario`]: pipelines and captures as files; [`network`]: networks with TCP.
//! * [`compare`]: runs a scenario under several schedulers, which gives a [`recorded::Recorded`] each.
//! * [`summary`]: their numbers, as the JSON document has them; [`table`]: as text.
//! * [`behind`]: how far flows fall behind their fair share; [`bounds`]: what theory guarantees.
//! * `advise`, `sweep`, `report`, `results`, `tables` (with the feature `files`): advice, many runs, and results as
//!   files.
//! * [`claim`], [`statistics`]: what the reproductions of papers are made of.

#[cfg(feature = "files")]
pub mod advise;
pub mod behind;
pub mod bounds;
pub(crate) mod check;
pub mod claim;
#[cfg(feature = "files")]
pub mod columns;
mod compact;
pub mod compare;
mod entrances;
pub mod family;
mod lines;
pub mod memory;
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
pub mod steered;
mod story;
pub mod summary;
#[cfg(feature = "files")]
pub mod sweep;
pub mod table;
#[cfg(feature = "files")]
pub mod tables;
pub mod timetable;
