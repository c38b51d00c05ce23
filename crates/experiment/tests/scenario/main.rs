//! Scenario files mean what `docs/reference/scenario.md` says.

mod arrivals;
mod behind;
mod load;
mod overrides;
mod pipelines;
mod predicted;
mod quantities;
mod replay;
mod sharing;
mod strawmen;
mod summary;
mod support;
mod third_resource;
