//! Pipelines of resources behind a scheduler. One program, because each that runs every discipline takes long to
//! compile.

mod books;
mod bypass;
mod changing;
mod closed_forms;
mod common;
mod compositions;
mod costs;
mod errors;
mod no_wait;
mod pipeline;
mod reference;
mod sources;
mod two_resources;
mod waking;
mod weights;
